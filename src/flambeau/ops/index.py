"""Indexing: Python's brackets, gather and what is made of it, joins and splits."""

from operator import index
from typing import Any

from .. import dtype as dt
from ..op import Family, composed, kernel
from ..shape import normal_dim


def _gather_shape(x, index, dim):
    if len(x) != len(index):
        raise ValueError(f"tensor and index differ in rank: {len(x)} and {len(index)}")
    for d, (n, m) in enumerate(zip(x, index, strict=True)):
        if d != dim and m > n:
            raise ValueError(f"index has {m} elements in dim {d}, the tensor {n}")
    return index


def _gather(xp, x, index, dim):
    cut = tuple(slice(None) if d == dim else slice(m) for d, m in enumerate(index.shape))
    n = x.shape[dim]
    index = xp.clip(xp.where(index < 0, index + n, index), 0, max(n - 1, 0))
    return xp.take_along_axis(x[cut], index, axis=dim)


FUNCTIONS = ("cat", "chunk", "split", "stack")
NN = ("embedding", "one_hot")


class Index(Family):
    @kernel(
        "gather",
        dtypes="fiub",
        shape=_gather_shape,
        dtype=lambda x, i, **_: x,
        xp=_gather,
        grad=lambda g, y, x, index, dim: [
            type(g).zeros(x.shape, dtype=g.dtype, device=g.device).scatter_add(dim, index, g),
            None,
        ],
    )
    def gather(self, dim: int, index):
        """Elements at `index` along a dim; negative ones count from the end, others are clamped inside.

        [..., n, ...], [..., m, ...] -> [..., m, ...]
        """
        if not index.dtype.is_int:
            raise TypeError("the index must be of integers: cast with .int()")
        return (self, index), {"dim": normal_dim(dim, self.ndim)}

    @composed
    def scatter_add(self, dim: int, index, src):
        """Add src to the elements at `index` along a dim, in a fixed order. -> the shape of self"""
        d = normal_dim(dim, self.ndim)
        n = self.shape[d]
        places = type(self).arange(n, device=self.device)
        places = places.reshape(*(n if e == d else 1 for e in range(self.ndim + 1)))
        index = index.int()
        index = (index < 0).where(index + n, index)
        hit = index.unsqueeze(d) == places  # [..., n, m, ...]
        added = hit.where(src.unsqueeze(d), 0).sum(d + 1)
        grown = tuple(a - b for a, b in zip(self.shape, added.shape, strict=True))
        return self + (added._pad((0,) * self.ndim, grown) if any(grown) else added)

    @composed
    def index_select(self, dim: int, index):
        """Whole slices at the indices. [..., n, ...], [m] -> [..., m, ...]"""
        d = normal_dim(dim, self.ndim)
        shape = (*self.shape[:d], index.shape[0], *self.shape[d + 1 :])
        return self.gather(d, index.reshape(*(-1 if e == d else 1 for e in range(self.ndim))).expand(*shape))

    @composed
    def __getitem__(self, key):
        """Integers, slices, None, ... and index tensors, as in NumPy; TypeError for a bool mask."""
        keys = list(key) if isinstance(key, tuple) else [key]
        return _index(self, _full_key(keys, self.ndim))


def _is_tensor(k):
    if getattr(getattr(k, "node", None), "dtype", None) is dt.bool_:
        raise TypeError("a bool mask gives a shape that depends on values: use where or masked_fill")
    return hasattr(k, "node")


def _integer(k) -> int:
    try:
        return index(k)
    except TypeError:
        raise TypeError(f"{k!r} is no index: use integers, slices, None, ... or tensors") from None


def _full_key(keys, rank):
    used = sum(k is not None and k is not Ellipsis for k in keys)
    if used > rank:
        raise IndexError(f"{used} indices for rank {rank}: take some out")
    fill = [slice(None)] * (rank - used)
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
    return keys[:at] + fill + [k for k in keys[at + 1 :] if k is not Ellipsis]


def _index(x, keys):
    """Cut with one slice op, then take integer dims out and new ones in, then gather by index tensors."""
    starts, steps, shape, final, picks = [], [], [], [], []
    d = 0
    for k in keys:
        if k is None:
            final.append(1)
            continue
        n = x.shape[d]
        if isinstance(k, slice):
            a, b, step = k.indices(n)
            size = len(range(a, b, step))
            final.append(size)
        elif _is_tensor(k):
            a, step, size = 0, 1, n
            picks.append((len(final), k))
            final.append(n)
        else:
            a, step, size = _integer(k), 1, 1
            if not -n <= a < n:
                raise IndexError(f"index {a} is out of range for dim {d} of size {n}")
            a += n * (a < 0)
        starts.append(a if size else 0)
        steps.append(step if size else 1)
        shape.append(size)
        d += 1
    whole = tuple(shape) == x.shape and all(s == 1 for s in steps)
    y = x if whole else x._slice(tuple(starts), tuple(steps), tuple(shape))
    y = y.reshape(*final) if tuple(final) != y.shape else y
    return _pick(y, picks) if picks else y


