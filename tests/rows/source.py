"""Rows of the source family."""

from math import prod

import numpy as np
from references.base import philox

from .row import COMPOSED, In, Row

X = In((2, 3, 4))

SOURCE: dict[str, Row] = {
    "buffer": Row(lambda x: x, (X,), call=lambda x: x, grads=1, kinds="iub"),
    "constant": Row(lambda x: x + 2.5, (X,), call=lambda x: x + 2.5),
    "iota": Row(lambda x: np.arange(5, dtype="i4"), (In((5,)),), grads=0,
                call=lambda x: type(x).arange(5, device=x.device)),
    "random_bits": Row(lambda x: philox(7, prod(x.shape)), (In((11,)),), grads=0,
                       call=lambda x: _random_bits(x.shape, x.device)),
    **{
        name: Row(lambda x, lead=lead: dropped(x, x.shape[:lead]), (In(shape),), grads=1,
                  call=lambda x, name=name: _seeded(lambda: COMPOSED[name](x, 0.25)))
        for name, lead, shape in [
            ("dropout1d", 2, (3, 4, 2)), ("dropout2d", 2, (3, 4, 2, 2)), ("dropout3d", 1, (4, 2, 1, 3)),
        ]
    },
    **{
        name: Row(lambda x, lead=lead: floored(x, x.shape[:lead]), (In((3, 4, 2)),), grads=1, tol=4e-6,
                  call=lambda x, name=name: _seeded(lambda: COMPOSED[name](x, 0.25, True)))
        for name, lead in [("alpha_dropout", 3), ("feature_alpha_dropout", 2)]
    },
    "dropout": Row(lambda x: np.where(uniform(7, x.size).reshape(x.shape) < 0.25, 0, x / 0.75), (X,), grads=1,
                   call=lambda x: _seeded(lambda: COMPOSED["dropout"](x, 0.25))),
}  # fmt: skip


def lost(x, shape):
    """Where dropout with probability 0.25 drops: one draw for each place of the leading dims."""
    return (uniform(7, prod(shape)).reshape(shape) < 0.25).reshape(*shape, *[1] * (x.ndim - len(shape)))


def dropped(x, shape):
    return np.where(lost(x, shape), 0, x / 0.75)


def floored(x, shape):
    """Klambauer et al., 2017, section 2: affine, so that mean 0 and variance 1 stay."""
    floor = -1.6732632423543772 * 1.0507009873554805
    a = (0.75 * (1 + 0.25 * floor**2)) ** -0.5
    return a * np.where(lost(x, shape), floor, x) - a * 0.25 * floor


def uniform(seed: int, n: int) -> np.ndarray:
    return (philox(seed, n) >> 8) * 2.0**-24


def _seeded(f):
    from flambeau import manual_seed

    manual_seed(7)
    return f()


def _random_bits(shape, device):
    from flambeau.ops.random import drawn_bits

    return _seeded(lambda: drawn_bits(shape, device))
