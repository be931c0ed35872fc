"""Renames the weights of another library to the names used here."""

import re
from collections.abc import Iterable, Mapping
from typing import Any


def rename_weights(state: Mapping[str, Any], rows: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Apply each (pattern, replacement) to the names of a state_dict, in order."""
    out: dict[str, Any] = {}
    for name, value in state.items():
        for pattern, new in rows:
            name = re.sub(pattern, new, name)
        out[name] = value
    return out


def without(state: Mapping[str, Any], *patterns: str) -> dict[str, Any]:
    """Return a state_dict without the names that match one of the patterns."""
    return {n: t for n, t in state.items() if not any(re.search(p, n) for p in patterns)}
