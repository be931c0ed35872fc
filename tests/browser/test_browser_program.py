"""A saved program in a page's Python: from bytes that were fetched, and from its file system."""

import re

import pytest
from helpers.paths import ROOT

import flambeau as fb
from flambeau import nn

DOCS = ROOT / "docs" / "export.md"
INPUT = [[0.1 * (i * j % 7) - 0.2 for i in range(12)] for j in range(5)]

LOADED = f"""
import sys
from pathlib import Path
import flambeau as fb
from pyodide.http import pyfetch

await fb.open_device()
files = {{}}
for name in ("program.txt", "kernels.wgsl", "weights.safetensors"):
    files[name] = await (await pyfetch(f"mlp/{{name}}")).bytes()
Path("mlp").mkdir(exist_ok=True)
for name, data in files.items():
    Path("mlp", name).write_bytes(data)
x = {INPUT}
programs = fb.load_program(files), fb.load_program("mlp"), fb.load_program("mlp")
found = [(await programs[0](x).read()).tolist(), (await programs[1](input=fb.tensor(x)).read()).tolist()]
one = (await programs[2](x[:1]).read()).tolist()
[*found, one, repr(programs[0]), "numpy" in sys.modules]
"""


@pytest.fixture(scope="module")
def wanted(site_folder, gpu):
    """What the program in the site's folder mlp gives on the desktop."""
    fb.manual_seed(4)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 5), nn.Softmax(-1))
    fb.save_program(model, "f32[N, 12]", site_folder / "mlp", max_batch=8)
    return fb.load_program(site_folder / "mlp")(fb.tensor(INPUT)).tolist()


def near(rows):
    return [pytest.approx(row, abs=1e-4) for row in rows]


def test_bytes_and_files_give_the_desktops_numbers(python, wanted):
    from_bytes, from_files, one, shown, numpy = python.run(LOADED)
    assert from_bytes == near(wanted)
    assert from_files == from_bytes
    assert one == near(wanted[:1])
    assert shown == "SavedProgram(input=f32[N, 12])"
    assert not numpy


def test_typed_arrays_by_name_are_bytes(python, wanted):
    """A page that fetches in JavaScript hands the files over in one call."""
    python.install(
        "loader.py",
        """import flambeau as fb
async def run(files, x):
    await fb.open_device()
    return await fb.load_program(files)(fb.tensor(x).reshape(-1, 12)).read()
""",
    )
    found = python.page.evaluate(
        """async (x) => {
            const names = ["program.txt", "kernels.wgsl", "weights.safetensors"];
            const bytes = async (name) => new Uint8Array(await (await fetch(`/mlp/${name}`)).arrayBuffer());
            const files = Object.fromEntries(await Promise.all(names.map(async (n) => [n, await bytes(n)])));
            return [...(await python.call("loader.run", files, new Float32Array(x)))];
        }""",
        [v for row in INPUT for v in row],
    )
    assert found == pytest.approx([v for row in wanted for v in row], abs=1e-4)


def test_the_documentation_runs(python, site_folder, monkeypatch, gpu):
    first, *_, second = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text("utf-8"), re.M | re.S)
    monkeypatch.chdir(site_folder)
    made: dict = {}
    exec(first, made)
    found = python.run(f"{second}\n[scores, best]")
    here = made["program"](fb.ones(2, 4))
    assert found == [near(here["scores"].tolist()), here["best"].tolist()]
