"""Selections whose size depends on values: nonzero and unique.

They read the size of the result, unless the caller gives it.
"""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from ...core import dtype as dt
from ...core.declare import composed
from ...core.shape import normal_dim
from ...errors import FlambeauError
from ..join import cat, stack
from .indices import as_places, slices

if TYPE_CHECKING:
    from ...tensor import Tensor


def read_scalars(*numbers: Tensor) -> list[Any]:
    """The values of 0-d tensors, by one read; ValueError inside a recorded function, which can't read."""
    try:
        return stack(numbers).tolist()
    except FlambeauError as e:
        if type(e) is not FlambeauError:  # of the device
            raise
        raise ValueError(
            "the size of the result depends on values, which a recorded function can't read:"
            " call it outside, or pass the size if the op accepts one"
        ) from e


def places_of(flags: Tensor, size: int | None = None) -> tuple[Tensor, Tensor]:
    """The places of true elements of a vector in order, and their number as a tensor. Without size it reads.

    If size is larger than the number, the remaining places are past the end.
    """
    n = flags.shape[0]
    # how many are true up to each position
    sums = flags.int()._cumsum(0) if n else type(flags).zeros(1, dtype=flags.int().dtype, device=flags.device)
    total = sums[max(n, 1) - 1]
    if size is None:
        sums.realize()  # else the ops after the read would sum again
    count = read_scalars(total)[0] if size is None else size
    # The i-th true element is at the first position with i true elements so far, found by binary search.
    return sums._search(type(flags).arange(1, count + 1, dtype=dt.int32, device=flags.device), False), total


@overload
def nonzero(
    input: Tensor, as_tuple: Literal[False] = False, *, size: int | None = None, fill_value: int = 0
) -> Tensor: ...
@overload
def nonzero(
    input: Tensor, as_tuple: Literal[True], *, size: int | None = None, fill_value: int = 0
) -> tuple[Tensor, ...]: ...
@composed
def nonzero(input: Tensor, as_tuple: bool = False, *, size: int | None = None, fill_value: int = 0) -> Any:
    """Coordinates (int64) of elements that are not 0: [k, dims], or a tuple of a [k] for each dim.

    Reads k. With `size`, as in JAX, k is `size` and nothing is read: surplus elements are dropped, missing
    ones get fill_value.

    as_tuple: return one tensor of indices for each dim
    """
    x = input.reshape(1) if as_tuple and not input.ndim else input
    places, total = places_of((x != 0).reshape(-1), size)
    within = type(x).arange(places.shape[0], dtype=dt.int32, device=x.device) < total
    coordinates: list[Tensor] = []
    for d, n in enumerate(x.shape):
        c = places // max(prod(x.shape[d + 1 :]), 1) % max(n, 1)  # row-major coordinates
        coordinates.append(c if size is None else within.where(c, fill_value))
    if as_tuple:
        return tuple(as_places(a) for a in coordinates)
    return as_places(stack(coordinates, 1) if coordinates else places.reshape(-1, 1).narrow(1, 0, 0))


@composed
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """nonzero for a known number of elements, without a read. [...] -> [size, dims]

    fill_value: the coordinates of missing elements
    """
    return input.nonzero(size=size, fill_value=fill_value)


@composed
def argwhere(input: Tensor) -> Tensor:
    """Coordinates (int64) of elements that are not 0; reads their number. [...] -> [k, dims]"""
    return input.nonzero()


@composed
def count_nonzero(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The number of elements that are not 0, over all dims or some (int64). [..., n, ...] -> [...]"""
    return (input != 0).sum(dim)


@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    *,
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    dim: int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    dim: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
@composed
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or slices of a dim) in order; reads their number.

    return_inverse adds the index of each element in the result, return_counts how often each occurs, int64.
    [...] -> [k], or [..., k, ...] with dim

    sorted: accepted and ignored: the result is always in order
    """
    lines, restore = _lines(input, dim)
    order = _order(lines.detach()).realize()  # else the ops after the read would sort again
    ordered = slices(lines, order, dim=0).realize()
    return _runs(ordered, order, restore, return_inverse, return_counts)


@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    dim: int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[True], dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]: ...
@composed
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Elements (or slices of a dim) that differ from the one before; as unique otherwise.

    return_inverse: add the index of each element in the result
    return_counts: add how often each occurs
    """
    lines, restore = _lines(input, dim)
    return _runs(lines, None, restore, return_inverse, return_counts)


class Restore(NamedTuple):
    """The shapes of results: of k lines [k, m], and of one number for each line [n]."""

    lines: Callable[[Tensor], Tensor]
    numbers: Callable[[Tensor], Tensor]


def _lines(x: Tensor, dim: Any) -> tuple[Tensor, Restore]:
    """Elements or slices of x as lines to compare, [n, m], and the inverse of this reshape."""
    if dim is None:

        def flatten(lines: Tensor) -> Tensor:
            return lines.reshape(-1)

        def like_x(numbers: Tensor) -> Tensor:
            return numbers.reshape(*x.shape)

        return x.reshape(-1, 1), Restore(flatten, like_x)
    d = normal_dim(dim, x.ndim)
    front = x.movedim(d, 0)
    rest = front.shape[1:]

    def back(lines: Tensor) -> Tensor:
        return lines.reshape(lines.shape[0], *rest).movedim(0, d)

    def same(numbers: Tensor) -> Tensor:
        return numbers

    return front.reshape(front.shape[0], prod(rest)), Restore(back, same)


def _order(lines: Tensor) -> Tensor:
    """The places that sort lines lexicographically: a stable sort by each column, the last one first."""
    n, m = lines.shape
    if not n or not m:
        return type(lines).arange(n, dtype=dt.int32, device=lines.device)
    order = lines[:, m - 1]._argsort(False)
    for column in reversed(range(m - 1)):
        # A later sort is stable, so it keeps the order of the columns sorted before.
        order = order._gather(lines[:, column]._gather(order, 0)._argsort(False), 0)
    return order


def _runs(
    lines: Tensor, order: Tensor | None, restore: Restore, return_inverse: bool, return_counts: bool
) -> Any:
    """The lines that differ from the one before; if asked for, the index of each line's run and the lengths
    of the runs."""
    n = lines.shape[0]
    values = lines.detach()
    # An element that differs from the one before starts a run; NaN differs from NaN, as in PyTorch.
    differs = (values[1:] != values[: max(n - 1, 0)]).any(1)
    starts = cat([type(lines).full((1,), True, device=lines.device), differs]) if n > 1 else None
    starts = type(lines).full((n,), True, device=lines.device) if starts is None else starts
    firsts, _ = places_of(starts)
    out = [restore.lines(slices(lines, firsts, dim=0))]
    if return_inverse:
        # The run's number at each sorted line, moved back to the line's own position.
        number = starts.int()._cumsum(0) - 1 if n else firsts
        out.append(as_places(restore.numbers(number if order is None or not n else number._back(order))))
    if return_counts:
        k = firsts.shape[0]
        # A run ends where the next one starts.
        ends = (
            cat([firsts[1:], type(lines).full((1,), n, dtype=dt.int32, device=lines.device)]) if k else firsts
        )
        out.append(as_places(ends - firsts))
    return out[0] if len(out) == 1 else tuple(out)
