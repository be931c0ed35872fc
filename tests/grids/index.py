"""Grids of ops that read and write at places, all of them inside the dim."""

from math import prod

import numpy as np

from .draw import still
from .grid import Table, call

GRIDS = Table()
WITHOUT = {
    "gather_nd": "ONNX's: not in torch", "scatter_nd": "ONNX's: not in torch",
    "put_rows": "not in torch: tests/ops/test_attention.py compares with slices",
    "nonzero_static": "not in torch's CPU build for all shapes: nonzero is compared",
}  # fmt: skip


def at(d, shape, dim: int, count: int | None = None) -> np.ndarray:
    """A vector of places along a dim; once each where `count` is not given."""
    n = shape[dim]
    if count is None:
        return d.rng.permutation(n)[: d.int(1, n)].astype("i4")
    return d.ints((count,), 0, n - 1)


def with_size(shape, dim: int, size: int) -> tuple[int, ...]:
    dim %= len(shape)
    return (*shape[:dim], size, *shape[dim + 1 :])


def full(d, least: int = 1, most: int = 3, large: bool = True):
    shape = d.shape(least, most, large=large, empty=False)
    return shape, d.dim(shape)


@GRIDS("index_select", fixed=4)
def index_select(d):
    shape, dim = full(d)
    return call(d.array(shape), dim, at(d, shape, dim, d.one(0, 1, 5, 33)))


@GRIDS("gather", "take_along_dim", fixed=5)
def gather(d, name):
    shape, dim = full(d)
    count = d.one(1, 2, 7, 33)
    index = [n if name == "take_along_dim" else d.int(1, n) for n in with_size(shape, dim, count)]
    index[dim] = count
    places = d.ints(index, 0, shape[dim] - 1)
    return call(d.array(shape), places, dim=dim) if name[0] == "t" else call(d.array(shape), dim, places)


def once(d, shape, dim, index) -> np.ndarray:
    """Places of which none is named twice along the dim."""
    order = np.argsort(d.rng.random(with_size(index, dim, shape[dim])), axis=dim)
    return np.take(order, range(index[dim]), axis=dim).astype("i4")


def wide(d, index) -> np.ndarray:
    """As large as the index, or larger: then torch has no gradient by it."""
    if d.maybe(0.7):
        return d.array(index)
    return still(d.array([n + d.int(0, 2) for n in index]))


@GRIDS("scatter", fixed=4)
def scatter(d):
    shape, dim = full(d)
    index = [d.int(1, n) for n in shape]
    places = once(d, shape, dim, index)
    src = d.float(-2, 2) if d.maybe(0.2) else wide(d, index)
    return call(d.array(shape), dim, places, src)


@GRIDS("scatter_add", fixed=5)
def scatter_add(d):
    shape, dim = full(d)
    index = [d.int(1, n) for n in shape]
    index[dim] = d.one(1, 5, 40)
    places = d.ints(index, 0, shape[dim] - 1)
    return call(d.array(shape), dim, places, wide(d, index))


@GRIDS("scatter_reduce", fixed=6)
def scatter_reduce(d):
    shape, dim = full(d, large=False)
    reduce = d.one("sum", "mean", "prod", "amax", "amin")
    index = [d.int(1, n) for n in shape]
    index[dim] = d.one(1, 5, 40) if reduce != "prod" else 3
    x, src = (
        (d.distinct(shape), d.distinct(index))
        if reduce[0] == "a"
        else (d.array(shape, 0.5, 2), d.array(index, 0.5, 2))
    )
    if reduce[0] == "a":
        src = (src + 1 / 16).astype("f4")  # none is equal to one of x
    return call(x, dim, d.ints(index, 0, shape[dim] - 1), src, reduce=reduce, include_self=d.maybe())


@GRIDS("index_add", "index_copy", fixed=4)
def index_add(d, name):
    shape, dim = full(d)
    places = at(d, shape, dim, d.one(1, 4, 20) if name == "index_add" else None)
    more = {"alpha": d.float(-2, 2)} if name == "index_add" and d.maybe() else {}
    return call(d.array(shape), dim, places, d.array(with_size(shape, dim, len(places))), **more)


@GRIDS("index_fill")
def index_fill(d):
    shape, dim = full(d)
    return call(d.array(shape), dim, at(d, shape, dim, d.int(1, 5)), d.float(-2, 2))


