"""Keeps a curve of values in bounded memory: coarse for old steps, exact for the last ones."""

from collections import deque
from collections.abc import Sequence
from math import isfinite

KEPT = 2048  # the most points of a curve; above it, neighbouring points are merged in pairs
RECENT = 512  # newest points, kept at full resolution

Points = list[tuple[float, float]]  # (step, value)


class Curve:
    """One metric of one split. `last` is the newest value, `low` and `high` bound the finite values."""

    def __init__(self):
        self.points: Points = []  # means of `stride` values, at the step of the last value
        self.stride = 1
        self.rest: Points = []  # newest values, too few for a point
        self.recent: deque[tuple[float, float]] = deque(maxlen=RECENT)
        self.last, self.low, self.high = float("nan"), float("inf"), float("-inf")

    def __len__(self) -> int:
        return len(self.points)

    def add(self, step: float, value: float) -> None:
        """Append a value."""
        self.extend([step], [value])

    def extend(self, steps: Sequence[float], values: Sequence[float]) -> None:
        """Append one value per step. No loop over single values: a run may have 1,000 steps a second."""
        if not steps:
            return
        # The sum is finite in the usual case: one C loop. An overflow takes the slow way, with the same
        # result.
        finite = values if isfinite(sum(values)) else [v for v in values if isfinite(v)]
        # `self.low` twice: min needs two arguments if `finite` is empty.
        self.low, self.high = min(self.low, *finite, self.low), max(self.high, *finite, self.high)
        self.last = values[-1]
        pairs = list(zip(steps, values, strict=False))
        self.recent.extend(pairs)
        if self.stride == 1:
            self.points.extend(pairs)
        else:
            self.rest.extend(pairs)
            n = self.stride
            complete = len(self.rest) // n * n  # values that form points
            self.points.extend(mean(self.rest[i : i + n]) for i in range(0, complete, n))
            del self.rest[:complete]
        while len(self.points) >= KEPT:
            self.halve()

    def halve(self) -> None:
        if len(self.points) % 2:  # the odd last point becomes `stride` values again, each with its mean
            self.rest = [self.points.pop()] * self.stride + self.rest
        self.points = [mean(self.points[i : i + 2]) for i in range(0, len(self.points), 2)]
        self.stride *= 2

    def all_points(self) -> Points:
        """Return the curve from its first step to its last."""
        return self.points + ([mean(self.rest)] if self.rest else [])

    def cut(self, step: float) -> None:
        """Drop the points after a step, where a resumed run repeats them."""
        earlier = [p for p in self.points if p[0] <= step]
        recent = [p for p in self.recent if p[0] <= step]
        if len(earlier) == len(self.points) and len(recent) == len(self.recent):
            return
        self.points, self.rest = earlier, []
        # If all recent points were cut, the last kept one stays, so that `last` and the axis have a value.
        self.recent = deque(recent or earlier[-1:], maxlen=RECENT)
        values = [v for _, v in [*earlier, *recent] if isfinite(v)]
        self.low, self.high = min(values, default=float("inf")), max(values, default=float("-inf"))
        self.last = self.recent[-1][1] if self.recent else float("nan")


def mean(points: Points) -> tuple[float, float]:
    """Return the mean of points, at the step of the last."""
    return points[-1][0], sum(v for _, v in points) / len(points)
