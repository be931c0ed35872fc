"""Adds the partial sums of all workers, round by round: each worker adds its segment, and all get all.

Three threads of each worker pass the rounds on: the caller's puts partial sums in shared memory, one adds all
workers' numbers of its own segment, and one uses the sums of all segments. Peers on one host read both in
place.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from time import perf_counter, thread_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FlambeauError
from .carrier import CopyThreads
from .compression import WIRES, Bytes, Encoded, Feedback, Floats, Numbers, Wire
from .group import ProcessGroup, RankCall
from .layout import Round
from .mesh import Payload
from .reduce import Span, TreeSum

STATUS = 8  # bytes before a segment's sum: the rank whose numbers are not finite, + 1, and the tensor
CHUNK = 1 << 19  # elements that are added at a time: the sums, 2 MB, stay in the cache for the check
# Rounds that have memory at the same time. With memory for each, an exchange of 496 MB between two H200s took
# 110 ms in place of 79: it was read when it had left the cache.
DEPTH = 3


class BadGradient(FlambeauError):
    """The gradients of a rank have NaN or infinity."""


class Flaw(NamedTuple):
    """Numbers that are not finite: the rank that sent them (the number of ranks if only the sum overflowed),
    and the number of the tensor."""

    rank: int
    tensor: int


class SumSlots:
    """Shared memory of one worker, reused in each step: its partial sums and the sums of its segments, for
    `depth` rounds. Each step's calls must have ended before the next one writes to it.

    A round takes the memory of the round `depth` earlier, which is in the cache then. That one's use must
    have ended on this worker, which tells that all workers have added their segments of it, and so have read
    its partial sums. A worker writes sums after all partial sums of the same round have arrived, so all
    workers have used the previous sums. Where a worker has nothing to add or to send, this would
    not follow: then each round has its memory.
    """

    def __init__(self, group: ProcessGroup, rounds: Sequence[Round], spans: Sequence[Sequence[Span]]):
        rank, own = group.rank, len(spans[group.rank])
        self.group, self._messages = group, dict[tuple[int, tuple[int, ...]], Bytes]()
        is_ordered = all(spans) and all(a < b for r in rounds for a, b in pairwise(r.bounds))
        self.depth = min(DEPTH, len(rounds)) if is_ordered else len(rounds)
        segments = [r.bounds[rank + 1] - r.bounds[rank] for r in rounds]
        largest, longest = max(r.size for r in rounds) if rounds else 0, max(segments, default=0)
        partials = [group.empty(own * largest) for _ in range(self.depth)]
        sums = [group.empty(STATUS + 4 * longest, np.uint8) for _ in range(self.depth)]
        places = [number % self.depth for number in range(len(rounds))]
        self.partials: list[Floats] = [
            partials[place][: own * r.size].reshape(own, r.size)
            for place, r in zip(places, rounds, strict=True)
        ]
        self.sums: list[Bytes] = [
            sums[place][: STATUS + 4 * n] for place, n in zip(places, segments, strict=True)
        ]

    def message(self, number: int, key: tuple[int, ...], nbytes: int) -> Bytes:
        """Return memory for a message of a round in a lossy wire. key: tells a round's messages apart."""
        place = number % self.depth, key
        memory = self._messages.get(place)
        if memory is None or memory.size < nbytes:
            memory = self._messages[place] = self.group.empty(nbytes, np.uint8)
        return memory[:nbytes]


class Moment(NamedTuple):
    """A time of the clock, and the processor time of this thread."""

    clock: float
    processor: float


def moment() -> Moment:
    """Return the present time."""
    return Moment(perf_counter(), thread_time())


