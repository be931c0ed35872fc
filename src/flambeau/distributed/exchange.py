"""Adds the partial sums of all workers, round by round: each worker adds its segment, and all get all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import FlambeauError
from .compression import WIRES, Bytes, Feedback, Floats, Wire
from .group import ProcessGroup, Work
from .layout import Round
from .reduce import Span, TreeSum

STATUS = 8  # bytes before a segment's sum: the rank whose numbers are not finite, + 1, and the tensor


class BadGradient(FlambeauError):
    """The gradients of a rank have NaN or infinity."""


class Flaw(NamedTuple):
    """Numbers that are not finite: the rank that sent them (the number of ranks if only the sum overflowed),
    and the number of the tensor."""

    rank: int
    tensor: int


class GradientExchange:
    """Sums over the workers of a group.

    rounds: the same on all ranks. spans: for each rank, the nodes of the tree whose sums it has. shards:
    their number; filled: those that have items. feedback: encodes, and keeps the rounding errors of lossy
    wires. add: adds two arrays as the device does. checks: look for numbers that are not finite.
    """

    def __init__(
        self,
        group: ProcessGroup,
        rounds: Sequence[Round],
        spans: Sequence[Sequence[Span]],
        shards: int,
        filled: Sequence[int],
        feedback: Feedback,
        add: Callable[[Floats, Floats], Floats],
        checks: bool = True,
    ):
        self.group, self.rounds, self.spans = group, rounds, spans
        self.shards, self.filled, self.feedback = shards, filled, feedback
        self.add, self.checks = add, checks
        self.sent = 0  # bytes to other ranks
        self._own: dict[int, list[Floats]] = {}  # by round: the own segment of the own partial sums
        self._sums: list[tuple[list[Bytes], Work | None]] = []  # by round: messages of all ranks

    def _wire(self, number: int) -> Wire:
        return WIRES["float32"] if self.rounds[number].is_exact else self.feedback.wire

    def _count(self, number: int, worker: int) -> int:
        """The number of elements of a worker's segment."""
        part = self.rounds[number].segment(worker)
        return part.stop - part.start

    def send(self, number: int, partial: Callable[[Span], Floats]) -> None:
        """Begin round `number`: send each worker its segment of this worker's partial sums."""
        step, rank = self.rounds[number], self.group.rank
        flats = [(span, partial(span)) for span in self.spans[rank]]
        self._own[number] = [flat[step.segment(rank)] for _, flat in flats]
        messages: list[Bytes] = []
        for other in range(self.group.size):
            parts: list[Bytes] = []
            for span, flat in flats if other != rank else ():
                key = ("part", number, other, span)
                parts.append(self._encode(number, key, flat[step.segment(other)])[0])
            messages.append(_joined(parts))
        self.sent += sum(m.nbytes for m in messages)
        size = self._wire(number).nbytes(self._count(number, rank))
        outputs = [
            np.empty(size * len(spans) if other != rank else 0, np.uint8)
            for other, spans in enumerate(self.spans)
        ]
        self._sums.append((outputs, self.group.all_to_all(outputs, messages, async_op=True)))

    def _encode(self, number: int, key: Any, values: Floats) -> tuple[Bytes, Floats]:
        if self.rounds[number].is_exact:
            return WIRES["float32"].encode(values), values
        return self.feedback.encode(key, values)

    def collect(self, use: Callable[[int, Floats, slice], None]) -> Flaw | None:
        """Finish all rounds: add the own segments in the tree's order, and call `use` with each round's
        number, its sums, and which elements they are. Returns which numbers are not finite, if any."""
        results: list[tuple[list[Bytes], Work | None]] = []
        rank = self.group.rank
        for number, (received, work) in enumerate(self._sums):
            _wait(work)
            total, flaw = self._add(number, received)
            status = np.array([0, 0] if flaw is None else [flaw.rank + 1, flaw.tensor], np.int32)
            message = status.view(np.uint8)
            if not self.rounds[number].is_owned:
                raw, _ = self._encode(number, ("sum", number), total)
                message = self._padded(number, message, raw)
                self.sent += message.nbytes * (self.group.size - 1)
            elif total.size:
                use(number, total, self.rounds[number].segment(rank))
            outputs = [np.empty_like(message) for _ in range(self.group.size)]
            results.append((outputs, self.group.all_gather(outputs, message, async_op=True)))
        flaws: list[Flaw] = []
        for number, (outputs, work) in enumerate(results):
            _wait(work)
            flaws += self._spread(number, outputs, use)
        return flaws[0] if flaws else None

    def _padded(self, number: int, status: Bytes, raw: Bytes) -> Bytes:
        """Return a message of the same length on all ranks, whose segments may differ by some elements."""
        longest = max(self._count(number, w) for w in range(self.group.size))
        message = self.group.empty(STATUS + self._wire(number).nbytes(longest), np.uint8)
        message[:STATUS] = status
        message[STATUS : STATUS + raw.nbytes] = raw
        message[STATUS + raw.nbytes :] = 0
        return message

    def _add(self, number: int, received: list[Bytes]) -> tuple[Floats, Flaw | None]:
        """Return the sums of the own segment, and which part of it is not finite."""
        step, rank = self.rounds[number], self.group.rank
        tree: TreeSum[Floats] = TreeSum(self.shards, self.filled, self.add)
        parts: list[tuple[int, Floats]] = []
        for other, spans in enumerate(self.spans):
            own = other == rank
            values = self._own.pop(number) if own else self._split(number, received[other], len(spans))
            parts += [(other, v) for v in values]
            for span, v in zip(spans, values, strict=True):
                tree.put(span, v)
        total = tree.total
        # One fast pass in the usual case: the sum of the elements is finite only if all of them are.
        with np.errstate(all="ignore"):
            is_finite = not self.checks or bool(np.isfinite(np.sum(total))) or bool(np.isfinite(total).all())
        return total, None if is_finite else _flaw(step, rank, [*parts, (self.group.size, total)])

    def _split(self, number: int, raw: Bytes, spans: int) -> list[Floats]:
        wire, count = self._wire(number), self._count(number, self.group.rank)
        size = wire.nbytes(count)
        return [wire.decode(raw[i * size : (i + 1) * size], count) for i in range(spans)]

    def _spread(
        self, number: int, received: list[Bytes], use: Callable[[int, Floats, slice], None]
    ) -> list[Flaw]:
        """Pass the sums of all segments on, and return what is not finite."""
        step, wire = self.rounds[number], self._wire(number)
        flaws: list[Flaw] = []
        for other, raw in enumerate(received):
            rank, tensor = raw[:STATUS].view(np.int32)
            flaws += [Flaw(int(rank) - 1, int(tensor))] if rank else []
            count = self._count(number, other)
            if count and not step.is_owned:
                size = wire.nbytes(count)
                use(number, wire.decode(raw[STATUS : STATUS + size], count), step.segment(other))
        return flaws


def _wait(work: Work | None) -> None:
    if work is not None:
        work.wait()


def _joined(parts: Sequence[Bytes]) -> Bytes:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, np.uint8)


def _flaw(step: Round, worker: int, parts: Sequence[tuple[int, Floats]]) -> Flaw:
    """Find the first rank with a number that is not finite in a worker's segment, and its tensor."""
    rank, values = next(part for part in parts if not np.isfinite(part[1]).all())
    place = step.bounds[worker] + int(np.flatnonzero(~np.isfinite(values))[0])
    return Flaw(rank, next(p.tensor for p in step.pieces if p.start <= place < p.start + p.size))
