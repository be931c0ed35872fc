"""Python's brackets: a key becomes a cut (slices, integers, None) and picks (index arrays), as in PyTorch: an
integer is no index array, so that in x[0, :, [1, 2]] no dims change their order, as they do in NumPy."""

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
from ...core.shape import Shape, broadcast
from ..elementwise import choose
from ..movement import unslice
from .indices import along, as_index, checked, slices
from .select import known

if TYPE_CHECKING:
    from ...tensor import Tensor


class Flag(NamedTuple):
    """A bool in brackets: a new dim of size 1 or 0."""

    value: bool


@dataclass
class IndexPlan:
    """What a key does: one slice op, a reshape to `final`, then picks along dims of that."""

    starts: list[int] = field(default_factory=list[int])
    steps: list[int] = field(default_factory=list[int])
    sizes: list[int] = field(default_factory=list[int])
    final: list[int] = field(default_factory=list[int])
    picks: list[tuple[int, Any]] = field(
        default_factory=list[tuple[int, Any]]
    )  # (dim of final, host array or tensor)

    @property
    def shape(self) -> Shape:
        """The shape that all index arrays broadcast to."""
        try:
            return broadcast(*(tuple(k.shape) for _, k in self.picks))
        except ValueError as e:
            raise IndexError(f"index arrays do not fit together: {e}") from None

    @property
    def place(self) -> int:
        """Where the picked dims go: where the first stood, in front if others stand between them. Arrays of
        no dims are integers."""
        arrays = [d for d, k in self.picks if k.ndim] or [0]
        picked = {d for d, _ in self.picks}
        rest = [d for d in range(arrays[-1]) if d not in picked]
        before = sum(d < arrays[0] for d in rest)
        return before if before == len(rest) else 0

    @property
    def result(self) -> Shape:
        """The shape of what the key takes."""
        if not self.picks:
            return tuple(self.final)
        dims = {d for d, _ in self.picks}
        rest = [n for d, n in enumerate(self.final) if d not in dims]
        return (*rest[: self.place], *self.shape, *rest[self.place :])


def parse(x: Tensor, key: Any) -> IndexPlan:
    """Turn what stands in brackets into a IndexPlan; IndexError for what does not fit."""
    items = _fill([_item(x, k) for k in (key if isinstance(key, tuple) else (key,))], x.ndim)
    plan = IndexPlan()
    for item in items:
        used = len(plan.sizes)
        if item is None:
            plan.final.append(1)
        elif isinstance(item, slice):
            _add_slice(plan, item, x.shape[used])
        elif isinstance(item, int):
            _add_integer(plan, item, x.shape[used])
        else:
            _add_array(plan, x, item, used)
    return plan


def _item(x: Tensor, k: Any) -> Any:
    """One entry of a key: None, ..., a slice, an int, a Flag, a host array or a tensor."""
    if k is None or k is Ellipsis or isinstance(k, slice):
        return k
    if isinstance(k, bool):
        return Flag(k)
    if is_tensor(k):
        return k if k.ndim or k.dtype is not dt.bool_ else Flag(known(k)[0])
    try:
        return as_integer(k)
    except TypeError:
        pass
    if isinstance(k, list | tuple | range) or hasattr(k, "__array__"):
        found = _array(x, k)
        if found.dtype.kind == "b":
            return found if found.ndim else Flag(bool(found))
        if found.dtype.kind in "iu" or 0 in found.shape:
            return found
    raise IndexError(
        f"{k!r:.40} is no index: use integers, slices, None, ..., or lists, arrays or tensors of"
        " integers or bools"
    )


def _array(x: Tensor, k: Any) -> Any:
    """Lists as an array of the host's, or where there is no NumPy, as in a page, as a tensor."""
    try:
        import numpy as np
    except ImportError:
        _, shape, dtype = to_bytes(k, None)
        return x.new_tensor(k, dtype=dt.int32 if 0 in shape else dtype)
    return np.asarray(k)


def _width(item: Any) -> int:
    """How many dims of the tensor an entry uses."""
    if item is None or isinstance(item, Flag):
        return 0
    return item.ndim if _is_mask(item) else 1


def _is_mask(item: Any) -> bool:
    return getattr(getattr(item, "dtype", None), "kind", "") == "b"