class StageTimes:
    """Seconds that each stage of the exchange was busy or waited in a step, how many of them its thread
    computed, and the times (of perf_counter) when the device had computed the last gradients and when all
    sums had arrived."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.processor: dict[str, float] = {}
        self.computed = self.finished = 0.0

    def add(self, stage: str, began: Moment) -> Moment:
        """Count the time since `began`, in the same thread, to a stage; returns the present time."""
        now = moment()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now.clock - began.clock
        self.processor[stage] = self.processor.get(stage, 0.0) + now.processor - began.processor
        return now


class GradientExchange:
    """Sums over the workers of a group. The caller gets each round's memory from `partials_of`, fills it, and
    calls `send`, in order.

    rounds: equal on all ranks. spans: for each rank, the nodes of the tree whose sums it has. tree: adds
    partial sums. feedback: encodes, and stores the rounding errors of lossy wires. slots: the caller writes
    this worker's partial sums there. use: called in a thread with each round's number and its sums, in order;
    in an owned round, with the sums of this worker's segment.
    """

    def __init__(
        self,
        group: ProcessGroup,
        rounds: Sequence[Round],
        spans: Sequence[Sequence[Span]],
        tree: TreeAdd,
        feedback: Feedback,
        slots: SumSlots,
        use: Callable[[int, list[Numbers]], object],
    ):
        self.group, self.rounds, self.spans, self.tree = group, rounds, spans, tree
        self.feedback, self.slots, self.use = feedback, slots, use
        self.times: StageTimes | None = None
        self.sent = 0  # bytes to other ranks
        self.others = [r for r in range(group.size) if r != group.rank]
        self.flaws: list[Flaw] = []
        self.calls: list[RankCall] = []
        self._errors: list[BaseException] = []
        self._threads: list[threading.Thread] = []
        self._free = threading.Semaphore(slots.depth)  # rounds that have memory
        self._stages: list[queue.SimpleQueue[int | None]] = [queue.SimpleQueue(), queue.SimpleQueue()]

    def start(self) -> None:
        """Begin the calls of a step, on all ranks."""
        self.calls = [self.group.begin("add_gradients"), self.group.begin("share_gradients")]
        for name, stage, after, work in (
            ("add", self._stages[0], self._stages[1], self._add_round),
            ("use", self._stages[1], None, self._use_round),
        ):
            thread = threading.Thread(
                target=self._serve, args=(stage, after, work), name=f"flambeau-{name}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def _serve(
        self,
        stage: queue.SimpleQueue[int | None],
        after: queue.SimpleQueue[int | None] | None,
        work: Callable[[int], object],
    ) -> None:
        try:
            while (number := stage.get()) is not None:
                work(number)
                if after is not None:
                    after.put(number)
        except BaseException as e:
            self._fail(e)
        finally:
            if after is not None:
                after.put(None)

    def _fail(self, error: BaseException) -> None:
        self._errors.append(error)
        self._free.release(len(self.rounds) + 1)  # nobody waits for memory any more
        if not self.group.failure and not self.group.mesh.closed:  # all ranks know of these
            self.group.abort(f"{type(error).__name__}: {error}")

    def partials_of(self, number: int) -> Floats:
        """Return where the partial sums of the next round belong, once an earlier round is done with it."""
        self._free.acquire()
        return self.slots.partials[number]

    def _wire(self, number: int) -> Wire:
        return WIRES["float32"] if self.rounds[number].is_exact else self.feedback.wire

    def _count(self, number: int, worker: int) -> int:
        """The number of elements of a worker's segment."""
        part = self.rounds[number].segment(worker)
        return part.stop - part.start

    def send(self, number: int) -> None:
        """Send the partial sums in a round's slots: each worker gets its segment."""
        # The owner of a segment gets the partial sums of all workers and adds them in the tree's order, so
        # that the bits do not depend on which worker computed which shard.
        call, step = self.calls[0], self.rounds[number]
        for other in self.others if step.size else ():
            for i, span in enumerate(self.spans[self.group.rank]):
                values = self.slots.partials[number][i][step.segment(other)]
                if (wire := self._wire(number)).is_exact:
                    message = wire.encode(values)
                else:
                    message = self.slots.message(number, (other, i), wire.nbytes(values.size))
                    # Each message has its own rounding error, under this key.
                    self.feedback.encode(("part", number, other, span), values, message)
                call.send_whole([other], self._part(number, i), message)
                self.sent += message.nbytes
        self._stages[0].put(number)

    def _part(self, number: int, span: int) -> int:
        """The part of a call that carries a round's sums of a span."""
        return number * max(map(len, self.spans)) + span

    # The thread that adds

    def _add_round(self, number: int) -> None:
        began = moment()
        rank, count, wire = self.group.rank, self._count(number, self.group.rank), self._wire(number)
        parts: list[tuple[int, Numbers]] = []
        lent: list[tuple[int, Payload | None]] = []
        for other, spans in enumerate(self.spans if count else ()):
            if other == rank:
                own = self.slots.partials[number][:, self.rounds[number].segment(rank)]
                parts += [(rank, values) for values in own]
                continue
            for i in range(len(spans)):
                part = self._part(number, i)
                raw, payload = self.calls[0].receive_whole(other, part, wire.nbytes(count))
                lent.append((other, payload))
                parts.append((other, _numbers(wire, raw, count)))
        began = self._note("wait for partial sums", began)
        message = self.slots.sums[number]
        total = message[STATUS:].view(np.float32)
        is_finite = not count or self.tree.add([values for _, values in parts], total)
        flaw = None if is_finite else _flaw(self.rounds[number], rank, [*parts, (self.group.size, total)])
        for other, payload in lent:
            self.calls[0].free(other, payload)
        # Each worker checks its segment only. The result travels with its sums, so that all stop at the same
        # step.
        status = np.array([0, 0] if flaw is None else [flaw.rank + 1, flaw.tensor], np.int32)
        message[:8] = status.view(np.uint8)
        if self.rounds[number].is_owned:
            message = message[:STATUS]
        elif not wire.is_exact:
            own, message = message, self.slots.message(number, (), STATUS + wire.nbytes(count))
            message[:STATUS] = own[:STATUS]
            # All workers use the same numbers.
            self.feedback.encode(("sum", number), total, message[STATUS:], total)
        self.calls[1].send_whole(self.others, number, message)
        self.sent += message.nbytes * len(self.others)
        self._note("add", began)

    # The thread that uses the sums

    def _use_round(self, number: int) -> None:
        began = moment()
        rank, step, wire = self.group.rank, self.rounds[number], self._wire(number)
        sums: list[Numbers] = []
        lent: list[tuple[int, Payload | None]] = []
        for other in range(self.group.size):
            count = self._count(number, other)
            size = STATUS + (0 if step.is_owned else wire.nbytes(count))
            raw = self.slots.sums[number]
            if other != rank:
                raw, payload = self.calls[1].receive_whole(other, number, size)
                lent.append((other, payload))
            owner, tensor = raw[:8].view(np.int32)
            self.flaws += [Flaw(int(owner) - 1, int(tensor))] if owner else []
            if other == rank:
                sums.append(raw[STATUS:].view(np.float32))
            elif not step.is_owned:
                sums.append(_numbers(wire, raw[STATUS:size], count))
        began = self._note("wait for sums", began)
        self.use(number, sums)
        for other, payload in lent:
            self.calls[1].free(other, payload)
        self._free.release()
        self._note("write", began)

    def _note(self, stage: str, began: Moment) -> Moment:
        return began if self.times is None else self.times.add(stage, began)

    # The end

    def finish(self) -> Flaw | None:
        """Wait until the sums of all rounds are used. Returns the first numbers that are not finite, if any.
        Raises the error of a thread."""
        self._join()
        if self._errors:
            raise self._errors[0]
        return self.flaws[0] if self.flaws else None

    def stop(self, error: BaseException) -> None:
        """Give up after an error of this worker: the others raise one too."""
        self._fail(error)
        self._join()

    def _join(self) -> None:
        """Wait for the threads; no more rounds follow."""
        self._stages[0].put(None)
        for thread in self._threads:
            thread.join()


