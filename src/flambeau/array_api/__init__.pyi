"""The array API standard's functions (data-apis.org, 2024.12) for tensors.

Made by `python scripts/write_stubs.py`."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from typing import Any, Literal, overload

from ..core.dtype import DType
from ..ops.index.indices import Chosen
from ..tensor import Tensor
from . import fft as fft
from . import linalg as linalg
from .searching import All, Counts, Inverse

__array_api_version__: str
e: _float
inf: _float
nan: _float
pi: _float
newaxis: None
int8: DType
int16: DType
int32: DType
int64: DType
uint8: DType
uint16: DType
uint32: DType
uint64: DType
float32: DType
float64: DType
complex64: DType
complex128: DType
bool: DType

def abs(input: Tensor) -> Tensor:
    """absolute value. [...] -> [...]"""

def acos(input: Tensor) -> Tensor:
    """inverse cosine. [...] -> [...]"""

def acosh(input: Tensor) -> Tensor:
    """inverse of cosh. [...] -> [...]"""

def add(x1: Any, x2: Any, /) -> Tensor:
    """self + alpha * other. [...], [...] -> [...]

    Raises TypeError where alpha or value is no whole number and the tensors are of integers."""

def all(x: Tensor, /, *, axis: Any = None, keepdims: _bool = False) -> Tensor:
    """Whether all elements of axes (None: of all) are true."""

def any(x: Tensor, /, *, axis: Any = None, keepdims: _bool = False) -> Tensor:
    """Whether an element of axes (None: of all) is true."""

def arange(
    start: _float, /, stop: Any = None, step: _float = 1, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """start, start + step, ... short of stop; none where stop is on the other side. -> [n]"""

def argmax(x: Tensor, /, *, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
    """The place of the largest element of an axis; None: of all in a row."""

def argmin(x: Tensor, /, *, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
    """The place of the smallest element of an axis; None: of all in a row."""

def argsort(x: Tensor, /, *, axis: _int = -1, descending: _bool = False, stable: _bool = True) -> Tensor:
    """The places of an axis in the order of their elements."""

def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: _bool | None = None) -> Tensor:
    """A tensor of anything that holds numbers, in the dtype of an array that is given; a float of 64 bits
    becomes one of 32 on a GPU, which has none. ValueError where copy=False and a copy is needed."""

def asin(input: Tensor) -> Tensor:
    """inverse sine. [...] -> [...]"""

def asinh(input: Tensor) -> Tensor:
    """inverse of sinh. [...] -> [...]"""

def astype(x: Tensor, dtype: Any, /, *, copy: _bool = True, device: Any = None) -> Tensor:
    """The same values in another dtype; x itself where nothing changes and no copy is asked for."""

def atan(input: Tensor) -> Tensor:
    """inverse tangent. [...] -> [...]"""

def atan2(x1: Any, x2: Any, /) -> Tensor:
    """angle of the point (y, x), radians. [...], [...] -> [...]"""

def atanh(input: Tensor) -> Tensor:
    """inverse of tanh. [...] -> [...]"""

def bitwise_and(x1: Any, x2: Any, /) -> Tensor:
    """bits set in both. [...], [...] -> [...]"""

def bitwise_invert(input: Tensor) -> Tensor:
    """bits flipped. [...] -> [...]"""

def bitwise_left_shift(x1: Any, x2: Any, /) -> Tensor:
    """x * 2^y, bits shifted up. [...], [...] -> [...]"""

def bitwise_or(x1: Any, x2: Any, /) -> Tensor:
    """bits set in either. [...], [...] -> [...]"""

def bitwise_right_shift(x1: Any, x2: Any, /) -> Tensor:
    """bits shifted down (sign kept). [...], [...] -> [...]"""

def bitwise_xor(x1: Any, x2: Any, /) -> Tensor:
    """bits set in just one. [...], [...] -> [...]"""

def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Each repeated to the shape of all."""

def broadcast_to(x: Tensor, /, shape: Any) -> Tensor:
    """Repeated to a shape, without copying."""

def can_cast(from_: Any, to: Any, /) -> _bool:
    """Whether the promotion of a dtype (or an array's) and `to` is `to`."""

def ceil(input: Tensor) -> Tensor:
    """smallest integer not below x. [...] -> [...]"""

