"""Grids of normalising layers' functions."""

import numpy as np

from .draw import still
from .grid import Table, call

GRIDS = Table()
ROUNDS = 4e-5  # a mean and a variance, and what is left of a difference of like numbers


def affine(d, n) -> dict:
    found = {"weight": d.array(n)} if d.maybe(0.7) else {}
    return found | ({"bias": d.array(n)} if d.maybe(0.7) else {})


@GRIDS("layer_norm", "rms_norm", fixed=5, tol=ROUNDS)
def last_dims(d, name):
    shape = d.shape(1, empty=False)
    own = shape[len(shape) - d.int(1, len(shape)) :]
    if np.prod(own) < 3:  # of one or two numbers nothing but signs is left
        shape, own = (*shape, 7), (*own, 7)
    more = affine(d, own)
    if name == "rms_norm":
        more.pop("bias", None)
    return call(d.array(shape), own, **more, eps=d.one(1e-5, 1e-3))


@GRIDS("group_norm", fixed=4, tol=ROUNDS)
def group_norm(d):
    groups, each = d.int(1, 5), d.int(1, 4)
    more = affine(d, (groups * each,))
    if "weight" not in more:  # torch fails in the gradient of a bias alone
        more = {}
    shape = (d.int(1, 4), groups * each, *d.shape(0, 2, empty=False, large=False), 5)
    return call(d.array(shape), groups, **more, eps=d.one(1e-5, 1e-3))


def channels_first(d) -> tuple[int, ...]:
    if d.maybe(0.2):
        return (d.one(3, 8, 300, 70_001), d.one(1, 3, 17))
    return (d.one(2, 3, 8, 16), d.one(1, 3, 17, 64), *(d.one(3, 5, 8, 14) for _ in range(d.int(0, 2))))


@GRIDS("batch_norm", fixed=5, tol=ROUNDS)
def batch_norm(d):
    """The result; that running statistics are assigned to is a layer's affair (tests/nn/test_nn.py)."""
    shape = channels_first(d)
    n, training = (shape[1],), d.maybe(0.7)
    statistics = (still(d.array(n)), still(d.array(n, 0.5, 2))) if not training else (None, None)
    return call(d.array(shape), *statistics, training=training, **affine(d, n), eps=d.one(1e-5, 1e-3))


@GRIDS("instance_norm", fixed=3, tol=ROUNDS)
def instance_norm(d):
    shape = (*channels_first(d)[:2], *(d.one(3, 5, 8) for _ in range(d.int(1, 2))))
    shape = (min(shape[0], 9), *shape[1:])
    return call(d.array(shape), **affine(d, (shape[1],)), eps=d.one(1e-5, 1e-3))


@GRIDS("normalize", fixed=3)
def normalize(d):
    shape = d.shape(1, empty=False)
    x = d.array(shape, 0.2, 2) * np.where(d.bools(shape), 1, -1)
    return call(x.astype("f4"), p=d.one(1.0, 2.0, 3.0, float("inf")), dim=d.dim(shape))
