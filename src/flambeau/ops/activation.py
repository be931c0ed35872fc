"""Activation functions, composed of a few other ops each."""

from __future__ import annotations

from math import inf, pi, sqrt
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.declare import composed, composite
from ..core.shape import normal_dim
from .elementwise import fit_to_dtype
from .random import gumbel_bits, uniform_bits
from .reduce import in_float32

if TYPE_CHECKING:
    from ..core.dtype import DTypeLike
    from ..ops.random import Generator
    from ..tensor import Tensor


@composed
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x). [...] -> [...]"""
    return input * input.sigmoid()


@composed
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the standard normal distribution function of x; approximate="tanh" is the older formula.
    [...] -> [...]

    Raises ValueError if approximate is unknown.
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate={approximate!r} is unknown: use 'none' or 'tanh'")
    if approximate == "tanh":
        # (1 + tanh(u)) / 2 as sigmoid(2 u): nothing cancels below 0, and it is one exponential
        return input * ((input + input * input * input * 0.044715) * (2 * sqrt(2 / pi))).sigmoid()
    return input * 0.5 * ((input * sqrt(0.5)).erf() + 1)  # x Phi(x), by Phi(x) = (1 + erf(x / sqrt(2))) / 2


@composed
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * x)) / beta; x itself above the threshold, where they agree. [...] -> [...]"""
    x, dtype = in_float32(input)
    # The clamp keeps exp finite above the threshold, where its result is not used: inf * 0 in a gradient is
    # NaN.
    scaled = x * beta
    y = (scaled > threshold).where(x, scaled.clamp(max=threshold).exp().log1p() * (1 / beta))
    return y.to(dtype)


@composed
def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), safe for large negative x. [...] -> [...]"""
    below = input < 0  # instead of abs, which has no second derivative at 0
    return below.where(input, 0.0) - below.where(input, -input).exp().log1p()


@composed
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x, or x * negative_slope where x < 0. [...] -> [...]"""
    return (input > 0).where(input, input * negative_slope)  # the slope at 0 is negative_slope, as in PyTorch


def _elu_grad(g: Tensor, y: Tensor, x: Tensor, alpha: float, slope: float) -> list[Tensor | None]:
    """g above 0; from 0 down the derivative of the exponential branch, as in PyTorch. It uses exp rather than
    y, since exp(x) - 1 + 1 rounds to 0 below -17."""
    return [(x <= 0).where(g * (((x < 0).where(x, 0.0) * slope).exp() * (alpha * slope)), g)]


@composite(grad=_elu_grad)
def _elu(x: Tensor, *, alpha: Any, slope: Any) -> Tensor:
    return (x > 0).where(x, (x * slope).expm1() * alpha)


@composed
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x, or alpha * (exp(x) - 1) where x < 0. [...] -> [...]"""
    return _elu(input, alpha=alpha, slope=1.0)


@composed
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x limited to [min_val, max_val]; unlike clamp, the gradient is 0 at both ends. [...] -> [...]

    Raises ValueError if min_val is above max_val.
    """
    if min_val > max_val:
        raise ValueError(f"min_val={min_val} is above max_val={max_val}: exchange them")
    return _limit(input, min_val, max_val)


def _limit(input: Tensor, min_val: float, max_val: float) -> Tensor:
    """clamp, with gradient 0 at both ends."""
    low, high = fit_to_dtype(min_val, input.dtype), fit_to_dtype(max_val, input.dtype)
    above = (input <= low).where(low, input)  # comparisons also let NaN pass
    return (above >= high).where(high, above)


@composed
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x limited to [0, 6]."""
    return _limit(input, 0, 6)


@composed
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """(x + 3) / 6 limited to [0, 1]."""
    return _limit(input + 3, 0, 6) * (1 / 6)


@composed
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x). [...] -> [...]"""
    return input * hardsigmoid(input)


@composed
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x)). [...] -> [...]"""
    return input * softplus(input).tanh()


@composed
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|). [...] -> [...]"""
    return input / (input.abs() + 1)


@composed
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x, or alpha * (exp(x / alpha) - 1) where x < 0 (Barron, 2017). [...] -> [...]"""
    return _elu(input, alpha=alpha, slope=1 / alpha)


@composed
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu scaled so that a deep network keeps mean 0 and variance 1 (Klambauer et al., 2017).
    [...] -> [...]"""
    return _elu(input, alpha=1.6732632423543772, slope=1.0) * 1.0507009873554805


