"""Confusion matrices and the metrics computed from them."""

from collections.abc import Sequence
from typing import Any

from ..core.dtype import float32, int32
from ..device import DeviceLike
from ..functions import arange, bincount, stack
from ..tensor import Tensor
from .inputs import check_count, check_option, check_shared, split
from .metric import Metric
from .scores import (
    Binary,
    CountMetric,
    LabelCounts,
    Multiclass,
    Multilabel,
    average_classes,
    check_classes,
    describe_classes,
    ratio,
)
from .states import counts
from .task_dispatch import TaskClass

NORMALS = (None, "none", "true", "pred", "all")
DIMS = {"true": (-1,), "pred": (-2,), "all": (-2, -1)}


def normalise(table: Tensor, how: str | None) -> Tensor:
    """Divide counts by the sum of their row, column or table; 0 if that sum is 0. [..., c, c]"""
    if how in (None, "none"):
        return table
    return ratio(table, table.sum(DIMS[how], keepdim=True))


class TwoByTwo(LabelCounts):
    """[[tn, fp], [fn, tp]] from the counts of LabelCounts."""

    ignored_are_seen = False
    normalize: str | None = None

    def table(self) -> Tensor:
        # rows are targets 0 and 1, columns predictions 0 and 1
        tp, fp, tn, fn = self.stats()
        return stack([stack([tn, fp], -1), stack([fn, tp], -1)], -2)


class BinaryConfusionMatrix(TwoByTwo, Binary):
    """[[tn, fp], [fn, tp]]: rows are targets, columns predictions. [2, 2]

    threshold: the probability above which a prediction is positive
    ignore_index: a target that is ignored
    normalize: "true" divides by targets, "pred" by predictions, "all" by all; "none" or None counts
    validate_args: whether compute raises if a target is not a class
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        threshold: float = 0.5,
        ignore_index: int | None = None,
        normalize: str | None = None,
        validate_args: bool = True,
        device: DeviceLike | None = None,
    ):
        super().__init__(threshold, "global", ignore_index, validate_args, device=device)
        check_option(self.name, "normalize", normalize, NORMALS)
        self.normalize = normalize

    def compute(self) -> Any:
        """[2, 2]: rows are targets, columns predictions."""
        return normalise(self.table()[0], self.normalize)


class MultilabelConfusionMatrix(TwoByTwo, Multilabel):
    """[[tn, fp], [fn, tp]] of each label. [labels, 2, 2]

    num_labels: the number of labels
    threshold: the probability above which a prediction is positive
    ignore_index: a target that is ignored
    normalize: "true" divides by targets, "pred" by predictions, "all" by all; "none" or None counts
    validate_args: whether compute raises if a target is not a class
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        num_labels: int,
        threshold: float = 0.5,
        ignore_index: int | None = None,
        normalize: str | None = None,
        validate_args: bool = True,
        device: DeviceLike | None = None,
    ):
        super().__init__(num_labels, threshold, "none", "global", ignore_index, validate_args, device=device)
        check_option(self.name, "normalize", normalize, NORMALS)
        self.normalize = normalize

    def compute(self) -> Any:
        """[labels, 2, 2]: rows are targets, columns predictions."""
        return normalise(self.table(), self.normalize)


class PairCounts(Metric):
    """Counts of each (target, predicted) pair of classes, then the count of invalid labels."""

    def __init__(
        self, num_classes: int, ignore_index: int | None, validate_args: bool, device: DeviceLike | None
    ):
        super().__init__(device)
        check_count(self.name, "num_classes", num_classes, 2)
        check_shared(self.name, ignore_index)
        self.num_classes, self.ignore_index, self.validate_args = num_classes, ignore_index, validate_args
        self.top_k = 1
        self.add_state("confmat", counts(num_classes**2 + 1, device=self.device), "sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch. [n, c, ...] or [n, ...], and [n, ...]; ValueError for shapes that do not fit, or
        targets that are floats."""
        check_classes(self, preds, target)
        # Bins 0 to c * c - 1 hold the pairs, bin c * c the invalid labels; ignored ones lie beyond the bins.
        c = self.num_classes
        target, ok, wrong = split(target, c, self.ignore_index)
        predicted = (preds.argmax(1) if preds.ndim > target.ndim else preds).int()
        invalid = ok & ((predicted < 0) | (predicted >= c))
        # index of a pair: target * c + prediction, row-major in the table
        pair = (ok & ~invalid).where(target * c + predicted, (wrong | invalid).where(c * c, c * c + 1))
        predicted = bincount(pair.reshape(-1), length=c * c + 1)
        self.states["confmat"].replace_(self.states["confmat"] + predicted)

    def table(self) -> Tensor:
        """[c, c]: rows are targets, columns predictions."""
        return self.states["confmat"][:-1].reshape(self.num_classes, self.num_classes)

    def shared_key(self) -> Any:
        return ("confusion", self.num_classes, self.ignore_index, str(self.device))

    def wrong(self) -> Any:
        return (self.states["confmat"][-1],) if self.validate_args else ()

    def check(self, counts: Sequence[int]) -> None:
        if any(counts):
            raise ValueError(describe_classes(self.name, self.num_classes, *counts))


class MulticlassConfusionMatrix(PairCounts):
    """How often each class was predicted for each target class. [c, c]

    num_classes: the number of classes
    ignore_index: a target that is ignored
    normalize: "true" divides by targets, "pred" by predictions, "all" by all; "none" or None counts
    validate_args: whether compute raises if a target is not a class
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        num_classes: int,
        ignore_index: int | None = None,
        normalize: str | None = None,
        validate_args: bool = True,
        device: DeviceLike | None = None,
    ):
        super().__init__(num_classes, ignore_index, validate_args, device)
        check_option(self.name, "normalize", normalize, NORMALS)
        self.normalize = normalize

    def compute(self) -> Any:
        """[c, c]: rows are targets, columns predictions."""
        return normalise(self.table(), self.normalize)


