"""The op table as functions: fb.exp(x) is x.exp(), and the few functions that are no methods.

Made by `python scripts/write_stubs.py`."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, Literal, overload

from .core.dtype import DType
from .ops.index.indices import Chosen
from .ops.linalg.decompose import QR, Geqrf, SVDTopLevel
from .ops.linalg.lu import LU, SignLogDet
from .ops.numeric import MantissaExponent
from .ops.quantized import Quantized
from .ops.random import Generator
from .ops.reduce import Extremes
from .ops.sort.histogram import HistogramEdges
from .tensor import HostScalar, Tensor

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "adaptive_avg_pool1d",
    "adaptive_max_pool1d",
    "add",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addr",
    "adjoint",
    "all",
    "allclose",
    "alpha_dropout",
    "amax",
    "amin",
    "aminmax",
    "angle",
    "any",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "as_strided",
    "as_strided_scatter",
    "as_tensor",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "avg_pool1d",
    "baddbmm",
    "bartlett_window",
    "bernoulli",
    "bilinear",
    "bincount",
    "binomial",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman_window",
    "block_diag",
    "bmm",
    "broadcast_tensors",
    "broadcast_to",
    "bucketize",
    "cartesian_prod",
    "cast",
    "cat",
    "cauchy",
    "cdist",
    "ceil",
    "celu",
    "chain_matmul",
    "channel_shuffle",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "clone",
    "column_stack",
    "combinations",
    "complex",
    "concat",
    "concatenate",
    "conj",
    "conj_physical",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "copysign",
    "corrcoef",
    "cos",
    "cosh",
    "cosine_similarity",
    "count_nonzero",
    "cov",
    "cross",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_trapezoid",
    "deform_conv2d",
    "deg2rad",
    "det",
    "detach",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_scatter",
    "diff",
    "digamma",
    "dim_order",
    "dist",
    "div",
    "divide",
    "dot",
    "dropout",
    "dsplit",
    "dstack",
    "einsum",
    "empty",
    "empty_like",
    "entr",
    "eq",
    "equal",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp",
    "exp2",
    "expand",
    "expand_as",
    "expm1",
    "exponent",
    "exponential",
    "eye",
    "feature_alpha_dropout",
    "fix",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "frexp",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "gather",
    "gather_nd",
    "gcd",
    "ge",
    "geometric",
    "geqrf",
    "ger",
    "gradient",
    "greater",
    "greater_equal",
    "group_norm",
    "gt",
    "gumbel",
    "hamming_window",
    "hann_window",
    "hardshrink",
    "heaviside",
    "histc",
    "histogram",
    "histogramdd",
    "hsplit",
    "hstack",
    "hypot",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "igamma",
    "igammac",
    "imag",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_reduce",
    "index_select",
    "inner",
    "inverse",
    "is_complex",
    "is_conj",
    "is_floating_point",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_set_to",
    "is_signed",
    "is_tensor",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "istft",
    "kaiser_window",
    "kron",
    "kthvalue",
    "laplace",
    "layer_norm",
    "lcm",
    "ldexp",
    "le",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "linspace",
    "lobpcg",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_ndtr",
    "log_normal",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logcumsumexp",
    "logdet",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logspace",
    "logsumexp",
    "lt",
    "lu_solve",
    "lu_unpack",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "max",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "maximum",
    "mean",
    "median",
    "memory",
    "meshgrid",
    "min",
    "minimum",
    "mm",
    "mode",
    "moveaxis",
    "movedim",
    "msort",
    "mul",
    "multinomial",
    "multiply",
    "mv",
    "mvlgamma",
    "nan_to_num",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "narrow",
    "narrow_copy",
    "ndtr",
    "ndtri",
    "ne",
    "neg",
    "negative",
    "new",
    "new_empty",
    "new_empty_strided",
    "new_full",
    "new_ones",
    "new_zeros",
    "nextafter",
    "nonzero",
    "nonzero_static",
    "norm",
    "normal",
    "not_equal",
    "numel",
    "ones",
    "ones_like",
    "ormqr",
    "outer",
    "pad",
    "pairwise_distance",
    "pdist",
    "permute",
    "pinverse",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson",
    "polar",
    "polygamma",
    "positive",
    "pow",
    "prelu",
    "prod",
    "put",
    "qr",
    "quantile",
    "quantize",
    "quantized_linear",
    "rad2deg",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random_bits",
    "randperm",
    "ravel",
    "read",
    "real",
    "realize",
    "reciprocal",
    "relu",
    "remainder",
    "renorm",
    "repeat",
    "repeat_interleave",
    "reshape",
    "reshape_as",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "rms_norm",
    "roll",
    "rot90",
    "round",
    "row_stack",
    "rrelu",
    "rsqrt",
    "rsub",
    "scatter",
    "scatter_add",
    "scatter_nd",
    "scatter_reduce",
    "searchsorted",
    "select",
    "select_scatter",
    "selu",
    "sgn",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "slice_assign",
    "slice_scatter",
    "slogdet",
    "softmax",
    "sort",
    "split",
    "split_with_sizes",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "std_mean",
    "stft",
    "storage_offset",
    "stride",
    "sub",
    "subtract",
    "sum",
    "sum_to_size",
    "svd",
    "swapaxes",
    "swapdims",
    "synchronize",
    "t",
    "take",
    "take_along_dim",
    "tan",
    "tanh",
    "tensor_split",
    "tensor_unfold",
    "tensordot",
    "threshold",
    "tile",
    "topk",
    "trace",
    "transpose",
    "trapezoid",
    "trapz",
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
    "true_divide",
    "trunc",
    "unbind",
    "unflatten",
    "unfold",
    "uniform",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze",
    "vander",
    "var",
    "var_mean",
    "vdot",
    "view",
    "view_as",
    "view_as_complex",
    "view_as_real",
    "vsplit",
    "vstack",
    "where",
    "xlog1py",
    "xlogy",
    "zeros",
    "zeros_like",
    "zeta",
]

def abs(input: Tensor) -> Tensor:
    """absolute value. [...] -> [...]"""

def absolute(input: Tensor) -> Tensor:
    """absolute value. [...] -> [...]"""

def acos(input: Tensor) -> Tensor:
    """inverse cosine. [...] -> [...]"""

def acosh(input: Tensor) -> Tensor:
    """inverse of cosh. [...] -> [...]"""

def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int]) -> Tensor:
    """Mean of output_size windows that cover the input; None keeps a size. [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: Literal[False] = False
) -> Tensor:
    """Largest of output_size windows that cover the input; None keeps a size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: _int | Sequence[_int | None] | None, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
def add(
    input: Tensor | _float | HostScalar,
    other: Tensor | _float | HostScalar,
    *,
    alpha: _float | HostScalar = 1,
) -> Tensor:
    """self + alpha * other. [...], [...] -> [...]

    Raises TypeError where alpha or value is no whole number and the tensors are of integers."""

def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: _float | HostScalar = 1,
    alpha: _float | HostScalar = 1,
) -> Tensor:
    """beta * self + alpha * the sum of batch1[i] @ batch2[i]. [n, m], [b, n, k], [b, k, m] -> [n, m]

    Raises ValueError where either batch has not 3 dims, or inner sizes differ."""

def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _float = 1) -> Tensor:
    """self + value * tensor1 / tensor2. [...], [...], [...] -> [...]"""

def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _float = 1) -> Tensor:
    """self + value * tensor1 * tensor2. [...], [...], [...] -> [...]

    Raises TypeError where alpha or value is no whole number and the tensors are of integers."""

def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: _float | HostScalar = 1,
    alpha: _float | HostScalar = 1,
) -> Tensor:
    """beta * self + alpha * (mat1 @ mat2). [n, m], [n, k], [k, m] -> [n, m]

    Raises ValueError where the input does not broadcast to the product; where operands have other numbers of dims, or inner sizes differ."""

def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: _float | HostScalar = 1, alpha: _float | HostScalar = 1
) -> Tensor:
    """beta * self + alpha * (mat @ vec). [n], [n, k], [k] -> [n]

    Raises ValueError where the input does not broadcast to the product; where operands have other numbers of dims, or inner sizes differ."""

def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: _float | HostScalar = 1,
    alpha: _float | HostScalar = 1,
) -> Tensor:
    """beta * self + alpha * outer(vec1, vec2). [n, m], [n], [m] -> [n, m]

    Raises ValueError where the input does not broadcast to the product."""

def adjoint(input: Tensor) -> Tensor:
    """The last two dims exchanged, and conjugates; of a single number its conjugate. ValueError for a
    vector. [..., n, m] -> [..., m, n]"""

def all(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
    """Whether every element is true (not 0). [..., n, ...] -> [...]

    Raises IndexError where there is no such dim; ValueError where one is named twice."""

def allclose(
    input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False
) -> _bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere, as a Python bool: runs the graph and
    waits. equal_nan: NaNs equal each other."""

def alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False) -> Tensor:
    """dropout that keeps mean 0 and variance 1 behind selu (Klambauer et al., 2017). [...] -> [...]

    p: the probability that an element is zeroed
    training: whether it acts at all"""

