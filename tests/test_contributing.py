"""docs/contributing.md: follows the recipes of an elementwise op and of a device to the letter."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from helpers.paths import ROOT

# file of a block: the start of the line before which it is inserted, or the line after which it is inserted,
# in the order of the page; "" for a new file
PLACES = {
    "src/flambeau/ops/elementwise.py": '@compare("isnan"',
    "src/flambeau/ops/table.py": "    from .elementwise import (",
    "src/flambeau/functions.py": "from .ops.elementwise import (",
    "src/flambeau/functions.py#": "__all__ = [\n",
    "wgsl/lib/elementwise.wgsl": "{% macro square(",
    "src/flambeau/legalize/integers.py": '    "square": ',
    "tests/rows/elementwise.py": '    "square": ',
}
DEVICE_PLACES = {
    "src/flambeau/device/counting.py": "",
    "src/flambeau/device/__init__.py": "OPENED: dict[str, Any] = {",
    "src/flambeau/device/__init__.py#": '    "cpu": _open_numpy,\n',
}


# computes every dtype of the row's kinds with kernels and with NumPy, and compares with the row
TRIED = """
import numpy as np
import flambeau as fb
from rows import ROWS

given = np.array([0, 1, 3])
kinds = "f" + ROWS["cube"].kinds
dtypes = [d for d in fb.core.dtype.DTYPES.values() if d.kind in kinds and d is not fb.float64]
for device in (None, "cpu"):
    xs = [fb.tensor(given, dtype, device) for dtype in dtypes]
    right = [np.array_equal(y.float().numpy(), ROWS["cube"].expected(given)) for y in map(fb.cube, xs)]
    x = fb.tensor([0.0, 1.0, 3.0], device=device, requires_grad=True)
    print(all(right) and len(right) == 11 and x.cube().sum().backward()[x].tolist() == [0, 3, 27])
"""


# computes on the new device, and compares with numbers
DEVICE_TRIED = """
import flambeau as fb

x = fb.tensor([1.0, 2.0, 3.0], device="counting", requires_grad=True)
y = (x * x).sum()
gradient = y.backward()[x].tolist()
print(y.item() == 14 and gradient == [2, 4, 6] and str(x.device) == "counting" and x.device.count > 0)
"""


def blocks(recipe: str) -> list[tuple[str, str]]:
    """(path as the page has it, lines to add) for each block: the path is its paragraph's first."""
    text = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    section = text.partition(f"## {recipe}\n")[2].partition("\n## ")[0]
    pairs = re.findall(r"(?:^|\n```\n)((?:(?!```).)+?)\n```\n(.+?)(?=\n```\n)", section, re.S)
    return [(re.findall(r"`([\w/]+\.(?:py|wgsl))`", before)[0], lines) for before, lines in pairs]


def follow(recipe: str, places: dict[str, str], root: Path) -> int:
    """Insert the blocks of a recipe in a copy of the tree; the number of their lines."""
    steps = blocks(recipe)
    assert len(steps) == len(places)
    for (path, lines), (place, before) in zip(steps, places.items(), strict=True):
        place = place.removesuffix("#")
        assert place.endswith(path)
        file = root / place
        if not before:
            file.write_text(lines + "\n", encoding="utf-8")
            continue
        text = file.read_text(encoding="utf-8")
        assert text.count(before) == 1
        indent = before[: len(before) - len(before.lstrip())]
        added = f"{before}{indent}{lines}\n" if before.endswith("\n") else f"{indent}{lines}\n{before}"
        file.write_text(text.replace(before, added), encoding="utf-8")
    return sum(bool(line.strip()) for _, lines in steps for line in lines.splitlines())


def output(code: str, root: Path) -> str:
    """What a program prints that imports the copy of the tree."""
    paths = [str(root / name) for name in ("src", "tests")]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout or done.stderr


def test_an_elementwise_op_by_the_letter(tmp_path):
    for folder in ("src", "wgsl", "tests/rows", "tests/references"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    follow("An elementwise op", PLACES, tmp_path)
    assert output(TRIED, tmp_path) == "True\n" * 2


def test_a_device_by_the_letter(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src")
    count = follow("A device", DEVICE_PLACES, tmp_path)
    text = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    assert f"A complete one is {count} lines" in text
    assert output(DEVICE_TRIED, tmp_path) == "True\n"
