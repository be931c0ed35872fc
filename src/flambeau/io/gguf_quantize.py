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
        parts = [QUANTIZED[name](blocks[start : start + ROWS]) for start in range(0, len(blocks), ROWS)]
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


# --- "K": 256 elements, with quantised scales of parts ---


def _select(condition: Any, a: Any, b: Any) -> Any:
    """Select by a condition, element by element, among arrays of one shape."""

    import numpy as np

    chosen = b.copy()
    np.copyto(chosen, a, where=condition)
    return chosen


def _best_about_zero(parts: Any, most: int) -> Any:
    """Return the scale of each part by llama.cpp's search (make_qx_quants): 19 scales, and the least squares
    of each. [n, parts, each] -> [n, parts, 1]"""

    import numpy as np

    furthest = np.take_along_axis(parts, abs(parts).argmax(-1, keepdims=True), -1)
    weight = parts * parts
    scale = best = np.zeros_like(furthest)
    for i in (0, *(j for j in range(-9, 10) if j)):
        q = np.rint(parts * (-(most + 0.1 * i) * _inverse(furthest))).clip(-most, most - 1)
        sum_xq, sum_qq = ((weight * v * q).sum(-1, keepdims=True) for v in (parts, q))
        new = sum_xq * _inverse(sum_qq)
        better = (sum_qq > 0) & (new * sum_xq > best)
        scale, best = np.where(better, new, scale), np.where(better, new * sum_xq, best)
    return scale


def _best_from_least(x: Any, most: int) -> tuple[Any, Any]:
    """Find the scale and the least value (0 or below, returned as a positive number) that fit each part best,
    by llama.cpp's search (make_qkx2_quants): 21 ranges, and the least squares of each.
    [n, parts, 32] -> [n, parts, 1] twice"""

    import numpy as np

    weight: Any = np.sqrt((x * x).mean(-1, keepdims=True)) + abs(x)
    least = x.min(-1, keepdims=True).clip(max=0)
    wide = x.max(-1, keepdims=True) - least
    sum_w, sum_x = weight.sum(-1, keepdims=True), (weight * x).sum(-1, keepdims=True)

    def error(scale: Any, low: Any, q: Any) -> Any:
        return (weight * (scale * q + low - x) ** 2).sum(-1, keepdims=True)

    scale = wide / most
    low = least
    best = error(scale, low, np.rint((x - least) * _inverse(scale)).clip(0, most))
    for i in range(21):
        q = np.rint((x - least) * ((0.1 * i - 1 + most) * _inverse(wide))).clip(0, most)
        sum_q, sum_qq = (weight * q).sum(-1, keepdims=True), (weight * q * q).sum(-1, keepdims=True)
        sum_xq = (weight * x * q).sum(-1, keepdims=True)
        d = sum_w * sum_qq - sum_q * sum_q
        new_low = (sum_qq * sum_x - sum_q * sum_xq) * _inverse(d)
        of_both = (sum_w * sum_xq - sum_x * sum_q) * _inverse(d)
        new_scale = _select(new_low > 0, sum_xq * _inverse(sum_qq), of_both)
        new_low = new_low.clip(max=0)
        new = error(new_scale, new_low, q)
        better = (d > 0) & (new < best) & (wide > 0)
        scale = _select(better, new_scale, scale)
        low = _select(better, new_low, low)
        best = _select(better, new, best)
    return scale.astype("f4"), -low.astype("f4")


def _k_parts(x: Any, bits: int) -> tuple[Any, Any]:
    """Return the first 16 bytes of Q4_K and Q5_K (scale, least value, and 8 of each of 6 bits), and the
    integers. [n, 256] -> [n, 16], [n, 256]"""

    import numpy as np

    parts = x.reshape(len(x), 8, 32)
    scales, least = _best_from_least(parts, (1 << bits) - 1)
    d, dmin = (np.maximum(v.max(1), 0).astype("f4") / 63 for v in (scales, least))
    of_scale, of_least = (
        np.rint(v[:, :, 0] * _inverse(of)).clip(0, 63).astype("u1") for v, of in ((scales, d), (least, dmin))
    )
    packed = _join(
        of_scale[:, :4] | (of_scale[:, 4:] >> 4) << 6,
        of_least[:, :4] | (of_least[:, 4:] >> 4) << 6,
        (of_scale[:, 4:] & 15) | (of_least[:, 4:] & 15) << 4,
    )
    step = (d.astype("f2").astype("f4") * of_scale)[:, :, None]  # the decoder's factors
    low = (dmin.astype("f2").astype("f4") * of_least)[:, :, None]
    q = np.rint((parts + low) * _inverse(step)).clip(0, (1 << bits) - 1).astype("u1")
    return _join(_half(d), _half(dmin), packed), q.reshape(len(x), 256)