def amax(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
    """Largest value; the gradient is shared among equals. [..., n, ...] -> [...]

    Raises ValueError where there are no elements."""

def amin(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
    """Smallest value; the gradient is shared among equals. [..., n, ...] -> [...]

    Raises ValueError where there are no elements."""

def aminmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False) -> Extremes:
    """(amin, amax) of all elements or of one dim. [..., n, ...] -> [...], [...]"""

def angle(input: Tensor) -> Tensor:
    """The angle of each number in radians; of real ones 0 or pi, NaN of NaN. [...] -> [...]"""

def any(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
    """Whether some element is true (not 0). [..., n, ...] -> [...]

    Raises IndexError where there is no such dim; ValueError where one is named twice."""

def arange(
    start: _float,
    end: _float | None = None,
    step: _float = 1,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """start, start + step, ... short of end: int64 of three integers, else the default float. -> [n]

    ValueError where step is 0 or leads away from end, or a bound is not finite."""

def arccos(input: Tensor) -> Tensor:
    """inverse cosine. [...] -> [...]"""

def arccosh(input: Tensor) -> Tensor:
    """inverse of cosh. [...] -> [...]"""

def arcsin(input: Tensor) -> Tensor:
    """inverse sine. [...] -> [...]"""

def arcsinh(input: Tensor) -> Tensor:
    """inverse of sinh. [...] -> [...]"""

def arctan(input: Tensor) -> Tensor:
    """inverse tangent. [...] -> [...]"""

def arctan2(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """angle of the point (y, x), radians. [...], [...] -> [...]"""

def arctanh(input: Tensor) -> Tensor:
    """inverse of tanh. [...] -> [...]"""

def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
    """Index (int64) of the first largest value; NaN counts as largest. [..., n, ...] -> [...]"""

def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
    """Index (int64) of the first smallest value; NaN counts as smallest. [..., n, ...] -> [...]"""

def argsort(input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
    """Places (int64) of a dim's elements in order; always stable; NaN counts as largest.

    [..., n, ...] -> [..., n, ...]

    descending: the largest first
    Raises IndexError where there is no such dim."""

def argwhere(input: Tensor) -> Tensor:
    """Coordinates (int64) of elements that are not 0; their number takes one read. [...] -> [k, dims]"""

def as_strided(
    input: Tensor,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor:
    """Elements in steps of `stride`, counted in the order of elements, as a tensor of its own. -> [*size]

    storage_offset: the place of the first (0). ValueError where one would lie outside."""

def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor:
    """A copy with src at the elements that as_strided gives. [...], [*size] -> [...]

    stride, storage_offset: as as_strided takes them."""

def as_tensor(data: Any, dtype: DType | type[Any] | str | None = None, device: Any = None) -> Tensor:
    """A tensor of data; a tensor that is as wanted is returned itself. TypeError for an unknown dtype."""

def asin(input: Tensor) -> Tensor:
    """inverse sine. [...] -> [...]"""

def asinh(input: Tensor) -> Tensor:
    """inverse of sinh. [...] -> [...]"""

def atan(input: Tensor) -> Tensor:
    """inverse tangent. [...] -> [...]"""

def atan2(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """angle of the point (y, x), radians. [...], [...] -> [...]"""

def atanh(input: Tensor) -> Tensor:
    """inverse of tanh. [...] -> [...]"""

@overload
def atleast_1d(tensors: Tensor, /) -> Tensor:
    """Dims of size 1 added to tensors of less than 1; several give a tuple."""

@overload
def atleast_1d(*tensors: Any) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensors: Tensor, /) -> Tensor:
    """Dims of size 1 added to tensors of less than 2; several give a tuple."""

@overload
def atleast_2d(*tensors: Any) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensors: Tensor, /) -> Tensor:
    """Dims of size 1 added to tensors of less than 3; several give a tuple."""

@overload
def atleast_3d(*tensors: Any) -> tuple[Tensor, ...]: ...
def avg_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
) -> Tensor:
    """Mean of each window; stride defaults to the kernel size. Zeros of the padding count unless
    count_include_pad is False, those that ceil_mode adds never do. [n, c, l] -> [n, c, ol]

    kernel_size: the window's size, one number or one for each dim
    Raises ValueError where dims are missing, windows do not fit, or divisor_override is 0."""

def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: _float | HostScalar = 1,
    alpha: _float | HostScalar = 1,
) -> Tensor:
    """beta * self + alpha * (batch1 @ batch2). [b, n, m], [b, n, k], [b, k, m] -> [b, n, m]

    Raises ValueError where the input does not broadcast to the product; where operands have other numbers of dims, or inner sizes differ."""

def bartlett_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A triangle. -> [window_length]

    periodic: a period of a longer window, for spectra; else symmetric, for filters
    Raises ValueError where there are fewer than 0 samples."""

def bernoulli(input: Tensor, p: _float | None = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that each element is (or p), else 0, in its dtype. [...] -> [...]

    ValueError for what is no probability; of elements at the next read."""

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[o] @ x2 for each o. [..., i], [..., j], [o, i, j], [o] -> [..., o]

    input1: the first tensor
    input2: the second tensor"""

def bincount(
    input: Tensor, weights: Tensor | None = None, minlength: _int = 0, *, length: _int | None = None
) -> Tensor:
    """How often each of 0, 1, ... occurs, or the sum of the weights there.

    The size is that of the largest plus 1 (or minlength), which takes one read; not so with `length`,
    which then is the size, what is larger being left out. [n] -> [max(...) + 1] or [length]

    Raises ValueError where the input has not 1 dim or weights have another shape; TypeError for other than integers."""

def binomial(count: Tensor | _float, prob: Tensor | _float, generator: Generator | None = None) -> Tensor:
    """How many of `count` tries of chance `prob` succeed (Hormann, 1993). [...], [...] -> [...]

    count: whole numbers, as floats. prob: from 0 to 1; for others the result is NaN.

    Raises ValueError where shapes do not broadcast."""

def bitwise_and(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """bits set in both. [...], [...] -> [...]"""

def bitwise_left_shift(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """x * 2^y, bits shifted up. [...], [...] -> [...]"""

def bitwise_not(input: Tensor) -> Tensor:
    """bits flipped. [...] -> [...]"""

def bitwise_or(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """bits set in either. [...], [...] -> [...]"""

def bitwise_right_shift(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """bits shifted down (sign kept). [...], [...] -> [...]"""

def bitwise_xor(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """bits set in just one. [...], [...] -> [...]"""

def blackman_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Blackman's sum of three cosines. -> [window_length]

    periodic: a period of a longer window, for spectra; else symmetric, for filters"""

def block_diag(*tensors: Sequence[Tensor]) -> Tensor:
    """Matrices along a diagonal, zeros elsewhere. [a, b], [c, d] -> [a + c, b + d]

    Raises ValueError where one has more than 2 dims."""

def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of two batches of matrices. [b, n, k], [b, k, m] -> [b, n, m]

    mat2: the second matrix
    Raises ValueError where the numbers of matrices or inner sizes differ."""

def broadcast_tensors(*tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Every tensor expanded to the shape that all broadcast to; no copies. -> tuple

    Raises ValueError where shapes do not broadcast."""

def broadcast_to(input: Tensor, shape: _int | Sequence[_int]) -> Tensor:
    """The tensor expanded to a shape, without copying. [n, 1], (n, m) -> [n, m]"""

def bucketize(
    input: Tensor | _float, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False
) -> Tensor:
    """Which of the buckets between sorted boundaries each value is in (int64). [...], [n] -> [...]

    out_int32: places are int32, and not int64
    right: the place behind equals; else before them
    Raises ValueError where boundaries have not 1 dim."""

def cartesian_prod(*tensors: Sequence[Tensor]) -> Tensor:
    """Every choice of one element of each vector, the last fastest; of one vector itself.
    [a], [b] -> [a * b, 2]

    Raises ValueError where one has not 1 dim."""

def cast(input: Tensor, to: DType | type[Any] | str) -> Tensor:
    """The same values in another dtype; floats become integers towards 0. [...] -> [...]

    TypeError for complex numbers as real ones, and for float64 on a GPU.

    to: the dtype"""

def cat(tensors: Sequence[Tensor], dim: _int = 0) -> Tensor:
    """Tensors one after another along a dim. [..., n, ...], [..., m, ...] -> [..., n + m, ...]

    Raises ValueError where there is no tensor, one is 0-d, or shapes differ outside the dim."""

def cauchy(
    size: _int | Sequence[_int],
    median: _float = 0.0,
    sigma: _float = 1.0,
    *,
    generator: Generator | None = None,
    device: Any = None,
) -> Tensor:
    """Cauchy, by the tangent of a uniform angle. (2, 3) -> [2, 3]

    sigma: half of its width at half of its height. ValueError where it is not above 0.

    median: the centre"""

def cdist(
    x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """Distances of all pairs in the p-norm; p = 2 of more than 25 rows goes by matmul.

    [..., n, d], [..., m, d] -> [..., n, m]

    x1: the first rows
    x2: the second rows
    compute_mode: how the Euclidean distance is computed: by matrix product or directly
    Raises ValueError where compute_mode is unknown, rows differ in length, or p is below 0."""

def ceil(input: Tensor) -> Tensor:
    """smallest integer not below x. [...] -> [...]"""

def celu(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """x, or alpha * (exp(x / alpha) - 1) where x < 0 (Barron, 2017). [...] -> [...]"""

def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of matrices in the order of fewest multiplications. [a, b], [b, c], [c, d] -> [a, d]

    Raises ValueError where there is no tensor, or one between the ends has not 2 dims."""

def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels of all groups taken in turn (Zhang et al., 2018). [n, groups * c, ...] -> the same shape

    Raises ValueError where the groups do not divide the channels."""

def cholesky(input: Tensor, upper: _bool = False) -> Tensor:
    """linalg.cholesky by its older name. [..., n, n] -> [..., n, n]

    upper: the upper triangle, not the lower"""

def cholesky_inverse(L: Tensor, upper: _bool = False) -> Tensor:
    """The inverse of A, given by its Cholesky factor. [..., n, n] -> [..., n, n]

    L: a lower triangular factor, as of cholesky
    upper: the upper triangle, not the lower"""

def cholesky_solve(B: Tensor, L: Tensor, upper: _bool = False) -> Tensor:
    """X with A X = B, A given by its Cholesky factor. [..., n, k], [..., n, n] -> [..., n, k]

    L: a lower triangular factor, as of cholesky
    upper: the upper triangle, not the lower
    Raises ValueError where these are no matrices (square ones, where due); where leading dims do not fit; TypeError for integers."""

def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size (the last may be smaller). [..., n, ...] -> tuple

    Raises ValueError where chunks is below 1."""

def clamp(
    input: Tensor,
    min: Tensor | _float | HostScalar | None = None,
    max: Tensor | _float | HostScalar | None = None,
) -> Tensor:
    """Values below min become min, above max max; NaN stays; the slope at both ends is 1.

    Raises ValueError where neither min nor max is given."""

def clamp_max(input: Tensor, max: Tensor | _float | HostScalar) -> Tensor:
    """Values above max become max. [...] -> [...]"""

def clamp_min(input: Tensor, min: Tensor | _float | HostScalar) -> Tensor:
    """Values below min become min. [...] -> [...]"""

def clip(
    input: Tensor,
    min: Tensor | _float | HostScalar | None = None,
    max: Tensor | _float | HostScalar | None = None,
) -> Tensor:
    """Values below min become min, above max max; NaN stays; the slope at both ends is 1.

    Raises ValueError where neither min nor max is given."""

def clone(input: Tensor) -> Tensor:
    """The same value as a tensor of its own: assigning to one leaves the other. [...] -> [...]"""

def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Vectors and matrices joined as columns. [a], [a, m] -> [a, 1 + m]"""

def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """Every choice of r elements of a vector, in order of their places. [n] -> [choices, r]

    with_replacement: elements may be taken several times
    Raises ValueError where the input has not 1 dim, or r is below 0."""

def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers of real and imaginary parts: complex64, complex128 of float64. [...], [...] -> [...]

    imag: imaginary parts
    Raises ValueError where shapes do not broadcast."""

def concat(tensors: Sequence[Tensor], dim: _int = 0) -> Tensor:
    """Tensors one after another along a dim. [..., n, ...], [..., m, ...] -> [..., n + m, ...]

    Raises ValueError where there is no tensor, one is 0-d, or shapes differ outside the dim."""

def concatenate(tensors: Sequence[Tensor], dim: _int = 0) -> Tensor:
    """Tensors one after another along a dim. [..., n, ...], [..., m, ...] -> [..., n + m, ...]

    Raises ValueError where there is no tensor, one is 0-d, or shapes differ outside the dim."""

def conj(input: Tensor) -> Tensor:
    """The complex conjugates; of real numbers themselves. [...] -> [...]"""

def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugates; of real numbers themselves. [...] -> [...]"""

def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] | str = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor:
    """Cross-correlation over 1 dims, as PyTorch's conv1d. [n, c, *size], [o, c / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: zeros at both ends, a number or one for each dim; "same" or "valid"
    dilation: the distance between elements of a window, one number or one for each dim
    groups: parts that channels are divided into; each result sees the inputs of its own part
    Raises ValueError where the input has too few or too many dims; where the weight does not fit the input or the groups; where there is neither one number nor one for each dim."""

def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] | str = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor:
    """Cross-correlation over 2 dims, as PyTorch's conv2d. [n, c, *size], [o, c / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: zeros at both ends, a number or one for each dim; "same" or "valid"
    dilation: the distance between elements of a window, one number or one for each dim
    groups: parts that channels are divided into; each result sees the inputs of its own part
    Raises ValueError where the input has too few or too many dims; where the weight does not fit the input or the groups; where there is neither one number nor one for each dim."""

def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] | str = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor:
    """Cross-correlation over 3 dims, as PyTorch's conv3d. [n, c, *size], [o, c / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: zeros at both ends, a number or one for each dim; "same" or "valid"
    dilation: the distance between elements of a window, one number or one for each dim
    groups: parts that channels are divided into; each result sees the inputs of its own part
    Raises ValueError where the input has too few or too many dims; where the weight does not fit the input or the groups; where there is neither one number nor one for each dim."""

def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor:
    """The adjoint of conv1d by its input, as PyTorch's conv_transpose1d. [n, c, *size], [c, o / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_padding: rows added at one side of the result, where several sizes fit
    groups: parts that channels are divided into; each result sees the inputs of its own part
    dilation: the distance between elements of a window, one number or one for each dim
    Raises ValueError where the input has too few or too many dims; where the weight does not fit the input or the groups; where there is neither one number nor one for each dim; where nothing is left, or output_padding is not below stride or dilation."""

def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor:
    """The adjoint of conv2d by its input, as PyTorch's conv_transpose2d. [n, c, *size], [c, o / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_padding: rows added at one side of the result, where several sizes fit
    groups: parts that channels are divided into; each result sees the inputs of its own part
    dilation: the distance between elements of a window, one number or one for each dim
    Raises ValueError where the input has too few or too many dims; where the weight does not fit the input or the groups; where there is neither one number nor one for each dim; where nothing is left, or output_padding is not below stride or dilation."""

def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor:
    """The adjoint of conv3d by its input, as PyTorch's conv_transpose3d. [n, c, *size], [c, o / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_padding: rows added at one side of the result, where several sizes fit
    groups: parts that channels are divided into; each result sees the inputs of its own part
    dilation: the distance between elements of a window, one number or one for each dim
    Raises ValueError where the input has too few or too many dims; where the weight does not fit the input or the groups; where there is neither one number nor one for each dim; where nothing is left, or output_padding is not below stride or dilation."""

def copysign(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """|x| with the sign of y. [...], [...] -> [...]"""

def corrcoef(input: Tensor) -> Tensor:
    """Pearson's correlations of rows, held inside [-1, 1]. [n, m] -> [n, n]; [m], [1, m] -> []

    Raises ValueError where there are more than 2 dims."""

def cos(input: Tensor) -> Tensor:
    """cosine of x radians. [...] -> [...]"""

def cosh(input: Tensor) -> Tensor:
    """hyperbolic cosine. [...] -> [...]"""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor:
    """Cosine of the angle between vectors along a dim; lengths are eps at least. [...], [...] -> [...]

    x1: the first rows
    x2: the second rows
    Raises IndexError where there is no such dim."""

def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """How many elements are not 0, over all dims or some (int64). [..., n, ...] -> [...]"""

def cov(
    input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Covariances of rows: fweights count, aweights weigh columns. [n, m] -> [n, n]; [m], [1, m] -> []

    ValueError where there are more dims, or weights are not one for each column; at the next read where
    one is negative or all are 0. TypeError where fweights are no integers, or aweights no floats.

    correction: what is subtracted from n in the divisor"""

def cross(input: Tensor, other: Tensor, dim: _int | None = None) -> Tensor:
    """The vector product along a dim of size 3, the first such one unless named. [..., 3] -> [..., 3]

    Raises ValueError where no dim has size 3."""

def cummax(input: Tensor, dim: _int) -> Chosen:
    """(values, indices) of the largest element so far, the latest of equals; NaN counts as largest.

    [..., n, ...] -> [..., n, ...], [..., n, ...]"""

def cummin(input: Tensor, dim: _int) -> Chosen:
    """(values, indices) of the smallest element so far, the latest of equals; NaN counts as smallest.

    [..., n, ...] -> [..., n, ...], [..., n, ...]"""

def cumprod(input: Tensor, dim: _int, dtype: DType | type[Any] | str | None = None) -> Tensor:
    """Products of the elements so far along a dim. [..., n, ...] -> [..., n, ...]"""

def cumsum(input: Tensor, dim: _int, dtype: DType | type[Any] | str | None = None) -> Tensor:
    """Sums of the elements so far along a dim; integers as int64. [..., n, ...] -> [..., n, ...]"""

def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: _float | None = None, dim: _int = -1
) -> Tensor:
    """The areas under points so far along a dim; as trapezoid. [..., n, ...] -> [..., n - 1, ...]

    dx: the distance of samples, where x is not given
    Raises ValueError where both x and dx are given, or y is 0-d."""

def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    mask: Tensor | None = None,
) -> Tensor:
    """Convolution whose taps read where offset moves them, times mask (Dai et al., 2017; Zhu et al., 2018).

    The numbers of groups follow from the shapes; offset has (y, x) of each tap, tap by tap, group by group.
    [n, c, h, w], [n, 2 * groups * kh * kw, oh, ow], [o, c / weight groups, kh, kw] -> [n, o, oh, ow]

    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    Raises ValueError where the weight does not divide the channels into groups."""

def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians. [...] -> [...]"""

def det(A: Tensor) -> Tensor:
    """The determinant, with a gradient where it is 0, too (NaN of complex matrices). [..., n, n] -> [...]

    A: the matrix, or a batch of them
    Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""

def detach(input: Tensor) -> Tensor:
    """The same values, through which no gradient flows."""

def diag(input: Tensor, diagonal: _int = 0) -> Tensor:
    """A vector as a diagonal matrix, a matrix's diagonal as a vector. [n] -> [n, n], [n, m] -> [k]

    Raises ValueError where the input has not 1 or 2 dims."""

def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """The last dim as a diagonal of zeros otherwise. [..., k] -> [..., k + |offset|, k + |offset|]

    offset: which diagonal: above the main one where > 0, below where < 0
    dim1: the first of the two dims
    dim2: the second of the two dims
    Raises ValueError where both dims are the same."""

def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """All elements as the diagonal of a matrix. [...] -> [n, n]

    offset: which diagonal: above the main one where > 0, below where < 0"""

def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """The diagonal of two dims, at the end: a view of what is contiguous. [n, m, ...] -> [..., k]

    offset: which diagonal: above the main one where > 0, below where < 0
    dim1: the first of the two dims
    dim2: the second of the two dims
    Raises ValueError where the input has fewer than 2 dims."""

def diagonal_scatter(
    input: Tensor, src: Tensor | _float | HostScalar, offset: _int = 0, dim1: _int = 0, dim2: _int = 1
) -> Tensor:
    """A copy with src put as the diagonal of two dims. [n, m, ...], [..., k] -> [n, m, ...]

    offset: which diagonal: above the main one where > 0, below where < 0
    dim1: the first of the two dims
    dim2: the second of the two dims
    Raises ValueError where src has not the shape of the diagonal."""

def diff(
    input: Tensor, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Differences of neighbours along a dim, n times. [..., m, ...] -> [..., m - n, ...]

    prepend: what is put before
    append: what is put behind
    Raises ValueError where n is below 0, or the input is 0-d."""

def digamma(input: Tensor) -> Tensor:
    """slope of lgamma. [...] -> [...]"""

def dim_order(input: Tensor) -> tuple[_int, ...]:
    """The dims from the outermost to the innermost: 0, 1, ..."""

def dist(input: Tensor, other: Tensor, p: _float = 2) -> Tensor:
    """The p-norm of the difference. [...], [...] -> []"""

def div(
    input: Tensor | _float | HostScalar,
    other: Tensor | _float | HostScalar,
    *,
    rounding_mode: str | None = None,
) -> Tensor:
    """self / other in floats; rounding_mode "floor" (down) or "trunc" (to 0). [...], [...] -> [...]

    Raises ValueError where rounding_mode is unknown."""

def divide(
    input: Tensor | _float | HostScalar,
    other: Tensor | _float | HostScalar,
    *,
    rounding_mode: str | None = None,
) -> Tensor:
    """self / other in floats; rounding_mode "floor" (down) or "trunc" (to 0). [...], [...] -> [...]

    Raises ValueError where rounding_mode is unknown."""

def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Sum of products of two vectors. [n], [n] -> []

    Raises ValueError where either has not 1 dim."""

def dropout(input: Tensor, p: _float = 0.5, training: _bool = True) -> Tensor:
    """Zero each element with probability p and scale the others by 1 / (1 - p). [...] -> [...]

    training: whether it acts at all
    Raises ValueError where p is not in 0 to 1."""

def dsplit(input: Tensor, indices_or_sections: _int | Sequence[_int]) -> tuple[Tensor, ...]:
    """tensor_split along dim 2.

    indices_or_sections: how many parts, or the places of the cuts
    Raises ValueError where dims are missing, or the sections do not divide the dim."""

def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along dim 2. [a, b, n], [a, b, m] -> [a, b, n + m]

    Raises ValueError where there is no tensor, or shapes differ outside the dim."""

def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products by Einstein's convention: einsum("...ij,jk->...ik", a, b).

    Repeated letters in a term take the diagonal, letters left out of the output are summed, sizes of 1
    broadcast; three operands and more are multiplied pair by pair in the order of fewest multiplications.
    Also as einsum(a, [0, 1], b, [1, 2], [0, 2]).

    equation: subscripts, as "ij,jk->ik"
    Raises ValueError where the equation does not fit the operands."""

def empty(
    *size: _int | Sequence[_int],
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A tensor whose values are not to be relied on (zeros). (2, 3) -> [2, 3]

    Raises TypeError where a size is no whole number."""

def empty_like(
    input: Tensor,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Values not to be relied on, in the shape, dtype and device of x."""

def entr(input: Tensor) -> Tensor:
    """-x * log(x), 0 at 0 and -inf below. [...] -> [...]"""

def eq(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x = y. [...], [...] -> [...]"""

def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether shapes and all values are equal, as a Python bool: runs the graph and waits. TypeError
    where other is no tensor."""

def erf(input: Tensor) -> Tensor:
    """error function. [...] -> [...]"""

def erfc(input: Tensor) -> Tensor:
    """1 - erf(x), exact far out. [...] -> [...]"""

def erfcx(input: Tensor) -> Tensor:
    """exp(x * x) * erfc(x). [...] -> [...]"""

def erfinv(input: Tensor) -> Tensor:
    """inverse of erf. [...] -> [...]"""

def exp(input: Tensor) -> Tensor:
    """e to the power x. [...] -> [...]"""

def exp2(input: Tensor) -> Tensor:
    """2 to the power x. [...] -> [...]"""

def expand(input: Tensor, *shape: _int | Sequence[_int]) -> Tensor:
    """Repeat dims of size 1 without copying; -1 keeps a size. [n, 1], (n, m) -> [n, m]

    Raises ValueError where a size that is not 1 would change."""

def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor expanded to the shape of another."""

def expm1(input: Tensor) -> Tensor:
    """exp(x) - 1, exact near 0. [...] -> [...]"""

def exponent(input: Tensor) -> Tensor:
    """e of x = m * 2**e with m in [0.5, 1). [...] -> [...]"""

def exponential(
    size: _int | Sequence[_int],
    lambd: _float = 1.0,
    *,
    generator: Generator | None = None,
    device: Any = None,
) -> Tensor:
    """Exponential with rate lambd. (2, 3) -> [2, 3]. ValueError where lambd is not above 0."""

def eye(
    n: _int,
    m: _int | None = None,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Ones on the diagonal. n -> [n, n] (or [n, m])

    Raises ValueError where a size is below 0."""

def feature_alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False) -> Tensor:
    """alpha_dropout of whole channels. [n, c, ...] -> [n, c, ...]

    p: the probability that an element is zeroed
    training: whether it acts at all"""

def fix(input: Tensor) -> Tensor:
    """integer part, towards 0. [...] -> [...]"""

def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Dims start_dim to end_dim as one. [n, a, b], 1 -> [n, a * b]

    Raises IndexError where there is no such dim."""

def flip(input: Tensor, *dims: _int | Sequence[_int]) -> Tensor:
    """The elements of these dims in reverse order. [...] -> [...]

    Raises IndexError where there is no such dim; ValueError where one is named twice; TypeError where a size is no whole number."""

def fliplr(input: Tensor) -> Tensor:
    """Dim 1 in reverse order. [n, m, ...] -> [n, m, ...]

    Raises ValueError where the input has fewer than 2 dims."""

def flipud(input: Tensor) -> Tensor:
    """Dim 0 in reverse order. [n, ...] -> [n, ...]

    Raises ValueError where the input is 0-d."""

def float_power(input: Tensor | _float | HostScalar, exponent: Tensor | _float | HostScalar) -> Tensor:
    """self**exponent in floats, whatever the inputs are (PyTorch: in float64). [...], [...] -> [...]"""

def floor(input: Tensor) -> Tensor:
    """largest integer not above x. [...] -> [...]"""

def floor_divide(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """floor(x / y). [...], [...] -> [...]"""

def fmax(input: Tensor, other: Tensor | _float | HostScalar) -> Tensor:
    """The larger of both, self of equals; where one is NaN, the other. [...], [...] -> [...]"""

def fmin(input: Tensor, other: Tensor | _float | HostScalar) -> Tensor:
    """The smaller of both, self of equals; where one is NaN, the other. [...], [...] -> [...]"""

def fmod(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """x - trunc(x / y) * y: the sign is x's. [...], [...] -> [...]"""

def frac(input: Tensor) -> Tensor:
    """x - trunc(x): the part after the point, with the sign of x. [...] -> [...]"""

def frexp(input: Tensor) -> MantissaExponent:
    """(mantissa, exponent): input = mantissa * 2**exponent, |mantissa| in [0.5, 1). [...] -> [...], [...]"""

def from_dlpack(ext_tensor: Any, device: Any = None) -> Tensor:
    """A tensor of another library's array. On an array device the memory is shared, and not to be written to;
    a GPU copies what the host can read.

    ext_tensor: an array of a library that speaks DLPack"""

def from_numpy(ndarray: Any, device: Any = None) -> Tensor:
    """A tensor of a NumPy array, copied.

    ndarray: a NumPy array"""

def full(
    size: _int | Sequence[_int],
    fill_value: _float | HostScalar,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Every element the same number. (size, value) -> [*size]

    fill_value: what elements are
    Raises TypeError where the dtype is unknown; where one is no whole number; ValueError where a size is below 0."""

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

def gather(input: Tensor, dim: _int, index: Tensor) -> Tensor:
    """Elements at `index` along a dim. [..., n, ...], [..., m, ...] -> [..., m, ...]

    Raises IndexError where there is no such dim; where an index is out of range; TypeError where it is not of integers."""

def gather_nd(input: Tensor, indices: Tensor) -> Tensor:
    """self[indices[i]] for each i. [*n, *rest], [..., k] with k = len(n) -> [..., *rest]

    Raises IndexError where the last dim of indices is longer than the input has dims."""

def gcd(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """greatest common divisor. [...], [...] -> [...]"""

def ge(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x >= y. [...], [...] -> [...]"""

def geometric(
    size: _int | Sequence[_int], p: _float, *, generator: Generator | None = None, device: Any = None
) -> Tensor:
    """How many trials of probability p up to the first success: 1, 2, ... as floats. (2, 3) -> [2, 3].
    ValueError where p is not inside 0 to 1."""

def geqrf(input: Tensor) -> Geqrf:
    """Householder's vectors below R, and their factors. [..., m, n] -> [..., m, n], [..., min(m, n)]

    Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""

def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """Every product of two vectors' elements; ValueError for other ranks. [n], [m] -> [n, m]

    vec2: the second vector"""

def gradient(
    input: Tensor, *, spacing: Any = 1, dim: _int | Sequence[_int] | None = None, edge_order: _int = 1
) -> tuple[Tensor, ...]:
    """Slopes along each dim by central differences, at the ends one-sided of order 1 or 2. -> a tuple

    spacing: how far apart points are, a number or one a dim, or a vector of coordinates a dim. [...] -> [...]

    edge_order: 1 or 2: the order of the differences at the ends
    Raises ValueError where there is not one spacing a dim, or edge_order is not 1 or 2."""

def greater(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x > y. [...], [...] -> [...]"""

def greater_equal(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x >= y. [...], [...] -> [...]"""

def group_norm(
    input: Tensor,
    num_groups: _int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor:
    """Mean 0, variance 1 over each group of channels of each sample, then affine (Wu and He, 2018).

    [n, c, ...], [c] -> [n, c, ...]

    num_groups: how many groups the channels are divided into
    eps: a small number that keeps divisions from 0
    Raises ValueError where the groups do not divide the channels."""

def gt(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x > y. [...], [...] -> [...]"""

def gumbel(
    size: _int | Sequence[_int],
    loc: _float = 0.0,
    scale: _float = 1.0,
    *,
    generator: Generator | None = None,
    device: Any = None,
) -> Tensor:
    """Gumbel: the largest of many. (2, 3) -> [2, 3]

    loc: the centre
    scale: how wide it is
    Raises ValueError where a size is below 0; TypeError where one is no whole number."""

def hamming_window(
    window_length: _int,
    periodic: _bool = True,
    alpha: _float | HostScalar = 0.54,
    beta: _float | HostScalar = 0.46,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """alpha - beta * cos. -> [window_length]

    periodic: a period of a longer window, for spectra; else symmetric, for filters"""

def hann_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Hann's raised cosine. -> [window_length]

    periodic: a period of a longer window, for spectra; else symmetric, for filters"""

def hardshrink(input: Tensor, lambd: _float = 0.5) -> Tensor:
    """x, or 0 where |x| <= lambd."""

def heaviside(input: Tensor, values: Tensor | _float | HostScalar) -> Tensor:
    """0 below 0, 1 above, `values` at 0; 0 for NaN. [...], [...] -> [...]

    Raises TypeError where the dtypes differ."""

def histc(input: Tensor, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor:
    """How many elements fall into each of `bins` equal parts of min to max, both included, as floats.

    Both 0: the range of the elements. Others and NaN are left out. [...] -> [bins]

    ValueError where bins is below 1, or max below min, or either is not finite; at the next read where
    the range of the elements is not."""

def histogram(
    input: Tensor,
    bins: _int | Tensor,
    *,
    range: tuple[_float, _float] | None = None,
    weight: Tensor | None = None,
    density: _bool = False,
) -> HistogramEdges:
    """(hist, bin_edges): how many elements, or what weight, fall between edges; the last is included.

    bins: a number of equal parts of `range` (low, high; of the elements' own without), or the edges.
    ValueError where bins is below 1, edges are fewer than 2, or the range is not finite (of the elements'
    own at the next read). [...] -> [bins], [bins + 1]

    density: divide so that the area is 1"""

def histogramdd(
    input: Tensor,
    bins: _int | Sequence[_int] | Sequence[Tensor],
    *,
    range: Sequence[_float] | None = None,
    weight: Tensor | None = None,
    density: _bool = False,
) -> Tensor:
    """(hist, bin_edges): how many points, or what weight, fall into each box of a grid; the last edge of each
    dim is included. [..., d] -> [bins, ...] and d edges

    bins: one number of equal parts, one a dim, or the edges of each dim, tensors. range: low and high of each
    dim, flat, of the points' own without. ValueError for points of 1 dim, or other counts of bins or ends.

    density: divide so that the area is 1"""

def hsplit(input: Tensor, indices_or_sections: _int | Sequence[_int]) -> tuple[Tensor, ...]:
    """tensor_split along dim 1, or along the only dim.

    indices_or_sections: how many parts, or the places of the cuts
    Raises ValueError where dims are missing, or the sections do not divide the dim."""

def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along dim 1, or along dim 0 where they have one. [a, n], [a, m] -> [a, n + m]

    Raises ValueError where there is no tensor, or shapes differ outside the dim."""

def hypot(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """sqrt(x * x + y * y), safe for large x. [...], [...] -> [...]"""

def i0(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 0. [...] -> [...]"""

def i0e(input: Tensor) -> Tensor:
    """exp(-|x|) * i0(x). [...] -> [...]"""

def i1(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 1. [...] -> [...]"""

def i1e(input: Tensor) -> Tensor:
    """exp(-|x|) * i1(x). [...] -> [...]"""

def igamma(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """the share of the gamma function's integral of x up to y, for x and y from 0 on; no slope by x. [...], [...] -> [...]"""

def igammac(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """the share of the gamma function's integral of x from y on, for x and y from 0 on; no slope by x. [...], [...] -> [...]"""

def imag(input: Tensor) -> Tensor:
    """The imaginary parts, as a view. TypeError for real numbers. [...] -> [...]"""

def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, alpha: _float = 1) -> Tensor:
    """Add alpha * source[i] to the slice at index[i]. [.., n, ..], [m], [.., m, ..] -> [.., n, ..]

    Raises ValueError where source has not the index's slices; TypeError where dtypes differ."""

def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor) -> Tensor:
    """source[i] put as the slice at index[i]; of equal indices the last counts. -> the shape of self

    Raises ValueError where source has not the index's slices; TypeError where dtypes differ."""

def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor | _float | HostScalar) -> Tensor:
    """`value`, one number, put in every slice that index names. [..., n, ...], [m] -> [..., n, ...]

    Raises IndexError where there is no such dim; where an index is out of range; TypeError where it is not of integers."""

def index_put(
    input: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor | _float | HostScalar,
    accumulate: _bool = False,
) -> Tensor:
    """values put at (or added to) self[indices]; of equal indices the last counts. -> self's shape

    accumulate: add to what is there"""

def index_reduce(
    input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, include_self: _bool = True
) -> Tensor:
    """Join source[i] with the slice at index[i]: reduce is sum, prod, mean, amax or amin.

    include_self: what is there takes part
    Raises ValueError where source has not the index's slices; TypeError where dtypes differ."""

def index_select(input: Tensor, dim: _int, index: Tensor) -> Tensor:
    """Whole slices at the indices. [..., n, ...], [m] -> [..., m, ...]

    index: which elements, integers
    Raises ValueError where index has more than 1 dim."""

def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sum of products over the last dims; with a 0-d one the product. [..., n], [..., n] -> [..., ...]

    Raises ValueError where the last dims differ."""

def inverse(A: Tensor) -> Tensor:
    """The inverse; inf or NaN where there is none. [..., n, n] -> [..., n, n]

    A: the matrix, or a batch of them
    Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""

def is_complex(input: Tensor) -> _bool:
    """Whether a tensor's elements are complex numbers."""

def is_conj(input: Tensor) -> _bool:
    """False: conjugates are computed, no bit is kept for later."""

def is_floating_point(input: Tensor) -> _bool:
    """Whether a tensor's elements are floats."""

def is_inference(input: Tensor) -> _bool:
    """False: inference_mode is no_grad here, and makes ordinary tensors."""

def is_neg(input: Tensor) -> _bool:
    """False: conjugates are computed, no bit is kept for later."""

def is_nonzero(input: Tensor) -> _bool:
    """Whether the one element is not 0; runs the graph and waits."""

def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether the shapes are equal."""

def is_set_to(input: Tensor, tensor: Tensor) -> _bool:
    """Whether two tensors have one value, and not equal ones."""

def is_signed(input: Tensor) -> _bool:
    """Whether the dtype has numbers below 0."""

def is_tensor(obj: Any) -> _bool:
    """Whether something is a tensor.

    obj: anything"""

def isclose(
    input: Tensor,
    other: Tensor | _float | HostScalar,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> Tensor:
    """Whether |self - other| <= atol + rtol * |other|; infinities are close to themselves.

    equal_nan: NaNs equal each other
    Raises ValueError where a tolerance is below 0."""

def isfinite(input: Tensor) -> Tensor:
    """whether x is neither infinite nor not a number. [...] -> [...]"""

def isin(
    elements: Tensor,
    test_elements: Tensor | _float | HostScalar,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
) -> Tensor:
    """Whether each element is among the test elements. [...], [...] -> [...]

    test_elements: what elements are looked for in
    assume_unique: taken and without effect
    invert: True where an element is in none
    Raises TypeError where neither is a tensor."""

def isinf(input: Tensor) -> Tensor:
    """whether x is infinite. [...] -> [...]"""

def isnan(input: Tensor) -> Tensor:
    """whether x is not a number. [...] -> [...]"""

def isneginf(input: Tensor) -> Tensor:
    """Whether x is infinite and negative. [...] -> [...]"""

def isposinf(input: Tensor) -> Tensor:
    """Whether x is infinite and positive. [...] -> [...]"""

def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0. [...] -> [...]"""

def istft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    normalized: _bool = False,
    onesided: _bool = True,
    length: _int | None = None,
    return_complex: _bool = False,
) -> Tensor:
    """The signal whose stft is nearest to the input. [..., n_fft // 2 + 1, frames] -> [..., t]

    Samples that no window covers become inf or NaN (torch raises, which needs a read). return_complex, of
    what is not onesided, gives a complex signal.

    hop_length: how far apart frames are (a quarter of n_fft)
    win_length: how long the window is (n_fft)
    center: the signal is padded, so that frame t is centred at t * hop_length
    normalized: divide by sqrt(n_fft)
    length: how many samples the result has
    Raises ValueError where return_complex is True."""

def kaiser_window(
    window_length: _int,
    periodic: _bool = True,
    beta: _float = 12.0,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Kaiser's window, of Bessel functions. -> [window_length]

    periodic: a period of a longer window, for spectra; else symmetric, for filters
    beta: how far down its sides go
    Raises ValueError where there are fewer than 0 samples."""

def kron(input: Tensor, other: Tensor) -> Tensor:
    """Every element of self times other, as blocks. [a, b], [c, d] -> [a * c, b * d]"""

def kthvalue(input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False) -> Chosen:
    """(values, indices) of the k-th smallest of a dim, counted from 1. [..., n, ...] -> [...], [...]

    Raises ValueError where k is not from 1 to n."""

def laplace(
    size: _int | Sequence[_int],
    loc: _float = 0.0,
    scale: _float = 1.0,
    *,
    generator: Generator | None = None,
    device: Any = None,
) -> Tensor:
    """Laplace: exponential to both sides. (2, 3) -> [2, 3]

    loc: the centre
    scale: how wide it is
    Raises ValueError where a size is below 0; TypeError where one is no whole number."""

def layer_norm(
    input: Tensor,
    normalized_shape: _int | Sequence[_int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor:
    """Mean 0, variance 1 over the last dims, then weight and bias (Ba et al., 2016). [..., n] -> [..., n]

    normalized_shape: the sizes of the last dims, over which it goes
    eps: a small number that keeps divisions from 0
    Raises ValueError where the last dims are not normalized_shape."""

def lcm(input: Tensor, other: Tensor) -> Tensor:
    """Least common multiple, 0 where either is. [...], [...] -> [...]"""

def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """self * 2**other: exact for integers, and for floats as exp2 has it. [...], [...] -> [...]"""

def le(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x <= y. [...], [...] -> [...]"""

def lerp(input: Tensor, end: Tensor | _float | HostScalar, weight: Tensor | _float | HostScalar) -> Tensor:
    """self + weight * (end - self); with weight 1 just `end`. [...], [...], [...] -> [...]"""

def less(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x < y. [...], [...] -> [...]"""

def less_equal(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x <= y. [...], [...] -> [...]"""

def lgamma(input: Tensor) -> Tensor:
    """logarithm of |gamma(x)|. [...] -> [...]"""

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

def lobpcg(
    A: Tensor,
    k: _int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: _int | None = None,
    **how: Any,
) -> Tensor:
    """The k largest (or smallest) eigenvalues of symmetric A, in this order, and their vectors as columns.

    [..., m, m] -> [..., k], [..., m, k]. B: a positive definite matrix, for A x = e B x. X: n columns to
    begin with, drawn without. k: 1, or as many as X has; n: columns that are worked with, k without. iK: a
    preconditioner, near the inverse of A. niter: iterations at most, 1,000 without; tol: the error that is
    enough, beside the sizes of A and e. method: "ortho" or "basic", which are one here. Each iteration reads
    the error, so a recorded call can't; there are no gradients. how: what comes behind n, by name. ValueError
    where 3 n is more than m, or for another method, TypeError for another option."""

def log(input: Tensor) -> Tensor:
    """natural logarithm. [...] -> [...]"""

def log10(input: Tensor) -> Tensor:
    """logarithm to base 10. [...] -> [...]"""

def log1p(input: Tensor) -> Tensor:
    """log(1 + x), exact near 0. [...] -> [...]"""

def log2(input: Tensor) -> Tensor:
    """logarithm to base 2. [...] -> [...]"""

def log_ndtr(input: Tensor) -> Tensor:
    """Logarithm of the normal distribution's mass below x, exact far out. [...] -> [...]"""

def log_normal(
    size: _int | Sequence[_int],
    mean: _float = 1.0,
    std: _float = 2.0,
    *,
    generator: Generator | None = None,
    device: Any = None,
) -> Tensor:
    """exp of a normal with that mean and standard deviation. (2, 3) -> [2, 3]. ValueError where std is not
    above 0."""

def log_softmax(input: Tensor, dim: _int = -1, dtype: DType | type[Any] | str | None = None) -> Tensor:
    """Logarithm of softmax along a dim, safe for large values. [..., n, ...] -> [..., n, ...]"""

def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(exp(x) + exp(y)). [...], [...] -> [...]"""

def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2**x + 2**y). [...], [...] -> [...]"""

def logcumsumexp(input: Tensor, dim: _int) -> Tensor:
    """log(cumsum(exp(x))), without overflow. [..., n, ...] -> [..., n, ...]"""

def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant, NaN where that is negative; complex of complex ones.
    [..., n, n] -> [...]"""

def logical_and(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether both are not 0. [...], [...] -> [...]"""

def logical_not(input: Tensor) -> Tensor:
    """whether x is 0. [...] -> [...]"""

def logical_or(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether either is not 0. [...], [...] -> [...]"""

def logical_xor(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether just one is not 0. [...], [...] -> [...]"""

def logit(input: Tensor, eps: _float | None = None) -> Tensor:
    """log(x / (1 - x)), x first held inside [eps, 1 - eps] where eps is given. [...] -> [...]"""

def logspace(
    start: _float,
    end: _float,
    steps: _int,
    base: _float = 10.0,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """base to the powers of linspace(start, end, steps). -> [steps]

    Raises ValueError where steps is no whole number from 0."""

def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False) -> Tensor:
    """log(sum(exp(x))), shifted so that nothing overflows. [..., n, ...] -> [...]"""

def lt(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x < y. [...], [...] -> [...]"""

def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """X with A X = b, A as lu_factor gives it. [..., n, k], [..., n, n], [..., n] -> [..., n, k]

    LU_data: both factors in one matrix, as lu_factor gives them
    LU_pivots: the rows that were exchanged, counted from 1, as lu_factor gives them"""

def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True
) -> LU:
    """P, L, U of what lu_factor gives. [..., m, n], [..., k] -> [..., m, m], [..., m, k], [..., k, n]

    LU_data: both factors in one matrix, as lu_factor gives them
    LU_pivots: the rows that were exchanged, counted from 1, as lu_factor gives them
    unpack_data: give L and U
    unpack_pivots: give P"""

def masked_fill(input: Tensor, mask: Tensor, value: Tensor | _float | HostScalar) -> Tensor:
    """`value` where mask is true. [...], [...] -> [...]

    Raises ValueError where the dtype has no such value."""

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The elements where mask is true replaced by those of source in order.

    A source that is too short raises IndexError at the next read, an empty one ValueError.
    [...], [...], [m] -> [...]"""

def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where mask is true, in order; how many they are takes one read. [...], [...] -> [n]

    Raises TypeError where the mask is not of bools."""

def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product; one dim is a vector. [..., m, k] @ [..., k, n] -> [..., m, n]

    Raises ValueError where either is 0-d, or inner sizes differ."""

def matrix_exp(input: Tensor) -> Tensor:
    """linalg.matrix_exp by its older name. [..., n, n] -> [..., n, n]"""

def matrix_power(input: Tensor, n: _int) -> Tensor:
    """linalg.matrix_power by its older name. [..., k, k] -> [..., k, k]"""

@overload
def max(input: Tensor) -> Tensor:
    """Largest of all, or (values, indices) over one dim; the gradient goes to the first largest. With a
    tensor in the place of dim, or as other: maximum."""

@overload
def max(input: Tensor, dim: _int, keepdim: _bool = False) -> Chosen: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    return_indices: Literal[False] = False,
    ceil_mode: _bool = False,
) -> Tensor:
    """Largest element of each window; stride defaults to the kernel size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where dims are missing, or padding is more than half of the kernel."""

@overload
def max_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    *,
    return_indices: Literal[True],
    ceil_mode: _bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    return_indices: Literal[False] = False,
    ceil_mode: _bool = False,
) -> Tensor:
    """Largest element of each window; stride defaults to the kernel size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where dims are missing, or padding is more than half of the kernel."""

@overload
def max_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    *,
    return_indices: Literal[True],
    ceil_mode: _bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    return_indices: Literal[False] = False,
    ceil_mode: _bool = False,
) -> Tensor:
    """Largest element of each window; stride defaults to the kernel size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where dims are missing, or padding is more than half of the kernel."""

@overload
def max_pool3d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    *,
    return_indices: Literal[True],
    ceil_mode: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def maximum(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """the larger of x and y; NaN if either is. [...], [...] -> [...]"""

def mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    dtype: DType | type[Any] | str | None = None,
) -> Tensor:
    """Mean over all dims or some, in floats. [..., n, ...] -> [...] (or [..., 1, ...] with keepdim)"""

@overload
def median(input: Tensor) -> Tensor:
    """The lower of the two middle values of all, or (values, indices) over one dim; NaN wins.

    [..., n, ...] -> [...]"""

@overload
def median(input: Tensor, dim: _int, keepdim: _bool = False) -> Chosen: ...
def memory(device: Any = None) -> dict[str, _int]:
    """Bytes in use now (live), at most so far (peak), taken from the driver (reserved), and how often it
    was asked."""

def meshgrid(*tensors: Sequence[Tensor], indexing: str = "ij") -> tuple[Tensor, ...]:
    """Each vector along a dim of its own of a grid; "xy" swaps the first two. [a], [b] -> 2 x [a, b]

    indexing: "ij" for rows first, "xy" for columns first
    Raises ValueError where indexing is unknown, or one has more than 1 dim."""

@overload
def min(input: Tensor) -> Tensor:
    """Smallest of all, or (values, indices) over one dim; the gradient goes to the first smallest. With a
    tensor in the place of dim, or as other: minimum."""

@overload
def min(input: Tensor, dim: _int, keepdim: _bool = False) -> Chosen: ...
def minimum(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """the smaller of x and y; NaN if either is. [...], [...] -> [...]"""

def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices. [n, k], [k, m] -> [n, m]

    mat2: the second matrix
    Raises ValueError where operands have other numbers of dims, or inner sizes differ."""

def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False) -> Chosen:
    """(values, indices) of the most frequent value of a dim: the smallest of such, at its last place.

    [..., n, ...] -> [...], [...]

    Raises ValueError where the dim has no elements."""

def moveaxis(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """One dim or several moved to other places, the others in order.

    source: the dims that move
    destination: where they go to
    Raises ValueError where source and destination are not as many dims, or one is named twice."""

def movedim(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """One dim or several moved to other places, the others in order.

    source: the dims that move
    destination: where they go to
    Raises ValueError where source and destination are not as many dims, or one is named twice."""

def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dim. [n, ...] -> [n, ...]"""

def mul(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """x * y. [...], [...] -> [...]"""

def multinomial(
    input: Tensor, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Indices drawn with weights, rows apart, by the largest of log-weight plus Gumbel noise (Gumbel, 1954;
    without replacement: Kool et al., 2019). [n] or [m, n] -> [num_samples] or [m, num_samples]

    ValueError for other dims or numbers; at the next read for weights that are negative, infinite or NaN, or
    of which fewer are above 0 than are drawn. TypeError for complex numbers."""

def multiply(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """x * y. [...], [...] -> [...]"""

def mv(input: Tensor, vec: Tensor) -> Tensor:
    """A matrix times a vector. [n, k], [k] -> [n]

    vec: a vector
    Raises ValueError where operands have other numbers of dims, or inner sizes differ."""

def mvlgamma(input: Tensor, p: _int) -> Tensor:
    """Logarithm of the gamma function of p dims, x above (p - 1) / 2. [...] -> [...]

    Raises ValueError where p is no whole number above 0."""

def nan_to_num(
    input: Tensor, nan: _float = 0.0, posinf: _float | None = None, neginf: _float | None = None
) -> Tensor:
    """NaN becomes `nan`, infinities posinf and neginf (by default the largest floats). [...] -> [...]"""

def nanmean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    dtype: DType | type[Any] | str | None = None,
) -> Tensor:
    """The mean of what is not NaN; NaN where all is. [..., n, ...] -> [...]"""

@overload
def nanmedian(input: Tensor) -> Tensor:
    """The median of what is not NaN; as median otherwise. [..., n, ...] -> [...]"""

@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = False) -> Chosen: ...
def nanquantile(
    input: Tensor,
    q: _float | Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The quantile of what is not NaN; as quantile otherwise. [..., n, ...] -> [...] or [k, ...]

    q: shares from 0 to 1
    interpolation: "linear", "lower", "higher", "nearest" or "midpoint": between two elements
    Raises ValueError where q is not in 0 to 1 or interpolation is unknown; TypeError for integers."""

def nansum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    dtype: DType | type[Any] | str | None = None,
) -> Tensor:
    """sum, NaN counting as 0. [..., n, ...] -> [...]"""

def narrow(input: Tensor, dim: _int, start: _int, length: _int) -> Tensor:
    """`length` elements of a dim from `start`. [..., n, ...] -> [..., length, ...]

    Raises ValueError where the piece is not inside the dim."""

def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = None) -> Tensor:
    """`length` elements of a dim from `start` on, as a tensor of its own, or as the value of `out`.
    IndexError and ValueError where these are not there."""

def ndtr(input: Tensor) -> Tensor:
    """The mass of the normal distribution below x. [...] -> [...]"""

def ndtri(input: Tensor) -> Tensor:
    """x of a normal distribution with this mass below it. [...] -> [...]"""

def ne(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x and y differ. [...], [...] -> [...]"""

def neg(input: Tensor) -> Tensor:
    """-x. [...] -> [...]"""

def negative(input: Tensor) -> Tensor:
    """-x. [...] -> [...]"""

def new(input: Tensor, *size: _int | Sequence[_int]) -> Tensor:
    """new_empty."""

def new_empty(
    input: Tensor,
    *size: _int | Sequence[_int],
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Values not to be relied on, in this dtype and on this device. (2, 3) -> [2, 3]

    Raises TypeError where a size is no whole number."""

def new_empty_strided(
    input: Tensor,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """new_empty; stride is without effect: it is always that of the order of elements."""

def new_full(
    input: Tensor,
    size: _int | Sequence[_int],
    fill_value: _float | HostScalar,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """One number in a new shape, in this dtype and on this device. -> [*size]

    fill_value: what elements are"""

def new_ones(
    input: Tensor,
    *size: _int | Sequence[_int],
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Ones in a new shape, in this dtype and on this device. (2, 3) -> [2, 3]

    Raises TypeError where a size is no whole number."""

def new_zeros(
    input: Tensor,
    *size: _int | Sequence[_int],
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Zeros in a new shape, in this dtype and on this device. (2, 3) -> [2, 3]

    Raises TypeError where a size is no whole number."""

def nextafter(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """the next float32 (or of float64, that) from x towards y. [...], [...] -> [...]"""

@overload
def nonzero(
    input: Tensor, as_tuple: Literal[False] = False, *, size: _int | None = None, fill_value: _int = 0
) -> Tensor:
    """Coordinates (int64) of elements that are not 0: [k, dims], or a tuple of a [k] for each dim.

    k takes one read; with `size`, as in JAX, k is that, without a read: what is too much is left out,
    what is missing has fill_value.

    as_tuple: one tensor of places for each dim, in place of a row a place"""

@overload
def nonzero(
    input: Tensor, as_tuple: Literal[True], *, size: _int | None = None, fill_value: _int = 0
) -> tuple[Tensor, ...]: ...
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1) -> Tensor:
    """nonzero for a number of places given beforehand: no read. [...] -> [size, dims]

    fill_value: what elements are"""

def norm(
    input: Tensor,
    p: _float | str = "fro",
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    dtype: DType | type[Any] | str | None = None,
) -> Tensor:
    """The p-norm of all elements or of some dims, "nuc" that of matrices. [..., n, ...] -> [...]

    ValueError where p is another word."""

def normal(
    mean: Tensor | _float = 0.0,
    std: Tensor | _float = 1.0,
    size: _int | Sequence[_int] | None = None,
    *,
    generator: Generator | None = None,
    device: Any = None,
    dtype: DType | type[Any] | str | None = None,
) -> Tensor:
    """Normal with that mean and standard deviation, numbers with a size (and a float dtype) or tensors that
    broadcast, in the dtype of the first.

    ValueError for numbers without a size or a negative std (in a tensor, at the next read), TypeError for a
    dtype that is none of floats, or tensors with a size."""

def not_equal(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """whether x and y differ. [...], [...] -> [...]"""

def numel(input: Tensor) -> _int:
    """The number of elements."""

def ones(
    *size: _int | Sequence[_int],
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Ones. (2, 3) -> [2, 3]

    Raises TypeError where a size is no whole number."""

def ones_like(
    input: Tensor,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Ones of the shape, dtype and device of x. [...] -> [...]"""

def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
    """Q @ other (other @ Q if not left; Q^T if transpose) of the square Q that geqrf's factors are, which is
    not made. [..., m, k], [..., k], [..., m, n] -> [..., m, n], or other [..., n, m] -> [..., n, m]

    transpose: multiply with the transpose. ValueError where sizes do not fit.

    tau: the reflections' factors"""

def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Every product of two vectors' elements; ValueError for other ranks. [n], [m] -> [n, m]

    vec2: the second vector"""

def pad(
    input: Tensor, pad: _int | Sequence[_int], mode: str = "constant", value: _float | None = None
) -> Tensor:
    """Padding, (left, right) of the last dim first; mode constant, reflect, replicate or circular.

    Negative amounts cut. [..., n] -> [..., left + n + right]

    pad: how many elements at both ends, the last dim first
    value: what is added
    Raises ValueError where there are too many pairs, more is cut than is there, or the mode takes no value."""

def pairwise_distance(
    x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dim. [..., d], [..., d] -> [...]"""

def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """The p-norm distances of all pairs of rows, i < j in reading order. [n, d] -> [n * (n - 1) / 2]

    Raises ValueError where the input has not 2 dims."""

def permute(input: Tensor, *dims: _int | Sequence[_int]) -> Tensor:
    """The dims in another order. [a, b, c], (2, 0, 1) -> [c, a, b]

    Raises ValueError where dims are not each dim once."""

def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """linalg.pinv by its older name. [..., m, n] -> [..., n, m]

    rcond: singular values below this share of the largest count as 0"""

def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Channels become pixels (Shi et al., 2016). [..., c * r * r, h, w] -> [..., c, h * r, w * r]

    upscale_factor: how many times larger height and width become
    Raises ValueError where the factor does not divide the channels."""

def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """Pixels become channels. [..., c, h * r, w * r] -> [..., c * r * r, h, w]

    downscale_factor: how many times smaller height and width become
    Raises ValueError where the factor does not divide height and width."""

def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson numbers whose means are the elements, in their dtype (Hormann, 1993). [...] -> [...]

    TypeError for complex numbers; ValueError, at the next read, for a mean that is negative or NaN. An
    infinite one gives NaN."""

def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers of sizes and angles in radians. [...], [...] -> [...]

    abs: sizes
    angle: angles in radians"""

def polygamma(input: Tensor, n: _int | Tensor | None = None) -> Tensor:
    """The nth derivative of digamma; polygamma(n, x), or x.polygamma(n) as a method. [...] -> [...]

    Raises ValueError where n is no whole number from 0."""

def positive(input: Tensor) -> Tensor:
    """Itself; bools are refused, as by neg. [...] -> [...]

    Raises TypeError for bools."""

def pow(input: Tensor | _float | HostScalar, exponent: Tensor | _float | HostScalar) -> Tensor:
    """x to the power y; whole powers of floats below 64 are products. [...], [...] -> [...]

    exponent: the power, a number or a tensor
    Raises ValueError where an integer has a negative power."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x, or weight * x where x < 0: one weight, or one for each index of dim 1. [n, c, ...], [c] -> same

    Raises ValueError where weight has not one value, or one a channel."""

def prod(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    dtype: DType | type[Any] | str | None = None,
) -> Tensor:
    """Product over all dims or some. [..., n, ...] -> [...] (or [..., 1, ...] with keepdim)"""

def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """source put at (or added to) places of the flattened tensor. [...], [m], [m] -> [...]

    index: which elements, integers
    accumulate: add to what is there
    Raises IndexError where an index is out of range; TypeError where it is not of integers."""

def qr(input: Tensor, some: _bool = True) -> QR:
    """linalg.qr by its older name: reduced, or complete. [..., m, n] -> [..., m, k], [..., k, n]

    some: the short form: as many columns as the rank can be"""

def quantile(
    input: Tensor,
    q: _float | Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The value below which a part q (0 to 1) lies; NaN where a line has one. q: a number or [k].

    [..., n, ...] -> [...] or [k, ...]

    interpolation: "linear", "lower", "higher", "nearest" or "midpoint": between two elements
    Raises ValueError where q is not in 0 to 1 or interpolation is unknown; TypeError for integers."""

def quantize(input: Tensor, bits: _int = 4, block: _int = 32) -> Quantized:
    """A matrix as integers of 8 or 4 bits, symmetric about 0, with a scale (the largest magnitude over 127
    or 7, in bfloat16) for each block of a row; computed at once. [n, k] -> Quantized

    Raises ValueError where the input has not 2 dims, or block does not divide its rows."""

def quantized_linear(input: Tensor, weight: Quantized, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias for a Quantized weight, of which nothing is unpacked in memory; sums in float32,
    the result in the input's dtype. [..., k], [n, k], [n] -> [..., n]

    Raises TypeError where the weight is no Quantized."""

def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees. [...] -> [...]"""

def rand(
    *size: _int | Sequence[_int],
    generator: Generator | None = None,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Uniform in [0, 1), the same bits on every device; of complex numbers both parts. (2, 3) -> [2, 3]

    TypeError for a dtype that has no fractions."""

def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Uniform in [0, 1) in the shape and on the device of x. [...] -> [...]"""

def randint(
    low: _int = 0,
    high: _int | None = None,
    size: _int | Sequence[_int] = (),
    *,
    generator: Generator | None = None,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Integers in [low, high), int64, each equally often; randint(n, (2, 3)) and randint(n, size=(2, 3))
    start at 0. (low, high, (2, 3)) -> [2, 3]

    dtype: also of bools or floats. ValueError where low is not below high, or the dtype does not hold them."""

def randint_like(
    input: Tensor,
    low: _int = 0,
    high: _int | None = None,
    *,
    generator: Generator | None = None,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Integers in [low, high) in the shape, dtype and on the device of x. [...] -> [...]

    ValueError where low is not below high, or the dtype does not hold them."""

def randn(
    *size: _int | Sequence[_int],
    generator: Generator | None = None,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Standard normal; devices differ by less than 1e-6; complex numbers have variance 1. (2, 3) -> [2, 3]

    TypeError for a dtype that has no fractions."""

def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Standard normal in the shape and on the device of x. [...] -> [...]"""

def random_bits(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """32 random bits an element"""

def randperm(
    n: _int,
    *,
    generator: Generator | None = None,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """The integers below n in random order, int64: the order that sorts n random words. -> [n]

    Raises ValueError where n is no whole number from 0."""

def ravel(input: Tensor) -> Tensor:
    """The same elements in order, in one dim; a view of what lies in order. [...] -> [n]"""

def read(*tensors: Tensor) -> Reading:
    """The values of several tensors as nested lists, with one wait: `a, b = await fb.read(x, y)`.

    Without `await` it is a sequence whose first use waits, which a browser's main thread may refuse."""

def real(input: Tensor) -> Tensor:
    """The real parts, as a view; of real numbers themselves. [...] -> [...]"""

def realize(*tensors: Tensor) -> None:
    """Run what several tensors need in one submit, without waiting for it."""

def reciprocal(input: Tensor) -> Tensor:
    """1 / x. [...] -> [...]"""

def relu(input: Tensor) -> Tensor:
    """max(x, 0). [...] -> [...]"""

def remainder(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """x - floor(x / y) * y: the sign is y's. [...], [...] -> [...]"""

def renorm(input: Tensor, p: _float, dim: _int, maxnorm: _float) -> Tensor:
    """Slices along a dim scaled down to a p-norm of maxnorm where theirs is larger. [...] -> [...]

    ValueError where p is not above 0, maxnorm is below 0, or the tensor has fewer than two dims;
    IndexError where there is no such dim."""

def repeat(input: Tensor, *repeats: _int | Sequence[_int]) -> Tensor:
    """Copies of the tensor side by side, along each dim. [n, m], (2, 3) -> [2 * n, 3 * m]

    repeats: how often
    Raises ValueError where there are fewer counts than dims."""

def repeat_interleave(
    input: Tensor,
    repeats: _int | Tensor | None = None,
    dim: _int | None = None,
    output_size: _int | None = None,
) -> Tensor:
    """Each element so many times in a row: a count, a list, or a tensor of counts. Without
    any, the tensor has the counts, and its places are repeated.

    Counts in a tensor take one read for their sum, unless it is given as output_size.
    [..., n, ...] -> [..., sum of the counts, ...]

    repeats: how often
    Raises ValueError where counts are not one for each element, or below 0."""

def reshape(input: Tensor, *shape: _int | Sequence[_int]) -> Tensor:
    """The same elements in order, in another shape; one size may be -1. [...] -> [*shape]

    Raises ValueError where the elements do not fill the shape."""

def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The same elements in order, in the shape of another."""

def resolve_conj(input: Tensor) -> Tensor:
    """Itself: conjugates are computed, no bit is kept for later."""

def resolve_neg(input: Tensor) -> Tensor:
    """Itself: conjugates are computed, no bit is kept for later."""

def result_type(*tensors: Any) -> DType:
    """The dtype that an operation on tensors and numbers has, by PyTorch's rules: those with dims promote,
    0-d tensors and then numbers only where their category (bool, integer, float) is higher.

    ValueError where nothing is given."""

def rms_norm(
    input: Tensor,
    normalized_shape: _int | Sequence[_int],
    weight: Tensor | None = None,
    eps: _float | None = None,
) -> Tensor:
    """Divided by the root of the mean square over the last dims (Zhang and Sennrich, 2019). [..., n]

    normalized_shape: the sizes of the last dims, over which it goes
    eps: a small number that keeps divisions from 0
    Raises ValueError where the last dims are not normalized_shape."""

def roll(input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = None) -> Tensor:
    """Elements moved on along dims (or flattened, without), those past the end to the front.

    shifts: how far, one number a dim
    Raises ValueError where shifts and dims differ in number."""

def rot90(input: Tensor, k: _int = 1, dims: _int | Sequence[_int] = (0, 1)) -> Tensor:
    """k quarter turns from the first dim towards the second. [n, m] -> [m, n]

    Raises ValueError where the dims are not two different ones."""

def round(input: Tensor, *, decimals: _int = 0) -> Tensor:
    """The nearest whole number (or multiple of 10**-decimals), halves to even. [...] -> [...]"""

def row_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined as rows, along dim 0. [n, a], [m, a] -> [n + m, a]

    Raises ValueError where there is no tensor, or shapes differ outside the dim."""

def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = ..., training: _bool = False) -> Tensor:
    """leaky_relu whose slope is drawn for each element in training, else the mean of the bounds.
    [...] -> [...]

    lower, upper: the least and the greatest slope. ValueError where lower is above upper, or either is not
    finite."""

def rsqrt(input: Tensor) -> Tensor:
    """1 / sqrt(x). [...] -> [...]"""

def rsub(input: Tensor, other: Tensor | _float | HostScalar, *, alpha: _float | HostScalar = 1) -> Tensor:
    """other - alpha * input. [...], [...] -> [...]"""

def scatter(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor | _float | HostScalar | None = None,
    *,
    value: _float | None = None,
    reduce: str | None = None,
) -> Tensor:
    """src (a tensor or a number, or a number as value) put at `index` along a dim; of equal indices the
    last counts. With reduce, "add" or "multiply", it is joined to what is there; ValueError for others.

    [..., n, ...], [..., m, ...], [..., m, ...] -> [..., n, ...]"""

def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor:
    """Add src to the elements at `index` along a dim, in a fixed order. -> the shape of self

    Raises ValueError where index is larger than the tensor outside the dim."""

def scatter_nd(input: Tensor, indices: Tensor, updates: Tensor, reduce: str = "none") -> Tensor:
    """updates[i] put at self[indices[i]], or joined to it: reduce is none, add, mul, max or min.

    [*n, *rest], [..., k] with k = len(n), [..., *rest] -> [*n, *rest]

    Raises ValueError where reduce is unknown."""

def scatter_reduce(
    input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, include_self: _bool = True
) -> Tensor:
    """Join src with the elements at `index` along a dim: reduce is sum, prod, mean, amax or amin.

    Without include_self, elements that an index names do not count themselves. -> the shape of self

    Raises ValueError where reduce is unknown."""

def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | _float,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where values would be put in to keep the order (int64): before equals, or after them (right).

    [n], [...] -> [...] or [..., n], [..., m] -> [..., m]

    sorted_sequence: what is searched. [..., n]
    out_int32: places are int32, and not int64
    side: "left" or "right": the same as `right`
    sorter: the order in which it is sorted
    Raises ValueError where side is unknown or contradicts right, or shapes do not fit."""

def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """The slice at one index of a dim, without it. [..., n, ...] -> [..., ...]

    Raises IndexError where the index is out of range."""

def select_scatter(input: Tensor, src: Tensor | _float | HostScalar, dim: _int, index: _int) -> Tensor:
    """A copy with src put as the slice at one index of a dim. [.., n, ..], [.., ..] -> [.., n, ..]

    Raises IndexError where there is no such dim."""

def selu(input: Tensor) -> Tensor:
    """elu scaled so that a deep net keeps mean 0 and variance 1 (Klambauer et al., 2017). [...] -> [...]"""

def sgn(input: Tensor) -> Tensor:
    """x / |x|, 0 of 0: the sign of real numbers, the direction of complex ones. [...] -> [...]"""

def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)). [...] -> [...]"""

def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1; 0 for NaN. [...] -> [...]"""

def signbit(input: Tensor) -> Tensor:
    """whether the sign is minus (of -0.0 too). [...] -> [...]"""

def sin(input: Tensor) -> Tensor:
    """sine of x radians. [...] -> [...]"""

def sinc(input: Tensor) -> Tensor:
    """sin(pi * x) / (pi * x), 1 at 0. [...] -> [...]"""

def sinh(input: Tensor) -> Tensor:
    """hyperbolic sine. [...] -> [...]"""

def slice_assign(input: Tensor, key: Any, value: Tensor | _float | HostScalar) -> Tensor:
    """A copy with value put where self[key] is: what `t[key] = value` gives t. -> the shape of self"""

def slice_scatter(
    input: Tensor,
    src: Tensor | _float | HostScalar,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
) -> Tensor:
    """A copy with src put as the slice start:end:step of a dim. -> the shape of self

    Raises IndexError where there is no such dim."""

def slogdet(A: Tensor) -> SignLogDet:
    """Sign (or 0) and logarithm of the determinant's size (or -inf). [..., n, n] -> [...], [...]

    A: the matrix, or a batch of them
    Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""

def softmax(input: Tensor, dim: _int = -1, dtype: DType | type[Any] | str | None = None) -> Tensor:
    """exp(x) normalised to sum to 1 along a dim. [..., n, ...] -> [..., n, ...]"""

def sort(input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Chosen:
    """(values, indices) of a dim's elements in order; always stable; NaN counts as largest.

    [..., n, ...] -> [..., n, ...], [..., n, ...]

    descending: the largest first
    Raises IndexError where there is no such dim."""

def split(input: Tensor, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces of split_size (the last may be smaller), or of the sizes listed. [..., n, ...] -> tuple

    Raises ValueError where sizes do not add up, or split_size is below 1."""

def split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> Tensor:
    """split, by the sizes of the parts, split_sizes."""

def sqrt(input: Tensor) -> Tensor:
    """square root. [...] -> [...]"""

def square(input: Tensor) -> Tensor:
    """x * x. [...] -> [...]"""

def squeeze(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """Dims of size 1 taken out: all of them, or those named. [a, 1, b] -> [a, b]

    Raises IndexError where there is no such dim; ValueError where one is named twice."""

def stack(tensors: Sequence[Tensor], dim: _int = 0) -> Tensor:
    """Tensors of one shape along a new dim. [a, b] * n -> [n, a, b]

    Raises ValueError where there is no tensor, or shapes differ."""

def std(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _int | None = 1,
) -> Tensor:
    """Standard deviation, the root of var. [..., n, ...] -> [...]

    unbiased: False is correction=0
    correction: what is subtracted from n in the divisor"""

def std_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _int | None = 1,
) -> tuple[Tensor, Tensor]:
    """(std, mean) of the same elements. [..., n, ...] -> [...], [...]

    unbiased: False is correction=0
    correction: what is subtracted from n in the divisor"""

def stft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    pad_mode: str = "reflect",
    normalized: _bool = False,
    onesided: _bool = True,
    return_complex: _bool = True,
) -> Tensor:
    """Transforms of windowed frames. [..., t] -> [..., n_fft // 2 + 1, frames] (or n_fft, where not onesided)

    hop_length is n_fft // 4 unless given. return_complex=False gives view_as_real of it.

    win_length: how long the window is (n_fft)
    window: factors of each frame. [win_length]
    center: the signal is padded, so that frame t is centred at t * hop_length
    pad_mode: how ends are padded where center is
    normalized: divide by sqrt(n_fft)
    Raises ValueError where there are fewer samples than n_fft, or hop_length is below 1."""

def storage_offset(input: Tensor) -> _int:
    """0: a tensor's elements are numbered from its own first."""

def stride(input: Tensor, dim: _int | None = None) -> Tensor:
    """How many elements lie between neighbours of each dim, in the order of elements: views too are read
    as if they lay in order."""

def sub(
    input: Tensor | _float | HostScalar,
    other: Tensor | _float | HostScalar,
    *,
    alpha: _float | HostScalar = 1,
) -> Tensor:
    """self - alpha * other. [...], [...] -> [...]

    Raises TypeError where alpha or value is no whole number and the tensors are of integers."""

def subtract(
    input: Tensor | _float | HostScalar,
    other: Tensor | _float | HostScalar,
    *,
    alpha: _float | HostScalar = 1,
) -> Tensor:
    """self - alpha * other. [...], [...] -> [...]

    Raises TypeError where alpha or value is no whole number and the tensors are of integers."""

def sum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    dtype: DType | type[Any] | str | None = None,
) -> Tensor:
    """Sum over all dims or some. [..., n, ...] -> [...] (or [..., 1, ...] with keepdim)"""

def sum_to_size(input: Tensor, *size: _int | Sequence[_int]) -> Tensor:
    """Sums over what broadcasting from that size has repeated. [n, m], (1, m) -> [1, m]

    Raises ValueError where the size does not broadcast to the shape."""

def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True) -> SVDTopLevel:
    """U, S, V (not transposed) with A = U diag(S) V^H; without compute_uv zeros for U and V.

    [..., m, n] -> [..., m, k], [..., k], [..., n, k]

    some: the short form: as many columns as the rank can be"""

def swapaxes(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dims exchanged. [..., a, ..., b, ...] -> [..., b, ..., a, ...]

    dim0: the one dim
    dim1: the first of the two dims
    Raises IndexError where there is no such dim."""

def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dims exchanged. [..., a, ..., b, ...] -> [..., b, ..., a, ...]

    dim0: the one dim
    dim1: the first of the two dims
    Raises IndexError where there is no such dim."""

def synchronize(device: Any = None) -> None:
    """Return when everything submitted to the device is done."""

def t(input: Tensor) -> Tensor:
    """A matrix transposed; a vector itself. ValueError for more dims. [n, m] -> [m, n]"""

def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements at places of the flattened tensor. [...], [*m] -> [*m]

    index: which elements, integers
    Raises IndexError where an index is out of range; TypeError where it is not of integers."""

def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None) -> Tensor:
    """gather whose tensor and indices broadcast; of the flattened tensor without dim.

    [..., n, ...], [..., m, ...] -> [..., m, ...]

    Raises ValueError where numbers of dims differ."""

def tan(input: Tensor) -> Tensor:
    """tangent of x radians. [...] -> [...]"""

def tanh(input: Tensor) -> Tensor:
    """hyperbolic tangent. [...] -> [...]"""

def tensor_split(
    input: Tensor, indices_or_sections: _int | Sequence[_int] | Tensor, dim: _int = 0
) -> tuple[Tensor, ...]:
    """So many pieces, the first larger by one where needed; or cut before each index. [n] -> tuple

    indices_or_sections: how many parts, or the places of the cuts
    Raises ValueError where there are fewer than 1 sections."""

def tensor_unfold(input: Tensor, dimension: _int, size: _int, step: _int) -> Tensor:
    """Windows sliding over a dim, as a new last dim. [.., n, ..] -> [.., positions, .., size]

    dimension: the dim that is cut
    step: the distance of windows
    Raises ValueError where size and step do not fit the dim."""

def tensordot(a: Tensor, b: Tensor, dims: _int | Sequence[Sequence[_int]] = 2) -> Tensor:
    """Sum of products over the last dims of a and the first of b, or over the dims listed for each.
    [..., k], [k, ...] -> [..., ...]

    Raises ValueError where dims of a and b differ in number."""

def threshold(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """x, or `value` where x <= threshold. [...] -> [...]

    Raises ValueError where the dtype has no such value."""

def tile(input: Tensor, *dims: _int | Sequence[_int]) -> Tensor:
    """repeat, where counts for leading dims may be left out. [n, m], (2,) -> [n, 2 * m]

    Raises TypeError where a size is no whole number."""

def topk(input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True) -> Chosen:
    """(values, indices) of the k largest (or smallest) of a dim, in order; NaN counts as largest.

    [..., n, ...] -> [..., k, ...], [..., k, ...]

    sorted: in order
    Raises ValueError where k is not from 0 to n."""

def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal. [n, m] -> []

    Raises ValueError where the input has not 2 dims."""

def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dims exchanged. [..., a, ..., b, ...] -> [..., b, ..., a, ...]

    dim0: the one dim
    dim1: the first of the two dims
    Raises IndexError where there is no such dim."""

def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _float | None = None, dim: _int = -1) -> Tensor:
    """The area under points along a dim, which are dx (or 1) apart, or at x. [..., n, ...] -> [...]

    Raises ValueError where both x and dx are given, or y is 0-d."""

def trapz(y: Tensor, x: Tensor | None = None, *, dx: _float | None = None, dim: _int = -1) -> Tensor:
    """The area under points along a dim, which are dx (or 1) apart, or at x. [..., n, ...] -> [...]

    Raises ValueError where both x and dx are given, or y is 0-d."""

def tril(input: Tensor, diagonal: _int = 0) -> Tensor:
    """The lower triangle of the last two dims, zero above `diagonal`. [..., n, m] -> [..., n, m]"""

def tril_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
) -> Tensor:
    """Rows and columns of a matrix's lower triangle, in reading order, int64. -> [2, n]

    row: the number of rows
    col: the number of columns
    offset: which diagonal: above the main one where > 0, below where < 0
    Raises ValueError where row or col is below 0."""

def triu(input: Tensor, diagonal: _int = 0) -> Tensor:
    """The upper triangle of the last two dims, zero below `diagonal`. [..., n, m] -> [..., n, m]"""

def triu_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
) -> Tensor:
    """Rows and columns of a matrix's upper triangle, in reading order, int64. -> [2, n]

    row: the number of rows
    col: the number of columns
    offset: which diagonal: above the main one where > 0, below where < 0
    Raises ValueError where row or col is below 0."""

def true_divide(
    input: Tensor | _float | HostScalar,
    other: Tensor | _float | HostScalar,
    *,
    rounding_mode: str | None = None,
) -> Tensor:
    """self / other in floats; rounding_mode "floor" (down) or "trunc" (to 0). [...], [...] -> [...]

    Raises ValueError where rounding_mode is unknown."""

def trunc(input: Tensor) -> Tensor:
    """integer part, towards 0. [...] -> [...]"""

def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """The slices along a dim, without it. [..., n, ...] -> n times [..., ...]

    Raises IndexError where the input is 0-d."""

def unflatten(input: Tensor, dim: _int, sizes: _int | Sequence[_int]) -> Tensor:
    """One dim as several. [..., a * b, ...], (a, b) -> [..., a, b, ...]

    sizes: the sizes that the dim becomes; one may be -1
    Raises ValueError where the sizes do not multiply to that of the dim."""

def unfold(input: Tensor, dimension: _int, size: _int, step: _int) -> Tensor:
    """Windows sliding over a dim, as a new last dim. [.., n, ..] -> [.., positions, .., size]

    dimension: the dim that is cut
    step: the distance of windows
    Raises ValueError where size and step do not fit the dim."""

def uniform(
    size: _int | Sequence[_int],
    low: _float = 0.0,
    high: _float = 1.0,
    *,
    generator: Generator | None = None,
    device: Any = None,
) -> Tensor:
    """Uniform in [low, high). (2, 3) -> [2, 3]

    ValueError where low is above high, or either is not finite."""

@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> Tensor:
    """The different elements (or slices of a dim) in order; their number takes one read.

    With return_inverse also where each element went, with return_counts how often each occurs, int64.
    [...] -> [k], or [..., k, ...] with dim

    sorted: in order"""

@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    *,
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> Tensor:
    """Elements (or slices of a dim) that differ from the one before; as unique otherwise.

    return_inverse: also where each element went
    return_counts: also how often each occurs"""

@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    dim: _int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None
) -> tuple[Tensor, Tensor, Tensor]: ...
def unravel_index(indices: Tensor, shape: _int | Sequence[_int]) -> tuple[Tensor, ...]:
    """The coordinates (int64, one tensor a dim) of places in a tensor of that shape. [...] -> n x [...]

    indices: places, integers"""

def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size (the last may be smaller). [..., n, ...] -> tuple

    Raises ValueError where chunks is below 1."""

def unsafe_split(input: Tensor, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces of split_size (the last may be smaller), or of the sizes listed. [..., n, ...] -> tuple

    Raises ValueError where sizes do not add up, or split_size is below 1."""

def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> Tensor:
    """split, by the sizes of the parts, split_sizes."""

def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """A dim of size 1 put in at `dim`. [a, b], 1 -> [a, 1, b]

    Raises IndexError where there is no such dim."""

def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """Powers of x in columns, falling unless increasing. [n] -> [n, N]"""

def var(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _int | None = 1,
) -> Tensor:
    """Variance, dividing by n - correction; unbiased=False is correction=0. [..., n, ...] -> [...]"""

def var_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _int | None = 1,
) -> tuple[Tensor, Tensor]:
    """(var, mean) of the same elements. [..., n, ...] -> [...], [...]

    unbiased: False is correction=0
    correction: what is subtracted from n in the divisor"""

def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Sum of products of two vectors, of complex ones the first conjugated. [n], [n] -> []"""

def view(
    input: Tensor, *shape: _int | Sequence[_int], dtype: DType | type[Any] | str | None = None
) -> Tensor:
    """The same elements in another shape, or the same bytes as elements of another dtype, of which the
    last dim has more or fewer. [...] -> [*shape], or [..., n] -> [..., n * size / new size]

    dtype: a dtype, in place of sizes; written through as other views. ValueError where the last dim is no
    whole number of such elements, TypeError for float64 and complex128 on a GPU."""

def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The same elements in order, in the shape of another."""

def view_as_complex(input: Tensor) -> Tensor:
    """The complex numbers whose two parts lie side by side in the last dim, as a view. [..., 2] -> [...]

    float16 and bfloat16 are cast to float32 first: a copy. ValueError for what are no such pairs,
    TypeError for integers."""

def view_as_real(input: Tensor) -> Tensor:
    """Both parts of complex numbers, as a view. TypeError for real numbers. [...] -> [..., 2]"""

def vsplit(input: Tensor, indices_or_sections: _int | Sequence[_int]) -> tuple[Tensor, ...]:
    """tensor_split along dim 0 of 2 or more.

    indices_or_sections: how many parts, or the places of the cuts
    Raises ValueError where dims are missing, or the sections do not divide the dim."""

def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined as rows, along dim 0. [n, a], [m, a] -> [n + m, a]

    Raises ValueError where there is no tensor, or shapes differ outside the dim."""

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

def xlog1py(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """x * log(1 + y); 0 where x is, whatever y is. [...], [...] -> [...]"""

def xlogy(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """x * log(y); 0 where x is, whatever y is. [...], [...] -> [...]"""

def zeros(
    *size: _int | Sequence[_int],
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Zeros. (2, 3) -> [2, 3]

    Raises TypeError where a size is no whole number."""

def zeros_like(
    input: Tensor,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Zeros of the shape, dtype and device of x. [...] -> [...]"""

def zeta(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """Hurwitz' zeta: the sum of (y + k)**-x over k >= 0, for x > 1 and y > 0; no slope by x. [...], [...] -> [...]"""

class Reading(Sequence[Any]):
    """The values of several tensors as nested lists: a sequence, whose first use waits, or `await` it."""
    def __init__(self, tensors: tuple[Tensor, ...]) -> None: ...
    def _with(self, raw: list[Any]) -> list[Any]: ...
    def _waited(self) -> list[Any]: ...
    async def _arrived(self) -> list[Any]: ...
    def __await__(self) -> Any: ...
    def __len__(self) -> _int: ...
    def __getitem__(self, i: Any) -> Any: ...
    def __eq__(self, other: Any) -> _bool: ...
    def __repr__(self) -> str: ...
