"""Pointwise ops of PyTorch that are composed of other ops."""

from __future__ import annotations

from math import log, pi
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core import dtype as dt
from ..core.declare import composed
from ..core.node import is_tensor
from ..core.op import COMPOSED
from .elementwise import as_float, choose, scale_by, sub

if TYPE_CHECKING:
    from ..tensor import HostScalar, Tensor, TensorLike


@composed
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value * tensor1 * tensor2. [...], [...], [...] -> [...]

    Raises TypeError if value is not an integer and the tensors hold integers.
    """
    return input + scale_by(tensor1 * tensor2, value, "value")


@composed
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value * tensor1 / tensor2. [...], [...], [...] -> [...]"""
    return input + tensor1 / tensor2 * value


@composed
def clamp(input: Tensor, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """Values below min become min, those above max become max; NaN stays. The gradient at both bounds is 1.

    Raises ValueError if neither min nor max is given.
    """
    if min is None and max is None:
        raise ValueError("min and max are both None: pass at least one of them")
    if is_tensor(min) and is_tensor(max) and min.requires_grad:
        min = (min < max).where(min, min.detach())  # as in PyTorch, no gradient if the bounds are equal
    # NaN compares as false, so it stays
    x = input if min is None else choose(_or_is_nan(input < min, min), min, input)
    return x if max is None else choose(_or_is_nan(x > max, max), max, x)


clip = clamp


@composed
def clamp_min(input: Tensor, min: TensorLike) -> Tensor:
    """Values below min become min. [...] -> [...]"""
    return input.clamp(min=min)


@composed
def clamp_max(input: Tensor, max: TensorLike) -> Tensor:
    """Values above max become max. [...] -> [...]"""
    return input.clamp(max=max)


@composed
def lerp(input: Tensor, end: TensorLike, weight: TensorLike) -> Tensor:
    """input + weight * (end - input); exactly `end` for weight 1. [...], [...], [...] -> [...]"""
    # From the nearer end, as PyTorch: no rounding at either end.
    difference = end - input
    from_start, from_end = input + difference * weight, end - difference * (1 - weight)
    if is_tensor(weight):
        return (weight.abs() < 0.5).where(from_start, from_end)
    return from_end if isinstance(weight, int | float) and abs(weight) >= 0.5 else from_start


@composed
def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians. [...] -> [...]"""
    return input * (pi / 180)


@composed
def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees. [...] -> [...]"""
    return input * (180 / pi)


@composed
def positive(input: Tensor) -> Tensor:
    """The input itself. [...] -> [...]

    Raises TypeError for bools.
    """
    if input.dtype is dt.bool_:
        raise TypeError("bools have no signs: cast with .int()")
    return input


@composed
def frac(input: Tensor) -> Tensor:
    """input - trunc(input): the fractional part, with the sign of input. [...] -> [...]"""
    return input - input.trunc()


@composed
def float_power(input: TensorLike, exponent: TensorLike) -> Tensor:
    """input**exponent in floats for all dtypes (PyTorch: in float64). [...], [...] -> [...]"""
    return as_float(input).pow(as_float(exponent) if is_tensor(exponent) else exponent * 1.0)


@composed
def fmax(input: Tensor, other: TensorLike) -> Tensor:
    """The larger of both, input if they are equal; if one is NaN, the other. [...], [...] -> [...]"""
    return choose(_is_nan(other) | (input >= other), input, other)  # False for a NaN input: the other


@composed
def fmin(input: Tensor, other: TensorLike) -> Tensor:
    """The smaller of both, input if they are equal; if one is NaN, the other. [...], [...] -> [...]"""
    return choose(_is_nan(other) | (input <= other), input, other)


@composed
def heaviside(input: Tensor, values: TensorLike) -> Tensor:
    """0 below 0, 1 above, `values` at 0; 0 for NaN. [...], [...] -> [...]

    Raises TypeError if the dtypes differ.
    """
    if input.dtype is not getattr(values, "dtype", input.dtype):
        raise TypeError("input and values must have the same dtype: cast one of them")
    return choose(input == 0, values, (input > 0).to(input.dtype))


@composed
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """Least common multiple; 0 where either operand is 0. [...], [...] -> [...]"""
    divisor = input.gcd(other)
    # divided first, so that the product overflows less; gcd(0, 0) is 0
    return (input // (divisor == 0).where(1, divisor) * other).abs()


@composed
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2**x + 2**y). [...], [...] -> [...]"""
    # exp2 of the difference itself: a driver may round two factors of log(2) differently
    below = input < other  # one mask for both terms: abs and maximum have no second derivative at equality
    top = below.where(other, input)
    # both infinite and equal: inf - inf would be NaN
    gap = (top.isinf() & (input == other)).where(0.0, below.where(input - other, other - input))
    return top + gap.exp2().log1p() * (1 / log(2))


@composed
def nan_to_num(
    input: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN becomes `nan`, infinities posinf and neginf (by default the dtype's extremes). [...] -> [...]"""
    if input.dtype.is_complex:
        parts = (part.nan_to_num(nan, posinf, neginf) for part in (input.real, input.imag))
        return COMPOSED["complex"](*parts)
    if not input.dtype.is_float:
        return input
    limits = dt.finfo(input.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    x = input.isnan().where(nan, input)
    return input.isposinf().where(high, input.isneginf().where(low, x))


@composed
def isposinf(input: Tensor) -> Tensor:
    """Whether x is infinite and positive. [...] -> [...]"""
    return input.isinf() & (input > 0)


@composed
def isneginf(input: Tensor) -> Tensor:
    """Whether x is infinite and negative. [...] -> [...]"""
    return input.isinf() & (input < 0)


@composed
def isclose(
    input: Tensor, other: TensorLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether |input - other| <= atol + rtol * |other|; infinities are close to themselves.

    equal_nan: NaNs equal each other
    Raises ValueError if a tolerance is below 0.
    """
    if rtol < 0 or atol < 0:
        raise ValueError(f"rtol={rtol} or atol={atol} is below 0: pass 0 or more")
    x, y = as_float(input), as_float(other)
    # An infinite tolerance, rtol * inf, makes nothing close: only equal infinities are.
    near = x.isfinite() & y.isfinite() & ((x - y).abs() <= y.abs() * rtol + atol)
    near = near | (input == other)
    return near | (x.isnan() & y.isnan()) if equal_nan else near


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere, as a Python bool: runs the graph and
    waits. equal_nan: NaNs equal each other."""
    return bool(input.isclose(other, rtol, atol, equal_nan).all().item())


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether shapes and all values are equal, as a Python bool: runs the graph and waits. TypeError if
    other is not a tensor."""
    if not is_tensor(other):
        raise TypeError(f"equal(): {other!r} is not a tensor: wrap it in fb.tensor(...)")
    return input.shape == other.shape and bool((input == other).all().item())


def _or_is_nan(outside: Tensor, bound: TensorLike) -> Tensor:
    """The mask, also true where the bound is NaN: the result is NaN there, as in PyTorch."""
    if is_tensor(bound):
        return outside | bound.isnan() if bound.dtype.is_float else outside
    return outside | True if bound != bound else outside


def _is_nan(y: Any) -> Any:
    return y.isnan() if hasattr(y, "isnan") else y != y


class MantissaExponent(NamedTuple):
    mantissa: Tensor
    exponent: Tensor


@composed
def frexp(input: Tensor) -> MantissaExponent:
    """(mantissa, exponent): input = mantissa * 2**exponent, |mantissa| in [0.5, 1). [...] -> [...], [...]"""
    # x = m 2**e; the product with 2**-e is exact.
    power = input.exponent()
    return MantissaExponent(input.ldexp(-power), power)


@composed
def rsub(input: Tensor, other: TensorLike, *, alpha: float | HostScalar = 1) -> Tensor:
    """other - alpha * input. [...], [...] -> [...]"""
    return sub(other, input, alpha=alpha)
