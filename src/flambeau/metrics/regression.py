"""Errors and correlations of numbers."""

from collections.abc import Sequence
from math import log
from typing import Any

from ..core.dtype import float32
from ..device import DeviceLike
from ..functions import cat, full, searchsorted, stack
from ..tensor import Tensor
from .inputs import check_count, check_option, refuse
from .metric import Metric
from .states import mean_of, plus, precise, rows, total_of

SMALL = 1.17e-6  # lower bound for the denominators of percentages, torchmetrics' value
MULTIOUTPUT = ("raw_values", "uniform_average", "variance_weighted")


def check_same(metric: Metric, preds: Tensor, target: Tensor, outputs: int = 1) -> tuple[Tensor, Tensor]:
    """Convert both to float32. ValueError if shapes differ, or the last dim is not the outputs."""
    if preds.shape != target.shape:
        refuse(metric, preds, target, "shapes differ: pass a prediction for each target")
    if outputs > 1 and (preds.ndim != 2 or preds.shape[1] != outputs):
        refuse(metric, preds, target, f"has num_outputs={outputs}: pass [n, {outputs}]")
    return preds.to(float32), target.to(float32)


def by_output(x: Tensor, outputs: int) -> Tensor:
    """Reshape to [n, outputs]; with one output, any shape becomes [n, 1]."""
    return x.reshape(-1, 1) if outputs == 1 else x


