"""The base of metrics of true and false positives and negatives, and the averages of their scores."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..core.dtype import float32, int32
from ..device import DeviceLike
from ..functions import arange, cat, stack
from ..tensor import Tensor
from .inputs import (
    AVERAGES,
    check_count,
    check_labels,
    check_option,
    check_pair,
    check_shared,
    check_threshold,
    is_one,
    refuse,
    split,
    top_label,
)
from .metric import Metric
from .states import counts, rows


class Stats(NamedTuple):
    """Counts of each class or label: true and false positives, true and false negatives. [..., c] each"""

    tp: Tensor
    fp: Tensor
    tn: Tensor
    fn: Tensor

    def total(self) -> "Stats":
        """Sum over classes or labels."""
        return Stats(*(t.sum(-1) for t in self))


def ratio(num: Tensor, den: Tensor, empty: float = 0.0) -> Tensor:
    """Return num / den of counts or floats as float32, and `empty` where den is 0."""
    # The division also runs where den is 0; `where` discards its NaN. Gradients don't flow through counts.
    return (den != 0).where(num.to(float32) / den.to(float32), empty)


def average_classes(score: Tensor, average: str | None, weights: Tensor) -> Tensor:
    """Average the scores of classes over the last dim."""
    if average in (None, "none"):
        return score
    weights = weights.to(float32)
    return ratio(weights * score, weights.sum(-1, keepdim=True)).sum(-1)


class CountMetric(Metric):
    """Counts true and false positives and negatives. A subclass defines the score."""

    average: str | None
    samplewise: bool
    top_k = 1
    is_multilabel = False
    zero_division: float = 0.0
    validate_args = True
    drops_absent = True  # whether "macro" with top_k > 1 skips classes without targets

    def _keep(self, multidim_average: str, *shape: int) -> None:
        """Add the state: counts of a shape, or a list with the counts of each sample."""
        self.samplewise = multidim_average == "samplewise"
        if self.samplewise:
            self.add_state("counts", [], "cat")
        else:
            self.add_state("counts", counts(*shape, device=self.device), "sum")

    def _add(self, conditions: Tensor) -> None:
        """Add the sums of k conditions. [k, n, ..., c], samples in dim 1"""
        if not self.samplewise:
            # [k, n, ..., c] -> [k, c]. int32 within a batch: WGSL has no int64, whose emulation is slower.
            middle = tuple(range(1, conditions.ndim - 1))
            self.states["counts"].replace_(self.states["counts"] + conditions.sum(middle, dtype=int32))
        else:
            flat = conditions.reshape(conditions.shape[0], conditions.shape[1], -1, conditions.shape[-1])
            self.states["counts"].append(flat.sum(2).movedim(0, 1))

    @property
    def total(self) -> Tensor:
        """The counts: [k, c], or [n, k, c] for "samplewise"."""
        counts = self.states["counts"]
        return (cat(counts) if counts else self._none()) if self.samplewise else counts

    def _none(self) -> Tensor:
        raise NotImplementedError

    def stats(self) -> Stats:
        """Return the counts of each class or label."""
        raise NotImplementedError

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        """Return the score of counts."""
        raise NotImplementedError

    def compute(self) -> Any:
        """Return the score, or one per class for average="none" (and one per sample for "samplewise")."""
        stats = self.stats()
        if self.average == "micro":
            return self.score(*stats.total())
        tp, fp, _, fn = stats
        weights = tp + fn
        if self.average == "macro":
            drops = self.drops_absent and self.top_k > 1  # else only those without predictions too
            weights = (weights if drops else weights + fp) != 0
            # labels all count 1: torchmetrics drops absent classes of "multiclass" only
            weights = (tp + 1 != 0) if self.is_multilabel else weights
        return average_classes(self.score(*stats), self.average, weights)

    def wrong(self) -> Any:
        return self._wrong() if self.validate_args else ()

    def _wrong(self) -> Any:
        raise NotImplementedError

    def check(self, counts: Sequence[int]) -> None:
        if any(counts):
            raise ValueError(self._describe(*counts))

    def _describe(self, wrong: int) -> str:
        raise NotImplementedError


class LabelCounts(CountMetric):
    """Binary and multilabel counts: rows tp, predicted, actual, counted and invalid; a column per label."""

    labels = 1

    def _none(self) -> Tensor:
        return counts(0, 5, self.labels, device=self.device)

    def _count(self, yes: Tensor, target: Tensor) -> None:
        """Count a batch with labels in the last dim. [n, ..., labels] each"""
        target, ok, wrong = split(target, 2, self.ignore_index)
        actual = (target == 1) & ok
        self._add(rows(yes & actual, yes & ok, actual, ok, wrong))

    def stats(self) -> Stats:
        tp, predicted, actual, n, _ = self.total.unbind(-2)
        # n = tp + fp + tn + fn, predicted = tp + fp, actual = tp + fn
        return Stats(tp, predicted - tp, n - predicted - actual + tp, actual - tp)

    def _wrong(self) -> Any:
        return (self.total[..., 4, :].sum(),)

    def _describe(self, wrong: int) -> str:
        return (
            f"{self.name}.compute(): {wrong} targets were neither 0 nor 1: use those, or pass"
            " ignore_index for"
            " positions without a target"
        )


class Binary(LabelCounts):
    """One label per element: preds are probabilities, logits or 0 and 1. [n, ...] and [n, ...]"""

    average = "binary"
    # as in torchmetrics, scores of ignored targets also decide whether preds are logits
    ignored_are_seen = True

    def __init__(
        self,
        threshold: float = 0.5,
        multidim_average: str = "global",
        ignore_index: int | None = None,
        validate_args: bool = True,
        zero_division: float = 0.0,
        device: DeviceLike | None = None,
    ):
        """Take the options of the score.

        threshold: the probability above which a prediction is positive
        multidim_average: "global", or "samplewise" for one value per sample
        ignore_index: a target that is ignored
        validate_args: whether compute raises if a target is not a class
        zero_division: the score if the denominator is 0
        Raises ValueError if an argument is not valid.
        """
        super().__init__(device)
        check_threshold(self.name, threshold)
        check_shared(self.name, ignore_index, multidim_average)
        self.threshold, self.ignore_index, self.zero_division = threshold, ignore_index, zero_division
        self.validate_args = validate_args
        self._keep(multidim_average, 5, 1)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch. [n, ...] and [n, ...]; ValueError if shapes differ or targets are floats."""
        check_pair(self, preds, target)
        if self.samplewise and preds.ndim < 2:
            refuse(self, preds, target, 'a sample has nothing to average: leave out "samplewise"')
        sees_all = self.ignored_are_seen or self.ignore_index is None
        yes = is_one(preds, self.threshold, None if sees_all else target != self.ignore_index)
        self._count(yes.unsqueeze(-1), target.unsqueeze(-1))

    def compute(self) -> Any:
        """Return the score (one per sample for "samplewise")."""
        return self.score(*self.stats().total())

    def shared_key(self) -> Any:
        sees_all = self.ignored_are_seen or self.ignore_index is None
        key = ("binary", self.threshold, self.ignore_index, sees_all, str(self.device))
        return None if self.samplewise else key


