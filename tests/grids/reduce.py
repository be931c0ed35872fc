"""Grids of reductions, statistics, scans and normalising functions over dims."""

import numpy as np

from .draw import Still
from .grid import Table, call

GRIDS = Table()
WITHOUT = {"quiet_softmax": "not in torch: tests/rows has its formula"}


def over(d, shape, several=True):
    """dim and keepdim: none, one, or several."""
    if not shape or d.maybe(0.2):
        return {}
    dim = d.dims(shape) if several and d.maybe() else d.dim(shape)
    return {"dim": dim, "keepdim": d.maybe()}


def full(d, least=0):
    """A shape without an empty dim."""
    return d.shape(least, empty=False)


@GRIDS("sum", "mean", fixed=6)
def summed(d, name):
    shape = d.shape() if name == "sum" else full(d)
    return call(d.array(shape), **over(d, shape))


@GRIDS("amax", "amin", fixed=5)
def extreme(d):
    shape = full(d)
    x = d.steps(shape) if d.maybe() else d.distinct(shape)
    return call(x, **(over(d, shape) or {"dim": tuple(range(len(shape)))}))


@GRIDS("any", "all", "count_nonzero", fixed=3)
def counted(d, name):
    shape = d.shape()
    x, arguments = d.kind(shape, -1, 1), over(d, shape)
    if name == "count_nonzero":
        arguments.pop("keepdim", None)
    return call(x, **arguments)


@GRIDS("prod", fixed=4)
def product(d):
    shape = d.shape(large=False)
    return call(d.array(shape, 0.7, 1.4), **over(d, shape, several=False))


@GRIDS("max", "min", "median", "nanmedian", "argmax", "argmin", fixed=4, half=False)
def place(d, name):
    shape = full(d)
    return call(d.distinct(shape), **over(d, shape, several=False))


@GRIDS("aminmax")
def both(d):
    shape = full(d)
    return call(d.distinct(shape), **over(d, shape, several=False))


@GRIDS("var", "std", "var_mean", "std_mean", fixed=4)
def spread(d):
    shape = full(d, 1)
    arguments, correction = over(d, shape), d.one(0, 1, 1, 2)
    dims = arguments.get("dim", tuple(range(len(shape))))
    count = np.prod([shape[i] for i in (dims if isinstance(dims, tuple) else (dims,))])
    if count <= max(correction, 1):  # dividing by zero, and a root's slope at zero
        shape, arguments = (7, *shape), {"dim": 0}
    return call(d.array(shape), **arguments, correction=correction)


@GRIDS("nanmean", "nansum", fixed=3)
def without_nan(d):
    shape = full(d)
    x, arguments = np.asarray(d.array(shape)), over(d, shape)
    dims = arguments.get("dim", tuple(range(len(shape))))
    if np.prod([shape[i] for i in np.ravel(dims).astype(int)]) > 6:  # not all of one sum
        x[d.rng.random(shape) < 0.1] = float("nan")
    return call(x, **arguments)


@GRIDS("logsumexp", fixed=3)
def log_of_sum(d):
    shape = full(d, 1)
    return call(d.array(shape, -20, 20), d.dims(shape) if d.maybe() else d.dim(shape), keepdim=d.maybe())


@GRIDS("softmax", "log_softmax", "softmin", fixed=4)
def normalised(d):
    shape = full(d, 1)
    return call(d.array(shape, -10, 10), dim=d.dim(shape))


@GRIDS("cumsum", "logcumsumexp", fixed=4, tol=4e-5)  # roundings of up to 70,001 steps add up
def running(d):
    shape = d.shape(1)
    return call(d.array(shape), d.dim(shape))


@GRIDS("cumprod", fixed=3)
def running_product(d):
    shape = d.shape(1, large=False)
    return call(d.array(shape, 0.8, 1.25), d.dim(shape))


@GRIDS("cummax", "cummin", fixed=3, half=False)
def running_extreme(d):
    shape = full(d, 1)
    return call(d.distinct(shape), d.dim(shape))


ORDERS = (0.0, 1.0, 2.0, 3.0, 0.5, float("inf"), -float("inf"), -1.0)


@GRIDS("linalg_vector_norm", fixed=6)
def vector_norm(d):
    shape = d.shape(large=False, empty=False)
    x = d.array(shape, 0.2, 2) * np.where(d.bools(shape), 1, -1).astype("f4")
    return call(x.astype("f4"), d.one(*ORDERS), **over(d, shape))


@GRIDS("norm", fixed=3)
def norm(d):
    shape = full(d, 1)
    x = d.array(shape, 0.2, 2) * np.where(d.bools(shape), 1, -1).astype("f4")
    arguments = over(d, shape)
    many = np.size(arguments.get("dim", 0)) > 2  # of which torch has no Frobenius norm
    return call(x.astype("f4"), p=d.one(*ORDERS[1:5], *([] if many else ["fro"])), **arguments)


@GRIDS("dist")
def distance(d):
    shape = full(d)
    return call(d.array(shape), d.array(d.broadcast(shape)), p=d.one(1, 2, 3.0, float("inf")))


@GRIDS("nanquantile", "quantile", fixed=4, half=False)
def quantile(d):
    shape = d.shape(1, large=False, empty=False)
    q = d.float(0, 1) if d.maybe() else d.array((d.int(1, 4),), 0, 1)
    how = d.one("linear", "lower", "higher", "nearest", "midpoint")
    q = np.float32(round(q * 16) / 16) if isinstance(q, float) else np.round(q * 16) / 16
    q = float(q) if np.ndim(q) == 0 else q.astype("f4").view(Still)
    return call(d.distinct(shape), q, **over(d, shape, several=False), interpolation=how)


@GRIDS("sum_to_size")
def summed_to(d):
    shape = d.shape()
    return call(d.array(shape), d.broadcast(shape))


@GRIDS("trace")
def trace(d):
    return call(d.array((d.size(), d.size())))


@GRIDS("cov", fixed=3)
def covariance(d):
    n, m = d.size(9), d.size(40) + 2
    weights = {"aweights": d.array((m,), 0.1, 1).view(Still)} if d.maybe() else {}
    if d.maybe():
        weights["fweights"] = d.ints((m,), 1, 4)
    return call(d.array((n, m) if d.maybe(0.8) else (m,)), correction=d.one(0, 1), **weights)


@GRIDS("corrcoef")
def correlation(d):
    return call(d.array((d.size(9), d.size(40) + 2)))


@GRIDS("diff", fixed=3)
def difference(d):
    shape = d.shape(1, empty=False)
    dim = d.dim(shape)
    more = {}
    for name in ("prepend", "append"):
        if d.maybe(0.3):
            more[name] = d.array([1 if i == dim % len(shape) else n for i, n in enumerate(shape)])
    return call(d.array(shape), n=d.int(1, 3), dim=dim, **more)


@GRIDS("trapezoid", "cumulative_trapezoid")
def area(d):
    shape = full(d, 1)
    dim = d.dim(shape)
    spacing = {"dx": d.float(0.1, 2)} if d.maybe() else {"x": np.sort(d.array((shape[dim],))).view(Still)}
    return call(d.array(shape), **spacing, dim=dim)


@GRIDS("gradient", half=False)
def slope(d):
    shape = tuple(n + 3 for n in d.shape(1, 3, large=False, empty=False))
    return call(d.array(shape), spacing=d.float(0.5, 2), dim=d.dim(shape), edge_order=d.one(1, 2))


@GRIDS("renorm")
def renormed(d):
    shape = full(d, 2)
    return call(d.array(shape), d.one(1, 2, 3), d.dim(shape), d.float(0.5, 3))
