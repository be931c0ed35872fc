"""Looks up names of torch in the tables of torch_names/: another name, or why flambeau has none.

tests/helpers/names_of_torch.py explains the parts of a table and compares them with torch.
"""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _tables() -> list[dict[str, Any]]:
    folder = files("flambeau.porting") / "torch_names"
    tables = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return [tomllib.loads(f.read_text(encoding="utf-8")) for f in tables]


def answer(path: str) -> str:
    """Return the tables' advice for a name such as `torch.linalg.eig`, or ""."""
    space, _, name = path.rpartition(".")
    for table in _tables():
        if other := table.get("elsewhere", {}).get(space, {}).get(name):
            return f"write {other}"
        if reason := table.get("absent", {}).get(space, {}).get(name):
            return reason
        # Whole groups of names, by regular expressions.
        for e in table.get("excluded", []):
            if any(re.fullmatch(pattern, path) for pattern in e["names"]):
                return e["why"]
    return ""
