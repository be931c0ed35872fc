"""Times each dispatch of a call's submits, and optionally copies the kernels' inputs."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import get_ident
from time import perf_counter
from typing import Any

from ..core import events
from ..core.commands import COPY, Command, Dispatch, encode, flat
from ..device.protocol import Gpu, Ticket
from ..errors import FlambeauError, OutOfMemory
from ..fusion.plan import Cost
from ..profiling.meter import Span, meter_of, one_listener, spans
from ..profiling.stages import Stages
from .plans import PlanSeen, PlansSeen

Works = tuple[Cost, ...]  # the costs of a submit's kernels
Parts = tuple[Any, ...]  # its commands


@dataclass
class Dispatched:
    """A dispatch of a call and its repeats: the same kernel of the same plan.

    copies: buffers with copies of the first run's inputs; if they were not kept, `why` says why.
    """

    device: Gpu
    work: Cost
    command: Dispatch
    plan: PlanSeen | None = None
    place: int = 0
    words: tuple[int, ...] = ()
    runs: int = 0
    times: list[float] = field(default_factory=list[float])  # seconds of the timed runs
    first: int = 0  # how many of these belong to the first call
    copies: tuple[int, ...] | None = None
    why: str = "its inputs were not kept"


class Inputs:
    """Copies of kernels' inputs, up to a number of bytes. A buffer that several kernels read unchanged is
    copied once."""

    def __init__(self, most: int):
        self.left = self.most = most
        self.copies: dict[int, int] = {}  # buffer -> its copy, until the buffer is written
        self.taken: list[tuple[Gpu, int]] = []

    def keep(self, one: Dispatched) -> None:
        """Copy the inputs of a dispatch, and the contents of its outputs before it writes them."""
        device, c = one.device, one.command
        new = [b for b in dict.fromkeys(c.buffers) if b not in self.copies]
        need = sum(device.size_of(b) for b in new)
        # Later kernels may still fit, so the limit is not an error.
        if need > self.left:
            room = f"they take {need:,} bytes, and {self.left:,} of {self.most:,} were left"
            one.why = f"its inputs were not kept: {room}"
            return
        words: list[int] = []
        for b in new:
            size = device.size_of(b)
            copy = self.copies[b] = device.alloc(size, size)
            self.taken.append((device, copy))
            words += [COPY, b, copy, size]
        if words:
            device.submit(words)
        self.left -= need
        one.copies, one.why = tuple([self.copies[b] for b in c.buffers]), ""

    def forget(self, written: Any = None) -> None:
        """Drop copies of buffers that are about to be written, or all of them."""
        for b in list(self.copies) if written is None else written:
            self.copies.pop(b, None)

    def close(self) -> None:
        """Free all copies."""
        while self.taken:
            device, handle = self.taken.pop()
            device.pool.end(handle)

    def __del__(self):
        self.close()


@dataclass
class SubmitSeen:
    """Kernels that are repeatedly submitted together, and the number of submits that were not timed."""

    works: Works  # a reference that keeps its id unique
    dispatches: list[Dispatched]
    more: int = 0  # submits that were only counted


class CallTrace:
    """Listens to this thread's submits in a block, and times them.

    A new kernel runs once with discarded results before it is timed, because drivers finish compiling a
    kernel at its first run.
    """

    def __init__(self, plans: PlansSeen, inputs: Inputs | None = None):
        self.plans, self.inputs, self.thread = plans, inputs, get_ident()
        self.dispatches: dict[tuple[Any, ...], Dispatched] = {}
        # The dispatch of each submitted span; None for copies.
        self.order: dict[Gpu, list[Dispatched | None]] = {}
        self.spans: dict[Gpu, list[Span]] = {}  # the times of these, complete at the end
        self.starts: dict[Gpu, set[int]] = {}  # the spans that begin a submit
        self.marks: list[tuple[Ticket, Ticket]] | None = None  # timestamps around untimed submits
        self.host = Stages()  # of timed calls
        self.waiting: list[tuple[Dispatched | None, list[Command]]] = []
        self.warm: dict[Gpu, set[int]] = {}
        self.is_timed = True  # False: submits that were timed before are only counted
        self.known: dict[int, SubmitSeen] = {}  # by the id of `works`
        self.own = 0.0  # seconds spent listening

    @contextmanager
    def listening(self) -> Generator[None]:
        """Listen during a block; FlambeauError if a profile is already running."""
        with one_listener:
            if events.listener is not None:
                raise FlambeauError("inspect: a profile is running: end it first")
            events.listener = self
        try:
            yield
        finally:
            with one_listener:
                events.listener = None
            # Also after an exception: else the next inspection would get the times that the meter still has.
            self._read_times()
        self._assign_times()

    def stage(self, name: str) -> AbstractContextManager[Any]:
        is_mine = self.is_timed and get_ident() == self.thread
        return self.host.stage(name) if is_mine else nullcontext()

    def submit(self, device: Gpu, works: Works, parts: Parts) -> None:
        """Run commands, and time or count them."""
        if get_ident() != self.thread:
            return device.submit(*parts)
        # Submits of the same plan have the same object `works`.
        seen = self.known.get(id(works))
        if seen is not None and not self.is_timed:
            seen.more += 1
            if self.inputs is not None:
                self.inputs.forget()
            return self._submit_marked(device, parts)
        begin = perf_counter()
        dispatches = self._submit_timed(device, works, parts)
        if works:
            self.known.setdefault(id(works), SubmitSeen(works, dispatches))
        self.own += perf_counter() - begin - self._plain_seconds(device, dispatches)

    def _submit_marked(self, device: Gpu, parts: Parts) -> None:
        """Run commands, between two timestamps if marks are collected."""
        if self.marks is None or meter_of(device).how != "timestamps":
            return device.submit(*parts)
        # A timestamp needs a command: a copy of one word.
        source, target = (device.alloc(4, 4) for _ in range(2))
        try:
            mark = [COPY, source, target, 4]
            before = device.timestamps(mark)
            device.submit(*parts)
            self.marks.append((before, device.timestamps(mark)))
        finally:
            device.pool.end(source)
            device.pool.end(target)

    def end_first(self) -> None:
        """Mark the end of the first call: later calls are timed apart from it."""
        for one in self.dispatches.values():
            one.first = one.runs

    def _plain_seconds(self, device: Gpu, dispatches: "list[Dispatched]") -> float:
        """Return the estimated seconds of a submit without listening."""
        meter = meter_of(device)
        if meter.how == "timestamps":
            return max(self.sending - meter.each * len(dispatches), 0.0)
        return 0.0

    def _submit_timed(self, device: Gpu, works: Works, parts: Parts) -> "list[Dispatched]":
        """Run commands, time each kernel, and return the dispatches."""
        dispatches: list[Dispatched] = []
        self.sending = 0.0
        warm = self.warm.get(device)
        if warm is None:
            warm = self.warm[device] = self._open(device)
        if self.inputs is not None:
            self.inputs.forget()
        for work, span in spans(device, works, flat(parts)):
            command = span[0]
            if not isinstance(command, Dispatch):
                self.waiting.append((None, span))
                continue
            one = self._dispatch_of(device, work, command)
            dispatches.append(one)
            # Before its first run: waiting commands may still write its inputs.
            if self.inputs is not None and not one.runs:
                self._flush(device)
                self.inputs.keep(one)
            one.runs += 1
            if command.pipeline not in warm and meter_of(device).how == "timestamps":
                warm.add(command.pipeline)
                self._flush(device)
                begin = perf_counter()
                _run_discarded(device, command)
                self.sending += perf_counter() - begin  # the driver's compile time is not overhead
            self.waiting.append((one, span))
            if self.inputs is not None:
                self.inputs.forget(command.buffers[-device.outputs_of(command.pipeline) :])
        self._flush(device)
        return dispatches

    def _open(self, device: Gpu) -> set[int]:
        """Prepare a device for timing. Returns the set of kernels that ran before, which is empty."""
        meter_of(device)
        self.order[device], self.spans[device], self.starts[device] = [], [], set()
        return set()

    def _dispatch_of(self, device: Gpu, work: Cost, command: Dispatch) -> Dispatched:
        plan_row = self.plans.of(work)
        key = (device, id(work)) if plan_row is None else (device, id(plan_row[0]), plan_row[1])
        one = self.dispatches.get(key)
        if one is None:
            # It keeps the work, whose id is the key.
            one = self.dispatches[key] = Dispatched(device, work, command)
            if plan_row is not None:
                one.plan, one.place = plan_row
                one.words = one.plan.words(one.plan.compiled.plan.kernels[one.place])
        return one

    def _flush(self, device: Gpu) -> None:
        """Submit the waiting commands."""
        if not self.waiting:
            return
        works = tuple([one.work for one, _ in self.waiting if one is not None])
        words = encode([c for _, span in self.waiting for c in span])
        self.starts[device].add(len(self.order[device]))  # gaps are only measured inside a submit
        self.order[device] += [one for one, _ in self.waiting]
        self.waiting = []
        begin = perf_counter()
        self.spans[device] += meter_of(device).submit(works, (words,))
        self.sending += perf_counter() - begin

    def _read_times(self) -> None:
        """Read the times that are still on the GPU."""
        for device in self.order:
            device.wait()
            with device.lock:
                self.spans[device] += meter_of(device).finish()

    def _assign_times(self) -> None:
        """Assign the measured times to the dispatches."""
        for device, order in self.order.items():
            for one, span in zip(order, self.spans[device], strict=True):
                if one is not None:
                    one.times.append(span.seconds)
        for seen in self.known.values():
            for one in seen.dispatches:
                one.runs += seen.more


def _run_discarded(device: Gpu, c: Dispatch) -> None:
    """Run a kernel with scratch buffers for its results; skip it if they do not fit into memory."""
    outputs, scratch = device.outputs_of(c.pipeline), list[int]()
    try:
        for b in c.buffers[-outputs:]:
            size = device.size_of(b)
            scratch.append(device.alloc(size, size))
        device.submit(c._replace(buffers=(*c.buffers[:-outputs], *scratch)).words())
        device.wait()
    except OutOfMemory:
        pass
    finally:
        for handle in scratch:
            device.free(handle)
