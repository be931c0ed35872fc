"""Binds the buffers of each replay to recorded commands."""

from collections import deque
from itertools import groupby
from typing import Any

from ..core.commands import commands, fill
from ..core.lru_cache import Again, Recent
from ..device.pool import Pool
from ..device.protocol import Gpu

LARGE = 1 << 17  # bytes: to copy as many costs more than to bind a buffer that was never seen
SEEN = 4  # smaller buffers that are bound, of those that an argument or a result comes in
KEPT = 16  # ways to fill the placeholders of a section that are kept ready


class Placeholder:
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


class Submit:
    """Commands of one submit, ready for what their placeholders were filled with lately: all as one where
    that came again, else section by section."""

    def __init__(self, words: list[int]):
        self.sections = sections(words)
        self.ready: Again[tuple[int, ...], list[Any]] = Again()

    def prepared(self, device: Gpu, filled: tuple[int, ...]) -> list[Any]:
        """What the device submits, where `filled` says what is in each placeholder."""
        return self.ready.get(filled) or self._looked_up(device, filled)

    def _looked_up(self, device: Gpu, filled: tuple[int, ...]) -> list[Any]:
        parts = [section.prepared(device, filled) for section in self.sections]
        return self.ready.of(filled, lambda: [device.prepare(*parts)], KEPT) or parts


class Section:
    """Commands in a row that name the same placeholders, ready for what these were filled with lately."""

    def __init__(self, words: list[int], placeholders: tuple[int, ...]):
        self.words, self.placeholders = words, placeholders
        self.ready: Recent[tuple[int, ...], Any] = Recent()

    def prepared(self, device: Gpu, filled: tuple[int, ...]) -> Any:
        """What the device submits, where `filled` says what is in each placeholder."""
        key = tuple([filled[~placeholder] for placeholder in self.placeholders])
        return self.ready.get(key) or self.ready.keep(key, device.prepare(fill(self.words, filled)), KEPT)


def sections(words: list[int]) -> list[Section]:
    """Commands in sections that name the same placeholders."""
    named = ((tuple(sorted({w for w in words[i:j] if w < 0})), i, j) for i, j in commands(words))
    cut: list[Section] = []
    for placeholders, spans in groupby(named, lambda span: span[0]):
        (_, begin, end), *more = spans
        cut.append(Section(words[begin : more[-1][2] if more else end], placeholders))
    return cut
