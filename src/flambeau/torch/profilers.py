"""torch.profiler and torch.autograd.profiler: seconds of named blocks; `fb.profile` measures kernels."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

from ..runtime.state import thread


class ProfilerActivity(Enum):
    """What PyTorch can record; blocks are recorded here for each."""

    CPU, XPU, MTIA, CUDA, HPU, PrivateUse1 = range(6)


class ProfilerAction(Enum):
    """What a profile does in a step."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


class NamedBlock(NamedTuple):
    """A block of `record_function` that has ended: seconds of the process's clock."""

    name: str
    start: float
    end: float


@dataclass
class BlockTotals:
    """All blocks of one name. Times are in microseconds."""

    key: str
    count: int
    cpu_time_total: float

    @property
    def self_cpu_time_total(self) -> float:
        """The same: times of blocks inside are not subtracted."""
        return self.cpu_time_total

    @property
    def cpu_time(self) -> float:
        """The mean of one block."""
        return self.cpu_time_total / self.count


class EventList(list[BlockTotals]):
    """The totals of a profile, as `key_averages` returns them."""

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """A text with a line for each name. sort_by, options: accepted and ignored; the longest is first."""
        rows = sorted(self, key=lambda row: -row.cpu_time_total)[:row_limit]
        lines = [f"{'Name':40}  {'CPU total':>12}  {'# of Calls':>10}"]
        lines += [f"{row.key[:40]:40}  {row.cpu_time_total / 1e3:9.3f} ms  {row.count:10}" for row in rows]
        return "\n".join(lines)

    def total_average(self) -> BlockTotals:
        """The total of all names."""
        return BlockTotals("Total", sum(r.count for r in self), sum(r.cpu_time_total for r in self))


_running: list["profile"] = []


class record_function:
    """A block (or decorated function) with a name, whose seconds a `profile` around it lists.

    A lazy operation is computed where its value is read, so also in a later block; `fb.profile` measures
    kernels.

    name: the block's name. args: accepted and ignored.
    """

    def __init__(self, name: str, args: str | None = None):
        self.name = name

    def __enter__(self) -> "record_function":
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: Any) -> None:
        if _running and thread.recorder is None:
            _running[-1].blocks.append(NamedBlock(self.name, self._start, time.perf_counter()))

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kw: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kw)

        return call


def _record_always(_: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class profile:
    """Lists the blocks of `record_function` inside, with their seconds.

    schedule: a function from the number of a step to a ProfilerAction: which steps are recorded
    on_trace_ready: called with the profile at the end of each recorded cycle
    activities, options: accepted and ignored
    """

    def __init__(
        self,
        activities: Any = None,
        *,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[["profile"], Any] | None = None,
        **options: Any,
    ):
        self._schedule = schedule or _record_always
        self._ready = on_trace_ready
        self.step_num, self.blocks = 0, list[NamedBlock]()
        self.profiler = self

    def start(self) -> None:
        """Begin to record."""
        _running.append(self)
        self._begin, self._first = time.perf_counter(), len(self.blocks)

    def stop(self) -> None:
        """End it; call on_trace_ready if no step did."""
        if self in _running:
            _running.remove(self)
        action = self._schedule(self.step_num)
        if self._ready is not None and action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._ready(self)

    def __enter__(self) -> "profile":
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def step(self) -> None:
        """The next step of a schedule begins."""
        now, action = time.perf_counter(), self._schedule(self.step_num)
        self.blocks.append(NamedBlock(f"ProfilerStep#{self.step_num}", self._begin, now))
        if action in (ProfilerAction.NONE, ProfilerAction.WARMUP):
            del self.blocks[self._first :]
        if action is ProfilerAction.RECORD_AND_SAVE and self._ready is not None:
            self._ready(self)
        self.step_num, self._begin, self._first = self.step_num + 1, now, len(self.blocks)

    def key_averages(self, *args: Any, **kw: Any) -> EventList:
        """The totals by name. args, kw: accepted and ignored."""
        totals: dict[str, list[float]] = {}
        for block in self.blocks:
            totals.setdefault(block.name, []).append((block.end - block.start) * 1e6)
        return EventList(BlockTotals(name, len(spent), sum(spent)) for name, spent in totals.items())

    def events(self) -> list[NamedBlock]:
        """The blocks in the order in which they ended."""
        return self.blocks

    def export_chrome_trace(self, path: str) -> None:
        """Write the blocks as a trace of Chrome's format to a file."""
        rows = [
            {
                "name": b.name,
                "ph": "X",
                "ts": b.start * 1e6,
                "dur": (b.end - b.start) * 1e6,
                "pid": 0,
                "tid": 0,
            }
            for b in self.blocks
        ]
        Path(path).write_text(json.dumps({"traceEvents": rows}), encoding="utf-8")


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, **options: Any
) -> Callable[[int], ProfilerAction]:
    """A schedule of cycles: `wait` steps off, `warmup` steps thrown away, `active` steps recorded.

    repeat: the number of cycles, 0 without end. skip_first: steps before the first. options: accepted and
    ignored.
    """

    def action_of(step: int) -> ProfilerAction:
        length, place = wait + warmup + active, step - skip_first
        if place < 0 or (repeat and place // length >= repeat) or place % length < wait:
            return ProfilerAction.NONE
        if place % length < wait + warmup:
            return ProfilerAction.WARMUP
        is_last = place % length == length - 1
        return ProfilerAction.RECORD_AND_SAVE if is_last else ProfilerAction.RECORD

    return action_of


def tensorboard_trace_handler(dir_name: str, *args: Any, **kw: Any) -> Callable[[profile], None]:
    """A function for on_trace_ready that writes each trace to a file of the folder dir_name."""

    def write(p: profile) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        p.export_chrome_trace(str(folder / f"step_{p.step_num}.pt.trace.json"))

    return write


def is_fbcode() -> bool:
    """False."""
    return False
