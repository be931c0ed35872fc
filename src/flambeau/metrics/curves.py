"""Areas under curves: of scores in bins (a state of fixed size), or of all scores that there were."""

from itertools import pairwise
from typing import Any

from ..core.dtype import float32, int32
from ..core.tree import is_sequence
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
from .task_dispatch import TaskDoor

CURVE_AVERAGES = ("macro", "weighted", "none", None)


class Scored(Metric):
    """Keeps what curves are made of, of each label (or class): with thresholds, how many scores lie between
    two; without, the scores and targets themselves."""

    labels = 1
    average: str | None = "binary"
    validate_args = True
    higher_is_better = True
    ignore_index: int | None
    thresholds: Tensor | None

    def _keep(self, thresholds: Any, ignore_index: int | None, validate_args: bool) -> None:
        check_shared(self.name, ignore_index)
        self.ignore_index, self.validate_args = ignore_index, validate_args
        self.thresholds = made_thresholds(self.name, thresholds, self.device)
        if self.thresholds is None:
            self.add_state("preds", [], "cat")
            self.add_state("target", [], "cat")
        else:
            self.cells = self.thresholds.shape[0] + 1
            self.add_state("bins", counts(self.labels * 2 * self.cells + 1, device=self.device), "sum")

    def _add(self, scores: Tensor, target: Tensor, ok: Tensor, wrong: Tensor) -> None:
        """Count in scores from 0 to 1, and whether each is to be a one, counts, and is wrong.
        [labels, n] each"""
        if self.thresholds is None:
            self.states["preds"].append(scores)
            self.states["target"].append(wrong.where(-2, ok.where(target.int(), -1)))
            return
        place = bucketize(scores, self.thresholds, right=True, out_int32=True)
        label = arange(scores.shape[0], dtype=int32, device=scores.device).unsqueeze(1)
        cell = (label * 2 + target.int()) * self.cells + place
        last = self.labels * 2 * self.cells
        cell = ok.where(cell, wrong.where(last, last + 1))
        self.states["bins"].replace_(self.states["bins"] + bincount(cell.reshape(-1), length=last + 1))

    def kept(self) -> tuple[Tensor, Tensor]:
        """All scores and targets (1, 0, or below 0 for what is ignored). [labels, n] both"""
        if not self.states["preds"]:
            none = Tensor.zeros((self.labels, 0), device=self.device)
            return none, none.int()
        return cat(self.states["preds"], 1), cat(self.states["target"], 1)

    def wrong(self) -> Any:
        if not self.validate_args:
            return ()
        return ((self.kept()[1] == -2).sum() if self.thresholds is None else self.states["bins"][-1],)

    def check(self, counts: Any) -> None:
        if any(counts):
            known = "neither 0 nor 1" if self.labels_are_bits else f"no class of 0 to {self.labels - 1}"
            raise ValueError(
                f"{self.name}.compute(): {counts[0]} targets were {known}: use those, or pass"
                " ignore_index for"
                " positions without a target"
            )

    labels_are_bits = True

    def shared_key(self) -> Any:
        """All curves of the same scores: those in bins share them where the thresholds are the same."""
        kind = next(k for k in (OneScore, ScoreOfEachClass, ScoreOfEachLabel) if isinstance(self, k))
        bins = None if self.thresholds is None else self.thresholds_key
        return ("curve", kind.__name__, self.labels, self.ignore_index, bins, str(self.device))

    # --- points ---

    def points(self) -> tuple[Tensor, Tensor]:
        """True and false positives for each threshold from the highest to the lowest. [labels, n] both"""
        if self.thresholds is None:
            ranked = Ranked(*self.kept())
            return ranked.tps.flip(1), ranked.fps.flip(1)
        bins = self.states["bins"][:-1].reshape(self.labels, 2, self.cells)
        above = (bins.sum(2, keepdim=True) - bins.cumsum(2))[:, :, :-1].flip(2)
        return above[:, 1], above[:, 0]

    def sums(self) -> tuple[Tensor, Tensor]:
        """How many are ones, and how many are not. [labels] both"""
        if self.thresholds is None:
            target = self.kept()[1]
            return (target == 1).sum(1), (target == 0).sum(1)
        bins = self.states["bins"][:-1].reshape(self.labels, 2, self.cells).sum(2)
        return bins[:, 1], bins[:, 0]

    def averaged(self, area: Tensor) -> Tensor:
        """Areas of labels averaged, without those that are not defined."""
        if self.average == "binary":
            return area[0]
        if self.average in (None, "none"):
            return area
        ok = ~area.isnan()
        weights = ok.to(float32) * (self.sums()[0].to(float32) if self.average == "weighted" else 1.0)
        total = ratio(weights * ok.where(area, 0.0), weights.sum()).sum()
        return total if self.average == "weighted" else ok.any().where(total, float("nan"))