WEIGHTS = (None, "none", "linear", "quadratic")


def kappa(table: Tensor, weights: str | None) -> Tensor:
    """1 - observed disagreement / disagreement expected by chance (Cohen, 1960). [c, c] -> []"""
    table = table.to(float32)
    rows, columns = table.sum(1, keepdim=True), table.sum(0, keepdim=True)
    expected = rows * columns / table.sum()  # counts if predictions were independent of targets
    i = arange(table.shape[0], dtype=int32, device=table.device)
    distance = (i.unsqueeze(0) - i.unsqueeze(1)).abs().to(float32)
    # |i - j| or its square; without weights every disagreement counts 1
    unweighted = (distance > 0).to(float32)
    weight = distance if weights == "linear" else distance**2 if weights == "quadratic" else unweighted
    # 0 / 0 = NaN if all elements are in one class, as in torchmetrics
    return 1 - (weight * table).sum() / (weight * expected).sum()


class BinaryCohenKappa(TwoByTwo, Binary):
    """Cohen's kappa: the agreement of predictions with targets, corrected for chance.

    threshold: the probability above which a prediction is positive
    ignore_index: a target that is ignored
    weights: "linear" or "quadratic": the weight of a disagreement by its distance
    validate_args: whether compute raises if a target is not a class
    Raises ValueError if an argument is not valid.
    """

    higher_is_better = True

    def __init__(
        self,
        threshold: float = 0.5,
        ignore_index: int | None = None,
        weights: str | None = None,
        validate_args: bool = True,
        device: DeviceLike | None = None,
    ):
        super().__init__(threshold, "global", ignore_index, validate_args, device=device)
        check_option(self.name, "weights", weights, WEIGHTS)
        self.weights = weights

    def compute(self) -> Any:
        """From -1 to 1."""
        return kappa(self.table()[0], self.weights)


class MulticlassCohenKappa(PairCounts):
    """Cohen's kappa: the agreement of predictions with targets, corrected for chance.

    num_classes: the number of classes
    ignore_index: a target that is ignored
    weights: "linear" or "quadratic": the weight of a disagreement by its distance
    validate_args: whether compute raises if a target is not a class
    Raises ValueError if an argument is not valid.
    """

    higher_is_better = True

    def __init__(
        self,
        num_classes: int,
        ignore_index: int | None = None,
        weights: str | None = None,
        validate_args: bool = True,
        device: DeviceLike | None = None,
    ):
        super().__init__(num_classes, ignore_index, validate_args, device)
        check_option(self.name, "weights", weights, WEIGHTS)
        self.weights = weights

    def compute(self) -> Any:
        """From -1 to 1."""
        return kappa(self.table(), self.weights)


class Overlap(CountMetric):
    """tp / (tp + fp + fn), the intersection divided by the union."""

    ignored_are_seen = False
    higher_is_better = True

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return ratio(tp, tp + fp + fn, self.zero_division)


