"""Ops made of ops: activations, softmax and losses, each a line or a few."""

from math import pi, sqrt

from ..op import COMPOSED, Family, composed, composite
from ..shape import normal_dim


class Composed(Family):
    @composed
    def addcmul(self, a, b, value: float = 1.0):
        """self + value * a * b"""
        return self + a * b * value

    @composed
    def clamp(self, min=None, max=None):
        """Values below min become min, above max max; NaN stays; the slope at both ends is 1."""
        x = self if min is None else (self < min).where(min, self)
        return x if max is None else (x > max).where(max, x)

    clip = clamp

    @composed
    def lerp(self, end, weight):
        """self + weight * (end - self)"""
        return self + (end - self) * weight

    @composed
    def masked_fill(self, mask, value: float):
        """`value` where mask is true. [...], [...] -> [...]"""
        return mask.where(value, self)

    @composed
    def tril(self, diagonal: int = 0):
        """The lower triangle of the last two dims, zero above `diagonal`. [..., n, m] -> [..., n, m]"""
        return _triangle(self, lambda i, j: j <= i + diagonal)

    @composed
    def triu(self, diagonal: int = 0):
        """The upper triangle of the last two dims, zero below `diagonal`. [..., n, m] -> [..., n, m]"""
        return _triangle(self, lambda i, j: j >= i + diagonal)

    @composed
    def softmax(self, dim: int = -1):
        """exp(x) normalised to sum to 1 along a dim. [..., n, ...] -> [..., n, ...]"""
        return _softmax(self.float(), dim=normal_dim(dim, self.ndim))

    @composed
    def log_softmax(self, dim: int = -1):
        """Logarithm of softmax along a dim, safe for large values. [..., n, ...] -> [..., n, ...]"""
        return _log_softmax(self.float(), dim=normal_dim(dim, self.ndim))


def _triangle(x, keep):
    arange = type(x).arange
    i = arange(x.shape[-2], device=x.device).unsqueeze(1)
    return keep(i, arange(x.shape[-1], device=x.device)).where(x, 0)


def _softmax_grad(g, y, x, dim):
    gy = g * y
    return [gy - y * gy.sum(dim, keepdim=True)]


@composite(grad=_softmax_grad)
def _softmax(x, *, dim):
    e = (x - x._max((dim,))).exp()
    return e / e._sum((dim,))


def _log_softmax_grad(g, y, x, dim):
    return [g - y.exp() * g.sum(dim, keepdim=True)]


@composite(grad=_log_softmax_grad)
def _log_softmax(x, *, dim):
    away = x - x._max((dim,))
    return away - away.exp()._sum((dim,)).log()


@composed
def silu(input):
    """x * sigmoid(x)"""
    return input * input.sigmoid()


@composed
def gelu(input, approximate: str = "none"):
    """x times the normal distribution's mass below x; approximate="tanh" is the older formula."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate={approximate!r} is unknown: use 'none' or 'tanh'")
    if approximate == "tanh":
        return input * 0.5 * ((input + input * input * input * 0.044715) * sqrt(2 / pi)).tanh() + input * 0.5
    return input * 0.5 * ((input * sqrt(0.5)).erf() + 1)


@composed
def softplus(input, beta: float = 1.0, threshold: float = 20.0):
    """log(1 + exp(beta * x)) / beta; x itself above the threshold, where they agree."""
    scaled = input * beta
    return (scaled > threshold).where(input, scaled.clamp(max=threshold).exp().log1p() * (1 / beta))


@composed
def logsigmoid(input):
    """log(sigmoid(x)), safe for large negative x."""
    return input.minimum(0) - (-input.abs()).exp().log1p()


@composed
def leaky_relu(input, negative_slope: float = 0.01):
    """x, or x * negative_slope where x < 0."""
    return (input > 0).where(input, input * negative_slope)


@composed
def elu(input, alpha: float = 1.0):
    """x, or alpha * (exp(x) - 1) where x < 0."""
    return (input > 0).where(input, input.minimum(0).expm1() * alpha)


@composed
def hardtanh(input, min_val: float = -1.0, max_val: float = 1.0):
    """x held inside [min_val, max_val]; unlike clamp's, its slope is 0 at both ends."""
    above = (input <= min_val).where(min_val, input)
    return (above >= max_val).where(max_val, above)


