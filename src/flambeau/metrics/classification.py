"""Accuracy, precision, recall and other scores of counts, for binary, multiclass and multilabel tasks."""

from typing import Any

from ..core.dtype import float32
from ..device import DeviceLike
from ..tensor import Tensor
from .metric import Metric
from .scores import Binary, CountMetric, Multiclass, Multilabel, five, ratio
from .task_dispatch import CountTask, TaskClass


class AccuracyScore(CountMetric):
    """The fraction of correct predictions. For classes it is recall, because true negatives dominate the
    counts."""

    higher_is_better = True

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        # One class against all others: with c classes most elements are true negatives, so (tp + tn) / n
        # would be near 1.
        if isinstance(self, Multiclass):
            return ratio(tp, tp + fn)
        return ratio(tp + tn, tp + tn + fp + fn)


class ErrorShare(AccuracyScore):
    higher_is_better = False
    drops_absent = False

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return 1 - super().score(tp, fp, tn, fn)


class PrecisionScore(CountMetric):
    higher_is_better = True

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return ratio(tp, tp + fp, self.zero_division)


class RecallScore(CountMetric):
    higher_is_better = True

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return ratio(tp, tp + fn, self.zero_division)


class SpecificityScore(CountMetric):
    higher_is_better = True
    drops_absent = False

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return ratio(tn, tn + fp)


class NegativePredictiveScore(CountMetric):
    higher_is_better = True

    def score(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return ratio(tn, tn + fn, self.zero_division)


# b = beta: van Rijsbergen's (1979) F measure, (1 + b^2) p r / (b^2 p + r), written without the two
# divisions.
class FBeta(CountMetric):
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


class CountScores(CountMetric):
    """tp, fp, tn, fn and support, in the last dim."""

    def compute(self) -> Any:
        """Return [..., 5]: tp, fp, tn, fn and support, of all classes together or of each."""
        stats = self.stats()
        if self.average in ("micro", "binary"):
            return five(stats.total())
        table = five(stats)
        if self.average == "macro":
            return table.to(float32).mean(-2)
        if self.average != "weighted":
            return table
        # the support, tp + fn
        weights = table[..., 4:5]
        # torchmetrics divides multilabel weights by the sum over samples and labels, multiclass by that of
        # a sample.
        over = weights.sum(-2, keepdim=True) if isinstance(self, Multiclass) else weights.sum()
        return (table * (weights / over)).sum(-2)


class BinaryAccuracy(AccuracyScore, Binary):
    """The fraction of correct predictions."""


class MulticlassAccuracy(AccuracyScore, Multiclass):
    """The recall of each class, averaged; with average="micro" the fraction of correct predictions."""


class MultilabelAccuracy(AccuracyScore, Multilabel):
    """The fraction of correct predictions of each label, averaged."""


class BinaryHammingDistance(ErrorShare, Binary):
    """The fraction of wrong predictions: 1 - accuracy."""


class MulticlassHammingDistance(ErrorShare, Multiclass):
    """The fraction of each class that is missed: 1 - accuracy."""


class MultilabelHammingDistance(ErrorShare, Multilabel):
    """The fraction of wrong predictions of each label, averaged: 1 - accuracy."""


class BinaryPrecision(PrecisionScore, Binary):
    """tp / (tp + fp), the fraction of positive predictions that are correct."""


class MulticlassPrecision(PrecisionScore, Multiclass):
    """tp / (tp + fp) of each class, averaged."""


class MultilabelPrecision(PrecisionScore, Multilabel):
    """tp / (tp + fp) of each label, averaged."""


class BinaryRecall(RecallScore, Binary):
    """tp / (tp + fn), the fraction of positive targets that are predicted."""


class MulticlassRecall(RecallScore, Multiclass):
    """tp / (tp + fn) of each class, averaged."""


class MultilabelRecall(RecallScore, Multilabel):
    """tp / (tp + fn) of each label, averaged."""


class BinarySpecificity(SpecificityScore, Binary):
    """tn / (tn + fp), the fraction of negative targets that are predicted."""


class MulticlassSpecificity(SpecificityScore, Multiclass):
    """tn / (tn + fp) of each class, averaged."""


class MultilabelSpecificity(SpecificityScore, Multilabel):
    """tn / (tn + fp) of each label, averaged."""


class BinaryNegativePredictiveValue(NegativePredictiveScore, Binary):
    """tn / (tn + fn), the fraction of negative predictions that are correct."""


class MulticlassNegativePredictiveValue(NegativePredictiveScore, Multiclass):
    """tn / (tn + fn) of each class, averaged."""


class MultilabelNegativePredictiveValue(NegativePredictiveScore, Multilabel):
    """tn / (tn + fn) of each label, averaged."""


class BinaryFBetaScore(FBeta, Binary):
    """The weighted harmonic mean of precision and recall; recall weighs beta^2 times as much.

    threshold: the probability above which a prediction is positive
    multidim_average: "global", or "samplewise" for one value per sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises if a target is not a class
    zero_division: the score if the denominator is 0
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
        device: DeviceLike | None = None,
    ):
        super().__init__(threshold, multidim_average, ignore_index, validate_args, zero_division, device)
        self._take(beta)


class MulticlassFBetaScore(FBeta, Multiclass):
    """The weighted harmonic mean of precision and recall of each class, averaged.

    beta: the weight of recall relative to precision
    num_classes: the number of classes
    top_k: a prediction is correct if the target is among the k highest scores
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for one value per sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises if a target is not a class
    zero_division: the score if the denominator is 0
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
        device: DeviceLike | None = None,
    ):
        super().__init__(
            num_classes, top_k, average, multidim_average, ignore_index, validate_args, zero_division, device
        )
        self._take(beta)


