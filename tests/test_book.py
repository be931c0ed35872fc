"""The book's cells run in order on a desktop, and print what the chapter says.

FLAMBEAU_BOOK=write writes the printed outputs into the chapters; the reviewer reads the diff.
"""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from helpers.draws import in_turn
from helpers.paths import ROOT

BOOK = ROOT / "docs" / "book"
CHAPTERS = re.findall(r"^\| \[.*?\]\((\w+\.md)\)", (BOOK / "index.md").read_text("utf-8"), flags=re.M)
ON_NUMPY = {"train.md", "gpt.md"}  # nothing printed there is of kernels, which take long to compile here
CELL = re.compile(r"^```python\n(.*?)^```\n(?:\n```output\n(.*?)^```\n)?", flags=re.M | re.S)
MARK = "@cell"
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]\d+)?")


def cells(text: str) -> list[tuple[str, str]]:
    """The code and the printed output of each cell."""
    return [(code, output or "") for code, output in CELL.findall(text)]


def outputs(path: Path, folder: Path) -> list[str]:
    """What each cell prints, run in order in one process."""
    codes = [code for code, _ in cells(path.read_text("utf-8"))]
    script = folder / "chapter.py"
    script.write_text(f"print('{MARK}')\n".join(codes), encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "FLAMBEAU_DEBUG": "", "PYTHONIOENCODING": "utf-8"}
    env["FLAMBEAU_DEVICE"] = "cpu" if path.name in ON_NUMPY else ""
    env["FLAMBEAU_KERNELS"] = "software"  # as index.md says of the printed outputs
    done = subprocess.run(
        [sys.executable, script], cwd=folder, env=env, capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(f"{MARK}\n")


def close(printed: str, found: str) -> bool:
    """Whether two outputs have the same words, and numbers within rounding."""
    if NUMBER.split(printed) != NUMBER.split(found):
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(found), strict=True)
    return all(abs(float(a) - float(b)) <= 1e-3 + 1e-2 * abs(float(a)) for a, b in pairs)


@pytest.mark.parametrize("chapter", in_turn(CHAPTERS, 6))
def test_a_chapter_prints_what_it_says(chapter, tmp_path):
    path = BOOK / chapter
    found = outputs(path, tmp_path)
    if os.environ.get("FLAMBEAU_BOOK") == "write":
        rest = iter(found)
        text = CELL.sub(lambda m: with_output(m[1], next(rest)), path.read_text("utf-8"))
        path.write_text(text, "utf-8")
    for (code, printed), one in zip(cells(path.read_text("utf-8")), found, strict=True):
        assert close(printed, one), f"{chapter}:\n{code}\nprints\n{one}\nand not\n{printed}"


def with_output(code: str, output: str) -> str:
    return f"```python\n{code}```\n" + (f"\n```output\n{output}```\n" if output else "")


def test_each_chapter_is_there_and_leads_to_the_next():
    assert len(CHAPTERS) == 6 and {*CHAPTERS, "index.md"} == {path.name for path in BOOK.iterdir()}
    for chapter, following in pairwise(CHAPTERS):
        assert re.search(rf"^Next: \[.*\]\({following}\)\.$", (BOOK / chapter).read_text("utf-8"), flags=re.M)
    assert all(len(cells((BOOK / chapter).read_text("utf-8"))) >= 4 for chapter in CHAPTERS)
