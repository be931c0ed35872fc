"""Converts a file's bytes to tensors: 64-bit floats narrowed, bools widened, strides as views."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf, isfinite, prod
from typing import Any

from ..core import dtype as dt
from ..core.shape import contiguous_strides
from ..device import DeviceLike, get_device
from ..errors import FlambeauError
from ..runtime.exchange import leaf
from ..tensor import Tensor

SIZE = 1 << 31  # an exclusive limit of each size of a tensor
RANK = 64  # dims of a tensor, at most
PIECE = 1 << 16  # elements converted at a time
WIDE = {dt.float64: dt.float32, dt.complex128: dt.complex64}  # dtypes that GPUs lack: the dtype to use there


class DamagedFile(ValueError):
    """The fault of a file and its position; the function that opened the file adds its name."""


class RefusedFile(DamagedFile):
    """A file's content is unsupported; the text says what to do."""


@dataclass(frozen=True)
class ElementKind:
    """The element format in files: that of a dtype, except that bools take a byte, and 8-bit floats without
    a dtype become float16."""

    dtype: dt.DType
    size: int
    float8: str = ""


KINDS = {d.name: ElementKind(d, 1 if d is dt.bool_ else d.itemsize) for d in (*dt.ALL, *dt.STORAGE.values())}
# 8-bit floats that no dtype has: bits of the exponent, and its bias
FLOAT8 = {"float8_e4m3fnuz": (4, 8), "float8_e5m2fnuz": (5, 16)}
KINDS.update({name: ElementKind(dt.float16, 1, name) for name in FLOAT8})


@dataclass(frozen=True)
class LoadOptions:
    """The device of loaded tensors, whether 64-bit floats stay on the host if the device lacks them, and
    whether matrices of quantised blocks are returned as BlockWeights."""

    device: Any
    keep_wide: bool = False
    keep_quantized: bool = False

    @classmethod
    def of(
        cls, device: DeviceLike | None, keep_wide: bool = False, keep_quantized: bool = False
    ) -> "LoadOptions":
        return cls(get_device(device), keep_wide, keep_quantized)


def check_shape(name: str, shape: Sequence[int]) -> None:
    """Raise DamagedFile for invalid sizes."""
    if len(shape) > RANK or not all(type(n) is int and 0 <= n < SIZE for n in shape):
        raise DamagedFile(f"the shape of {shorten_name(name)} is not a list of at most {RANK} sizes")


def shorten_name(name: Any) -> str:
    """Truncate a name for errors, since a name in a file may have any length."""
    text = name if isinstance(name, str) else str(name)
    return repr(text if len(text) <= 100 else f"{text[:100]}...")


def tensor_of(
    name: str, raw: memoryview, shape: tuple[int, ...], kind: ElementKind, place: LoadOptions
) -> Tensor:
    """Return a tensor of contiguous elements; FlambeauError if one does not fit the device's dtype."""
    return Tensor(leaf(*_leaf_arguments(name, raw, shape, kind, place)))


def _leaf_arguments(
    name: str, raw: memoryview, shape: tuple[int, ...], kind: ElementKind, place: LoadOptions
) -> tuple[Any, ...]:
    """Return the arguments of `leaf`: bytes in the device's format, shape, dtype, device."""
    dtype, device = kind.dtype, place.device
    if kind.float8:
        return halves(raw, kind.float8), shape, dtype, device
    if dtype is dt.bool_:
        return _words(raw), shape, dtype, device
    if dtype.on_gpu or device.kind == "cpu":
        return raw, shape, dtype, device
    if place.keep_wide:
        return raw, shape, dtype, get_device("cpu")
    return _narrow(name, raw, dtype), shape, WIDE[dtype], device


def _words(raw: memoryview) -> "array[int]":
    """Convert bool bytes, 0 or not, to words of 0 and 1."""
    # words: WGSL has no bools in buffers
    out = array("I")
    for start in range(0, len(raw), PIECE):
        out.extend([int(b != 0) for b in raw[start : start + PIECE]])
    return out


