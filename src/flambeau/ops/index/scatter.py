"""Writing by index: scatters, index_add and similar ops, and assignment to brackets."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core.declare import composed, composite
from ...core.node import is_tensor
from ...core.op import Family, on_device
from ...core.shape import normal_dim
from ..elementwise import choose, depend_on
from .getitem import cut, entries_of, move_dims, one_index, parse, uncut
from .indices import along, as_index, nd_places
from .scatter_rows import join_rows

if TYPE_CHECKING:
    from ...core.shape import Shape
    from ...tensor import Tensor, TensorLike
    from .getitem import IndexPlan

FEW = 8  # sources: this many comparisons for each element of the result are faster than a sort
JOINS = {None: "assign", "add": "sum", "multiply": "prod"}
NAMES = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin", "multiply": "prod"}


@composed
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: TensorLike | None = None,
    *,
    value: float | None = None,
    reduce: str | None = None,
) -> Tensor:
    """src (a tensor or a number), or the number `value`, written at `index` along a dim. The last of equal
    indices wins. reduce="add" or "multiply" combines it with the old element; ValueError for others.

    [..., n, ...], [..., m, ...], [..., m, ...] -> [..., n, ...]
    """
    if (src is None) == (value is None):
        raise TypeError("src and value exclude each other: pass exactly one of them")
    if reduce not in JOINS:
        raise ValueError(f"reduce={reduce!r} is unknown: use 'add' or 'multiply', or scatter_reduce")
    return scatter_along(input, dim, index, value if src is None else src, JOINS[reduce], "scatter")


@composed
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Add src to the elements at `index` along a dim, in a fixed order. -> the shape of input

    Raises ValueError if index is larger than the tensor outside the dim.
    """
    return scatter_along(input, dim, index, src, "sum", "scatter_add")


@composed
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    """Reduce src into the elements at `index` along a dim: reduce is sum, prod, mean, amax or amin.

    Without include_self, the old values of indexed elements are left out. -> the shape of input

    Raises ValueError if reduce is unknown.
    """
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise ValueError(f"reduce={reduce!r} is unknown: use 'sum', 'prod', 'mean', 'amax' or 'amin'")
    return scatter_along(input, dim, index, src, reduce, "scatter_reduce", include_self)


@composed
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: float = 1) -> Tensor:
    """Add alpha * source[i] to the slice at index[i]. [.., n, ..], [m], [.., m, ..] -> [.., n, ..]

    Raises ValueError if source does not have one slice for each index; TypeError if dtypes differ.
    """
    source = source if alpha == 1 else source * alpha
    return _by_slices(input, dim, index, source, "sum", "index_add")


@composed
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """source[i] written as the slice at index[i]; the last of equal indices wins. -> the shape of input

    Raises ValueError if source does not have one slice for each index; TypeError if dtypes differ.
    """
    return _by_slices(input, dim, index, source, "assign", "index_copy")


@composed
def index_fill(input: Tensor, dim: int, index: Tensor, value: TensorLike) -> Tensor:
    """The number `value` written to every slice at index. [..., n, ...], [m] -> [..., n, ...]

    Raises IndexError if there is no such dim; if an index is out of range; TypeError if it is not of
        integers.
    """
    d = normal_dim(dim, input.ndim)
    index = as_index(input, index, d, "index_fill", wraps=True)
    n = input.shape[d] if input.ndim else 1
    if not index.numel():  # PyTorch takes an empty index of any dtype
        return input
    # The last source of each element, -1 without one: here only whether it has one.
    hit = index.reshape(-1)._last(n) >= 0
    hit = hit.reshape(*(n if e == d else 1 for e in range(input.ndim)))
    return choose(hit, value, input).to(input.dtype)


@composed
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    """Reduce source[i] into the slice at index[i]: reduce is sum, prod, mean, amax or amin.

    include_self: the old values take part
    Raises ValueError if source does not have one slice for each index; TypeError if dtypes differ.
    """
    return _by_slices(input, dim, index, source, reduce, "index_reduce", include_self)


