"""The modules and names of torch 2.13, read from names.bin (written by scripts/write_torch_names.py)."""

import ast
import zlib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _lines() -> dict[str, str]:
    """Each module of torch with the text of its names."""
    text = zlib.decompress((Path(__file__).parent / "names.bin").read_bytes()).decode()
    parts = (line.partition("|") for line in text.split("\n"))
    return {name: rest for name, _, rest in parts}


def is_module(name: str) -> bool:
    """Whether torch has a module of this name."""
    return name in _lines()


def is_closed(module: str) -> bool:
    """Whether the names of a module are not listed: every name is taken to exist."""
    return not _lines().get(module)


def modules() -> list[str]:
    """The names of all modules."""
    return list(_lines())


@cache
def names_of(module: str) -> dict[str, tuple[str, str]]:
    """Each name of a module with its kind (c, f, o, v, r, m or x) and the text of its value (v, m, x)."""
    out: dict[str, tuple[str, str]] = {}
    for part in filter(None, _lines().get(module, "").split("|")):
        kind, _, names = part.partition(":")
        for entry in names.split("\t"):
            name, _, value = entry.partition("=")
            out[name] = kind, value
    return out


def _length(module: str) -> tuple[int, int]:
    return module.count("."), len(module)


@cache
def homes() -> dict[str, list[str]]:
    """Each name with the modules that define it, those with short names first."""
    out: dict[str, list[str]] = {}
    for module in sorted(_lines(), key=_length):
        for name, (kind, _) in names_of(module).items():
            if kind in "cfov":
                out.setdefault(name, []).append(module)
    return out


def constant(text: str) -> Any:
    """The value of a constant."""
    return float(text) if text.lstrip("-") in ("inf", "nan") else ast.literal_eval(text)