@GRIDS("index_reduce", fixed=4)
def index_reduce(d):
    shape, dim = full(d, large=False)
    reduce = d.one("prod", "mean", "amax", "amin")
    places = at(d, shape, dim, d.one(1, 4))
    size = with_size(shape, dim, len(places))
    x, src = (
        (d.distinct(shape), d.distinct(size))
        if reduce[0] == "a"
        else (d.array(shape, 0.5, 2), d.array(size, 0.5, 2))
    )
    if reduce[0] == "a":
        src = (src + 1 / 16).astype("f4")
    return call(x, dim, places, src, reduce, include_self=d.maybe())


@GRIDS("index_put", fixed=4)
def index_put(d):
    shape, _ = full(d, 2, large=False)
    count, accumulate = d.one(1, 3, 9), d.maybe()
    if accumulate:
        places = [d.ints((count,), 0, n - 1) for n in shape[: d.int(1, len(shape))]]
    else:
        places = [at(d, shape, 0)]
    rest = shape[len(places) :]
    values = d.array((*places[0].shape, *rest)) if d.maybe(0.7) else d.array((1,) * bool(rest) or ())
    return call(d.array(shape), tuple(places), values, accumulate=accumulate)


@GRIDS("take")
def take(d):
    shape = d.shape(0, 3, empty=False)
    return call(d.array(shape), d.ints(d.shape(0, 2), -prod(shape), prod(shape) - 1))


@GRIDS("put", fixed=3)
def put(d):
    shape = d.shape(1, 3, empty=False)
    n, accumulate = prod(shape), d.maybe()
    places = d.ints((d.int(1, 9),), 0, n - 1) if accumulate else at(d, (n,), 0)
    return call(d.array(shape), places, d.array(places.shape), accumulate=accumulate)


@GRIDS("embedding", theirs=lambda torch, i, w, **kw: torch.nn.functional.embedding(i, w, **kw), fixed=4)
def embedding(d):
    n, e = d.one(1, 3, 10, 100, 1000), d.one(1, 3, 4, 16, 33, 64)
    padding = {"padding_idx": d.int(0, n - 1)} if d.maybe(0.3) else {}
    return call(d.ints(d.shape(0, 2, large=False), 0, n - 1), d.array((n, e)), **padding)


@GRIDS("embedding_bag", fixed=5)
def embedding_bag(d):
    n, e = d.one(2, 10, 100), d.one(1, 3, 16)
    mode = d.one("sum", "mean", "max")
    arguments: dict = {"mode": mode}
    if d.maybe(0.3):
        arguments["padding_idx"] = d.int(0, n - 1)
    weights = (d.distinct((n, e)) / 8).astype("f4")
    if d.maybe():
        rows = np.stack([d.rng.permutation(n)[: min(n, 5)] for _ in range(d.int(1, 6))]).astype("i4")
        if mode == "sum" and d.maybe():
            arguments["per_sample_weights"] = d.array(rows.shape)
        return call(rows, weights, **arguments)
    count = d.int(1, 20)
    offsets = np.sort(d.ints((d.int(1, 5),), 0, count)).astype("i4")
    offsets[0] = 0
    if d.maybe(0.3):
        arguments["include_last_offset"], offsets = True, np.append(offsets, count).astype("i4")
    return call(d.ints((count,), 0, n - 1), weights, offsets=offsets, **arguments)


@GRIDS("masked_select", half=False)
def masked_select(d):
    shape = d.shape(1, 3, large=False)
    return call(d.array(shape), d.bools(shape))


@GRIDS("masked_scatter")
def masked_scatter(d):
    shape = d.shape(0, 3, large=False)
    return call(d.array(shape), d.bools(shape), d.array((prod(shape) + d.int(0, 5),)))


@GRIDS("nonzero", "argwhere", slopes=False)
def nonzero(d):
    return call(d.kind(d.shape(1, 3), -1, 1))


@GRIDS("one_hot", slopes=False)
def one_hot(d):
    shape = d.shape(0, 2, empty=False)
    return call(d.ints(shape, 0, 9), d.one(10, 13))


@GRIDS("select_scatter")
def select_scatter(d):
    shape, dim = full(d)
    dim %= len(shape)
    return call(
        d.array(shape), d.array(shape[:dim] + shape[dim + 1 :]), dim, d.int(-shape[dim], shape[dim] - 1)
    )


@GRIDS("slice_scatter", fixed=3)
def slice_scatter(d):
    shape, dim = full(d)
    start, end = sorted(d.int(0, shape[dim]) for _ in range(2))
    step = d.int(1, 3)
    src = d.array(with_size(shape, dim, len(range(start, end, step))))
    return call(d.array(shape), src, dim, start, end, step)