@composed
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """source written at (or added to) indices of the flattened tensor. [...], [m], [m] -> [...]

    index: which elements, integers
    accumulate: add to the old values
    Raises IndexError if an index is out of range; TypeError if it is not of integers.
    """
    n = input.numel()
    index = as_index(input.reshape(-1), index, 0, "put", wraps=True)
    # a single source for all indices
    source = source if source.numel() == index.numel() else source.expand(*index.shape)
    rows = source.reshape(-1, 1)
    join = "sum" if accumulate else "assign"
    return join_rows(input.reshape(n, 1), index.reshape(-1), rows, join).reshape(*input.shape)


@composed
def slice_assign(input: Tensor, key: Any, value: TensorLike) -> Tensor:
    """A copy with value written to input[key], as `t[key] = value` does in place. -> the shape of input"""
    return put_at(input, key, value)


@composed
def index_put(
    input: Tensor, indices: Sequence[Tensor | None], values: TensorLike, accumulate: bool = False
) -> Tensor:
    """values written at (or added to) input[indices]; the last of equal indices wins. -> the shape of input

    accumulate: add to the old values
    """
    key = tuple(slice(None) if k is None else k for k in indices)
    return put_at(input, key, values, "sum" if accumulate else "assign")


@composed
def slice_scatter(
    input: Tensor,
    src: TensorLike,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """A copy with src written to the slice start:end:step of a dim. -> the shape of input

    Raises IndexError if there is no such dim.
    """
    d = normal_dim(dim, input.ndim)
    return put_at(input, (*[slice(None)] * d, slice(start, end, step)), src)


@composed
def select_scatter(input: Tensor, src: TensorLike, dim: int, index: int) -> Tensor:
    """A copy with src written to the slice at one index of a dim. [.., n, ..], [.., ..] -> [.., n, ..]

    Raises IndexError if there is no such dim.
    """
    return put_at(input, (*[slice(None)] * normal_dim(dim, input.ndim), index), src)


@composed
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy with src written to the diagonal of two dims. [n, m, ...], [..., k] -> [n, m, ...]

    offset: which diagonal: above the main one where > 0, below where < 0
    dim1: the first of the two dims
    dim2: the second of the two dims
    Raises ValueError if src does not have the shape of the diagonal.
    """
    x = input.movedim((dim1, dim2), (-2, -1))
    (n, m), k = x.shape[-2:], src.shape[-1]
    shape = input.diagonal(offset, dim1, dim2).shape
    if src.shape != shape:
        raise ValueError(f"src has shape {list(src.shape)}: the diagonal has {list(shape)}")
    arange, above = type(input).arange, max(-offset, 0)
    on = (
        arange(m, dtype=dt.int32, device=input.device)
        # Each row holds one diagonal element, so src is a column that broadcasts along the row.
        - arange(n, dtype=dt.int32, device=input.device).unsqueeze(1)
        == offset
    )
    column = src.pad((above, n - k - above)).unsqueeze(-1)
    return choose(on, column, x).movedim((-2, -1), (dim1, dim2))


@composed
def scatter_nd(input: Tensor, indices: Tensor, updates: Tensor, reduce: str = "none") -> Tensor:
    """updates[i] written at input[indices[i]], or reduced into it: reduce is none, add, mul, max or min.

    [*n, *rest], [..., k] with k = len(n), [..., *rest] -> [*n, *rest]

    Raises ValueError if reduce is unknown.
    """
    if reduce != "none" and reduce not in NAMES:
        raise ValueError(f"reduce={reduce!r} is unknown: use 'none', 'add', 'mul', 'max' or 'min'")
    places, k = nd_places(input, indices, "scatter_nd")
    rest = input.shape[k:]
    rows = updates.expand(*places.shape, *rest).reshape(-1, prod(rest))
    x = input.reshape(prod(input.shape[:k]), prod(rest))
    join = "assign" if reduce == "none" else NAMES[reduce]
    return join_rows(x, places.reshape(-1), rows, join).reshape(*input.shape)


class Scatter(Family):
    def _scatter_at(self: Any, dim: int, places: Tensor, src: Tensor) -> Tensor:
        """scatter_add at places that are known to be in range: the gradient of a gather."""
        return scatter_along(self, dim, places, src, "sum", "")

    def _add_at(self: Any, dim: int, places: Tensor, src: Tensor) -> Tensor:
        """index_add at places that are known to be in range: the gradient of slices."""
        return _by_slices(self, dim, places, src, "sum", "")

    @composed
    def __setitem__(self: Any, key: Any, value: TensorLike) -> None:
        """Give the tensor the value of slice_assign(key, value), computed with the next run."""
        self.replace_(put_at(self, key, value))


def _source(x: Tensor, src: Any, shape: Shape) -> Tensor:
    """src as a tensor of `shape` in x's dtype: a number is expanded, a larger tensor cut."""
    if not is_tensor(src):
        src = type(x).full(shape, src, x.dtype, x.device)
    if src.ndim != len(shape) or any(a < b for a, b in zip(src.shape, shape, strict=True)):
        raise ValueError(f"src has shape {list(src.shape)}: it must cover index's {list(shape)}")
    if src.dtype is not x.dtype:
        raise TypeError(f"src is {src.dtype.short}, the tensor {x.dtype.short}: cast one of them")
    zeros, ones = (0,) * len(shape), (1,) * len(shape)
    return src if src.shape == shape else src._slice(zeros, ones, shape)


def scatter_along(
    x: Tensor, dim: int, index: Any, src: Any, reduce: str, name: str, include_self: bool = True
) -> Tensor:
    d = normal_dim(dim, x.ndim)
    if x.ndim == 0:
        x, index = x.reshape(1), index.reshape(-1)
        src = src.reshape(-1) if is_tensor(src) else src
        return scatter_along(x, 0, index, src, reduce, name, include_self).reshape()
    place = as_index(x, index, d, name)
    if place.ndim == 0 and x.ndim == 1:  # a 0-d index into a vector
        place, src = place.reshape(1), src.reshape(1) if getattr(src, "shape", None) == () else src
    if place.ndim != x.ndim and 0 in place.shape:  # as in PyTorch, an empty index may have any shape
        return depend_on(x, src)
    if place.ndim != x.ndim or any(
        m > n and e != d for e, (m, n) in enumerate(zip(place.shape, x.shape, strict=True))
    ):
        raise ValueError(
            f"index has shape {list(place.shape)}: it must fit in {list(x.shape)} but for dim {d}"
        )
    if 0 in place.shape:
        return depend_on(x, _source(x, src, place.shape))
    src = _source(x, src, place.shape)
    # A bool "sum" is any, which the comparisons don't compute.
    if place.shape[d] <= FEW and reduce == "sum" and include_self and x.dtype is not dt.bool_:
        return _scatter_few(x, place, src, dim=d)
    flat: Any = None
    # Row-major: the flat index of each source's element in x.
    step = 1
    for e in reversed(range(x.ndim)):
        coordinate = place if e == d else along(x, place.shape[e], e, x.ndim)
        flat, step = coordinate if flat is None else coordinate * step + flat, step * x.shape[e]
    rows = join_rows(x.reshape(-1, 1), flat.reshape(-1), src.reshape(-1, 1), reduce, include_self)
    return rows.reshape(*x.shape)


@composite(grad=lambda g, y, x, place, src, dim: [g, None, g._gather(place, dim)])
def _scatter_few(x: Tensor, place: Tensor, src: Tensor, *, dim: int) -> Tensor:
    """scatter_add of few sources along a dim: every element compares its place with all indices."""
    n, m = x.shape[dim], place.shape[dim]
    if m == 1:
        added = choose(place == along(x, n, dim, x.ndim), src, 0)
    else:
        places = along(x, n, dim, x.ndim + 1)
        added = choose(place.unsqueeze(dim) == places, src.unsqueeze(dim), 0).sum(dim + 1, dtype=x.dtype)
    # index may be smaller than x outside of dim; beyond it nothing is added.
    grown = tuple(a - b for a, b in zip(x.shape, added.shape, strict=True))
    return x + (added._pad((0,) * x.ndim, grown) if any(grown) else added)


def _by_slices(
    x: Tensor, dim: int, index: Any, source: Tensor, reduce: str, name: str, include_self: bool = True
) -> Tensor:
    d = normal_dim(dim, x.ndim)
    index = as_index(x, index, d, name)
    if x.ndim == 0:
        return _by_slices(x.reshape(1), 0, index, source.reshape(-1), reduce, name, include_self).reshape()
    shape = (*x.shape[:d], index.numel(), *x.shape[d + 1 :])
    if index.ndim > 1 or source.shape != shape:
        raise ValueError(
            f"index {list(index.shape)} and source {list(source.shape)}: source must be {list(shape)}"
        )
    if source.dtype is not x.dtype:
        raise TypeError(f"source is {source.dtype.short}, the tensor {x.dtype.short}: cast one of them")
    front = x.movedim(d, 0)  # [n, *rest], so that a slice is a row
    rows, rest = front.shape[0], front.shape[1:]
    src = source.movedim(d, 0).reshape(-1, prod(rest))
    y = join_rows(front.reshape(rows, prod(rest)), index.reshape(-1), src, reduce, include_self)
    return y.reshape(*front.shape).movedim(0, d)


def put_at(x: Tensor, key: Any, value: Any, join: str = "assign") -> Tensor:
    """x with `value` written (or added) to x[key]. -> the shape of x"""
    value = value if is_tensor(value) else x.new_tensor(value, dtype=x.dtype)
    value = on_device(value.to(x.dtype), x.device)
    masked = _by_mask(x, key, value) if join == "assign" else None
    if masked is not None:
        return masked
    plan = parse(x, key)
    result = plan.result
    # PyTorch drops leading dims of size 1 that the selection lacks.
    while value.ndim > len(result) and value.shape[0] == 1:
        value = value.reshape(*value.shape[1:])
    value = value.expand(*result)
    if 0 in result:
        return depend_on(x, value)
    y = cut(x, plan)
    # Slices are overwritten in their cut; arrays of indices write rows of it.
    if plan.picks:
        y = _put_at_arrays(y, plan, value, join)
    else:
        y = value if join == "assign" else y + value
    return uncut(x, y, plan)


def _by_mask(x: Tensor, key: Any, value: Tensor) -> Tensor | None:
    """For a mask on a device and a value that broadcasts over its dims: where, which needs no read. Else
    None."""
    keys = entries_of(key)
    mask: Any = keys[0] if len(keys) == 1 else None
    if not is_tensor(mask) or mask.dtype is not dt.bool_ or mask.shape != x.shape[: mask.ndim]:
        return None
    mask, rest = on_device(mask, x.device), x.shape[mask.ndim :]
    # compares from the last dim
    fits = all(a in (1, b) for a, b in zip(value.shape[::-1], rest[::-1], strict=False))
    if value.ndim > len(rest) or not fits:
        return None
    return choose(mask.reshape(*mask.shape, *(1 for _ in rest)), value, x)


def _put_at_arrays(y: Tensor, plan: IndexPlan, value: Tensor, join: str) -> Tensor:
    """Write rows of value to the rows of y at the index arrays, whose dims are moved to the front."""
    dims, index = one_index(y, plan)
    rest = [d for d in range(y.ndim) if d not in dims]
    order = [*dims, *rest]
    front = y.permute(*order)
    width = prod(y.shape[d] for d in rest)
    src = move_dims(value, plan.place, index.ndim, 0).reshape(-1, width)
    rows = join_rows(front.reshape(-1, width), index.reshape(-1), src, join)
    return rows.reshape(*front.shape).permute(*(order.index(d) for d in range(y.ndim)))
