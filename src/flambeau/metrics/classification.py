"""Accuracy, precision, recall and their kin: a formula each, for binary, multiclass and multilabel."""

from typing import Any

from ..core.dtype import float32
from ..tensor import Tensor
from .scores import Binary, ByCounts, Multiclass, Multilabel, five, ratio
from .task_dispatch import TaskDoor


class RightOfAll(ByCounts):
    """Right ones by all; of classes by those that there are, since all but one of them are right anyway."""

    higher_is_better = True

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        if isinstance(self, Multiclass):
            return ratio(tp, tp + fn)
        return ratio(tp + tn, tp + tn + fp + fn)


class WrongOfAll(RightOfAll):
    higher_is_better = False
    drops_absent = False

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return 1 - super().score(tp, fp, tn, fn)


class RightOfPredicted(ByCounts):
    higher_is_better = True

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return ratio(tp, tp + fp, self.zero_division)


class FoundOfActual(ByCounts):
    higher_is_better = True

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return ratio(tp, tp + fn, self.zero_division)


class LeftAlone(ByCounts):
    higher_is_better = True
    drops_absent = False

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return ratio(tn, tn + fp)


class RightOfLeft(ByCounts):
    higher_is_better = True

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return ratio(tn, tn + fn, self.zero_division)


class FBeta(ByCounts):
    """(1 + b^2) tp / ((1 + b^2) tp + b^2 fn + fp)."""

    higher_is_better = True
    drops_absent = False
    beta = 1.0

    def _take(self, beta: Any) -> None:
        if not isinstance(beta, int | float) or not beta > 0:
            raise ValueError(f"{self.name}(beta={beta!r}): must be a weight above 0: pass one, e.g. 1.0")
        self.beta = float(beta)

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        b = self.beta**2
        tp, fp, fn = tp.to(float32), fp.to(float32), fn.to(float32)
        return ratio((1 + b) * tp, (1 + b) * tp + b * fn + fp, self.zero_division)


class Counted(ByCounts):
    """tp, fp, tn, fn and support, in the last dim."""

    def compute(self) -> Any:
        """[..., 5]: tp, fp, tn, fn and support, of all classes together or of each."""
        stats = self.stats()
        if self.average in ("micro", "binary"):
            return five(stats.total())
        table = five(stats)
        if self.average == "macro":
            return table.to(float32).mean(-2)
        if self.average != "weighted":
            return table
        weights = table[..., 4:5]
        over = weights.sum(-2, keepdim=True) if isinstance(self, Multiclass) else weights.sum()
        return (table * (weights / over)).sum(-2)


