"""Commands to a device, encoded as one flat list of integers that any language can replay.

(DISPATCH, pipeline, params, offset, x, y, z, n, n buffers): a kernel; params is the buffer of its Params,
offset their byte offset in it. (COPY, from, to, bytes). Buffers and pipelines are the device's numbers for
them. web/executor.js reads the same list with the same names.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

DISPATCH, COPY = 1, 2
PIPELINE, PARAMS, OFFSET, GRID, COUNT, BUFFERS = 1, 2, 3, 4, 7, 8  # positions of the fields of a dispatch
FROM, TO, BYTES, COPY_WORDS = 1, 2, 3, 4  # positions of the fields of a copy, and its length


class Dispatch(NamedTuple):
    """A kernel over a grid of workgroups: the buffers that it reads, then those that it writes."""

    pipeline: int
    params: int
    offset: int
    grid: tuple[int, int, int]
    buffers: Sequence[int]

    def words(self) -> list[int]:
        """The encoded command."""
        pipeline, params, offset, grid, buffers = self
        return [DISPATCH, pipeline, params, offset, *grid, len(buffers), *buffers]

    def bound(self) -> tuple[int, ...]:
        """The buffers of its bind group, in order."""
        return self.params, *self.buffers


class Copy(NamedTuple):
    """A copy of `nbytes` from the start of one buffer to the start of another."""

    source: int
    target: int
    nbytes: int

    def words(self) -> list[int]:
        """The encoded command."""
        return [COPY, *self]


Command = Dispatch | Copy


def commands(words: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The start and end of each command."""
    i, n = 0, len(words)
    while i < n:
        end = i + (BUFFERS + words[i + COUNT] if words[i] == DISPATCH else COPY_WORDS)
        yield i, end
        i = end


def decode(words: Sequence[int]) -> Iterator[Command]:
    """Decode a flat list. It takes half as long as a dispatch: hot paths read words by position instead."""
    for i, end in commands(words):
        if words[i] == DISPATCH:
            pipeline, params, offset, x, y, z, _ = words[i + PIPELINE : i + BUFFERS]
            yield Dispatch(pipeline, params, offset, (x, y, z), tuple(words[i + BUFFERS : end]))
        else:
            yield Copy(*words[i + FROM : end])


def encode(items: Iterable[Command]) -> list[int]:
    """Encode commands as one flat list."""
    return [word for command in items for word in command.words()]


def dispatches(words: Sequence[int]) -> list[Dispatch]:
    """The dispatches of a flat list."""
    return [c for c in decode(words) if isinstance(c, Dispatch)]


def copy_command(source: Any, target: Any) -> list[int]:
    """The encoded command that copies one buffer to another."""
    return [COPY, source.handle, target.handle, -(-target.nbytes // 4) * 4] if target.nbytes else []


def fill(words: list[int], filled: Sequence[int]) -> list[int]:
    """Replace placeholders (negative words, ~index) by buffers."""
    return [filled[~word] if word < 0 else word for word in words]


def flat(parts: Any) -> list[int]:
    """Concatenate lists of commands, or prepared lists (`prepare`), to one list."""
    return [word for part in parts for word in getattr(part, "words", part)]


def spans_of(words: list[int]) -> Iterator[list[Command]]:
    """Groups of commands that are timed together: a single dispatch, or adjacent copies."""
    for kind, group in groupby(decode(words), type):
        if kind is Dispatch:
            yield from ([c] for c in group)
        else:
            yield list(group)
