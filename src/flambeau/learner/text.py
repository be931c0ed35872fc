"""Formats the state of a run as text: durations, sizes, the line of an epoch, the final plot."""

from collections.abc import Iterable, Sequence
from math import isfinite

from ..profiling.report import align_columns, si
from .advice import advice
from .curve import Points
from .events import EpochEnded, Split
from .plot import MARKS, Drawn, lines, plot
from .run_view import RunState

WIDTH = 78  # columns of the final summary


def duration(seconds: float) -> str:
    """Format seconds as "4.2 s" (below 10), "12:30", "3:00:00" or "2 d 04:00"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    total = round(seconds)
    days, hours, minutes = total // 86400, total // 3600 % 24, total // 60 % 60
    if days:
        return f"{days} d {hours:02}:{minutes:02}"
    return f"{hours}:{minutes:02}:{total % 60:02}" if hours else f"{minutes}:{total % 60:02}"


def value(x: float | None) -> str:
    """Format a metric with four digits; "-" for None."""
    return "-" if x is None else f"{x:.4g}" if isfinite(x) else str(x)


def memory(state: RunState) -> str:
    """Format the current and the peak memory on the device."""
    if not state.most_memory:
        return ""
    return f"memory {si(state.memory, 'B')}, at most {si(state.most_memory, 'B')}"


def speed(state: RunState) -> str:
    """Format the recent steps and items per second; batches in a validation."""
    steps, items = state.rate(), state.rate("items")
    if not steps or not items:
        return ""
    _, newest = state.window_ends()
    unit = "steps" if newest is None or newest.split == "train" else "batches"
    rate = f"{steps:.1f} {unit}/s" if steps < 100 else f"{steps:,.0f} {unit}/s"
    return f"{rate}, {si(items, '')}".rstrip() + " items/s"


def place(state: RunState) -> str:
    """Format split, epoch and batch: `train epoch 2/10, batch 30/600`."""
    epoch, p = state.epoch, state.progress
    if epoch is None:
        return "not begun"
    total = (p.of if p else None) or epoch.steps
    batch = f", batch {p.index:,}" + (f"/{total:,}" if total else "") if p else ""
    return f"{epoch.split} epoch {epoch.epoch + 1}/{epoch.of}{batch}"


def heading(state: RunState) -> str:
    """Format the run's name, device and number of parameters."""
    s = state.started
    if s is None:
        return "waiting for a run"
    resumed = f", resumed at step {s.step:,}" if s.resumed else ""
    return f"{s.run} on {s.device}, {si(s.parameters, '')}".rstrip() + f" parameters{resumed}"


def time_left(state: RunState) -> str:
    """Format the elapsed and the remaining time."""
    left = state.left
    if state.ended:
        return f"{duration(state.elapsed)} in total"
    return f"{duration(state.elapsed)} so far, " + ("? left" if left is None else f"{duration(left)} left")


def epoch_line(e: EpochEnded, of: int) -> str:
    """Format the line of a finished epoch."""
    metrics = "".join(f"  {name} {value(x)}" for name, x in e.metrics.items())
    return f"epoch {e.epoch + 1}/{of}  {e.split:<5}{metrics}  {duration(e.seconds)}"


def curves_of(
    states: Sequence[RunState], name: str, splits: Iterable[Split | str], recent: bool = False
) -> list[Drawn]:
    """Return the curves of a metric in drawing order, each with a colour.

    Of other runs only the last split with the metric is drawn, such as "valid". The curves of the first run
    are drawn on top of these, except its training curve: it shows single steps and is drawn below all.
    """
    first = [(str(split), points) for split in splits if (points := states[0].points(name, split, recent))]
    others = [
        (f"{s.name} {split}", points) for s in states[1:] for split, points in last_split(s, name, recent)
    ]
    coloured = [Drawn(label, points, i) for i, (label, points) in enumerate([*first, *others])]
    last = max(len(first) - 1, 0)  # the number of the first run's last split
    return coloured[:last] + coloured[len(first) :] + coloured[last : len(first)]


def last_split(state: RunState, name: str, recent: bool) -> list[tuple[str, Points]]:
    """Return the last split of a run that has the metric, and its curve, as a list of at most one pair."""
    pairs = [(split, state.points(name, split, recent)) for split in state.splits]
    return [pair for pair in pairs if pair[1]][-1:]


def key(curves: Iterable[Drawn]) -> list[Drawn]:
    """Return curves in the order of the legend: the first run's first."""
    return sorted(curves, key=lambda c: c.colour)


def last_values(state: RunState) -> list[str]:
    """Format the newest values as a table: a row per metric, a column per split."""
    splits = state.splits
    if not splits:
        return []
    rows = [(name, *(value(state.last(name, s)) for s in splits)) for name in state.names]
    return align_columns([("", *splits), *rows])


def summary(state: RunState, *, width: int = WIDTH, height: int = 10, unicode: bool = True) -> str:
    """Format the summary of a finished run: its heading, the first metric's curves, the last values and the
    reason of its end."""
    out = [heading(state), f"{place(state)}, step {state.step:,}, {time_left(state)}"]
    for name in state.names[:1]:
        curves = curves_of([state], name, state.splits)
        rows = lines(plot(curves, width, height, unicode=unicode))
        legend = [c.name if unicode else f"{c.name} {MARKS[c.colour % len(MARKS)]}" for c in key(curves)]
        out += ["", f"{name} ({', '.join(legend)})", *rows]
    out += ["", *last_values(state), "", advice(state)]
    return "\n".join(out)
