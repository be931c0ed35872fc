"""The array API's reductions and cumulative functions."""

from collections.abc import Callable
from typing import Any

from .. import functions
from ..core import dtype as dt
from ..core.dtype import DTypeLike
from ..core.tree import is_tuple
from ..tensor import Tensor


def _reduction(name: str, text: str, of_bools: bool = False) -> Callable[..., Tensor]:
    """Make a reduction from the method `name` with the standard's argument names; axis=() reduces nothing.

    of_bools: the elements count as bools, and so does the result, also of uint8.
    """

    def call(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
        x, axis, keepdims = _with_axes(x.bool() if of_bools else x, axis, keepdims)
        return getattr(x, name)(dim=axis, keepdim=keepdims)

    call.__name__, call.__doc__ = {"amax": "max", "amin": "min"}.get(name, name), text
    return call


def _with_axes(x: Tensor, axis: Any, keepdims: bool) -> tuple[Tensor, Any, bool]:
    # the standard's axis=None reduces all axes; a 0-d array has none to name
    if axis is None:
        return x, tuple(range(x.ndim)) or None, keepdims
    # axis=(): a new axis of size 1 is reduced, which leaves each element
    if not isinstance(axis, int) and not len(axis):
        return x.unsqueeze(0), 0, False
    return x, axis, keepdims


all = _reduction("all", "Whether all elements of axes (None: of all) are true.", of_bools=True)
any = _reduction("any", "Whether an element of axes (None: of all) is true.", of_bools=True)
max = _reduction("amax", "The largest element of axes (None: of all).")
min = _reduction("amin", "The smallest element of axes (None: of all).")
mean = _reduction("mean", "The mean of axes (None: of all).")


def _sum(name: str, text: str) -> Callable[..., Tensor]:
    def call(
        x: Tensor, /, *, axis: Any = None, dtype: DTypeLike | None = None, keepdims: bool = False
    ) -> Tensor:
        sum_dtype = _sum_dtype(x, dtype)
        x, axis, keepdims = _with_axes(x.to(sum_dtype), axis, keepdims)
        if name == "prod" and is_tuple(axis):
            return _product(x, axis, keepdims).to(sum_dtype)
        return getattr(x, name)(dim=axis, keepdim=keepdims).to(sum_dtype)

    call.__name__, call.__doc__ = name, text
    return call


def _product(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Multiply over several axes, one by one."""
    # from the last axis, so that removing one does not shift the others
    for a in sorted((a % x.ndim for a in axes), reverse=True):
        x = x.prod(dim=a, keepdim=keepdims)
    return x


def _sum_dtype(x: Tensor, dtype: Any) -> dt.DType:
    """Return the dtype of sums of x: the requested one, else 64-bit integers for integers."""
    if dtype is not None:
        return dt.as_dtype(dtype)
    return {"u": dt.uint64, "i": dt.int64, "b": dt.int64}.get(x.dtype.kind, x.dtype)


sum = _sum("sum", "The sum of axes (None: of all); of integers in 64 bits.")
prod = _sum("prod", "The product of axes (None: of all); of integers in 64 bits.")


def var(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Compute the variance over axes (None: all), divided by n - correction."""
    x, axis, keepdims = _with_axes(x, axis, keepdims)
    return x.var(dim=axis, correction=correction, keepdim=keepdims)


def std(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Compute the standard deviation over axes (None: all), divided by n - correction."""
    x, axis, keepdims = _with_axes(x, axis, keepdims)
    return x.std(dim=axis, correction=correction, keepdim=keepdims)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the largest element of an axis; None: of the flattened array."""
    return _place(x, "argmax", axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the smallest element of an axis; None: of the flattened array."""
    return _place(x, "argmin", axis, keepdims)


def _place(x: Tensor, name: str, axis: int | None, keepdims: bool) -> Tensor:
    if axis is not None:
        return getattr(x, name)(dim=axis, keepdim=keepdims)
    place = getattr(x.reshape(-1), name)(dim=0)
    return place.reshape((1,) * x.ndim) if keepdims else place  # as many axes as x, as the standard asks


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Count the nonzero elements over axes (None: all)."""
    return sum(x != 0, axis=axis, keepdims=keepdims)


def _accumulation(name: str, start: int, text: str) -> Callable[..., Tensor]:
    def call(
        x: Tensor,
        /,
        *,
        axis: int | None = None,
        dtype: DTypeLike | None = None,
        include_initial: bool = False,
    ) -> Tensor:
        if axis is None:
            x, axis = x.reshape(-1) if x.ndim != 1 else x, 0
        sum_dtype = _sum_dtype(x, dtype)
        y = getattr(x.to(sum_dtype), name)(axis).to(sum_dtype)  # in 64 bits, so that partial sums do not wrap
        if not include_initial:
            return y
        first = list(y.shape)  # the shape of one slice, which goes before the first
        first[axis] = 1
        return functions.cat([Tensor.full(tuple(first), start, dtype=y.dtype, device=y.device), y], axis)

    call.__name__, call.__doc__ = f"cumulative_{name[3:]}", text
    return call


cumulative_sum = _accumulation("cumsum", 0, "Cumulative sums along an axis; include_initial prepends 0.")
cumulative_prod = _accumulation(
    "cumprod", 1, ("Cumulative products along an axis; include_initial prepends 1.")
)


def diff(
    x: Tensor, /, n: int = 1, axis: int = -1, *, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Compute the n-th differences of neighbours along an axis."""
    return x.diff(n=n, dim=axis, prepend=prepend, append=append)
