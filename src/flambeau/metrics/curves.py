"""Areas under curves, from binned scores (a state of fixed size) or from all scores."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..core.dtype import float32, int32
from ..core.tree import is_sequence
from ..device import DeviceLike
from ..functions import arange, bincount, bucketize, cat, searchsorted, trapezoid
from ..nn.functional import pad
from ..ops.creation import linspace
from ..tensor import Tensor, tensor
from .inputs import (
    by_sigmoid,
    check_count,
    check_labels,
    check_option,
    check_pair,
    check_shared,
    refuse,
    split,
)
from .metric import Metric
from .scores import ratio
from .states import counts
from .task_dispatch import TaskClass

# "micro" has no meaning for a curve of one class against the others.
CURVE_AVERAGES = ("macro", "weighted", "none", None)

Thresholds = int | Sequence[float] | Tensor | None  # a number of thresholds, or thresholds


class CurveMetric(Metric):
    """The state of a curve for each label (or class): the counts of scores between thresholds, or without
    thresholds all scores and targets."""

    labels = 1
    average: str | None = "binary"
    validate_args = True
    higher_is_better = True
    ignore_index: int | None
    thresholds: Tensor | None

    def _keep(self, thresholds: Thresholds, ignore_index: int | None, validate_args: bool) -> None:
        check_shared(self.name, ignore_index)
        self.ignore_index, self.validate_args = ignore_index, validate_args
        self.thresholds = thresholds_tensor(self.name, thresholds, self.device)
        if self.thresholds is None:
            self.add_state("preds", [], "cat")
            self.add_state("target", [], "cat")
        else:
            self.cells = self.thresholds.shape[0] + 1
            self.add_state("bins", counts(self.labels * 2 * self.cells + 1, device=self.device), "sum")

    def _add(self, scores: Tensor, target: Tensor, ok: Tensor, wrong: Tensor) -> None:
        """Count scores from 0 to 1 with their targets (0 or 1), whether each counts, and whether its
        target is invalid. [labels, n] each"""
        if self.thresholds is None:
            self.states["preds"].append(scores)
            self.states["target"].append(wrong.where(-2, ok.where(target.int(), -1)))
            return
        # Bins are [label, target, place between thresholds]. The last one counts invalid targets; ignored
        # elements get an index beyond it, which bincount drops.
        # right=True: a score equal to threshold i lies at or above it, in cell i + 1. Cells: k + 1 for k
        # thresholds.
        place = bucketize(scores, self.thresholds, right=True, out_int32=True)
        label = arange(scores.shape[0], dtype=int32, device=scores.device).unsqueeze(1)
        cell = (label * 2 + target.int()) * self.cells + place
        last = self.labels * 2 * self.cells
        cell = ok.where(cell, wrong.where(last, last + 1))
        self.states["bins"].replace_(self.states["bins"] + bincount(cell.reshape(-1), length=last + 1))

    def all_scores(self) -> tuple[Tensor, Tensor]:
        """Return all scores and targets: 1 or 0, -1 if ignored, -2 if invalid. [labels, n] both"""
        if not self.states["preds"]:
            # no batch yet: cat needs at least one tensor
            none = Tensor.zeros((self.labels, 0), device=self.device)
            return none, none.int()
        return cat(self.states["preds"], 1), cat(self.states["target"], 1)

    def wrong(self) -> Any:
        if not self.validate_args:
            return ()
        return ((self.all_scores()[1] == -2).sum() if self.thresholds is None else self.states["bins"][-1],)

    def check(self, counts: Sequence[int]) -> None:
        if any(counts):
            problem = "neither 0 nor 1" if self.labels_are_bits else f"not classes of 0 to {self.labels - 1}"
            raise ValueError(
                f"{self.name}.compute(): {counts[0]} targets were {problem}: use those, or pass"
                " ignore_index for"
                " positions without a target"
            )

    labels_are_bits = True

    def shared_key(self) -> Any:
        """Curves of the same scores share their state if their thresholds are equal."""
        # AUROC and average precision of the same scores differ only in compute.
        kind = next(k for k in (BinaryScores, MulticlassScores, MultilabelScores) if isinstance(self, k))
        bins = None if self.thresholds is None else self.thresholds_key
        return ("curve", kind.__name__, self.labels, self.ignore_index, bins, str(self.device))

    # --- points ---

    def points(self) -> tuple[Tensor, Tensor]:
        """Count true and false positives at each threshold, from the highest to the lowest. [labels, n]
        both"""
        if self.thresholds is None:
            ranked = Ranked(*self.all_scores())
            return ranked.tps.flip(1), ranked.fps.flip(1)
        bins = self.states["bins"][:-1].reshape(self.labels, 2, self.cells)
        # counts at or above each threshold: all, less the cumulative counts below it
        above = (bins.sum(2, keepdim=True) - bins.cumsum(2))[:, :, :-1].flip(2)
        return above[:, 1], above[:, 0]

    def target_counts(self) -> tuple[Tensor, Tensor]:
        """Count the positive and the negative targets. [labels] both"""
        if self.thresholds is None:
            target = self.all_scores()[1]
            return (target == 1).sum(1), (target == 0).sum(1)
        bins = self.states["bins"][:-1].reshape(self.labels, 2, self.cells).sum(2)
        return bins[:, 1], bins[:, 0]

    def average_areas(self, area: Tensor) -> Tensor:
        """Average the areas of labels. Labels with an undefined area (NaN) are skipped."""
        if self.average == "binary":
            return area[0]
        if self.average in (None, "none"):
            return area
        # A class without positives, or without negatives, has no area (0 / 0): leave it out of the mean.
        ok = ~area.isnan()
        weights = ok.to(float32) * (
            self.target_counts()[0].to(float32) if self.average == "weighted" else 1.0
        )
        total = ratio(weights * ok.where(area, 0.0), weights.sum()).sum()
        return total if self.average == "weighted" else ok.any().where(total, float("nan"))


class Ranked:
    """Sorted scores, with the true and false positives if each score is the threshold. [labels, n]"""

    def __init__(self, preds: Tensor, target: Tensor):
        # ascending; `ones[i]` counts the positives among the i lowest scores, so the rest lie at or above i
        order = preds.argsort(1)
        scores, target = preds.take_along_dim(order, 1), target.take_along_dim(order, 1)
        self.is_one = target == 1
        self.ones, self.others = (
            _cumulative_sums(self.is_one),
            _cumulative_sums(target == 0),
        )  # [labels, n + 1]
        # Equal scores share one threshold: `first` and `behind` bound the run of scores equal to each.
        self.first = searchsorted(scores, scores)
        self.behind = searchsorted(scores, scores, right=True)
        self.tps = self.ones[:, -1:] - self.ones.take_along_dim(self.first, 1)
        self.fps = self.others[:, -1:] - self.others.take_along_dim(self.first, 1)


def _cumulative_sums(x: Tensor) -> Tensor:
    """Return exclusive cumulative sums, with the total at the end. [labels, n] -> [labels, n + 1]"""
    return pad(x.long().cumsum(1), (1, 0))


def thresholds_tensor(name: str, thresholds: Thresholds, device: DeviceLike | None) -> Tensor | None:
    """Convert thresholds to a tensor: a number of evenly spaced ones from 0 to 1, or a list. ValueError
    for others."""
    if thresholds is None:
        return None
    rule = "must be None, a count of at least 2, or increasing numbers from 0 to 1: pass one of these"
    if isinstance(thresholds, int):
        if thresholds < 2:
            raise ValueError(f"{name}(thresholds={thresholds}): {rule}")
        return linspace(0, 1, thresholds, device=device)
    values = thresholds.tolist() if isinstance(thresholds, Tensor) else list(thresholds)
    # equal thresholds are allowed
    is_sorted = all(a <= b for a, b in pairwise(values))
    if not values or not is_sorted or not all(0 <= v <= 1 for v in values):
        raise ValueError(f"{name}(thresholds={values}): {rule}")
    return tensor(values, dtype=float32, device=device)


class BinaryScores(CurveMetric):
    """Binary scores: one probability or logit per element."""

    def __init__(
        self,
        thresholds: Thresholds = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        device: DeviceLike | None = None,
    ):
        """Take the options of the score.

        thresholds: None keeps all scores; a number of thresholds from 0 to 1, or increasing thresholds,
            keeps the counts between them
        ignore_index: a target that is ignored
        validate_args: whether compute raises if a target is not a class
        Raises ValueError if an argument is not valid.
        """
        super().__init__(device)
        self.thresholds_key = _key_of(thresholds)
        self._keep(thresholds, ignore_index, validate_args)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count probabilities or logits. [n, ...] both; ValueError if shapes differ, scores are not
        floats, or targets are."""
        check_pair(self, preds, target)
        check_scores(self, preds, target)
        target, ok, wrong = split(target.reshape(1, -1), 2, self.ignore_index)
        # Logits are recognised by a score outside of 0 to 1, of elements that are not ignored. The decision
        # stays on the device.
        x = preds.reshape(1, -1).to(float32)
        seen = target != self.ignore_index if self.ignore_index is not None else target == target
        is_outside = (((x < 0) | (x > 1)) & seen).any()
        self._add(is_outside.where(x.sigmoid(), x), target, ok, wrong)


