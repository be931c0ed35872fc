"""Casts; dtypes that no device has are cast by NumPy, on the host."""

from typing import Any

from ...core.dtype import DTYPES
from ...tensor import Tensor
from ..convert import numpy_dtype
from ..graph import DTYPES as NAMES
from ..values import cast, cpu, dtype_name, to_array, to_value
from .table import operator


@operator("Cast", arrays=True)
def cast_to(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    name = dtype_name_of(to)
    if isinstance(x, Tensor) and name in DTYPES:
        return cast(x, name)
    return to_value(convert(to_array(x), name, bool(saturate), round_mode), place(x))


@operator("CastLike", arrays=True)
def cast_like(x: Any, like: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    code = next(code for code, name in NAMES.items() if name == dtype_name(like))
    return cast_to(x, to=code, saturate=saturate, round_mode=round_mode)


@operator("BitCast", arrays=True)
def bit_cast(x: Any, *, to: int) -> Any:
    """Reinterpret the bits as another dtype of the same size."""
    array, target = to_array(x), numpy_dtype(dtype_name_of(to))
    if array.dtype == object or array.dtype.itemsize != target.itemsize:
        raise ValueError(f"{dtype_name(x)} to {dtype_name_of(to)}: the dtypes differ in size")
    return to_value(array.copy().view(target), place(x))


def dtype_name_of(code: Any) -> str:
    """Return the name of a DataType; opset 1 to 5 store it as a string."""
    if isinstance(code, str):
        code = next((c for c, name in NAMES.items() if name == ALIASES.get(code, code.lower())), code)
    if code not in NAMES:
        raise ValueError(f"to={code!r}: unknown dtype: valid values are 1 to {max(NAMES)}")
    return NAMES[code]


ALIASES = {"FLOAT": "float32", "DOUBLE": "float64"}


def place(x: Any) -> Any:
    """Return the device for the result of a cast: the host for an array, else the value's."""
    return x.device if isinstance(x, Tensor) else cpu()


def convert(x: Any, name: str, saturate: bool, round_mode: str) -> Any:
    """Cast an array to a dtype by name."""
    import numpy as np

    target = numpy_dtype(name)
    if x.dtype == object:
        return parse_numbers(x, name, target)
    if name == "string":
        return np.array([text(v) for v in x.reshape(-1)], object).reshape(x.shape)
    with np.errstate(all="ignore"):
        if name == "float8_e8m0fnu":
            return power_of_two(x.astype(np.float32), saturate, round_mode)
        if name.startswith("float8") and saturate:
            return saturate_float8(x, name, target)
        if name in ("int4", "uint4", "int2", "uint2"):
            # floats are truncated to int32; int8 is the storage type of ml_dtypes' small integers
            return x.astype(np.int32).astype(np.int8).astype(target)
        if x.dtype.kind == "V" and target.kind in "iub":  # ml_dtypes
            return x.astype(np.float32).astype(target)
        return x.astype(target)


def text(value: Any) -> str:
    """Return the text of a number in ONNX: the shortest that round-trips."""
    import numpy as np

    if isinstance(value, np.bool_):
        return "True" if value else "False"
    return str(value)


def parse_numbers(x: Any, name: str, wanted: Any) -> Any:
    """Parse texts as numbers."""
    import numpy as np

    flat = [str(v) for v in x.reshape(-1)]
    if name == "string":
        return x
    if wanted.kind in "iu":
        return np.array([int(v) for v in flat], np.int64).astype(wanted).reshape(x.shape)
    if wanted.kind == "b":
        return np.array([bool(v) for v in flat]).reshape(x.shape)
    return (
        np.array([float(v) for v in flat])
        .astype(np.float64 if name == "float64" else np.float32)
        .astype(wanted)
        .reshape(x.shape)
    )


def saturate_float8(x: Any, name: str, wanted: Any) -> Any:
    """Cast to 8-bit floats with saturation."""
    import ml_dtypes
    import numpy as np

    # saturate=1: values beyond the range, infinity too, become the largest; NaN stays.
    finfo: Any = ml_dtypes.finfo
    most: Any = np.float32(finfo(wanted).max)
    wide = x.astype(np.float32)
    where: Any = np.where
    return where(np.isnan(wide), wide, np.clip(wide, -most, most)).astype(wanted)


def power_of_two(x: Any, saturate: bool, round_mode: str) -> Any:
    """float8_e8m0fnu: a float's exponent, rounded "up", "down" or to the "nearest"."""
    import numpy as np

    # float32: 1 sign, 8 exponent and 23 mantissa bits. The result is the biased exponent; 255 is NaN.
    bits = x.view(np.uint32)
    exponent = (bits >> 23 & 0xFF).astype(np.int32)
    rest = bits & 0x7FFFFF
    # 0x400000 is the half: the nearest power of two rounds up from a mantissa of 1.5 on
    more = {"up": rest > 0, "down": np.zeros_like(rest, bool), "nearest": rest >= 0x400000}[round_mode]
    code = exponent + more
    top = 254 if saturate else 255
    code = np.where(np.isinf(x), top, np.minimum(code, top))
    code = np.where(np.isnan(x), 255, code)
    return code.astype(np.uint8).view(numpy_dtype("float8_e8m0fnu"))
