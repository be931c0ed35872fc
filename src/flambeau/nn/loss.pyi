"""Losses, a row each.

Made by `python scripts/write_stubs.py`."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from ..nn.module import Module
from ..tensor import Tensor

class BCELoss(Module):
    """Negative log-likelihood of probabilities for targets in [0, 1]; logs end at -100. [...], [...] -> []

    ValueError for another shape or reduction; at the next read for an element of either outside of 0 to 1.

    target: what is wanted"""

    weight: Tensor | None
    reduction: str
    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class BCEWithLogitsLoss(Module):
    """Negative log-likelihood of sigmoid(input) for targets in [0, 1]. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    pos_weight: a factor for the positive targets of each class
    Raises ValueError where the target has another shape; where reduction is unknown."""

    weight: Tensor | None
    reduction: str
    pos_weight: Tensor | None
    def __init__(
        self, weight: Tensor | None = None, reduction: str = "mean", pos_weight: Tensor | None = None
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class CosineEmbeddingLoss(Module):
    """1 - cosine where target is 1, what it is above the margin where -1. [n, d], [n, d], [n] -> []

    input1: the first tensor
    input2: the second tensor
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

    margin: _float
    reduction: str
    def __init__(self, margin: _float = 0.0, reduction: str = "mean") -> None: ...
    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...

class CTCLoss(Module):
    """-log p(targets) under any alignment (Graves et al., 2006); "mean" divides each by its target's length.

    Targets are rows, or one after another (then lengths given as a tensor are read, and waited for). The loss
    is infinite, or 0 with zero_infinity, where a target is too long. [t, n, c], [n, s], [n], [n] -> []

    log_probs: logarithms of probabilities. [steps, n, classes]
    input_lengths: how many steps each sequence has
    target_lengths: how many labels each sequence has
    blank: the class that stands for no label
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where shapes do not fit together, blank is no class, or reduction is unknown."""

    blank: _int
    reduction: str
    zero_infinity: _bool
    def __init__(self, blank: _int = 0, reduction: str = "mean", zero_infinity: _bool = False) -> None: ...
    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[_int],
        target_lengths: Tensor | Sequence[_int],
    ) -> Tensor: ...
    def __call__(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[_int],
        target_lengths: Tensor | Sequence[_int],
    ) -> Tensor: ...

class CrossEntropyLoss(Module):
    """Negative log-likelihood of softmax(input). Logits [n, classes, ...], int classes [n, ...] or their
    probabilities [n, classes, ...] -> []

    label_smoothing: the share of the target that is spread over all classes.
    ValueError where it is not in 0 to 1, or for other shapes or another reduction; TypeError for a target of
    another dtype; IndexError, at the next read, for a class that is none.

    ignore_index: a class that counts for nothing"""

    weight: Tensor | None
    ignore_index: _int
    reduction: str
    label_smoothing: _float
    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: _int = -100,
        reduction: str = "mean",
        label_smoothing: _float = 0.0,
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class GaussianNLLLoss(Module):
    """(log(var) + (input - target)**2 / var) / 2, var at least eps; full adds log(2 pi) / 2. var is a number,
    of input's shape, or without its last dim; a dim of it may be 1. -> []

    ValueError for another shape or reduction, or a negative var; of elements at the next read."""

    full: _bool
    eps: _float
    reduction: str
    def __init__(self, full: _bool = False, eps: _float = 1e-06, reduction: str = "mean") -> None: ...
    def forward(self, input: Tensor, target: Tensor, var: Tensor | _float) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor, var: Any) -> Tensor: ...

