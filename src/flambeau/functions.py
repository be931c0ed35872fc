"""The op table as functions, e.g. fb.exp(x) for x.exp(), and the few functions that are not methods."""

from collections.abc import Sequence
from os import getpid
from threading import Lock
from typing import Any

from .core.dtype import DTYPES, DType, DTypeLike, as_dtype, combine, dtype_of_scalar, promote
from .core.events import stage
from .core.host import to_list
from .core.op import OPS, result_of
from .device import DeviceLike, get_device
from .errors import TypeError, ValueError
from .tensor import TensorLike

# fmt: off
# isort: off
from .ops.activation import celu, hardshrink, prelu, rrelu, selu, threshold
from .ops.bits import view
from .ops.complex import (
    adjoint, angle, complex, conj, conj_physical, imag, is_conj, is_neg, isreal, polar, real, resolve_conj,
    resolve_neg, sgn, view_as_complex, view_as_real,
)
from .ops.contract import addbmm, addmm, addmv, addr, baddbmm, bmm, dot, ger, matmul, mm, mv, outer, vdot
from .ops.conv.adaptive import adaptive_avg_pool1d, adaptive_max_pool1d
from .ops.conv.conv import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from .ops.conv.grid_sample import deform_conv2d
from .ops.conv.pool import avg_pool1d, max_pool1d, max_pool2d, max_pool3d
from .ops.creation import (
    arange, cartesian_prod, diag, diag_embed, diagflat, diagonal, empty, empty_like, eye, full, full_like,
    linspace, logspace, meshgrid, new_empty, new_full, new_ones, new_zeros, ones, ones_like, trace,
    tril_indices, triu_indices, vander, zeros, zeros_like,
)
from .ops.distribution import (
    bernoulli, cauchy, exponential, geometric, gumbel, laplace, log_normal, multinomial, normal, rand,
    rand_like, randint, randint_like, randn, randn_like, randperm, uniform,
)
from .ops.einsum import bilinear, cdist, chain_matmul, cross, einsum, inner, tensordot
from .ops.elementwise import (
    abs, absolute, acos, acosh, add, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, asin, asinh,
    atan, atan2, atanh, bitwise_and, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift,
    bitwise_xor, cast, ceil, copysign, cos, cosh, div, divide, eq, erf, exp, exp2, expm1, exponent, fix,
    floor, floor_divide, fmod, gcd, ge, greater, greater_equal, gt, hypot, isfinite, isinf, isnan, ldexp, le,
    less, less_equal, log, log10, log1p, log2, logaddexp, logical_and, logical_not, logical_or, logical_xor,
    lt, maximum, minimum, mul, multiply, ne, neg, negative, nextafter, not_equal, pow, reciprocal, relu,
    remainder, round, rsqrt, sigmoid, sign, signbit, sin, sinh, sqrt, square, sub, subtract, tan, tanh,
    true_divide, trunc,
)
from .ops.fft.signal import (
    bartlett_window, blackman_window, hamming_window, hann_window, istft, kaiser_window, stft,
)
from .ops.forms import (
    as_strided, as_strided_scatter, dim_order, is_inference, is_set_to, narrow_copy, new, new_empty_strided,
    split_with_sizes, storage_offset, stride, unsafe_split_with_sizes,
)
from .ops.index.index import (
    gather, gather_nd, index_select, masked_scatter, masked_select, take, take_along_dim,
)
from .ops.index.scatter import (
    diagonal_scatter, index_add, index_copy, index_fill, index_put, index_reduce, put, scatter, scatter_add,
    scatter_nd, scatter_reduce, select_scatter, slice_assign, slice_scatter,
)
from .ops.index.select import argwhere, count_nonzero, nonzero, nonzero_static, unique, unique_consecutive
from .ops.join import (
    atleast_1d, atleast_2d, atleast_3d, block_diag, broadcast_tensors, cat, cat as concat, cat as concatenate,
    chunk, column_stack, dsplit, dstack, hsplit, hstack, kron, split, stack, tensor_split, unbind,
    unsafe_chunk, unsafe_split, vsplit, vstack, vstack as row_stack,
)
from .ops.linalg.decompose import cholesky, cholesky_inverse, cholesky_solve, geqrf, ormqr, svd
from .ops.linalg.lobpcg import lobpcg
from .ops.linalg.lu import (
    linalg_det as det, linalg_inv as inverse, linalg_slogdet as slogdet, logdet, lu_solve, lu_unpack,
)
from .ops.linalg.norms import pinverse
from .ops.linalg.products import dist, matrix_exp, matrix_power, norm, qr, renorm
from .ops.masks import masked_fill, tril, triu
from .ops.movement import (
    detach, expand, flatten, flip, narrow, permute, reshape, squeeze, swapaxes, t, transpose, unflatten,
    unsqueeze,
)
from .ops.norm import (
    channel_shuffle, cosine_similarity, group_norm, layer_norm, pairwise_distance, pixel_shuffle,
    pixel_unshuffle, rms_norm,
)
from .ops.numeric import (
    addcdiv, addcmul, allclose, clamp, clamp_max, clamp_min, clip, deg2rad, equal, float_power, fmax, fmin,
    frac, frexp, heaviside, isclose, isneginf, isposinf, lcm, lerp, logaddexp2, nan_to_num, positive, rad2deg,
    rsub,
)
from .ops.quantized import quantize, quantized_linear
from .ops.random import alpha_dropout, dropout, feature_alpha_dropout, random_bits
from .ops.rearrange import (
    broadcast_to, clone, expand_as, fliplr, flipud, moveaxis, movedim, pad, ravel, repeat, repeat_interleave,
    reshape_as, roll, rot90, select, sum_to_size, swapdims, tensor_unfold, tile, unfold, view_as,
)
from .ops.reduce import (
    all, amax, amin, aminmax, any, argmax, argmin, logsumexp, max, mean, min, nanmean, nansum, prod, std,
    std_mean, sum, var, var_mean,
)
from .ops.rejection import binomial, poisson
from .ops.softmax import log_softmax, softmax
from .ops.sort.histogram import bincount, histc, histogram, histogramdd
from .ops.sort.quantile import median, mode, nanmedian, nanquantile, quantile
from .ops.sort.scan import (
    cummax, cummin, cumprod, cumsum, cumulative_trapezoid, diff, logcumsumexp, trapezoid, trapezoid as trapz,
)
from .ops.sort.sort import argsort, bucketize, isin, kthvalue, msort, searchsorted, sort, topk
from .ops.special import (
    digamma, entr, erfc, erfcx, erfinv, i0, i0e, i1, i1e, igamma, igammac, lgamma, log_ndtr, logit, mvlgamma,
    ndtr, ndtri, polygamma, sinc, xlog1py, xlogy, zeta,
)
from .ops.statistics import combinations, corrcoef, cov, gradient, pdist, unravel_index
# isort: on
# fmt: on
from .runtime import run
from .runtime.exchange import leaf_of_array
from .tensor import Tensor, tensor


