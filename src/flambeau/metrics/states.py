"""The states of metrics between updates: how two are merged, and compensated sums."""

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

from ..core.dtype import float32, int32, int64
from ..core.tree import is_list, leaves, tree_map
from ..device import DeviceLike
from ..functions import arange, where
from ..tensor import Tensor

State = Any  # a tensor, a list of tensors, a Python number


def counts(*shape: int, device: DeviceLike | None = None) -> Tensor:
    """Make zeros for counts: int64, exact beyond 2^31."""
    return Tensor.zeros(shape, dtype=int64, device=device)


def precise(*shape: int, device: DeviceLike | None = None) -> Tensor:
    """Make zeros for a compensated sum: the float32 sum, and its accumulated rounding errors. [2, ...]"""
    return Tensor.zeros((2, *shape), dtype=float32, device=device)


def rows(*values: Tensor) -> Tensor:
    """Stack tensors of equal shape by selecting with an index. Unlike a stack, which is written row by row,
    it fuses with its use. k of [...] -> [k, ...]"""
    # row i where index == i: an elementwise expression, which fuses with the addition to a state
    row_index = arange(len(values), dtype=int32, device=values[0].device)
    row_index = row_index.reshape(-1, *[1] * values[0].ndim)
    table = values[-1].unsqueeze(0)
    for i, row in enumerate(values[:-1]):
        table = where(row_index == i, row, table)
    return table


def plus(total: Tensor, x: Tensor) -> Tensor:
    """Add a float to a compensated sum. The rounding error goes to the second row (Knuth's two-sum)."""
    high, low = total[0], total[1]
    new = high + x
    back = new - high  # x as it was added, after rounding
    lost = (high - (new - back)) + (x - back)
    # After an overflow `lost` is NaN or infinite, but the sum must stay infinite.
    return rows(new, low + lost.nan_to_num(0.0, 0.0, 0.0))


def total_of(state: Tensor) -> Tensor:
    """Return the value of a compensated sum."""
    return state[0] + state[1]


def _add_precise(ours: Tensor, theirs: Tensor) -> Tensor:
    # add both rows: the other sum, and its rounding errors
    return plus(plus(ours, theirs[0]), theirs[1])


def mean_of(state: Tensor) -> Tensor:
    """Divide total by weight, both in one compensated sum. [2, 2, ...] -> [...]"""
    total, weight = total_of(state).unbind(0)
    return total / weight


def _sum(ours: Any, theirs: Any) -> Any:
    return ours + theirs


def _max(ours: Any, theirs: Any) -> Any:
    return ours.maximum(theirs) if isinstance(ours, Tensor) else max(ours, theirs)


def _min(ours: Any, theirs: Any) -> Any:
    return ours.minimum(theirs) if isinstance(ours, Tensor) else min(ours, theirs)


def _cat(ours: Any, theirs: Any) -> Any:
    return [*ours, *theirs]


def latest(ours: Any, theirs: Any) -> Any:
    """Merge states that keep the last value: take the other one."""
    return theirs


# merges two states, by the name of dist_reduce_fx; functions at module level, so that they can be pickled
MERGES: dict[str, Callable[[Any, Any], Any]] = {
    "sum": _sum,
    "precise": _add_precise,
    "max": _max,
    "min": _min,
    "cat": _cat,
}


def copy_state(state: State) -> State:
    """Copy a state, so that later updates do not change it."""
    if isinstance(state, Tensor):
        return state.detach().clone()
    return list(state) if is_list(state) else state


def pending_parts(state: State) -> list[Tensor]:
    """Return the tensors of a state that are not computed yet: in a list, those at the end."""
    if not is_list(state):
        return [state] if isinstance(state, Tensor) and state.node.buffer is None else []
    # earlier batches are computed already, so stop at the first one that is
    return list(takewhile(lambda t: t.node.buffer is None, reversed(state)))


def tensors_in(value: Any) -> list[Tensor]:
    """Return the tensors in nested dicts, lists and tuples, in order."""
    return [v for v in leaves(value) if isinstance(v, Tensor)]


def fill_containers(value: Any, tensors: Iterator[Any]) -> Any:
    """Copy nested containers, replacing their tensors by an iterator's values."""
    return tree_map(lambda leaf: next(tensors) if isinstance(leaf, Tensor) else leaf, value)
