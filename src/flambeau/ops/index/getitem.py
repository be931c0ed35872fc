"""Indexing with brackets: a key is split into a cut (slices, integers, None) and picks (index arrays).

An integer is not an index array: in x[0, :, [1, 2]] the dims keep their order. NumPy moves them.
"""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from operator import index as as_integer
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import dtype as dt
from ...core.host import to_bytes
from ...core.node import is_tensor
from ...core.op import on_device
from ...core.shape import Shape, broadcast
from ..elementwise import choose
from ..movement import unslice
from .indices import along, as_index, check_host_indices, slices
from .select import read_scalars

if TYPE_CHECKING:
    from ...tensor import Tensor


class Flag(NamedTuple):
    """A bool in brackets: a new dim of size 1 or 0."""

    value: bool


@dataclass
class IndexPlan:
    """The steps of a key: one slice op, a reshape to `final`, then picks along dims of the result."""

    starts: list[int] = field(default_factory=list[int])
    steps: list[int] = field(default_factory=list[int])
    sizes: list[int] = field(default_factory=list[int])
    final: list[int] = field(default_factory=list[int])
    # (dim of final, host array or tensor)
    picks: list[tuple[int, Any]] = field(default_factory=list[tuple[int, Any]])

    @property
    def shape(self) -> Shape:
        """The shape that all index arrays broadcast to."""
        try:
            return broadcast(*(tuple(k.shape) for _, k in self.picks))
        except ValueError as e:
            raise IndexError(f"index arrays do not broadcast: {e}") from None

    @property
    def place(self) -> int:
        """The position of the picked dims in the result: that of the first index array, or 0 if other dims
        lie between index arrays. 0-d arrays count as integers."""
        # As in NumPy, the dims of adjacent index arrays keep their position, else they come first.
        arrays = [d for d, k in self.picks if k.ndim] or [0]
        picked = {d for d, _ in self.picks}
        rest = [d for d in range(arrays[-1]) if d not in picked]
        before = sum(d < arrays[0] for d in rest)
        return before if before == len(rest) else 0

    @property
    def result(self) -> Shape:
        """The shape of the result."""
        if not self.picks:
            return tuple(self.final)
        dims = {d for d, _ in self.picks}
        rest = [n for d, n in enumerate(self.final) if d not in dims]
        return (*rest[: self.place], *self.shape, *rest[self.place :])


def entries_of(key: Any) -> tuple[Any, ...]:
    """The key as a tuple of entries."""
    return key if isinstance(key, tuple) else (key,)  # pyright: ignore[reportUnknownVariableType]: of anything


def parse(x: Tensor, key: Any) -> IndexPlan:
    """The IndexPlan of a key; IndexError if the key does not fit the shape of x."""
    entries = entries_of(key)
    items = _expand_ellipsis([_item(x, entry) for entry in entries], x.ndim)
    plan = IndexPlan()
    for item in items:
        used = len(plan.sizes)
        if item is None:
            plan.final.append(1)
        elif type(item) is slice:
            _add_slice(plan, item, x.shape[used])
        elif isinstance(item, int):
            _add_integer(plan, item, x.shape[used])
        else:
            _add_array(plan, x, item, used)
    return plan


def _item(x: Tensor, k: Any) -> Any:
    """A normalised entry of a key: None, ..., a slice, an int, a Flag, a host array or a tensor."""
    if k is None or k is Ellipsis or type(k) is slice:
        return k
    if isinstance(k, bool):
        return Flag(k)
    if is_tensor(k):
        if k.dtype is dt.uint8:
            raise IndexError(
                "uint8 indices are a mask in PyTorch and places in NumPy: cast with .bool() or with .int()"
            )
        k = on_device(k, x.device)  # PyTorch takes indices of the CPU for tensors of any device
        # a 0-d bool tensor is read
        return k if k.ndim or k.dtype is not dt.bool_ else Flag(read_scalars(k)[0])
    try:
        return as_integer(k)
    except TypeError:
        pass
    if isinstance(k, list | tuple | range) or hasattr(k, "__array__"):
        array = _array(x, k)
        if array.dtype.kind == "b":
            return array if array.ndim else Flag(bool(array))
        if array.dtype.kind in "iu" or 0 in array.shape:
            return array
    raise IndexError(
        f"{k!r:.40} is not an index: use integers, slices, None, ..., or lists, arrays or tensors of"
        " integers or bools"
    )


def _array(x: Tensor, k: Any) -> Any:
    """A list as a NumPy array; as a tensor if NumPy is missing, as in a web page."""
    try:
        import numpy as np
    except ImportError:
        _, shape, dtype = to_bytes(k, None)
        return x.new_tensor(k, dtype=dt.int32 if 0 in shape else dtype)
    return np.asarray(k)


def _width(item: Any) -> int:
    """The number of the tensor's dims that an entry indexes."""
    if item is None or isinstance(item, Flag):
        return 0
    return item.ndim if _is_mask(item) else 1


def _is_mask(item: Any) -> bool:
    return getattr(getattr(item, "dtype", None), "kind", "") == "b"