def _narrow(name: str, raw: memoryview, dtype: dt.DType) -> "array[float]":
    """Convert 64-bit floats to 32-bit ones; FlambeauError if a finite one becomes infinite."""
    out, wide, per = array("f"), raw.cast("d"), dtype.itemsize // 8
    for start in range(0, len(wide), PIECE):
        part = wide[start : start + PIECE]
        piece = array("f", part)
        # `in` searches in C. The slow loop over elements runs only if one became infinite.
        if inf in piece or -inf in piece:
            pairs = enumerate(zip(part, piece, strict=True), start)
            for i in (i for i, (a, b) in pairs if isfinite(a) and not isfinite(b)):
                rule = (
                    f"element {i // per} of {shorten_name(name)} is {wide[i]:g}, out of range for"
                    " float32, the widest float of GPUs"
                )
                raise FlambeauError(f"{rule}: load to device='cpu', or with keep_wide=True")
        out.extend(piece)
    return out


def halves(raw: memoryview, name: str) -> bytearray:
    """Convert 8-bit floats to float16 of equal value; tables give the low and the high bytes."""
    # bytes.translate converts 256 codes by table at memory speed, without NumPy.
    low, high = _tables(name)
    out = bytearray(2 * len(raw))
    nibbles = bytes(raw)
    out[::2], out[1::2] = nibbles.translate(low), nibbles.translate(high)
    return out


@cache
def _tables(name: str) -> tuple[bytes, bytes]:
    values = array("H", memoryview(b"".join(_half(code, *FLOAT8[name]) for code in range(256))).cast("H"))
    return bytes(v & 255 for v in values), bytes(v >> 8 for v in values)


def _half(code: int, exponents: int, bias: int) -> bytes:
    """Return the bytes of the float16 of an 8-bit float (sign, exponent, mantissa)."""
    from struct import pack

    mantissas = 7 - exponents
    sign, rest = code >> 7, code & 127
    exponent, mantissa = rest >> mantissas, rest & ((1 << mantissas) - 1)
    if code == 128:  # -0 is NaN
        return pack("<H", 0xFE00)
    # Exponent 0 is subnormal: no implicit one, and the scale of exponent 1.
    value = (mantissa + ((exponent > 0) << mantissas)) * 2.0 ** (max(exponent, 1) - bias - mantissas)
    return pack("<e", -value if sign else value)


def strided_view(base: Tensor, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Tensor:
    """Return a strided view of a flat tensor. Contiguous, permuted and expanded views are movement ops, which
    copy nothing."""
    # Repeated elements (stride 0) are expanded at the end.
    once = tuple(1 if s == 0 else n for n, s in zip(size, stride, strict=True))
    # Dims by falling stride: if they are contiguous in this order, a reshape and a permute suffice.
    order = sorted(range(len(once)), key=lambda d: (once[d] == 1, -stride[d]))
    packed = [n for n in (once[d] for d in order)]
    steps = contiguous_strides(tuple(packed))
    if all(n == 1 or stride[d] == s for d, n, s in zip(order, packed, steps, strict=True)):
        flat = base if offset == 0 and prod(packed) == len(base) else base.narrow(0, offset, prod(packed))
        back = [order.index(d) for d in range(len(order))]
        arranged = flat.reshape(packed)
        arranged = arranged if back == sorted(back) else arranged.permute(*back)
    else:
        # Overlapping or sparse strides need a gather.
        steps = tuple(s if n > 1 else 0 for n, s in zip(once, stride, strict=True))
        arranged = base.as_strided(once, steps, offset)
    return arranged if once == size else arranged.expand(*size)


def span(size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> int:
    """Return the number of elements of a storage, from its start, that a view needs."""
    if 0 in size:
        return 0
    return offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))


def pieces(view: memoryview, size: int = 1 << 24) -> Iterator[memoryview]:
    """Split a view into parts of at most this many bytes."""
    for start in range(0, len(view), size):
        yield view[start : start + size]
