"""Layers without parameters: activations, losses and reshaping, one row of a table each.

Made by `python scripts/write_stubs.py`."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from ..core.dtype import DType
from ..nn.module import Module
from ..tensor import Tensor

class CELU(Module):
    """x, or alpha * (exp(x / alpha) - 1) where x < 0 (Barron, 2017)."""

    alpha: _float
    def __init__(self, alpha: _float = 1.0, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class ELU(Module):
    """x, or alpha * (exp(x) - 1) where x < 0."""

    alpha: _float
    def __init__(self, alpha: _float = 1.0, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class GELU(Module):
    """x times the normal distribution's mass below x; approximate="tanh" is the older formula.

    Raises ValueError where approximate is unknown."""

    approximate: str
    def __init__(self, approximate: str = "none", inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class GLU(Module):
    """a * sigmoid(b) of the halves a, b (Dauphin et al., 2017). [..., 2n, ...] -> [..., n, ...]"""

    dim: _int
    def __init__(self, dim: _int = -1, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Hardshrink(Module):
    """x, or 0 where |x| <= lambd."""

    lambd: _float
    def __init__(self, lambd: _float = 0.5, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Hardsigmoid(Module):
    """(x + 3) / 6 held inside [0, 1]."""
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Hardswish(Module):
    """x * hardsigmoid(x)"""
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Hardtanh(Module):
    """x held inside [min_val, max_val]; unlike clamp's, its slope is 0 at both ends."""

    min_val: _float
    max_val: _float
    def __init__(self, min_val: _float = -1.0, max_val: _float = 1.0, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class LeakyReLU(Module):
    """x, or x * negative_slope where x < 0."""

    negative_slope: _float
    def __init__(self, negative_slope: _float = 0.01, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class LogSigmoid(Module):
    """log(sigmoid(x)), safe for large negative x."""
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class LogSoftmax(Module):
    """Logarithm of softmax along a dim, safe for large values. [..., n, ...] -> [..., n, ...]"""

    dim: _int
    dtype: DType | type[Any] | str | None
    def __init__(
        self, dim: _int = -1, dtype: DType | type[Any] | str | None = None, inplace: _bool = False
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Mish(Module):
    """x * tanh(softplus(x))"""
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class ReLU(Module):
    """max(x, 0)"""
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class ReLU6(Module):
    """x held inside [0, 6]."""
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class SELU(Module):
    """elu scaled so that a deep net keeps mean 0 and variance 1 (Klambauer et al., 2017)."""
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Shrink(Module):
    """x - bias above lambd, x + bias below -lambd, 0 between (ONNX's Shrink).

    Raises ValueError where lambd is below 0."""

    lambd: _float
    bias: _float
    def __init__(self, lambd: _float = 0.5, bias: _float = 0.0, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class SiLU(Module):
    """x * sigmoid(x)"""
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Sigmoid(Module):
    """1 / (1 + exp(-x))"""
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Softmax(Module):
    """exp(x) normalised to sum to 1 along a dim. [..., n, ...] -> [..., n, ...]"""

    dim: _int
    dtype: DType | type[Any] | str | None
    def __init__(
        self, dim: _int = -1, dtype: DType | type[Any] | str | None = None, inplace: _bool = False
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Softmin(Module):
    """softmax of -x. [..., n, ...] -> [..., n, ...]"""

    dim: _int
    dtype: DType | type[Any] | str | None
    def __init__(
        self, dim: _int = -1, dtype: DType | type[Any] | str | None = None, inplace: _bool = False
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Softplus(Module):
    """log(1 + exp(beta * x)) / beta; x itself above the threshold, where they agree."""

    beta: _float
    threshold: _float
    def __init__(self, beta: _float = 1.0, threshold: _float = 20.0, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Softshrink(Module):
    """x moved towards 0 by lambd, 0 where |x| <= lambd."""

    lambd: _float
    def __init__(self, lambd: _float = 0.5, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Softsign(Module):
    """x / (1 + |x|)"""
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class SwiGLU(Module):
    """silu(a) * b of the halves a, b (Shazeer, 2020). [..., 2n, ...] -> [..., n, ...]"""

    dim: _int
    def __init__(self, dim: _int = -1, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Tanh(Module):
    """hyperbolic tangent"""
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Tanhshrink(Module):
    """x - tanh(x)"""
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Threshold(Module):
    """x, or `value` where x <= threshold."""

    threshold: _float
    value: _float
    def __init__(self, threshold: _float, value: _float, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class ThresholdedReLU(Module):
    """x, or 0 where x <= alpha (ONNX's ThresholdedRelu)."""

    alpha: _float
    def __init__(self, alpha: _float = 1.0, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Flatten(Module):
    """Dims start_dim to end_dim as one. [n, a, b], 1 -> [n, a * b]"""

    start_dim: _int
    end_dim: _int
    def __init__(self, start_dim: _int = 1, end_dim: _int = -1, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class BCELoss(Module):
    """Negative log-likelihood of probabilities for targets in [0, 1]; logs end at -100. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses"""

    weight: Tensor | None
    reduction: str
    def __init__(
        self, weight: Tensor | None = None, reduction: str = "mean", inplace: _bool = False
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class BCEWithLogitsLoss(Module):
    """Negative log-likelihood of sigmoid(input) for targets in [0, 1]. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    pos_weight: a factor for the positive targets of each class"""

    weight: Tensor | None
    reduction: str
    pos_weight: Tensor | None
    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
        inplace: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class CosineEmbeddingLoss(Module):
    """1 - cosine where target is 1, what it is above the margin where -1. [n, d], [n, d], [n] -> []

    input1: the first tensor
    input2: the second tensor
    reduction: "mean", "sum" or "none": what becomes of the losses"""

    margin: _float
    reduction: str
    def __init__(self, margin: _float = 0.0, reduction: str = "mean", inplace: _bool = False) -> None: ...
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
    def __init__(
        self, blank: _int = 0, reduction: str = "mean", zero_infinity: _bool = False, inplace: _bool = False
    ) -> None: ...
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

    target: what is wanted
    ignore_index: a class that counts for nothing
    reduction: "mean", "sum" or "none": what becomes of the losses
    label_smoothing: the share of the target that is spread over all classes"""

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
        inplace: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class GaussianNLLLoss(Module):
    """(log(var) + (input - target)**2 / var) / 2, var at least eps; full adds log(2 pi) / 2. -> []

    reduction: "mean", "sum" or "none": what becomes of the losses"""

    full: _bool
    eps: _float
    reduction: str
    def __init__(
        self, full: _bool = False, eps: _float = 1e-06, reduction: str = "mean", inplace: _bool = False
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor, var: Tensor | _float) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor, var: Any) -> Tensor: ...

class HingeEmbeddingLoss(Module):
    """Distances where target is 1, what lacks to the margin where it is -1. [...], [...] -> []

    reduction: "mean", "sum" or "none": what becomes of the losses"""

    margin: _float
    reduction: str
    def __init__(self, margin: _float = 1.0, reduction: str = "mean", inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class HuberLoss(Module):
    """Half the squared difference up to delta, then a line of slope delta. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses"""

    reduction: str
    delta: _float
    weight: Tensor | None
    def __init__(
        self,
        reduction: str = "mean",
        delta: _float = 1.0,
        weight: Tensor | None = None,
        inplace: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class KLDivLoss(Module):
    """target * (log(target) - input) for input of log-probabilities; "batchmean" divides by dim 0 alone.

    reduction: "mean", "sum" or "none": what becomes of the losses
    log_target: the target is logarithms too"""

    reduction: str
    log_target: _bool
    def __init__(
        self, reduction: str = "mean", log_target: _bool = False, inplace: _bool = False
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class L1Loss(Module):
    """Absolute difference; a weight for each makes the mean one by weights. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses"""

    reduction: str
    weight: Tensor | None
    def __init__(
        self, reduction: str = "mean", weight: Tensor | None = None, inplace: _bool = False
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class MarginRankingLoss(Module):
    """max(0, margin - target * (input1 - input2)) for targets 1 and -1. [...], [...], [...] -> []

    reduction: "mean", "sum" or "none": what becomes of the losses"""

    margin: _float
    reduction: str
    def __init__(self, margin: _float = 0.0, reduction: str = "mean", inplace: _bool = False) -> None: ...
    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...

class MSELoss(Module):
    """Squared difference; a weight for each makes the mean one by weights. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses"""

    reduction: str
    weight: Tensor | None
    def __init__(
        self, reduction: str = "mean", weight: Tensor | None = None, inplace: _bool = False
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class MultiLabelSoftMarginLoss(Module):
    """binary_cross_entropy_with_logits, its mean over the classes. [..., classes], [..., classes] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses"""

    weight: Tensor | None
    reduction: str
    def __init__(
        self, weight: Tensor | None = None, reduction: str = "mean", inplace: _bool = False
    ) -> None: ...
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
        self,
        p: _int = 1,
        margin: _float = 1.0,
        weight: Tensor | None = None,
        reduction: str = "mean",
        inplace: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class NLLLoss(Module):
    """Minus the log-probability of each target, weighted. [n, classes, ...], [n, ...] int -> []

    ignore_index: a class that counts for nothing
    reduction: "mean", "sum" or "none": what becomes of the losses"""

    weight: Tensor | None
    ignore_index: _int
    reduction: str
    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: _int = -100,
        reduction: str = "mean",
        inplace: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class PoissonNLLLoss(Module):
    """Of counts under a Poisson rate (its logarithm); full adds Stirling's log(target!). -> []

    log_input: the input is the logarithm of the rate
    eps: a small number that keeps divisions from 0
    reduction: "mean", "sum" or "none": what becomes of the losses"""

    log_input: _bool
    full: _bool
    eps: _float
    reduction: str
    def __init__(
        self,
        log_input: _bool = True,
        full: _bool = False,
        eps: _float = 1e-08,
        reduction: str = "mean",
        inplace: _bool = False,
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
    def __init__(self, reduction: str = "mean", beta: _float = 1.0, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class SoftMarginLoss(Module):
    """log(1 + exp(-target * input)) for targets 1 and -1. [...], [...] -> []

    reduction: "mean", "sum" or "none": what becomes of the losses"""

    reduction: str
    def __init__(self, reduction: str = "mean", inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...

class TripletMarginLoss(Module):
    """max(0, margin + |anchor - positive| - |anchor - negative|). [n, d], [n, d], [n, d] -> []

    p: which norm the distance is
    eps: a small number that keeps divisions from 0
    swap: take the distance from positive to negative where that is less
    reduction: "mean", "sum" or "none": what becomes of the losses"""

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
        inplace: _bool = False,
    ) -> None: ...
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...
    def __call__(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...

class CosineSimilarity(Module):
    """Cosine of the angle between vectors along a dim; lengths are eps at least. [...], [...] -> [...]

    x1: the first rows
    x2: the second rows"""

    dim: _int
    eps: _float
    def __init__(self, dim: _int = 1, eps: _float = 1e-08, inplace: _bool = False) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor: ...
    def __call__(self, x1: Tensor, x2: Tensor) -> Tensor: ...

class LocalResponseNorm(Module):
    """x / (k + alpha * mean of squares of `size` channels around)**beta (Krizhevsky et al., 2012).

    Raises ValueError where the input has fewer than 3 dims."""

    size: _int
    alpha: _float
    beta: _float
    k: _float
    def __init__(
        self, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0, inplace: _bool = False
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dim. [..., d], [..., d] -> [...]"""

    p: _float
    eps: _float
    keepdim: _bool
    def __init__(
        self, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False, inplace: _bool = False
    ) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor: ...
    def __call__(self, x1: Tensor, x2: Tensor) -> Tensor: ...

class PixelShuffle(Module):
    """Channels become pixels (Shi et al., 2016). [..., c * r * r, h, w] -> [..., c, h * r, w * r]

    upscale_factor: how many times larger height and width become
    Raises ValueError where the factor does not divide the channels."""

    upscale_factor: _int
    def __init__(self, upscale_factor: _int, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class PixelUnshuffle(Module):
    """Pixels become channels. [..., c, h * r, w * r] -> [..., c * r * r, h, w]

    downscale_factor: how many times smaller height and width become
    Raises ValueError where the factor does not divide height and width."""

    downscale_factor: _int
    def __init__(self, downscale_factor: _int, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