class MeanError(Metric):
    """The mean of an elementwise error."""

    higher_is_better = False

    def __init__(self, num_outputs: int = 1, device: DeviceLike | None = None):
        super().__init__(device)
        check_count(self.name, "num_outputs", num_outputs, 1)
        self.num_outputs = num_outputs
        self.add_state("sums", precise(2, num_outputs, device=self.device), "precise")

    def error(self, preds: Tensor, target: Tensor) -> Tensor:
        """Return the error of each element."""
        raise NotImplementedError

    def weight(self, error: Tensor, target: Tensor) -> Tensor:
        """Return the divisor of the summed errors. [n, outputs] -> [outputs]"""
        return full((error.shape[1],), float(error.shape[0]), device=error.device)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch. [...] both, or [n, outputs] for several; ValueError for other
        shapes."""
        preds, target = check_same(self, preds, target, self.num_outputs)
        errors, target = (
            by_output(self.error(preds, target), self.num_outputs),
            by_output(target, self.num_outputs),
        )
        sums = stack([errors.sum(0), self.weight(errors, target)])
        self.states["sums"].replace_(plus(self.states["sums"], sums))

    def compute(self) -> Any:
        """Return the mean, or one per output."""
        return self.squeeze_outputs(mean_of(self.states["sums"]))

    def squeeze_outputs(self, value: Tensor) -> Tensor:
        return value if self.num_outputs > 1 else value[0]


class OneOutput(MeanError):
    def __init__(self, device: DeviceLike | None = None):
        super().__init__(1, device)


class MeanSquaredError(MeanError):
    """The mean of (preds - target)^2; its root with squared=False.

    num_outputs: the number of columns, each with a separate value
    Raises ValueError if an argument is not valid.
    """

    def __init__(self, squared: bool = True, num_outputs: int = 1, device: DeviceLike | None = None):
        super().__init__(num_outputs, device)
        self.squared = squared

    def error(self, preds: Tensor, target: Tensor) -> Tensor:
        return (preds - target) ** 2

    def compute(self) -> Any:
        """Return the mean, or one per output."""
        mean = mean_of(self.states["sums"])
        return self.squeeze_outputs(mean if self.squared else mean.sqrt())


class MeanAbsoluteError(MeanError):
    """The mean of |preds - target|.

    num_outputs: the number of columns, each with a separate value
    Raises ValueError if an argument is not valid.
    """

    def error(self, preds: Tensor, target: Tensor) -> Tensor:
        return (preds - target).abs()


class LogCoshError(MeanError):
    """The mean of log(cosh(preds - target)).

    num_outputs: the number of columns, each with a separate value
    Raises ValueError if an argument is not valid.
    """

    def error(self, preds: Tensor, target: Tensor) -> Tensor:
        # log cosh d = |d| + log(1 + exp(-2 |d|)) - log 2, since cosh overflows in float32 for |d| above 89
        distance = (preds - target).abs()
        return distance + (distance * -2).exp().log1p() - log(2)


class MeanSquaredLogError(OneOutput):
    """The mean of (log(1 + preds) - log(1 + target))^2.

    update raises ValueError if predictions and targets do not fit together.
    """

    def error(self, preds: Tensor, target: Tensor) -> Tensor:
        return (preds.log1p() - target.log1p()) ** 2


class MeanAbsolutePercentageError(OneOutput):
    """The mean of |preds - target| / |target|.

    update raises ValueError if predictions and targets do not fit together.
    """

    def error(self, preds: Tensor, target: Tensor) -> Tensor:
        return (preds - target).abs() / target.abs().clamp(min=SMALL)


class SymmetricMeanAbsolutePercentageError(OneOutput):
    """The mean of 2 |preds - target| / (|preds| + |target|).

    update raises ValueError if predictions and targets do not fit together.
    """

    def error(self, preds: Tensor, target: Tensor) -> Tensor:
        return 2 * (preds - target).abs() / (target.abs() + preds.abs()).clamp(min=SMALL)


class WeightedMeanAbsolutePercentageError(OneOutput):
    """The sum of |preds - target| divided by the sum of |target|.

    update raises ValueError if predictions and targets do not fit together.
    """

    def error(self, preds: Tensor, target: Tensor) -> Tensor:
        return (preds - target).abs()

    def weight(self, error: Tensor, target: Tensor) -> Tensor:
        return target.abs().sum(0)

    def compute(self) -> Any:
        """Return the ratio."""
        total, scale = total_of(self.states["sums"]).unbind(0)
        return (total / scale.clamp(min=SMALL))[0]


class MinkowskiDistance(OneOutput):
    """The sum of |preds - targets|^p, to the power 1 / p. p: the power, from 1.

    Raises ValueError if an argument is not valid.
    """

    def __init__(self, p: float, device: DeviceLike | None = None):
        super().__init__(device)
        # users pass others
        if not isinstance(p, int | float) or p < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"{self.name}(p={p!r}): must be at least 1: pass another value")
        self.p = p

    def error(self, preds: Tensor, target: Tensor) -> Tensor:
        return (preds - target).abs() ** self.p

    def compute(self) -> Any:
        """Return the distance."""
        return total_of(self.states["sums"])[0, 0] ** (1 / self.p)


class CosineOfRows(Metric):
    """The cosine similarity of rows: their sum, mean, or each. reduction: "sum", "mean" or "none"; ValueError
    for others."""

    higher_is_better = True

    def __init__(self, reduction: str | None = "sum", device: DeviceLike | None = None):
        super().__init__(device)
        check_option(self.name, "reduction", reduction, ("sum", "mean", "none", None))
        self.reduction = reduction
        if reduction in ("sum", "mean"):
            self.add_state("sums", precise(2, device=self.device), "precise")
        else:
            self.add_state("each", [], "cat")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count rows. [n, d] both; ValueError for other shapes."""
        if preds.ndim != 2:
            refuse(self, preds, target, "it takes rows: pass [n, d]")
        preds, target = check_same(self, preds, target)
        # a row of zeros gives NaN, as in torchmetrics
        cosines = (preds * target).sum(1) / (preds.norm(dim=1) * target.norm(dim=1))
        if "each" in self.states:
            self.states["each"].append(cosines)
        else:
            n = full((), float(cosines.shape[0]), device=cosines.device)
            self.states["sums"].replace_(plus(self.states["sums"], stack([cosines.sum(), n])))

    def compute(self) -> Any:
        """Return the sum or mean, or one value per row."""
        if "each" in self.states:
            return cat(self.states["each"]) if self.states["each"] else []
        return mean_of(self.states["sums"]) if self.reduction == "mean" else total_of(self.states["sums"])[0]


CosineSimilarity = type(
    "CosineSimilarity", (CosineOfRows,), {"__doc__": CosineOfRows.__doc__, "__module__": __name__}
)  # nn has a class of the same name

# --- moments ---


