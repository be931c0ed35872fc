"""Every example runs for a few steps, in a folder of its own, without a network; its page names it."""

import ast
import re
import runpy
import sys

import pytest
from helpers.draws import in_turn
from helpers.paths import ROOT

import flambeau as fb
from flambeau.data.mnist import SUBSET

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SHORTER = {"ddpm": ["--levels", "3"], "text_generation": ["--write", "3"]}  # what else takes time
NUMBER = re.compile(r"-?\d+\.?\d*")


@pytest.mark.parametrize("path", in_turn(EXAMPLES, 4), ids=lambda path: path.stem)
def test_a_few_steps_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLAMBEAU_DATA", str(SUBSET))
    monkeypatch.setattr(sys, "argv", [str(path), "--steps", "2", *SHORTER.get(path.stem, [])])
    fb.set_default_device("cpu")  # kernels are tested elsewhere, and take time to compile
    try:
        runpy.run_path(str(path), run_name="__main__")
    finally:
        fb.set_default_device(None)
    told = capsys.readouterr().out
    assert NUMBER.search(told) and not re.search(r"\b(nan|inf)\b", told), told


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_it_reads_as_a_page(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 150
    doc = ast.get_docstring(ast.parse(text)) or ""
    title, command, *result = [part for part in doc.split("\n\n") if part]
    assert command == f"python examples/{path.name}" and "\n" not in title
    assert NUMBER.search("\n".join(result)), "say what comes out, as it was measured"


def test_the_page_has_a_row_for_each():
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\w+)\]\(\.\./examples/\1\.py\) \|", page, flags=re.M)
    assert sorted(rows) == [path.stem for path in EXAMPLES]


PLAYGROUND = sorted((ROOT / "web" / "playground" / "examples").glob("*.py"))


@pytest.mark.parametrize("path", in_turn(PLAYGROUND, 3), ids=lambda path: path.stem)
def test_an_example_of_the_playground_runs_on_a_desktop(path, capsys):
    device = "gpu" if path.stem == "shader" else "cpu"  # plan and wgsl are of a GPU's kernels
    fb.set_default_device(device)
    try:
        runpy.run_path(str(path), run_name="__main__")
    finally:
        fb.set_default_device(None)
    assert capsys.readouterr().out


def test_the_playground_lists_its_examples():
    page = (ROOT / "web" / "playground" / "page.js").read_text(encoding="utf-8")
    listed = re.findall(r"\b(\w+): \"", page.partition("const EXAMPLES = {")[2].partition("};")[0])
    assert sorted(listed) == [path.stem for path in PLAYGROUND]
    for path in PLAYGROUND:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
