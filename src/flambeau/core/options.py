"""Keyword options: check their names and add defaults."""

from collections.abc import Iterable
from typing import Any

from ..errors import nearest


def options(call: str, values: Any, defaults: Any) -> Any:
    """Options completed by their defaults; TypeError for an unknown one."""
    for name in values:
        if name not in defaults:
            raise TypeError(unknown(call, name, values[name], defaults))
    return {**defaults, **values}


def unknown(call: str, name: str, value: Any, known: Iterable[str]) -> str:
    """The text of the error for an unknown option."""
    names = list(known)
    cure = nearest(name, names) or f"use one of {', '.join(names)}"
    return f"{call}({name}={value!r}): no such option: {cure}"
