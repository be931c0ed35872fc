"""Compares two inspections: kernels that were gained or lost, and kernels that became slower or faster."""

from collections import Counter
from dataclasses import dataclass

from ..core.printing import count_text
from ..profiling.report import align_columns
from .model import Inspection
from .report import layer_of, plain, short

NOISE = 0.1  # the least relative change of a time that is reported
Kind = tuple[str, str, str]  # (name, template, layer) of kernels
LEAST = 2e-6  # the least change in seconds that is reported


@dataclass(frozen=True)
class KernelChange:
    """The kernels with one name, template and layer in two inspections: their counts and seconds."""

    name: str
    template: str
    layer: str
    before: int
    after: int
    seconds_before: float
    seconds_after: float

    @property
    def what(self) -> str:
        """The kind of change: gained, lost, more, fewer, slower, faster or same."""
        if not self.before:
            return "gained"
        if not self.after:
            return "lost"
        if self.before != self.after:
            return "more" if self.after > self.before else "fewer"
        gap = self.seconds_after - self.seconds_before
        if abs(gap) < LEAST or abs(gap) < NOISE * self.seconds_before:
            return "same"
        return "slower" if gap > 0 else "faster"


def compare(before: Inspection, after: Inspection) -> list[KernelChange]:
    """Return the changes between two inspections, the largest change of time first. Times are per call."""
    sides = [_count(inspection) for inspection in (before, after)]
    changes: list[KernelChange] = []
    for key in dict.fromkeys([*sides[0][0], *sides[1][0]]):
        counts = [counts.get(key, 0) for counts, _ in sides]
        seconds = [seconds.get(key, 0.0) for _, seconds in sides]
        changes.append(KernelChange(*key, *counts, *seconds))
    return sorted(changes, key=lambda c: -abs(c.seconds_after - c.seconds_before))


def _count(inspection: Inspection) -> tuple[dict[Kind, int], dict[Kind, float]]:
    """Return the number of kernels of each name, template and layer, and the seconds of one run of each."""
    counts: dict[Kind, int] = {}
    seconds: dict[Kind, float] = {}
    for k in inspection.kernels:
        key = k.name, inspection.shaders[k.shader].template, layer_of(inspection, k)
        counts[key] = counts.get(key, 0) + 1
        seconds[key] = seconds.get(key, 0.0) + k.seconds / max(k.runs, 1)
    return counts, seconds


def text(before: Inspection, after: Inspection, rows: int = 40) -> str:
    """Return the comparison as a table, without unchanged kernels."""
    changes = [c for c in compare(before, after) if c.what != "same"]
    lines: list[str] = []
    for inspection in (before, after):
        count = count_text(len(inspection.kernels), "kernel")
        total = sum(k.seconds / max(k.runs, 1) for k in inspection.kernels)
        lines.append(plain(f"{inspection.target} on {inspection.device}: {count}, {total * 1e3:.3f} ms"))
    tally = Counter(c.what for c in changes)
    if not changes:
        return "\n".join([*lines, "no kernel is gained, lost, slower or faster"])
    lines.append(", ".join(f"{n} {change}" for change, n in tally.most_common()))
    table = [("kernel", "", "kernels", "ms before", "ms after", "layer")]
    for c in changes[:rows]:
        times = f"{c.seconds_before * 1e3:.3f}", f"{c.seconds_after * 1e3:.3f}"
        table.append((short(c.name), c.what, f"{c.before} to {c.after}", *times, plain(c.layer)))
    left = len(changes) - rows
    return "\n".join([*lines, "", *align_columns(table), *([f"{left} more"] if left > 0 else [])])
