"""The array API's functions that sort, search, and find different values."""

from typing import Any, NamedTuple

from .. import functions
from ..errors import ValueError
from ..tensor import Tensor
from .elementwise import alike


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements of an axis in order."""
    return x.sort(dim=axis, descending=descending, stable=stable)[0]


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The places of an axis in the order of their elements."""
    return x.argsort(dim=axis, descending=descending, stable=stable)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The places of what is not 0: an array of indices for each axis. ValueError without axes."""
    if not x.ndim:
        raise ValueError("nonzero(): the array has no axes: reshape it to (1,)")
    return tuple(x.nonzero(as_tuple=True))


def searchsorted(x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where each of x2 goes into x1, which is in order or is so at the places of sorter."""
    x1, x2 = alike(x1, x2)
    return functions.searchsorted(x1, x2, side=side, sorter=sorter)


class All(NamedTuple):
    """What unique_all gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class Counts(NamedTuple):
    """What unique_counts gives."""

    values: Tensor
    counts: Tensor


class Inverse(NamedTuple):
    """What unique_inverse gives."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> All:
    """Different values in order, the first place of each in x in a row, the number of each element's value
    and how many there are of each."""
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    flat = inverse.reshape(-1)
    places = functions.arange(flat.shape[0], dtype=flat.dtype, device=x.device)
    last = functions.full((values.shape[0],), flat.shape[0], dtype=flat.dtype, device=x.device)
    return All(values, last.scatter_reduce(0, flat, places, "amin"), inverse.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> Counts:
    """Different values in order, and how many there are of each."""
    return Counts(*x.unique(return_counts=True))


def unique_inverse(x: Tensor, /) -> Inverse:
    """Different values in order, and the number of each element's value."""
    values, inverse = x.unique(return_inverse=True)
    return Inverse(values, inverse.reshape(x.shape))


def unique_values(x: Tensor, /) -> Tensor:
    """Different values in order; each NaN is one."""
    return x.unique()