def moments(x: Tensor, y: Tensor) -> Tensor:
    """Compute the moments of a batch: n (a compensated sum of two rows), the means of x and y, and the
    centred sums of x^2, y^2 and xy. [n, outputs] both -> [7, outputs]"""
    count, outputs = x.shape
    # rows: 0 and 1 count (sum, error), 2 mean of x, 3 mean of y, 4 xx, 5 yy, 6 xy
    n = full((outputs,), float(count), device=x.device)
    mx, my = (x.mean(0), y.mean(0)) if count else (n, n)
    dx, dy = x - mx, y - my
    return rows(n, n * 0, mx, my, (dx * dx).sum(0), (dy * dy).sum(0), (dx * dy).sum(0))


def join_moments(a: Tensor, b: Tensor) -> Tensor:
    """Merge the moments of two sets of rows (Chan, Golub and LeVeque, 1983). [7, outputs] both"""
    n = plus(plus(a[:2], b[0]), b[1])
    na, nb, both = a[0] + a[1], b[0] + b[1], n[0] + n[1]
    # both empty: 0 / 0, and the moments stay 0
    share = (both > 0).where(nb / both, 0.0)
    dx, dy = b[2] - a[2], b[3] - a[3]
    w = na * share  # na nb / (na + nb), the factor of the squared difference of means
    sums = [a[4] + b[4] + dx * dx * w, a[5] + b[5] + dy * dy * w, a[6] + b[6] + dx * dy * w]
    return rows(n[0], n[1], a[2] + dx * share, a[3] + dy * share, *sums)