def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Values held inside [min, max]; the dtype stays."""

def concat(arrays: Any, /, *, axis: _int | None = 0) -> Tensor:
    """Arrays one after another along an axis; None: flattened."""

def conj(input: Tensor) -> Tensor:
    """The complex conjugates; of real numbers themselves. [...] -> [...]"""

def copysign(x1: Any, x2: Any, /) -> Tensor:
    """|x| with the sign of y. [...], [...] -> [...]"""

def cos(input: Tensor) -> Tensor:
    """cosine of x radians. [...] -> [...]"""

def cosh(input: Tensor) -> Tensor:
    """hyperbolic cosine. [...] -> [...]"""

def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: _bool = False) -> Tensor:
    """How many elements of axes (None: of all) are not 0."""

def cumulative_prod(
    x: Tensor, /, *, axis: _int | None = None, dtype: Any = None, include_initial: _bool = False
) -> Tensor:
    """Products of the elements of an axis up to each, or from 1 on."""

def cumulative_sum(
    x: Tensor, /, *, axis: _int | None = None, dtype: Any = None, include_initial: _bool = False
) -> Tensor:
    """Sums of the elements of an axis up to each, or from 0 on."""

def diff(
    x: Tensor, /, n: _int = 1, axis: _int = -1, *, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Differences of neighbours along an axis, n times over."""

def divide(x1: Any, x2: Any, /) -> Tensor:
    """self / other in floats; rounding_mode "floor" (down) or "trunc" (to 0). [...], [...] -> [...]

    Raises ValueError where rounding_mode is unknown."""

def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Any values: zeros here."""

def empty_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Any values in the shape of x."""

def equal(x1: Any, x2: Any, /) -> Tensor:
    """whether x = y. [...], [...] -> [...]"""

def exp(input: Tensor) -> Tensor:
    """e to the power x. [...] -> [...]"""

def expand_dims(x: Tensor, /, *, axis: Any = 0) -> Tensor:
    """An axis of size 1 put in, or several: places of the result. IndexError for one that is outside."""

def expm1(input: Tensor) -> Tensor:
    """exp(x) - 1, exact near 0. [...] -> [...]"""

def eye(
    n_rows: _int, n_cols: _int | None = None, /, *, k: _int = 0, dtype: Any = None, device: Any = None
) -> Tensor:
    """Ones on diagonal k, zeros beside it."""

def finfo(type: Any, /) -> Any:
    """eps, max, min, bits and smallest_normal of a float dtype, or of an array's."""

def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """The elements of axes (None: all) in reverse order."""

def floor(input: Tensor) -> Tensor:
    """largest integer not above x. [...] -> [...]"""

def floor_divide(x1: Any, x2: Any, /) -> Tensor:
    """floor(x / y). [...], [...] -> [...]"""

def from_dlpack(x: Any, /, *, device: Any = None, copy: _bool | None = None) -> Tensor:
    """A tensor of another library's array, whose memory is shared on the NumPy device. ValueError where
    copy=False and a copy is needed."""

def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """One number in a shape."""