class TreeAdd:
    """Adds partial sums of all ranks in the tree's order, in chunks and several threads.

    spans: for each rank, the nodes whose sums it has. flushes: replace subnormal sums by zero, as the device
    does. checks: look for numbers that are not finite.
    """

    def __init__(
        self,
        spans: Sequence[Sequence[Span]],
        shards: int,
        filled: Sequence[int],
        threads: CopyThreads,
        *,
        flushes: bool = False,
        checks: bool = True,
    ):
        self.flushes, self.threads, self.checks = flushes, threads, checks
        # Each step: the places of two values, and of their sum.
        self.steps: list[tuple[int, int, int]] = []
        self._first = self._next = sum(map(len, spans))
        tree: TreeSum[int] = TreeSum(shards, filled, self._plan)
        for place, span in enumerate(span for ranks in spans for span in ranks):
            tree.put(span, place)

    def _plan(self, left: int, right: int) -> int:
        self.steps.append((left, right, self._next))
        self._next += 1
        return self._next - 1

    def add(self, parts: Sequence[Numbers], total: Floats) -> bool:
        """Write the sum of arrays, one for each rank's span, to `total`. Returns whether it is finite."""
        finite: list[bool] = []

        def part(first: int, end: int) -> None:
            with np.errstate(all="ignore"):
                good = [
                    self._add_chunk(parts, total, start, min(start + CHUNK, end))
                    for start in range(first, end, CHUNK)
                ]
            finite.append(all(good))

        self.threads.run(total.size, part)
        return all(finite)

    def _add_chunk(self, parts: Sequence[Numbers], total: Floats, first: int, end: int) -> bool:
        out = total[first:end]
        values = [p[first:end] for p in parts]
        for left, right, place in self.steps:
            is_last = place == self._next - 1
            values.append(out if is_last else _scratch.floats(place - self._first, out.size))
            np.add(values[left], values[right], out=values[-1])
            if self.flushes:
                _flush(values[-1])
        if not self.steps:
            np.copyto(out, values[0])
        return not self.checks or bool(np.isfinite(out, out=_scratch.flags(out.size)).all())


