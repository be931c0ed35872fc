"""Converts the scores of ai.onnx.ml's classifiers to probabilities and labels."""

from collections.abc import Callable
from math import sqrt
from typing import Any

from ...functions import where
from ...nn import functional as F
from ...tensor import Tensor
from ..values import host


def _softmax_zero(x: Tensor) -> Tensor:
    """Softmax of the scores that are not 0; those stay 0."""
    # onnxruntime's threshold of 0
    is_nonzero = x.abs() > 1e-7
    powers = where(is_nonzero, (x - x.amax(-1, keepdim=True)).exp(), 0.0)
    total = powers.sum(-1, keepdim=True)
    return powers / (total == 0).where(1.0, total)


TRANSFORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "NONE": lambda x: x,
    "SOFTMAX": lambda x: F.softmax(x, -1),
    "LOGISTIC": lambda x: x.sigmoid(),
    "SOFTMAX_ZERO": _softmax_zero,
    # the quantile of the normal distribution: sqrt(2) erfinv(2x - 1)
    "PROBIT": lambda x: (x * 2 - 1).erfinv() * sqrt(2),
}


def post_transform_scores(scores: Tensor, name: str) -> Tensor:
    """Scores by a post_transform. [n, classes] -> [n, classes]"""
    if name not in TRANSFORMS:
        raise ValueError(f"post_transform {name!r} is unknown: use one of {', '.join(TRANSFORMS)}")
    return TRANSFORMS[name](scores)


def labels_at(best: Any, labels: Any) -> Any:
    """Return the labels at these indices: strings as an array, numbers as a tensor. [n] -> [n]"""
    import numpy as np

    best = np.asarray(best, int)
    if len(labels) and isinstance(labels[0], str):
        return np.array(labels, object)[best]
    return host(np.array(labels, np.int64)[best] if len(labels) else best)
