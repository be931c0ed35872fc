"""Aggregates values: mean, sum, extremes, the last one, or all of them."""

import warnings
from collections.abc import Sequence
from typing import Any

from ..core.dtype import float32
from ..core.node import describe
from ..device import DeviceLike
from ..functions import cat, stack
from ..tensor import Tensor, TensorLike, tensor
from .metric import Metric
from .states import counts, latest, mean_of, plus, precise, total_of

STRATEGIES = ("error", "warn", "ignore", "disable")


class Aggregator(Metric):
    """Aggregates values into one. nan_strategy: how NaN is treated: "error" makes compute raise, "warn" and
    "ignore" skip it ("warn" with a warning in compute), "disable" keeps it, a number replaces it."""

    takes = "values"

    def __init__(self, nan_strategy: str | float = "warn", device: DeviceLike | None = None):
        super().__init__(device)
        if nan_strategy not in STRATEGIES and not isinstance(nan_strategy, float):
            words = ", ".join(map(repr, STRATEGIES))
            raise ValueError(
                f"{self.name}(nan_strategy={nan_strategy!r}): must be {words} or a float: pass one of these"
            )
        self.nan_strategy = nan_strategy
        if nan_strategy in ("error", "warn"):
            self.add_state("nans", counts(device=self.device), "sum")

    def clean(self, value: Any, weight: TensorLike = 1.0) -> tuple[Tensor, Tensor, Tensor]:
        """Convert to float32: (values, weights, whether each element is skipped)."""
        x = self._float(value)
        # A weight for all elements, or one for each.
        w = self._float(weight).expand(x.shape)
        if self.nan_strategy == "disable":
            # an all-False mask of x's shape, so that the callers need no branch
            return x, w, x.isnan() & False
        nans = x.isnan() | w.isnan()
        # A NaN weight becomes 1, so that the replaced value counts once.
        if isinstance(self.nan_strategy, float):
            return nans.where(self.nan_strategy, x), nans.where(1.0, w), nans & False
        if "nans" in self.states:
            # counted on the device; `check` raises or warns when compute reads it
            self.states["nans"].replace_(self.states["nans"] + nans.sum())
        return x, w, nans

    def _float(self, value: Any) -> Tensor:
        return value.to(float32) if isinstance(value, Tensor) else tensor(float(value), device=self.device)

    def wrong(self) -> Any:
        return (self.states["nans"],) if "nans" in self.states else ()

    def check(self, counts: Sequence[int]) -> None:
        if not any(counts):
            return
        problem = f"{self.name}.compute(): {counts[0]} values were NaN"
        if self.nan_strategy == "error":
            raise ValueError(f'{problem}: find their source, or pass nan_strategy="ignore"')
        warnings.warn(f"{problem} and were ignored", UserWarning, stacklevel=4)


class SumMetric(Aggregator):
    """The sum of all values, with compensation for the rounding of float32.

    nan_strategy: how NaN is treated: "error" makes compute raise, "warn" and "ignore" skip it, "disable"
        keeps it, a float replaces it
    Raises ValueError if an argument is not valid.
    """

    def __init__(self, nan_strategy: str | float = "warn", device: DeviceLike | None = None):
        super().__init__(nan_strategy, device)
        self.add_state("total", precise(device=self.device), "precise")

    def update(self, value: TensorLike) -> None:
        """Add a number, or the elements of a tensor. [...]"""
        x, _, skipped = self.clean(value)
        self.states["total"].replace_(plus(self.states["total"], skipped.where(0.0, x).sum()))

    def compute(self) -> Any:
        """Return the sum."""
        return total_of(self.states["total"])


class MeanMetric(Aggregator):
    """The mean of all values, weighted.

    nan_strategy: how NaN is treated: "error" makes compute raise, "warn" and "ignore" skip it, "disable"
        keeps it, a float replaces it
    Raises ValueError if an argument is not valid.
    """

    def __init__(self, nan_strategy: str | float = "warn", device: DeviceLike | None = None):
        super().__init__(nan_strategy, device)
        self.add_state("sums", precise(2, device=self.device), "precise")

    def update(self, value: TensorLike, weight: TensorLike = 1.0) -> None:
        """Add a number, or the elements of a tensor, with their weights. [...]"""
        x, w, skipped = self.clean(value, weight)
        # [sum of value * weight, sum of weights], each with its compensation
        sums = stack([skipped.where(0.0, x * w).sum(), skipped.where(0.0, w).sum()])
        self.states["sums"].replace_(plus(self.states["sums"], sums))

    def compute(self) -> Any:
        """Return the mean; NaN without values."""
        return mean_of(self.states["sums"])


