"""The element types of tensors: their names, their WGSL forms and how two of them promote."""

from dataclasses import dataclass
from typing import Any

from .errors import suggest


@dataclass(frozen=True, eq=False)
class DType:
    """One element type. `wgsl` is what kernels compute in, `stored` what a buffer holds (bool is stored as
    u32)."""

    name: str
    short: str
    wgsl: str
    stored: str
    kind: str  # "f" float, "i" signed, "u" unsigned, "b" bool
    rank: int  # place in the promotion order
    format: str  # the array/struct/memoryview code of one stored element

    itemsize = 4

    def __repr__(self) -> str:
        return f"flambeau.{self.name}"

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_int(self) -> bool:
        return self.kind in "iu"


bool_ = DType("bool", "bool", "bool", "u32", "b", 0, "I")
uint32 = DType("uint32", "u32", "u32", "u32", "u", 1, "I")
int32 = DType("int32", "i32", "i32", "i32", "i", 2, "i")
float32 = DType("float32", "f32", "f32", "f32", "f", 3, "f")

DTYPES = {d.name: d for d in (bool_, uint32, int32, float32)}
SHORT = {d.short: d for d in DTYPES.values()}

PYTHON = {float: float32, int: int32, bool: bool_}

# Types that arrays, files and Python know and WGSL does not: accepted at the door and narrowed with a range
# check.
NARROWED = {
    "float64": float32,
    "float16": float32,
    "int64": int32,
    "int16": int32,
    "int8": int32,
    "uint64": uint32,
    "uint16": int32,
    "uint8": int32,
}


def as_dtype(given: Any) -> DType:
    """Turn a DType, a name (`"float32"`, `"f32"`) or a NumPy dtype into a DType; TypeError when it is
    none."""
    if isinstance(given, DType):
        return given
    if isinstance(given, type) and given in PYTHON:
        return PYTHON[given]
    name = getattr(given, "name", None) or getattr(given, "__name__", None) or str(given)
    found = DTYPES.get(name) or SHORT.get(name) or NARROWED.get(name)
    if found is None:
        raise TypeError(f"dtype({name}): unknown dtype{suggest(name, [*DTYPES, *NARROWED])}")
    return found


def promote(*dtypes: DType) -> DType:
    """The dtype that holds every given one, in the order bool, uint32, int32, float32 (PyTorch's order
    here)."""
    return max(dtypes, key=lambda d: d.rank)


def dtype_of_scalar(value: Any) -> DType:
    """The dtype of a Python scalar standing alone."""
    if isinstance(value, bool):
        return bool_
    return int32 if isinstance(value, int) else float32