class BinaryJaccardIndex(Overlap, Binary):
    """The intersection of predicted and actual positives divided by their union.

    threshold: the probability above which a prediction is positive
    ignore_index: a target that is ignored
    validate_args: whether compute raises if a target is not a class
    zero_division: the score if the denominator is 0
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        threshold: float = 0.5,
        ignore_index: int | None = None,
        validate_args: bool = True,
        zero_division: float = 0.0,
        device: DeviceLike | None = None,
    ):
        super().__init__(threshold, "global", ignore_index, validate_args, zero_division, device)


class AveragedOverlap(Overlap):
    """The averages of the Jaccard index. An ignored class has weight 0."""

    def compute(self) -> Any:
        """Return the score, or one per class for average="none"."""
        tp, fp, tn, fn = self.stats()
        ignored = self._is_ignored(tp.shape[-1])
        if self.average == "micro":
            union = (tp + fp + fn) * ~ignored
            return ratio(tp.sum(-1), union.sum(-1), self.zero_division)
        # "macro" over classes skips those without targets and predictions, as torchmetrics does.
        # tp + 1 != 0: a weight of 1 for every class
        weights = tp + fn if self.average == "weighted" else tp + 1 != 0
        if self.average == "macro" and not self.is_multilabel:
            weights = tp + fp + fn != 0
        return average_classes(self.score(tp, fp, tn, fn), self.average, weights * ~ignored)

    def _is_ignored(self, classes: int) -> Tensor:
        # For labels ignore_index is a target value (-1), not a label: then no column is dropped.
        index = -1 if self.ignore_index is None or self.is_multilabel else self.ignore_index
        return arange(classes, dtype=int32, device=self.device) == index


class MulticlassJaccardIndex(AveragedOverlap, Multiclass):
    """The intersection of predicted and actual divided by their union, of each class and averaged.

    num_classes: the number of classes
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    ignore_index: a target that is ignored
    validate_args: whether compute raises if a target is not a class
    zero_division: the score if the denominator is 0
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        num_classes: int,
        average: str | None = "macro",
        ignore_index: int | None = None,
        validate_args: bool = True,
        zero_division: float = 0.0,
        device: DeviceLike | None = None,
    ):
        # compute sums the class counts itself, without the ignored class
        by_class = "macro" if average == "micro" else average
        super().__init__(
            num_classes, 1, by_class, "global", ignore_index, validate_args, zero_division, device
        )
        self.average = average


class MultilabelJaccardIndex(AveragedOverlap, Multilabel):
    """The intersection of predicted and actual divided by their union, of each label and averaged.

    num_labels: the number of labels
    threshold: the probability above which a prediction is positive
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    ignore_index: a target that is ignored
    validate_args: whether compute raises if a target is not a class
    zero_division: the score if the denominator is 0
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        num_labels: int,
        threshold: float = 0.5,
        average: str | None = "macro",
        ignore_index: int | None = None,
        validate_args: bool = True,
        zero_division: float = 0.0,
        device: DeviceLike | None = None,
    ):
        super().__init__(
            num_labels, threshold, average, "global", ignore_index, validate_args, zero_division, device
        )


class ConfusionMatrix(TaskClass):
    """BinaryConfusionMatrix, MulticlassConfusionMatrix or MultilabelConfusionMatrix, by the task."""

    by_task = {
        "binary": BinaryConfusionMatrix,
        "multiclass": MulticlassConfusionMatrix,
        "multilabel": MultilabelConfusionMatrix,
    }

    def __new__(  # pyright: ignore[reportInconsistentConstructor]
        cls,
        task: str,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        normalize: str | None = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        device: DeviceLike | None = None,
    ) -> Metric:
        """Create the metric of a task.

        task: "binary", "multiclass" or "multilabel"
        threshold: the probability above which a prediction is positive; not for "multiclass"
        num_classes, num_labels: the number of classes for "multiclass", of labels for "multilabel"
        normalize: "true" divides by targets, "pred" by predictions, "all" by all; "none" or None counts
        ignore_index: a target that is ignored
        validate_args: whether compute raises if a target is not a class
        Raises ValueError for another task; TypeError for an option that the task lacks.
        """
        return cls.of_task(locals())


class CohenKappa(TaskClass):
    """BinaryCohenKappa or MulticlassCohenKappa, by the task."""

    by_task = {"binary": BinaryCohenKappa, "multiclass": MulticlassCohenKappa}

    def __new__(  # pyright: ignore[reportInconsistentConstructor]
        cls,
        task: str,
        threshold: float = 0.5,
        num_classes: int | None = None,
        weights: str | None = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        device: DeviceLike | None = None,
    ) -> Metric:
        """Create the metric of a task.

        task: "binary" or "multiclass"
        threshold: the probability above which a prediction is positive; not for "multiclass"
        num_classes: the number of classes for "multiclass"
        weights: "linear" or "quadratic": the weight of a disagreement by its distance
        ignore_index: a target that is ignored
        validate_args: whether compute raises if a target is not a class
        Raises ValueError for another task; TypeError for an option that the task lacks.
        """
        return cls.of_task(locals())


class JaccardIndex(TaskClass):
    """BinaryJaccardIndex, MulticlassJaccardIndex or MultilabelJaccardIndex, by the task."""

    by_task = {
        "binary": BinaryJaccardIndex,
        "multiclass": MulticlassJaccardIndex,
        "multilabel": MultilabelJaccardIndex,
    }

    def __new__(  # pyright: ignore[reportInconsistentConstructor]
        cls,
        task: str,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "macro",
        ignore_index: int | None = None,
        validate_args: bool = True,
        zero_division: float = 0.0,
        device: DeviceLike | None = None,
    ) -> Metric:
        """Create the metric of a task.

        task: "binary", "multiclass" or "multilabel"
        threshold: the probability above which a prediction is positive; not for "multiclass"
        num_classes, num_labels: the number of classes for "multiclass", of labels for "multilabel"
        average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
        ignore_index: a target that is ignored
        validate_args: whether compute raises if a target is not a class
        zero_division: the score if the denominator is 0
        Raises ValueError for another task; TypeError for an option that the task lacks.
        """
        return cls.of_task(locals())