@composed
def relu6(input):
    """x held inside [0, 6]."""
    return hardtanh(input, 0, 6)


@composed
def hardsigmoid(input):
    """(x + 3) / 6 held inside [0, 1]."""
    return hardtanh(input + 3, 0, 6) * (1 / 6)


@composed
def hardswish(input):
    """x * hardsigmoid(x)"""
    return input * hardsigmoid(input)


@composed
def mish(input):
    """x * tanh(softplus(x))"""
    return input * softplus(input).tanh()


@composed
def softsign(input):
    """x / (1 + |x|)"""
    return input / (input.abs() + 1)


@composed
def linear(input, weight, bias=None):
    """x @ weight.T + bias. [..., i], [o, i], [o] -> [..., o]"""
    y = input.matmul(weight.t())
    return y if bias is None else y + bias


@composed
def layer_norm(input, normalized_shape, weight=None, bias=None, eps: float = 1e-5):
    """Mean 0, variance 1 over the last dims, then weight and bias (Ba et al., 2016). [..., n] -> [..., n]"""
    k = len(normalized_shape)
    if tuple(normalized_shape) != input.shape[input.ndim - k :]:
        found = list(input.shape[input.ndim - k :])
        raise ValueError(f"the last dims are {found}: normalized_shape must equal them")
    dims = tuple(range(input.ndim - k, input.ndim))
    away = input - input.mean(dims, keepdim=True)
    y = away * ((away * away).mean(dims, keepdim=True) + eps).rsqrt()
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _reduce(x, reduction: str):
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction={reduction!r} is unknown: use 'mean', 'sum' or 'none'")
    return x if reduction == "none" else getattr(x, reduction)()


@composed
def nll_loss(input, target, reduction: str = "mean"):
    """Minus the log-probability of each target. [n, classes, ...], [n, ...] int -> []"""
    if input.ndim != target.ndim + 1 or not target.dtype.is_int:
        raise ValueError("input needs one dim more than target (classes, at 1), and target integer classes")
    d = min(1, input.ndim - 1)
    classes = type(input).arange(input.shape[d], device=input.device)
    classes = classes.reshape(*(-1 if e == d else 1 for e in range(input.ndim)))
    hit = target.unsqueeze(d) == classes
    return _reduce(-hit.where(input, 0.0).sum(d), reduction)


@composed
def cross_entropy(input, target, reduction: str = "mean", label_smoothing: float = 0.0):
    """Negative log-likelihood of softmax(input). Logits [n, classes, ...], int classes [n, ...] -> []"""
    d = min(1, input.ndim - 1)
    log_p = input.log_softmax(d)
    loss = nll_loss(log_p, target, "none")
    if label_smoothing:
        loss = loss * (1 - label_smoothing) - log_p.mean(d) * label_smoothing
    return _reduce(loss, reduction)


@composed
def mse_loss(input, target, reduction: str = "mean"):
    """Squared difference. [...], [...] -> []"""
    return _reduce((input - target).square(), reduction)


@composed
def l1_loss(input, target, reduction: str = "mean"):
    """Absolute difference. [...], [...] -> []"""
    return _reduce((input - target).abs(), reduction)


@composed
def binary_cross_entropy_with_logits(input, target, reduction: str = "mean"):
    """Negative log-likelihood of sigmoid(input) for targets in [0, 1]. [...], [...] -> []"""
    return _reduce(input.maximum(0) - input * target + (-input.abs()).exp().log1p(), reduction)


__all__ = sorted(name for name in COMPOSED if not name.startswith("_"))
