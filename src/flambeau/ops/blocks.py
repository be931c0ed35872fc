"""Reads GGUF's quantised blocks as numbers. Kernels decode them where they load: no floats are stored."""

# Ops call primitives, such as x._decode_blocks, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.block_formats import FORMATS
from ..core.declare import kernel
from ..core.op import Family

if TYPE_CHECKING:
    from ..core.rules import Prepared
    from ..core.shape import Shape

Bytes = Any  # a NumPy array of uint8, [blocks, bytes]
TAKES_WORDS = "takes uint32 words: cast with .to(flambeau.uint32)"
Numbers = Any  # a NumPy array of float32, [blocks, elements]

DECODERS: dict[str, Callable[[Bytes], Numbers]] = {}


def decoder(name: str) -> Callable[[Callable[[Bytes], Numbers]], Callable[[Bytes], Numbers]]:
    """Register a format's function for NumPy."""

    def register(decode: Callable[[Bytes], Numbers]) -> Callable[[Bytes], Numbers]:
        DECODERS[name] = decode
        return decode

    return register


def _half(x: Bytes, offset: int) -> Numbers:
    """The float16 at a byte of each block. -> [blocks, 1]"""
    return x[:, offset : offset + 2].copy().view("f2").astype("f4")


def _nibbles(x: Bytes, group: int) -> Bytes:
    """4-bit integers: of each group of bytes first the low halves. [blocks, n] -> [blocks, 2 n]"""

    import numpy as np

    x = x.reshape(len(x), -1, 1, group)
    return np.concatenate([x & 15, x >> 4], 2).reshape(len(x), -1)


def _fifth_bits(x: Bytes) -> Bytes:
    """A bit for each element, as 0 or 16. [blocks, 4] -> [blocks, 32]"""

    import numpy as np

    return np.unpackbits(x, axis=1, bitorder="little") << 4


@decoder("q4_0")
def _(x: Bytes) -> Numbers:
    return _half(x, 0) * (_nibbles(x[:, 2:], 16).astype("f4") - 8)


@decoder("q4_1")
def _(x: Bytes) -> Numbers:
    return _half(x, 0) * _nibbles(x[:, 4:], 16).astype("f4") + _half(x, 2)


@decoder("q5_0")
def _(x: Bytes) -> Numbers:
    q = _nibbles(x[:, 6:], 16) | _fifth_bits(x[:, 2:6])
    return _half(x, 0) * (q.astype("f4") - 16)


@decoder("q5_1")
def _(x: Bytes) -> Numbers:
    q = _nibbles(x[:, 8:], 16) | _fifth_bits(x[:, 4:8])
    return _half(x, 0) * q.astype("f4") + _half(x, 2)


@decoder("q8_0")
def _(x: Bytes) -> Numbers:
    return _half(x, 0) * x[:, 2:].view("i1").astype("f4")


def _k(x: Bytes, q: Bytes) -> Numbers:
    """Integers of 4 or 5 bits in 8 parts, each with a scale and a least value of 6 bits."""

    import numpy as np

    d, m, both = x[:, 4:8], x[:, 8:12], x[:, 12:16]
    scales = np.concatenate([d & 63, (both & 15) | ((d >> 2) & 48)], 1).astype("f4")
    least = np.concatenate([m & 63, (both >> 4) | ((m >> 2) & 48)], 1).astype("f4")
    parts = q.reshape(len(x), 8, 32).astype("f4")
    of_parts = (_half(x, 0) * scales)[:, :, None] * parts - (_half(x, 2) * least)[:, :, None]
    return of_parts.reshape(len(x), 256)


@decoder("q4_k")
def _(x: Bytes) -> Numbers:
    return _k(x, _nibbles(x[:, 16:], 32))


@decoder("q5_k")
def _(x: Bytes) -> Numbers:
    import numpy as np

    fifth = np.unpackbits(x[:, None, 16:48], axis=1, bitorder="little").reshape(len(x), 256)
    return _k(x, _nibbles(x[:, 48:], 32) | fifth << 4)


@decoder("q6_k")
def _(x: Bytes) -> Numbers:
    import numpy as np

    high = x[:, 128:192].reshape(len(x), 2, 1, 32)
    high = np.concatenate([(high >> shift) & 3 for shift in (0, 2, 4, 6)], 2).reshape(len(x), 256)
    q = (_nibbles(x[:, :128], 64) | high << 4).astype("f4") - 32
    scales = _half(x, 208) * x[:, 192:208].view("i1").astype("f4")
    return (scales[:, :, None] * q.reshape(len(x), 16, 16)).reshape(len(x), 256)


def decode_numpy(form: str, words: Any, first: int, count: int) -> Numbers:
    """Decode elements of an array of words, from a multiple of a block on. -> float32 [count]"""

    import numpy as np

    dtype = FORMATS[form]
    raw = np.ascontiguousarray(words).view(np.uint8)
    begin, blocks = first // dtype.elements, count // dtype.elements
    raw = raw[begin * dtype.size : (begin + blocks) * dtype.size]
    return DECODERS[form](raw.reshape(blocks, dtype.size)).reshape(count)


def _decoded_shape(words: Shape, form: str, first: int, shape: Shape) -> Shape:
    dtype, count = FORMATS[form], first + prod(shape)
    if shape[-1] % dtype.elements or first % dtype.elements:
        raise ValueError(f"rows of {shape[-1]} elements are no multiple of a block of {dtype.elements}")
    if len(words) != 1 or words[0] < dtype.words_of(count):
        raise ValueError(f"{count:,} elements need {dtype.words_of(count):,} words: got {list(words)}")
    return shape


def _decoded_dtype(words: dt.DType, **_: Any) -> dt.DType:
    if words is not dt.uint32:
        raise TypeError(TAKES_WORDS)
    return dt.float32


def _reference(xp: Any, words: Any, form: str, first: int, shape: Shape) -> Any:
    host = words if xp.is_numpy else xp.to_host(words)
    if host.dtype.itemsize != 4:  # a library without uint32 holds its values in int64
        host = host.astype("uint32")
    numbers = decode_numpy(form, host, first, prod(shape)).reshape(shape)
    return numbers if xp.is_numpy else xp.from_host(numbers)


class BlockDecoding(Family):
    @kernel(
        "decode", shape=_decoded_shape, dtype=_decoded_dtype, xp=_reference, dtypes="u", refusal=TAKES_WORDS
    )
    def _decode_blocks(self: Any, form: str, shape: Shape, first: int = 0) -> Prepared:
        """The float32 numbers of blocks, from element `first` on. uint32 [words] -> shape

        form: a name of core/block_formats.FORMATS.
        """
        return (self,), {"form": form, "first": first, "shape": tuple(shape)}