def _fill(items: list[Any], rank: int) -> list[Any]:
    """A key with the slices that `...` stands for, which go to the end if there is none."""
    dots = [i for i, k in enumerate(items) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("... stands twice: use it once")
    used = sum(_width(k) for k in items if k is not Ellipsis)
    if used > rank:
        raise IndexError(f"{used} indices for rank {rank}: take some out")
    at = dots[0] if dots else len(items)
    return items[:at] + [slice(None)] * (rank - used) + items[at + 1 :]


def _add(plan: IndexPlan, start: int, step: int, size: int) -> None:
    plan.starts.append(start if size else 0)
    plan.steps.append(step if size else 1)
    plan.sizes.append(size)


def _add_slice(plan: IndexPlan, item: slice, n: int) -> None:
    start, stop, step = item.indices(n)
    size = len(range(start, stop, step))
    _add(plan, start, step, size)
    plan.final.append(size)


def _add_integer(plan: IndexPlan, item: int, n: int) -> None:
    if not -n <= item < n:
        raise IndexError(f"index {item} is out of range for dim {len(plan.sizes)} of size {n}")
    _add(plan, item % n, 1, 1)


def _add_array(plan: IndexPlan, x: Tensor, item: Any, used: int) -> None:
    """Index arrays (several for a mask), each picking along a dim of its own."""
    if isinstance(item, Flag):
        plan.picks.append((len(plan.final), x.new_zeros(int(item.value), dtype=dt.int32)))
        plan.final.append(1)
        return
    arrays = [item]
    if _is_mask(item):
        wanted = x.shape[used : used + item.ndim]
        if tuple(item.shape) != wanted:
            raise IndexError(f"mask has shape {list(item.shape)}, the dims it stands for {list(wanted)}")
        arrays = item.nonzero(as_tuple=True) if is_tensor(item) else item.nonzero()
    for d, k in enumerate(arrays, used):
        n = x.shape[d]
        k = as_index(x, k, d, "__getitem__", wraps=True) if is_tensor(k) else checked(k, n, d)
        _add(plan, 0, 1, n)
        plan.picks.append((len(plan.final), k))
        plan.final.append(n)


def cut(x: Tensor, plan: IndexPlan) -> Tensor:
    """The slices, integers and None of a key."""
    whole = tuple(plan.sizes) == x.shape and all(s == 1 for s in plan.steps)
    y = x if whole else x._slice(tuple(plan.starts), tuple(plan.steps), tuple(plan.sizes))
    return y.reshape(*plan.final) if tuple(plan.final) != y.shape else y


def uncut(x: Tensor, y: Tensor, plan: IndexPlan) -> Tensor:
    """x with y put where `cut` takes it from. -> the shape of x"""
    sizes, steps = tuple(plan.sizes), tuple(plan.steps)
    y = y.reshape(*sizes)
    if sizes == x.shape and all(s == 1 for s in steps):
        return y
    if 0 in sizes:
        return x
    spread = unslice(y, x.shape, tuple(plan.starts), steps, sizes)
    return choose(_covered(x, plan), spread, x)


def _covered(x: Tensor, plan: IndexPlan) -> Tensor:
    """Whether an element is one that the slices take, as a tensor that broadcasts to x."""
    hit = type(x).full((1,) * x.ndim, True, device=x.device)
    for d, (start, step, size) in enumerate(zip(plan.starts, plan.steps, plan.sizes, strict=True)):
        n, last = x.shape[d], start + step * (size - 1)
        low, high = min(start, last), max(start, last)
        if size == n:
            continue
        at = along(x, n, d, x.ndim)
        hit = hit & (at >= low) & (at <= high)
        if abs(step) > 1 and size > 1:
            hit = hit & ((at - low) % abs(step) == 0)
    return hit


def one_index(y: Tensor, plan: IndexPlan) -> tuple[list[int], Tensor]:
    """The picks as one index of all the dims they are along, taken as one: (those dims, places). -> [*m]"""
    dims = [d for d, _ in plan.picks]
    shape = plan.shape
    if not any(is_tensor(k) for _, k in plan.picks):
        import numpy as np

        place = np.zeros(shape, "i8")
        for d, k in plan.picks:
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
    """Index by arrays: their dims, taken together, give way to the arrays' shape."""
    dims, index = one_index(y, plan)
    at, k = dims[0], len(dims)
    if dims == list(range(at, at + k)):
        y = y.flatten(at, at + k - 1) if k > 1 else y
    else:
        rest = [d for d in range(y.ndim) if d not in dims]
        y = y.permute(*dims, *rest).flatten(0, k - 1)
        at = 0
    y = slices(y, index.reshape(-1), dim=at)
    y = y.reshape(*y.shape[:at], *index.shape, *y.shape[at + 1 :])
    return moved(y, at, index.ndim, plan.place)


def moved(y: Tensor, at: int, count: int, to: int) -> Tensor:
    """`count` dims from `at` on moved to `to`, the others in order."""
    block = list(range(at, at + count))
    rest = [d for d in range(y.ndim) if d not in block]
    return y if at == to else y.permute(*rest[:to], *block, *rest[to:])