class Multilabel(LabelCounts):
    """Several binary labels: preds are probabilities, logits or 0 and 1. [n, labels, ...] both"""

    is_multilabel = True

    def __init__(
        self,
        num_labels: int,
        threshold: float = 0.5,
        average: str | None = "macro",
        multidim_average: str = "global",
        ignore_index: int | None = None,
        validate_args: bool = True,
        zero_division: float = 0.0,
        device: DeviceLike | None = None,
    ):
        """Take the options of the score.

        num_labels: the number of labels
        threshold: the probability above which a prediction is positive
        average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
        multidim_average: "global", or "samplewise" for one value per sample
        ignore_index: a target that is ignored
        validate_args: whether compute raises if a target is not a class
        zero_division: the score if the denominator is 0
        Raises ValueError if an argument is not valid.
        """
        super().__init__(device)
        check_count(self.name, "num_labels", num_labels, 2)
        check_threshold(self.name, threshold)
        check_option(self.name, "average", average, AVERAGES)
        check_shared(self.name, ignore_index, multidim_average)
        self.labels = self.num_labels = num_labels
        self.threshold, self.average, self.ignore_index = threshold, average, ignore_index
        self.validate_args, self.zero_division = validate_args, zero_division
        self._keep(multidim_average, 5, num_labels)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch. [n, labels, ...] both; ValueError if shapes differ, dim 1 is not the labels,
        or targets are floats."""
        check_pair(self, preds, target)
        if preds.ndim < 2 or preds.shape[1] != self.num_labels:
            refuse(
                self,
                preds,
                target,
                f"dim 1 is not the {self.num_labels} labels: pass [n, {self.num_labels}, ...]",
            )
        if self.samplewise and preds.ndim < 3:
            refuse(self, preds, target, 'a sample has nothing to average: leave out "samplewise"')
        self._count(is_one(preds, self.threshold).movedim(1, -1), target.movedim(1, -1))

    def shared_key(self) -> Any:
        key = ("multilabel", self.num_labels, self.threshold, self.ignore_index, str(self.device))
        return None if self.samplewise else key


class Multiclass(CountMetric):
    """One class of several: preds are scores of classes or classes. [n, c, ...] or [n, ...], and [n, ...]

    The counts are rows of hits, predicted and actual, with a column per class and one for invalid labels.
    With average="micro" they are one column, with rows hits, counted and invalid.
    """

    def __init__(
        self,
        num_classes: int,
        top_k: int = 1,
        average: str | None = "macro",
        multidim_average: str = "global",
        ignore_index: int | None = None,
        validate_args: bool = True,
        zero_division: float = 0.0,
        device: DeviceLike | None = None,
    ):
        """Take the options of the score.

        num_classes: the number of classes
        top_k: a prediction is correct if the target is among the k highest scores
        average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
        multidim_average: "global", or "samplewise" for one value per sample
        ignore_index: a target that is ignored
        validate_args: whether compute raises if a target is not a class
        zero_division: the score if the denominator is 0
        Raises ValueError if an argument is not valid.
        """
        super().__init__(device)
        check_count(self.name, "num_classes", num_classes, 2)
        check_count(self.name, "top_k", top_k, 1)
        check_option(self.name, "average", average, AVERAGES)
        check_shared(self.name, ignore_index, multidim_average)
        if top_k > num_classes:
            raise ValueError(
                f"{self.name}(num_classes={num_classes}, top_k={top_k}): top_k exceeds the"
                " number of classes: pass a smaller top_k"
            )
        self.num_classes, self.top_k, self.average = num_classes, top_k, average
        self.ignore_index = ignore_index
        self.validate_args, self.zero_division = validate_args, zero_division
        # micro needs no class counts: 3 numbers instead of 3 (c + 1), and one kernel less
        is_micro = average == "micro" and multidim_average == "global"
        self._keep(multidim_average, 3, 1 if is_micro else num_classes + 1)

    @property
    def is_micro(self) -> bool:
        """Whether counts are kept of all classes together."""
        return not self.samplewise and self.states["counts"].shape[-1] == 1

    def _none(self) -> Tensor:
        return counts(0, 3, self.num_classes + 1, device=self.device)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch. [n, c, ...] or [n, ...], and [n, ...]; ValueError for shapes that do not fit, or
        targets that are floats."""
        check_classes(self, preds, target)
        if self.samplewise and target.ndim < 2:
            refuse(self, preds, target, 'a sample has nothing to average: leave out "samplewise"')
        target, ok, wrong = split(target, self.num_classes, self.ignore_index)
        predicted = top_label(preds, target, self.top_k) if preds.ndim > target.ndim else preds.int()
        invalid = ((predicted < 0) | (predicted >= self.num_classes)) & ok
        if self.is_micro:
            return self._add(rows((predicted == target) & ok, ok, wrong | invalid).unsqueeze(-1))
        # Labels: a class, num_classes if invalid, -1 if not counted (it equals no column).
        none = self.num_classes
        hit, predicted = (
            ((predicted == target) & ok).where(target, -1),
            ok.where(invalid.where(none, predicted), -1),
        )
        label = rows(hit, predicted, ok.where(target, wrong.where(none, -1)))
        self._add(label.unsqueeze(-1) == arange(none + 1, dtype=int32, device=target.device))

    def stats(self) -> Stats:
        total = self.total
        if self.is_micro:
            tp, n, _ = total.unbind(-2)
            # Of c classes, a miss is one fp and one fn; the other classes of each element are tn.
            missed = n - tp
            return Stats(tp, missed, n * (self.num_classes - 2) + tp, missed)
        tp, predicted, actual = total[..., : self.num_classes].unbind(-2)
        # every counted element has one target class, so their sum is the number of elements
        n = actual.sum(-1, keepdim=True)
        return Stats(tp, predicted - tp, n - predicted - actual + tp, actual - tp)

    def shared_key(self) -> Any:
        if self.samplewise:
            return None
        return ("multiclass", self.num_classes, self.top_k, self.ignore_index, str(self.device))

    def _wrong(self) -> Any:
        total = self.total
        if self.is_micro:
            return (total[2].sum(),)
        return (total[..., self.num_classes].sum(),)

    def _describe(self, wrong: int) -> str:
        return describe_classes(self.name, self.num_classes, wrong)


