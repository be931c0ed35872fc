"""Formats the state of a run as text: durations, sizes, the line of an epoch, the final picture."""

from collections.abc import Iterable, Sequence
from math import isfinite

from ..profiling.report import align_columns, si
from .advice import advice
from .curve import Points
from .events import EpochEnded, Split
from .plot import MARKS, Drawn, lines, plot
from .run_view import RunState

MARGIN = 78  # columns of what stays at the end


def duration(seconds: float) -> str:
    """Seconds as 0:04, 12:30, 3:00:00 or 2 d 04:00; below ten with a tenth."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    total = round(seconds)
    days, hours, minutes = total // 86400, total // 3600 % 24, total // 60 % 60
    if days:
        return f"{days} d {hours:02}:{minutes:02}"
    return f"{hours}:{minutes:02}:{total % 60:02}" if hours else f"{minutes}:{total % 60:02}"


def value(x: float | None) -> str:
    """A metric in four digits; "-" for none."""
    return "-" if x is None else f"{x:.4g}" if isfinite(x) else str(x)


def memory(state: RunState) -> str:
    """Memory on the device now, and at its most."""
    if not state.most_memory:
        return ""
    return f"memory {si(state.memory, 'B')}, at most {si(state.most_memory, 'B')}"


def speed(state: RunState) -> str:
    """Steps and items a second of late."""
    steps, items = state.rate(), state.rate("items")
    if not steps or not items:
        return ""
    shown = f"{steps:.1f} steps/s" if steps < 100 else f"{steps:,.0f} steps/s"
    return f"{shown}, {si(items, '')}".rstrip() + " items/s"


def place(state: RunState) -> str:
    """Split, epoch and batch: `train epoch 2/10, batch 30/600`."""
    epoch, p = state.epoch, state.progress
    if epoch is None:
        return "not begun"
    total = (p.of if p else None) or epoch.steps
    batch = f", batch {p.index:,}" + (f"/{total:,}" if total else "") if p else ""
    return f"{epoch.split} epoch {epoch.epoch + 1}/{epoch.of}{batch}"


def heading(state: RunState) -> str:
    """What runs, where, and how large it is."""
    s = state.started
    if s is None:
        return "waiting for a run"
    again = f", resumed at step {s.step:,}" if s.resumed else ""
    return f"{s.run} on {s.device}, {si(s.parameters, '')}".rstrip() + f" parameters{again}"


def time_left(state: RunState) -> str:
    """Time since the start, and what is left."""
    left = state.left
    if state.ended:
        return f"{duration(state.elapsed)} in total"
    return f"{duration(state.elapsed)} so far, " + ("? left" if left is None else f"{duration(left)} left")


def epoch_line(e: EpochEnded, of: int) -> str:
    """The line of an epoch that ended."""
    shown = "".join(f"  {name} {value(x)}" for name, x in e.metrics.items())
    return f"epoch {e.epoch + 1}/{of}  {e.split:<5}{shown}  {duration(e.seconds)}"


def curves_of(
    states: Sequence[RunState], name: str, splits: Iterable[Split | str], recent: bool = False
) -> list[Drawn]:
    """The curves of a metric, a colour each, in the order in which they are drawn.

    Of the other runs the last split alone is drawn that has the metric: validation, if there is one. The
    first run's lies on top of these, its training, whose values are of single steps, beneath all.
    """
    own = [(str(split), points) for split in splits if (points := states[0].points(name, split, recent))]
    others = [
        (f"{s.name} {split}", points) for s in states[1:] for split, points in last_split(s, name, recent)
    ]
    coloured = [Drawn(said, points, i) for i, (said, points) in enumerate([*own, *others])]
    last = max(len(own) - 1, 0)  # of its splits
    return coloured[:last] + coloured[len(own) :] + coloured[last : len(own)]


def last_split(state: RunState, name: str, recent: bool) -> list[tuple[str, Points]]:
    """The last split of a run that has a metric, with its curve, as a list of one or none."""
    pairs = [(split, state.points(name, split, recent)) for split in state.splits]
    return [pair for pair in pairs if pair[1]][-1:]


def key(curves: Iterable[Drawn]) -> list[Drawn]:
    """Curves in the order in which their colours are explained: the first run's first."""
    return sorted(curves, key=lambda c: c.colour)


def last_values(state: RunState) -> list[str]:
    """A table: a row a metric, a column a split."""
    splits = state.splits
    if not splits:
        return []
    rows = [(name, *(value(state.last(name, s)) for s in splits)) for name in state.names]
    return align_columns([("", *splits), *rows])


def summary(state: RunState, *, width: int = MARGIN, height: int = 10, unicode: bool = True) -> str:
    """What stays when a run is over: what ran, the first metric's curves, last values, why it ended."""
    out = [heading(state), f"{place(state)}, step {state.step:,}, {time_left(state)}"]
    for name in state.names[:1]:
        curves = curves_of([state], name, state.splits)
        rows = lines(plot(curves, width, height, unicode=unicode))
        named = [c.name if unicode else f"{c.name} {MARKS[c.colour % len(MARKS)]}" for c in key(curves)]
        out += ["", f"{name} ({', '.join(named)})", *rows]
    out += ["", *last_values(state), "", advice(state)]
    return "\n".join(out)
