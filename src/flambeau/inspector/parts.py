"""Measures the parts of a call's time: kernels, copies, gaps between them, the host, the queue."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from ..profiling.meter import meter_of
from .dispatches import CallTrace
from .model import CallRow
from .sites import Sites

AT_FIRST, THEN = ("looked", "looked"), ("plain", "around", "looked", "plain")
FEW = 4  # up to this many calls, each is timed: the third would be the only replay of a recording
TURNS = 32  # the first calls, which take turns
MORE = 24  # about this many of the later calls are timed
Places = dict[Any, tuple[int, int]]  # by device: the range of a call in `CallTrace.spans`


@dataclass
class TimedCall:
    """A call.

    how: "looked" (each kernel is timed), "around" (each submit is timed) or "plain". seconds: until all
    results are computed; host: until its last command was submitted; own: the share of inspecting in both.
    spans: of timed kernels. marks: timestamps around submits.
    """

    how: str
    seconds: float = 0.0
    host: float = 0.0
    own: float = 0.0
    stages: dict[str, float] = field(default_factory=dict[str, float])
    spans: Places = field(default_factory=dict[Any, tuple[int, int]])
    marks: list[Any] | None = None

    @property
    def busy(self) -> float:
        """The GPU's seconds between the beginning and the end of each submit."""
        times = [(before.wait()[0], after.wait()[0]) for before, after in self.marks or ()]
        return sum(after[0] - before[1] for before, after in times) / 1e9


class Calls:
    """The calls of an inspection.

    A timed kernel runs in a separate pass, which adds a gap. With more than a few calls, from the third on,
    every second call is plain, for the time of a call, and every fourth has timestamps only around its
    submits, for the gaps. Recorded functions are traced again in calls 2, 4, 8, ..., so the third and fifth
    calls are alike.
    """

    def __init__(self, trace: CallTrace, sites: Sites, runs: int, is_warm: bool = False):
        self.trace, self.sites, self.runs = trace, sites, runs
        self.is_warm = is_warm  # whether the first call only prepares for the others
        self.count, self.all = 0, list[TimedCall]()

    @contextmanager
    def another(self) -> Generator[None]:
        """Time a block that makes the next call."""
        n, trace = self.count, self.trace
        self.count += 1
        # Enough turns: from here on a few calls are timed and the others only counted.
        if n >= TURNS:
            trace.marks, trace.is_timed = None, n % -(-self.runs // MORE) == 0
            yield
            return
        call = TimedCall(self._how(n))
        self.all.append(call)
        trace.is_timed, trace.marks = call.how == "looked", [] if call.how == "around" else None
        before = {device: len(spans) for device, spans in trace.order.items()}
        own = trace.own + self.sites.own
        begin = perf_counter()
        yield
        call.host = perf_counter() - begin
        for device in trace.order:  # a call ends when its results are computed
            device.wait()
        call.seconds = perf_counter() - begin
        call.own, call.marks = trace.own + self.sites.own - own, trace.marks
        call.spans = {d: (before.get(d, 0), len(spans)) for d, spans in trace.order.items()}
        for stage in trace.host.rows:
            call.stages[stage.name] = call.stages.get(stage.name, 0.0) + stage.own / 1e9
        trace.host.rows.clear()

    def _how(self, n: int) -> str:
        is_looked_at = n < len(AT_FIRST) or self.runs <= FEW
        return "looked" if is_looked_at else THEN[(n - len(AT_FIRST)) % len(THEN)]

    def rows(self) -> tuple[CallRow, ...]:
        """Return the first call and the fastest later one, after the trace has its times."""
        first, *later = self.all
        return (self._row("first", [first]), *([self._row("later", later)] if later else []))

    def _row(self, which: Any, calls: list[TimedCall]) -> CallRow:
        looked, around, plain = ([c for c in calls if c.how == how] for how in ("looked", "around", "plain"))
        busy = [call.busy for call in around]
        seen = min(looked, key=lambda c: c.seconds - c.own)
        timed = looked if plain else [seen]  # without a plain call, time and kernels come from the same call
        # The fastest call has the least disturbance by other load.
        gpu, gaps = min(map(self._gpu, timed), key=lambda one: sum(one[0].values()))
        fastest = min(plain, key=lambda c: c.seconds) if plain else seen
        seconds, host = (max(s - fastest.own, 0.0) for s in (fastest.seconds, fastest.host))
        work = sum(gpu.values())
        if not plain and any(meter_of(d).how == "repeats" for d in seen.spans):
            seconds += work  # the timed repeats are part of the call
        isolated = gpu["kernels"] if work > seconds else 0.0
        if isolated:  # separate passes take longer, or other load was higher: scale to the call
            gpu, work = {name: s * seconds / work for name, s in gpu.items()}, seconds
        # The time of submits minus the kernels is more exact than the gaps between separately timed kernels.
        between = min(busy) - work if busy else gaps
        gaps = max(min(between, seconds - work), 0.0)
        idle = max(seconds - work - gaps, 0.0)
        parts = gpu | {"gaps": gaps, "host": min(idle, host), "queue": max(idle - host, 0.0)}
        python = max(seen.host - seen.own - sum(seen.stages.values()), 0.0)
        stages = {"python": python} | seen.stages
        return CallRow(which, len(calls), not plain, seconds, parts, stages, isolated)

    def _gpu(self, call: TimedCall) -> tuple[dict[str, float], float]:
        """Return the GPU's seconds in a call's kernels and copies, and in gaps within a submit."""
        seconds, gaps = {"kernels": 0.0, "copies": 0.0}, 0.0
        for device, (begin, end) in call.spans.items():
            spans, starts = self.trace.spans[device], self.trace.starts[device]
            for command in range(begin, end):
                seconds["copies" if self.trace.order[device][command] is None else "kernels"] += spans[
                    command
                ].seconds
                # Between submits the GPU waits for the host: that time is "host" or "queue".
                if command not in starts and meter_of(device).how == "timestamps":
                    gaps += max(spans[command].begin - spans[command - 1].end, 0) / 1e9
        return seconds, gaps