def check_classes(metric: Any, preds: Tensor, target: Tensor) -> None:
    """Raise ValueError if predictions are neither class scores nor classes, or if targets are floats."""
    check_labels(metric, preds, target)
    scores = f"[n, {metric.num_classes}, ...]"
    if preds.ndim == target.ndim + 1:
        shape = (preds.shape[0], *preds.shape[2:])
        if preds.shape[1] != metric.num_classes or shape != target.shape or not preds.dtype.is_float:
            refuse(metric, preds, target, f"scores are floats {scores} for targets [n, ...]: pass those")
        return
    check_pair(metric, preds, target)
    if metric.top_k > 1 or preds.dtype.is_float:
        reason = f"top_k={metric.top_k} needs" if metric.top_k > 1 else "floats are"
        refuse(metric, preds, target, f"{reason} scores of classes: pass {scores}")


def describe_classes(name: str, num_classes: int, wrong: int) -> str:
    return (
        f"{name}.compute(): {wrong} targets or predictions were not classes of 0 to {num_classes - 1}: use"
        " those, or pass ignore_index for positions without a class"
    )


def five(stats: Stats) -> Tensor:
    """Stack tp, fp, tn, fn and support in a new last dim."""
    tp, fp, tn, fn = stats
    return stack([tp, fp, tn, fn, tp + fn], -1)
