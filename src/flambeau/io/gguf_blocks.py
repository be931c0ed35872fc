"""Decodes GGUF's quantised blocks to float32 by ops on their bytes, which run on the device.

Each format is a function of x, the bytes of its blocks as int32 [n, bytes], and returns float32 [n,
elements]. The formulas are those of ggml (ggml-quants.c). All products have so few bits that float32 is
exact, so results are bit-identical on every device.
"""

from collections.abc import Callable
from math import inf, nan
from typing import Any

from ..core import dtype as dt
from ..functions import cat, stack
from ..runtime.exchange import leaf
from ..tensor import Tensor, tensor
from .block_weight import BlockFormat, BlockWeight
from .codebooks import CODEBOOKS
from .elements import LoadOptions

# the values of 4-bit floats (E2M1: 0, 0.5, 1, 1.5, 2, 3, 4, 6), doubled
QUARTERS = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
# by sign and exponent of a float16: 2^(e - 15) / 1024, so that a mantissa with its implicit 1024 is an
# integer factor
POWERS = tuple(sign * (2.0 ** (max(e, 1) - 25) if e < 31 else inf) for sign in (1, -1) for e in range(32))
# the values of the IQ4 formats, a non-uniform grid (kvalues_iq4nl)
CURVE = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)


BLOCKS: dict[str, BlockFormat] = {}


def block(name: str, number: int, elements: int, size: int) -> Callable[[Any], Any]:
    """Register a function that decodes a format."""

    def register(decode: Any) -> Any:
        BLOCKS[name] = BlockFormat(name, number, elements, size, decode)
        return decode

    return register


def decode_blocks(name: str, raw: memoryview, shape: tuple[int, ...], place: LoadOptions) -> Tensor:
    """Return the float32 tensor of blocks. It is lazy: the device holds the blocks until the tensor is
    computed."""
    form = BLOCKS[name]
    n = len(raw) // form.size
    codes = Tensor(leaf(raw, (n, form.size), dt.uint8, place.device))
    return form.decode(codes.to(dt.int32)).reshape(shape)


