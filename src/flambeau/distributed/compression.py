"""Gradients on the wire in fewer bytes, with error feedback: what rounding loses is added to the next one."""

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


class Wire(NamedTuple):
    """A format of numbers in messages: `encode` makes the bytes of float32 numbers, `decode` the numbers of
    bytes, given how many; `nbytes` is the length of the message of this many numbers."""

    encode: Callable[[Floats], Bytes]
    decode: Callable[[Bytes, int], Floats]
    nbytes: Callable[[int], int]
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


WIRES = {
    "float32": Wire(_bytes, _from_float32, (4).__mul__, True),
    "float16": Wire(_to_float16, _from_float16, (2).__mul__),
    "bfloat16": Wire(_to_bfloat16, _from_bfloat16, (2).__mul__),
    "int8": Wire(_to_int8, _from_int8, _int8_bytes),
}


def wire_named(name: str) -> Wire:
    """Return a wire by its name. ValueError for an unknown one."""
    if name not in WIRES:
        known = ", ".join(map(repr, WIRES))
        raise ValueError(f"wire={name!r}: is unknown{suggest(name, WIRES)}: use one of {known}")
    return WIRES[name]


class Feedback:
    """Encodes numbers and keeps the rounding errors by key, which are added to the next numbers of the key.

    The sum of all messages of a key then differs from the sum of its numbers by one rounding error only.
    """

    def __init__(self, wire: Wire):
        self.wire = wire
        self.errors: dict[Any, Floats] = {}

    def encode(self, key: Any, values: Floats) -> tuple[Bytes, Floats]:
        """Return the message of `values`, and the numbers that it decodes to."""
        if self.wire.is_exact:
            return self.wire.encode(values), values
        error = self.errors.get(key)
        wanted = values if error is None else values + error
        raw = self.wire.encode(wanted)
        sent = self.wire.decode(raw, values.size)
        # Seide et al., 2014 (1-bit SGD): without this, small gradients that round to zero would never count.
        self.errors[key] = wanted - sent
        return raw, sent
