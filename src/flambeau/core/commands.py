"""The commands that cross to a device, to and from one flat list of integers, which any language can replay.

(DISPATCH, pipeline, params, offset, x, y, z, n, n buffers): a kernel; params is the buffer of its Params,
offset their byte place in it. (COPY, from, to, bytes). Buffers and pipelines are the device's numbers for
them. web/executor.js reads the same list, by the same names.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

DISPATCH, COPY = 1, 2
PIPELINE, PARAMS, OFFSET, GRID, COUNT, BUFFERS = 1, 2, 3, 4, 7, 8  # where a dispatch has what
FROM, TO, BYTES, COPY_WORDS = 1, 2, 3, 4  # where a copy has what, and how long it is


class Dispatch(NamedTuple):
    """A kernel over a grid of workgroups: the buffers that it reads, then those that it writes."""

    pipeline: int
    params: int
    offset: int
    grid: tuple[int, int, int]
    buffers: Sequence[int]

    def words(self) -> list[int]:
        """As it crosses."""
        pipeline, params, offset, grid, buffers = self
        return [DISPATCH, pipeline, params, offset, *grid, len(buffers), *buffers]

    def bound(self) -> tuple[int, ...]:
        """What a bind group of it binds, in order."""
        return self.params, *self.buffers


class Copy(NamedTuple):
    """So many bytes from the start of one buffer to that of another."""

    source: int
    target: int
    nbytes: int

    def words(self) -> list[int]:
        """As it crosses."""
        return [COPY, *self]


Command = Dispatch | Copy


def commands(words: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where each command begins and ends."""
    i, n = 0, len(words)
    while i < n:
        end = i + (BUFFERS + words[i + COUNT] if words[i] == DISPATCH else COPY_WORDS)
        yield i, end
        i = end


def decoded(words: Sequence[int]) -> Iterator[Command]:
    """The commands of a flat list. Making them takes half as long as a dispatch: what runs often reads words
    by their places."""
    for i, end in commands(words):
        if words[i] == DISPATCH:
            pipeline, params, offset, x, y, z, _ = words[i + PIPELINE : i + BUFFERS]
            yield Dispatch(pipeline, params, offset, (x, y, z), tuple(words[i + BUFFERS : end]))
        else:
            yield Copy(*words[i + FROM : end])


def encoded(given: Iterable[Command]) -> list[int]:
    """Commands as one flat list."""
    return [word for command in given for word in command.words()]


def dispatches(words: Sequence[int]) -> list[Dispatch]:
    """The dispatches of a flat list."""
    return [c for c in decoded(words) if isinstance(c, Dispatch)]


def copied(source: Any, target: Any) -> list[int]:
    """The command that copies a buffer's value to another."""
    return [COPY, source.handle, target.handle, -(-target.nbytes // 4) * 4] if target.nbytes else []


def fill(words: list[int], filled: Sequence[int]) -> list[int]:
    """Commands with buffers in the places of placeholders."""
    return [filled[~word] if word < 0 else word for word in words]


def flat(parts: Any) -> list[int]:
    """Lists of commands, or what `prepare` made of them, as one list."""
    return [word for part in parts for word in getattr(part, "words", part)]


def spans_of(words: list[int]) -> Iterator[list[Command]]:
    """The commands in groups that are timed together: a dispatch alone, copies with those beside them."""
    for kind, group in groupby(decoded(words), type):
        if kind is Dispatch:
            yield from ([c] for c in group)
        else:
            yield list(group)