class MomentMetric(Metric):
    """A metric of means, variances and covariances."""

    def __init__(self, num_outputs: int = 1, device: DeviceLike | None = None):
        super().__init__(device)
        check_count(self.name, "num_outputs", num_outputs, 1)
        self.num_outputs = num_outputs
        self.add_state(
            "moments", Tensor.zeros((7, num_outputs), dtype=float32, device=self.device), join_moments
        )

    def pair(self, preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the two variables whose moments are kept."""
        return preds, target

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch. [n], or [n, outputs] for several; ValueError for other shapes."""
        preds, target = check_same(self, preds, target, self.num_outputs)
        pair = self.pair(by_output(preds, self.num_outputs), by_output(target, self.num_outputs))
        self.states["moments"].replace_(join_moments(self.states["moments"], moments(*pair)))

    def squeeze_outputs(self, value: Tensor) -> Tensor:
        return value if self.num_outputs > 1 else value[0]


class PearsonCorrCoef(MomentMetric):
    """The correlation of predictions and targets; NaN if one of them is constant.

    num_outputs: the number of columns, each with a separate value
    Raises ValueError if an argument is not valid.
    """

    def compute(self) -> Any:
        """Return the coefficient of each output, from -1 to 1."""
        _, _, _, _, xx, yy, xy = self.states["moments"].unbind(0)
        return self.squeeze_outputs((xy / (xx.sqrt() * yy.sqrt())).clamp(-1, 1))


class ConcordanceCorrCoef(MomentMetric):
    """The agreement of predictions with the line preds = target (Lin, 1989).

    num_outputs: the number of columns, each with a separate value
    Raises ValueError if an argument is not valid.
    """

    def compute(self) -> Any:
        """Return the coefficient of each output, from -1 to 1."""
        high, low, mx, my, xx, yy, xy = self.states["moments"].unbind(0)
        # 2 cov / (var x + var y + (mean x - mean y)^2), with unbiased moments, as in torchmetrics
        n = high + low - 1
        return self.squeeze_outputs(2 * xy / n / (xx / n + yy / n + (mx - my) ** 2))


class ExplainedShare(MomentMetric):
    """The fraction of the targets' variance that predictions explain, from the moments of x = target -
    preds."""

    higher_is_better = True

    def __init__(
        self, multioutput: str = "uniform_average", num_outputs: int = 1, device: DeviceLike | None = None
    ):
        super().__init__(num_outputs, device)
        check_option(self.name, "multioutput", multioutput, MULTIOUTPUT)
        self.multioutput = multioutput

    def pair(self, preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return target - preds, target

    def average(self, missed: Tensor, spread: Tensor, near: float) -> Tensor:
        """Return 1 - missed / spread: 1 if the residuals are 0, else 0 if the targets are constant."""
        # Constant targets make the ratio 0 / 0 or x / 0: by convention 1 for a perfect fit, else 0.
        is_missed, is_spread = missed.abs() > near, spread.abs() > near
        scores = is_missed.where(is_spread.where(1 - missed / spread, 0.0), 1.0)
        if self.multioutput == "raw_values":
            return self.squeeze_outputs(scores)
        return (
            scores.mean() if self.multioutput == "uniform_average" else (spread / spread.sum() * scores).sum()
        )


class ExplainedVariance(ExplainedShare):
    """1 - variance of the residuals / variance of the targets.

    multioutput: "uniform_average", "variance_weighted" or "raw_values": how outputs are combined
    num_outputs: the number of columns, each with a separate value
    Raises ValueError if an argument is not valid.
    """

    def compute(self) -> Any:
        """Return the score, averaged over outputs or one each."""
        high, low, _, _, missed, spread, _ = self.states["moments"].unbind(0)
        n = high + low
        return self.average(missed / n, spread / n, 0.0)


class R2Score(ExplainedShare):
    """1 - sum of squared residuals / sum of squares of the targets about their mean. adjusted: the number of
    regressors to correct for.

    multioutput: "uniform_average", "variance_weighted" or "raw_values": how outputs are combined
    num_outputs: the number of columns, each with a separate value
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        adjusted: int = 0,
        multioutput: str = "uniform_average",
        num_outputs: int = 1,
        device: DeviceLike | None = None,
    ):
        super().__init__(multioutput, num_outputs, device)
        check_count(self.name, "adjusted", adjusted, 0)
        self.adjusted = adjusted

    def compute(self) -> Any:
        """Return the score, averaged over outputs or one each; ValueError for fewer than 2 targets."""
        high, low, mean, _, missed, spread, _ = self.states["moments"].unbind(0)
        n = high + low
        # The moments are centred: adding n mean^2 gives the raw sum of squared residuals.
        score = self.average(missed + n * mean * mean, spread, 1e-4)
        if not self.adjusted:
            return score
        n = n[0]
        # 1 - (1 - R2) (n - 1) / (n - k - 1) for k regressors; with too few targets the plain score
        return (n - 1 > self.adjusted).where(1 - (1 - score) * (n - 1) / (n - self.adjusted - 1), score)

    def wrong(self) -> Any:
        return (total_of(self.states["moments"])[0],)

    def check(self, counts: Sequence[int]) -> None:
        if counts[0] < 2:
            raise ValueError(
                f"{self.name}.compute(): {counts[0]:.0f} targets have no variance: update with 2 or more"
            )


class SpearmanCorrCoef(Metric):
    """The correlation of ranks; keeps all predictions and targets.

    num_outputs: the number of columns, each with a separate value
    Raises ValueError if an argument is not valid.
    """

    def __init__(self, num_outputs: int = 1, device: DeviceLike | None = None):
        super().__init__(device)
        check_count(self.name, "num_outputs", num_outputs, 1)
        self.num_outputs = num_outputs
        self.add_state("pairs", [], "cat")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Keep a batch. [n], or [n, outputs] for several; ValueError for other shapes."""
        preds, target = check_same(self, preds, target, self.num_outputs)
        both = [by_output(x, self.num_outputs).movedim(0, 1) for x in (preds, target)]
        self.states["pairs"].append(stack(both))

    def compute(self) -> Any:
        """Return the coefficient of each output, from -1 to 1."""
        # [2, outputs, n]; before the first batch NaN, as of an empty mean
        pairs = self.states["pairs"]
        both = cat(pairs, 2) if pairs else full((2, self.num_outputs, 1), float("nan"), device=self.device)
        x, y = ranks(both).unbind(0)
        dx, dy = x - x.mean(1, keepdim=True), y - y.mean(1, keepdim=True)
        # 1e-6 as in torchmetrics: constant ranks give 0 instead of NaN
        spread = (dx * dx).mean(1).sqrt() * (dy * dy).mean(1).sqrt()
        correlations = ((dx * dy).mean(1) / (spread + 1e-6)).clamp(-1, 1)
        return correlations if self.num_outputs > 1 else correlations[0]


def ranks(x: Tensor) -> Tensor:
    """Return ranks from 1; equal values get their mean rank. [..., n]"""
    ordered = x.sort(-1).values
    # a value's ranks are below + 1 to upto, whose mean is (below + upto + 1) / 2
    below, upto = searchsorted(ordered, x), searchsorted(ordered, x, right=True)
    return (below + upto + 1).to(float32) / 2
