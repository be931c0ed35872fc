"""The dtype and device functions of the array API standard."""

from typing import Any

from ..core import dtype as dt
from ..core.dtype import DTypeLike
from ..core.tree import is_tuple
from ..device import DeviceLike, get_device
from ..errors import ValueError
from ..tensor import Tensor

KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = ("bool", *INTEGERS, "float32", "float64", "complex64", "complex128")
SCALARS = (bool, int, float, complex)  # by category


def astype(x: Tensor, dtype: DTypeLike, /, *, copy: bool = True, device: DeviceLike | None = None) -> Tensor:
    """Cast x to another dtype. Returns x itself if nothing changes and copy=False."""
    return x.to(device, dt.as_dtype(dtype), copy=copy)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether promoting a dtype (or an array's) with `to` gives `to`."""
    # the standard allows exactly the casts that promotion makes
    return promote(_dtype_of(from_), dt.as_dtype(to)) is dt.as_dtype(to)


def finfo(type: Any, /) -> Any:
    """eps, max, min, bits and smallest_normal of a float dtype, or of an array's."""
    return dt.finfo(_dtype_of(type))


def iinfo(type: Any, /) -> Any:
    """bits, max and min of an integer dtype, or of an array's."""
    return dt.iinfo(_dtype_of(type))


def isdtype(dtype: DTypeLike, kind: Any) -> bool:
    """Whether a dtype belongs to a kind ("real floating", ...), equals another, or matches one of a
    tuple. ValueError for an unknown kind."""
    if is_tuple(kind):
        return any(isdtype(dtype, k) for k in kind)
    if not isinstance(kind, str):
        return dt.as_dtype(dtype) is dt.as_dtype(kind)
    if kind not in KINDS:
        raise ValueError(f"isdtype({dtype}, {kind!r}): unknown kind: use one of {', '.join(KINDS)}")
    return dt.as_dtype(dtype).kind in KINDS[kind]


def result_type(*arrays_and_dtypes: Any) -> Any:
    """Return the result dtype of an operation on arrays, dtypes and Python numbers. ValueError for numbers
    alone."""
    dtypes = [_dtype_of(a) for a in arrays_and_dtypes if not isinstance(a, SCALARS)]
    if not dtypes:
        raise ValueError(f"result_type({arrays_and_dtypes}): pass at least one array or dtype")
    result = promote(*dtypes)
    numbers: list[Any] = [a for a in arrays_and_dtypes if isinstance(a, SCALARS)]
    for number in numbers:
        # the first class that matches: bool is a subclass of int
        category = next(i for i, kind in enumerate(SCALARS) if isinstance(number, kind))
        # A Python number changes the result only if its kind is higher, and then by the default dtype of its
        # kind.
        if category > result.category:
            result = (dt.bool_, dt.int64, dt.default_float(), result.float_of().complex)[category]
    return result


def promote(*dtypes: dt.DType) -> dt.DType:
    """Promote dtypes by the standard: uint32 and a signed dtype give int64; all others as `+` promotes."""
    # dt.promote would give int32, which lacks the upper half of uint32
    if dt.uint32 in dtypes and any(d.kind == "i" for d in dtypes):
        dtypes = (*dtypes, dt.int64)
    return dt.promote(*dtypes)


def _dtype_of(a: Any) -> dt.DType:
    return a.dtype if isinstance(a, Tensor) else dt.as_dtype(a)


class Info:
    """The result of `__array_namespace_info__`."""

    def capabilities(self) -> dict[str, Any]:
        """Return the capabilities: boolean indexing and data-dependent shapes are supported, ranks are
        unlimited."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> Any:
        """Return the default device of new arrays."""
        return get_device()

    def default_dtypes(self, *, device: DeviceLike | None = None) -> dict[str, dt.DType]:
        """Return the default dtypes of floats, complex numbers, integers and indices."""
        real = dt.default_float()
        return {
            "real floating": real,
            "complex floating": real.complex,
            "integral": dt.int64,
            "indexing": dt.int64,
        }

    def dtypes(self, *, device: DeviceLike | None = None, kind: Any = None) -> dict[str, dt.DType]:
        """Return the standard's dtypes that a device supports, of one kind or all. GPUs lack float64 and
        complex128."""
        is_host = get_device(device).kind == "cpu"
        supported = {name: dt.DTYPES[name] for name in DTYPES if is_host or dt.DTYPES[name].on_gpu}
        return {name: d for name, d in supported.items() if kind is None or isdtype(d, kind)}

    def devices(self) -> list[Any]:
        """Return the default device and the NumPy device."""
        return list(dict.fromkeys([get_device(), get_device("cpu")]))


def __array_namespace_info__() -> Info:
    """Return the capabilities, devices and dtypes."""
    return Info()