class BinaryAccuracy(RightOfAll, Binary):
    """How many are right.

    threshold: the probability above which a one is predicted
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MulticlassAccuracy(RightOfAll, Multiclass):
    """How many of a class are found, averaged over classes; with average="micro" how many are right.

    num_classes: how many classes there are
    top_k: a target among the k best counts as found
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MultilabelAccuracy(RightOfAll, Multilabel):
    """How many are right, of each label and averaged.

    num_labels: how many labels there are
    threshold: the probability above which a one is predicted
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class BinaryHammingDistance(WrongOfAll, Binary):
    """How many are wrong: 1 - accuracy.

    threshold: the probability above which a one is predicted
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MulticlassHammingDistance(WrongOfAll, Multiclass):
    """How many of a class are missed: 1 - accuracy.

    num_classes: how many classes there are
    top_k: a target among the k best counts as found
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MultilabelHammingDistance(WrongOfAll, Multilabel):
    """How many are wrong, of each label and averaged: 1 - accuracy.

    num_labels: how many labels there are
    threshold: the probability above which a one is predicted
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class BinaryPrecision(RightOfPredicted, Binary):
    """tp / (tp + fp), how many of those predicted are right.

    threshold: the probability above which a one is predicted
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MulticlassPrecision(RightOfPredicted, Multiclass):
    """tp / (tp + fp) of each class, averaged.

    num_classes: how many classes there are
    top_k: a target among the k best counts as found
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MultilabelPrecision(RightOfPredicted, Multilabel):
    """tp / (tp + fp) of each label, averaged.

    num_labels: how many labels there are
    threshold: the probability above which a one is predicted
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class BinaryRecall(FoundOfActual, Binary):
    """tp / (tp + fn), how many of those there are were found.

    threshold: the probability above which a one is predicted
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MulticlassRecall(FoundOfActual, Multiclass):
    """tp / (tp + fn) of each class, averaged.

    num_classes: how many classes there are
    top_k: a target among the k best counts as found
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MultilabelRecall(FoundOfActual, Multilabel):
    """tp / (tp + fn) of each label, averaged.

    num_labels: how many labels there are
    threshold: the probability above which a one is predicted
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class BinarySpecificity(LeftAlone, Binary):
    """tn / (tn + fp), how many of those that are not were left alone.

    threshold: the probability above which a one is predicted
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MulticlassSpecificity(LeftAlone, Multiclass):
    """tn / (tn + fp) of each class, averaged.

    num_classes: how many classes there are
    top_k: a target among the k best counts as found
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MultilabelSpecificity(LeftAlone, Multilabel):
    """tn / (tn + fp) of each label, averaged.

    num_labels: how many labels there are
    threshold: the probability above which a one is predicted
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class BinaryNegativePredictiveValue(RightOfLeft, Binary):
    """tn / (tn + fn), how many of those not predicted are right.

    threshold: the probability above which a one is predicted
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MulticlassNegativePredictiveValue(RightOfLeft, Multiclass):
    """tn / (tn + fn) of each class, averaged.

    num_classes: how many classes there are
    top_k: a target among the k best counts as found
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MultilabelNegativePredictiveValue(RightOfLeft, Multilabel):
    """tn / (tn + fn) of each label, averaged.

    num_labels: how many labels there are
    threshold: the probability above which a one is predicted
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class BinaryFBetaScore(FBeta, Binary):
    """The weighted harmonic mean of precision and recall; recall weighs beta^2 times as much.

    threshold: the probability above which a one is predicted
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        beta: float,
        threshold: float = 0.5,
        multidim_average: str = "global",
        ignore_index: int | None = None,
        validate_args: bool = True,
        zero_division: float = 0.0,
        device: Any = None,
    ):
        super().__init__(threshold, multidim_average, ignore_index, validate_args, zero_division, device)
        self._take(beta)


class MulticlassFBetaScore(FBeta, Multiclass):
    """The weighted harmonic mean of precision and recall of each class, averaged.

    beta: how many times as much recall weighs
    num_classes: how many classes there are
    top_k: a target among the k best counts as found
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        beta: float,
        num_classes: int,
        top_k: int = 1,
        average: str | None = "macro",
        multidim_average: str = "global",
        ignore_index: int | None = None,
        validate_args: bool = True,
        zero_division: float = 0.0,
        device: Any = None,
    ):
        super().__init__(
            num_classes, top_k, average, multidim_average, ignore_index, validate_args, zero_division, device
        )
        self._take(beta)


class MultilabelFBetaScore(FBeta, Multilabel):
    """The weighted harmonic mean of precision and recall of each label, averaged.

    beta: how many times as much recall weighs
    num_labels: how many labels there are
    threshold: the probability above which a one is predicted
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        beta: float,
        num_labels: int,
        threshold: float = 0.5,
        average: str | None = "macro",
        multidim_average: str = "global",
        ignore_index: int | None = None,
        validate_args: bool = True,
        zero_division: float = 0.0,
        device: Any = None,
    ):
        super().__init__(
            num_labels,
            threshold,
            average,
            multidim_average,
            ignore_index,
            validate_args,
            zero_division,
            device,
        )
        self._take(beta)


class BinaryF1Score(FBeta, Binary):
    """The harmonic mean of precision and recall.

    threshold: the probability above which a one is predicted
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MulticlassF1Score(FBeta, Multiclass):
    """The harmonic mean of precision and recall of each class, averaged.

    num_classes: how many classes there are
    top_k: a target among the k best counts as found
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MultilabelF1Score(FBeta, Multilabel):
    """The harmonic mean of precision and recall of each label, averaged.

    num_labels: how many labels there are
    threshold: the probability above which a one is predicted
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class BinaryStatScores(Counted, Binary):
    """tp, fp, tn, fn and support (tp + fn).

    threshold: the probability above which a one is predicted
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MulticlassStatScores(Counted, Multiclass):
    """tp, fp, tn, fn and support (tp + fn) of each class, averaged.

    num_classes: how many classes there are
    top_k: a target among the k best counts as found
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class MultilabelStatScores(Counted, Multilabel):
    """tp, fp, tn, fn and support (tp + fn) of each label, averaged.

    num_labels: how many labels there are
    threshold: the probability above which a one is predicted
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for a value of each sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises where targets were no classes
    zero_division: the score where there is nothing to divide by
    Raises ValueError if an argument is not valid.
    """