class Ranked:
    """Scores in order, and how many ones and others are no lower than each. [labels, n]"""

    def __init__(self, preds: Tensor, target: Tensor):
        order = preds.argsort(1)
        scores, target = preds.take_along_dim(order, 1), target.take_along_dim(order, 1)
        self.is_one = target == 1
        self.ones, self.others = (
            _cumulative_sums(self.is_one),
            _cumulative_sums(target == 0),
        )  # [labels, n + 1]
        self.first = searchsorted(scores, scores)  # where those that are equal to it begin
        self.behind = searchsorted(scores, scores, right=True)
        self.tps = self.ones[:, -1:] - self.ones.take_along_dim(self.first, 1)
        self.fps = self.others[:, -1:] - self.others.take_along_dim(self.first, 1)


def _cumulative_sums(x: Tensor) -> Tensor:
    """Sums of what stands before each place, and of all. [labels, n] -> [labels, n + 1]"""
    return pad(x.long().cumsum(1), (1, 0))


def made_thresholds(name: str, thresholds: Any, device: Any) -> Tensor | None:
    """Thresholds as a tensor: a number of even ones from 0 to 1, or a list. ValueError for other values."""
    if thresholds is None:
        return None
    rule = "must be None, a count of at least 2, or increasing numbers from 0 to 1: pass one of these"
    if isinstance(thresholds, int):
        if thresholds < 2:
            raise ValueError(f"{name}(thresholds={thresholds}): {rule}")
        return linspace(0, 1, thresholds, device=device)
    values = thresholds.tolist() if isinstance(thresholds, Tensor) else list(thresholds)
    risen = all(a <= b for a, b in pairwise(values))
    if not values or not risen or not all(0 <= v <= 1 for v in values):
        raise ValueError(f"{name}(thresholds={values}): {rule}")
    return tensor(values, dtype=float32, device=device)


class OneScore(Scored):
    """A score for yes or no."""

    def __init__(
        self,
        thresholds: Any = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        device: Any = None,
    ):
        super().__init__(device)
        self.thresholds_key = _key_of(thresholds)
        self._keep(thresholds, ignore_index, validate_args)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count in probabilities or logits. [n, ...] both; ValueError if shapes differ, scores are no
        floats, or targets are."""
        check_pair(self, preds, target)
        check_scores(self, preds, target)
        target, ok, wrong = split(target.reshape(1, -1), 2, self.ignore_index)
        x = preds.reshape(1, -1).to(float32)
        seen = target != self.ignore_index if self.ignore_index is not None else target == target
        is_outside = (((x < 0) | (x > 1)) & seen).any()
        self._add(is_outside.where(x.sigmoid(), x), target, ok, wrong)


class ScoreOfEachClass(Scored):
    """Scores of classes: each class against all others."""

    labels_are_bits = False

    def __init__(
        self,
        num_classes: int,
        average: str | None = "macro",
        thresholds: Any = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        device: Any = None,
    ):
        super().__init__(device)
        check_count(self.name, "num_classes", num_classes, 2)
        check_option(self.name, "average", average, CURVE_AVERAGES)
        self.labels = self.num_classes = num_classes
        self.average, self.thresholds_key = average, _key_of(thresholds)
        self._keep(thresholds, ignore_index, validate_args)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count in probabilities or logits. [n, c, ...] and [n, ...]; ValueError for shapes that do not fit,
        scores that are no floats, or targets that are."""
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
        ok, wrong = ok.expand(self.labels, -1), wrong & (classes == 0)  # each wrong one once
        self._add(is_outside.where(x.softmax(0), x), target == classes, ok, wrong)


