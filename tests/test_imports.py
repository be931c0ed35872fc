"""Names that files outside the package import from it exist: pages, examples, benches, scripts, tests."""

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers.paths import ROOT

pytestmark = pytest.mark.usefixtures("uncollected")

FOLDERS = "web", "examples", "bench", "scripts", "tests"


def names_of(path: Path) -> Iterator[tuple[str, str]]:
    """The modules of the package that a file imports names from, with each name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and not node.level and f"{node.module}.".startswith("flambeau."):
            yield from ((str(node.module), alias.name) for alias in node.names if alias.name != "*")


def is_there(module: str, name: str) -> bool:
    return hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None


def test_names_that_are_imported_exist():
    wanted = {
        (path.relative_to(ROOT).as_posix(), *name)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        for name in names_of(path)
    }
    known = {pair: is_there(*pair) for pair in {(module, name) for _, module, name in wanted}}
    assert len(known) > 500
    assert not sorted(row for row in wanted if not known[row[1:]])
