"""The element types of tensors: their names, their WGSL forms, their ranges and how two of them promote."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, TypeAlias

from ..errors import TypeError, suggest

CATEGORIES = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


@dataclass(frozen=True, eq=False)
class DType:
    """One element type. Kernels compute in `wgsl`; buffers are arrays of `stored` (u32 for bool). A type of
    less than 4 bytes is packed: a u32 holds 4 // itemsize neighbours, the first in its low bits. An element
    of a pair (`is_pair`) is two words of the dtype that `word` names; kernels see only the words."""

    name: str
    short: str
    wgsl: str
    stored: str
    kind: str  # "c" complex, "f" float, "i" signed, "u" unsigned, "b" bool
    rank: int  # place in the promotion order
    format: str  # the code of one stored element: struct's, for complex numbers NumPy's
    itemsize: int = 4  # bytes of an element in a buffer
    word: str = ""  # for two-word dtypes: the dtype name of one 32-bit word; see legalize/rewrite.py

    def __repr__(self) -> str:
        return f"flambeau.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)  # copying and unpickling give the same object

    def __deepcopy__(self, memo: Any) -> "DType":
        return self

    @cached_property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_floating_point(self) -> bool:
        """PyTorch's name of is_float."""
        return self.is_float

    @cached_property
    def is_int(self) -> bool:
        return self.kind in "iu"

    @cached_property
    def is_packed(self) -> bool:
        """Whether several elements share a word."""
        return self.itemsize < 4

    @cached_property
    def is_complex(self) -> bool:
        return self.kind == "c"

    @cached_property
    def has_gradients(self) -> bool:
        """Whether such elements can have gradients: floats and complex numbers."""
        return self.kind in "fc"

    @cached_property
    def is_pair(self) -> bool:
        """Whether an element is two words, which kernels compute with separately."""
        return bool(self.word)

    @cached_property
    def is_special(self) -> bool:
        """Whether some kinds of ops need a conversion first: packed and complex dtypes."""
        return self.is_packed or self.is_complex

    @cached_property
    def on_gpu(self) -> bool:
        """Whether a GPU can hold it: WGSL has no floats of 64 bits."""
        return self.name not in ("float64", "complex128")

    @cached_property
    def as_float(self) -> "DType":
        """The dtype in which float ops compute this one: float32, or itself if that is as exact."""
        return self if self.is_complex or self.name == "float64" else float32

    def float_of(self) -> "DType":
        """Itself for a float or complex dtype, else the default float dtype."""
        return self if self.has_gradients else default_float()

    @cached_property
    def real(self) -> "DType":
        """The dtype of a complex number's parts; itself for other dtypes."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @cached_property
    def complex(self) -> "DType":
        """The dtype of complex numbers whose parts have this dtype."""
        return self if self.is_complex else complex128 if self.name == "float64" else complex64

    @cached_property
    def category(self) -> int:
        """0 bool, 1 integer, 2 float, 3 complex: the order in which scalars and 0-d tensors promote."""
        return CATEGORIES[self.kind]

    @cached_property
    def wide(self) -> "DType":
        """The 4-byte dtype in which kernels compute a packed dtype; itself for others."""
        return SHORT[self.wgsl] if self.is_packed else self

    @cached_property
    def numpy(self) -> str:
        """NumPy's dtype of the values. NumPy lacks bfloat16 and 8-bit floats: float32 holds them."""
        return "float32" if self.name == "bfloat16" or self.is_storage else self.name

    @cached_property
    def is_storage(self) -> bool:
        """Whether it only stores values, for other dtypes to compute with: 8-bit floats."""
        return self.is_float and self.itemsize == 1

    @cached_property
    def words(self) -> tuple[int, ...]:
        """Words of a cell of 0, 1, ..., 4 neighbouring elements."""
        return tuple(max(1, width * self.itemsize // 4) for width in range(5))


DTypeLike: TypeAlias = DType | type[Any] | str  # objects that name a dtype

del DType.__dataclass_fields__  # libraries that walk over dataclasses take a dtype for a value, as PyTorch's
bool_ = DType("bool", "bool", "bool", "u32", "b", 0, "I")
uint8 = DType("uint8", "u8", "u32", "u32", "u", 1, "B", 1)
int8 = DType("int8", "i8", "i32", "u32", "i", 2, "b", 1)
uint16 = DType("uint16", "u16", "u32", "u32", "u", 3, "H", 2)
int16 = DType("int16", "i16", "i32", "u32", "i", 4, "h", 2)
uint32 = DType("uint32", "u32", "u32", "u32", "u", 5, "I")
int32 = DType("int32", "i32", "i32", "i32", "i", 6, "i")
uint64 = DType("uint64", "u64", "u64", "u32", "u", 7, "Q", 8, "uint32")
int64 = DType("int64", "i64", "i64", "u32", "i", 8, "q", 8, "uint32")
float8_e4m3fn = DType("float8_e4m3fn", "f8e4m3", "f32", "u32", "f", 9, "B", 1)
float8_e5m2 = DType("float8_e5m2", "f8e5m2", "f32", "u32", "f", 9, "B", 1)
float16 = DType("float16", "f16", "f32", "u32", "f", 9, "e", 2)
bfloat16 = DType("bfloat16", "bf16", "f32", "u32", "f", 10, "H", 2)
float32 = DType("float32", "f32", "f32", "f32", "f", 11, "f")
float64 = DType("float64", "f64", "f64", "f64", "f", 12, "d", 8)
complex64 = DType("complex64", "c64", "c64", "f32", "c", 13, "F", 8, "float32")
complex128 = DType("complex128", "c128", "c128", "f64", "c", 14, "D", 16)

_REAL = (bool_, uint8, int8, uint16, int16, uint32, int32, uint64, int64, float16, bfloat16, float32, float64)
ALL = (*_REAL, complex64, complex128)
DTYPES = {d.name: d for d in ALL}
STORAGE = {d.name: d for d in (float8_e4m3fn, float8_e5m2)}  # dtypes without arithmetic, beside those of ALL
SHORT = {d.short: d for d in (*ALL, *STORAGE.values())}
ALIASES = {
    "half": float16,
    "short": int16,
    "float": float32,
    "int": int32,
    "long": int64,
    "double": float64,
    "cfloat": complex64,
    "cdouble": complex128,
}

PYTHON = {float: float32, bool: bool_, complex: complex64}

# Pairs of which neither holds the other; any other pair promotes to the one of higher rank. (PyTorch promotes
# uint16 and uint32 only with floats.)
PROMOTED = {
    frozenset({uint8, int8}): int16,
    frozenset({uint16, int8}): int32,
    frozenset({uint16, int16}): int32,
    frozenset({uint32, int8}): int32,
    frozenset({uint32, int16}): int32,
    frozenset({uint64, int8}): int64,
    frozenset({uint64, int16}): int64,
    frozenset({uint64, int32}): int64,
    frozenset({float16, bfloat16}): float32,
    frozenset({float64, complex64}): complex128,
}


def as_dtype(value: Any) -> DType:
    """The DType of a DType, a name (`"float32"`, `"f32"`) or a NumPy dtype; TypeError for anything else."""
    if isinstance(value, DType):
        return value
    if isinstance(value, type) and value in PYTHON:
        return PYTHON[value]
    if value is int:
        return default_integer()
    name = getattr(value, "name", None) or getattr(value, "__name__", None) or str(value)
    dtype = DTYPES.get(name) or SHORT.get(name) or ALIASES.get(name) or STORAGE.get(name)
    if dtype is None:
        raise TypeError(f"dtype({name}): unknown dtype{suggest(name, DTYPES)}")
    return dtype


def promote(*dtypes: DType) -> DType:
    """The dtype that holds all of these, as in PyTorch: `PROMOTED`, else the one of higher rank. TypeError
    for an 8-bit float beside another dtype."""
    first = dtypes[0]
    if dtypes.count(first) == len(dtypes):
        return first
    return reduce(_wider, dtypes)


def _wider(a: DType, b: DType) -> DType:
    if (a.is_storage or b.is_storage) and a is not b:
        raise TypeError(f"{a.name} and {b.name}: 8-bit floats don't promote: cast one with .to(...)")
    return PROMOTED.get(frozenset({a, b})) or max(a, b, key=lambda d: d.rank)


def promote_types(type1: DTypeLike, type2: DTypeLike) -> DType:
    """The dtype that holds all values of type1 and type2; TypeError for an unknown one."""
    return promote(as_dtype(type1), as_dtype(type2))


def can_cast(from_: DTypeLike, to: DTypeLike) -> bool:
    """Whether a cast from_ a dtype `to` another keeps or raises the category (bool, integer, float, complex),
    as in PyTorch. TypeError for an unknown dtype."""
    return as_dtype(from_).category <= as_dtype(to).category


def combine(higher: DType | None, lower: DType | None) -> DType | None:
    """Promote the dtype of tensors with dims by that of 0-d tensors or scalars: only a higher category
    changes it, and floats become complex numbers of their size (PyTorch's rule)."""
    if higher is None or lower is None:
        return higher or lower
    return higher if higher.category >= lower.category else promote(higher, beside(lower, higher))


def beside(lower: DType, higher: DType) -> DType:
    """The dtype with which a 0-d operand takes part in promotion with operands that have dims."""
    if higher.category >= lower.category:
        return higher
    return higher.complex if lower.is_complex and higher.is_float else lower


def dtype_of_scalar(value: Any) -> DType:
    """The dtype of a Python scalar without tensors beside it."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return default_integer()
    return default_float().complex if isinstance(value, complex) else default_float()


class _Defaults:
    integer = int64
    floats = float32


# The default float dtype inside operations: float32, or float64 if that is the default and no argument says
# otherwise. core/autocast.py casts the results to the default dtype.
inside: ContextVar[DType | None] = ContextVar("inside", default=None)


def default_float() -> DType:
    """The dtype of Python floats: the default dtype; inside operations, `inside`."""
    floats = _Defaults.floats
    return floats if floats is float32 else inside.get() or floats  # fast path: called for each number


def set_default_float(dtype: DType) -> None:
    """Set the default dtype of the process: `fb.set_default_dtype` without its checks."""
    _Defaults.floats = dtype


def get_default_dtype() -> DType:
    """The dtype of Python floats: float32, or what `set_default_dtype` set."""
    return _Defaults.floats


CHANGED: list[Callable[[], None]] = []  # called after a default changes


def set_default_integer(dtype: DTypeLike) -> None:
    """Set the dtype of Python integers, sums of integers and positions: int64, as in PyTorch, or int32, which
    is faster on GPUs and wraps beyond 2**31.

    It applies to the whole process. NumPy's int64 arrays are converted as well, with a check that they fit.
    TypeError for other dtypes.
    """
    integer = as_dtype(dtype)
    if integer not in (int32, int64):
        raise TypeError(f"set_default_integer({integer.name}): must be int32 or int64")
    _Defaults.integer = integer
    for forget in CHANGED:
        forget()


def get_default_integer() -> DType:
    """The dtype of Python integers, sums of integers and positions: int64, or int32 after
    `set_default_integer`."""
    return _Defaults.integer


default_integer = get_default_integer


def host_dtype(dtype: DType) -> DType:
    """The dtype of host data: int64 becomes the default integer dtype."""
    return _Defaults.integer if dtype is int64 else dtype


def accumulation_dtype(dtype: DType) -> DType:
    """The dtype of sums and products of such elements: for integers and bools, the default one."""
    if dtype.has_gradients or dtype is _Defaults.integer:
        return dtype
    return int64 if _Defaults.integer is int64 else int32 if dtype.itemsize < 4 or dtype is bool_ else dtype


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a float dtype: eps (the step at 1), the largest and the smallest normal number, and the
    decimal resolution."""

    dtype: DType
    eps: float
    max: float
    tiny: float
    resolution: float

    @property
    def bits(self) -> int:
        return 8 * self.dtype.itemsize

    @property
    def min(self) -> float:
        return -self.max

    @property
    def smallest_normal(self) -> float:
        return self.tiny


@dataclass(frozen=True)
class IntInfo:
    """The range of an integer dtype."""

    dtype: DType
    min: int
    max: int

    @property
    def bits(self) -> int:
        return 8 * self.dtype.itemsize


FLOATS = {
    f.dtype: f
    for f in (
        FloatInfo(float8_e4m3fn, 2.0**-3, 448.0, 2.0**-6, 1.0),
        FloatInfo(float8_e5m2, 2.0**-2, 57344.0, 2.0**-14, 1.0),
        FloatInfo(float16, 2.0**-10, 65504.0, 2.0**-14, 1e-3),
        FloatInfo(bfloat16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 1e-2),
        FloatInfo(float32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 1e-6),
        FloatInfo(float64, 2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 1e-15),
    )
}
INTS = {
    i.dtype: i
    for i in (
        IntInfo(uint8, 0, 255),
        IntInfo(int8, -128, 127),
        IntInfo(uint16, 0, 65535),
        IntInfo(int16, -32768, 32767),
        IntInfo(uint32, 0, 2**32 - 1),
        IntInfo(int32, -(2**31), 2**31 - 1),
        IntInfo(uint64, 0, 2**64 - 1),
        IntInfo(int64, -(2**63), 2**63 - 1),
    )
}


def finfo(dtype: DTypeLike = float32) -> FloatInfo:
    """eps, max, min, tiny and more of a float dtype, or of a complex one's parts; TypeError for others."""
    info = FLOATS.get(as_dtype(dtype).real)
    if info is None:
        raise TypeError(f"finfo({as_dtype(dtype).name}): takes a float dtype: use iinfo")
    return info


def iinfo(dtype: DTypeLike) -> IntInfo:
    """min, max and bits of an integer dtype; TypeError for others."""
    info = INTS.get(as_dtype(dtype))
    if info is None:
        raise TypeError(f"iinfo({as_dtype(dtype).name}): takes an integer dtype: use finfo for floats")
    return info
