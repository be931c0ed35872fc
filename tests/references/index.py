"""What scatters and windows should compute, as plain loops over NumPy arrays, with no code of the package."""

import numpy as np

JOINS = {
    "none": lambda a, b: b,
    "assign": lambda a, b: b,
    "sum": lambda a, b: a + b,
    "add": lambda a, b: a + b,
    "mean": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "mul": lambda a, b: a * b,
    "amax": np.maximum,
    "max": np.maximum,
    "amin": np.minimum,
    "min": np.minimum,
}


def joined(x, places, values, reduce, include_self=True):
    """Each value joined, in order, to what its place holds."""
    out, seen, count = x.copy(), set(), np.ones(x.shape)
    for at, v in zip(places, values):
        if at in seen or include_self:
            out[at], count[at] = JOINS[reduce](out[at], v), count[at] + 1
        else:
            out[at] = v
        seen.add(at)
    return out / count if reduce == "mean" else out


def scattered(x, index, src, dim, reduce="assign", include_self=True):
    """scatter, scatter_add and scatter_reduce: src[at] goes where index[at] says, along dim."""
    places = []
    for at in np.ndindex(*index.shape):
        to = list(at)
        to[dim] = index[at] % x.shape[dim]
        places.append(tuple(to))
    values = [src if np.ndim(src) == 0 else src[at] for at in np.ndindex(*index.shape)]
    return joined(x, places, values, reduce, include_self)


def by_slices(x, index, source, dim, reduce="assign", include_self=True, alpha=1):
    """index_add, index_copy, index_reduce: the i-th slice of source goes to slice index[i]."""
    shape = [1] * x.ndim
    shape[dim] = len(index)
    full = np.broadcast_to(index.reshape(shape), source.shape)
    return scattered(x, full, source * alpha if alpha != 1 else source, dim, reduce, include_self)


def nd_scattered(x, indices, updates, reduce):
    k = indices.shape[-1]
    places = [tuple(int(v) % n for v, n in zip(i, x.shape)) for i in indices.reshape(-1, k)]
    rest = x.shape[k:]
    cells = [(*p, *r) for p in places for r in np.ndindex(*rest)]
    return joined(x, cells, list(updates.reshape(-1)), reduce)


def assigned(x, key, value):
    out = x.copy()
    out[key] = value
    return out


def slid(x, dimension, size, step):
    """Tensor.unfold: windows along a dim, as a new last dim."""
    n = (x.shape[dimension] - size) // step + 1
    cuts = [np.take(x, range(i * step, i * step + size), dimension) for i in range(n)]
    return np.stack([np.moveaxis(c, dimension, -1) for c in cuts], dimension)