def full_like(x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """One number in the shape of x."""

def greater(x1: Any, x2: Any, /) -> Tensor:
    """whether x > y. [...], [...] -> [...]"""

def greater_equal(x1: Any, x2: Any, /) -> Tensor:
    """whether x >= y. [...], [...] -> [...]"""

def hypot(x1: Any, x2: Any, /) -> Tensor:
    """sqrt(x * x + y * y), safe for large x. [...], [...] -> [...]"""

def iinfo(type: Any, /) -> Any:
    """bits, max and min of an integer dtype, or of an array's."""

def imag(x: Tensor, /) -> Tensor:
    """The imaginary parts; zeros of real numbers."""

def isdtype(dtype: Any, kind: Any) -> _bool:
    """Whether a dtype is of a kind ("real floating", ...), is another, or is one of several. ValueError for
    an unknown kind."""

def isfinite(input: Tensor) -> Tensor:
    """whether x is neither infinite nor not a number. [...] -> [...]"""

def isinf(input: Tensor) -> Tensor:
    """whether x is infinite. [...] -> [...]"""

def isnan(input: Tensor) -> Tensor:
    """whether x is not a number. [...] -> [...]"""

def less(x1: Any, x2: Any, /) -> Tensor:
    """whether x < y. [...], [...] -> [...]"""

def less_equal(x1: Any, x2: Any, /) -> Tensor:
    """whether x <= y. [...], [...] -> [...]"""

def linspace(
    start: Any, stop: Any, /, num: _int, *, dtype: Any = None, device: Any = None, endpoint: _bool = True
) -> Tensor:
    """num numbers in equal steps from start to stop, which comes last or, without endpoint, is left out."""

def log(input: Tensor) -> Tensor:
    """natural logarithm. [...] -> [...]"""

def log10(input: Tensor) -> Tensor:
    """logarithm to base 10. [...] -> [...]"""

def log1p(input: Tensor) -> Tensor:
    """log(1 + x), exact near 0. [...] -> [...]"""

def log2(input: Tensor) -> Tensor:
    """logarithm to base 2. [...] -> [...]"""

def logaddexp(x1: Any, x2: Any, /) -> Tensor:
    """log(exp(x) + exp(y)). [...], [...] -> [...]"""

def logical_and(x1: Any, x2: Any, /) -> Tensor:
    """whether both are not 0. [...], [...] -> [...]"""

def logical_not(input: Tensor) -> Tensor:
    """whether x is 0. [...] -> [...]"""

def logical_or(x1: Any, x2: Any, /) -> Tensor:
    """whether either is not 0. [...], [...] -> [...]"""

def logical_xor(x1: Any, x2: Any, /) -> Tensor:
    """whether just one is not 0. [...], [...] -> [...]"""

def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Products of matrices."""

def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""

@overload
def max(x: Tensor) -> Tensor:
    """The largest element of axes (None: of all)."""

@overload
def max(x: Tensor, dim: _int, keepdim: _bool = False) -> Chosen: ...
def maximum(x1: Any, x2: Any, /) -> Tensor:
    """the larger of x and y; NaN if either is. [...], [...] -> [...]"""

def mean(x: Tensor, /, *, axis: Any = None, keepdims: _bool = False) -> Tensor:
    """The mean of axes (None: of all)."""

def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinates of a grid, of the coordinates along each axis."""

@overload
def min(x: Tensor) -> Tensor:
    """The smallest element of axes (None: of all)."""

@overload
def min(x: Tensor, dim: _int, keepdim: _bool = False) -> Chosen: ...
def minimum(x1: Any, x2: Any, /) -> Tensor:
    """the smaller of x and y; NaN if either is. [...], [...] -> [...]"""

def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """Axes moved to other places."""

def multiply(x1: Any, x2: Any, /) -> Tensor:
    """x * y. [...], [...] -> [...]"""

def negative(input: Tensor) -> Tensor:
    """-x. [...] -> [...]"""

def nextafter(x1: Any, x2: Any, /) -> Tensor:
    """the next float32 (or of float64, that) from x towards y. [...], [...] -> [...]"""

@overload
def nonzero(
    x: Tensor, as_tuple: Literal[False] = False, *, size: _int | None = None, fill_value: _int = 0
) -> Tensor:
    """The places of what is not 0: an array of indices for each axis. ValueError without axes."""

@overload
def nonzero(
    x: Tensor, as_tuple: Literal[True], *, size: _int | None = None, fill_value: _int = 0
) -> tuple[Tensor, ...]: ...
def not_equal(x1: Any, x2: Any, /) -> Tensor:
    """whether x and y differ. [...], [...] -> [...]"""

def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones of a shape."""

def ones_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones in the shape of x."""

def permute_dims(x: Tensor, /, axes: Any) -> Tensor:
    """The axes in another order."""

def positive(input: Tensor) -> Tensor:
    """Itself; bools are refused, as by neg. [...] -> [...]

    Raises TypeError for bools."""

def pow(x1: Any, x2: Any, /) -> Tensor:
    """x to the power y; whole powers of floats below 64 are products. [...], [...] -> [...]

    exponent: the power, a number or a tensor
    Raises ValueError where an integer has a negative power."""

def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: _bool = False) -> Tensor:
    """The product of axes (None: of all); of integers in 64 bits."""

def real(input: Tensor) -> Tensor:
    """The real parts, as a view; of real numbers themselves. [...] -> [...]"""

def reciprocal(input: Tensor) -> Tensor:
    """1 / x. [...] -> [...]"""

def remainder(x1: Any, x2: Any, /) -> Tensor:
    """x - floor(x / y) * y: the sign is y's. [...], [...] -> [...]"""

