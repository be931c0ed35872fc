"""The commands that cross to a device: one flat list of integers, which any language can replay.

(DISPATCH, pipeline, params, offset, x, y, z, n, n buffers): a kernel; params is the buffer of its Params,
offset
their byte place in it. (COPY, from, to, bytes). Buffers and pipelines are the device's numbers for them.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

DISPATCH, COPY = 1, 2


def fill(words: list[int], filled: Sequence[int]) -> list[int]:
    """Commands with buffers in the places of holes."""
    return [filled[~word] if word < 0 else word for word in words]


def commands(words: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where each command begins and ends."""
    i = 0
    while i < len(words):
        end = i + (8 + words[i + 7] if words[i] == DISPATCH else 4)
        yield i, end
        i = end


def copied(source: Any, target: Any) -> list[int]:
    """The command that copies a buffer's value to another."""
    return [COPY, source.handle, target.handle, -(-target.nbytes // 4) * 4] if target.nbytes else []


def commands_of(words) -> list[tuple]:
    """Split the flat list: (pipeline, params, offset, grid, key) for a dispatch, (from, to, bytes) for a
    copy."""
    out, i, n = [], 0, len(words)
    while i < n:
        if words[i] == DISPATCH:
            pipeline, params, offset, x, y, z, count = words[i + 1 : i + 8]
            key = (params, *words[i + 8 : i + 8 + count])
            out.append((pipeline, key, offset, x, y, z))
            i += 8 + count
        else:
            out.append(tuple(words[i + 1 : i + 4]))
            i += 4
    return out


def flat(parts: Any) -> list[int]:
    """Lists of commands, or what `prepare` made of them, as one list."""
    return [word for part in parts for word in getattr(part, "words", part)]


def spans_of(words: list[int]) -> Iterator[list[tuple]]:
    """The commands in groups that are timed together: a dispatch alone, copies with those beside them."""
    for is_dispatch, group in groupby(commands_of(words), lambda c: len(c) == 6):
        if is_dispatch:
            yield from ([c] for c in group)
        else:
            yield list(group)


def words_of(span: list[tuple]) -> list[int]:
    """A span of `spans_of` as commands again."""
    if len(span[0]) == 6:
        pipeline, key, offset, x, y, z = span[0]
        return [DISPATCH, pipeline, key[0], offset, x, y, z, len(key) - 1, *key[1:]]
    return [w for copy in span for w in (COPY, *copy)]
