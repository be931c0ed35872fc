"""Names of timm in sizes that a CPU trains, from tests/torch_mode/timm_names.toml."""

import tomllib
from pathlib import Path
from typing import Any

from helpers.library_cases import Case, timm

FILE = Path(__file__).parents[1] / "torch_mode" / "timm_names.toml"


def rows() -> dict[str, dict[str, Any]]:
    """The row of each name."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def variables(mode: str) -> dict[str, str]:
    """What a process's environment says for a mode."""
    return {"FLAMBEAU_LIBRARY_DTYPE": "float64"} if mode == "float64" else {}


def case(name: str, row: dict[str, Any]) -> Case:
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in row["options"].items()}
    return timm(name, row["size"], count=3 if row["mode"] == "train" else 1, **options)


CASES: dict[str, Case] = {name: case(name, row) for name, row in rows().items()}
