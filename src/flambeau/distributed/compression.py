"""Encodes gradients in fewer bytes, with error feedback: the rounding error is added to the next gradient."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ValueError, suggest
from .reductions import narrow_bfloat16, widen_bfloat16

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
BLOCK = 256  # elements that share a scale in int8: 4 bytes each block, 1.6 % of the message
CHUNK = 1 << 17  # elements that are encoded at a time, a multiple of BLOCK: the steps stay in the cache
Part = Callable[[int, int], object]  # works on the elements [first, end)


class Wire(NamedTuple):
    """A format of numbers in messages.

    encode: returns the bytes of float32 numbers. decode: returns this many numbers from bytes.
    nbytes: the length of the message of this many numbers. put(message, count, part, first): writes the
    message of the numbers from `first` on, a multiple of BLOCK, to that of all `count` numbers. take(message,
    count, first, end): returns the message of some of the numbers, from a multiple of BLOCK on. round_trip:
    returns the bytes of numbers, and the numbers that they decode to.
    """

    encode: Callable[[Floats], Bytes]
    decode: Callable[[Bytes, int], Floats]
    nbytes: Callable[[int], int]
    put: Callable[[Bytes, int, Bytes, int], object]
    take: Callable[[Bytes, int, int, int], Bytes]
    round_trip: Callable[[Floats], tuple[Bytes, Floats]]
    is_exact: bool = False


def _bytes(values: NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1)


def _to_float16(values: Floats) -> Bytes:
    # A number beyond the range becomes the largest one: infinity would stop the training.
    return _bytes(np.clip(values, -65504.0, 65504.0).astype(np.float16))


def _from_float16(raw: Bytes, count: int) -> Floats:
    return raw.view(np.float16)[:count].astype(np.float32)


def _to_bfloat16(values: Floats) -> Bytes:
    return _bytes(narrow_bfloat16(np.ascontiguousarray(values)))


def _round_trip_bfloat16(values: Floats) -> tuple[Bytes, Floats]:
    if np.isnan(values).any():
        raw = _to_bfloat16(values)
        return raw, _from_bfloat16(raw, values.size)
    # As `narrow_bfloat16` rounds, in one array: to the nearest, and ties to even.
    words = values.view(np.uint32)
    rounded = words >> 16
    rounded &= 1
    rounded += 0x7FFF
    rounded += words
    upper = 1 if sys.byteorder == "little" else 0  # half of each word
    raw = _bytes(rounded.view(np.uint16)[upper::2])
    rounded &= np.uint32(0xFFFF0000)
    return raw, rounded.view(np.float32)


def _from_bfloat16(raw: Bytes, count: int) -> Floats:
    return widen_bfloat16(raw.view(np.uint16)[:count])


def _to_int8(values: Floats) -> Bytes:
    blocks = np.zeros((-(-values.size // BLOCK), BLOCK), np.float32)
    blocks.reshape(-1)[: values.size] = values
    # Symmetric around zero, so that zero stays zero: -128 is not used.
    scales = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)
    steps = np.rint(np.divide(blocks, scales, out=np.zeros_like(blocks), where=scales > 0))
    return np.concatenate([_bytes(scales.astype(np.float32)), _bytes(steps.astype(np.int8))])


def _from_int8(raw: Bytes, count: int) -> Floats:
    blocks = -(-count // BLOCK)
    scales = raw[: 4 * blocks].view(np.float32)[:, None]
    steps = raw[4 * blocks :].view(np.int8).reshape(blocks, BLOCK)
    return (steps * scales).reshape(-1)[:count]


def _int8_bytes(count: int) -> int:
    return -(-count // BLOCK) * (4 + BLOCK)


def _from_float32(raw: Bytes, count: int) -> Floats:
    return raw.view(np.float32)[:count]


def _put_in_line(size: int) -> Callable[[Bytes, int, Bytes, int], object]:
    """Return `put` of a wire whose elements have `size` bytes each."""

    def put(message: Bytes, count: int, part: Bytes, first: int) -> None:
        message[first * size : first * size + part.size] = part

    return put


def _take_in_line(size: int) -> Callable[[Bytes, int, int, int], Bytes]:
    """Return `take` of a wire whose elements have `size` bytes each."""

    def take(message: Bytes, count: int, first: int, end: int) -> Bytes:
        return message[first * size : end * size]

    return take


def _take_int8(message: Bytes, count: int, first: int, end: int) -> Bytes:
    begin, stop, all_blocks = first // BLOCK, -(-end // BLOCK), -(-count // BLOCK)
    steps = message[4 * all_blocks :]
    return np.concatenate([message[4 * begin : 4 * stop], steps[BLOCK * begin : BLOCK * stop]])


def _by_decoding(
    encode: Callable[[Floats], Bytes], decode: Callable[[Bytes, int], Floats]
) -> Callable[[Floats], tuple[Bytes, Floats]]:
    """Return `round_trip` of a wire."""

    def round_trip(values: Floats) -> tuple[Bytes, Floats]:
        raw = encode(values)
        return raw, decode(raw, values.size)

    return round_trip


def _put_int8(message: Bytes, count: int, part: Bytes, first: int) -> None:
    begin, blocks, all_blocks = first // BLOCK, part.size // (4 + BLOCK), -(-count // BLOCK)
    message[4 * begin : 4 * (begin + blocks)] = part[: 4 * blocks]
    steps = message[4 * all_blocks :]
    steps[BLOCK * begin : BLOCK * (begin + blocks)] = part[4 * blocks :]


def _in_line(
    size: int,
    encode: Callable[[Floats], Bytes],
    decode: Callable[[Bytes, int], Floats],
    round_trip: Callable[[Floats], tuple[Bytes, Floats]] | None = None,
    is_exact: bool = False,
) -> Wire:
    """Return a wire whose elements have `size` bytes each, one after the other."""
    both = round_trip or _by_decoding(encode, decode)
    return Wire(encode, decode, size.__mul__, _put_in_line(size), _take_in_line(size), both, is_exact)


WIRES = {
    "float32": _in_line(4, _bytes, _from_float32, is_exact=True),
    "float16": _in_line(2, _to_float16, _from_float16),
    "bfloat16": _in_line(2, _to_bfloat16, _from_bfloat16, _round_trip_bfloat16),
    "int8": Wire(
        _to_int8, _from_int8, _int8_bytes, _put_int8, _take_int8, _by_decoding(_to_int8, _from_int8)
    ),
}


def wire_named(name: str) -> Wire:
    """Return a wire by its name. ValueError for an unknown one."""
    if name not in WIRES:
        choices = ", ".join(map(repr, WIRES))
        raise ValueError(f"wire={name!r}: is unknown{suggest(name, WIRES)}: use one of {choices}")
    return WIRES[name]


class Encoded:
    """Numbers of a message, decoded where they are used: a slice is an array.

    raw: the message. count: how many numbers it has.
    """

    def __init__(self, wire: Wire, raw: Bytes, count: int):
        self.wire, self.raw, self.size = wire, raw, count

    def __getitem__(self, place: slice) -> Floats:
        first, end, _ = place.indices(self.size)
        begin = first // BLOCK * BLOCK
        part = self.wire.take(self.raw, self.size, begin, end)
        return self.wire.decode(part, end - begin)[first - begin :]

    def copy_to(self, target: Floats, first: int) -> None:
        """Write the numbers from `first` on to an array."""
        for start in range(0, target.size, CHUNK):
            end = min(start + CHUNK, target.size)
            target[start:end] = self[first + start : first + end]


Numbers = Floats | Encoded


def copy_numbers(target: Floats, source: Numbers, first: int) -> None:
    """Write the numbers of a source from `first` on to an array."""
    if isinstance(source, Encoded):
        source.copy_to(target, first)
    else:
        np.copyto(target, source[first : first + target.size])


class Feedback:
    """Encodes numbers, and adds the rounding errors to the next numbers with the same key (error feedback).

    The sum of all messages of a key then differs from the sum of its numbers by one rounding error only.
    """

    def __init__(self, wire: Wire):
        self.wire = wire
        self.errors: dict[Any, Floats] = {}
        self.run = run_alone  # shares the work among threads

    def encode(
        self, key: Any, values: Floats, message: Bytes | None = None, sent: Floats | None = None
    ) -> tuple[Bytes, Floats | None]:
        """Return the message of `values`, and the numbers that it decodes to if `sent` is an array for them.

        message, sent: where they are written; `sent` may be `values`. None: a new message, no numbers.
        """
        wire, count = self.wire, values.size
        if key not in self.errors:
            self.errors[key] = np.zeros(count, np.float32)
        out = np.empty(wire.nbytes(count), np.uint8) if message is None else message
        errors = self.errors[key]

        def part(first: int, end: int) -> None:
            for start in range(first, end, CHUNK):
                chunk = slice(start, min(start + CHUNK, end))
                corrected = values[chunk] + errors[chunk]
                raw, rounded = wire.round_trip(corrected)
                wire.put(out, count, raw, start)
                # Seide et al., 2014 (1-bit SGD): else small gradients that round to zero would never count.
                np.subtract(corrected, rounded, out=errors[chunk])
                if sent is not None:
                    sent[chunk] = rounded

        self.run(count, part)
        return out, sent


def run_alone(size: int, part: Part) -> None:
    """Work on all elements in this thread."""
    part(0, size)
