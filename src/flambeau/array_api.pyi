"""The array API standard's names (data-apis.org, 2023.12) for tensors, as far as there are operations.

Made by `python scripts/write_stubs.py`."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from .core.dtype import DType
from .tensor import HostScalar, Tensor

__array_api_version__: str
e: _float
inf: _float
nan: _float
pi: _float
newaxis: None
float32: DType
int32: DType
uint32: DType
bool: DType

def abs(input: Tensor) -> Tensor:
    """absolute value. [...] -> [...]"""

def acos(input: Tensor) -> Tensor:
    """inverse cosine. [...] -> [...]"""

def acosh(input: Tensor) -> Tensor:
    """inverse of cosh. [...] -> [...]"""

def add(
    input: Tensor | _float | HostScalar,
    other: Tensor | _float | HostScalar,
    *,
    alpha: _float | HostScalar = 1,
) -> Tensor:
    """self + alpha * other. [...], [...] -> [...]

    Raises TypeError where alpha or value is no whole number and the tensors are of integers."""

def all(x: Tensor, /, *, axis: Any = None, keepdims: Any = False, **kw: Any) -> Tensor: ...
def any(x: Tensor, /, *, axis: Any = None, keepdims: Any = False, **kw: Any) -> Tensor: ...
def arange(
    start: _float,
    /,
    stop: Any = None,
    step: _float = 1,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
) -> Tensor:
    """start, start + step, ... short of stop, or nothing where step leads away from it."""

def argmax(x: Tensor, /, *, axis: Any = None, keepdims: Any = False, **kw: Any) -> Tensor: ...
def argmin(x: Tensor, /, *, axis: Any = None, keepdims: Any = False, **kw: Any) -> Tensor: ...
def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Tensor:
    """A tensor of anything that holds numbers."""

def asin(input: Tensor) -> Tensor:
    """inverse sine. [...] -> [...]"""

def asinh(input: Tensor) -> Tensor:
    """inverse of sinh. [...] -> [...]"""

def astype(x: Tensor, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Tensor:
    """The same values in another dtype."""

def atan(input: Tensor) -> Tensor:
    """inverse tangent. [...] -> [...]"""

def atan2(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """angle of the point (y, x), radians. [...], [...] -> [...]"""

def atanh(input: Tensor) -> Tensor:
    """inverse of tanh. [...] -> [...]"""

def bitwise_and(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """bits set in both. [...], [...] -> [...]"""

def bitwise_invert(input: Tensor) -> Tensor:
    """bits flipped. [...] -> [...]"""

def bitwise_left_shift(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """x * 2^y, bits shifted up. [...], [...] -> [...]"""

def bitwise_or(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """bits set in either. [...], [...] -> [...]"""

def bitwise_right_shift(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """bits shifted down (sign kept). [...], [...] -> [...]"""

def bitwise_xor(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """bits set in just one. [...], [...] -> [...]"""

def broadcast_to(x: Tensor, /, shape: Any) -> Tensor:
    """Repeated to a shape, without copying."""

def ceil(input: Tensor) -> Tensor:
    """smallest integer not below x. [...] -> [...]"""

def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Values held inside [min, max]."""

def concat(arrays: Any, /, *, axis: Any = 0) -> Tensor:
    """Arrays one after another along an axis; None: flattened."""

