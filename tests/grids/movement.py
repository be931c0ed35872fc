"""Grids of ops that move, join, cut and repeat."""

import numpy as np

from .grid import Table, call

GRIDS = Table()
WITHOUT = {
    "atleast_1d": "views: test_ops and test_shape compare with NumPy",
    "detach": "a view", "view_as": "reshape, which is compared",
    "view": "the same; of another dtype: tests/ops/test_bits.py compares with PyTorch",
    "real": "a view: tests/ops/test_complex.py compares with PyTorch", "imag": "the same",
    "view_as_complex": "the same", "view_as_real": "the same",
    "slice_assign": "x[key] = value of torch, which writes: tests/ops/test_index.py compares with NumPy",
}  # fmt: skip


@GRIDS("clone", "ravel", fixed=1)
def same(d):
    return call(d.array(d.shape()))


@GRIDS("atleast_2d", "atleast_3d")
def at_least(d):
    return call(d.array(d.shape(0, 3)))


@GRIDS("broadcast_to", "expand")
def broadcast(d):
    shape = d.shape(large=False)
    return call(d.array(d.broadcast(shape)), shape)


@GRIDS("expand_as")
def like_another(d):
    shape = d.shape(large=False)
    return call(d.array(d.broadcast(shape)), d.array(shape))


@GRIDS("broadcast_tensors")
def several(d):
    shape = d.shape()
    return call(d.array(d.broadcast(shape)), d.array(shape))


@GRIDS("reshape")
def reshaped(d):
    shape = d.shape()
    flat = list(shape)
    d.rng.shuffle(flat)
    if flat and 0 not in flat and d.maybe():
        flat[d.int(0, len(flat) - 1)] = -1
    return call(d.array(shape), [int(n) for n in flat])


@GRIDS("flatten")
def flattened(d):
    shape = d.shape(1)
    a, b = sorted(d.int(0, len(shape) - 1) for _ in range(2))
    return call(d.array(shape), a, b - (len(shape) if d.maybe() else 0))


