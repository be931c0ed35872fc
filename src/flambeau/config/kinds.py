"""The annotations of a dataclass into what its fields take."""

import types
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

SEQUENCES = (list, tuple)


def named(kind: Any) -> str:
    """A type as messages and the help write it."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " | ".join(map(str, args))
    if origin in (Union, types.UnionType):
        return " | ".join(named(a) for a in args)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " | ".join(kind.__members__)
    if origin is not None:
        inner = ", ".join("..." if a is Ellipsis else named(a) for a in args)
        return f"{origin.__name__}[{inner}]"
    return "none" if kind is type(None) else getattr(kind, "__name__", str(kind))


def is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def dataclass_in(kind: Any) -> Any:
    """The dataclass that a type is, or may be; None where it is none."""
    kinds = get_args(kind) if is_union(kind) else (kind,)
    return next((k for k in kinds if isinstance(k, type) and is_dataclass(k)), None)


class KnownField(NamedTuple):
    """A field, and its type as resolved."""

    field: Field
    kind: Any

    @property
    def is_required(self) -> bool:
        return self.field.default is MISSING and self.field.default_factory is MISSING

    @property
    def default(self) -> Any:
        made = self.field.default_factory
        return made() if made is not MISSING else self.field.default


def default_of(owner: Any, name: str, entry: KnownField) -> Any:
    """What a field is where it was not given: as the dataclass `owner` has it, if any, else as it says
    itself; None for one that is required."""
    if owner is not None:
        return getattr(owner, name)
    return None if entry.is_required else entry.default


def known(cls: Any) -> dict[str, KnownField]:
    """The fields of a dataclass that its `__init__` takes."""
    hints = get_type_hints(cls)
    return {f.name: KnownField(f, hints[f.name]) for f in fields(cls) if f.init}


def check_class(call: str, cls: Any) -> None:
    if not (isinstance(cls, type) and is_dataclass(cls)):
        raise TypeError(f"{call}({cls!r}): takes a class: decorate it with @dataclass")


def sequence_in(kind: Any) -> Any:
    """The list or tuple that a type is, or may be; None where it is none."""
    kinds = get_args(kind) if is_union(kind) else (kind,)
    return next((k for k in kinds if (get_origin(k) or k) in SEQUENCES), None)
