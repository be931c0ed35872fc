"""Decides which classes guards can watch: those whose complete state is known."""

import sys
from collections.abc import Callable
from functools import cache
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GenericAlias,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    UnionType,
    WrapperDescriptorType,
)
from typing import Any

from ..core.dtype import DType
from ..core.op import Op

STDLIB = frozenset(sys.stdlib_module_names) - {"__main__"}
LIBRARIES = STDLIB | {"flambeau", "numpy"}
# modules of the standard library whose functions depend only on their arguments and return Python's own
# objects; and modules that only write
_PURE = """
abc argparse bisect builtins cmath collections contextlib copy copyreg dataclasses enum fractions functools
heapq itertools math numbers operator re sre_compile sre_parse statistics string textwrap types typing
_abc _bisect _collections _collections_abc _functools _heapq _operator _sre _statistics _typing
logging traceback warnings _warnings
"""
# classes with immutable objects, as seen from outside
_FIXED = """
datetime.date datetime.time datetime.timedelta datetime.tzinfo decimal.Decimal fractions.Fraction uuid.UUID
zoneinfo.ZoneInfo logging.Logger numpy.dtype numpy.generic numpy.ufunc numpy._ArrayFunctionDispatcher
pathlib.PurePath pathlib._local.PurePath re.Pattern inspect.Signature inspect.Parameter
typing._Final typing._SpecialForm typing.TypeVar typing.ParamSpec
builtins.method_descriptor builtins.wrapper_descriptor builtins.classmethod_descriptor builtins.code
builtins.getset_descriptor builtins.member_descriptor
collections._tuplegetter _collections._tuplegetter
"""
PURE, FIXED = frozenset(_PURE.split()), frozenset(_FIXED.split())
_PLAIN = (int, float, complex, str, bytes, bool, range, slice, DType, Op, GenericAlias, UnionType)
_SINGLETONS = (None, ..., NotImplemented, sys.flags, sys.version_info)
VALUES = frozenset[Any]([*_PLAIN, *map(type, _SINGLETONS)])
CONTENT: dict[str, Callable[[Any], Any]] = {  # classes whose objects are compared by their content
    "builtins.bytearray": bytes,
    "builtins.memoryview": lambda v: (v.shape, v.format, v.tobytes()),
    "array.array": lambda v: (v.typecode, v.tobytes()),
    "numpy.ndarray": lambda v: (v.shape, v.dtype.str, v.dtype.name, v.tobytes()),
}
CONTAINERS = (list, tuple, dict, set, frozenset)
SCALARS = (int, float, complex, str, bytes)  # user classes may derive from these, and from containers
OF_C = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType, BuiltinFunctionType)
PROTOCOL = ("__getattribute__", "__setattr__", "__delattr__")


def class_of(value: object) -> type[Any]:
    """Return `type(value)`, typed for type checkers."""
    return type(value)


def name_of(kind: type) -> str:
    """Return a class's full name."""
    return f"{kind.__module__}.{kind.__qualname__}"


def library_of(thing: Any) -> str:
    """Return the top-level package of a class or module."""
    name = thing.__name__ if isinstance(thing, ModuleType) else thing.__module__
    return str(name).partition(".")[0]


def is_library(name: Any) -> bool:
    """Whether a module of this name is Python's, NumPy's or ours."""
    return str(name).partition(".")[0] in LIBRARIES


@cache
def is_fixed(kind: type) -> bool:
    """Whether its objects never change."""
    return kind is object or (
        library_of(kind) in LIBRARIES and any(name_of(k) in FIXED for k in kind.__mro__ if k is not object)
    )


@cache
def is_known(kind: type) -> bool:
    """Whether the state of its objects consists of their dict, their slots and their items."""
    return not has_own_reading(kind) and has_known_parts(kind)


def has_own_reading(kind: type) -> bool:
    """Whether its objects' attributes are read by a function of its own."""
    return isinstance(kind.__getattribute__, FunctionType)


@cache
def has_known_parts(kind: type) -> bool:
    """Whether Python can show the whole state of its objects, by whatever way its attributes are read."""
    return all(_is_known_part(k) for k in kind.__mro__)


def _is_known_part(kind: type) -> bool:
    library = library_of(kind)
    if library == "builtins":
        return kind is object or kind in CONTAINERS or kind in SCALARS
    if library == "flambeau":
        return True
    if name_of(kind) in ("collections.OrderedDict", "collections.defaultdict", "collections.deque"):
        return True
    if name_of(kind) == "types.SimpleNamespace":
        return True
    return (library in PURE or library not in LIBRARIES) and not _is_of_c(kind)


def _is_of_c(kind: type) -> bool:
    """Whether C code may keep state in its objects: classes written in Python have no C methods."""
    if not kind.__flags__ & 1 << 9:  # not a class that was defined at run time
        return True
    for name, value in vars(kind).items():
        if isinstance(value, OF_C) and kind in (getattr(value, "__objclass__", None), _maker(name, value)):
            return True
        if isinstance(value, GetSetDescriptorType) and name not in ("__dict__", "__weakref__"):
            return True
    return False


def _maker(name: str, value: Any) -> Any:
    return getattr(value, "__self__", None) if name == "__new__" else None


@cache
def slots_of(kind: type) -> tuple[Any, ...]:
    """Return the descriptors of its objects' slots."""
    users = (k for k in kind.__mro__ if library_of(k) not in STDLIB)
    return tuple(v for k in users for v in vars(k).values() if isinstance(v, MemberDescriptorType))


@cache
def is_plain(kind: type) -> bool:
    """Whether attributes of its objects come only from their dicts and classes."""
    return (
        is_known(kind)
        and not hasattr(kind, "__getattr__")
        and all(getattr(kind, n) is getattr(object, n) for n in PROTOCOL)
        and kind.__dictoffset__ != 0
    )