def repeat(x: Tensor, repeats: Any, /, *, axis: _int | None = None) -> Tensor:
    """Each element of an axis (None: of all in a row) as often as `repeats` says."""

def reshape(x: Tensor, /, shape: Any, *, copy: _bool | None = None) -> Tensor:
    """The same elements in another shape; with copy, as a tensor of its own."""

def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that an operation on these arrays, dtypes and Python numbers has. ValueError for numbers
    alone."""

def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Elements moved on along axes, the last to the front; None: of all in a row."""

def round(x: Tensor, /) -> Tensor:
    """The nearest whole numbers, of two that are as near the even one; of complex numbers' parts each."""

def searchsorted(x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where each of x2 goes into x1, which is in order or is so at the places of sorter."""

def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; NaN of NaN; of complex numbers x / |x|."""

def signbit(input: Tensor) -> Tensor:
    """whether the sign is minus (of -0.0 too). [...] -> [...]"""

def sin(input: Tensor) -> Tensor:
    """sine of x radians. [...] -> [...]"""

def sinh(input: Tensor) -> Tensor:
    """hyperbolic sine. [...] -> [...]"""

def sort(x: Tensor, /, *, axis: _int = -1, descending: _bool = False, stable: _bool = True) -> Chosen:
    """The elements of an axis in order."""

def sqrt(input: Tensor) -> Tensor:
    """square root. [...] -> [...]"""

def square(input: Tensor) -> Tensor:
    """x * x. [...] -> [...]"""

def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """Axes of size 1 taken out. ValueError for one of another size."""

def stack(arrays: Any, /, *, axis: _int = 0) -> Tensor:
    """Arrays along a new axis."""

def std(x: Tensor, /, *, axis: Any = None, correction: _float = 0.0, keepdims: _bool = False) -> Tensor:
    """The standard deviation of axes (None: of all), divided by n - correction."""

def subtract(x1: Any, x2: Any, /) -> Tensor:
    """self - alpha * other. [...], [...] -> [...]

    Raises TypeError where alpha or value is no whole number and the tensors are of integers."""

def sum(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: _bool = False) -> Tensor:
    """The sum of axes (None: of all); of integers in 64 bits."""

def take(x: Tensor, indices: Tensor, /, *, axis: _int | None = None) -> Tensor:
    """Whole slices of an axis at the indices. ValueError without an axis where there are several."""

def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: _int = -1) -> Tensor:
    """An element of the axis for each index."""

def tan(input: Tensor) -> Tensor:
    """tangent of x radians. [...] -> [...]"""

def tanh(input: Tensor) -> Tensor:
    """hyperbolic tangent. [...] -> [...]"""

def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Products of elements, summed over axes of both."""

def tile(x: Tensor, repetitions: Any, /) -> Tensor:
    """The whole array side by side, as often as said for each axis."""

def tril(x: Tensor, /, *, k: _int = 0) -> Tensor:
    """The lower triangle, zero above diagonal k."""

def triu(x: Tensor, /, *, k: _int = 0) -> Tensor:
    """The upper triangle, zero below diagonal k."""

def trunc(input: Tensor) -> Tensor:
    """integer part, towards 0. [...] -> [...]"""

def unique_all(x: Tensor, /) -> All:
    """Different values in order, the first place of each in x in a row, the number of each element's value
    and how many there are of each."""

def unique_counts(x: Tensor, /) -> Counts:
    """Different values in order, and how many there are of each."""

def unique_inverse(x: Tensor, /) -> Inverse:
    """Different values in order, and the number of each element's value."""

def unique_values(x: Tensor, /) -> Tensor:
    """Different values in order; each NaN is one."""

def unstack(x: Tensor, /, *, axis: _int = 0) -> tuple[Tensor, ...]:
    """The slices of an axis."""

def var(x: Tensor, /, *, axis: Any = None, correction: _float = 0.0, keepdims: _bool = False) -> Tensor:
    """The variance of axes (None: of all), divided by n - correction."""

def vecdot(x1: Tensor, x2: Tensor, /, *, axis: _int = -1) -> Tensor:
    """Sums of products along an axis, of the conjugate of x1."""

def where(condition: Tensor, x1: Any = None, x2: Any = None, /) -> Any:
    """x1 where the condition is true, else x2; of a condition alone the places where it is."""

def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros of a shape."""

def zeros_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros in the shape of x."""