class ScoreOfEachLabel(Scored):
    """Scores of several labels."""

    def __init__(
        self,
        num_labels: int,
        average: str | None = "macro",
        thresholds: Any = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        device: Any = None,
    ):
        super().__init__(device)
        check_count(self.name, "num_labels", num_labels, 2)
        check_option(self.name, "average", average, ("micro", *CURVE_AVERAGES))
        self.labels = self.num_labels = num_labels
        self.average, self.thresholds_key = average, _key_of(thresholds)
        self._keep(thresholds, ignore_index, validate_args)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count in probabilities or logits. [n, labels, ...] both; ValueError if shapes differ, dim 1 is
        not the labels, scores are no floats, or targets are."""
        check_pair(self, preds, target)
        check_scores(self, preds, target)
        if preds.ndim < 2 or preds.shape[1] != self.labels:
            refuse(
                self, preds, target, f"dim 1 is not the {self.labels} labels: pass [n, {self.labels}, ...]"
            )
        target, ok, wrong = split(target.movedim(1, 0).reshape(self.labels, -1), 2, self.ignore_index)
        self._add(by_sigmoid(preds).movedim(1, 0).reshape(self.labels, -1), target, ok, wrong)

    def kept(self) -> tuple[Tensor, Tensor]:
        scores, target = super().kept()
        return (scores.reshape(1, -1), target.reshape(1, -1)) if self.average == "micro" else (scores, target)

    def points(self) -> tuple[Tensor, Tensor]:
        return self._one(super().points())

    def sums(self) -> tuple[Tensor, Tensor]:
        return self._one(super().sums())

    def _one(self, pair: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Counts of all labels together, for "micro"."""
        if self.average != "micro":
            return pair
        return pair[0].sum(0, keepdim=True), pair[1].sum(0, keepdim=True)

    def averaged(self, area: Tensor) -> Tensor:
        return area[0] if self.average == "micro" else super().averaged(area)


def check_scores(metric: Metric, preds: Tensor, target: Tensor) -> None:
    if not preds.dtype.is_float:
        refuse(metric, preds, target, "scores are floats: pass probabilities or logits")


def _key_of(thresholds: Any) -> Any:
    """Thresholds as a key."""
    values = thresholds.tolist() if isinstance(thresholds, Tensor) else thresholds
    return tuple(values) if is_sequence(values) else values


class UnderROC(Scored):
    """The area under true positive rates by false positive rates."""

    max_fpr: float | None = None

    def compute(self) -> Any:
        """The area, or one a class for average="none"."""
        ones, others = self.sums()
        if self.thresholds is None and self.max_fpr is None:
            return self.averaged(self._pairs(ones, others))
        tps, fps = self.points()
        start = 0 if self.thresholds is not None else 1  # all scores: the curve begins at (0, 0)
        x = pad(ratio(fps, others.unsqueeze(1)), (start, 0))
        y = pad(ratio(tps, ones.unsqueeze(1)), (start, 0))
        if self.max_fpr is None:
            return self.averaged(trapezoid(y, x, dim=1))
        return self.averaged(_partial(x, y, self.max_fpr))

    def _pairs(self, ones: Tensor, others: Tensor) -> Tensor:
        """The share of pairs of a one and another where the one is higher, ties being half: in integers."""
        ranked = Ranked(*self.kept())
        lower = ranked.others.take_along_dim(ranked.first, 1) + ranked.others.take_along_dim(ranked.behind, 1)
        pairs = (ranked.is_one.where(lower, 0)).sum(1)
        return ratio(pairs, 2 * ones * others)


def _partial(x: Tensor, y: Tensor, most: float) -> Tensor:
    """The area up to a false positive rate, 0.5 for chance and 1 for all (McClish, 1989). [labels, n]"""
    total = trapezoid(y, x, dim=1)
    x0, x1, y0, y1 = x[:, :-1], x[:, 1:], y[:, :-1], y[:, 1:]
    end = x1.clamp(max=most)
    width = (end - x0).clamp(min=0)
    at_end = y0 + (y1 - y0) * ratio(width, x1 - x0)
    area = (width * (y0 + at_end) / 2).sum(1)
    least = 0.5 * most**2
    scaled = 0.5 * (1 + (area - least) / (most - least))
    return ((x.sum(1) == 0) | (y.sum(1) == 0)).where(total, scaled)


