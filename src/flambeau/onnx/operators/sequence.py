"""Sequences (lists of values) and optionals (a value or None)."""

from typing import Any

from ...core.tree import is_list
from ...functions import cat, stack
from ...tensor import Tensor
from ..graph import ValueDef
from ..values import first_number, host
from .table import operator


@operator("SequenceEmpty")
def sequence_empty(*, dtype: int = 1) -> list[Any]:
    return []


@operator("SequenceConstruct", arrays=True, moves=False)
def sequence_construct(*values: Any) -> list[Any]:
    return list(values)


@operator("SequenceLength", arrays=True, moves=False)
def sequence_length(values: list[Any]) -> Tensor:
    return host(len(values))


@operator("SequenceAt", arrays=True, moves=False, numbers="position")
def sequence_at(values: list[Any], position: Any) -> Any:
    return values[_place(position, len(values), len(values) - 1)]


@operator("SequenceInsert", arrays=True, moves=False, numbers="position")
def sequence_insert(values: list[Any], value: Any, position: Any = None) -> list[Any]:
    k = len(values) if position is None else _place(position, len(values), len(values))
    return [*values[:k], value, *values[k:]]


@operator("SequenceErase", arrays=True, moves=False, numbers="position")
def sequence_erase(values: list[Any], position: Any = None) -> list[Any]:
    k = len(values) - 1 if position is None else _place(position, len(values), len(values) - 1)
    return [*values[:k], *values[k + 1 :]]


def _place(position: Any, n: int, most: int) -> int:
    k: int = first_number(position)
    index = k + n if k < 0 else k
    if not 0 <= index <= most:
        raise ValueError(f"position {k} of a sequence of {n}")
    return index


@operator("ConcatFromSequence", places=False)
def concat_from_sequence(values: list[Any], *, axis: int, new_axis: int = 0) -> Tensor:
    if not values:
        raise ValueError("the sequence is empty")
    return stack(values, axis) if new_axis else cat(values, axis)


@operator("SplitToSequence", places=True, numbers="split")
def split_to_sequence(x: Tensor, split: Any = None, *, axis: int = 0, keepdims: int = 1) -> list[Any]:
    n = x.shape[axis]
    if split is None:
        parts = [x.narrow(axis, k, 1) for k in range(n)]
        return parts if keepdims else [p.squeeze(axis) for p in parts]
    # one number: chunks of that size, the last one smaller; a list: the sizes
    sizes: list[int] = split if is_list(split) else [min(split, n - k) for k in range(0, n, split)]
    if sum(sizes) != n or min(sizes, default=0) < 0:
        raise ValueError(f"split={split} of axis {axis}: its size is {n}")
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return [x.narrow(axis, start, size) for start, size in zip(starts, sizes)]


@operator("SequenceMap", arrays=True, moves=False)
def sequence_map(values: list[Any], *more: Any, body: Any, node: Any) -> tuple[Any, ...]:
    """Run a graph for each element of the first sequence and the same elements of others; returns
    sequences."""
    rows = [
        node.run(body, value, *[m[k] if isinstance(m, list) else m for m in more])
        for k, value in enumerate(values)
    ]
    return tuple([row[j] for row in rows] for j in range(len(body.outputs)))


@operator("Optional", arrays=True, moves=False)
def optional(value: Any = None, *, type: ValueDef | None = None) -> Any:
    return value


@operator("OptionalHasElement", arrays=True, moves=False, optional=True)
def optional_has_element(value: Any = None) -> Tensor:
    return host(value is not None, "bool")


@operator("OptionalGetElement", arrays=True, moves=False, optional=True)
def optional_get_element(value: Any) -> Any:
    if value is None:
        raise ValueError("the optional is empty")
    return value