class Accuracy(TaskDoor):
    """BinaryAccuracy, MulticlassAccuracy or MultilabelAccuracy, by the task. The average is "micro" unless
    given.

    task: "binary", "multiclass" or "multilabel"
    options: those of that class
    Raises ValueError for another task.
    """

    by_task = {"binary": BinaryAccuracy, "multiclass": MulticlassAccuracy, "multilabel": MultilabelAccuracy}


class HammingDistance(TaskDoor):
    """BinaryHammingDistance, MulticlassHammingDistance or MultilabelHammingDistance, by the task. The
    average is "micro" unless given.

    task: "binary", "multiclass" or "multilabel"
    options: those of that class
    Raises ValueError for another task.
    """

    by_task = {
        "binary": BinaryHammingDistance,
        "multiclass": MulticlassHammingDistance,
        "multilabel": MultilabelHammingDistance,
    }


class Precision(TaskDoor):
    """BinaryPrecision, MulticlassPrecision or MultilabelPrecision, by the task. The average is "micro"
    unless given.

    task: "binary", "multiclass" or "multilabel"
    options: those of that class
    Raises ValueError for another task.
    """

    by_task = {
        "binary": BinaryPrecision,
        "multiclass": MulticlassPrecision,
        "multilabel": MultilabelPrecision,
    }


class Recall(TaskDoor):
    """BinaryRecall, MulticlassRecall or MultilabelRecall, by the task. The average is "micro" unless
    given.

    task: "binary", "multiclass" or "multilabel"
    options: those of that class
    Raises ValueError for another task.
    """

    by_task = {"binary": BinaryRecall, "multiclass": MulticlassRecall, "multilabel": MultilabelRecall}


class Specificity(TaskDoor):
    """BinarySpecificity, MulticlassSpecificity or MultilabelSpecificity, by the task. The average is
    "micro" unless given.

    task: "binary", "multiclass" or "multilabel"
    options: those of that class
    Raises ValueError for another task.
    """

    by_task = {
        "binary": BinarySpecificity,
        "multiclass": MulticlassSpecificity,
        "multilabel": MultilabelSpecificity,
    }


class NegativePredictiveValue(TaskDoor):
    """BinaryNegativePredictiveValue, MulticlassNegativePredictiveValue or
    MultilabelNegativePredictiveValue, by the task. The average is "micro" unless given.

    task: "binary", "multiclass" or "multilabel"
    options: those of that class
    Raises ValueError for another task.
    """

    by_task = {
        "binary": BinaryNegativePredictiveValue,
        "multiclass": MulticlassNegativePredictiveValue,
        "multilabel": MultilabelNegativePredictiveValue,
    }


class FBetaScore(TaskDoor):
    """BinaryFBetaScore, MulticlassFBetaScore or MultilabelFBetaScore, by the task. The average is "micro"
    unless given.

    task: "binary", "multiclass" or "multilabel"
    options: those of that class
    Raises ValueError for another task.
    """

    by_task = {
        "binary": BinaryFBetaScore,
        "multiclass": MulticlassFBetaScore,
        "multilabel": MultilabelFBetaScore,
    }


class F1Score(TaskDoor):
    """BinaryF1Score, MulticlassF1Score or MultilabelF1Score, by the task. The average is "micro" unless
    given.

    task: "binary", "multiclass" or "multilabel"
    options: those of that class
    Raises ValueError for another task.
    """

    by_task = {"binary": BinaryF1Score, "multiclass": MulticlassF1Score, "multilabel": MultilabelF1Score}


class StatScores(TaskDoor):
    """BinaryStatScores, MulticlassStatScores or MultilabelStatScores, by the task. The average is "micro"
    unless given.

    task: "binary", "multiclass" or "multilabel"
    options: those of that class
    Raises ValueError for another task.
    """

    by_task = {
        "binary": BinaryStatScores,
        "multiclass": MulticlassStatScores,
        "multilabel": MultilabelStatScores,
    }