@GRIDS("unflatten")
def unflattened(d):
    shape = list(d.shape(1, 3))
    dim, cut = d.dim(tuple(shape)), d.int(1, 4)
    shape[dim] *= cut
    return call(d.array(shape), dim, d.one((cut, -1), (shape[dim] // cut, cut)) if shape[dim] else (cut, 0))


@GRIDS("permute")
def permuted(d):
    shape = d.shape()
    return call(d.array(shape), tuple(int(i) for i in d.rng.permutation(len(shape))))


@GRIDS("transpose")
def transposed(d):
    shape = d.shape(1)
    return call(d.array(shape), d.dim(shape), d.dim(shape))


@GRIDS("movedim")
def moved(d):
    shape = d.shape(1)
    if d.maybe():
        return call(d.array(shape), d.dim(shape), d.dim(shape))
    a, b = (tuple(int(i) for i in d.rng.permutation(len(shape))[:2]) for _ in range(2))
    return call(d.array(shape), a, b)


@GRIDS("squeeze")
def squeezed(d):
    shape = [1 if d.maybe(0.4) else n for n in d.shape()]
    return call(d.array(shape), **({"dim": d.dim(tuple(shape))} if d.maybe() and shape else {}))


@GRIDS("unsqueeze")
def unsqueezed(d):
    shape = d.shape(0, 3)
    return call(d.array(shape), d.int(-len(shape) - 1, len(shape)))


@GRIDS("flip")
def flipped(d):
    shape = d.shape()
    return call(d.array(shape), d.dims(shape, 0))


@GRIDS("fliplr", "flipud", fixed=1)
def flipped_over(d):
    return call(d.array(d.shape(2)))


@GRIDS("rot90")
def turned(d):
    shape = d.shape(2)
    dims = tuple(int(i) for i in d.rng.permutation(len(shape))[:2])
    return call(d.array(shape), d.int(-5, 5), dims)


@GRIDS("roll", fixed=3)
def rolled(d):
    shape = d.shape()
    dims = d.dims(shape)
    if not dims or d.maybe(0.2):
        return call(d.array(shape), d.int(-9, 9))
    return call(d.array(shape), tuple(d.int(-9, 9) for _ in dims), dims)


@GRIDS("narrow")
def narrowed(d):
    shape = d.shape(1)
    dim = d.dim(shape)
    start = d.int(0, shape[dim])
    return call(d.array(shape), dim, start, d.int(0, shape[dim] - start))


@GRIDS("select")
def selected(d):
    shape = d.shape(1, empty=False)
    dim = d.dim(shape)
    return call(d.array(shape), dim, d.int(-shape[dim], shape[dim] - 1))


@GRIDS("unbind")
def unbound(d):
    shape = d.shape(1, large=False)
    dim = d.int(0, len(shape) - 1)
    return call(d.array(shape[:dim] + (d.int(1, 5),) + shape[dim + 1 :]), dim)


@GRIDS("split", "chunk", "tensor_split", fixed=3)
def pieces(d, name):
    shape = d.shape(1, large=False, empty=False)
    dim = d.dim(shape)
    n = shape[dim]
    if name == "split" and d.maybe():
        a = d.int(0, n)
        return call(d.array(shape), [a, n - a], dim=dim)
    if name == "tensor_split" and d.maybe():
        return call(d.array(shape), sorted(d.int(0, n) for _ in range(2)), dim=dim)
    most = max(n // 5, 1) if name == "split" else 1
    return call(d.array(shape), d.int(most, max(n, most)) if name == "split" else d.int(1, 6), dim=dim)


@GRIDS("hsplit", "vsplit", "dsplit", fixed=1)
def pieces_of(d, name):
    at = {"hsplit": 1, "vsplit": 0, "dsplit": 2}[name]
    shape = list(d.shape(3, large=False, empty=False))
    shape[at] = 12
    return call(d.array(shape), d.one(2, 3, [2, 5]))


@GRIDS("cat", "stack", fixed=4)
def joined(d, name):
    shape, count = d.shape(1, 3), d.int(1, 5)
    dim = d.dim(shape)
    sizes = [shape] * count
    if name == "cat":
        at = dim % len(shape)
        sizes = [shape[:at] + (d.one(n, 0, 1, 4),) + shape[at + 1 :] for n in [shape[at]] * count]
    return call([d.array(s) for s in sizes], dim=dim)


@GRIDS("hstack", "vstack", "dstack", "column_stack", fixed=1)
def joined_by_name(d):
    shape = d.shape(1, 3)
    return call([d.array(shape) for _ in range(d.int(1, 4))])


@GRIDS("block_diag")
def blocks(d):
    return call(*(d.array((d.size(9), d.size(9))) for _ in range(d.int(1, 4))))


@GRIDS("cartesian_prod")
def choices(d):
    return call(*(d.array((d.size(7),)) for _ in range(d.int(2, 3))))


@GRIDS("combinations")
def combinations(d):
    return call(d.array((d.int(0, 9),)), r=d.int(1, 3), with_replacement=d.maybe())


@GRIDS("meshgrid")
def meshgrid(d):
    return call(*(d.array((d.size(13),)) for _ in range(d.int(1, 3))), indexing=d.one("ij", "xy"))


@GRIDS("repeat", "tile")
def repeated(d, name):
    shape = d.shape(0, 3, large=False)
    times = d.int(len(shape) if name == "repeat" else 0, len(shape) + 1)
    return call(d.array(shape), tuple(d.one(1, 1, 2, 3, 0) for _ in range(times)))


@GRIDS("repeat_interleave", fixed=3)
def each_repeated(d):
    shape = d.shape(1, 3, large=False, empty=False)
    dim = d.dim(shape)
    if d.maybe():
        return call(d.array(shape), d.int(0, 4), **({"dim": dim} if d.maybe() else {}))
    return call(d.array(shape), d.ints((shape[dim],), 0, 3), dim=dim)


@GRIDS("pad", theirs="nn.functional.pad", fixed=8)
def pad(d):
    mode = d.one("constant", "constant", "reflect", "replicate", "circular")
    if mode == "constant":
        shape = tuple(n + 4 for n in d.shape(1, empty=False))
        amounts = [d.int(-2, 4) for _ in range(2 * d.int(1, len(shape)))]
        return call(d.array(shape), amounts, value=d.float(-2, 2))
    n = d.int(1, 3)
    shape = (d.int(1, 3), d.int(1, 4), *(d.int(2, 12) for _ in range(n)))
    amounts = [d.int(0, shape[-1 - i // 2] - 1) for i in range(2 * n)]
    return call(d.array(shape), amounts, mode=mode)


@GRIDS("tensor_unfold", theirs="Tensor.unfold", fixed=3)
def unfolded(d):
    shape = d.shape(1, 3, large=False, empty=False)
    dim = d.dim(shape)
    return call(d.array(shape), dim, d.int(1, shape[dim]), d.one(1, 2, 3, 7))


@GRIDS("diagonal", "linalg_diagonal", "diag_embed", "diagonal_scatter", fixed=3)
def diagonal(d, name):
    shape = d.shape(1 if name == "diag_embed" else 2, 3, large=False)
    n = len(shape) + (name == "diag_embed")
    a, b = (int(i) for i in d.rng.permutation(n)[:2])
    offset = d.int(-3, 3)
    x = d.array(shape)
    arguments = {"offset": offset, "dim1": a, "dim2": b - n if d.maybe() else b}
    if name == "diagonal_scatter":
        return call(x, d.array(np.diagonal(x, offset, a, b).shape), **arguments)
    return call(x, **arguments)


@GRIDS("diag", "diagflat")
def diag(d):
    return call(d.array(d.shape(1, 2, large=False)), d.int(-3, 3))


@GRIDS("tril", "triu")
def triangle(d):
    """Floats; of other dtypes tests of dtypes know."""
    return call(d.array(d.shape(2)), d.int(-9, 9))


@GRIDS("pixel_shuffle", "pixel_unshuffle", "channel_shuffle")
def shuffled(d, name):
    r, c = d.int(1, 4), d.int(1, 4)
    n, h, w = d.int(1, 3), d.size(9), d.size(9)
    shape = {"pixel_shuffle": (n, c * r * r, h, w), "pixel_unshuffle": (n, c, h * r, w * r),
             "channel_shuffle": (n, c * r, h, w)}[name]  # fmt: skip
    return call(d.array(shape), r)


@GRIDS("unravel_index", slopes=False)
def unravelled(d):
    shape = d.shape(1, 4, empty=False)
    return call(d.ints(d.shape(0, 2), 0, int(np.prod(shape)) - 1), shape)
