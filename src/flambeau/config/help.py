"""A dataclass and what its source says of its fields into the text of `--help`."""

import ast
import inspect
import io
import json
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

from .kinds import dataclass_in, default_of, known, named
from .values import to_dict


def option(name: str) -> str:
    return "--" + name.replace("_", "-")


def told(cls: Any) -> dict[str, str]:
    """What a class's source says of its fields: the string below one, or the comment behind it."""
    try:
        source = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):  # typed in, or made by a program
        return {}
    body = ast.parse(source).body[0]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    out = {}
    statements = getattr(body, "body", [])
    for statement, after in zip(statements, [*statements[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            below = (
                getattr(getattr(after, "value", None), "value", None) if isinstance(after, ast.Expr) else None
            )
            behind = comments.get(statement.end_lineno or 0, "")
            out[statement.target.id] = " ".join(below.split()) if isinstance(below, str) else behind
    return out


def rows_of(cls: Any, prefix: str = "", owner: Any = None) -> Iterator[tuple[str, str]]:
    """(option with its type, what is said of it) of all fields; owner: a `cls` that has the defaults."""
    said = {
        name: text
        for base in reversed(cls.__mro__)
        if is_dataclass(base)
        for name, text in told(base).items()
    }
    for name, entry in known(cls).items():
        inner = dataclass_in(entry.kind)
        if inner:
            default = default_of(owner, name, entry)
            yield from rows_of(inner, f"{prefix}{name}.", default if type(default) is inner else None)
            continue
        text = entry.field.metadata.get("help", said.get(name, ""))
        is_required = entry.is_required and owner is None
        value = default_of(owner, name, entry)
        default = "required" if is_required else f"default {json.dumps(to_dict(value))}"
        yield f"{option(prefix + name)} {named(entry.kind)}", f"{text}  [{default}]".strip()


def help_of(cls: Any, prog: str) -> str:
    """What `--help` prints."""
    rows = [
        *rows_of(cls),
        ("--config FILE", "begin with the values of a JSON file"),
        ("--help", "print this"),
    ]
    width = min(max(len(head) for head, _ in rows), 34)
    lines = []
    for head, text in rows:
        short = len(head) <= width
        lines += (
            [f"  {head:<{width}}  {text}".rstrip()] if short else [f"  {head}", f"  {'':<{width}}  {text}"]
        )
    about = (
        inspect.cleandoc(cls.__doc__)
        if cls.__doc__ and not cls.__doc__.startswith(f"{cls.__name__}(")
        else ""
    )
    return "\n".join([f"usage: {prog} [--option value ...]", *([about] if about else []), "", *lines])
