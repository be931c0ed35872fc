"""Encodes gradients in fewer bytes, with error feedback: the rounding error is added to the next gradient."""

from __future__ import annotations

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
    message of the numbers from `first` on, a multiple of BLOCK, to that of all `count` numbers.
    """

    encode: Callable[[Floats], Bytes]
    decode: Callable[[Bytes, int], Floats]
    nbytes: Callable[[int], int]
    put: Callable[[Bytes, int, Bytes, int], object]
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


def _put_int8(message: Bytes, count: int, part: Bytes, first: int) -> None:
    begin, blocks, all_blocks = first // BLOCK, part.size // (4 + BLOCK), -(-count // BLOCK)
    message[4 * begin : 4 * (begin + blocks)] = part[: 4 * blocks]
    steps = message[4 * all_blocks :]
    steps[BLOCK * begin : BLOCK * (begin + blocks)] = part[4 * blocks :]


WIRES = {
    "float32": Wire(_bytes, _from_float32, (4).__mul__, _put_in_line(4), True),
    "float16": Wire(_to_float16, _from_float16, (2).__mul__, _put_in_line(2)),
    "bfloat16": Wire(_to_bfloat16, _from_bfloat16, (2).__mul__, _put_in_line(2)),
    "int8": Wire(_to_int8, _from_int8, _int8_bytes, _put_int8),
}


def wire_named(name: str) -> Wire:
    """Return a wire by its name. ValueError for an unknown one."""
    if name not in WIRES:
        known = ", ".join(map(repr, WIRES))
        raise ValueError(f"wire={name!r}: is unknown{suggest(name, WIRES)}: use one of {known}")
    return WIRES[name]


class Feedback:
    """Encodes numbers, and adds the rounding errors to the next numbers with the same key (error feedback).

    The sum of all messages of a key then differs from the sum of its numbers by one rounding error only.
    """

    def __init__(self, wire: Wire):
        self.wire = wire
        self.errors: dict[Any, Floats] = {}
        self.run = run_alone  # shares the work among threads

    def encode(self, key: Any, values: Floats) -> tuple[Bytes, Floats]:
        """Return the message of `values`, and the numbers that it decodes to."""
        wire, count = self.wire, values.size
        if wire.is_exact:
            return wire.encode(values), values
        if key not in self.errors:
            self.errors[key] = np.zeros(count, np.float32)
        message, sent, errors = (
            np.empty(wire.nbytes(count), np.uint8),
            np.empty_like(values),
            self.errors[key],
        )

        def part(first: int, end: int) -> None:
            for at in range(first, end, CHUNK):
                here = slice(at, min(at + CHUNK, end))
                wanted = values[here] + errors[here]
                raw = wire.encode(wanted)
                wire.put(message, count, raw, at)
                sent[here] = wire.decode(raw, wanted.size)
                # Seide et al., 2014 (1-bit SGD): else small gradients that round to zero would never count.
                np.subtract(wanted, sent[here], out=errors[here])

        self.run(count, part)
        return message, sent


def run_alone(size: int, part: Part) -> None:
    """Work on all elements in this thread."""
    part(0, size)
