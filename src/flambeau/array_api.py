"""The array API standard's names (data-apis.org, 2023.12) for tensors, as far as there are operations."""

from math import e, inf, nan, pi  # noqa: F401 - of the standard
from typing import Any

from . import functions as _functions
from .core import dtype as _dt
from .core.op import COMPOSED, OPS
from .tensor import Tensor, tensor

__array_api_version__ = "2023.12"
newaxis = None

# the standard's name: ours, for functions of arrays alone
_SAME = (
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_or"
    " bitwise_right_shift bitwise_xor ceil copysign cos cosh exp expm1 floor floor_divide hypot isfinite"
    " isinf isnan log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul"
    " maximum minimum nextafter pow reciprocal remainder round sign signbit sin sinh sqrt square tan tanh"
    " trunc where"
)
_RENAMED = {
    "bitwise_invert": "bitwise_not",
    "divide": "div",
    "equal": "eq",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
}
_REDUCING = {
    "all": "all",
    "any": "any",
    "argmax": "argmax",
    "argmin": "argmin",
    "max": "amax",
    "mean": "mean",
    "min": "amin",
    "prod": "prod",
    "std": "std",
    "sum": "sum",
    "var": "var",
}
_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "numeric": "iuf",
    "complex floating": "",
}

float32, int32, uint32, bool = _dt.float32, _dt.int32, _dt.uint32, _dt.bool_


def _function(name: str) -> Any:
    return OPS.get(name) or COMPOSED[name]


def _reduction(name: str) -> Any:
    """Ours with the standard's words for its arguments; var and std divide by n - 0, and no axes are none."""

    def call(x: Tensor, /, *, axis: Any = None, keepdims: Any = False, **kw: Any) -> Tensor:
        if name in ("var", "std"):
            kw = {"correction": kw.get("correction", 0)}
        if axis is not None and not isinstance(axis, int) and not len(axis):
            x, axis, keepdims = x.unsqueeze(0), 0, False
        dim = {} if axis is None and name not in ("argmax", "argmin") else {"dim": axis}
        return getattr(x, name)(**dim, keepdim=keepdims, **kw)

    call.__name__ = name
    return call


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Tensor:
    """A tensor of anything that holds numbers."""
    return obj if isinstance(obj, Tensor) and dtype is device is copy is None else tensor(obj, dtype, device)


def astype(x: Tensor, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Tensor:
    """The same values in another dtype."""
    return x.to(device, _dt.as_dtype(dtype))


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind ("real floating", ...), is another, or is one of several."""
    if isinstance(kind, tuple):
        return True in [isdtype(dtype, k) for k in kind]
    return dtype.kind in _KINDS[kind] if isinstance(kind, str) else dtype is kind


def result_type(*given: Any) -> Any:
    """The dtype that holds all of these tensors and dtypes."""
    return _dt.promote(*(getattr(g, "dtype", g) for g in given))


def reshape(x: Tensor, /, shape: Any, *, copy: Any = None) -> Tensor:
    """The same elements in another shape."""
    return x.reshape(*shape)


def permute_dims(x: Tensor, /, axes: Any) -> Tensor:
    """The axes in another order."""
    return x.permute(*axes)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""
    return x.transpose(-1, -2)


def expand_dims(x: Tensor, /, *, axis: int = 0) -> Tensor:
    """An axis of size 1 put in."""
    return x.unsqueeze(axis)


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """Axes of size 1 taken out."""
    return x.squeeze(axis)


def broadcast_to(x: Tensor, /, shape: Any) -> Tensor:
    """Repeated to a shape, without copying."""
    return x.expand(*shape)


def concat(arrays: Any, /, *, axis: Any = 0) -> Tensor:
    """Arrays one after another along an axis; None: flattened."""
    if axis is None:
        return _function("cat")([x.reshape(-1) for x in arrays], 0)
    return _function("cat")(list(arrays), axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Arrays along a new axis."""
    return _function("stack")(list(arrays), axis)


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """The elements of axes (None: all) in reverse order."""
    return x.flip(tuple(range(x.ndim)) if axis is None else axis)


def moveaxis(x: Tensor, source: int, destination: int, /) -> Tensor:
    """One axis moved to another place."""
    return x.movedim(source, destination)


def take(x: Tensor, indices: Tensor, /, *, axis: int = 0) -> Tensor:
    """Whole slices at the indices."""
    return x[(*[slice(None)] * (axis % x.ndim), indices)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """An element of the axis for each index."""
    return x.take_along_dim(indices, axis)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The lower triangle, zero above diagonal k."""
    return x.tril(k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The upper triangle, zero below diagonal k."""
    return x.triu(k)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Values held inside [min, max]."""
    return x.clamp(min, max)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Sums of products along an axis."""
    return (x1 * x2).sum(axis)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None) -> Tensor:
    """start, start + step, ... short of stop, or nothing where step leads away from it."""
    start, stop = (0, start) if stop is None else (start, stop)
    away = (stop < start) if step > 0 else (stop > start)
    return _functions.arange(start, start if away else stop, step, dtype=dtype, device=device)


empty, eye, linspace = (getattr(_functions, n) for n in ("empty", "eye", "linspace"))
ones, zeros = (lambda shape, **kw: Tensor.ones(shape, **kw)), (lambda shape, **kw: Tensor.zeros(shape, **kw))
full, full_like = Tensor.full, _functions.full_like
ones_like, zeros_like = _functions.ones_like, _functions.zeros_like

globals().update({n: getattr(_functions, n) for n in _SAME.split() if hasattr(_functions, n)})
globals().update({n: getattr(_functions, ours) for n, ours in _RENAMED.items()})
globals().update({n: _reduction(ours) for n, ours in _REDUCING.items()})
