"""Measures the time of each kernel in a device's submits, by timestamps or by repeats."""

from contextlib import nullcontext
from math import gcd
from threading import RLock, get_ident
from time import perf_counter, perf_counter_ns
from typing import Any, NamedTuple

from ..core import events
from ..core.commands import Command, Copy, Dispatch, encode, flat, spans_of
from ..device.protocol import Gpu
from ..errors import DeviceError
from ..functions import empty
from ..fusion.plan import Cost
from ..runtime.run import realize

TESTED = 32  # kernels in the test of the clock
AT_ONCE = 1000  # the most submits whose times have not been read
COARSE = 1000  # ns: a clock with longer steps can't time a kernel
WALL = 0.5  # the kernels of the test must take at least this fraction of the host's time
one_listener = RLock()  # held while a listener replaces another
REPEATED = 2e-3, 64  # seconds of a kernel's repeats, and the most repeats


class Span(NamedTuple):
    """A kernel, or consecutive copies, that ran from `begin` to `end` in ns of the host's clock."""

    work: Cost
    begin: int
    end: int

    @property
    def seconds(self) -> float:
        return (self.end - self.begin) / 1e9


class Captured:
    """A listener that keeps the submits of a call. The call's results keep the buffers alive.

    before: the previous listener, which still gets the events of other threads.
    """

    def __init__(self, before: Any = None):
        self.before, self.thread = before, get_ident()
        self.words: list[int] = []
        self.works: list[Cost] = []
        self.device: Any = None

    def stage(self, name: str):
        return nullcontext() if self.before is None else self.before.stage(name)

    def submit(self, device: Gpu, works: tuple[Any, ...], parts: tuple[Any, ...]) -> None:
        if get_ident() != self.thread:
            return device.submit(*parts) if self.before is None else self.before.submit(device, works, parts)
        self.device = device
        words = flat(parts)
        self.works += [work for work, _ in spans(device, works, words)]
        self.words += words
        device.submit(*parts)


def capture(call: Any) -> tuple[Any, Captured]:
    """Run a call. Returns its result and the commands that it submitted."""
    with one_listener:
        before = events.listener
        captured = events.listener = Captured(before)
        try:
            return call(), captured
        finally:
            events.listener = before


def spans(device: Gpu, works: tuple[Any, ...], words: list[int]) -> list[tuple[Cost, list[Command]]]:
    """Return (cost, commands) of each kernel or group of copies of a submit. Without `works`, kernels have
    only their grid."""
    commands = list(spans_of(words))
    kernels = sum(isinstance(s[0], Dispatch) for s in commands)
    costs = iter(works if len(works) == kernels else ())
    out: list[tuple[Cost, list[Dispatch | Copy]]] = []
    for span in commands:
        if isinstance(c := span[0], Dispatch):
            work = next(costs, None) or Cost(f"pipeline {c.pipeline}", "", 0, 0, 0, c.grid)
        else:
            moved = sum(c.nbytes for c in span if isinstance(c, Copy))
            work = Cost("copy buffers", "", moved, moved, 0)
        out.append((work, span))
    return out


