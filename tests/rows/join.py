"""Rows of joins and splits."""

import numpy as np

from .row import In, Row, joined, pieces

X = In((2, 3, 4))
M = In((2, 3))


def flat(arrays):
    return np.concatenate([np.ravel(a) for a in arrays])


def parts(ref, *, call, attrs, x=X, **kw):
    return Row(lambda x, **_: flat(ref(x)), (x,), attrs, call=pieces(call), **kw)


JOIN: dict[str, Row] = {
    "_cat": Row(lambda *x: np.concatenate(x, 1), tuple(In((2, n, 2)) for n in (1, 3, 2, 1, 2, 4, 1, 2, 3)),
                call=lambda *x: joined("cat")(*x, dim=1), kinds="iub"),
    "cat": Row(lambda *x, dim: np.concatenate(x, dim), (In((2, 3)), In((2, 1)), In((2, 4))), {"dim": 1},
               call=joined("cat"), kinds="ib"),
    "stack": Row(lambda *x, dim: np.stack(x, dim), (In((2, 3)),) * 3, {"dim": 1},
                 call=joined("stack"), kinds="i"),
    "hstack": Row(lambda *x: np.hstack(x), (In((2, 3)), In((2, 1))), call=joined("hstack"), kinds="i"),
    "vstack": Row(lambda *x: np.vstack(x), (In((3,)), In((2, 3))), call=joined("vstack"), kinds="i"),
    "dstack": Row(lambda *x: np.dstack(x), (In((2, 3)), In((2, 3))), call=joined("dstack"), kinds="i"),
    "column_stack": Row(lambda *x: np.column_stack(x), (In((3,)), In((3, 2))), call=joined("column_stack")),
    "atleast_1d": Row(np.atleast_1d, (In(()),)),
    "atleast_2d": Row(np.atleast_2d, (In((3,)),)),
    "atleast_3d": Row(np.atleast_3d, (In((3, 2)),)),
    "block_diag": Row(
        lambda a, b: np.block([[a, np.zeros((2, 2))], [np.zeros((1, 3)), b]]), (M, In((1, 2)))
    ),
    "broadcast_tensors": Row(lambda x, y: flat(np.broadcast_arrays(x, y)), (In((3, 1)), In((2, 1, 4))),
                             call=pieces("broadcast_tensors")),
    "kron": Row(np.kron, (M, In((3, 2))), kinds="i"),
    "split": parts(lambda x: (x[:, :, :3], x[:, :, 3:]), call="split", attrs={"split_size": 3, "dim": 2}),
    "chunk": parts(lambda x: (x[:, :2], x[:, 2:]), call="chunk", attrs={"chunks": 2, "dim": 1}),
    "tensor_split": parts(lambda x: np.array_split(x, 3, 2), call="tensor_split",
                          attrs={"indices_or_sections": 3, "dim": 2}),
    "hsplit": parts(lambda x: np.hsplit(x, [1]), call="hsplit", attrs={"indices_or_sections": [1]}),
    "vsplit": parts(lambda x: np.vsplit(x, 2), call="vsplit", attrs={"indices_or_sections": 2}),
    "dsplit": parts(lambda x: np.dsplit(x, 2), call="dsplit", attrs={"indices_or_sections": 2}),
    "unbind": parts(lambda x: np.moveaxis(x, 1, 0), call="unbind", attrs={"dim": 1}),
}  # fmt: skip