class MultilabelFBetaScore(FBeta, Multilabel):
    """The weighted harmonic mean of precision and recall of each label, averaged.

    beta: the weight of recall relative to precision
    num_labels: the number of labels
    threshold: the probability above which a prediction is positive
    average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
    multidim_average: "global", or "samplewise" for one value per sample
    ignore_index: a target that is ignored
    validate_args: whether compute raises if a target is not a class
    zero_division: the score if the denominator is 0
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
        device: DeviceLike | None = None,
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
    """The harmonic mean of precision and recall."""


class MulticlassF1Score(FBeta, Multiclass):
    """The harmonic mean of precision and recall of each class, averaged."""


class MultilabelF1Score(FBeta, Multilabel):
    """The harmonic mean of precision and recall of each label, averaged."""


class BinaryStatScores(CountScores, Binary):
    """tp, fp, tn, fn and support (tp + fn)."""


class MulticlassStatScores(CountScores, Multiclass):
    """tp, fp, tn, fn and support (tp + fn) of each class, averaged."""


class MultilabelStatScores(CountScores, Multilabel):
    """tp, fp, tn, fn and support (tp + fn) of each label, averaged."""


class Accuracy(CountTask):
    """BinaryAccuracy, MulticlassAccuracy or MultilabelAccuracy, by the task."""

    by_task = {"binary": BinaryAccuracy, "multiclass": MulticlassAccuracy, "multilabel": MultilabelAccuracy}


class HammingDistance(CountTask):
    """BinaryHammingDistance, MulticlassHammingDistance or MultilabelHammingDistance, by the task. The default
    average is "micro"."""

    by_task = {
        "binary": BinaryHammingDistance,
        "multiclass": MulticlassHammingDistance,
        "multilabel": MultilabelHammingDistance,
    }


class Precision(CountTask):
    """BinaryPrecision, MulticlassPrecision or MultilabelPrecision, by the task."""

    by_task = {
        "binary": BinaryPrecision,
        "multiclass": MulticlassPrecision,
        "multilabel": MultilabelPrecision,
    }


class Recall(CountTask):
    """BinaryRecall, MulticlassRecall or MultilabelRecall, by the task."""

    by_task = {"binary": BinaryRecall, "multiclass": MulticlassRecall, "multilabel": MultilabelRecall}


class Specificity(CountTask):
    """BinarySpecificity, MulticlassSpecificity or MultilabelSpecificity, by the task."""

    by_task = {
        "binary": BinarySpecificity,
        "multiclass": MulticlassSpecificity,
        "multilabel": MultilabelSpecificity,
    }


class NegativePredictiveValue(CountTask):
    """BinaryNegativePredictiveValue, MulticlassNegativePredictiveValue or MultilabelNegativePredictiveValue,
    by the task."""

    by_task = {
        "binary": BinaryNegativePredictiveValue,
        "multiclass": MulticlassNegativePredictiveValue,
        "multilabel": MultilabelNegativePredictiveValue,
    }


class FBetaScore(TaskClass):
    """BinaryFBetaScore, MulticlassFBetaScore or MultilabelFBetaScore, by the task."""

    by_task = {
        "binary": BinaryFBetaScore,
        "multiclass": MulticlassFBetaScore,
        "multilabel": MultilabelFBetaScore,
    }

    def __new__(  # pyright: ignore[reportInconsistentConstructor]
        cls,
        task: str,
        beta: float = 1.0,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "micro",
        multidim_average: str = "global",
        top_k: int = 1,
        ignore_index: int | None = None,
        validate_args: bool = True,
        zero_division: float = 0.0,
        device: DeviceLike | None = None,
    ) -> Metric:
        """Create the metric of a task.

        task: "binary", "multiclass" or "multilabel"
        beta: the weight of recall relative to precision
        threshold: the probability above which a prediction is positive; not for "multiclass"
        num_classes, num_labels: the number of classes for "multiclass", of labels for "multilabel"
        average: over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"
        multidim_average: "global", or "samplewise" for one value per sample
        top_k: a prediction is correct if the target is among the k highest scores; for "multiclass"
        ignore_index: a target that is ignored
        validate_args: whether compute raises if a target is not a class
        zero_division: the score if the denominator is 0
        Raises ValueError for another task; TypeError for an option that the task lacks.
        """
        return cls.of_task(locals())


class F1Score(CountTask):
    """BinaryF1Score, MulticlassF1Score or MultilabelF1Score, by the task."""

    by_task = {"binary": BinaryF1Score, "multiclass": MulticlassF1Score, "multilabel": MultilabelF1Score}


class StatScores(CountTask):
    """BinaryStatScores, MulticlassStatScores or MultilabelStatScores, by the task."""

    by_task = {
        "binary": BinaryStatScores,
        "multiclass": MulticlassStatScores,
        "multilabel": MultilabelStatScores,
    }
