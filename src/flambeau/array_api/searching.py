"""The array API's sorting, searching and set functions."""

from typing import Any, NamedTuple

from .. import functions
from ..errors import ValueError
from ..tensor import Tensor
from .elementwise import alike


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Sort the elements of an axis."""
    return x.sort(dim=axis, descending=descending, stable=stable)[0]


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the indices that sort an axis."""
    return x.argsort(dim=axis, descending=descending, stable=stable)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return the indices of nonzero elements: an array for each axis. ValueError for a 0-d array."""
    if not x.ndim:
        raise ValueError("nonzero(): the array has no axes: reshape it to (1,)")
    return tuple(x.nonzero(as_tuple=True))


def searchsorted(x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Return the insertion points of x2 in x1, which is sorted, or sorted by the indices `sorter`."""
    x1, x2 = alike(x1, x2)
    return functions.searchsorted(x1, x2, side=side, sorter=sorter)


class All(NamedTuple):
    """The result of unique_all."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class Counts(NamedTuple):
    """The result of unique_counts."""

    values: Tensor
    counts: Tensor


class Inverse(NamedTuple):
    """The result of unique_inverse."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> All:
    """Return the sorted unique values, the first flat index of each in x, each element's index into them,
    and their counts."""
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    # The first index of each value is the minimum of the positions that have it.
    flat = inverse.reshape(-1)
    places = functions.arange(flat.shape[0], dtype=flat.dtype, device=x.device)
    # one more than any position, for the minimum to replace
    last = functions.full((values.shape[0],), flat.shape[0], dtype=flat.dtype, device=x.device)
    return All(values, last.scatter_reduce(0, flat, places, "amin"), inverse.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> Counts:
    """Return the sorted unique values and their counts."""
    return Counts(*x.unique(return_counts=True))


def unique_inverse(x: Tensor, /) -> Inverse:
    """Return the sorted unique values, and each element's index into them."""
    values, inverse = x.unique(return_inverse=True)
    return Inverse(values, inverse.reshape(x.shape))


def unique_values(x: Tensor, /) -> Tensor:
    """Return the sorted unique values; each NaN counts as unique."""
    return x.unique()
