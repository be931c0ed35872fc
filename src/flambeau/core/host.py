"""Host data: convert Python numbers, lists and arrays to the bytes of a buffer, and back."""

import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, TypeGuard

from ..errors import TypeError, ValueError
from . import dtype as dt
from . import float8
from .shape import Shape
from .tree import is_sequence

BUFFERS = {  # element code of array.array and memoryview -> name of the dtype
    "f": "float32",
    "d": "float64",
    "?": "bool",
    "b": "int8",
    "B": "uint8",
    "h": "int16",
    "H": "uint16",
    "i": "int32",
    "I": "uint32",
    "l": "int64",
    "L": "uint64",
    "q": "int64",
    "Q": "uint64",
}


class Doubles:
    """Whether arrays of float64 and complex128 keep their dtype on a device that has it: in torch mode."""

    are_kept = False


def to_bytes(data: Any, dtype: dt.DType | None, keeps_doubles: bool = False) -> tuple[Any, Shape, dt.DType]:
    """Convert data to (buffer, shape, dtype). Integers are range-checked and never wrap silently.
    keeps_doubles: arrays of float64 and complex128 keep their dtype."""
    # NumPy is imported only if the data needs it: its import is a large part of the start.
    if hasattr(data, "__array__") or type(data).__module__ == "numpy":
        return _from_array(data, dtype, keeps_doubles)
    if isinstance(data, array | memoryview):
        return _from_buffer(data, dtype, keeps_doubles)
    if is_sequence(data) and hasattr(_first_number(data), "tolist"):
        data = _unwrap(data)
    shape = _shape_of(data)
    flat: list[Any] = []
    _flatten(data, shape, flat)
    return _pack(flat, shape, dtype or _dtype_of(flat))


# The dtypes of arrays of doubles, unless float64 is the default or asked for.
NARROWED = {"float64": "float32", "complex128": "complex64"}


def _default_of(name: str, keeps_doubles: bool) -> str:
    """The default dtype of tensors made of an array of such elements."""
    return name if keeps_doubles or dt.default_float() is dt.float64 else NARROWED.get(name, name)


def _from_buffer(data: Any, dtype: dt.DType | None, keeps_doubles: bool) -> tuple[Any, Shape, dt.DType]:
    """Convert an array.array or memoryview; a browser's typed arrays arrive as these."""
    buffer = memoryview(data)
    shape = tuple(buffer.shape or ())
    name = BUFFERS.get(buffer.format, f"of format {buffer.format!r}")
    dtype = dtype or dt.host_dtype(dt.as_dtype(_default_of(name, keeps_doubles)))
    if buffer.format == dtype.format and dtype.kind != "b" and dtype.numpy == dtype.name:
        return bytes(buffer), shape, dtype  # a copy: the owner may change it before the next run
    return _pack(_cast_view(buffer.cast("B"), buffer.format).tolist(), shape, dtype)


def _cast_view(view: memoryview, code: str) -> Any:
    """`view.cast(code)` with a code that a type checker does not know."""
    cast: Any = view.cast
    return cast(code)


def _pack(flat: list[Any], shape: Shape, dtype: dt.DType) -> tuple[Any, Shape, dt.DType]:
    if dtype.kind == "b":
        return array("I", [int(bool(v)) for v in flat]), shape, dtype
    if dtype.is_complex:
        # A complex element is stored as two floats, the real part first.
        parts = [p for v in flat for p in (v.real, v.imag)]
        return array(dtype.real.format, parts), shape, dtype
    lost = next((v for v in flat if isinstance(v, complex)), None)
    if lost is not None:
        raise TypeError(f"tensor(...): {lost} is complex, and {dtype.short} is not: use dtype=complex64")
    if dtype.is_packed and dtype.is_float:
        return PACK[dtype](flat), shape, dtype
    if dtype.is_int:
        low, high = dt.INTS[dtype].min, dt.INTS[dtype].max
        if low == 0 and dtype.itemsize < 8:  # negative integers wrap, as in PyTorch; floats don't
            flat = [v + high + 1 if isinstance(v, int) and -high <= v < 0 else int(v) for v in flat]
        else:
            flat = [int(v) for v in flat]
        bad = next((v for v in flat if not low <= v <= high), None)
        if bad is not None:
            raise ValueError(f"tensor(...): {bad} does not fit {dtype.short}, which holds {low} to {high}")
    return array(dtype.format, flat), shape, dtype


def _first_number(data: Any) -> Any:
    while is_sequence(data) and data:
        data = data[0]
    return data


