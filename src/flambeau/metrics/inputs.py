"""Converts predictions and targets of classifiers to labels, and checks both."""

from collections.abc import Callable
from typing import Any, NoReturn

from ..core.dtype import float32, int32
from ..core.node import describe
from ..functions import arange
from ..tensor import Tensor

AVERAGES = ("micro", "macro", "weighted", "none", None)


def refuse(metric: Any, preds: Any, target: Any, rule: str) -> NoReturn:
    """Raise the ValueError of an update."""
    name = metric if isinstance(metric, str) else metric.name
    raise ValueError(f"{name}({describe(preds)}, {describe(target)}): {rule}")


def check_option(name: str, option: str, value: Any, known: tuple[Any, ...]) -> None:
    """Raise ValueError unless value is one of the known options."""
    if value not in known:
        words = ", ".join(repr(k) for k in known)
        raise ValueError(f"{name}({option}={value!r}): must be one of {words}: pass one")


def check_count(name: str, option: str, value: Any, least: int) -> None:
    """Raise ValueError unless value is an integer not below `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}({option}={value!r}): must be an integer of at least {least}: pass one")


def check_shared(name: str, ignore_index: Any, multidim_average: str = "global") -> None:
    """Raise ValueError for an invalid ignore_index or multidim_average."""
    check_option(name, "multidim_average", multidim_average, ("global", "samplewise"))
    if ignore_index is not None and not isinstance(ignore_index, int):
        raise ValueError(f"{name}(ignore_index={ignore_index!r}): must be a class index or None: pass one")


def check_threshold(name: str, threshold: Any) -> None:
    """Raise ValueError for a threshold outside of 0 to 1."""
    if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise ValueError(f"{name}(threshold={threshold!r}): must be a probability: pass a number from 0 to 1")


def check_pair(metric: Any, preds: Tensor, target: Tensor) -> None:
    """Raise ValueError if shapes differ or targets are floats."""
    if preds.shape != target.shape:
        refuse(metric, preds, target, "shapes differ: pass a prediction for each target")
    check_labels(metric, preds, target)


def check_labels(metric: Any, preds: Tensor, target: Tensor) -> None:
    """Raise ValueError if targets are floats."""
    if target.dtype.is_float or target.dtype.is_complex:
        refuse(metric, preds, target, "targets must be class indices: cast them with .long()")


def probabilities(x: Tensor, normalise: Callable[[Tensor], Tensor], seen: Tensor | None = None) -> Tensor:
    """Convert scores to probabilities in float32. If a score (of those `seen`) lies outside of 0 to 1,
    all are logits and are normalised, as in torchmetrics."""
    x = x.to(float32)
    # `any` is a tensor: where() selects on the device, and both branches are computed.
    is_outside = (x < 0) | (x > 1)
    return (is_outside if seen is None else is_outside & seen).any().where(normalise(x), x)


def by_sigmoid(x: Tensor, seen: Tensor | None = None) -> Tensor:
    return probabilities(x, Tensor.sigmoid, seen)


def is_one(preds: Tensor, threshold: float, seen: Tensor | None = None) -> Tensor:
    """Whether each element is a positive prediction: a probability or logit above the threshold, or a
    label 1."""
    return by_sigmoid(preds, seen) > threshold if preds.dtype.is_float else preds.int() == 1


def split(target: Tensor, classes: int, ignore_index: int | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return (targets as int32, whether each counts, whether each is invalid: neither a class nor
    ignored)."""
    target = target.int()
    inside = (target >= 0) & (target < classes)
    if ignore_index is None:
        return target, inside, ~inside
    counts = target != ignore_index
    return target, inside & counts, ~inside & counts


def top_label(preds: Tensor, target: Tensor, k: int) -> Tensor:
    """Predict a label for each target from the scores in dim 1. With k > 1 it is the target itself if that is
    among the k highest scores. [n, c, ...] -> [n, ...]"""
    best = preds.argmax(1).int()
    if k == 1:
        return best
    classes = arange(preds.shape[1], dtype=int32, device=preds.device).reshape(-1, *[1] * (preds.ndim - 2))
    target = target.unsqueeze(1)
    # [n, 1, ...]: the score of the target class, by a mask and a sum instead of a gather
    own = (classes == target).where(preds.float(), 0.0).sum(1, keepdim=True)
    scores = preds.float()
    # the number of classes ranked before the target: in the top k if it is below k
    before = (scores > own) | ((scores == own) & (classes < target))  # the lower class index wins a tie
    is_top = before.sum(1, dtype=int32) < k
    return is_top.where(target.squeeze(1), best)
