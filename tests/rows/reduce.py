"""Rows of the reduce family."""

import numpy as np
from references.base import (
    layer_norm,
    log_softmax,
    logsumexp,
    sized,
    softmax,
    unbiased,
)

from .row import COMPOSED, In, Row, first

X = In((2, 3, 4))

REDUCE: dict[str, Row] = {
    "_sum": Row(lambda x, dims: x.sum(dims, keepdims=True), (X,), {"dims": (0, 2)}, kinds="iub"),
    "_prod": Row(lambda x, dims: x.prod(dims, keepdims=True), (X,), {"dims": (0, 2)}, kinds="iu"),
    "_max": Row(lambda x, dims: x.max(dims, keepdims=True), (X,), {"dims": (1,)}, kinds="iu"),
    "_min": Row(lambda x, dims: x.min(dims, keepdims=True), (X,), {"dims": (1,)}, kinds="iu"),
    "sum": Row(sized(np.sum), (X,), {"dim": 1}, kinds="iub"),
    "prod": Row(sized(np.prod), (X,), {"dim": -1, "keepdim": True}, kinds="iu"),
    "mean": Row(sized(np.mean), (X,), {"dim": (0, 1)}, kinds="i"),
    "amax": Row(sized(np.max), (X,), {"dim": (0, 2)}, kinds="iub"),
    "amin": Row(sized(np.min), (X,), {"dim": 2, "keepdim": True}, kinds="iub"),
    "argmax": Row(sized(np.argmax), (X,), {"dim": 1}, grads=0, kinds="iub"),
    "argmin": Row(sized(np.argmin), (X,), {"dim": -1, "keepdim": True}, grads=0, kinds="iub"),
    "max": Row(lambda x, dim: x.max(dim), (X,), {"dim": 1}, call=first("max"), kinds="i"),
    "min": Row(lambda x, dim: x.min(dim), (X,), {"dim": 1}, call=first("min"), kinds="i"),
    "var": Row(unbiased(np.var), (X,), {"dim": (0, 2)}),
    "std": Row(unbiased(np.std), (X,), {"dim": 2, "correction": 0}),
    "all": Row(sized(np.all), (X,), {"dim": 1}, grads=0, kinds="ib"),
    "any": Row(sized(np.any), (X,), {"dim": 1}, grads=0, kinds="ib"),
    "logsumexp": Row(logsumexp, (X,), {"dim": 1}),
    "_variance": Row(
        lambda x, dims, share: x.var(dims, keepdims=True) * (8 * share), (X,), {"dims": (0, 2), "share": 0.25}
    ),
    "_root": Row(np.sqrt, (In((3, 5), 0.1, 3),)),
    "_logsumexp": Row(
        lambda x, dims: logsumexp(x, dims, True), (X,), {"dims": (0, 2)},
    ),
    "norm": Row(lambda x, dim: np.sqrt((x**2).sum(dim)), (X,), {"dim": 1}),
    "softmax": Row(softmax, (X,), {"dim": 1}),
    "log_softmax": Row(log_softmax, (X,), {"dim": -1}),
    "_softmax": Row(softmax, (X,), {"dim": 2}),
    "_log_softmax": Row(log_softmax, (X,), {"dim": 0}),
    "layer_norm": Row(
        lambda x, w, b: layer_norm(x, w, b, (3, 4)), (X, In((3, 4)), In((3, 4))), tol=5e-6,
        call=lambda x, w, b: COMPOSED["layer_norm"](x, (3, 4), w, b),
    ),
}  # fmt: skip