class UnderPrecision(Scored):
    """The mean of precisions, each weighted by how much recall grows there."""

    nan_for_absent = False

    def compute(self) -> Any:
        """The area, or one a class for average="none"."""
        tps, fps = self.points()
        ones = self.sums()[0]
        precision, recall = ratio(tps, tps + fps), ratio(tps, ones.unsqueeze(1))
        grown = recall - pad(recall[:, :-1], (1, 0)) if recall.shape[1] else recall
        area = (grown * precision).sum(1)
        if self.thresholds is None and self.nan_for_absent:
            area = (ones == 0).where(float("nan"), area)
        return self.averaged(area)


class BinaryAUROC(UnderROC, OneScore):
    """The area under the ROC curve: the chance that a one has a higher score than another.

    max_fpr: up to that false positive rate, scaled so that chance is 0.5. thresholds: None keeps all scores;
    a number, or a list that rises, keeps counts between them.
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        max_fpr: float | None = None,
        thresholds: Any = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        device: Any = None,
    ):
        super().__init__(thresholds, ignore_index, validate_args, device)
        if max_fpr is not None and not 0 < max_fpr <= 1:
            raise ValueError(
                f"{self.name}(max_fpr={max_fpr!r}): must be a rate above 0 and at most 1: pass one"
            )
        self.max_fpr = None if max_fpr == 1 else max_fpr


class MulticlassAUROC(UnderROC, ScoreOfEachClass):
    """The area under the ROC curve of each class against all others, averaged.

    num_classes: how many classes there are
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    thresholds: None keeps all scores; how many (from 0 to 1), or numbers that rise, between which are
        counts
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    Raises ValueError if an argument is not valid.
    """


class MultilabelAUROC(UnderROC, ScoreOfEachLabel):
    """The area under the ROC curve of each label, averaged.

    num_labels: how many labels there are
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    thresholds: None keeps all scores; how many (from 0 to 1), or numbers that rise, between which are
        counts
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    Raises ValueError if an argument is not valid.
    """


class BinaryAveragePrecision(UnderPrecision, OneScore):
    """The area under precision by recall, in steps.

    thresholds: None keeps all scores; how many (from 0 to 1), or numbers that rise, between which are
        counts
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    Raises ValueError if an argument is not valid.
    """


class MulticlassAveragePrecision(UnderPrecision, ScoreOfEachClass):
    """The area under precision by recall of each class against all others, averaged.

    num_classes: how many classes there are
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    thresholds: None keeps all scores; how many (from 0 to 1), or numbers that rise, between which are
        counts
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    Raises ValueError if an argument is not valid.
    """

    nan_for_absent = True


class MultilabelAveragePrecision(UnderPrecision, ScoreOfEachLabel):
    """The area under precision by recall of each label, averaged.

    num_labels: how many labels there are
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    thresholds: None keeps all scores; how many (from 0 to 1), or numbers that rise, between which are
        counts
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    Raises ValueError if an argument is not valid.
    """


class AUROC(TaskDoor):
    """BinaryAUROC, MulticlassAUROC or MultilabelAUROC, by the task. The average is "macro" unless given.

    task: "binary", "multiclass" or "multilabel"
    options: those of that class
    Raises ValueError for another task.
    """

    by_task = {"binary": BinaryAUROC, "multiclass": MulticlassAUROC, "multilabel": MultilabelAUROC}
    average = "macro"


class AveragePrecision(TaskDoor):
    """BinaryAveragePrecision, MulticlassAveragePrecision or MultilabelAveragePrecision, by the task. The
    average is "macro" unless given.

    task: "binary", "multiclass" or "multilabel"
    options: those of that class
    Raises ValueError for another task.
    """

    by_task = {
        "binary": BinaryAveragePrecision,
        "multiclass": MulticlassAveragePrecision,
        "multilabel": MultilabelAveragePrecision,
    }
    average = "macro"
