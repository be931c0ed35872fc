"""docs/contributing.md: follows each recipe with code to the letter, and counts its lines and files."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from helpers.paths import ROOT

TEXT = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
# By recipe, the file of each block in the order of the page: the start of the line before which it is
# inserted, or the line after which it is inserted; "" for a new file. `#` tells apart blocks of one file.
PLACES = {
    "An elementwise op": {
        "src/flambeau/ops/elementwise.py": '@compare("isnan"',
        "src/flambeau/ops/table.py": "    from .elementwise import (",
        "src/flambeau/functions.py": "from .ops.elementwise import (",
        "src/flambeau/functions.py#": "__all__ = [\n",
        "wgsl/lib/elementwise.wgsl": "{% macro square(",
        "src/flambeau/legalize/integers.py": '    "square": ',
        "tests/rows/elementwise.py": '    "square": ',
    },
    "A device": {
        "src/flambeau/device/counting.py": "",
        "src/flambeau/device/__init__.py": "OPENED: dict[str, Any] = {",
        "src/flambeau/device/__init__.py#": '    "cpu": _open_numpy,\n',
    },
    "An optimiser": {
        "src/flambeau/optim/sign.py": "class Rprop(Optimizer):",
        "src/flambeau/optim/__init__.py": "from .sign import ",
        "src/flambeau/optim/__init__.py#": '    "SparseAdam",',
    },
    "A loss": {
        "src/flambeau/ops/loss.py": "@composed\ndef soft_margin_loss(",
        "src/flambeau/nn/functional.py": "from ..ops.loss import (",
        "src/flambeau/nn/functional.py#": "__all__ = [\n",
        "src/flambeau/nn/loss.py": "class SoftMarginLoss(",
        "src/flambeau/nn/__init__.py": "from .loss import (",
        "src/flambeau/nn/__init__.py#": "__all__ = [\n",
        "tests/rows/loss.py": '    "soft_margin_loss": ',
    },
    "A metric": {
        "src/flambeau/metrics/regression.py": "class LogCoshError(",
        "src/flambeau/metrics/__init__.py": "from .regression import (",
        "src/flambeau/metrics/__init__.py#": '    "MeanMetric",\n',
    },
    "An ONNX operator": {"src/flambeau/onnx/operators/activation.py": '@operator("Mish"'},
    "A file format": {
        "src/flambeau/io/vec.py": "",
        "src/flambeau/io/formats.py": "from . import gguf, ",
        "src/flambeau/io/formats.py#": "TORCH = FileKind(",
        "src/flambeau/io/formats.py##": '    if begin[:4] == b"GGUF":',
        "src/flambeau/io/checkpoint.py": "from .sources import ",
        "src/flambeau/io/checkpoint.py#": "WRITERS.update(",
    },
    "A model family": {
        "src/flambeau/models/perceptron.py": "",
        "src/flambeau/models/__init__.py": '    "pretrained": ',
        "src/flambeau/models/registry.py": "from . import convnext, ",
        "src/flambeau/models/registry.py#": "NETWORKS: dict[str, Make] = {\n",
        "src/flambeau/models/pretrained.py": "from .registry import ",
        "src/flambeau/models/pretrained.py#": '    "bert": BertModel,\n',
    },
    "A docs page": {
        "docs/counting.md": "",
        "docs/index.md": "| [Internals]",
        "tests/test_readme.py": '    "docs/autodiff.md",\n',
    },
}
# Each prints True for a recipe: computes what was added, and compares with numbers.
TRIED = """
import numpy as np
import flambeau as fb
from flambeau.onnx.operators.table import find
from rows import ROWS

given = np.array([0, 1, 3])
kinds = "f" + ROWS["cube"].kinds
dtypes = [d for d in fb.core.dtype.DTYPES.values() if d.kind in kinds and d is not fb.float64]
for device in (None, "cpu"):
    xs = [fb.tensor(given, dtype, device) for dtype in dtypes]
    right = [np.array_equal(y.float().numpy(), ROWS["cube"].expected(given)) for y in map(fb.cube, xs)]
    x = fb.tensor([0.0, 1.0, 3.0], device=device, requires_grad=True)
    print(all(right) and len(right) == 11 and x.cube().sum().backward()[x].tolist() == [0, 3, 27])
x = fb.tensor([1.0, 2.0, 3.0], device="counting", requires_grad=True)
y = (x * x).sum()
gradient = y.backward()[x].tolist()
print(y.item() == 14 and gradient == [2, 4, 6] and str(x.device) == "counting" and x.device.count > 0)

