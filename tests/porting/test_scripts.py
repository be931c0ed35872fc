"""Turns thirty-three PyTorch scripts into ours and runs both: what they print is the same, number by number.

`printed.toml` has what each prints under torch. It is made anew by
`from helpers.ported import write; write()`, PYTHONPATH=src:tests.
"""

import re
from shutil import copyfile

import pytest
from click.testing import CliRunner
from helpers.paths import ROOT
from helpers.ported import SCRIPTS, by_torch, compare, kept, ported, runs

from flambeau.cli import main
from flambeau.porting import convert

# scripts that cost a moment, and between them have loops by hand, several optimisers, closures and helpers
FEW = [
    "polynomial",
    "maml",
    "matrix_factorisation",
    "gradient_habits",
    "neural_style",
    "quickstart",
    "wgan_gp",
]
ON_A_GPU = ["linear_regression", "polynomial", "vae"]
PAGE = (ROOT / "docs" / "from_pytorch.md").read_text(encoding="utf-8")
TABLE = re.findall(r"^\| \[(\w+)\]\(.*?\) \| (\d+) \| (\d+) \|$", PAGE, re.M)


@pytest.mark.parametrize("name", SCRIPTS)
def test_nothing_is_left_and_few_lines_change(name):
    """The table of docs/from_pytorch.md."""
    found = convert(SCRIPTS[name].read_text(encoding="utf-8"), name)
    assert [f"{left.line}: {left.what}: {left.words}" for left in found.left] == []
    assert (name, str(found.lines), str(len(found.changes))) in TABLE
    assert "torch" in found.text and not re.search(r"(import|from) torch", found.text)


def test_the_table_has_all_scripts():
    assert [name for name, _, _ in TABLE] == list(SCRIPTS)


def test_the_page_shows_what_is_printed(tmp_path, monkeypatch):
    shown = re.search(r"^```\n\$ flambeau (port (\w+)\.py -o ours\.py)\n(.*?)```$", PAGE, re.M | re.S)
    assert shown
    monkeypatch.chdir(tmp_path)
    copyfile(SCRIPTS[shown[2]], f"{shown[2]}.py")
    done = CliRunner().invoke(main, shown[1].split())
    assert (done.exit_code, done.output) == (0, shown[3])


@pytest.mark.parametrize("name", FEW)
def test_prints_what_torch_printed(name, monkeypatch):
    compare(name, runs(ported(name), "cpu", monkeypatch), kept()[name])


@pytest.mark.parametrize("name", ON_A_GPU[:1])
def test_prints_what_torch_printed_on_a_gpu(name, monkeypatch, gpu):
    compare(name, runs(ported(name), "gpu", monkeypatch), kept()[name])


@pytest.mark.parametrize("name", SCRIPTS)
def test_prints_what_torch_prints(name, monkeypatch, torch):
    told = by_torch(name)
    compare(name, told, kept()[name])
    compare(name, runs(ported(name), "cpu", monkeypatch), told)


@pytest.mark.parametrize("name", ON_A_GPU)
def test_prints_what_torch_prints_on_a_gpu(name, monkeypatch, gpu, torch):
    compare(name, runs(ported(name), "gpu", monkeypatch), kept()[name])
