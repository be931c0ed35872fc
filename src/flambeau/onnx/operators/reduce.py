"""Reductions, extremes, cumulative sums, and TopK."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...core.dtype import INTS
from ...functions import arange, cat, full
from ...tensor import Tensor
from ..values import first_number, move_to
from .table import operator


def _entries(name: str, reduce: Any, since: int) -> None:
    """Return a reduction: its axes are an attribute before an opset, and an input from then on."""

    def by_attribute(x: Tensor, *, axes: Any = None, keepdims: int = 1) -> Tensor:
        return reduce_over(reduce, x, axes, keepdims)

    def by_input(x: Tensor, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Tensor:
        # Without axes all dims are reduced, unless noop_with_empty_axes keeps only the elementwise part.
        if not axes and noop_with_empty_axes:
            return ELEMENTWISE[name](x) if name in ELEMENTWISE else x
        return reduce_over(reduce, x, axes, keepdims)

    operator(name)(by_attribute)
    operator(name, since=since, numbers="axes")(by_input)


def reduce_over(reduce: Any, x: Tensor, axes: Any, keepdims: int) -> Tensor:
    """Return a reduction over axes (all without), in the dtype of x."""
    dims = tuple(d + x.ndim if d < 0 else d for d in (axes or range(x.ndim)))
    # A scalar has no axes: reduce it as [1]. keepdims must not add a dim.
    if not x.ndim:
        x, dims = x.reshape(1), (0,)
        keepdims = 0
    if any(not 0 <= d < x.ndim for d in dims):
        raise ValueError(f"axes={list(axes)} of {x.ndim} dims")
    return reduce(x, dims, bool(keepdims)).to(x.dtype)


def _total(x: Tensor, dims: Any, keep: bool) -> Tensor:
    return x.sum(dims, keepdim=keep)


def _mean(x: Tensor, dims: Sequence[int], keep: bool) -> Tensor:
    if x.dtype.is_float:
        return x.mean(dims, keepdim=keep)
    count: int = prod(x.shape[d] for d in dims)
    return _total(x, dims, keep).div(max(1, count), rounding_mode="trunc")


def _product(x: Tensor, dims: Any, keep: bool) -> Tensor:
    # from the last dim on, so that removing one does not renumber the others
    for d in sorted(dims, reverse=True):
        x = x.prod(d, keepdim=keep)
    return x


def _extreme(method: str, empty: str) -> Any:
    def reduce(x: Tensor, dims: Any, keep: bool) -> Tensor:
        # opset 20: the minimum of bools is all, the maximum any
        if x.dtype.kind == "b":
            return x.all(dims, keepdim=keep) if method == "amin" else x.any(dims, keepdim=keep)
        if any(not x.shape[d] for d in dims):  # the result over no elements: the end of the dtype's range
            sizes = [1 if d in dims else n for d, n in enumerate(x.shape) if keep or d not in dims]
            return full(tuple(sizes), _end(x.dtype, empty), dtype=x.dtype, device=x.device)
        return getattr(x, method)(dims, keepdim=keep)

    return reduce


def _end(dtype: Any, which: str) -> float:
    if dtype.is_float:
        return float("-inf") if which == "min" else float("inf")
    return getattr(INTS[dtype], which)


def _log_sum_exp(x: Tensor, dims: Any, keep: bool) -> Tensor:
    wide = x if x.dtype.is_float else x.float()
    if any(not x.shape[d] for d in dims):
        return _total(wide, dims, keep).log()
    return wide.logsumexp(dims, keepdim=keep)


def _as_float(x: Tensor) -> Tensor:
    return x if x.dtype.is_float else x.float()


Reduction = Callable[[Tensor, Any, bool], Tensor]
# name: (reduction over dims, the opset from which axes are an input)
REDUCTIONS: dict[str, tuple[Reduction, int]] = {
    "ReduceSum": (_total, 13),
    "ReduceMean": (_mean, 18),
    "ReduceProd": (_product, 18),
    "ReduceMax": (_extreme("amax", "min"), 18),
    "ReduceMin": (_extreme("amin", "max"), 18),
    "ReduceL1": (lambda x, dims, keep: _total(x.abs(), dims, keep), 18),
    "ReduceL2": (lambda x, dims, keep: _total(_as_float(x) ** 2, dims, keep).sqrt(), 18),
    "ReduceLogSum": (lambda x, dims, keep: _as_float(_total(x, dims, keep)).log(), 18),
    "ReduceLogSumExp": (_log_sum_exp, 18),
    "ReduceSumSquare": (lambda x, dims, keep: _total(x * x, dims, keep), 18),
}
ELEMENTWISE: dict[str, Callable[[Tensor], Tensor]] = {  # a reduction over no axes, by element
    "ReduceL1": lambda x: x.abs(),
    "ReduceL2": lambda x: x.abs(),
    "ReduceLogSum": lambda x: x.log(),
    "ReduceSumSquare": lambda x: x * x,
}
for _name, (_reduce, _since) in REDUCTIONS.items():
    _entries(_name, _reduce, _since)


def _index_of(method: str) -> Any:
    def find(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
        if not select_last_index:
            return getattr(x, method)(axis, keepdim=bool(keepdims))
        # the last extreme is the first one of the reversed axis
        return x.shape[axis] - 1 - getattr(x.flip((axis,)), method)(axis, keepdim=bool(keepdims))

    return find


operator("ArgMax")(_index_of("argmax"))
operator("ArgMin")(_index_of("argmin"))


def _scan(method: str, first: int) -> Any:
    def scan(x: Tensor, axis: int, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
        n, x = x.shape[axis], x.flip((axis,)) if reverse else x
        # Shift by one: the sum before each element, with the neutral element first.
        if exclusive:
            start = full((*x.shape[:axis], 1, *x.shape[axis:][1:]), first, dtype=x.dtype, device=x.device)
            x = cat([start, x.narrow(axis, 0, n - 1)], axis) if n else x
        y = getattr(x, method)(axis).to(x.dtype)
        return y.flip((axis,)) if reverse else y

    def scan_axis(x: Tensor, axis: Any, **options: int) -> Tensor:
        return scan(x, first_number(axis) % max(1, x.ndim), **options)

    return scan_axis


def _enter_scan(name: str, method: str, first: int) -> None:
    scan = _scan(method, first)

    def run(x: Tensor, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
        return scan(x, axis, exclusive=exclusive, reverse=reverse)

    operator(name, numbers="axis")(run)


_enter_scan("CumSum", "cumsum", 0)
_enter_scan("CumProd", "cumprod", 1)


@operator("TopK")
def topk_of_attribute(x: Tensor, *, k: int, axis: int = -1) -> tuple[Any, ...]:
    return topk(x, [k], axis=axis)


@operator("TopK", since=10, numbers="k")
def topk(x: Tensor, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Any, ...]:
    # sorted=0 allows any order, so the sorted one too
    values, places = x.topk(first_number(k), axis, bool(largest), True)
    return values, places


@operator("Hardmax")
def hardmax_of_two_dims(x: Tensor, *, axis: int = 1) -> Tensor:
    axis += x.ndim if axis < 0 else 0
    flat = x.reshape(prod(x.shape[:axis]), -1)
    return hardmax(flat).reshape(x.shape)


@operator("Hardmax", since=13)
def hardmax(x: Tensor, *, axis: int = -1) -> Tensor:
    axis %= max(1, x.ndim)
    shape = [x.shape[axis] if d == axis else 1 for d in range(x.ndim)]
    places = move_to(arange(x.shape[axis], device=x.device), x.device).reshape(tuple(shape))
    return (places == x.argmax(axis, keepdim=True)).to(x.dtype)
