"""Rows of the index family."""

import numpy as np
from references import scatter_add

from .row import In, Row, joined, pieces

X = In((2, 3, 4))
IDX = In((2, 5, 4), -3, 2, "i")

INDEX: dict[str, Row] = {
    "gather": Row(
        lambda x, i, dim: np.take_along_axis(x, i, dim), (X, IDX), {"dim": 1},
        call=lambda x, i, dim: x.gather(dim, i),
    ),
    "scatter_add": Row(scatter_add, (X, IDX, In((2, 5, 4))), {"dim": 1},
                       call=lambda x, i, src, dim: x.scatter_add(dim, i, src)),
    "index_select": Row(lambda x, i, dim: np.take(x, i, dim), (X, In((5,), -3, 2, "i")), {"dim": 1},
                        call=lambda x, i, dim: x.index_select(dim, i)),
    "__getitem__": Row(lambda x: x[1, ..., None, ::-2], (X,), call=lambda x: x[1, ..., None, ::-2]),
    "one_hot": Row(lambda i, num_classes: np.eye(num_classes, dtype="i4")[i], (In((2, 3), 0, 3, "i"),),
                   {"num_classes": 4}, grads=0),
    "embedding": Row(lambda i, w: w[i], (In((2, 3), 0, 3, "i"), In((4, 5)))),
    "cat": Row(lambda *x, dim: np.concatenate(x, dim), (In((2, 3)), In((2, 1)), In((2, 4))), {"dim": 1},
               call=joined("cat"), kinds="ib"),
    "stack": Row(lambda *x, dim: np.stack(x, dim), (In((2, 3)),) * 3, {"dim": 1},
                 call=joined("stack"), kinds="i"),
    "split": Row(lambda x, split_size, dim: np.concatenate([x[:, :, :3].ravel(), x[:, :, 3:].ravel()]), (X,),
                 {"split_size": 3, "dim": 2}, call=pieces("split")),
    "chunk": Row(lambda x, chunks, dim: np.concatenate([x[:, :2].ravel(), x[:, 2:].ravel()]), (X,),
                 {"chunks": 2, "dim": 1}, call=pieces("chunk")),
}  # fmt: skip
