"""The states of metrics between updates: how two are joined, and sums without loss of precision."""

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

from ..core.dtype import float32, int32, int64
from ..core.tree import is_list, leaves, tree_map
from ..functions import arange, where
from ..tensor import Tensor

State = Any  # a tensor, a list of tensors, a Python number


def counts(*shape: int, device: Any = None) -> Tensor:
    """Zeros to count in: int64, exact beyond 2^31."""
    return Tensor.zeros(shape, dtype=int64, device=device)


def precise(*shape: int, device: Any = None) -> Tensor:
    """Zeros to sum floats in: a float32 sum, and what its roundings lost. [2, ...]"""
    return Tensor.zeros((2, *shape), dtype=float32, device=device)


def rows(*values: Tensor) -> Tensor:
    """Tensors of equal shape as one, by choosing: it is computed where it is used, where a stack would be
    written row by row. k of [...] -> [k, ...]"""
    which = arange(len(values), dtype=int32, device=values[0].device)
    which = which.reshape(-1, *[1] * values[0].ndim)
    table = values[-1].unsqueeze(0)
    for i, row in enumerate(values[:-1]):
        table = where(which == i, row, table)
    return table


def plus(total: Tensor, x: Tensor) -> Tensor:
    """A precise sum with one more float: what rounding loses goes to the second row (Knuth's two-sum)."""
    high, low = total[0], total[1]
    new = high + x
    back = new - high
    lost = (high - (new - back)) + (x - back)
    return rows(new, low + lost.nan_to_num(0.0, 0.0, 0.0))


def total_of(state: Tensor) -> Tensor:
    """The value of a precise sum."""
    return state[0] + state[1]


def _both(ours: Tensor, theirs: Tensor) -> Tensor:
    return plus(plus(ours, theirs[0]), theirs[1])


def mean_of(state: Tensor) -> Tensor:
    """Total by weight, of a precise sum of both. [2, 2, ...] -> [...]"""
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
    """What a state becomes that keeps the last value."""
    return theirs


# what becomes of a state and another metric's, by name of dist_reduce_fx; functions that can be pickled
JOINED: dict[str, Callable[[Any, Any], Any]] = {
    "sum": _sum,
    "precise": _both,
    "max": _max,
    "min": _min,
    "cat": _cat,
}


def copy_state(state: State) -> State:
    """A state that stays as it is now."""
    if isinstance(state, Tensor):
        return state.detach().clone()
    return list(state) if is_list(state) else state


def pending_parts(state: State) -> list[Tensor]:
    """What of a state has not been computed yet: of a list the last ones."""
    if not is_list(state):
        return [state] if isinstance(state, Tensor) and state.node.buffer is None else []
    return list(takewhile(lambda t: t.node.buffer is None, reversed(state)))


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors of a nest of dicts, lists and tuples, in order."""
    return [v for v in leaves(value) if isinstance(v, Tensor)]


def fill_containers(value: Any, tensors: Iterator[Any]) -> Any:
    """A copy of nested containers with an iterator's values in place of their tensors."""
    return tree_map(lambda leaf: next(tensors) if isinstance(leaf, Tensor) else leaf, value)
