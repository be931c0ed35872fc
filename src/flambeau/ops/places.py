"""Indices, given as integers, lists, arrays or tensors, into tensors of places that are inside."""

import threading
from math import prod
from typing import Any

from .. import dtype as dt

watched = threading.local()  # .found: a list of (text, count) while debug.check_indices is on


def as_index(x, index, dim: int, name: str = "index", n: int | None = None):
    """An index of dim `dim` as a tensor of integers: checked if it comes from the host, else counted if
    asked."""
    n = (x.shape[dim] if x.ndim else 1) if n is None else n
    if not hasattr(index, "node"):
        return x.new_tensor(checked(index, n, dim), dtype=dt.int32)
    if not index.dtype.is_int:
        raise TypeError(f"the index must be of integers, not {index.dtype.short}: cast with .int()")
    if n == 0 and prod(index.shape):
        raise IndexError(f"dim {dim} has no elements to index")
    index = index.int()  # smaller ones could not hold n
    found = getattr(watched, "found", None)
    if found is not None:
        count = ((index < -n) | (index >= n)).sum()
        found.append(
            (f"{name}: {{}} of {prod(index.shape)} indices are outside dim {dim} of size {n}", count)
        )
    return index


def checked(index, n: int, dim: int):
    """Host indices as an array in 0..n; IndexError for the first that is outside."""
    import numpy as np

    found = np.asarray(index)
    found = found.astype("i4") if not found.size else found
    if found.dtype.kind not in "iu":
        raise TypeError(f"{index!r:.40} are no indices: use integers")
    bad = found[(found < -n) | (found >= n)]
    if bad.size:
        raise IndexError(f"index {bad[0]} is out of range for dim {dim} of size {n}")
    return np.where(found < 0, found + n, found).astype("i4")


def place_of(index, n: int):
    """Device indices counted from the start, those outside clamped. [...] -> [...] in 0..n"""
    return (index < 0).where(index + n, index).maximum(0).minimum(max(n - 1, 0))


def nd_places(x, indices):
    """The place of each index tuple among the first k dims taken as one, and k. [..., k] -> [...]"""
    if not hasattr(indices, "node"):
        indices = x.new_tensor(indices, dtype=dt.int32)
    k = indices.shape[-1] if indices.ndim else 0
    if not 0 < k <= x.ndim or not indices.dtype.is_int:
        raise IndexError(f"the last dim of indices has {k} integers: use 1 to {x.ndim}")
    place: Any = 0
    for d in range(k):
        place = place_of(as_index(x, indices.select(-1, d), d), x.shape[d]) + place * x.shape[d]
    return place, k


def along(x, n: int, dim: int, rank: int):
    """0..n along a dim of `rank`, size 1 along the others. -> [1, ..., n, ..., 1]"""
    return type(x).arange(n, device=x.device).reshape(*(n if d == dim else 1 for d in range(rank)))