def _unwrap(data: Any) -> Any:
    """Convert lists of arrays, of NumPy's numbers or of tensors to lists of numbers."""
    if is_sequence(data):
        return [_unwrap(v) for v in data]
    return data.tolist() if hasattr(data, "tolist") else data


def _is_nested(data: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(data, list | tuple | range)


def _shape_of(data: Any) -> Shape:
    shape: list[int] = []
    while _is_nested(data):
        shape.append(len(data))
        if not len(data):
            break
        data = data[0]
    return tuple(shape)


def _flatten(data: Any, shape: Shape, out: list[Any]) -> None:
    if not shape:
        if not isinstance(data, int | float | bool | complex):
            raise TypeError(f"tensor(...): {data!r} is not a number: nest lists of numbers of equal length")
        out.append(data)
        return
    if not _is_nested(data) or len(data) != shape[0]:
        raise ValueError(
            f"tensor(...): rows differ in length: expected {shape[0]} elements, got {data!r:.40}"
        )
    for row in data:
        _flatten(row, shape[1:], out)


def _dtype_of(flat: list[Any]) -> dt.DType:
    return dt.promote(*{dt.dtype_of_scalar(v) for v in flat}) if flat else dt.default_float()


def _half(value: float) -> bytes:
    """The two bytes of a float16; values beyond its range become infinite."""
    try:
        return struct.pack("<e", value)
    except OverflowError:
        return struct.pack("<e", float("inf") if value > 0 else float("-inf"))


def _upper_half(bits: int) -> int:
    """The bits of a float32 rounded to a bfloat16, half to even; NaN stays NaN."""
    # Rounding would carry a NaN with a small payload into infinity, so the quiet bit is set instead.
    if bits & 0x7FFFFFFF > 0x7F800000:
        return bits >> 16 | 0x40
    # Half to even: adding 0x7FFF, or 0x8000 if the kept part is odd, carries if the rest is above a half.
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


def _bits(floats: "array[float]") -> memoryview:
    return memoryview(floats).cast("B").cast("I")


def _pack_codes(flat: list[float], dtype: dt.DType) -> bytes:
    floats = array("f", flat)
    return bytes(float8.code_of(*pair, dtype) for pair in zip(_bits(floats), floats, strict=True))


# dtype -> function from numbers to the bytes of a buffer, for dtypes that the array module lacks
PACK: dict[dt.DType, Callable[[list[float]], Any]] = {
    dt.float16: lambda flat: b"".join(map(_half, flat)),
    dt.bfloat16: lambda flat: array("H", [_upper_half(b) for b in _bits(array("f", flat))]),
    **{d: partial(_pack_codes, dtype=d) for d in float8.FORMS},
}


# --- NumPy
# ---------------------------------------------------------------------------------------------------------


def _from_array(data: Any, dtype: dt.DType | None, keeps_doubles: bool) -> tuple[Any, Shape, dt.DType]:
    import numpy as np

    values = np.asarray(data)
    dtype = dtype or dt.host_dtype(dt.as_dtype(_default_of(values.dtype.name, keeps_doubles)))
    if values.dtype.name == "bfloat16":  # bfloat16 of the package ml_dtypes: the upper halves of float32s
        values = from_raw(np.ascontiguousarray(values).view("u2"), dt.bfloat16).reshape(values.shape)
    elif values.dtype.name in dt.STORAGE:  # of ml_dtypes too
        values = float8.values_of(values.view("u1"), dt.STORAGE[values.dtype.name])
    if values.dtype.kind == "c" and not dtype.is_complex:
        rule = f"{dtype.short} can't hold complex numbers: pass .real or .imag, or dtype=complex64"
        raise TypeError(f"tensor(array of {values.dtype}): {rule}")
    if values.dtype.kind not in "biufc":
        raise TypeError(
            f"tensor(array of {values.dtype}): only numbers and bools become tensors: convert it first"
        )
    if dtype.is_int and values.size and values.dtype.kind in "iuf":
        low, high = dt.INTS[dtype].min, dt.INTS[dtype].max
        # Two passes over the values, only for casts that can lose range.
        if not np.can_cast(values.dtype, dtype.numpy) and (values.min() < low or values.max() > high):
            raise ValueError(
                f"tensor(array of {values.dtype}): values {values.min()} to {values.max()} do not fit"
                f" {dtype.short}, which holds {low} to {high}"
            )
    return to_raw(values, dtype).reshape(-1), values.shape, dtype


def to_raw(values: Any, dtype: dt.DType) -> Any:
    """A NumPy array's values as a buffer holds them: a contiguous array of the stored element's type."""
    import numpy as np

    if dtype.kind == "b":
        values = values.astype(bool)
    with np.errstate(over="ignore"):  # values beyond the range of a float become infinite
        if dtype is dt.bfloat16:
            return upper_halves(np.ascontiguousarray(values, "f4"))
        if dtype.is_storage:
            return float8.codes_of(np.ascontiguousarray(values, "f4"), dtype)
        stored = np.ascontiguousarray(values, dtype=dtype.format)
    return stored.view("u2") if dtype is dt.float16 else stored  # memoryview has no float16 format


def upper_halves(x: Any) -> Any:
    """float32s rounded to bfloat16s, as uint16s. [...] -> [...]"""
    import numpy as np

    bits = x.view("u4")
    rounded = bits + 0x7FFF + (bits >> 16 & 1) >> 16
    where: Any = np.where
    return where(np.isnan(x), bits >> 16 | 0x40, rounded).astype("u2")


def from_raw(raw: Any, dtype: dt.DType) -> Any:
    """Convert a buffer's bytes to a flat NumPy array of values."""
    import numpy as np

    flat = np.frombuffer(raw, dtype=dtype.format)
    if dtype is dt.bfloat16:
        return (flat.astype("u4") << 16).view("f4")
    if dtype.is_storage:
        return float8.values_of(flat, dtype)
    return flat.astype(bool) if dtype.kind == "b" else flat


def to_numpy(raw: Any, shape: Shape, dtype: dt.DType) -> Any:
    """Convert a buffer's bytes to a NumPy array of that shape and dtype (float32 for bfloat16 and
    8-bit floats)."""
    return from_raw(raw, dtype).reshape(shape)


def flat_view(raw: Any, dtype: dt.DType) -> Any:
    """A flat memoryview of a buffer's elements: bools are 0 and 1, 8- and 16-bit floats (which memoryview
    lacks) float32, complex numbers pairs of parts."""
    view = memoryview(raw).cast("B")
    if dtype.is_complex:
        return _cast_view(view, dtype.real.format)
    if dtype is dt.float16:
        return memoryview(array("f", struct.unpack(f"<{len(view) // 2}e", view)))
    if dtype is dt.bfloat16:
        return memoryview(array("I", [v << 16 for v in view.cast("H")])).cast("B").cast("f")
    if dtype.is_storage:
        table = float8.values(dtype)
        return memoryview(array("f", [table[code] for code in view]))
    return _cast_view(view, dtype.format)


def numbers(raw: Any, dtype: dt.DType) -> list[Any]:
    """Convert a buffer's elements to Python numbers."""
    flat: list[Any] = flat_view(raw, dtype).tolist()
    if dtype.is_complex:
        return [complex(a, b) for a, b in zip(flat[::2], flat[1::2], strict=True)]
    return [bool(v) for v in flat] if dtype.kind == "b" else flat


def to_list(raw: Any, shape: Shape, dtype: dt.DType) -> Any:
    """Convert a buffer's bytes to nested lists (a number for shape [])."""
    if 0 in shape:
        return _empty_lists(shape)
    flat = numbers(raw, dtype)
    for n in reversed(shape[1:]):
        flat = [flat[i : i + n] for i in range(0, len(flat), n)]
    return flat if shape else flat[0]


def _empty_lists(shape: Shape) -> list[Any]:
    """Nested lists for a shape without elements: [[], []] for [2, 0]."""
    return [_empty_lists(shape[1:]) for _ in range(shape[0])]


class Data:
    """Values on the host: `shape`, `dtype` and their elements in `flat`, a memoryview.

    It has a tensor's `numpy()`, `tolist()` and `item()`. NumPy takes it as an array, JavaScript as a buffer.
    """

    def __init__(self, raw: Any, shape: Shape, dtype: dt.DType):
        self.raw, self.shape, self.dtype = raw, shape, dtype

    @property
    def flat(self) -> memoryview:
        """The elements as the buffer holds them (bool as 0 and 1, 16-bit floats as float32)."""
        return flat_view(self.raw, self.dtype)

    def numpy(self) -> Any:
        """The values as a NumPy array."""
        return to_numpy(self.raw, self.shape, self.dtype)

    def tolist(self) -> Any:
        """The values as nested lists; a number for shape []."""
        return to_list(self.raw, self.shape, self.dtype)

    def item(self) -> Any:
        """The only element, as a Python number."""
        if prod(self.shape) != 1:
            raise ValueError(f"item(): has {prod(self.shape)} elements, not 1: use .tolist() or .numpy()")
        return to_list(self.raw, (), self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        values = self.numpy()
        return values if dtype is None else values.astype(dtype)

    def __repr__(self) -> str:
        return f"Data({self.dtype.short}{list(self.shape)})"


assert sys.byteorder == "little", "WebGPU's buffers are little-endian"
