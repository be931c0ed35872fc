"""Values over steps into a curve of bounded size: all of it, ever coarser, and its end as it came."""

from collections import deque
from math import isfinite

KEPT = 2048  # points of a whole curve: where there are more, each two neighbours become one
RECENT = 512  # last points, as they came

Points = list[tuple[float, float]]  # (step, value)


class Curve:
    """One metric of one split. `last` is the newest value, `low` and `high` bound the finite ones."""

    def __init__(self):
        self.points: Points = []  # means of `stride` values, at the last one's step
        self.stride = 1
        self.recent: deque[tuple[float, float]] = deque(maxlen=RECENT)
        self.last, self.low, self.high = float("nan"), float("inf"), float("-inf")
        self.sum, self.count = 0.0, 0  # of the values that are no point yet

    def __len__(self) -> int:
        return len(self.points)

    def add(self, step: float, value: float) -> None:
        """Append a value."""
        self.last = value
        self.recent.append((step, value))
        if isfinite(value):
            self.low, self.high = min(self.low, value), max(self.high, value)
        self.sum, self.count = self.sum + value, self.count + 1
        if self.count >= self.stride:
            self.points.append((step, self.sum / self.count))
            self.sum, self.count = 0.0, 0
            if len(self.points) >= KEPT:
                self.halve()

    def halve(self) -> None:
        pairs = zip(self.points[::2], self.points[1::2], strict=False)  # KEPT is even
        self.points = [(step, (a + b) / 2) for (_, a), (step, b) in pairs]
        self.stride *= 2

    def whole(self) -> Points:
        """The curve from its first step to its last."""
        rest = [(self.recent[-1][0], self.sum / self.count)] if self.count else []
        return self.points + rest

    def cut(self, step: float) -> None:
        """Forget what came after a step: a run that goes on there does it again."""
        kept = [p for p in self.points if p[0] <= step]
        recent = [p for p in self.recent if p[0] <= step]
        if len(kept) == len(self.points) and len(recent) == len(self.recent):
            return
        self.points, self.sum, self.count = kept, 0.0, 0
        self.recent = deque(recent or kept[-1:], maxlen=RECENT)
        values = [v for _, v in [*kept, *recent] if isfinite(v)]
        self.low, self.high = min(values, default=float("inf")), max(values, default=float("-inf"))
        self.last = self.recent[-1][1] if self.recent else float("nan")