def _quarters(q: Any) -> Any:
    """Pack 2-bit integers of 128 neighbours in 32 bytes, the first 32 in the lowest bits.
    [n, 256] -> [n, 64]"""
    fours = q.reshape(len(q), 2, 4, 32)
    packed = fours[:, :, 0] | fours[:, :, 1] << 2 | fours[:, :, 2] << 4 | fours[:, :, 3] << 6
    return packed.reshape(len(q), -1)


@form("Q2_K")
def _(x: Any) -> Any:
    import numpy as np

    parts = x.reshape(len(x), 16, 16)
    scales, least = _best_from_least(parts, 3)
    d, dmin = (np.maximum(v.max(1), 0).astype("f4") / 15 for v in (scales, least))
    of_scale, of_least = (
        np.rint(v[:, :, 0] * _inverse(of)).clip(0, 15).astype("u1") for v, of in ((scales, d), (least, dmin))
    )
    step = (d.astype("f2").astype("f4") * of_scale)[:, :, None]  # the decoder's factors
    low = (dmin.astype("f2").astype("f4") * of_least)[:, :, None]
    q = np.rint((parts + low) * _inverse(step)).clip(0, 3).astype("u1")
    return _join(of_scale | of_least << 4, _quarters(q.reshape(len(x), 256)), _half(d), _half(dmin))


def _signed_parts(x: Any, scales: int, levels: int) -> tuple[Any, Any, Any]:
    """Quantise in parts of 16 numbers, each with a signed scale of its own. [n, 256] -> float32 [n, 1], int8
    [n, 16], uint8 [n, 256]

    scales, levels: the range of a scale's code, and of a number's, which is stored from 0 on.
    """
    import numpy as np

    parts = x.reshape(len(x), 16, 16)
    scale = _best_about_zero(parts, levels)
    top = np.take_along_axis(scale, abs(scale).argmax(1, keepdims=True), 1)[:, :, 0]
    d = (top / -scales).astype("f4")
    codes = np.rint(scale[:, :, 0] * _inverse(d)).clip(-scales, scales - 1).astype("i1")
    step = (d.astype("f2").astype("f4") * codes)[:, :, None]
    q = (np.rint(parts * _inverse(step)).clip(-levels, levels - 1) + levels).astype("u1")
    return d, codes, q.reshape(len(x), 256)


@form("Q3_K")
def _(x: Any) -> Any:
    import numpy as np

    d, codes, q = _signed_parts(x, 32, 4)
    six = (codes + 32).view("u1")
    packed = _join(
        (six[:, :8] & 15) | (six[:, 8:] & 15) << 4,
        six[:, :4] >> 4 | six[:, 4:8] >> 4 << 2 | six[:, 8:12] >> 4 << 4 | six[:, 12:] >> 4 << 6,
    )
    high = np.packbits((q >> 2).reshape(len(x), 8, 32), axis=1, bitorder="little").reshape(len(x), 32)
    return _join(high, _quarters(q & 3), packed, _half(d))


def _halves(q: Any) -> Any:
    """Pack 4-bit integers of 64 neighbours in 32 bytes, the first 32 in the low halves.
    [n, 256] -> [n, 128]"""
    pairs = q.reshape(len(q), -1, 2, 32)
    return ((pairs[:, :, 0] & 15) | (pairs[:, :, 1] & 15) << 4).reshape(len(q), -1)


@form("Q4_K")
def _(x: Any) -> Any:
    head, q = _k_parts(x, 4)
    return _join(head, _halves(q))


@form("Q5_K")
def _(x: Any) -> Any:
    import numpy as np

    head, q = _k_parts(x, 5)
    fifth = np.packbits(q.reshape(len(q), 8, 32) >> 4, axis=1, bitorder="little").reshape(len(q), 32)
    return _join(head, fifth, _halves(q))


@form("Q6_K")
def _(x: Any) -> Any:

    d, codes, q = _signed_parts(x, 128, 32)
    q = q.reshape(len(x), 2, 4, 32)
    low = (q[:, :, :2] & 15) | (q[:, :, 2:] & 15) << 4
    high = q >> 4
    high = high[:, :, 0] | high[:, :, 1] << 2 | high[:, :, 2] << 4 | high[:, :, 3] << 6
    return _join(low.reshape(len(x), 128), high.reshape(len(x), 64), codes.view("u1"), _half(d))


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
