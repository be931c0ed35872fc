"""Options by keyword into those that there are, with what they are by default."""

from collections.abc import Iterable
from typing import Any

from ..errors import nearest


def options(call: str, given: Any, defaults: Any) -> Any:
    """Options with what they are by default; TypeError for one that there is not."""
    for name in given:
        if name not in defaults:
            raise TypeError(unknown(call, name, given[name], defaults))
    return {**defaults, **given}


def unknown(call: str, name: str, value: Any, known: Iterable[str]) -> str:
    """What is said of an argument that there is not."""
    names = list(known)
    cure = nearest(name, names) or f"use one of {', '.join(names)}"
    return f"{call}({name}={value!r}): no such option: {cure}"
