"""Rows of reading and writing by index."""

import numpy as np
from references.index import assigned, by_slices, joined, nd_scattered, scattered

from .row import In, Row

X = In((2, 3, 4))
IDX = In((2, 5, 4), 0, 2, "i")
SRC = In((2, 5, 4))
FIVE = In((5,), 0, 2, "i")
KEY = (slice(None), slice(2, None, -2), slice(1, 3))
NDX = In((5, 2), 0, 1, "i")


def along(name):
    """A method whose arguments are (dim, index, source), as rows give (index, source, dim)."""

    def call(x, *rest, dim, **attrs):
        return getattr(x, name)(dim, *rest, **attrs)

    return call


def set_at(x, value):
    """Assignment to a tensor of its own, so that the input stays."""
    y = x + 0
    y[1, ..., ::-2] = value
    return y


READS: dict[str, Row] = {
    "_gather": Row(lambda x, i, dim: np.take_along_axis(x, i, dim), (X, IDX), {"dim": 1}),
    "gather": Row(lambda x, i, dim: np.take_along_axis(x, i, dim), (X, IDX), {"dim": 1},
                  call=along("gather")),
    "_index_select": Row(lambda x, i, dim: np.take(x, i, dim), (X, FIVE), {"dim": 1}),
    "index_select": Row(lambda x, i, dim: np.take(x, i, dim), (X, FIVE), {"dim": 1},
                        call=along("index_select")),
    "_inside": Row(lambda i, **_: i, (In((3, 5), 0, 4, "i"),), {"n": 5, "mode": "inside", "site": 0},
                   grads=0),
    "take": Row(np.take, (X, In((2, 5), -24, 23, "i"))),
    "take_along_dim": Row(lambda x, i, dim: np.take_along_axis(x, i, dim),
                          (X, In((1, 5, 4), -3, 2, "i")), {"dim": 1}),
    "gather_nd": Row(lambda x, i: x[i[..., 0], i[..., 1]], (X, In((5, 2), -2, 1, "i"))),
    "masked_select": Row(lambda x, m: np.broadcast_to(x, m.shape)[m], (In((3, 4)), In((2, 3, 4), kind="b"))),
    "__getitem__": Row(lambda x: x[1, ..., None, ::-2], (X,), call=lambda x: x[1, ..., None, ::-2]),
    "one_hot": Row(lambda i, num_classes: np.eye(num_classes, dtype="i4")[i], (In((2, 3), 0, 3, "i"),),
                   {"num_classes": 4}, grads=0),
}  # fmt: skip

WRITES: dict[str, Row] = {
    "masked_scatter": Row(lambda x, m, s: assigned(x, m, s.ravel()[: m.sum()]),
                          (X, In((2, 3, 4), kind="b"), In((24,)))),
    "_last": Row(lambda i, n: np.array([max(np.flatnonzero(i == p), default=-1) for p in range(n)]),
                 (In((9,), 0, 3, "i"),), {"n": 5}, grads=0, call=lambda i, n: i._last(n)),
    "_scatter_sorted": Row(
        lambda x, src: joined(x, [(r, c) for r in (0, 0, 3) for c in (0, 1)], src[[2, 0, 1]].ravel(), "sum"),
        (In((4, 2)), In((3, 2))), grads=0,
        call=lambda x, src: x._scatter_sorted(x.new_tensor([0, 0, 3], "i32"), x.new_tensor([2, 0, 1], "i32"),
                                              src, "sum"),
    ),
    "_put_rows": Row(lambda x, i, src, join: by_slices(x, i, src, 0, join),
                     (In((4, 3)), In((6,), 0, 3, "i"), In((6, 3))), {"join": "prod"}),
    "_scatter_few": Row(lambda x, i, src, dim: scattered(x, i, src, dim, "sum"),
                        (X, In((2, 2, 4), 0, 2, "i"), In((2, 2, 4))), {"dim": 1}),
    "scatter": Row(scattered, (X, IDX, SRC), {"dim": 1}, call=along("scatter")),
    "scatter_add": Row(lambda x, i, src, dim: scattered(x, i, src, dim, "sum"), (X, IDX, SRC), {"dim": 1},
                       call=along("scatter_add")),
    "scatter_reduce": Row(scattered, (X, IDX, SRC), {"dim": 1, "reduce": "prod", "include_self": False},
                          call=along("scatter_reduce")),
    "index_add": Row(lambda x, i, s, dim, alpha: by_slices(x, i, s, dim, "sum", alpha=alpha), (X, FIVE, SRC),
                     {"dim": 1, "alpha": -2.0}, call=along("index_add")),
    "index_copy": Row(by_slices, (X, FIVE, SRC), {"dim": 1}, call=along("index_copy")),
    "index_fill": Row(lambda x, i, dim, value: assigned(x, (slice(None), i), value),
                      (X, In((2,), 0, 2, "i")),
                      {"dim": 1, "value": 3.0}, call=along("index_fill"), kinds="i"),
    "index_reduce": Row(by_slices, (X, FIVE, SRC), {"dim": 1, "reduce": "amax"}, call=along("index_reduce")),
    "put": Row(lambda x, i, s: assigned(x.ravel(), i, s).reshape(x.shape), (X, FIVE, In((5,)))),
    "slice_assign": Row(lambda x, v: assigned(x, KEY, v), (X, In((2, 1, 2))),
                        call=lambda x, v: x.slice_assign(KEY, v)),
    "__setitem__": Row(lambda x, v: assigned(x, (1, ..., slice(None, None, -2)), v), (X, In((3, 2))),
                       call=set_at),
    "index_put": Row(lambda x, i, j, v: assigned(x, (i, slice(None), j), v),
                     (X, In((6,), -2, 1, "i"), In((6,), -4, 3, "i"), In((6, 3))),
                     call=lambda x, i, j, v: x.index_put((i, None, j), v)),
    "slice_scatter": Row(lambda x, v: assigned(x, (slice(None), slice(0, 3, 2)), v), (X, In((2, 2, 4))),
                         call=lambda x, v: x.slice_scatter(v, 1, 0, 3, 2)),
    "select_scatter": Row(lambda x, v: assigned(x, (slice(None), 2), v), (X, In((2, 4))),
                          call=lambda x, v: x.select_scatter(v, 1, 2)),
    "scatter_nd": Row(nd_scattered, (X, NDX, In((5, 4))), {"reduce": "max"}),
}  # fmt: skip

INDEX: dict[str, Row] = READS | WRITES
