"""docs/contributing.md: follows the recipe of an elementwise op to the letter."""

import os
import re
import shutil
import subprocess
import sys

from helpers.paths import ROOT

# file of a block: the start of the line before which it is inserted, or the line after which it is inserted,
# in the order of the page
PLACES = {
    "src/flambeau/ops/elementwise.py": '@compare("isnan"',
    "src/flambeau/ops/table.py": "    from .elementwise import (",
    "src/flambeau/functions.py": "from .ops.elementwise import (",
    "src/flambeau/functions.py#": "__all__ = [\n",
    "wgsl/lib/elementwise.wgsl": "{% macro square(",
    "src/flambeau/legalize/integers.py": '    "square": ',
    "tests/rows/elementwise.py": '    "square": ',
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


def blocks() -> list[tuple[str, str]]:
    """(path as the page has it, line to add) for each block: the path is its paragraph's first."""
    text = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    recipe = text.partition("## An elementwise op\n")[2].partition("\n## ")[0]
    pairs = re.findall(r"(?:^|\n```\n)((?:(?!```).)+?)\n```\n(.+?)(?=\n```\n)", recipe, re.S)
    return [(re.findall(r"`([\w/]+\.(?:py|wgsl))`", before)[0], line) for before, line in pairs]


def test_an_elementwise_op_by_the_letter(tmp_path):
    for folder in ("src", "wgsl", "tests/rows", "tests/references"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    steps = blocks()
    assert len(steps) == len(PLACES)
    for (path, line), (place, before) in zip(steps, PLACES.items(), strict=True):
        place = place.removesuffix("#")
        assert place.endswith(path)
        file = tmp_path / place
        text = file.read_text(encoding="utf-8")
        assert text.count(before) == 1
        indent = before[: len(before) - len(before.lstrip())]
        added = f"{before}{line}\n" if before.endswith("\n") else f"{indent}{line}\n{before}"
        file.write_text(text.replace(before, added), encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("src", "tests")]
    done = subprocess.run(
        [sys.executable, "-c", TRIED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "True\n" * 2, done.stdout + done.stderr
