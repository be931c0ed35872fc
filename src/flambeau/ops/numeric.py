"""Numeric ops made of ops: PyTorch's pointwise list beyond what has a kernel line of its own."""

from math import log, pi
from typing import TYPE_CHECKING, NamedTuple

from ..core import dtype as dt
from ..core.declare import composed
from ..core.op import COMPOSED, Family
from .elementwise import Elementwise, as_float, choose, scaled

if TYPE_CHECKING:
    from ..tensor import Tensor

FUNCTIONS = ("frexp", "rsub")


class Numeric(Family):
    @composed
    def addcmul(self, tensor1, tensor2, *, value: float = 1):
        """self + value * tensor1 * tensor2. [...], [...], [...] -> [...]"""
        return self + scaled(tensor1 * tensor2, value, "value")

    @composed
    def addcdiv(self, tensor1, tensor2, *, value: float = 1):
        """self + value * tensor1 / tensor2. [...], [...], [...] -> [...]"""
        return self + tensor1 / tensor2 * value

    @composed
    def clamp(self, min=None, max=None):
        """Values below min become min, above max max; NaN stays; the slope at both ends is 1."""
        if min is None and max is None:
            raise ValueError("at least one of min and max must be given: give a number or a tensor")
        if hasattr(min, "node") and hasattr(max, "node") and min.requires_grad:
            min = (min < max).where(min, min.detach())  # equal bounds have no slope, as in PyTorch
        x = self if min is None else choose(_or_nan(self < min, min), min, self)
        return x if max is None else choose(_or_nan(x > max, max), max, x)

    clip = clamp

    @composed
    def clamp_min(self, min):
        """Values below min become min. [...] -> [...]"""
        return self.clamp(min=min)

    @composed
    def clamp_max(self, max):
        """Values above max become max. [...] -> [...]"""
        return self.clamp(max=max)

    @composed
    def lerp(self, end, weight):
        """self + weight * (end - self); with weight 1 just `end`. [...], [...], [...] -> [...]"""
        way = end - self
        from_start, from_end = self + way * weight, end - way * (1 - weight)
        if hasattr(weight, "node"):
            return (weight.abs() < 0.5).where(from_start, from_end)
        return from_end if isinstance(weight, int | float) and abs(weight) >= 0.5 else from_start

    @composed
    def deg2rad(self):
        """Degrees as radians. [...] -> [...]"""
        return self * (pi / 180)

    @composed
    def rad2deg(self):
        """Radians as degrees. [...] -> [...]"""
        return self * (180 / pi)

    @composed
    def positive(self):
        """Itself; bools are refused, as by neg. [...] -> [...]"""
        if self.dtype is dt.bool_:
            raise TypeError("bools have no signs: cast with .int()")
        return self

    @composed
    def frac(self):
        """x - trunc(x): the part after the point, with the sign of x. [...] -> [...]"""
        return self - self.trunc()

    @composed
    def float_power(self, exponent):
        """self**exponent in floats, whatever the inputs are (PyTorch: in float64). [...], [...] -> [...]"""
        given = as_float(exponent) if hasattr(exponent, "node") else exponent * 1.0
        return as_float(self).pow(given)

    @composed
    def fmax(self, other):
        """The larger of both, self of equals; where one is NaN, the other. [...], [...] -> [...]"""
        return choose(_is_nan(other) | (self >= other), self, other)

    @composed
    def fmin(self, other):
        """The smaller of both, self of equals; where one is NaN, the other. [...], [...] -> [...]"""
        return choose(_is_nan(other) | (self <= other), self, other)

    @composed
    def heaviside(self, values):
        """0 below 0, 1 above, `values` at 0; 0 for NaN. [...], [...] -> [...]"""
        if self.dtype is not getattr(values, "dtype", self.dtype):
            raise TypeError("both inputs must have one dtype: cast one")
        return choose(self == 0, values, (self > 0).to(self.dtype))

    @composed
    def lcm(self, other):
        """Least common multiple, 0 where either is. [...], [...] -> [...]"""
        divisor = self.gcd(other)
        return (self // (divisor == 0).where(1, divisor) * other).abs()

    @composed
    def logaddexp2(self, other):
        """log2(2**x + 2**y). [...], [...] -> [...]"""
        # of the difference itself: a driver may round the two factors of log(2) each in its own way
        below = self < other  # of both terms: abs and maximum have no second slope where they are equal
        top = below.where(other, self)
        apart = (top.isinf() & (self == other)).where(0.0, below.where(self - other, other - self))
        return top + apart.exp2().log1p() * (1 / log(2))

    @composed
    def nan_to_num(self, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None):
        """NaN becomes `nan`, infinities posinf and neginf (by default the largest floats). [...] -> [...]"""
        if self.dtype.is_complex:
            parts = (part.nan_to_num(nan, posinf, neginf) for part in (self.real, self.imag))
            return COMPOSED["complex"](*parts)
        if not self.dtype.is_float:
            return self
        high = 3.4028234663852886e38 if posinf is None else posinf
        low = -3.4028234663852886e38 if neginf is None else neginf
        x = self.isnan().where(nan, self)
        return self.isposinf().where(high, self.isneginf().where(low, x))

    @composed
    def isposinf(self):
        """Whether x is infinite and positive. [...] -> [...]"""
        return self.isinf() & (self > 0)

    @composed
    def isneginf(self):
        """Whether x is infinite and negative. [...] -> [...]"""
        return self.isinf() & (self < 0)

    @composed
    def isclose(self, other, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False):
        """Whether |self - other| <= atol + rtol * |other|; infinities are close to themselves."""
        if rtol < 0 or atol < 0:
            raise ValueError(f"rtol={rtol} and atol={atol} are distances: give numbers from 0")
        x, y = as_float(self), as_float(other)
        near = x.isfinite() & y.isfinite() & ((x - y).abs() <= y.abs() * rtol + atol)
        near = near | (self == other)
        return near | (x.isnan() & y.isnan()) if equal_nan else near

    def allclose(self, other, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
        """Whether |input - other| <= atol + rtol * |other| everywhere, as a Python bool: runs the graph and
        waits. equal_nan: NaNs equal each other."""
        return bool(self.isclose(other, rtol, atol, equal_nan).all().item())

    def equal(self, other) -> bool:
        """Whether shapes and all values are equal, as a Python bool: runs the graph and waits. TypeError
        where other is no tensor."""
        if not hasattr(other, "node"):
            raise TypeError(f"equal(): {other!r} is no tensor: wrap it in fb.tensor(...)")
        return self.shape == other.shape and bool((self == other).all().item())


def _or_nan(outside, bound):
    """A bound that is NaN makes NaN, as in PyTorch."""
    if hasattr(bound, "node"):
        return outside | bound.isnan() if bound.dtype.is_float else outside
    return outside | True if bound != bound else outside


def _is_nan(y):
    return y.isnan() if hasattr(y, "isnan") else y != y


class MantissaExponent(NamedTuple):
    mantissa: "Tensor"
    exponent: "Tensor"


@composed
def frexp(input):
    """(mantissa, exponent): input = mantissa * 2**exponent, |mantissa| in [0.5, 1). [...] -> [...], [...]"""
    power = input.exponent()
    return MantissaExponent(input.ldexp(-power), power)


@composed
def rsub(input, other, *, alpha=1):
    """other - alpha * input. [...], [...] -> [...]"""
    return Elementwise.sub(other, input, alpha=alpha)
