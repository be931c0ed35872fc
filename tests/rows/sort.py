"""Rows of the sort family."""

from references_order import places_in_order

from .row import In, Row

X = In((2, 5, 4))

SORT: dict[str, Row] = {
    "_argsort": Row(lambda x, descending: places_in_order(x, -1, descending), (X,), {"descending": True},
                    grads=0, kinds="iub"),
    "argsort": Row(places_in_order, (X,), {"dim": 1}, grads=0, kinds="iub"),
}  # fmt: skip
