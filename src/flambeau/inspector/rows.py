"""Builds frozen rows from values of JSON. Errors name the field of a value with another type."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from ..errors import suggest

T = TypeVar("T")


class RowField(NamedTuple):
    """The type of a row's field, and whether the field is required."""

    kind: Any
    is_required: bool


@cache
def fields_of(cls: type) -> Mapping[str, RowField]:
    """Return the fields that a dataclass's `__init__` takes."""
    kinds = get_type_hints(cls)
    return {
        f.name: RowField(kinds[f.name], f.default is MISSING and f.default_factory is MISSING)
        for f in fields(cls)
        if f.init
    }


def row_of(cls: type[T], values: Any, place: str = "") -> T:
    """Build an instance of the dataclass `cls` from a dict by field names; missing fields have their
    defaults.

    place: the path of the row, with which errors begin. ValueError for an unknown name, a value of another
    type, and a missing field without a default.
    """
    fields = fields_of(cls)
    prefix = f"{place}." if place else ""
    arguments = {}
    for name, value in _check_type(dict, values, place).items():
        if name not in fields:
            raise ValueError(f"{prefix}{name}: no field of that name{suggest(name, fields)}")
        arguments[name] = value_of(fields[name].kind, value, f"{prefix}{name}")
    for name, field in fields.items():
        if field.is_required and name not in arguments:
            raise ValueError(f"{prefix}{name}: it has no default: pass {_name_of(field.kind)}")
    return cls(**arguments)


def value_of(kind: Any, value: Any, place: str) -> Any:
    """Convert a value of JSON to a field's type; ValueError, with its place, if it has another type."""
    origin = get_origin(kind) or kind
    if origin is tuple:
        return _tuple_of(kind, value, place)
    if origin is dict:
        items: Any = _check_type(dict, value, place).items()
        return {name: value_of(get_args(kind)[1], v, f"{place}[{name!r}]") for name, v in items}
    if is_dataclass(kind):
        return row_of(kind, value, place)  # type: ignore[arg-type]
    if origin is Literal:
        if value not in get_args(kind):
            raise ValueError(f"{place}: takes {_name_of(kind)}: got {value!r}")
        return value
    if kind is float and type(value) is int:
        return float(value)
    return _check_type(kind, value, place)


def _tuple_of(kind: Any, values: Any, place: str) -> tuple[Any, ...]:
    kinds = get_args(kind)
    if not isinstance(values, list | tuple):
        raise ValueError(f"{place}: takes {_name_of(kind)}: got {values!r}")
    items: list[Any] = [*values]
    if kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(items)
    if len(items) != len(kinds):
        raise ValueError(f"{place}: takes {_name_of(kind)}, {len(kinds)} values: got {len(items)}")
    return tuple([value_of(k, v, f"{place}[{i}]") for i, (k, v) in enumerate(zip(kinds, items))])


def _check_type(kind: Any, value: Any, place: str) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{place or 'the file'}: takes {_name_of(kind)}: got {value!r}")
    return value


def _name_of(kind: Any) -> str:
    """Return a type's name for messages."""
    if get_origin(kind) is Literal:
        return " | ".join(map(str, get_args(kind)))
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