TINY = np.float32(np.finfo(np.float32).tiny)  # the smallest normal float32


def _flush(values: Floats) -> None:
    """Replace subnormal numbers by zero.

    WGSL lets a device flush them. The host then does the same, or sums would depend on who adds them.
    """
    magnitudes, flags = _scratch.floats(-1, values.size), _scratch.flags(values.size)
    np.abs(values, out=magnitudes)
    np.less(magnitudes, TINY, out=flags)
    if flags.any():
        values[flags] = 0


class _Scratch(threading.local):
    """Memory of each thread for a chunk. New memory at each use would cost more than the additions: the
    system clears its pages."""

    def __init__(self) -> None:
        self._floats: dict[int, Floats] = {}
        self._flags = np.empty(0, np.bool_)

    def floats(self, number: int, size: int) -> Floats:
        """Return the array with this number."""
        array = self._floats.get(number)
        if array is None or array.size < size:
            array = self._floats[number] = np.empty(max(size, min(CHUNK, 2 * size)), np.float32)
        return array[:size]

    def flags(self, size: int) -> NDArray[np.bool_]:
        """Return the array of flags."""
        if self._flags.size < size:
            self._flags = np.empty(max(size, min(CHUNK, 2 * size)), np.bool_)
        return self._flags[:size]


_scratch = _Scratch()


def _numbers(wire: Wire, raw: Bytes, count: int) -> Numbers:
    """Return the numbers of a message."""
    return wire.decode(raw, count) if wire.is_exact else Encoded(wire, raw, count)


def _flaw(step: Round, worker: int, parts: Sequence[tuple[int, Numbers]]) -> Flaw:
    """Find the first rank with a number that is not finite in a worker's segment, and its tensor."""
    each = ((rank, numbers[: numbers.size]) for rank, numbers in parts)
    rank, values = next(part for part in each if not np.isfinite(part[1]).all())
    place = step.bounds[worker] + int(np.flatnonzero(~np.isfinite(values))[0])
    return Flaw(rank, next(p.tensor for p in step.pieces if p.start <= place < p.start + p.size))
