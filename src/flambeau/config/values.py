"""Values of JSON into dataclasses, and back; what does not suit is told by the name of its field."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from ..errors import suggest
from .kinds import SEQUENCES, check_class, dataclass_in, default_of, is_union, known, named

T = TypeVar("T")


def of_scalar(kind: Any, value: Any) -> Any:
    """A value as int, float, bool, str or None; ValueError where it is none."""
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"takes {named(kind)}: got {value!r}")
    return value


def of_enum(kind: Any, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if value not in kind.__members__:
        raise ValueError(f"takes {named(kind)}: got {value!r}{suggest(str(value), kind.__members__)}")
    return kind[value]


def of_sequence(kind: Any, value: Any, item: Callable[[Any, Any], Any]) -> Any:
    """Each element by `item`, in a list or a tuple of the type's length."""
    origin, args = get_origin(kind) or kind, get_args(kind) or (Any,)
    if not isinstance(value, SEQUENCES):
        raise ValueError(f"takes {named(kind)}: got {value!r}")
    if origin is tuple and args[-1] is not Ellipsis and get_args(kind):
        if len(value) != len(args):
            raise ValueError(f"takes {named(kind)}, {len(args)} values: got {len(value)}")
        return tuple(item(k, v) for k, v in zip(args, value, strict=True))
    return origin(item(args[0], v) for v in value)


def of_union(kind: Any, value: Any, one: Callable[[Any, Any], Any]) -> Any:
    """The first of a union's types that takes the value."""
    reasons = []
    for k in sorted(get_args(kind), key=lambda k: k is str):  # a string takes all words: it comes last
        try:
            return one(k, value)
        except ValueError as e:
            reasons.append(str(e))
    raise ValueError(
        reasons[0]
        if len(reasons) == 2 and type(None) in get_args(kind)
        else f"takes {named(kind)}: got {value!r}"
    )


def of_literal(kind: Any, value: Any) -> Any:
    for choice in get_args(kind):
        if type(choice) is type(value) and choice == value:
            return choice
    raise ValueError(f"takes {named(kind)}: got {value!r}{suggest(str(value), get_args(kind))}")


def of_key(kind: Any, key: Any) -> Any:
    """A key as a type: JSON has texts alone."""
    if kind in (int, float) and isinstance(key, str):
        try:
            return kind(key)
        except ValueError:
            raise ValueError(f"takes keys of {named(kind)}: got {key!r}") from None
    return made(kind, key)


def made(kind: Any, value: Any) -> Any:
    """A value of JSON as a type; ValueError with the reason where it is none."""
    origin = get_origin(kind) or kind
    if kind is Any:
        return value
    if is_union(kind):
        return of_union(kind, value, made)
    if origin is Literal:
        return of_literal(kind, value)
    if origin in SEQUENCES:
        return of_sequence(kind, value, made)
    if origin is dict:
        key, inner = (get_args(kind) or (Any, Any))[:2]
        return {of_key(key, k): made(inner, v) for k, v in of_scalar(dict, value).items()}
    if kind is Path:
        return Path(of_scalar(str, value))
    if is_dataclass(kind):
        return from_fields(kind, of_scalar(dict, value), "")
    if isinstance(kind, type) and issubclass(kind, Enum):
        return of_enum(kind, value)
    if kind in (int, float, bool, str, type(None)):
        return of_scalar(kind, value)
    raise TypeError(
        f"fields of type {named(kind)} are not kept in JSON: use numbers, str, Path, list, tuple, dict, Enum,"
        " Literal or a dataclass"
    )


class AtField(ValueError):
    """A reason, with the field that it is about."""

    def __init__(self, where: str, reason: str):
        super().__init__(f"{where}: {reason}")
        self.where, self.reason = where, reason


def from_fields(cls: Any, given: Mapping[str, Any], prefix: str, default: Any = None) -> Any:
    """A dataclass from values by the names of its fields, of which `default`, where it is one, has the rest;
    `prefix` leads to it in messages."""
    there, found = known(cls), {}
    default = default if type(default) is cls else None
    for name, value in given.items():
        where = f"{prefix}{name}"
        if name not in there:
            raise AtField(where, f"no field of that name{suggest(name, there)}")
        kind = there[name].kind
        inner = dataclass_in(kind)
        try:
            found[name] = (
                from_fields(inner, value, f"{where}.", default_of(default, name, there[name]))
                if inner and isinstance(value, dict)
                else made(kind, value)
            )
        except AtField:
            raise
        except (ValueError, TypeError) as e:
            raise AtField(where, str(e)) from None
    for name, entry in there.items():
        if name in found:
            continue
        if default is not None:
            found[name] = getattr(default, name)
        elif entry.is_required:
            raise AtField(f"{prefix}{name}", f"it has no default: give {named(entry.kind)}")
    return cls(**found)


def from_dict(cls: type[T], given: Mapping[str, Any]) -> T:
    """The dataclass that `to_dict` made a dict of; fields that are missing have their defaults.

    cls: the class. given: values by name, as JSON has them. ValueError names the field where a name is
    unknown, a value is of another type, or one that has no default is missing.
    """
    check_class("from_dict", cls)
    try:
        return from_fields(cls, given, "")
    except AtField as e:
        raise ValueError(f"{cls.__name__}({e.where}): {e.reason}") from None


def to_dict(config: Any) -> Any:
    """The dataclass `config` as plain values of JSON: enums by name, tuples as lists, paths as text."""
    if is_dataclass(config) and not isinstance(config, type):
        return {f.name: to_dict(getattr(config, f.name)) for f in fields(config) if f.init}
    if isinstance(config, Enum):
        return config.name
    if isinstance(config, Path):
        return str(config)
    if isinstance(config, Mapping):
        return {str(to_dict(k)): to_dict(v) for k, v in config.items()}
    return [to_dict(v) for v in config] if isinstance(config, SEQUENCES) else config


def save(config: Any, path: str | os.PathLike) -> None:
    """Write the dataclass `config` to the JSON file `path`, which is there whole or as it was before."""
    part = f"{os.fspath(path)}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write(json.dumps(to_dict(config), indent=2) + "\n")
    os.replace(part, path)


def load(cls: type[T], path: str | os.PathLike) -> T:
    """The dataclass `cls` in the JSON file `path`. ValueError where it holds no object, or as from_dict."""
    check_class("load", cls)
    given = read_object("load", path)
    try:
        return from_fields(cls, given, "")
    except AtField as e:
        raise ValueError(f"load({os.fspath(path)!r}): {e.where}: {e.reason}") from None


def read_object(call: str, path: str | os.PathLike) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        given = json.loads(text)
    except json.JSONDecodeError as e:
        raise ValueError(f"{call}({os.fspath(path)!r}): no JSON: line {e.lineno}: {e.msg}") from None
    if not isinstance(given, dict):
        raise ValueError(f"{call}({os.fspath(path)!r}): takes a JSON object: got {type(given).__name__}")
    return given