def _pick(x, picks):
    """Index by tensors: one dim each, broadcast together, put where the first stood (in front if apart)."""
    dims = [d for d, _ in picks]
    index: Any = 0
    for d, k in picks:
        n = x.shape[d]
        k = k.int()
        index = index * n + (k < 0).where(k + n, k)
    shape = index.shape
    together = dims == list(range(dims[0], dims[-1] + 1))
    rest = [d for d in range(x.ndim) if d not in dims]
    y = x.permute(*dims, *rest).reshape(-1, *(x.shape[d] for d in rest))
    y = y.index_select(0, index.reshape(-1)).reshape(*shape, *(x.shape[d] for d in rest))
    if not together or dims[0] == 0:
        return y
    lead, k = dims[0], len(shape)
    return y.permute(*range(k, k + lead), *range(k), *range(k + lead, y.ndim))


@composed
def one_hot(input, num_classes: int):
    """1 at each index, else 0, as int32. [...] -> [..., num_classes]"""
    classes = type(input).arange(num_classes, device=input.device)
    return (input.unsqueeze(-1) == classes).int()


@composed
def embedding(input, weight):
    """Rows of weight at the indices. [...], [n, d] -> [..., d]"""
    if weight.ndim != 2 or not input.dtype.is_int:
        raise TypeError("needs integer indices and a weight of 2 dims")
    return weight.index_select(0, input.reshape(-1)).reshape(*input.shape, weight.shape[1])


@composed
def cat(tensors, dim: int = 0):
    """Tensors one after another along a dim. [..., n, ...], [..., m, ...] -> [..., n + m, ...]"""
    tensors = list(tensors)
    if not tensors:
        raise ValueError("needs at least one tensor")
    d = normal_dim(dim, tensors[0].ndim)
    dtype = dt.promote(*(t.dtype for t in tensors))
    for t in tensors[1:]:
        if t.ndim != tensors[0].ndim or any(
            e != d and n != m for e, (n, m) in enumerate(zip(t.shape, tensors[0].shape, strict=True))
        ):
            raise ValueError(f"shapes {list(tensors[0].shape)} and {list(t.shape)} differ outside dim {d}")
    total, at, out = sum(t.shape[d] for t in tensors), 0, None
    for t in tensors:
        n = t.shape[d]
        before = tuple(at * (e == d) for e in range(t.ndim))
        after = tuple((total - at - n) * (e == d) for e in range(t.ndim))
        at += n
        if n:
            padded = t.to(dtype)._pad(before, after)
            out = padded if out is None else _inside(t, before, after).where(padded, out)
    return tensors[0].to(dtype) if out is None else out


def _inside(t, before, after):
    return type(t).full(t.shape, True, device=t.device)._pad(before, after)


@composed
def stack(tensors, dim: int = 0):
    """Tensors of one shape along a new dim. [a, b] * n -> [n, a, b]"""
    return cat([t.unsqueeze(dim) for t in tensors], normal_dim(dim, next(iter(tensors)).ndim + 1))


@composed
def split(input, split_size, dim: int = 0):
    """Pieces of split_size (the last may be smaller), or of the sizes listed. [..., n, ...] -> tuple"""
    d = normal_dim(dim, input.ndim)
    n = input.shape[d]
    sizes = split_size
    if isinstance(split_size, int):
        sizes = [min(split_size, n - i) for i in range(0, n, split_size)]
    if sum(sizes) != n:
        raise ValueError(f"sizes {list(sizes)} do not add up to {n}")
    at = [sum(sizes[:i]) for i in range(len(sizes))]
    return tuple(input.narrow(d, a, s) for a, s in zip(at, sizes, strict=True))


@composed
def chunk(input, chunks: int, dim: int = 0):
    """At most `chunks` pieces of equal size (the last may be smaller). [..., n, ...] -> tuple"""
    if chunks < 1:
        raise ValueError(f"chunks={chunks} is not above 0")
    return split(input, max(-(-input.shape[normal_dim(dim, input.ndim)] // chunks), 1), dim)