class HingeEmbeddingLoss(Module):
    """Distances where target is 1, what lacks to the margin where it is -1, both elsewhere.
    [...], [...] -> []

    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

    margin: _float
    reduction: str
    def __init__(self, margin: _float = 1.0, reduction: str = "mean") -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class HuberLoss(Module):
    """Half the squared difference up to delta, then a line of slope delta. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

    reduction: str
    delta: _float
    weight: Tensor | None
    def __init__(
        self, reduction: str = "mean", delta: _float = 1.0, weight: Tensor | None = None
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class KLDivLoss(Module):
    """target * (log(target) - input) for input of log-probabilities; "batchmean" divides by dim 0 alone.
    [n, ...], [n, ...] -> [], or [n, ...] for "none".

    reduction: "mean", "sum" or "none": what becomes of the losses
    log_target: the target is logarithms too
    Raises ValueError where reduction is unknown."""

    reduction: str
    log_target: _bool
    def __init__(self, reduction: str = "mean", log_target: _bool = False) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class L1Loss(Module):
    """Absolute difference; a weight for each makes the mean one by weights. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses"""

    reduction: str
    weight: Tensor | None
    def __init__(self, reduction: str = "mean", weight: Tensor | None = None) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class MarginRankingLoss(Module):
    """max(0, margin - target * (input1 - input2)) for targets 1 and -1. [...], [...], [...] -> []

    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

    margin: _float
    reduction: str
    def __init__(self, margin: _float = 0.0, reduction: str = "mean") -> None: ...
    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...

class MSELoss(Module):
    """Squared difference; a weight for each makes the mean one by weights. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses"""

    reduction: str
    weight: Tensor | None
    def __init__(self, reduction: str = "mean", weight: Tensor | None = None) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class MultiLabelMarginLoss(Module):
    """The hinge 1 - right + other over all pairs of a target class and another, by the number of classes.

    Targets are classes up to the first -1 of a row. [n, classes], [n, classes] int -> []

    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where shapes differ, or the target is not of integers."""

    reduction: str
    def __init__(self, reduction: str = "mean") -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class MultiLabelSoftMarginLoss(Module):
    """binary_cross_entropy_with_logits, its mean over the classes. [..., classes], [..., classes] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

    weight: Tensor | None
    reduction: str
    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class MultiMarginLoss(Module):
    """Mean over the other classes of max(0, margin - right + other)**p. [n, classes], [n] int -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where p is neither 1 nor 2."""

    p: _int
    margin: _float
    weight: Tensor | None
    reduction: str
    def __init__(
        self, p: _int = 1, margin: _float = 1.0, weight: Tensor | None = None, reduction: str = "mean"
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class NLLLoss(Module):
    """Minus the log-probability of each target, weighted. [n, classes, ...], [n, ...] int -> []

    ignore_index: a class that counts for nothing
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where the target's shape does not fit; TypeError where it is not of integers."""

    weight: Tensor | None
    ignore_index: _int
    reduction: str
    def __init__(
        self, weight: Tensor | None = None, ignore_index: _int = -100, reduction: str = "mean"
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class NLLLoss2d(Module):
    """Minus the log-probability of each target, weighted. [n, classes, ...], [n, ...] int -> []

    ignore_index: a class that counts for nothing
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where the target's shape does not fit; TypeError where it is not of integers."""

    weight: Tensor | None
    ignore_index: _int
    reduction: str
    def __init__(
        self, weight: Tensor | None = None, ignore_index: _int = -100, reduction: str = "mean"
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class RNNTLoss(Module):
    """-log p(targets) of a transducer under any alignment (Graves, 2012), as torchaudio's.

    logits are of each frame and each number of labels that were said before; log-probabilities give the same
    loss. "mean" is of the batch. [n, t, s + 1, c], [n, s], [n], [n] -> []

    logit_lengths: how many frames each sequence has, from 1
    target_lengths: how many labels each sequence has
    blank: the class that stands for no label
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where shapes do not fit together, blank is no class, or reduction is unknown."""

    blank: _int
    reduction: str
    def __init__(self, blank: _int = -1, reduction: str = "mean") -> None: ...
    def forward(
        self,
        logits: Tensor,
        targets: Tensor,
        logit_lengths: Tensor | Sequence[_int],
        target_lengths: Tensor | Sequence[_int],
    ) -> Tensor: ...
    def __call__(
        self,
        logits: Tensor,
        targets: Tensor,
        logit_lengths: Tensor | Sequence[_int],
        target_lengths: Tensor | Sequence[_int],
    ) -> Tensor: ...

class PoissonNLLLoss(Module):
    """Of counts under a Poisson rate (its logarithm); full adds Stirling's log(target!). -> []

    log_input: the input is the logarithm of the rate
    eps: a small number that keeps divisions from 0
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

    log_input: _bool
    full: _bool
    eps: _float
    reduction: str
    def __init__(
        self, log_input: _bool = True, full: _bool = False, eps: _float = 1e-08, reduction: str = "mean"
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class SmoothL1Loss(Module):
    """huber_loss / beta; the absolute difference for beta=0. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where beta is below 0."""

    reduction: str
    beta: _float
    def __init__(self, reduction: str = "mean", beta: _float = 1.0) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class SoftMarginLoss(Module):
    """log(1 + exp(-target * input)) for targets 1 and -1. [...], [...] -> []

    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

    reduction: str
    def __init__(self, reduction: str = "mean") -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class TripletMarginLoss(Module):
    """max(0, margin + |anchor - positive| - |anchor - negative|). [n, d], [n, d], [n, d] -> []

    p: which norm the distance is
    eps: a small number that keeps divisions from 0
    swap: take the distance from positive to negative where that is less
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

    margin: _float
    p: _float
    eps: _float
    swap: _bool
    reduction: str
    def __init__(
        self,
        margin: _float = 1.0,
        p: _float = 2.0,
        eps: _float = 1e-06,
        swap: _bool = False,
        reduction: str = "mean",
    ) -> None: ...
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...
    def __call__(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...

class TripletMarginWithDistanceLoss(Module):
    """triplet_margin_loss by any distance of two tensors. [n, d], [n, d], [n, d] -> []

    anchor: the rows that others are compared with
    positive: rows that should be near
    negative: rows that should be far
    distance_function: of two tensors of rows; the Euclidean distance where there is none
    margin: how much farther the negative should be
    swap: take the distance from positive to negative where that is less
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

    distance_function: Any
    margin: _float
    swap: _bool
    reduction: str
    def __init__(
        self,
        *,
        distance_function: Any = None,
        margin: _float = 1.0,
        swap: _bool = False,
        reduction: str = "mean",
    ) -> None: ...
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...
    def __call__(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...
