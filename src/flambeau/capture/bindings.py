"""Commands that name buffers which each replay brings, into commands that a device takes."""

from collections import deque
from itertools import groupby
from typing import Any

from ..core.commands import commands, fill
from ..core.recent import Again, Recent
from ..device.pool import Pool
from ..device.seam import Gpu

LARGE = 1 << 17  # bytes: to copy as many costs more than to bind a buffer that was never seen
SEEN = 4  # smaller buffers that are bound, of those that an argument or a result comes in
KEPT = 16  # ways to fill the holes of a run of commands that are kept ready


class Hole:
    """An argument's buffer, or a result's, in the commands of a recording: a number below zero.

    What is large is bound where it is. Small buffers are, too, from the second time on; one that was never
    seen is copied to `place` or from there, since bind groups cost more than a small copy.
    """

    shared, doubt = False, None

    def __init__(self, number: int, nbytes: int, pool: Pool):
        self.handle, self.nbytes = ~number, nbytes
        self.place = pool.take(nbytes) if nbytes < LARGE else None
        self.seen: deque[int] = deque(maxlen=SEEN)

    def taken(self, buffer: Any) -> Any:
        """What the commands take for this buffer: itself, or `place` where it comes for the first time."""
        if self.place is None or buffer.handle in self.seen:
            return buffer
        self.seen.append(buffer.handle)
        return self.place


class Piece:
    """Commands of one submit, ready for what their holes were filled with lately: all as one where that came
    again, else run by run."""

    def __init__(self, words: list[int]):
        self.runs = runs(words)
        self.ready: Again[tuple[int, ...], list[Any]] = Again()

    def prepared(self, device: Gpu, filled: tuple[int, ...]) -> list[Any]:
        """What the device submits, where `filled` says what is in each hole."""
        return self.ready.get(filled) or self._looked_up(device, filled)

    def _looked_up(self, device: Gpu, filled: tuple[int, ...]) -> list[Any]:
        parts = [run.prepared(device, filled) for run in self.runs]
        return self.ready.of(filled, lambda: [device.prepare(*parts)], KEPT) or parts


class Run:
    """Commands in a row that name the same holes, ready for what these were filled with lately."""

    def __init__(self, words: list[int], holes: tuple[int, ...]):
        self.words, self.holes = words, holes
        self.ready: Recent[tuple[int, ...], Any] = Recent()

    def prepared(self, device: Gpu, filled: tuple[int, ...]) -> Any:
        """What the device submits, where `filled` says what is in each hole."""
        key = tuple([filled[~hole] for hole in self.holes])
        return self.ready.get(key) or self.ready.keep(key, device.prepare(fill(self.words, filled)), KEPT)


def runs(words: list[int]) -> list[Run]:
    """Commands in runs that name the same holes."""
    named = ((tuple(sorted({w for w in words[i:j] if w < 0})), i, j) for i, j in commands(words))
    found = []
    for holes, spans in groupby(named, lambda span: span[0]):
        (_, begin, end), *more = spans
        found.append(Run(words[begin : more[-1][2] if more else end], holes))
    return found
