"""Host data, from Python numbers, lists and arrays to the bytes of a buffer, and back."""

import sys
from array import array
from math import prod
from typing import Any

from . import dtype as dt
from .shape import Shape

BUFFERS = {  # what the element codes of array.array and memoryview mean
    "f": "float32", "d": "float64", "?": "bool", "b": "int8", "B": "uint8", "h": "int16", "H": "uint16",
    "i": "int32", "I": "uint32", "l": "int64", "L": "uint64", "q": "int64", "Q": "uint64",
}  # fmt: skip
SHOWN = 20  # elements, where there is no NumPy to show more in less
RANGES = {"int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1)}


def to_bytes(data: Any, dtype: dt.DType | None) -> tuple[Any, Shape, dt.DType]:
    """Turn data into (buffer, shape, dtype), narrowing 64-bit integers with a range check; never wrapping
    silently."""
    if hasattr(data, "__array__") or type(data).__module__ == "numpy":
        return _from_array(data, dtype)
    if isinstance(data, array | memoryview):
        return _from_buffer(memoryview(data), dtype)
    shape = _shape_of(data)
    flat: list[Any] = []
    _flatten(data, shape, flat)
    return _packed(flat, shape, dtype or _dtype_of(flat))


def _from_buffer(given: memoryview, dtype: dt.DType | None) -> tuple[Any, Shape, dt.DType]:
    """An array.array or memoryview, which is how a browser's typed arrays come."""
    shape = tuple(given.shape or ())
    found = dtype or dt.as_dtype(BUFFERS.get(given.format, f"of format {given.format!r}"))
    if given.format == found.format and found.kind != "b":
        return bytes(given), shape, found  # a copy: its owner may change it before the next run
    flat = given.cast("B").cast(given.format).tolist()  # type: ignore[call-overload]
    return _packed(flat, shape, found)


def _packed(flat: list[Any], shape: Shape, found: dt.DType) -> tuple[Any, Shape, dt.DType]:
    if found.kind == "b":
        return array("I", [int(bool(v)) for v in flat]), shape, found
    if found.is_int:
        flat = [int(v) for v in flat]
        low, high = RANGES[found.name]
        bad = next((v for v in flat if not low <= v <= high), None)
        if bad is not None:
            raise ValueError(f"tensor(...): {bad} does not fit {found.short}, which holds {low} to {high}")
    return array(found.format, flat), shape, found


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
        if not isinstance(data, int | float | bool):
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
    return dt.promote(*{dt.dtype_of_scalar(v) for v in flat}) if flat else dt.float32


def _from_array(data: Any, dtype: dt.DType | None) -> tuple[Any, Shape, dt.DType]:
    import numpy as np

    given = np.asarray(data)
    if given.dtype.kind not in "biuf":
        raise TypeError(
            f"tensor(array of {given.dtype}): only numbers and bools become tensors: convert it first"
        )
    found = dtype or dt.as_dtype(given.dtype)
    if found.name in RANGES and given.size and given.dtype.kind in "iuf":
        low, high = RANGES[found.name]
        if given.dtype.itemsize > 2 and (given.min() < low or given.max() > high):
            raise ValueError(
                f"tensor(array of {given.dtype}): values {given.min()} to {given.max()} do not fit"
                f" {found.short}, which holds {low} to {high}"
            )
    stored = given.astype(bool) if found.kind == "b" else given
    return np.ascontiguousarray(stored, dtype=found.format).reshape(-1), given.shape, found


def to_numpy(raw: Any, shape: Shape, dtype: dt.DType):
    """Turn a buffer's bytes into a NumPy array of that shape and dtype."""
    import numpy as np

    flat = np.frombuffer(raw, dtype=dtype.format)
    return (flat.astype(bool) if dtype.kind == "b" else flat).reshape(shape)


def to_list(raw: Any, shape: Shape, dtype: dt.DType) -> Any:
    """Turn a buffer's bytes into nested lists (a number for shape [])."""
    flat = memoryview(raw).cast("B").cast(dtype.format).tolist()  # type: ignore[call-overload]
    if dtype.kind == "b":
        flat = [bool(v) for v in flat]
    for n in reversed(shape[1:]):
        flat = [flat[i : i + n] for i in range(0, len(flat), n)] if n else [[] for _ in range(0)]
    return flat if shape else flat[0]


class Data:
    """Values on the host: `shape`, `dtype` and their elements one after the other in `flat`, a memoryview.

    `numpy()`, `tolist()` and `item()` as of a tensor; an array to NumPy, a buffer to JavaScript.
    """

    def __init__(self, raw: Any, shape: Shape, dtype: dt.DType):
        self.raw, self.shape, self.dtype = raw, shape, dtype

    @property
    def flat(self) -> memoryview:
        """The elements as the buffer holds them (bool as 0 and 1)."""
        return memoryview(self.raw).cast("B").cast(self.dtype.format)  # type: ignore[call-overload]

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
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    def __repr__(self) -> str:
        return f"Data({self.dtype.short}{list(self.shape)})"


def shown(data: Data) -> str:
    """Values as text: NumPy's where there is NumPy, else nested lists, cut short."""
    try:
        import numpy as np
    except ImportError:
        digits = [f"{v:.5g}" if data.dtype.is_float else str(v) for v in data.flat[:SHOWN]]
        rest = ", ..." if prod(data.shape) > SHOWN else ""
        return f"{data.dtype.short}{list(data.shape)}: {', '.join(digits)}{rest}"
    return np.array2string(data.numpy(), separator=", ", prefix="tensor(", threshold=200)


assert sys.byteorder == "little", "WebGPU's buffers are little-endian"
