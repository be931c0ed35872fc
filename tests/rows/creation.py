"""Rows of the creation family: what an index alone makes, and diagonals."""

import numpy as np

from .row import COMPOSED, In, Row

D = In((1,))
M = In((4, 5))


def made(name, want, *args, shape=(1,), **kw) -> Row:
    """An op that takes no tensor: the device is that of an input nobody reads."""
    return Row(lambda x: want, (In(shape),), grads=0,
               call=lambda x: COMPOSED[name](*args, device=x.device, **kw))  # fmt: skip


def like(name, want, **kw) -> Row:
    return Row(lambda x: want, (In((2, 3)),), grads=0, call=lambda x: COMPOSED[name](x, **kw))


def joined_grid(a, b):
    return COMPOSED["stack"](COMPOSED["meshgrid"](a, b, indexing="xy"))


CREATION: dict[str, Row] = {
    "full": made("full", np.full((2, 3), 2.5), (2, 3), 2.5),
    "zeros": made("zeros", np.zeros((2, 3)), 2, 3),
    "ones": made("ones", np.ones((2, 3), "i4"), (2, 3), dtype="int32"),
    "empty": made("empty", np.zeros(3), 3),
    "zeros_like": like("zeros_like", np.zeros((2, 3))),
    "ones_like": like("ones_like", np.ones((2, 3))),
    "empty_like": like("empty_like", np.zeros((2, 3), "i4"), dtype="int32"),
    "full_like": like("full_like", np.full((2, 3), 7.0), fill_value=7),
    "new_full": Row(lambda x: np.full((2,), 7), (In((3,), kind="i"),), grads=0,
                    call=lambda x: x.new_full((2,), 7)),
    "new_zeros": Row(lambda x: np.zeros((2, 2), bool), (In((3,), kind="b"),), grads=0,
                     call=lambda x: x.new_zeros(2, 2)),
    "new_ones": Row(lambda x: np.ones(4), (D,), grads=0, call=lambda x: x.new_ones(4)),
    "new_empty": Row(lambda x: np.zeros(4), (D,), grads=0, call=lambda x: x.new_empty((4,))),
    "arange": made("arange", np.arange(-1, 1.25, 0.25), -1, 1.25, 0.25),
    "linspace": made("linspace", np.linspace(-1, 2, 7), -1, 2, 7),
    "logspace": made("logspace", np.logspace(-1, 2, 7), -1, 2, 7),
    "eye": made("eye", np.eye(3, 4), 3, 4),
    "tril_indices": made("tril_indices", np.array(np.tril_indices(5, 1, 3), "i4"), 5, 3, 1),
    "triu_indices": made("triu_indices", np.array(np.triu_indices(5, -2, 3), "i4"), 5, 3, -2),
    "meshgrid": Row(lambda a, b: np.stack(np.meshgrid(a, b)), (In((3,)), In((4,))), call=joined_grid),
    "cartesian_prod": Row(lambda a, b: np.stack([np.repeat(a, 4), np.tile(b, 3)], -1), (In((3,)), In((4,)))),
    "vander": Row(lambda x, N: np.vander(x, N), (In((4,), 0.5, 2),), {"N": 3}, tol=4e-6),
    "diagonal": Row(lambda x, **kw: np.diagonal(x, 1, 0, 2), (In((3, 2, 4)),),
                    {"offset": 1, "dim1": 0, "dim2": 2}, kinds="i"),
    "diag_embed": Row(lambda x, offset: np.stack([np.diag(v, offset) for v in x]), (In((2, 3)),),
                      {"offset": -1}, kinds="ib"),
    "diag": Row(lambda x, diagonal: np.diag(x, diagonal), (M,), {"diagonal": -1}),
    "diagflat": Row(lambda x, offset: np.diagflat(x, offset), (In((2, 2)),), {"offset": 1}),
    "trace": Row(np.trace, (M,), kinds="i"),
}  # fmt: skip
