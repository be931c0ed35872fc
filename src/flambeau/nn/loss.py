"""Losses."""

from collections.abc import Callable, Sequence

from ..core.old_reduction import takes_old_reduction
from ..ops import ctc, loss
from ..tensor import Tensor
from .function_layer import FunctionLayer


# A layer holds the arguments of the function of its name. The formulas, checks and numerical care are in
# ops/loss.py and ops/ctc.py.
class BCELoss(FunctionLayer):
    """Binary cross-entropy of probabilities for targets in [0, 1]. [...], [...] -> []

    Logarithms are clamped to at least -100, as in PyTorch.

    ValueError if the shapes differ or reduction is unknown; at the next read if an element of either is
    outside of 0 to 1.

    target: the target probabilities
    """

    weight: Tensor | None

    @takes_old_reduction((1, 2))
    def __init__(self, weight: Tensor | None = None, reduction: str = "mean"):
        # A buffer, so that the weight moves with the module; it is in the state_dict, as in PyTorch.
        self.reduction = reduction
        self.register_buffer("weight", weight)  # as in PyTorch it moves with the module and is saved

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(FunctionLayer):
    """Negative log-likelihood of sigmoid(input) for targets in [0, 1]. [...], [...] -> []

    target: the target probabilities
    reduction: "mean", "sum" or "none": how the losses are combined
    pos_weight: a factor for the positive targets of each class
    Raises ValueError if the target has another shape; if reduction is unknown.
    """

    weight: Tensor | None

    pos_weight: Tensor | None

    @takes_old_reduction((1, 2))
    def __init__(
        self, weight: Tensor | None = None, reduction: str = "mean", pos_weight: Tensor | None = None
    ):
        self.reduction = reduction
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class CosineEmbeddingLoss(FunctionLayer):
    """1 - cos(input1, input2) if target is 1; max(0, cos - margin) if it is -1. [n, d], [n, d], [n] -> []

    input1: the first tensor
    input2: the second tensor
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """

    @takes_old_reduction((1, 2))
    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        self.margin, self.reduction = margin, reduction

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return loss.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class CTCLoss(FunctionLayer):
    """-log p(targets), summed over alignments (Graves et al., 2006); "mean" divides each by its target's
    length.

    Targets are rows, or concatenated (then lengths in a tensor are read, which waits). The loss is
    infinite, or 0 with zero_infinity, if a target is too long. [t, n, c], [n, s], [n], [n] -> []

    log_probs: logarithms of probabilities. [steps, n, classes]
    input_lengths: the number of steps of each sequence
    target_lengths: the number of labels of each sequence
    blank: the class that stands for no label
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if shapes do not fit together, blank is not a class, or reduction is unknown.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False):
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[int],
        target_lengths: Tensor | Sequence[int],
    ) -> Tensor:
        return ctc.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            blank=self.blank,
            reduction=self.reduction,
            zero_infinity=self.zero_infinity,
        )


class CrossEntropyLoss(FunctionLayer):
    """Negative log-likelihood of softmax(input). Logits [n, classes, ...], int classes [n, ...] or their
    probabilities [n, classes, ...] -> []

    label_smoothing: the fraction of the target that is spread over all classes. ValueError if it is
        not in 0 to 1, or for other shapes or another reduction; TypeError for a target of another
        dtype; IndexError, at the next read, for an invalid class.

    ignore_index: targets of this class add nothing to the loss or its mean
    """

    weight: Tensor | None

    @takes_old_reduction((1, 3))
    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ):
        self.ignore_index, self.reduction, self.label_smoothing = ignore_index, reduction, label_smoothing
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class GaussianNLLLoss(FunctionLayer):
    """(log(var) + (input - target)**2 / var) / 2, var at least eps; full adds log(2 pi) / 2. var is a
    number, of input's shape, or without its last dim; a dim of it may be 1. -> []

    ValueError for another shape or reduction, or a negative var; of elements at the next read.
    """

    def __init__(self, full: bool = False, eps: float = 1e-06, reduction: str = "mean"):
        self.full, self.eps, self.reduction = full, eps, reduction

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return loss.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class HingeEmbeddingLoss(FunctionLayer):
    """input if target is 1; max(0, margin - input) if it is -1; their sum for others. [...],
    [...] -> []

    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """

    @takes_old_reduction((1, 2))
    def __init__(self, margin: float = 1.0, reduction: str = "mean"):
        self.margin, self.reduction = margin, reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class HuberLoss(FunctionLayer):
    """Half the squared difference up to delta, then a line of slope delta. [...], [...] -> []

    target: the target values
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """

    weight: Tensor | None

    def __init__(self, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None):
        self.reduction, self.delta = reduction, delta
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.huber_loss(input, target, reduction=self.reduction, delta=self.delta, weight=self.weight)


class KLDivLoss(FunctionLayer):
    """target * (log(target) - input) for log-probabilities `input`; "batchmean" divides the sum by the size
    of dim 0.
    [n, ...], [n, ...] -> [], or [n, ...] for "none".

    reduction: "mean", "sum" or "none": how the losses are combined
    log_target: the target has log-probabilities too
    Raises ValueError if reduction is unknown.
    """

    @takes_old_reduction((0, 1))
    def __init__(self, reduction: str = "mean", log_target: bool = False):
        self.reduction, self.log_target = reduction, log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class L1Loss(FunctionLayer):
    """Absolute difference; with weight, the mean is weighted. [...], [...] -> []

    target: the target values
    reduction: "mean", "sum" or "none": how the losses are combined
    """

    weight: Tensor | None

    @takes_old_reduction((0, 1))
    def __init__(self, reduction: str = "mean", weight: Tensor | None = None):
        self.reduction = reduction
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.l1_loss(input, target, reduction=self.reduction, weight=self.weight)


class MarginRankingLoss(FunctionLayer):
    """max(0, margin - target * (input1 - input2)) for targets 1 and -1. [...], [...], [...] -> []

    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """

    @takes_old_reduction((1, 2))
    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        self.margin, self.reduction = margin, reduction

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return loss.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MSELoss(FunctionLayer):
    """Squared difference; with weight, the mean is weighted. [...], [...] -> []

    target: the target values
    reduction: "mean", "sum" or "none": how the losses are combined
    """

    weight: Tensor | None

    @takes_old_reduction((0, 1))
    def __init__(self, reduction: str = "mean", weight: Tensor | None = None):
        self.reduction = reduction
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.mse_loss(input, target, reduction=self.reduction, weight=self.weight)


class MultiLabelMarginLoss(FunctionLayer):
    """The sum of max(0, 1 - (input[target] - input[other])) over all pairs of a target class and another
    class, divided by the number of classes.

    Targets are classes up to the first -1 of a row. [n, classes], [n, classes] int -> []

    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if shapes differ, or the target is not of integers.
    """

    @takes_old_reduction((0, 1))
    def __init__(self, reduction: str = "mean"):
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(FunctionLayer):
    """The mean of binary_cross_entropy_with_logits over the classes. [..., classes], [..., classes] -> []

    target: 0 or 1 for each class
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """

    weight: Tensor | None

    @takes_old_reduction((1, 2))
    def __init__(self, weight: Tensor | None = None, reduction: str = "mean"):
        self.reduction = reduction
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class MultiMarginLoss(FunctionLayer):
    """The mean of max(0, margin - input[target] + input[other])**p over the other classes.
    [n, classes], [n] int -> []

    target: the class of each row
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if p is neither 1 nor 2.
    """

    weight: Tensor | None

    @takes_old_reduction((3, 4))
    def __init__(
        self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, reduction: str = "mean"
    ):
        self.p, self.margin, self.reduction = p, margin, reduction
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class NLLLoss(FunctionLayer):
    """The negative log-probability of each target class, weighted. [n, classes, ...], [n, ...] int -> []

    ignore_index: targets of this class add nothing to the loss or its mean
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if the target's shape does not fit; TypeError if it is not of integers.
    """

    weight: Tensor | None

    @takes_old_reduction((1, 3))
    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"):
        self.ignore_index, self.reduction = ignore_index, reduction
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.nll_loss(
            input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class NLLLoss2d(FunctionLayer):
    """The negative log-probability of each target class, weighted. [n, classes, ...], [n, ...] int -> []

    ignore_index: targets of this class add nothing to the loss or its mean
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if the target's shape does not fit; TypeError if it is not of integers.
    """

    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"):
        self.ignore_index, self.reduction = ignore_index, reduction
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.nll_loss(
            input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class RNNTLoss(FunctionLayer):
    """-log p(targets) of a transducer, summed over alignments (Graves, 2012), as in torchaudio.

    logits are for each frame and each number of labels emitted before; log-probabilities give the same
    loss. "mean" is over the batch. [n, t, s + 1, c], [n, s], [n], [n] -> []

    logit_lengths: the number of frames of each sequence, at least 1
    target_lengths: the number of labels of each sequence
    blank: the class that stands for no label
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if shapes do not fit together, blank is not a class, or reduction is unknown.
    """

    def __init__(self, blank: int = -1, reduction: str = "mean"):
        self.blank, self.reduction = blank, reduction

    def forward(
        self,
        logits: Tensor,
        targets: Tensor,
        logit_lengths: Tensor | Sequence[int],
        target_lengths: Tensor | Sequence[int],
    ) -> Tensor:
        return ctc.rnnt_loss(
            logits, targets, logit_lengths, target_lengths, blank=self.blank, reduction=self.reduction
        )


class PoissonNLLLoss(FunctionLayer):
    """Negative log-likelihood of counts under a Poisson rate; full adds Stirling's approximation of
    log(target!). -> []

    log_input: the input is the logarithm of the rate
    eps: a small number that is added to the rate before its logarithm
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """

    @takes_old_reduction((2, 4))
    def __init__(
        self, log_input: bool = True, full: bool = False, eps: float = 1e-08, reduction: str = "mean"
    ):
        self.log_input, self.full, self.eps, self.reduction = log_input, full, eps, reduction

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return loss.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class SmoothL1Loss(FunctionLayer):
    """huber_loss / beta; the absolute difference for beta=0. [...], [...] -> []

    target: the target values
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if beta is below 0.
    """

    @takes_old_reduction((0, 1))
    def __init__(self, reduction: str = "mean", beta: float = 1.0):
        self.reduction, self.beta = reduction, beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class SoftMarginLoss(FunctionLayer):
    """log(1 + exp(-target * input)) for targets 1 and -1. [...], [...] -> []

    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """

    @takes_old_reduction((0, 1))
    def __init__(self, reduction: str = "mean"):
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return loss.soft_margin_loss(input, target, reduction=self.reduction)


class TripletMarginLoss(FunctionLayer):
    """max(0, margin + |anchor - positive| - |anchor - negative|). [n, d], [n, d], [n, d] -> []

    p: the order of the norm
    eps: a small number that is added to the differences
    swap: use the distance from positive to negative if it is smaller
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """

    @takes_old_reduction((4, 5))
    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-06,
        swap: bool = False,
        reduction: str = "mean",
    ):
        self.margin, self.p, self.eps, self.swap, self.reduction = margin, p, eps, swap, reduction

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return loss.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(FunctionLayer):
    """triplet_margin_loss by any distance of two tensors. [n, d], [n, d], [n, d] -> []

    anchor: the rows that others are compared with
    positive: rows that should be near
    negative: rows that should be far
    distance_function: takes two tensors of rows and returns their distances; None is the Euclidean distance
    margin: how much farther the negative must be
    swap: use the distance from positive to negative if it is smaller
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ):
        self.distance_function, self.margin, self.swap, self.reduction = (
            distance_function,
            margin,
            swap,
            reduction,
        )

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return loss.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