class Loss(MeanMetric):
    """The mean of losses: `update(loss, weight)` takes a batch's loss, and its size if sizes differ.

    nan_strategy: how NaN is treated: "error" makes compute raise, "warn" and "ignore" skip it, "disable"
        keeps it, a float replaces it
    Raises ValueError if an argument is not valid.
    """

    takes = "losses, and a Learner counts its own"
    higher_is_better = False


class Extreme(Aggregator):
    """The least or the greatest value."""

    least = False

    def __init__(self, nan_strategy: str | float = "warn", device: DeviceLike | None = None):
        super().__init__(nan_strategy, device)
        how, self.start = ("min", float("inf")) if self.least else ("max", float("-inf"))
        self.add_state("value_", tensor(self.start, float32, device=self.device), how)

    def update(self, value: TensorLike) -> None:
        """Compare with a number, or with the elements of a tensor. [...]"""
        x, _, skipped = self.clean(value)
        # an empty tensor has no extreme
        if not x.numel():
            return
        # The start value, an infinity, changes no extreme.
        best, extreme = self.states["value_"], skipped.where(self.start, x)
        best.assign_(best.minimum(extreme.amin()) if self.least else best.maximum(extreme.amax()))

    def compute(self) -> Any:
        """Return the value; infinite without values."""
        return self.states["value_"]


class MaxMetric(Extreme):
    """The greatest value.

    nan_strategy: how NaN is treated: "error" makes compute raise, "warn" and "ignore" skip it, "disable"
        keeps it, a float replaces it
    Raises ValueError if an argument is not valid.
    """

    higher_is_better = True


class MinMetric(Extreme):
    """The least value.

    nan_strategy: how NaN is treated: "error" makes compute raise, "warn" and "ignore" skip it, "disable"
        keeps it, a float replaces it
    Raises ValueError if an argument is not valid.
    """

    higher_is_better = False
    least = True


class CatMetric(Aggregator):
    """All values, in order.

    nan_strategy: how NaN is treated: "error" makes compute raise, "warn" and "ignore" skip it, "disable"
        keeps it, a float replaces it
    Raises ValueError if an argument is not valid.
    """

    def __init__(self, nan_strategy: str | float = "warn", device: DeviceLike | None = None):
        super().__init__(nan_strategy, device)
        self.add_state("values", [], "cat")

    def update(self, value: TensorLike) -> None:
        """Keep a number, or the elements of a tensor. [...]"""
        x, _, skipped = self.clean(value)
        # [2, n]: values and the mask. Dropping the skipped ones here would need their number, a readback.
        self.states["values"].append(stack([x.reshape(-1), skipped.reshape(-1).to(float32)]))

    def compute(self) -> Any:
        """Return a list of the values."""
        if not self.states["values"]:
            return []
        x, skipped = cat(self.states["values"], 1).unbind(0)
        return x if self.nan_strategy == "disable" else x[skipped == 0]


class Latest(Metric):
    """The value of the last update."""

    takes = "a number"

    def __init__(self, device: DeviceLike | None = None):
        super().__init__(device)
        self.add_state("last", float("nan"), latest)

    def update(self, *values: Any) -> None:
        """Store a number, or a HostScalar such as an optimiser's lr; TypeError for a tensor, or for
        several numbers."""
        value = values[0] if len(values) == 1 else None
        if value is None or isinstance(value, Tensor):
            rule = "it takes a Python number, which needs no readback: pass one, or use MeanMetric"
            raise TypeError(f"{self.name}({', '.join(map(describe, values))}): {rule}")
        # a HostScalar keeps its number in .value
        self.states["last"] = float(getattr(value, "value", value))

    def compute(self) -> Any:
        """Return the value; NaN before the first."""
        return self.states["last"]