fb.set_default_device("cpu")
w = fb.tensor([1.0, -1.0, 0.5], requires_grad=True)
fb.optim.SignSGD([w], lr=0.25).step((w * fb.tensor([3.0, -2.0, 0.0])).sum().backward())
print(w.tolist() == [0.75, -0.75, 0.5])
scores, signs = fb.tensor([2.0, -1.0, 0.5]), fb.tensor([1.0, 1.0, -1.0])
losses = [fb.nn.SquaredHinge()(scores, signs), fb.nn.functional.squared_hinge(scores, signs, "sum")]
expected = ROWS["squared_hinge"].expected(np.ones((3, 5), np.float32))
print(np.allclose([loss.item() for loss in losses], [6.25 / 3, 6.25]) and np.isclose(expected, 1.6))
metric = fb.metrics.MeanCubedError()
metric.update(fb.tensor([1.0, 4.0]), fb.tensor([3.0, 3.0]))
x = fb.tensor([1.0, 2.0])
print(metric.compute() == 4.5 == fb.metrics.functional.mean_cubed_error(x, x - 1.5).item() / 0.75)
print(find("", "SquaredRelu", 20).function(scores, alpha=2.0).tolist() == [8, 0, 0.5])
fb.save({"vector": scores}, "scores.vec")
vectors = [fb.load("scores.vec")["vector"], fb.io.open_weights("scores.vec")["vector"]]
print([v.tolist() for v in vectors] == [[2, -1, 0.5]] * 2)
model = fb.models.create_model("perceptron", 5)
print(model(fb.ones(2, 3, 28, 28)).shape == (2, 5) and "perceptron" in fb.models.list_models())
"""


def blocks(recipe: str) -> list[tuple[str, str]]:
    """(path as the page has it, lines to add) for each block: the path is its paragraph's first."""
    section = TEXT.partition(f"## {recipe}\n")[2].partition("\n## ")[0]
    out, before, lines, fence = [], "", [], ""
    for line in section.splitlines():
        if not fence and line in ("```", "~~~"):
            fence, lines = line, []
        elif fence and line == fence:
            out.append((re.findall(r"`([\w/]+\.(?:py|wgsl|md))`", before)[0], "\n".join(lines)))
            fence, before = "", ""
        elif fence:
            lines.append(line)
        else:
            before += f"{line}\n"
    return out


def follow(recipe: str, root) -> tuple[int, int]:
    """Insert the blocks of a recipe in a copy of the tree; the number of their lines and of their files."""
    steps, places = blocks(recipe), PLACES[recipe]
    assert len(steps) == len(places)
    for (path, lines), (place, before) in zip(steps, places.items(), strict=True):
        place = place.rstrip("#")
        assert place.endswith(path)
        file = root / place
        if not before:
            file.write_text(lines + "\n", encoding="utf-8")
            continue
        text = file.read_text(encoding="utf-8")
        assert text.count(before) == 1, (place, before)
        indent = before[: len(before) - len(before.lstrip())] if before[-1] != "\n" else "    "
        indent = "" if before.startswith("|") else indent
        added = "\n".join(indent + line if line else line for line in lines.split("\n"))
        file.write_text(
            text.replace(before, f"{before}{added}\n" if before[-1] == "\n" else f"{added}\n{before}"),
            encoding="utf-8",
        )
    count = sum(bool(line.strip()) for _, lines in steps for line in lines.splitlines())
    return count, len({path for path, _ in steps})


@pytest.mark.parametrize("recipe", PLACES)
def test_each_recipe_counts_its_lines(recipe):
    steps = blocks(recipe)
    lines = sum(bool(line.strip()) for _, text in steps for line in text.splitlines())
    files = len({path for path, _ in steps})
    section = TEXT.partition(f"## {recipe}\n\n")[2]
    assert section.startswith(f"{lines} lines in {files} file{'s'[: files > 1]}; ")
    assert re.match(r".*; (about )?(an hour|\d+ minutes)\.\n", section)


def test_the_recipes_by_the_letter(tmp_path):
    """All in one copy of the tree and one process."""
    for folder in ("src", "wgsl", "tests/rows", "tests/references"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for page in ("docs/index.md", "tests/test_readme.py"):
        (tmp_path / page).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / page, tmp_path / page)
    for recipe in PLACES:
        follow(recipe, tmp_path)
    page = (tmp_path / "docs/counting.md").read_text(encoding="utf-8")
    code = TRIED + re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)[0]
    paths = [str(tmp_path / name) for name in ("src", "tests")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "True\n" * 9, done.stdout + done.stderr