def _expand_ellipsis(items: list[Any], rank: int) -> list[Any]:
    """A key whose `...` is replaced by full slices; without `...` they are appended."""
    dots = [i for i, k in enumerate(items) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("... is passed twice: use it once")
    used = sum(_width(k) for k in items if k is not Ellipsis)
    if used > rank:
        raise IndexError(f"{used} indices for rank {rank}: remove some")
    position = dots[0] if dots else len(items)  # without `...` the key's end
    return items[:position] + [slice(None)] * (rank - used) + items[position + 1 :]


def _add(plan: IndexPlan, start: int, step: int, size: int) -> None:
    plan.starts.append(start if size else 0)  # an empty slice may begin past the end
    plan.steps.append(step if size else 1)
    plan.sizes.append(size)


def _add_slice(plan: IndexPlan, item: Any, n: int) -> None:
    start, stop, step = item.indices(n)
    size = len(range(start, stop, step))
    _add(plan, start, step, size)
    plan.final.append(size)


def _add_integer(plan: IndexPlan, item: int, n: int) -> None:
    if not -n <= item < n:
        raise IndexError(f"index {item} is out of range for dim {len(plan.sizes)} of size {n}")
    _add(plan, item % n, 1, 1)  # a slice of 1; `final` lacks the dim


def _add_array(plan: IndexPlan, x: Tensor, item: Any, used: int) -> None:
    """Add index arrays (several for a mask), each for one dim."""
    if isinstance(item, Flag):
        # A pick from the new dim of size 1: the index [0] keeps it, no index empties it.
        plan.picks.append((len(plan.final), x.new_zeros(int(item.value), dtype=dt.int32)))
        plan.final.append(1)
        return
    arrays = [item]
    if _is_mask(item):
        sizes = x.shape[used : used + item.ndim]
        if tuple(item.shape) != sizes:
            raise IndexError(f"mask has shape {list(item.shape)}, the dims that it indexes {list(sizes)}")
        # a mask of d dims is d index arrays, the coordinates of its true elements
        arrays = item.nonzero(as_tuple=True) if is_tensor(item) else item.nonzero()
    for d, k in enumerate(arrays, used):
        n = x.shape[d]
        k = as_index(x, k, d, "__getitem__", wraps=True) if is_tensor(k) else check_host_indices(k, n, d)
        _add(plan, 0, 1, n)
        plan.picks.append((len(plan.final), k))
        plan.final.append(n)


def cut(x: Tensor, plan: IndexPlan) -> Tensor:
    """Apply the slices, integers and None of a key."""
    is_full = tuple(plan.sizes) == x.shape and all(s == 1 for s in plan.steps)
    y = x if is_full else x._slice(tuple(plan.starts), tuple(plan.steps), tuple(plan.sizes))
    return y.reshape(*plan.final) if tuple(plan.final) != y.shape else y


def uncut(x: Tensor, y: Tensor, plan: IndexPlan) -> Tensor:
    """x with y written to the elements that `cut` reads. -> the shape of x"""
    # The reverse of cut: reshape, unslice, and keep x elsewhere.
    sizes, steps = tuple(plan.sizes), tuple(plan.steps)
    y = y.reshape(*sizes)
    if sizes == x.shape and all(s == 1 for s in steps):
        return y
    if 0 in sizes:
        return x
    spread = unslice(y, x.shape, tuple(plan.starts), steps, sizes)
    return choose(_slice_mask(x, plan), spread, x)


def _slice_mask(x: Tensor, plan: IndexPlan) -> Tensor:
    """Whether the slices read an element, as a tensor that broadcasts to x."""
    hit = type(x).full((1,) * x.ndim, True, device=x.device)
    for d, (start, step, size) in enumerate(zip(plan.starts, plan.steps, plan.sizes, strict=True)):
        n, last = x.shape[d], start + step * (size - 1)
        low, high = min(start, last), max(start, last)
        if size == n:
            continue
        positions = along(x, n, d, x.ndim)
        hit = hit & (positions >= low) & (positions <= high)
        if abs(step) > 1 and size > 1:
            hit = hit & ((positions - low) % abs(step) == 0)
    return hit


def one_index(y: Tensor, plan: IndexPlan) -> tuple[list[int], Tensor]:
    """The picked dims, and one index into these dims flattened together. -> [*m]"""
    dims = [d for d, _ in plan.picks]
    shape = plan.shape
    # Host arrays become one flat index on the host: one upload.
    if not any(is_tensor(k) for _, k in plan.picks):
        import numpy as np

        place = np.zeros(shape, "i8")
        for d, k in plan.picks:  # row-major over the picked dims
            place = place * y.shape[d] + k
        if prod(shape) and prod(y.shape[d] for d in dims) == 0:
            raise IndexError(f"the dims {dims} have no elements to index")
        return dims, y.new_tensor(place, dtype=dt.int32)
    total: Any = None
    for d, k in plan.picks:
        k = k if is_tensor(k) else y.new_tensor(k, dtype=dt.int32)
        total = k if total is None else total * y.shape[d] + k
    return dims, total.expand(*shape)


def pick(y: Tensor, plan: IndexPlan) -> Tensor:
    """Index by arrays: the shape of the arrays replaces the picked dims."""
    dims, index = one_index(y, plan)
    first, k = dims[0], len(dims)
    # Adjacent dims are joined in place, others moved to the front first.
    if dims == list(range(first, first + k)):
        y = y.flatten(first, first + k - 1) if k > 1 else y
    else:
        rest = [d for d in range(y.ndim) if d not in dims]
        y = y.permute(*dims, *rest).flatten(0, k - 1)
        first = 0
    y = slices(y, index.reshape(-1), dim=first)
    y = y.reshape(*y.shape[:first], *index.shape, *y.shape[first + 1 :])
    return move_dims(y, first, index.ndim, plan.place)


def move_dims(y: Tensor, first: int, count: int, to: int) -> Tensor:
    """`count` dims from `at` moved to position `to`; the others keep their order."""
    block = list(range(first, first + count))
    rest = [d for d in range(y.ndim) if d not in block]
    return y if first == to else y.permute(*rest[:to], *block, *rest[to:])