def as_tensor(data: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """A tensor of data; a tensor that matches is returned itself. TypeError for an unknown dtype."""
    if isinstance(data, Tensor):
        return data.to(device, None if dtype is None else as_dtype(dtype))
    return tensor(data, dtype, device)


def from_numpy(ndarray: Any, device: DeviceLike | None = None) -> Tensor:
    """A tensor of a NumPy array, copied.

    ndarray: a NumPy array
    """
    return tensor(ndarray, device=device)


def from_dlpack(ext_tensor: Any, device: DeviceLike | None = None) -> Tensor:
    """A tensor of another library's array. On an array device the memory is shared and must not be written
    to; for a GPU the values are copied from the host's memory.

    ext_tensor: an array of a library with DLPack support
    """
    if isinstance(ext_tensor, Tensor):
        return ext_tensor if device is None else ext_tensor.to(device)
    to = get_device(device)
    library = to if to.kind == "cpu" else get_device("cpu")
    assert library.kind == "cpu"
    array = library.xp.from_dlpack(ext_tensor)
    # A GPU has its own memory, and an array of a dtype that Flambeau lacks needs a conversion: both are
    # copies.
    if to.kind != "cpu" or to.xp.name_of(array) not in DTYPES:
        return tensor(array if to.kind != "cpu" else to.xp.to_host(array), device=to)
    return Tensor(leaf_of_array(array, DTYPES[to.xp.name_of(array)], to))


def where(
    condition: Tensor,
    input: TensorLike | None = None,
    other: TensorLike | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`input` where the condition is true, else `other`; with only a condition its nonzero(as_tuple=True).

    [...], [...], [...] -> [...]. out: a tensor that takes the result, and is returned. TypeError if one
    of input and other is missing.
    """
    if input is None and other is None:
        places: Any = condition.nonzero(as_tuple=True)
        return places
    if input is None or other is None:
        raise TypeError("where(): pass a condition alone, or with both input and other")
    chosen: Any = OPS["where"](condition, input, other, **({} if out is None else {"out": out}))
    return chosen


def result_type(*tensors: Any) -> DType:
    """The dtype of an operation's result by PyTorch's promotion rules: tensors with dims promote; 0-d tensors
    and then numbers count only if their category (bool, integer, float) is higher.

    ValueError if no tensor or number is passed.
    """
    nodes = [t.node for t in tensors if isinstance(t, Tensor)]
    scalars = [dtype_of_scalar(t) for t in tensors if not isinstance(t, Tensor)]
    dtype = combine(result_of(nodes), promote(*scalars) if scalars else None)
    if dtype is None:
        raise ValueError("result_type(): needs at least one tensor or number")
    return dtype


def is_floating_point(input: Tensor) -> bool:
    """Whether a tensor's elements are floats."""
    return input.is_floating_point()


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor.

    obj: anything
    """
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def is_complex(input: Tensor) -> bool:
    """Whether a tensor's elements are complex numbers."""
    return input.is_complex()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has numbers below 0."""
    return input.is_signed()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal."""
    return input.is_same_size(other)


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not 0; runs the graph and waits."""
    return input.is_nonzero()


def realize(*tensors: Tensor) -> None:
    """Submit the work for several tensors at once, without waiting for it."""
    run.realize(*tensors)


class Reading(Sequence[Any]):
    """The values of several tensors as nested lists: a sequence, whose first use waits, or an awaitable."""

    def __init__(self, tensors: tuple[Tensor, ...]):
        self._tensors, self._fetch = tensors, run.Readback(list(tensors))
        self._lists: list[Any] | None = None
        self._lock, self._process = Lock(), getpid()  # several threads may ask

    def _as_lists(self, raw: list[Any]) -> list[Any]:
        if self._lists is None:  # converted once; later uses return the same lists
            pairs = zip(raw, self._tensors, strict=True)
            self._lists = [to_list(part, t.shape, t.dtype) for part, t in pairs]
        return self._lists

    def _wait(self) -> list[Any]:
        if getpid() != self._process:  # a fork: the thread that holds the lock may not exist here
            return self._wait_alone()
        with self._lock:
            return self._wait_alone()

    def _wait_alone(self) -> list[Any]:
        return self._lists if self._lists is not None else self._as_lists(self._fetch.wait())

    async def _arrive(self) -> list[Any]:  # an event loop runs one task at a time, so no lock is needed
        return self._as_lists(await self._fetch.arrive())

    def __await__(self) -> Any:
        return self._arrive().__await__()

    def __len__(self) -> int:
        return len(self._tensors)

    def __getitem__(self, i: Any) -> Any:
        return self._wait()[i]

    def __eq__(self, other: Any) -> bool:
        return self._wait() == (list(other) if isinstance(other, Reading) else other)

    def __repr__(self) -> str:
        return repr(self._wait())


def read(*tensors: Tensor) -> Reading:
    """The values of several tensors as nested lists, with one wait: `a, b = await fb.read(x, y)`.

    Without `await` it is a sequence whose first use waits, which a browser's main thread may refuse.
    """
    return Reading(tensors)


def synchronize(device: DeviceLike | None = None) -> None:
    """Wait until all submitted work of the device is done."""
    with stage("wait"):
        get_device(device).wait()


def memory(device: DeviceLike | None = None) -> dict[str, int]:
    """Bytes in use (live), the maximum so far (peak), bytes allocated from the driver (reserved), and the
    number of allocations."""
    pool, names = get_device(device).pool, ("live", "peak", "reserved", "allocations")
    return {n: getattr(pool, n) if pool else 0 for n in names}


# fmt: off
__all__ = [
    "abs", "absolute", "acos", "acosh", "adaptive_avg_pool1d", "adaptive_max_pool1d", "add", "addbmm",
    "addcdiv", "addcmul", "addmm", "addmv", "addr", "adjoint", "all", "allclose", "alpha_dropout", "amax",
    "amin", "aminmax", "angle", "any", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan",
    "arctan2", "arctanh", "argmax", "argmin", "argsort", "argwhere", "as_strided", "as_strided_scatter",
    "as_tensor", "asin", "asinh", "atan", "atan2", "atanh", "atleast_1d", "atleast_2d", "atleast_3d",
    "avg_pool1d", "baddbmm", "bartlett_window", "bernoulli", "bilinear", "bincount", "binomial",
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "blackman_window", "block_diag", "bmm", "broadcast_tensors", "broadcast_to", "bucketize",
    "cartesian_prod", "cast", "cat", "cauchy", "cdist", "ceil", "celu", "chain_matmul", "channel_shuffle",
    "cholesky", "cholesky_inverse", "cholesky_solve", "chunk", "clamp", "clamp_max", "clamp_min", "clip",
    "clone", "column_stack", "combinations", "complex", "concat", "concatenate", "conj", "conj_physical",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "copysign",
    "corrcoef", "cos", "cosh", "cosine_similarity", "count_nonzero", "cov", "cross", "cummax", "cummin",
    "cumprod", "cumsum", "cumulative_trapezoid", "deform_conv2d", "deg2rad", "det", "detach", "diag",
    "diag_embed", "diagflat", "diagonal", "diagonal_scatter", "diff", "digamma", "dim_order", "dist", "div",
    "divide", "dot", "dropout", "dsplit", "dstack", "einsum", "empty", "empty_like", "entr", "eq", "equal",
    "erf", "erfc", "erfcx", "erfinv", "exp", "exp2", "expand", "expand_as", "expm1", "exponent",
    "exponential", "eye", "feature_alpha_dropout", "fix", "flatten", "flip", "fliplr", "flipud",
    "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "frac", "frexp", "from_dlpack",
    "from_numpy", "full", "full_like", "gather", "gather_nd", "gcd", "ge", "geometric", "geqrf", "ger",
    "gradient", "greater", "greater_equal", "group_norm", "gt", "gumbel", "hamming_window", "hann_window",
    "hardshrink", "heaviside", "histc", "histogram", "histogramdd", "hsplit", "hstack", "hypot", "i0", "i0e",
    "i1", "i1e", "igamma", "igammac", "imag", "index_add", "index_copy", "index_fill", "index_put",
    "index_reduce", "index_select", "inner", "inverse", "is_complex", "is_conj", "is_floating_point",
    "is_inference", "is_neg", "is_nonzero", "is_same_size", "is_set_to", "is_signed", "is_tensor", "isclose",
    "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal", "istft", "kaiser_window", "kron",
    "kthvalue", "laplace", "layer_norm", "lcm", "ldexp", "le", "lerp", "less", "less_equal", "lgamma",
    "linspace", "lobpcg", "log", "log10", "log1p", "log2", "log_ndtr", "log_normal", "log_softmax",
    "logaddexp", "logaddexp2", "logcumsumexp", "logdet", "logical_and", "logical_not", "logical_or",
    "logical_xor", "logit", "logspace", "logsumexp", "lt", "lu_solve", "lu_unpack", "masked_fill",
    "masked_scatter", "masked_select", "matmul", "matrix_exp", "matrix_power", "max", "max_pool1d",
    "max_pool2d", "max_pool3d", "maximum", "mean", "median", "memory", "meshgrid", "min", "minimum", "mm",
    "mode", "moveaxis", "movedim", "msort", "mul", "multinomial", "multiply", "mv", "mvlgamma", "nan_to_num",
    "nanmean", "nanmedian", "nanquantile", "nansum", "narrow", "narrow_copy", "ndtr", "ndtri", "ne", "neg",
    "negative", "new", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros", "nextafter",
    "nonzero", "nonzero_static", "norm", "normal", "not_equal", "numel", "ones", "ones_like", "ormqr",
    "outer", "pad", "pairwise_distance", "pdist", "permute", "pinverse", "pixel_shuffle", "pixel_unshuffle",
    "poisson", "polar", "polygamma", "positive", "pow", "prelu", "prod", "put", "qr", "quantile", "quantize",
    "quantized_linear", "rad2deg", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "random_bits", "randperm", "ravel", "read", "real", "realize", "reciprocal", "relu", "remainder",
    "renorm", "repeat", "repeat_interleave", "reshape", "reshape_as", "resolve_conj", "resolve_neg",
    "result_type", "rms_norm", "roll", "rot90", "round", "row_stack", "rrelu", "rsqrt", "rsub", "scatter",
    "scatter_add", "scatter_nd", "scatter_reduce", "searchsorted", "select", "select_scatter", "selu", "sgn",
    "sigmoid", "sign", "signbit", "sin", "sinc", "sinh", "slice_assign", "slice_scatter", "slogdet",
    "softmax", "sort", "split", "split_with_sizes", "sqrt", "square", "squeeze", "stack", "std", "std_mean",
    "stft", "storage_offset", "stride", "sub", "subtract", "sum", "sum_to_size", "svd", "swapaxes",
    "swapdims", "synchronize", "t", "take", "take_along_dim", "tan", "tanh", "tensor_split", "tensor_unfold",
    "tensordot", "threshold", "tile", "topk", "trace", "transpose", "trapezoid", "trapz", "tril",
    "tril_indices", "triu", "triu_indices", "true_divide", "trunc", "unbind", "unflatten", "unfold",
    "uniform", "unique", "unique_consecutive", "unravel_index", "unsafe_chunk", "unsafe_split",
    "unsafe_split_with_sizes", "unsqueeze", "vander", "var", "var_mean", "vdot", "view", "view_as",
    "view_as_complex", "view_as_real", "vsplit", "vstack", "where", "xlog1py", "xlogy", "zeros", "zeros_like",
    "zeta",
]
# fmt: on