class MulticlassScores(CurveMetric):
    """Multiclass scores: a binary curve of each class against all others."""

    labels_are_bits = False

    def __init__(
        self,
        num_classes: int,
        average: str | None = "macro",
        thresholds: Thresholds = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        device: DeviceLike | None = None,
    ):
        """Take the options of the score.

        num_classes: the number of classes
        average: over classes: "macro", "weighted" (by targets) or "none"
        thresholds: None keeps all scores; a number of thresholds from 0 to 1, or increasing thresholds,
            keeps the counts between them
        ignore_index: a target that is ignored
        validate_args: whether compute raises if a target is not a class
        Raises ValueError if an argument is not valid.
        """
        super().__init__(device)
        check_count(self.name, "num_classes", num_classes, 2)
        check_option(self.name, "average", average, CURVE_AVERAGES)
        self.labels = self.num_classes = num_classes
        self.average, self.thresholds_key = average, _key_of(thresholds)
        self._keep(thresholds, ignore_index, validate_args)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count probabilities or logits. [n, c, ...] and [n, ...]; ValueError for shapes that do not fit,
        scores that are not floats, or targets that are."""
        check_labels(self, preds, target)
        check_scores(self, preds, target)
        if (
            preds.ndim != target.ndim + 1
            or preds.shape[1] != self.labels
            or ((preds.shape[0], *preds.shape[2:]) != target.shape)
        ):
            refuse(self, preds, target, f"pass scores [n, {self.labels}, ...] for targets [n, ...]")
        x = preds.movedim(1, 0).reshape(self.labels, -1).to(float32)
        target, ok, wrong = split(target.reshape(1, -1), self.labels, self.ignore_index)
        seen = target != self.ignore_index if self.ignore_index is not None else target == target
        is_outside = (((x < 0) | (x > 1)) & seen).any()
        classes = arange(self.labels, dtype=int32, device=x.device).unsqueeze(1)
        # count each invalid target once, not per class
        # [c, n]: each element is one sample of every class's binary curve
        ok, wrong = ok.expand(self.labels, -1), wrong & (classes == 0)
        self._add(is_outside.where(x.softmax(0), x), target == classes, ok, wrong)


class MultilabelScores(CurveMetric):
    """Multilabel scores: a binary curve of each label."""

    def __init__(
        self,
        num_labels: int,
        average: str | None = "macro",
        thresholds: Thresholds = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        device: DeviceLike | None = None,
    ):
        """Take the options of the score.

        num_labels: the number of labels
        average: over labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
        thresholds: None keeps all scores; a number of thresholds from 0 to 1, or increasing thresholds,
            keeps the counts between them
        ignore_index: a target that is ignored
        validate_args: whether compute raises if a target is not a class
        Raises ValueError if an argument is not valid.
        """
        super().__init__(device)
        check_count(self.name, "num_labels", num_labels, 2)
        check_option(self.name, "average", average, ("micro", *CURVE_AVERAGES))
        self.labels = self.num_labels = num_labels
        self.average, self.thresholds_key = average, _key_of(thresholds)
        self._keep(thresholds, ignore_index, validate_args)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count probabilities or logits. [n, labels, ...] both; ValueError if shapes differ, dim 1 is
        not the labels, scores are not floats, or targets are."""
        check_pair(self, preds, target)
        check_scores(self, preds, target)
        if preds.ndim < 2 or preds.shape[1] != self.labels:
            refuse(
                self, preds, target, f"dim 1 is not the {self.labels} labels: pass [n, {self.labels}, ...]"
            )
        target, ok, wrong = split(target.movedim(1, 0).reshape(self.labels, -1), 2, self.ignore_index)
        self._add(by_sigmoid(preds).movedim(1, 0).reshape(self.labels, -1), target, ok, wrong)

    def all_scores(self) -> tuple[Tensor, Tensor]:
        scores, target = super().all_scores()
        return (scores.reshape(1, -1), target.reshape(1, -1)) if self.average == "micro" else (scores, target)

    def points(self) -> tuple[Tensor, Tensor]:
        return self._pool_labels(super().points())

    def target_counts(self) -> tuple[Tensor, Tensor]:
        return self._pool_labels(super().target_counts())

    def _pool_labels(self, pair: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """For average="micro", sum the counts over all labels."""
        if self.average != "micro":
            return pair
        return pair[0].sum(0, keepdim=True), pair[1].sum(0, keepdim=True)

    def average_areas(self, area: Tensor) -> Tensor:
        return area[0] if self.average == "micro" else super().average_areas(area)


def check_scores(metric: Metric, preds: Tensor, target: Tensor) -> None:
    if not preds.dtype.is_float:
        refuse(metric, preds, target, "scores are floats: pass probabilities or logits")


def _key_of(thresholds: Thresholds) -> Any:
    """Return thresholds as a hashable key."""
    values = thresholds.tolist() if isinstance(thresholds, Tensor) else thresholds
    return tuple(values) if is_sequence(values) else values


class ROCArea(CurveMetric):
    """The area under the ROC curve: true positive rate over false positive rate."""

    max_fpr: float | None = None

    def compute(self) -> Any:
        """Return the area, or one per class for average="none"."""
        ones, others = self.target_counts()
        if self.thresholds is None and self.max_fpr is None:
            return self.average_areas(self._pairs(ones, others))
        tps, fps = self.points()
        start = 0 if self.thresholds is not None else 1  # without thresholds the curve starts at (0, 0)
        x = pad(ratio(fps, others.unsqueeze(1)), (start, 0))
        y = pad(ratio(tps, ones.unsqueeze(1)), (start, 0))
        if self.max_fpr is None:
            return self.average_areas(trapezoid(y, x, dim=1))
        return self.average_areas(_scale_partial(x, y, self.max_fpr))

    def _pairs(self, ones: Tensor, others: Tensor) -> Tensor:
        """Compute the area as the fraction of (positive, negative) pairs in which the positive scores
        higher. A tie counts half. Counting in integers (in halves) keeps it exact."""
        ranked = Ranked(*self.all_scores())
        lower = ranked.others.take_along_dim(ranked.first, 1) + ranked.others.take_along_dim(ranked.behind, 1)
        # Mann and Whitney's (1947) U: per positive, twice the negatives below it plus those that tie
        pairs = (ranked.is_one.where(lower, 0)).sum(1)
        return ratio(pairs, 2 * ones * others)


def _scale_partial(x: Tensor, y: Tensor, most: float) -> Tensor:
    """Scale the area up to the false positive rate `most`: 0.5 for chance, 1 for a perfect score
    (McClish, 1989).
    [labels, n] -> [labels]"""
    total = trapezoid(y, x, dim=1)
    x0, x1, y0, y1 = x[:, :-1], x[:, 1:], y[:, :-1], y[:, 1:]
    # The segment that crosses `most` is cut there, with y interpolated linearly.
    end = x1.clamp(max=most)
    width = (end - x0).clamp(min=0)
    at_end = y0 + (y1 - y0) * ratio(width, x1 - x0)
    area = (width * (y0 + at_end) / 2).sum(1)
    least = 0.5 * most**2  # the area of the diagonal, which is chance
    scaled = 0.5 * (1 + (area - least) / (most - least))
    return ((x.sum(1) == 0) | (y.sum(1) == 0)).where(total, scaled)


class PrecisionArea(CurveMetric):
    """Average precision: the mean of precisions, weighted by the increase of recall at each threshold."""

    is_nan_without_ones = False

    def compute(self) -> Any:
        """Return the area, or one per class for average="none"."""
        tps, fps = self.points()
        ones = self.target_counts()[0]
        precision, recall = ratio(tps, tps + fps), ratio(tps, ones.unsqueeze(1))
        # sum of (R_i - R_(i-1)) P_i, a step function: no interpolation, as in scikit-learn's
        # average_precision_score
        recall_steps = recall - pad(recall[:, :-1], (1, 0)) if recall.shape[1] else recall
        area = (recall_steps * precision).sum(1)
        # torchmetrics: a multiclass class without positives is NaN, a binary or multilabel one 0
        if self.thresholds is None and self.is_nan_without_ones:
            area = (ones == 0).where(float("nan"), area)
        return self.average_areas(area)


class BinaryAUROC(ROCArea, BinaryScores):
    """The area under the ROC curve: the probability that a positive scores higher than a negative.

    max_fpr: the area up to this false positive rate, scaled so that chance is 0.5. thresholds: None keeps all
    scores; a number of thresholds from 0 to 1, or increasing thresholds, keeps the counts between them.
    ignore_index: a target that is ignored
    validate_args: whether compute raises if a target is not a class
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        max_fpr: float | None = None,
        thresholds: Thresholds = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        device: DeviceLike | None = None,
    ):
        super().__init__(thresholds, ignore_index, validate_args, device)
        if max_fpr is not None and not 0 < max_fpr <= 1:
            raise ValueError(
                f"{self.name}(max_fpr={max_fpr!r}): must be a rate above 0 and at most 1: pass one"
            )
        self.max_fpr = None if max_fpr == 1 else max_fpr


class MulticlassAUROC(ROCArea, MulticlassScores):
    """The area under the ROC curve of each class against all others, averaged."""


class MultilabelAUROC(ROCArea, MultilabelScores):
    """The area under the ROC curve of each label, averaged."""


class BinaryAveragePrecision(PrecisionArea, BinaryScores):
    """The area under the precision-recall curve, as a step function."""


class MulticlassAveragePrecision(PrecisionArea, MulticlassScores):
    """The area under the precision-recall curve of each class against all others, averaged."""

    is_nan_without_ones = True


class MultilabelAveragePrecision(PrecisionArea, MultilabelScores):
    """The area under the precision-recall curve of each label, averaged."""


class AUROC(TaskClass):
    """BinaryAUROC, MulticlassAUROC or MultilabelAUROC, by the task."""

    by_task = {"binary": BinaryAUROC, "multiclass": MulticlassAUROC, "multilabel": MultilabelAUROC}

    def __new__(  # pyright: ignore[reportInconsistentConstructor]
        cls,
        task: str,
        thresholds: Thresholds = None,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "macro",
        max_fpr: float | None = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        device: DeviceLike | None = None,
    ) -> Metric:
        """Create the metric of a task.

        task: "binary", "multiclass" or "multilabel"
        thresholds: None keeps all scores; a number of thresholds from 0 to 1, or increasing thresholds,
            keeps the counts between them
        num_classes, num_labels: the number of classes for "multiclass", of labels for "multilabel"
        average: over classes or labels: "macro", "weighted" (by targets) or "none"; over labels also "micro"
            (of all counts)
        max_fpr: for "binary", the area up to this false positive rate, scaled so that chance is 0.5
        ignore_index: a target that is ignored
        validate_args: whether compute raises if a target is not a class
        Raises ValueError for another task; TypeError for an option that the task lacks.
        """
        return cls.of_task(locals())


class AveragePrecision(TaskClass):
    """BinaryAveragePrecision, MulticlassAveragePrecision or MultilabelAveragePrecision, by the task. The
    default average is "macro"."""

    by_task = {
        "binary": BinaryAveragePrecision,
        "multiclass": MulticlassAveragePrecision,
        "multilabel": MultilabelAveragePrecision,
    }

    def __new__(  # pyright: ignore[reportInconsistentConstructor]
        cls,
        task: str,
        thresholds: Thresholds = None,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "macro",
        ignore_index: int | None = None,
        validate_args: bool = True,
        device: DeviceLike | None = None,
    ) -> Metric:
        """Create the metric of a task.

        task: "binary", "multiclass" or "multilabel"
        thresholds: None keeps all scores; a number of thresholds from 0 to 1, or increasing thresholds,
            keeps the counts between them
        num_classes, num_labels: the number of classes for "multiclass", of labels for "multilabel"
        average: over classes or labels: "macro", "weighted" (by targets) or "none"; over labels also "micro"
            (of all counts)
        ignore_index: a target that is ignored
        validate_args: whether compute raises if a target is not a class
        Raises ValueError for another task; TypeError for an option that the task lacks.
        """
        return cls.of_task(locals())
