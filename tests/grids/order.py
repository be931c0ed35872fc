"""Grids of ops that sort, search and count."""

import numpy as np

from .draw import still
from .grid import Table, call

GRIDS = Table()


def full(d, least: int = 1, large: bool = True):
    shape = d.shape(least, 3, large=large, empty=False)
    return shape, d.dim(shape)


@GRIDS("sort", "argsort", fixed=5, half=False)
def order(d):
    """Equal ones keep their order when torch is asked for that, as they always do here."""
    shape, dim = full(d)
    x = d.distinct(shape) if d.maybe() else d.steps(shape, -9, 9)
    return call(x, dim=dim, descending=d.maybe(), stable=True)


@GRIDS("msort", half=False)
def msort(d):
    return call(d.distinct(full(d)[0]))


@GRIDS("topk", fixed=4, half=False)
def topk(d):
    shape, dim = full(d)
    return call(
        d.distinct(shape), d.int(0 if d.maybe(0.1) else 1, min(shape[dim], 40)), dim=dim, largest=d.maybe()
    )


@GRIDS("kthvalue", fixed=3, half=False)
def kthvalue(d):
    shape, dim = full(d)
    return call(d.distinct(shape), d.int(1, shape[dim]), dim=dim, keepdim=d.maybe())


@GRIDS("mode", ours=lambda x, **kw: __import__("flambeau").mode(x, **kw)[0],
       theirs=lambda torch, x, **kw: torch.mode(x, **kw)[0], slopes=False)  # fmt: skip
def mode(d):
    shape, dim = full(d, large=False)
    return call(d.ints(shape, 0, 4), dim=dim, keepdim=d.maybe())


def edges(d) -> np.ndarray:
    return np.sort(d.steps((d.one(1, 2, 7, 33, 300),), -16, 16)).astype("f4")


@GRIDS("searchsorted", slopes=False)
def searchsorted(d):
    given = edges(d)
    return call(given, d.steps(d.shape(1, 2, empty=False)), right=d.maybe())


@GRIDS("bucketize", slopes=False)
def bucketize(d):
    return call(d.steps(d.shape(0, 3)), edges(d), right=d.maybe())


@GRIDS("isin", slopes=False)
def isin(d):
    return call(d.ints(d.shape(0, 3)), d.ints((d.one(0, 1, 5, 40),)), invert=d.maybe())


@GRIDS("bincount", slopes=False)
def bincount(d):
    n = d.one(1, 5, 64, 1000, 70_001)
    weights = {"weights": still(d.array((n,)))} if d.maybe() else {}
    return call(d.ints((n,), 0, 12), minlength=d.one(0, 5, 20), **weights)


@GRIDS("histc", slopes=False)
def histc(d):
    low = d.int(-3, 0)
    return call(d.steps(d.shape(1, 2, empty=False)), bins=d.int(1, 16), min=low, max=low + d.one(1, 2, 4))


@GRIDS("histogram", slopes=False, half=False)
def histogram(d):
    x = d.steps(d.shape(1, 2, empty=False))
    more = {"weight": still(d.array(x.shape))} if d.maybe() else {}
    return call(x, d.int(1, 8), range=(-2.0, 2.0), density=d.maybe(), **more)


@GRIDS("histogramdd", slopes=False, half=False)
def histogramdd(d):
    x = d.steps((d.int(1, 30), 2))
    more = {"weight": still(d.array(x.shape[:1]))} if d.maybe() else {}
    return call(x, [d.int(1, 5), d.int(1, 4)], range=(-2.0, 2.0, -1.0, 2.0), density=d.maybe(), **more)


@GRIDS("unique", slopes=False, half=False)
def unique(d):
    shape = d.shape(1, 2, large=False, empty=False)
    dim = {"dim": d.int(0, len(shape) - 1)} if d.maybe(0.3) else {}
    return call(d.ints(shape, 0, 3), return_inverse=d.maybe(), return_counts=d.maybe(), **dim)


@GRIDS("unique_consecutive", slopes=False, half=False)
def unique_consecutive(d):
    return call(
        d.ints(d.shape(1, 2, large=False, empty=False), 0, 2),
        return_inverse=d.maybe(),
        return_counts=d.maybe(),
    )