@composed
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x, or weight * x where x < 0: one weight, or one for each index of dim 1. [n, c, ...], [c] -> same

    Raises ValueError if weight has neither one value nor one per channel.
    """
    if weight.numel() != 1 and (weight.ndim != 1 or input.ndim < 2 or weight.numel() != input.shape[1]):
        raise ValueError("weight must have one value, or as many as input has at dim 1: reshape it")
    w = weight.reshape(-1, *(1,) * (input.ndim - 2)) if weight.numel() != 1 else weight.reshape(())
    above = input > 0  # an infinity times 0 would make the weight's gradient NaN
    return above.where(input, above.where(0.0, input) * w)


@composed
def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """leaky_relu with a random slope for each element in training, else the mean of the bounds.
    [...] -> [...]

    lower, upper: the smallest and the largest slope. ValueError if lower is above upper, or either is not
    finite.
    """
    if not -inf < lower <= upper < inf:
        raise ValueError(
            f"lower={lower} and upper={upper} are not valid bounds: pass finite numbers, the lower first"
        )
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    slope = uniform_bits(input.shape, input.device) * (upper - lower) + lower
    return (input >= 0).where(input, input * slope).to(input.dtype)


@composed
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x). [...] -> [...]"""
    return input - input.tanh()


@composed
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x, or 0 where |x| <= lambd."""
    # NaN stays NaN, as in PyTorch
    return ((input < -lambd) | (input > lambd) | input.isnan()).where(input, 0.0)


@composed
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, 0 where |x| <= lambd. [...] -> [...]

    Raises ValueError if lambd is below 0.
    """
    return shrink(input, lambd, lambd)


@composed
def shrink(input: Tensor, lambd: float = 0.5, bias: float = 0.0) -> Tensor:
    """x - bias above lambd, x + bias below -lambd, 0 between (ONNX's Shrink). [...] -> [...]

    Raises ValueError if lambd is below 0.
    """
    if lambd < 0:
        raise ValueError(f"lambd={lambd} is below 0: pass 0 or more")
    inner = (input < -lambd).where(input + bias, 0.0)
    return ((input > lambd) | input.isnan()).where(input - bias, inner)


@composed
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x, or `value` where x <= threshold. [...] -> [...]

    Raises ValueError if the dtype has no such value.
    """
    return (input <= threshold).where(fit_to_dtype(value, input.dtype), input)


@composed
def thresholded_relu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """x, or 0 where x <= alpha (ONNX's ThresholdedRelu). [...] -> [...]"""
    return (input <= alpha).where(0.0, input)


@composed
def softmin(input: Tensor, dim: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """softmax of -x. [..., n, ...] -> [..., n, ...]"""
    return (-input).softmax(dim, dtype)


@composed
def quiet_softmax(input: Tensor, dim: int = -1) -> Tensor:
    """exp(x) / (1 + sum(exp(x))): softmax whose weights may all be near 0 (Miller, 2023).
    [..., n, ...] -> same"""
    # The added 1 is exp(0) of one more logit, so that 0 takes part in the maximum.
    top = input.detach().amax(dim, keepdim=True).maximum(0)
    e = (input - top).exp()
    return e / (e.sum(dim, keepdim=True) + (-top).exp())


def _halves(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """[..., 2n, ...] -> [..., n, ...] * 2"""
    d = normal_dim(dim, input.ndim)
    if input.shape[d] % 2:
        raise ValueError(f"dim {dim} has {input.shape[d]} elements: make it even")
    n = input.shape[d] // 2
    return input.narrow(d, 0, n), input.narrow(d, n, n)


@composed
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a * sigmoid(b) of the halves a, b (Dauphin et al., 2017). [..., 2n, ...] -> [..., n, ...]

    Raises ValueError if the size of the dim is odd.
    """
    a, b = _halves(input, dim)
    return a * b.sigmoid()


@composed
def swiglu(input: Tensor, dim: int = -1) -> Tensor:
    """silu(a) * b of the halves a, b (Shazeer, 2020). [..., 2n, ...] -> [..., n, ...]

    Raises ValueError if the size of the dim is odd.
    """
    a, b = _halves(input, dim)
    return silu(a) * b


@composed
def gumbel_softmax(
    logits: Tensor,
    tau: float = 1.0,
    hard: bool = False,
    eps: float = 1e-10,
    dim: int = -1,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """softmax((logits + Gumbel noise) / tau), a soft sample; with hard=True one-hot, with the gradient of the
    soft sample. [...] -> [...]

    eps: accepted and ignored: the noise is finite without it.
    ValueError if tau is 0.
    """
    if tau == 0:
        raise ValueError("tau=0 divides by 0: pass another value, or hard=True")
    noisy = logits + gumbel_bits(logits.shape, logits.device, generator)
    y = (noisy * (1 / tau)).softmax(dim).to(logits.dtype)
    if not hard:
        return y
    d = normal_dim(dim, y.ndim)
    shape = [-1 if e == d else 1 for e in range(y.ndim)]
    indices = type(logits).arange(y.shape[d], dtype=dt.int32, device=y.device).reshape(*shape)
    one_hot = (indices == y.detach().argmax(dim, keepdim=True)).to(y.dtype)
    # Straight through: the value is one-hot, the gradient that of y.
    return one_hot - y.detach() + y