class Meter:
    """Times the submits of one device. `how` is "timestamps" or "repeats"; `why` is the reason for
    repeats."""

    def __init__(self, device: Gpu):
        self.device, self.how, self.why = device, "repeats", ""
        self.shift = 0  # ns to add to the GPU's clock for the host's
        self.each = 0.0  # seconds of host time that timing adds to a kernel
        self._pending: list[tuple[list[Cost], Any]] = []
        try:
            self._test_clock()  # the first run includes one-time work of the driver and its binding
            self.why = self._test_clock()
        except DeviceError as e:
            self.why = str(e)
        self.how = "repeats" if self.why else "timestamps"

    # --- the test of the clock ---

    def _test_clock(self) -> str:
        """Return why the device's timestamps can't be trusted; "" if they can."""
        n = 1 << (18 if self.device.limits.software else 24)
        x = empty(n, device=self.device)
        realize(x)
        y, captured = capture(lambda: self._plus_one(x))
        with self.device.lock:
            reason = self._test_clock_on(captured.words * TESTED)
        del y  # keeps the buffers in the commands alive until here
        return reason

    def _test_clock_on(self, words: list[int]) -> str:
        begin = perf_counter()
        self.device.submit(words)
        plain = perf_counter() - begin
        self.device.wait()
        begin = perf_counter_ns()
        ticket = self.device.timestamps(words)
        self.each = max((perf_counter_ns() - begin) / 1e9 - plain, 0.0) / TESTED
        self.device.wait()
        end = perf_counter_ns()
        times = ticket.wait()
        # The last kernel ended when the host saw the end: later by the wake-up of the host, some us.
        self.shift = end - times[-1][1]
        return doubt(times, end - ticket.submitted)

    def _plus_one(self, x: Any) -> Any:
        y = x + 1.0
        realize(y)
        return y

    # --- submits ---

    def submit(self, works: tuple[Any, ...], parts: tuple[Any, ...]) -> list[Span]:
        """Run commands. Returns their spans; timestamps follow at a later submit or with `finish`."""
        if self.how == "repeats":
            return self._time_by_repeats(works, flat(parts))
        names = [work for work, _ in spans(self.device, works, flat(parts))]
        if names:
            self._pending.append((names, self.device.timestamps(*parts)))
        return self.finish() if len(self._pending) >= AT_ONCE else []

    def finish(self) -> list[Span]:
        """Return the spans of all submits whose times were not read yet."""
        with self.device.lock:
            pending, self._pending = self._pending, []
        out: list[Span] = []
        for works, ticket in pending:
            for work, (begin, end) in zip(works, ticket.wait(), strict=True):
                out.append(Span(work, begin + self.shift, max(end, begin) + self.shift))
        return out

    def _time_by_repeats(self, works: tuple[Any, ...], words: list[int]) -> list[Span]:
        out: list[Span] = []
        for work, span in spans(self.device, works, words):
            begin = perf_counter_ns()
            self.device.submit(encode(span))
            self.device.wait()
            out.append(Span(work, begin, begin + round(1e9 * self._difference(span))))
        return out

    def _difference(self, span: list[Command]) -> float:
        """Time a kernel by the difference between many runs and one. Its results go to separate memory,
        because buffers of the pool may hold inputs of later kernels of the submit."""
        words, separate = encode(span), []
        if isinstance(c := span[0], Dispatch):
            outputs = self.device.outputs_of(c.pipeline)
            sizes = [self.device.size_of(b) for b in c.buffers[-outputs:]]
            separate = [self.device.alloc(size, size) for size in sizes]
            words = c._replace(buffers=(*c.buffers[:-outputs], *separate)).words()
        # The first run may include an upload or a clock that rises.
        once = min(self.wall(words), self.wall(words))
        seconds, most = REPEATED
        more = min(max(round(seconds / max(once, 1e-6)), 1), most)
        seconds_each = (min(self.wall(words * (1 + more)) for _ in range(2)) - once) / more
        for handle in separate:
            self.device.free(handle)
        return max(seconds_each, 0.0)

    def wall(self, words: list[int]) -> float:
        """Return the host's seconds until commands have run."""
        begin = perf_counter()
        self.device.submit(words)
        self.device.wait()
        return perf_counter() - begin


def doubt(times: list[tuple[int, int]], wall: int) -> str:
    """Return the problem of timestamps of kernels that ran one after the other within `wall` ns, or ""."""
    flat_times = [t for pair in times for t in pair]
    if not all(flat_times):
        return "timestamps are zero"
    if any(end <= begin for begin, end in times) or flat_times != sorted(flat_times):
        return "timestamps go backwards"
    if (step := gcd(*flat_times)) > COARSE:
        return f"timestamps move in steps of {step / 1000:.1f} us"
    total = sum(end - begin for begin, end in times)
    if not WALL * wall <= total <= wall:
        return f"timestamps add up to {total / wall:.2f} of the time that passed"
    return ""


def meter_of(device: Gpu) -> Meter:
    """Return the device's meter. Its clock is tested once, by kernels that no listener sees."""
    if device.meter is None:
        listener, events.listener = events.listener, None
        try:
            device.meter = Meter(device)
        finally:
            events.listener = listener
    return device.meter
