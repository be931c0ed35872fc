"""Host data, from Python numbers, lists and arrays to the bytes of a buffer, and back."""

import struct
import sys
from array import array
from math import prod
from typing import Any

from ..errors import TypeError, ValueError
from . import dtype as dt
from .shape import Shape

BUFFERS = {  # what the element codes of array.array and memoryview mean
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


def to_bytes(data: Any, dtype: dt.DType | None) -> tuple[Any, Shape, dt.DType]:
    """Turn data into (buffer, shape, dtype), narrowing 64-bit integers with a range check; never wrapping
    silently."""
    if hasattr(data, "__array__") or type(data).__module__ == "numpy":
        return _from_array(data, dtype)
    if isinstance(data, array | memoryview):
        return _from_buffer(memoryview(data), dtype)
    if isinstance(data, list | tuple) and hasattr(_first(data), "tolist"):
        data = _unwrapped(data)
    shape = _shape_of(data)
    flat: list[Any] = []
    _flatten(data, shape, flat)
    return _packed(flat, shape, dtype or _dtype_of(flat))


# The dtypes of arrays of doubles, where float64 is neither the default nor asked for.
NARROWED = {"float64": "float32", "complex128": "complex64"}


def _default_of(name: str) -> str:
    """The dtype of another library's array of such elements."""
    return name if dt.default_float() is dt.float64 else NARROWED.get(name, name)


def _from_buffer(buffer: memoryview, dtype: dt.DType | None) -> tuple[Any, Shape, dt.DType]:
    """An array.array or memoryview, which is how a browser's typed arrays come."""
    shape = tuple(buffer.shape or ())
    found = BUFFERS.get(buffer.format, f"of format {buffer.format!r}")
    dtype = dtype or dt.settled(dt.as_dtype(_default_of(found)))
    if buffer.format == dtype.format and dtype.kind != "b" and dtype is not dt.bfloat16:
        return bytes(buffer), shape, dtype  # a copy: its owner may change it before the next run
    flat = buffer.cast("B").cast(buffer.format).tolist()  # type: ignore[call-overload]
    return _packed(flat, shape, dtype)


def _packed(flat: list[Any], shape: Shape, dtype: dt.DType) -> tuple[Any, Shape, dt.DType]:
    if dtype.kind == "b":
        return array("I", [int(bool(v)) for v in flat]), shape, dtype
    if dtype.is_complex:
        parts = [p for v in flat for p in (v.real, v.imag)]
        return array(dtype.real.format, parts), shape, dtype
    lost = next((v for v in flat if isinstance(v, complex)), None)
    if lost is not None:
        raise TypeError(f"tensor(...): {lost} is complex, and {dtype.short} is not: use dtype=complex64")
    if dtype.is_packed and dtype.is_float:
        return PACK[dtype](flat), shape, dtype
    if dtype.is_int:
        flat = [int(v) for v in flat]
        low, high = dt.INTS[dtype].min, dt.INTS[dtype].max
        bad = next((v for v in flat if not low <= v <= high), None)
        if bad is not None:
            raise ValueError(f"tensor(...): {bad} does not fit {dtype.short}, which holds {low} to {high}")
    return array(dtype.format, flat), shape, dtype


def _first(data: Any) -> Any:
    while isinstance(data, list | tuple) and data:
        data = data[0]
    return data


def _unwrapped(data: Any) -> Any:
    """Lists of arrays, of NumPy's numbers or of tensors as lists of numbers."""
    if isinstance(data, list | tuple):
        return [_unwrapped(v) for v in data]
    return data.tolist() if hasattr(data, "tolist") else data


def _shape_of(data: Any) -> Shape:
    shape = []
    while isinstance(data, list | tuple | range):
        shape.append(len(data))
        if not len(data):
            break
        data = data[0]
    return tuple(shape)


def _flatten(data: Any, shape: Shape, out: list) -> None:
    if not shape:
        if not isinstance(data, int | float | bool | complex):
            raise TypeError(f"tensor(...): {data!r} is not a number: nest lists of numbers of equal length")
        out.append(data)
        return
    if not isinstance(data, list | tuple | range) or len(data) != shape[0]:
        raise ValueError(
            f"tensor(...): rows differ in length: expected {shape[0]} elements, got {data!r:.40}"
        )
    for row in data:
        _flatten(row, shape[1:], out)


def _dtype_of(flat: list) -> dt.DType:
    return dt.promote(*{dt.dtype_of_scalar(v) for v in flat}) if flat else dt.default_float()


def _half(value: float) -> bytes:
    """A float16's two bytes; beyond its range it is infinite."""
    try:
        return struct.pack("<e", value)
    except OverflowError:
        return struct.pack("<e", float("inf") if value > 0 else float("-inf"))


def _upper_half(bits: int) -> int:
    """A float32's bits rounded to a bfloat16's, halves to even; NaN stays NaN."""
    if bits & 0x7FFFFFFF > 0x7F800000:
        return bits >> 16 | 0x40
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


PACK = {  # a list of numbers -> bytes, for what the array module has no type of
    dt.float16: lambda flat: b"".join(map(_half, flat)),
    dt.bfloat16: lambda flat: array(
        "H", [_upper_half(b) for b in memoryview(array("f", flat)).cast("B").cast("I")]
    ),
}


# --- NumPy
# ---------------------------------------------------------------------------------------------------------


def _from_array(data: Any, dtype: dt.DType | None) -> tuple[Any, Shape, dt.DType]:
    import numpy as np

    values = np.asarray(data)
    dtype = dtype or dt.settled(dt.as_dtype(_default_of(values.dtype.name)))
    if values.dtype.name == "bfloat16":  # an extension's (ml_dtypes): the upper halves of float32s
        values = from_raw(np.ascontiguousarray(values).view("u2"), dt.bfloat16).reshape(values.shape)
    if values.dtype.kind == "c" and not dtype.is_complex:
        rule = f"{dtype.short} holds no complex numbers: give .real or .imag of it, or dtype=complex64"
        raise TypeError(f"tensor(array of {values.dtype}): {rule}")
    if values.dtype.kind not in "biufc":
        raise TypeError(
            f"tensor(array of {values.dtype}): only numbers and bools become tensors: convert it first"
        )
    if dtype.is_int and values.size and values.dtype.kind in "iuf":
        low, high = dt.INTS[dtype].min, dt.INTS[dtype].max
        if not np.can_cast(values.dtype, dtype.numpy) and (values.min() < low or values.max() > high):
            raise ValueError(
                f"tensor(array of {values.dtype}): values {values.min()} to {values.max()} do not fit"
                f" {dtype.short}, which holds {low} to {high}"
            )
    return to_raw(values, dtype).reshape(-1), values.shape, dtype


def to_raw(given: Any, dtype: dt.DType) -> Any:
    """A NumPy array's values as they lie in a buffer: a contiguous array of the stored element's type."""
    import numpy as np

    if dtype.kind == "b":
        given = given.astype(bool)
    with np.errstate(over="ignore"):  # beyond the range of a float is infinite
        if dtype is dt.bfloat16:
            return upper_halves(np.ascontiguousarray(given, "f4"))
        stored = np.ascontiguousarray(given, dtype=dtype.format)
    return stored.view("u2") if dtype is dt.float16 else stored  # memoryviews know no halves


def upper_halves(x: Any) -> Any:
    """float32s rounded to bfloat16s, as uint16s. [...] -> [...]"""
    import numpy as np

    bits = x.view("u4")
    rounded = bits + 0x7FFF + (bits >> 16 & 1) >> 16
    return np.where(np.isnan(x), bits >> 16 | 0x40, rounded).astype("u2")


def from_raw(raw: Any, dtype: dt.DType) -> Any:
    """A buffer's bytes as a flat NumPy array of values."""
    import numpy as np

    flat = np.frombuffer(raw, dtype=dtype.format)
    if dtype is dt.bfloat16:
        return (flat.astype("u4") << 16).view("f4")
    return flat.astype(bool) if dtype.kind == "b" else flat


def to_numpy(raw: Any, shape: Shape, dtype: dt.DType):
    """Turn a buffer's bytes into a NumPy array of that shape and dtype (float32 for bfloat16)."""
    return from_raw(raw, dtype).reshape(shape)


def flat_view(raw: Any, dtype: dt.DType) -> Any:
    """A buffer's elements one after the other, bools as 0 and 1; 16-bit floats, which memoryviews do not
    know, as float32; of complex numbers the parts in turn."""
    view = memoryview(raw).cast("B")
    if dtype.is_complex:
        return view.cast(dtype.real.format)  # type: ignore[call-overload]
    if dtype is dt.float16:
        return memoryview(array("f", struct.unpack(f"<{len(view) // 2}e", view)))
    if dtype is dt.bfloat16:
        return memoryview(array("I", [v << 16 for v in view.cast("H")])).cast("B").cast("f")
    return view.cast(dtype.format)  # type: ignore[call-overload]


def numbers(raw: Any, dtype: dt.DType) -> list[Any]:
    """A buffer's elements as Python's numbers."""
    flat: list[Any] = flat_view(raw, dtype).tolist()
    if dtype.is_complex:
        return [complex(a, b) for a, b in zip(flat[::2], flat[1::2], strict=True)]
    return [bool(v) for v in flat] if dtype.kind == "b" else flat


def to_list(raw: Any, shape: Shape, dtype: dt.DType) -> Any:
    """Turn a buffer's bytes into nested lists (a number for shape [])."""
    if 0 in shape:
        return _no_numbers(shape)
    flat = numbers(raw, dtype)
    for n in reversed(shape[1:]):
        flat = [flat[i : i + n] for i in range(0, len(flat), n)]
    return flat if shape else flat[0]


def _no_numbers(shape: Shape) -> list:
    """Nested lists of a shape that has no elements: [[], []] for [2, 0]."""
    return [_no_numbers(shape[1:]) for _ in range(shape[0])]


class Data:
    """Values on the host: `shape`, `dtype` and their elements one after the other in `flat`, a memoryview.

    `numpy()`, `tolist()` and `item()` as of a tensor; an array to NumPy, a buffer to JavaScript.
    """

    def __init__(self, raw: Any, shape: Shape, dtype: dt.DType):
        self.raw, self.shape, self.dtype = raw, shape, dtype

    @property
    def flat(self) -> memoryview:
        """The elements as the buffer holds them (bool as 0 and 1, 16-bit floats as float32)."""
        return flat_view(self.raw, self.dtype)

    def numpy(self):
        """A NumPy array of the shape and dtype."""
        return to_numpy(self.raw, self.shape, self.dtype)

    def tolist(self) -> Any:
        """Nested lists, a number for shape []."""
        return to_list(self.raw, self.shape, self.dtype)

    def item(self) -> Any:
        """The only element, as a Python number."""
        if prod(self.shape) != 1:
            raise ValueError(f"item(): has {prod(self.shape)} elements, not 1: use .tolist() or .numpy()")
        return to_list(self.raw, (), self.dtype)

    def __array__(self, dtype=None, copy=None):
        values = self.numpy()
        return values if dtype is None else values.astype(dtype)

    def __repr__(self) -> str:
        return f"Data({self.dtype.short}{list(self.shape)})"


assert sys.byteorder == "little", "WebGPU's buffers are little-endian"
