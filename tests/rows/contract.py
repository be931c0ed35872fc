"""Rows of the contract family."""

import numpy as np
from references import avg_pool, conv, conv_views, fold, max_pool

from flambeau.shape import Window

from .row import In, Row

W2 = (Window(2, 2, 1, 0, 0), Window(3, 1, 2, 1, 1))
W = (Window(3, 2, 1, 1, 1),)
PAIR = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}


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
    "conv": Row(conv, (In((2, 4, 5, 6)), In((6, 2, 3, 2))), PAIR),
    "conv1d": Row(conv, (In((2, 4, 9)), In((6, 2, 3)), In((6,))), {"stride": 2, "padding": 1, "groups": 2}),
    "conv2d": Row(conv, (In((2, 3, 5, 5)), In((4, 3, 3, 3)), In((4,))), {"padding": 1}),
    "conv3d": Row(conv, (In((1, 2, 4, 4, 4)), In((3, 2, 2, 2, 2))), {"dilation": 2, "padding": 1}),
    "_fold": Row(fold, (In((2, 4, 3)),), {"spec": W, "size": (7,)}),
    "max_pool": Row(lambda x, spec: max_pool(x, *conv_views(spec)), (In((2, 3, 6, 7)),), {"spec": W2}),
    "max_pool1d": Row(max_pool, (In((2, 3, 9)),), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "max_pool2d": Row(max_pool, (In((2, 3, 6, 6)),), {"kernel_size": 2}),
    "avg_pool1d": Row(avg_pool, (In((2, 3, 9)),), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "avg_pool2d": Row(
        avg_pool,
        (In((2, 3, 6, 6)),),
        {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
    ),
    "adaptive_avg_pool2d": Row(
        lambda x, output_size: x.reshape(2, 3, 2, 3, 3, 2).mean((3, 5)),
        (In((2, 3, 6, 6)),),
        {"output_size": (2, 3)},
    ),
}
