"""Rows of the source family."""

from math import prod

import numpy as np
from references import philox

from .row import COMPOSED, In, Row

X = In((2, 3, 4))

SOURCE: dict[str, Row] = {
    "buffer": Row(lambda x: x, (X,), call=lambda x: x, grads=1, kinds="iub"),
    "constant": Row(lambda x: x + 2.5, (X,), call=lambda x: x + 2.5),
    "iota": Row(lambda x: np.arange(5, dtype="i4"), (In((5,)),), grads=0,
                call=lambda x: type(x).arange(5, device=x.device)),
    "random_bits": Row(lambda x: philox(7, prod(x.shape)), (In((11,)),), grads=0,
                       call=lambda x: _random_bits(x.shape, x.device)),
    "dropout": Row(lambda x: np.where(uniform(7, x.size).reshape(x.shape) < 0.25, 0, x / 0.75), (X,), grads=1,
                   call=lambda x: _seeded(lambda: COMPOSED["dropout"](x, 0.25))),
}  # fmt: skip


def uniform(seed: int, n: int) -> np.ndarray:
    return (philox(seed, n) >> 8) * 2.0**-24


def _seeded(f):
    from flambeau import manual_seed

    manual_seed(7)
    return f()


def _random_bits(shape, device):
    from flambeau.ops.random import _bits

    return _seeded(lambda: _bits(shape, device))
