"""The words of a command line into a dataclass."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from ..errors import suggest
from .help import help_of, option
from .kinds import SEQUENCES, KnownField, check_class, dataclass_in, is_union, known, named, sequence_in
from .values import AtField, from_fields, of_enum, of_sequence, of_union, read_object

T = TypeVar("T")
NONE = ("none", "null")
TRUTH: dict[str, bool] = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def number(kind: type, word: str) -> Any:
    try:
        found = float(word) if kind is float or not word.lstrip("+-").isdigit() else int(word)
        whole = int(word.replace("_", "")) if kind is int and "_" in word else found
        if kind is int and whole != int(whole):
            raise ValueError
        return kind(whole)
    except (ValueError, OverflowError):
        raise ValueError(f"takes {kind.__name__}: got {word!r}") from None


def truth(word: str) -> bool:
    if word.lower() not in TRUTH:
        raise ValueError(f"takes true or false: got {word!r}")
    return TRUTH[word.lower()]


def nothing(word: str) -> None:
    if word.lower() not in NONE:
        raise ValueError(f"takes none: got {word!r}")


def choice(kind: Any, word: str) -> Any:
    for one in get_args(kind):
        if str(one) == word:
            return one
    raise ValueError(f"takes {named(kind)}: got {word!r}{suggest(word, map(str, get_args(kind)))}")


def json_of(kind: Any, word: str) -> Any:
    try:
        return json.loads(word)
    except json.JSONDecodeError:
        if kind is Any:
            return word
        raise ValueError(f"takes {named(kind)} as JSON: got {word!r}") from None


READERS: dict[Any, Callable[[str], Any]] = {
    int: lambda w: number(int, w),
    float: lambda w: number(float, w),
    bool: truth,
    str: str,
    Path: str,
    type(None): nothing,
}


def read(kind: Any, word: str) -> Any:
    """A word as a value of JSON that suits a type; ValueError with the reason where it is none."""
    origin = get_origin(kind) or kind
    if is_union(kind):
        return of_union(kind, word, read)
    if origin is Literal:
        return choice(kind, word)
    if origin in SEQUENCES:
        return read_all(kind, [word])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return of_enum(kind, word).name
    return READERS[kind](word) if kind in READERS else json_of(kind, word)


def read_all(kind: Any, words: list[str]) -> Any:
    """Several words as a list: `1 2 3`, `1,2,3` and `[1, 2, 3]` are the same."""
    if len(words) == 1 and words[0].startswith("["):
        return json_of(kind, words[0])
    if len(words) == 1:
        words = [w.strip() for w in words[0].split(",") if w.strip()]
    return list(of_sequence(kind, words, read))


def options(cls: Any, prefix: str = "") -> Iterator[tuple[str, KnownField]]:
    """(dotted name, field) of all fields, those of dataclasses in it too."""
    for name, entry in known(cls).items():
        yield prefix + name, entry
        if inner := dataclass_in(entry.kind):
            yield from options(inner, f"{prefix}{name}.")


def split(argv: Sequence[str], names: Mapping[str, KnownField]) -> Iterator[tuple[str, str, list[str]]]:
    """(word as it was given, dotted name, its words) of each option. ValueError where a word is none."""
    i = 0
    while i < len(argv):
        word = argv[i]
        if not word.startswith("--") or word == "--":
            raise ValueError(f"parse({word}): an option begins with --, as in --{next(iter(names), 'name')}")
        head, equals, rest = word[2:].partition("=")
        name, values = head.replace("-", "_"), [rest] if equals else []
        i += 1
        while not equals and i < len(argv) and not argv[i].startswith("--"):
            values.append(argv[i])
            i += 1
        yield f"--{head}", name, values


def value_of(word: str, kind: Any, words: list[str]) -> Any:
    """The value that an option's words stand for."""
    many = sequence_in(kind)
    if bool in (kind, *get_args(kind)) and not words:
        return True
    if not words and not many:
        raise ValueError(f"takes a value, {named(kind)}: got none")
    if many and len(words) != 1:
        return read_all(many, words)
    if len(words) > 1:
        raise ValueError(f"takes one value, {named(kind)}: got {' '.join(words)!r}")
    return read(kind, words[0])


def put(into: dict[str, Any], name: str, value: Any) -> None:
    """Set a value by its dotted name."""
    *path, last = name.split(".")
    for part in path:
        inner = into.get(part)
        into[part] = inner if isinstance(inner, dict) else {}
        into = into[part]
    into[last] = value


def parse(cls: type[T], argv: Sequence[str] | None = None, *, prog: str | None = None) -> T:
    """A dataclass from the words of a command line: `--lr 0.1 --model.depth 12 --sizes 1 2 3 --no-shuffle`.

    cls: the class; its docstring, and the comment or docstring of each field, are the text of `--help`, which
    prints and exits. argv: the words; sys.argv's without it. prog: the program's name in the help. `--config
    FILE` begins with what `save` wrote. ValueError for an unknown option (with the nearest), a value of
    another type, and one that has no default and was not given.
    """
    check_class("parse", cls)
    words = list(sys.argv[1:] if argv is None else argv)
    if {"-h", "--help"} & set(words):
        print(help_of(cls, prog or Path(sys.argv[0]).name))
        raise SystemExit(0)
    names, given = dict(options(cls)), {}
    for word, name, values in split(words, names):
        if name == "config" and name not in names:
            if len(values) != 1:
                raise ValueError("parse(--config): takes one file")
            given = merged(read_object("parse", values[0]), given)
            continue
        negated = name.removeprefix("no_")
        if (
            name not in names
            and negated in names
            and bool in (names[negated].kind, *get_args(names[negated].kind))
        ):
            name, values = negated, ["false", *values]
        if name not in names:
            raise ValueError(
                f"parse({word}): no option of that name{suggest(word, [*map(option, names), '--config'])}"
            )
        try:
            put(given, name, value_of(word, names[name].kind, values))
        except ValueError as e:
            raise ValueError(f"parse({' '.join([word, *values])}): {e}") from None
    try:
        return from_fields(cls, given, "")
    except AtField as e:
        raise ValueError(f"parse({option(e.where)}): {e.reason}") from None


def merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Values of both, those of `over` where both have one."""
    out = dict(under)
    for name, value in over.items():
        both = isinstance(value, dict) and isinstance(out.get(name), dict)
        out[name] = merged(out[name], value) if both else value
    return out
