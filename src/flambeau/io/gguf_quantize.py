"""Quantises float32 to GGUF's blocks on the host, bit-identical to llama.cpp's gguf package: divisions must
be rounded as in IEEE 754, which GPUs do not guarantee."""

from collections.abc import Callable
from typing import Any

from .gguf_blocks import BLOCKS, QUARTERS

QUANTIZED: dict[str, Callable[[Any], Any]] = {}
ROWS = 1 << 14  # blocks at once


def form(name: str) -> Callable[[Any], Any]:
    """Register a function of blocks, float32 [n, elements] -> uint8 [n, bytes]."""

    def register(quantize: Any) -> Any:
        QUANTIZED[name] = quantize
        return quantize

    return register


def quantize_blocks(name: str, raw: Any, shape: tuple[int, ...]) -> bytes:
    """Return the blocks of a tensor's float32 bytes."""
    import numpy as np

    blocks = np.frombuffer(raw, "f4").reshape(-1, BLOCKS[name].elements)
    with np.errstate(all="ignore"):
        parts = [QUANTIZED[name](blocks[at : at + ROWS]) for at in range(0, len(blocks), ROWS)]
    return b"".join(part.tobytes() for part in parts)


def _inverse(d: Any) -> Any:
    import numpy as np

    return np.where(d == 0, 0, 1 / d)


def _half(d: Any) -> Any:
    return d.astype("f2").view("u1")


def _round_half_away(x: Any) -> Any:
    """Round to the nearest integer, halves away from zero."""
    import numpy as np

    a = abs(x)
    # As C's roundf, which llama.cpp uses; np.round rounds halves to even.
    floor = np.floor(a)
    return np.sign(x) * (floor + np.floor(2 * (a - floor)))


def _truncate(x: Any, most: int) -> Any:
    """Truncate a positive number."""
    import numpy as np

    return np.trunc(x, dtype=np.float32).astype("u1").clip(0, most)


def _nibbles(q: Any) -> Any:
    """Pack the two halves of a block in the low and the high 4 bits of bytes."""
    # Element i and element i + 16 of a block of 32 share byte i.
    pairs = q.reshape(len(q), 2, -1)
    return (pairs[:, 0] & 15) | (pairs[:, 1] << 4)


def _fifth_bits(q: Any) -> Any:
    import numpy as np

    return np.packbits(q >> 4, axis=-1, bitorder="little")


def _about_zero(x: Any, bits: int) -> tuple[Any, Any]:
    """(scale, integers); the element furthest from zero maps to the lowest integer."""
    import numpy as np

    # The signed extreme maps to the lowest number, -2^(bits - 1), because the range has one more negative
    # number.
    furthest = np.take_along_axis(x, abs(x).argmax(axis=-1, keepdims=True), axis=-1)
    d, middle = furthest / -(1 << bits - 1), 1 << bits - 1
    return d, _truncate(x * _inverse(d) + np.float32(middle + 0.5), 2 * middle - 1)


def _from_least(x: Any, bits: int) -> tuple[Any, Any, Any]:
    """(scale, minimum, integers); the minimum maps to 0."""
    import numpy as np

    least = x.min(axis=-1, keepdims=True)
    most = (1 << bits) - 1
    d = (x.max(axis=-1, keepdims=True) - least) / most
    return d, least, _truncate((x - least) * _inverse(d) + np.float32(0.5), most)


def _join(*parts: Any) -> Any:
    import numpy as np

    return np.concatenate(parts, axis=-1)


@form("Q4_0")
def _(x: Any) -> Any:
    d, q = _about_zero(x, 4)
    return _join(_half(d), _nibbles(q))


@form("Q4_1")
def _(x: Any) -> Any:
    d, least, q = _from_least(x, 4)
    return _join(_half(d), _half(least), _nibbles(q))


@form("Q5_0")
def _(x: Any) -> Any:
    d, q = _about_zero(x, 5)
    return _join(_half(d), _fifth_bits(q), _nibbles(q))


@form("Q5_1")
def _(x: Any) -> Any:
    d, least, q = _from_least(x, 5)
    return _join(_half(d), _half(least), _fifth_bits(q), _nibbles(q))


@form("Q8_0")
def _(x: Any) -> Any:
    d = abs(x).max(axis=1, keepdims=True) / 127
    return _join(_half(d), _round_half_away(x * _inverse(d)).astype("i1").view("u1"))


def _ternary(x: Any) -> tuple[Any, Any]:
    """(scale, digits); -1, 0 and 1 map to 0, 1 and 2."""
    d = abs(x).max(axis=-1, keepdims=True)
    return d, (_round_half_away(x * _inverse(d)).astype("i1") + 1).astype("u1")


@form("TQ1_0")
def _(x: Any) -> Any:
    import numpy as np

    d, q = _ternary(x)
    # Five digits of base 3 fit a byte, since 3^5 = 243.
    powers = np.array([81, 27, 9, 3, 1], "u1").reshape(1, 1, 5, 1)
    parts = ((q[:, :160], 5, 32), (q[:, 160:240], 5, 16), (q[:, 240:], 4, 4))
    sums = [
        (part.reshape(len(q), -1, count, each) * powers[:, :, :count]).sum(-2).reshape(len(q), -1)
        for part, count, each in parts
    ]
    # Scaled from 243 to 256 and rounded up: the decoder then gets each digit by a product with 3 and a
    # shift.
    fractions = (_join(*sums).astype("u2") * 256 + 242) // 243
    return _join(fractions.astype("u1"), _half(d))


@form("TQ2_0")
def _(x: Any) -> Any:
    d, q = _ternary(x)
    fours = q.reshape(len(q), -1, 4, 32)
    packed = fours[:, :, 0] | fours[:, :, 1] << 2 | fours[:, :, 2] << 4 | fours[:, :, 3] << 6
    return _join(packed.reshape(len(q), -1), _half(d))


@form("MXFP4")
def _(x: Any) -> Any:
    import numpy as np

    most = abs(x).max(axis=-1, keepdims=True)
    # The shared exponent: 2 is that of the largest 4-bit float, 6 = 1.5 * 2^2; 127 is the bias.
    exponents = np.where(most > 0, np.floor(np.log2(most)) - 2 + 127, 0).astype("u1")
    d = np.ldexp(np.float32(1), exponents.astype("i4") - 128)
    every = d[:, :, None] * np.array(QUARTERS, "f4")
    best = np.argmin(abs(every - x[:, :, None]), axis=-1).astype("u1")
    return _join(exponents, _nibbles(best))
