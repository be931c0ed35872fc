"""Tensors equal to an array that are views of other tensors: strided, flipped, padded, expanded."""

import numpy as np

import flambeau as fb


def transposed(a, device):
    return fb.tensor(np.ascontiguousarray(a.T), device=device).T


def sliced(a, device):
    big = np.full([2 * n + 1 for n in a.shape], 7, a.dtype)
    big[tuple(slice(1, None, 2) for _ in a.shape)] = a
    return fb.tensor(big, device=device)[tuple(slice(1, None, 2) for _ in a.shape)]


def flipped(a, device):
    return fb.tensor(np.ascontiguousarray(np.flip(a)), device=device).flip(tuple(range(a.ndim)))


def mixed(a, device):
    """Transposed, stepped, flipped and cut out of something larger, all at once."""
    big = np.full([2 * n + 2 for n in a.T.shape], 7, a.dtype)
    cut = tuple(slice(2 * n, 0, -2) for n in a.T.shape)
    big[cut] = a.T
    return fb.tensor(big, device=device)[cut].T


def padded(a, device):
    """Equal to a where a has a frame of zeros."""
    inner = np.ascontiguousarray(a[tuple(slice(1, -1) for _ in a.shape)])
    return fb.tensor(inner, device=device).pad((1, 1) * a.ndim)


def expanded(a, device):
    """Equal to a where a repeats along its first dim."""
    return fb.tensor(np.ascontiguousarray(a[:1]), device=device).expand(*a.shape)
