"""Rows of the sort and order families, and of counting and selecting."""

import numpy as np
from references.order import (
    different,
    how_often,
    in_bins,
    insert_places,
    most_frequent,
    places_in_order,
    put_back,
    quantiles,
    ranked,
    sorted_lines,
    where_not_zero,
)

from .row import COMPOSED, In, Row, first, pieces

X = In((2, 5, 4), -30, 30)  # no two so near that a finite difference swaps them
FEW = In((3, 7), 0, 3, "i")


def _of_first_places(op):
    """An op on the places that sort the last dim."""
    return lambda x, **kw: COMPOSED[op](x, x.argsort(-1), **kw) if op in COMPOSED else x._back(x.argsort(-1))


SORT: dict[str, Row] = {
    "_argsort": Row(lambda x, descending: places_in_order(x, -1, descending), (X,), {"descending": True},
                    grads=0, kinds="iub"),
    "_back": Row(lambda x: put_back(x, places_in_order(x)), (X,), call=_of_first_places("_back")),
    "_in_order": Row(lambda x, dim: sorted_lines(x), (X,), {"dim": 2}, call=_of_first_places("_in_order")),
    "_search": Row(lambda t, x, right: insert_places(np.sort(t), x, right), (In((9,)), In((3, 5))),
                   {"right": True}, grads=0, kinds="iu",
                   call=lambda t, x, right: t.msort()._search(x, right)),
    "argsort": Row(places_in_order, (X,), {"dim": 1}, grads=0, kinds="iub"),
    "sort": Row(sorted_lines, (X,), {"dim": 1, "descending": True}, call=first("sort"), kinds="iub"),
    "msort": Row(lambda x: np.sort(x, 0), (X,), kinds="iub"),
    "topk": Row(lambda x, k, dim: np.flip(np.sort(x, dim), dim)[:, :k], (X,), {"k": 3, "dim": 1},
                call=first("topk"), kinds="iu"),
    "kthvalue": Row(lambda x, k, dim: np.sort(x, dim)[:, k - 1], (X,), {"k": 2, "dim": 1},
                    call=first("kthvalue"), kinds="iu"),
    "_evenly": Row(lambda x, value: value, (X, In(())), grads=0),  # its gradient is that of the places
    "median": Row(lambda x, dim: ranked(x, 1, dim), (X,), {"dim": -1}, call=first("median"), kinds="iu"),
    "nanmedian": Row(lambda x, dim: ranked(x, 2, dim), (X,), {"dim": 1}, call=first("nanmedian"), kinds="iu"),
    "mode": Row(most_frequent, (FEW,), {"dim": 1}, call=first("mode"), grads=0, kinds="ub"),
    "quantile": Row(quantiles, (X,), {"q": 0.3, "dim": 1}, tol=1e-5),
    "nanquantile": Row(quantiles, (X,), {"q": 0.77, "dim": -1}, tol=1e-5),
    "searchsorted": Row(lambda t, x, right: insert_places(np.sort(t), x, right), (In((9,)), In((3, 5))),
                        {"right": False}, grads=0, kinds="iu",
                        call=lambda t, x, right: COMPOSED["searchsorted"](t.msort(), x, right=right)),
    "bucketize": Row(lambda x, t: insert_places(np.sort(t), x), (In((3, 5)), In((4,))), grads=0, kinds="iu",
                     call=lambda x, t: COMPOSED["bucketize"](x, t.msort())),
    "isin": Row(lambda x, t: np.isin(x, t), (FEW, In((2,), 0, 3, "i")), grads=0, kinds="fub"),
}  # fmt: skip

COUNT: dict[str, Row] = {
    "_count": Row(lambda x, bins: how_often(x, bins), (FEW,), {"bins": 3}, grads=0, kinds="ub",
                  call=lambda x, bins: x._count(bins)),
    "bincount": Row(lambda x, w: how_often(x, 4, w), (In((9,), 0, 3, "i"), In((9,))),
                    call=lambda x, w: COMPOSED["bincount"](x, w, length=4)),
    "histc": Row(lambda x, bins, min, max: in_bins(x, np.linspace(min, max, bins + 1)), (In((3, 7)),),
                 {"bins": 5, "min": -1, "max": 1.5}, grads=0),
    "histogram": Row(lambda x, bins: in_bins(x, np.linspace(-1, 1, bins + 1)), (In((3, 7)),), {"bins": 5},
                     grads=0, call=lambda x, bins: COMPOSED["histogram"](x, bins, range=(-1, 1))[0]),
    "histogramdd": Row(lambda x, bins: np.histogramdd(x, bins, [(-1, 1), (-2, 1)])[0], (In((9, 2)),),
                       {"bins": [2, 3]}, grads=0,
                       call=lambda x, bins: COMPOSED["histogramdd"](x, bins, range=[-1, 1, -2, 1])[0]),
    "nonzero": Row(where_not_zero, (FEW,), grads=0, kinds="ub"),
    "argwhere": Row(where_not_zero, (FEW,), grads=0, kinds="ub"),
    "count_nonzero": Row(lambda x, dim: (x != 0).sum(dim).astype("i4"), (FEW,), {"dim": 1}, grads=0,
                         kinds="fub"),
    "unique": Row(lambda x: np.concatenate([v.reshape(-1) for v in different(x)]), (FEW,), grads=0,
                  call=lambda x: pieces("unique")(x, return_inverse=True, return_counts=True)),
    "unique_consecutive": Row(
        lambda x: np.concatenate([v.reshape(-1) for v in different(x, True)]), (FEW,), grads=0,
        call=lambda x: pieces("unique_consecutive")(x, return_inverse=True, return_counts=True),
    ),
}  # fmt: skip
