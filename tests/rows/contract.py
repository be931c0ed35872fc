"""Rows of the contract family: products of matrices, and einsum."""

from functools import reduce

import numpy as np

from .row import COMPOSED, In, Row, joined

A, B, V = In((3, 4)), In((4, 5)), In((4,))
BA, BB = In((2, 3, 4)), In((2, 4, 5))
SCALED = {"beta": 0.5, "alpha": 2.0}


def plus(product):
    return lambda x, a, b, beta=1, alpha=1: beta * x + alpha * product(a, b)


def chained(*matrices):
    return reduce(np.matmul, matrices)


def distances(a, b, p):
    return (np.abs(a[..., :, None, :] - b[..., None, :, :]) ** p).sum(-1) ** (1 / p)


def named(equation):
    """einsum with the tensors behind the equation."""
    return lambda *tensors: COMPOSED["einsum"](equation, *tensors)


CONTRACT: dict[str, Row] = {
    "_contract": Row(
        lambda a, b, **_: (a * b).sum(-1),
        (In((4, 1, 6)), In((1, 5, 6))),
        {"nk": 1, "label": "contract"},
        kinds="iu",
    ),
    "matmul": Row(np.matmul, (In((2, 3, 5)), In((5, 4))), kinds="iu"),
    "dot": Row(np.dot, (In((7,)), In((7,))), kinds="i"),
    "outer": Row(np.outer, (In((3,)), In((5,)))),
    "linear": Row(lambda x, w, b: x @ w.T + b, (In((2, 3, 5)), In((4, 5)), In((4,)))),
    "vdot": Row(np.vdot, (In((7,)), In((7,)))),
    "mm": Row(np.matmul, (A, B), kinds="i"),
    "mv": Row(np.matmul, (A, V)),
    "bmm": Row(np.matmul, (BA, BB)),
    "addmm": Row(plus(np.matmul), (In((5,)), A, B), SCALED),
    "addmv": Row(plus(np.matmul), (In((3,)), A, V), SCALED),
    "addbmm": Row(plus(lambda a, b: (a @ b).sum(0)), (In((3, 5)), BA, BB), SCALED),
    "baddbmm": Row(plus(np.matmul), (In((2, 1, 5)), BA, BB), SCALED),
    "inner": Row(np.inner, (In((2, 3, 4)), In((5, 4)))),
    "cross": Row(
        lambda a, b, dim: np.cross(a, b, axis=dim), (In((2, 3, 4)), In((3, 4))), {"dim": -2}, kinds="i"
    ),
    "einsum": Row(
        lambda a, b, c: np.einsum("iij,...jk,k->...i", a, b, c),
        (In((3, 3, 4)), In((2, 4, 5)), In((5,))),
        call=named("iij,...jk,k->...i"),
    ),
    "tensordot": Row(
        lambda a, b, dims: np.tensordot(a, b, dims),
        (In((2, 3, 4)), In((4, 3, 5))),
        {"dims": ([1, -1], [1, 0])},
    ),
    "bilinear": Row(
        lambda a, b, w, bias: np.einsum("ni,oij,nj->no", a, w, b) + bias,
        (In((3, 4)), In((3, 5)), In((2, 4, 5)), In((2,))),
    ),
    "chain_matmul": Row(chained, (In((2, 6)), In((6, 3)), In((3, 5)), In((5, 1)))),
    "linalg_multi_dot": Row(chained, (In((6,)), In((6, 3)), In((3, 5))), call=joined("linalg_multi_dot")),
    "_farthest": Row(lambda x: np.abs(x).max(-1, keepdims=True)),
    "cdist": Row(distances, (In((2, 3, 4)), In((5, 4))), {"p": 3.0}, tol=5e-6),
}
