"""Binds the buffers of each replay to recorded commands."""

from itertools import groupby
from typing import Any

from ..core.commands import commands, fill
from ..core.lru_cache import Recent
from ..device.memory import Pool
from ..device.protocol import Gpu
from ..runtime.pipeline import Again

LARGE = 1 << 17  # bytes from which binding a new buffer costs less than copying it
SEEN = 256  # the most smaller buffers that are bound, for each argument or result
KEPT = 16  # the most fillings of a section's placeholders whose prepared commands are kept
KEPT_SHORT = 256  # the same for a program of few kernels: a loop that keeps its last results fills many


class Placeholder:
    """The buffer of an argument or a result in recorded commands: a negative number.

    Large buffers are bound directly. Small ones are bound beginning with their second use. A new small buffer
    is
    copied to or from `place`, because a bind group costs more than a small copy.
    """

    shared, doubt = False, None

    def __init__(self, number: int, nbytes: int, pool: Pool):
        self.handle, self.nbytes = ~number, nbytes
        self.place = pool.take(nbytes) if nbytes < LARGE else None
        self.seen: Recent[int, None] = Recent()

    def buffer_for(self, buffer: Any) -> Any:
        """Return the buffer to use in the commands: this one, or `place` if it is new and small."""
        if self.place is None or buffer.handle in self.seen:
            return buffer
        self.seen.keep(buffer.handle, None, SEEN)
        return self.place


class Submit:
    """Commands of one submit, prepared for recent fillings of their placeholders: as a unit for a filling
    that recurs, else section by section."""

    def __init__(self, words: list[int], is_short: bool = False):
        self.sections = sections(words)
        self.kept = KEPT_SHORT if is_short else KEPT
        self.ready: Again[tuple[int, ...], list[Any]] = Again()

    def prepare(self, device: Gpu, filled: tuple[int, ...]) -> list[Any]:
        """Return the prepared commands for these buffers (`filled`) in the placeholders."""
        return self.ready.get(filled) or self._look_up(device, filled)

    def _look_up(self, device: Gpu, filled: tuple[int, ...]) -> list[Any]:
        parts = [section.prepare(device, filled, self.kept) for section in self.sections]
        return self.ready.of(filled, lambda: [device.prepare(*parts)], self.kept) or parts


class Section:
    """Consecutive commands with the same placeholders, prepared for recent fillings of them."""

    def __init__(self, words: list[int], placeholders: tuple[int, ...]):
        self.words, self.placeholders = words, placeholders
        self.ready: Recent[tuple[int, ...], Any] = Recent()

    def prepare(self, device: Gpu, filled: tuple[int, ...], kept: int) -> Any:
        """Return the prepared commands for these buffers (`filled`) in the placeholders."""
        key = tuple([filled[~placeholder] for placeholder in self.placeholders])
        return self.ready.get(key) or self.ready.keep(key, device.prepare(fill(self.words, filled)), kept)


def sections(words: list[int]) -> list[Section]:
    """Split commands into sections with the same placeholders."""
    named = ((tuple(sorted({w for w in words[i:j] if w < 0})), i, j) for i, j in commands(words))
    cut: list[Section] = []
    for placeholders, spans in groupby(named, lambda span: span[0]):
        (_, begin, end), *more = spans
        cut.append(Section(words[begin : more[-1][2] if more else end], placeholders))
    return cut