def copysign(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """|x| with the sign of y. [...], [...] -> [...]"""

def cos(input: Tensor) -> Tensor:
    """cosine of x radians. [...] -> [...]"""

def cosh(input: Tensor) -> Tensor:
    """hyperbolic cosine. [...] -> [...]"""

def divide(
    input: Tensor | _float | HostScalar,
    other: Tensor | _float | HostScalar,
    *,
    rounding_mode: str | None = None,
) -> Tensor:
    """self / other in floats; rounding_mode "floor" (down) or "trunc" (to 0). [...], [...] -> [...]

    Raises ValueError where rounding_mode is unknown."""

def empty(
    *size: _int | Sequence[_int],
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor whose values are not to be relied on (zeros). (2, 3) -> [2, 3]

    Raises TypeError where a size is no whole number."""

def equal(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x = y. [...], [...] -> [...]"""

def exp(input: Tensor) -> Tensor:
    """e to the power x. [...] -> [...]"""

def expand_dims(x: Tensor, /, *, axis: _int = 0) -> Tensor:
    """An axis of size 1 put in."""

def expm1(input: Tensor) -> Tensor:
    """exp(x) - 1, exact near 0. [...] -> [...]"""

def eye(
    n: _int,
    m: _int | None = None,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Ones on the diagonal. n -> [n, n] (or [n, m])"""

def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """The elements of axes (None: all) in reverse order."""

def floor(input: Tensor) -> Tensor:
    """largest integer not above x. [...] -> [...]"""

def floor_divide(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """floor(x / y). [...], [...] -> [...]"""

def full(
    size: _int | Sequence[_int],
    fill_value: _float | HostScalar,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Every element the same number. (size, value) -> [*size]

    fill_value: what elements are
    Raises TypeError where the dtype is unknown; where a size is no whole number."""

def full_like(
    input: Tensor,
    fill_value: _float | HostScalar,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """One number in the shape, dtype and device of x. [...] -> [...]

    fill_value: what elements are"""

def greater(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x > y. [...], [...] -> [...]"""

def greater_equal(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x >= y. [...], [...] -> [...]"""

def hypot(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """sqrt(x * x + y * y), safe for large x. [...], [...] -> [...]"""

def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind ("real floating", ...), is another, or is one of several."""

def isfinite(input: Tensor) -> Tensor:
    """whether x is neither infinite nor not a number. [...] -> [...]"""

def isinf(input: Tensor) -> Tensor:
    """whether x is infinite. [...] -> [...]"""

def isnan(input: Tensor) -> Tensor:
    """whether x is not a number. [...] -> [...]"""

def less(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x < y. [...], [...] -> [...]"""

def less_equal(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x <= y. [...], [...] -> [...]"""

def linspace(
    start: _float,
    end: _float,
    steps: _int,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """`steps` numbers from start to end, both included; each half counts from its own end. -> [steps]

    Raises ValueError where steps is no whole number from 0."""

def log(input: Tensor) -> Tensor:
    """natural logarithm. [...] -> [...]"""

def log10(input: Tensor) -> Tensor:
    """logarithm to base 10. [...] -> [...]"""

def log1p(input: Tensor) -> Tensor:
    """log(1 + x), exact near 0. [...] -> [...]"""

def log2(input: Tensor) -> Tensor:
    """logarithm to base 2. [...] -> [...]"""

def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(exp(x) + exp(y)). [...], [...] -> [...]"""

def logical_and(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether both are not 0. [...], [...] -> [...]"""

def logical_not(input: Tensor) -> Tensor:
    """whether x is 0. [...] -> [...]"""

def logical_or(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether either is not 0. [...], [...] -> [...]"""

def logical_xor(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether just one is not 0. [...], [...] -> [...]"""

def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product; one dim is a vector. [..., m, k] @ [..., k, n] -> [..., m, n]

    Raises ValueError where either is 0-d, or inner sizes differ."""

def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""

def max(x: Tensor, /, *, axis: Any = None, keepdims: Any = False, **kw: Any) -> Tensor: ...
def maximum(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """the larger of x and y; NaN if either is. [...], [...] -> [...]"""

def mean(x: Tensor, /, *, axis: Any = None, keepdims: Any = False, **kw: Any) -> Tensor: ...
def min(x: Tensor, /, *, axis: Any = None, keepdims: Any = False, **kw: Any) -> Tensor: ...
def minimum(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """the smaller of x and y; NaN if either is. [...], [...] -> [...]"""

def moveaxis(x: Tensor, source: _int, destination: _int, /) -> Tensor:
    """One axis moved to another place."""

def multiply(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """x * y. [...], [...] -> [...]"""

def negative(input: Tensor) -> Tensor:
    """-x. [...] -> [...]"""

def nextafter(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """the next float32 (or of float64, that) from x towards y. [...], [...] -> [...]"""

def not_equal(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x and y differ. [...], [...] -> [...]"""

def ones(shape: _int | Sequence[_int], **kw: Any) -> Any: ...
def ones_like(
    input: Tensor,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Ones of the shape, dtype and device of x. [...] -> [...]"""

def permute_dims(x: Tensor, /, axes: Any) -> Tensor:
    """The axes in another order."""

def pow(input: Tensor | _float | HostScalar, exponent: Tensor | _float | HostScalar) -> Tensor:
    """x to the power y; whole powers of floats below 64 are products. [...], [...] -> [...]

    exponent: the power, a number or a tensor
    Raises ValueError where an integer has a negative power."""

def prod(x: Tensor, /, *, axis: Any = None, keepdims: Any = False, **kw: Any) -> Tensor: ...
def reciprocal(input: Tensor) -> Tensor:
    """1 / x. [...] -> [...]"""

def remainder(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """x - floor(x / y) * y: the sign is y's. [...], [...] -> [...]"""

def reshape(x: Tensor, /, shape: Any, *, copy: Any = None) -> Tensor:
    """The same elements in another shape."""

def result_type(*given: Any) -> Any:
    """The dtype that holds all of these tensors and dtypes."""

def round(input: Tensor, *, decimals: _int = 0) -> Tensor:
    """The nearest whole number (or multiple of 10**-decimals), halves to even. [...] -> [...]"""

def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1; 0 for NaN. [...] -> [...]"""

def signbit(input: Tensor) -> Tensor:
    """whether the sign is minus (of -0.0 too). [...] -> [...]"""

def sin(input: Tensor) -> Tensor:
    """sine of x radians. [...] -> [...]"""

def sinh(input: Tensor) -> Tensor:
    """hyperbolic sine. [...] -> [...]"""

def sqrt(input: Tensor) -> Tensor:
    """square root. [...] -> [...]"""

def square(input: Tensor) -> Tensor:
    """x * x. [...] -> [...]"""

def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """Axes of size 1 taken out."""

def stack(arrays: Any, /, *, axis: _int = 0) -> Tensor:
    """Arrays along a new axis."""

def std(x: Tensor, /, *, axis: Any = None, keepdims: Any = False, **kw: Any) -> Tensor: ...
def subtract(
    input: Tensor | _float | HostScalar,
    other: Tensor | _float | HostScalar,
    *,
    alpha: _float | HostScalar = 1,
) -> Tensor:
    """self - alpha * other. [...], [...] -> [...]

    Raises TypeError where alpha or value is no whole number and the tensors are of integers."""

def sum(x: Tensor, /, *, axis: Any = None, keepdims: Any = False, **kw: Any) -> Tensor: ...
def take(x: Tensor, indices: Tensor, /, *, axis: _int = 0) -> Tensor:
    """Whole slices at the indices."""

def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: _int = -1) -> Tensor:
    """An element of the axis for each index."""

def tan(input: Tensor) -> Tensor:
    """tangent of x radians. [...] -> [...]"""

def tanh(input: Tensor) -> Tensor:
    """hyperbolic tangent. [...] -> [...]"""

def tril(x: Tensor, /, *, k: _int = 0) -> Tensor:
    """The lower triangle, zero above diagonal k."""

def triu(x: Tensor, /, *, k: _int = 0) -> Tensor:
    """The upper triangle, zero below diagonal k."""

def trunc(input: Tensor) -> Tensor:
    """integer part, towards 0. [...] -> [...]"""

def var(x: Tensor, /, *, axis: Any = None, keepdims: Any = False, **kw: Any) -> Tensor: ...
def vecdot(x1: Tensor, x2: Tensor, /, *, axis: _int = -1) -> Tensor:
    """Sums of products along an axis."""

def where(
    condition: Tensor,
    input: Tensor | _float | HostScalar | None = None,
    other: Tensor | _float | HostScalar | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`input` where the condition is true, else `other`; of a condition alone its nonzero(as_tuple=True).

    [...], [...], [...] -> [...]. out: a tensor that takes the result, and is returned. TypeError where one
    of input and other is missing."""

def zeros(shape: _int | Sequence[_int], **kw: Any) -> Any: ...
def zeros_like(
    input: Tensor,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Zeros of the shape, dtype and device of x. [...] -> [...]"""