def weight_of(name: str, raw: Any, shape: tuple[int, int]) -> BlockWeight:
    """Copy the blocks of a matrix. ValueError if the bytes are not those of this shape."""
    import numpy as np

    form, (n, k) = BLOCKS[name], shape
    data = np.frombuffer(bytes(raw), np.uint8)
    if k % form.elements or data.size != n * k // form.elements * form.size:
        raise ValueError(f"weight_of({name}, {list(shape)}): {data.size:,} bytes are not its blocks")
    return BlockWeight(form, data.reshape(n, k // form.elements * form.size))


# --- shared helpers ---


def half(low: Any, high: Any) -> Any:
    """Return a float16 of two bytes: a table of its 64 signs and exponents makes them exact on every
    device."""
    # Sign and exponent are the 6 high bits, the mantissa the 10 low ones. Subnormals lack the implicit
    # 1024.
    top, mantissa = high >> 2, low | (high & 3) << 8
    normal = (top & 31 != 0).where(1024, 0)
    value = (mantissa + normal).float() * table(POWERS, low)[top]
    return ((top & 31 == 31) & (mantissa != 0)).where(nan, value)


def half_at(x: Any, offset: int) -> Any:
    """Return the float16 at a byte of each block. [n, bytes] -> [n, 1]"""
    return half(x[:, offset : offset + 1], x[:, offset + 1 : offset + 2])


def fields(q: Any, group: int, bits: int) -> Any:
    """Unpack bit fields of bytes, low bits first: for each group of bytes, first the lowest field of every
    byte. [n, k] -> [n, k / group, 8 / bits, group]"""
    count = 8 // bits
    shifts = Tensor.arange(count, dtype=dt.int32, device=q.device).reshape(1, 1, count, 1) * bits
    return (q.reshape(len(q), -1, 1, group) >> shifts) & ((1 << bits) - 1)


def flat(x: Any) -> Any:
    return x.reshape(len(x), -1)


def as_int8(x: Any) -> Any:
    """Bytes as int8."""
    return (x ^ 128) - 128


def table(values: Any, x: Any) -> Any:
    """Return a table of float32 on the device of x."""
    return tensor(list(values), dtype=dt.float32, device=x.device)


def signs(bits: Any) -> Any:
    """Unpack 8 signs from each byte. [n, k] -> [n, k * 8]"""
    return 1.0 - 2.0 * flat(fields(bits, 1, 1)).float()


def even(x: Any) -> Any:
    """Append an eighth bit to 7 bits, so that the number of ones is even."""
    # Fold the bits onto one another: bit 0 becomes the parity of all.
    parity = x ^ x >> 4
    parity = parity ^ parity >> 2
    return x | ((parity ^ parity >> 1) & 1) << 7


def words_of(name: str, index: Any) -> Any:
    """Look up words of a codebook. [...] -> [..., length]"""
    book = CODEBOOKS[name]
    words = leaf(book.decode(), (book.words, book.length), dt.int8, index.device)
    return Tensor(words)[index].float()


# --- 4, 5 and 8 bits with a scale for each 32 ---


@block("Q4_0", 2, 32, 18)
def _(x: Tensor) -> Tensor:
    # 18 bytes: scale d (float16), 16 bytes of 4 bits. Value: d (q - 8)
    return half_at(x, 0) * (flat(fields(x[:, 2:], 16, 4)) - 8).float()


@block("Q4_1", 3, 32, 20)
def _(x: Tensor) -> Tensor:
    # 20 bytes: d, minimum m, 16 bytes of 4 bits. Value: d q + m
    return half_at(x, 0) * flat(fields(x[:, 4:], 16, 4)).float() + half_at(x, 2)


@block("Q5_0", 6, 32, 22)
def _(x: Tensor) -> Tensor:
    # 22 bytes: d, 4 bytes with the fifth bits, 16 bytes with the low 4 bits. Value: d (q - 16)
    q = flat(fields(x[:, 6:], 16, 4)) | flat(fields(x[:, 2:6], 1, 1)) << 4
    return half_at(x, 0) * (q - 16).float()


@block("Q5_1", 7, 32, 24)
def _(x: Tensor) -> Tensor:
    # 24 bytes: as Q5_0, with m after d
    q = flat(fields(x[:, 8:], 16, 4)) | flat(fields(x[:, 4:8], 1, 1)) << 4
    return half_at(x, 0) * q.float() + half_at(x, 2)


@block("Q8_0", 8, 32, 34)
def _(x: Tensor) -> Tensor:
    # 34 bytes: d and 32 int8
    return half_at(x, 0) * as_int8(x[:, 2:]).float()


# --- "K": 256 elements, with scales of 4 to 8 bits in each ---


@block("Q2_K", 10, 256, 84)
def _(x: Tensor) -> Tensor:
    # 84 bytes: 16 bytes of a scale (low) and a minimum (high), 64 bytes of 2 bits, d, dmin
    scales = x[:, :16].unsqueeze(2)
    q = fields(x[:, 16:80], 32, 2).reshape(-1, 16, 16).float()
    scale, least = half_at(x, 80).unsqueeze(2), half_at(x, 82).unsqueeze(2)
    return flat(scale * (scales & 15).float() * q - least * (scales >> 4).float())


@block("Q3_K", 11, 256, 110)
def _(x: Tensor) -> Tensor:
    # 110 bytes: 32 bytes of high bits, 64 of 2 bits, 12 of 16 scales of 6 bits, d. A high bit of 0
    # subtracts 4.
    scales = flat(fields(x[:, 96:104], 8, 4)) | flat(fields(x[:, 104:108], 4, 2)) << 4
    low = fields(x[:, 32:96], 32, 2).reshape(-1, 16, 16)
    high = fields(x[:, :32], 32, 1).reshape(-1, 16, 16)
    q = low - ((high ^ 1) << 2)
    return flat((half_at(x, 108) * (scales - 32).float()).unsqueeze(2) * q.float())


def _k_scales(x: Any) -> tuple[Any, Any]:
    """Return the scales and least values of 8 parts, from 12 bytes. [n, 12] -> [n, 8, 1] twice"""
    # Parts 0 to 3 use 6 bits of the first 8 bytes; parts 4 to 7 take 4 bits of the last bytes and the 2
    # high bits left in the first.
    d, m, both = x[:, :4], x[:, 4:8], x[:, 8:]
    scales = [d & 63, (both & 15) | ((d >> 2) & 48)]
    least = [m & 63, (both >> 4) | ((m >> 2) & 48)]
    return tuple(cat(parts, 1).unsqueeze(2).float() for parts in (scales, least))  # type: ignore


def _k(x: Any, q: Any) -> Any:
    """Numbers of 4 or 5 bits in 8 parts, each with a scale and a least value."""
    scales, least = _k_scales(x[:, 4:16])
    scale, minimum = half_at(x, 0).unsqueeze(2), half_at(x, 2).unsqueeze(2)
    return flat(scale * scales * q.reshape(-1, 8, 32).float() - minimum * least)


@block("Q4_K", 12, 256, 144)
def _(x: Tensor) -> Tensor:
    # 144 bytes: d, dmin, 12 bytes of scales and minima, 128 bytes of 4 bits
    return _k(x, fields(x[:, 16:], 32, 4))


@block("Q5_K", 13, 256, 176)
def _(x: Tensor) -> Tensor:
    # 176 bytes: as Q4_K, with 32 bytes of fifth bits before the 4 bits
    return _k(x, flat(fields(x[:, 48:], 32, 4)) | flat(fields(x[:, 16:48], 32, 1)) << 4)


@block("Q6_K", 14, 256, 210)
def _(x: Tensor) -> Tensor:
    # 210 bytes: 128 bytes of low 4 bits, 64 of high 2 bits, 16 int8 scales, d
    q = flat(fields(x[:, :128], 64, 4)) | flat(fields(x[:, 128:192], 32, 2)) << 4
    scales = half_at(x, 208) * as_int8(x[:, 192:208]).float()
    return flat(scales.unsqueeze(2) * (q - 32).reshape(-1, 16, 16).float())


# --- ternary ---


def _thirds(x: Any, count: int) -> Any:
    """Unpack digits of base 3 from bytes that encode fractions of 256. [n, k] -> [n, count * k]"""
    # x / 256 is a fraction of base 3: digit i is the integer part of 3 times the fraction of x * 3^i / 256.
    scaled = flat(stack([x * 3**i for i in range(count)], 1))
    return ((scaled & 255) * 3 >> 8) - 1


@block("TQ1_0", 34, 256, 54)
def _(x: Tensor) -> Tensor:
    # 54 bytes: 32 and 16 bytes of 5 digits, 4 bytes of 4 digits, d
    q = cat([_thirds(x[:, :32], 5), _thirds(x[:, 32:48], 5), _thirds(x[:, 48:52], 4)], 1)
    return half_at(x, 52) * q.float()


@block("TQ2_0", 35, 256, 66)
def _(x: Tensor) -> Tensor:
    return half_at(x, 64) * (flat(fields(x[:, :64], 32, 2)) - 1).float()


# --- floats of 4 bits ---


@block("MXFP4", 39, 32, 17)
def _(x: Tensor) -> Tensor:
    """Use a table of all products, because some are subnormal, which GPUs flush to 0."""
    # 17 bytes: an exponent (E8M0, bias 127; 128 since QUARTERS are doubled), 16 bytes of 4 bits
    scales = [2.0 ** (e - 128) for e in range(256)]
    every = table([min(max(s * q, -3.5e38), 3.5e38) for s in scales for q in QUARTERS], x)
    return every[x[:, :1] * 16 + flat(fields(x[:, 1:], 16, 4))]


@block("NVFP4", 40, 64, 36)
def _(x: Tensor) -> Tensor:
    # 36 bytes: 4 scales (E4M3 without sign) of 16 elements each, 32 bytes of 4 bits
    scales = table([_unsigned_float8(e) for e in range(256)], x)[x[:, :4]]
    q = fields(x[:, 4:], 8, 4).reshape(-1, 4, 16)
    return flat(scales.unsqueeze(2) * table(QUARTERS, x)[q])


def _unsigned_float8(code: int) -> float:
    """Half of an unsigned 8-bit float."""
    exponent, mantissa = (code >> 3) & 15, code & 7
    value = mantissa * 2.0**-9 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7)
    return 0.0 if code in (0, 127) else value / 2


# --- "IQ": indices into codebooks ---


@block("IQ4_NL", 20, 32, 18)
def _(x: Tensor) -> Tensor:
    return half_at(x, 0) * table(CURVE, x)[flat(fields(x[:, 2:], 16, 4))]


@block("IQ4_XS", 23, 256, 136)
def _(x: Tensor) -> Tensor:
    # 136 bytes: d, 2 bytes of high scale bits, 4 bytes of low ones, 128 bytes of indices into CURVE
    scales = flat(fields(x[:, 4:8], 1, 4)) | flat(fields(x[:, 2:4], 1, 2)) << 4
    q = table(CURVE, x)[flat(fields(x[:, 8:], 16, 4))].reshape(-1, 8, 32)
    return flat((half_at(x, 0) * (scales - 32).float()).unsqueeze(2) * q)


def _split_signs(words: Any) -> tuple[Any, Any]:
    """Split 32-bit words: the 4 high bits, and the signs of the four 7-bit fields below. [n, 8, 4] -> [n, 8],
    [n, 256]"""
    # Four masks of 7 signs and a scale of 4 bits make 32 bits.
    low, second, third, high = (words[..., i] for i in range(4))
    word = low | second << 8 | third << 16 | high << 24
    sevens = stack([(word >> 7 * i) & 127 for i in range(4)], 2)
    return high >> 4, signs(flat(even(sevens)))


def _spread(scales: Any, words: Any, sign: Any) -> Any:
    """Multiply codebook words by a scale for each of equal parts, and by signs."""
    n, parts = scales.shape
    return flat(scales.unsqueeze(2) * flat(words).reshape(n, parts, -1)) * sign


@block("IQ2_XXS", 16, 256, 66)
def _(x: Tensor) -> Tensor:
    # 66 bytes: d, then for each 32 elements 4 word indices and 4 bytes of signs and a scale
    pairs = x[:, 2:].reshape(-1, 8, 8)
    scales, sign = _split_signs(pairs[:, :, 4:])
    return _spread(half_at(x, 0) * (scales.float() + 0.5) * 0.25, words_of("IQ2_XXS", pairs[:, :, :4]), sign)


@block("IQ2_XS", 17, 256, 74)
def _(x: Tensor) -> Tensor:
    # words of 16 bits: 9 bits of a word index, 7 bits of signs
    low, high = x[:, 2:66:2], x[:, 3:66:2]
    scales = flat(fields(x[:, 66:], 1, 4)).float()
    words = words_of("IQ2_XS", low | (high & 1) << 8)
    return _spread(half_at(x, 0) * (scales + 0.5) * 0.25, words, signs(even(high >> 1)))


@block("IQ2_S", 22, 256, 82)
def _(x: Tensor) -> Tensor:
    scales = flat(fields(x[:, 74:], 1, 4)).float()
    words = words_of("IQ2_S", x[:, 2:34] | flat(fields(x[:, 66:74], 1, 2)) << 8)
    return _spread(half_at(x, 0) * (scales + 0.5) * 0.25, words, signs(x[:, 34:66]))


@block("IQ3_XXS", 18, 256, 98)
def _(x: Tensor) -> Tensor:
    scales, sign = _split_signs(x[:, 66:].reshape(-1, 8, 4))
    return _spread(half_at(x, 0) * (scales.float() + 0.5) * 0.5, words_of("IQ3_XXS", x[:, 2:66]), sign)


@block("IQ3_S", 21, 256, 110)
def _(x: Tensor) -> Tensor:
    scales = 2 * flat(fields(x[:, 106:], 1, 4)) + 1
    words = words_of("IQ3_S", x[:, 2:66] | flat(fields(x[:, 66:74], 1, 1)) << 8)
    return _spread(half_at(x, 0) * scales.float(), words, signs(x[:, 74:106]))


def _shift_scales(scales: Any, words: Any, is_below: Any) -> Any:
    """Shift codebook words by +1/8 or -1/8 and scale them; equal parts share a scale and a direction."""
    n, ways = is_below.shape
    moved = words.reshape(n, ways, -1) + is_below.where(-0.125, 0.125).unsqueeze(2)
    return flat(scales.unsqueeze(2) * moved.reshape(n, scales.shape[1], -1))


@block("IQ1_S", 19, 256, 50)
def _(x: Tensor) -> Tensor:
    low, high = x[:, 34::2], x[:, 35::2]
    word = low | high << 8
    thirds = flat(stack([(word >> 3 * i) & 7 for i in range(4)], 2))
    scales = half_at(x, 0) * (2 * ((word >> 12) & 7) + 1).float()
    return _shift_scales(scales, words_of("IQ1_S", x[:, 2:34] | thirds << 8), high > 127)


@block("IQ1_M", 29, 256, 56)
def _(x: Tensor) -> Tensor:
    """The float16 scale is in the four high bits of four words."""
    low, high = x[:, 48::2], x[:, 49::2]
    parts = [high[:, i : i + 1] >> 4 for i in range(4)]
    scale = half(parts[0] | parts[1] << 4, parts[2] | parts[3] << 4)
    word = low | high << 8
    scales = flat(stack([(word >> 3 * i) & 7 for i in range(4)], 2))
    h = flat(fields(x[:, 32:48], 1, 4))
    words = words_of("IQ1_S", x[:, :32] | (h & 7) << 8)
    return _shift_scales(scale * (2 * scales + 1).float(), words, (h & 8) == 8)
