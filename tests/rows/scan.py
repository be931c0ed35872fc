"""Rows of the scan family."""

import numpy as np
from references.order import area, latest_extreme, log_sums

from .row import COMPOSED, In, Row, first

X = In((2, 5, 4))
APART = In((2, 5, 4), -30, 30)  # no two so near that a finite difference swaps them

SCAN: dict[str, Row] = {
    "_cumsum": Row(lambda x, dim: np.cumsum(x, dim), (X,), {"dim": 1}, kinds="iu"),
    "_cumprod": Row(lambda x, dim: np.cumprod(x, dim), (X,), {"dim": 1}, kinds="iu"),
    "_logcumsumexp": Row(log_sums, (X,), {"dim": 1}),
    "_shares_after": Row(
        lambda g, x, y, dim: np.exp(x) * np.flip(np.flip(g * np.exp(-y), dim).cumsum(dim), dim), (X, X, X),
        {"dim": 1}, tol=1e-5, special=False),
    "_shares_before": Row(
        lambda g, x, y, dim: np.exp(-y) * (g * np.exp(x)).cumsum(dim), (X, X, X), {"dim": 1}, tol=1e-5,
        special=False),
    "_cummax": Row(lambda x, dim: latest_extreme(x, dim, np.greater_equal)[1], (X,), {"dim": 1}, grads=0,
                   kinds="iub"),
    "_cummin": Row(lambda x, dim: latest_extreme(x, dim, np.less_equal)[1], (X,), {"dim": 1}, grads=0,
                   kinds="iub"),
    "cumsum": Row(lambda x, dim: np.cumsum(x, dim), (X,), {"dim": -1}, kinds="ib"),
    "cumprod": Row(lambda x, dim: np.cumprod(x, dim), (X,), {"dim": 0}, kinds="i"),
    "logcumsumexp": Row(log_sums, (X,), {"dim": -1}),
    "cummax": Row(lambda x, dim: latest_extreme(x, dim, np.greater_equal)[0], (APART,), {"dim": 1},
                  call=first("cummax"), kinds="iub"),
    "cummin": Row(lambda x, dim: latest_extreme(x, dim, np.less_equal)[0], (APART,), {"dim": -1},
                  call=first("cummin"), kinds="i"),
    "diff": Row(lambda x, n, dim: np.diff(x, n, dim), (X,), {"n": 2, "dim": 1}, kinds="i"),
    "trapezoid": Row(lambda y, x, dim: area(y, dim, x).sum(dim), (X, X), {"dim": 1},
                     call=lambda y, x, dim: COMPOSED["trapezoid"](y, x, dim=dim)),
    "cumulative_trapezoid": Row(lambda y, dim: np.cumsum(area(y, dim), dim), (X,), {"dim": -1}),
}  # fmt: skip
