"""Turns the README into what it promises: code that runs, and links to files that exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.paths import ROOT

PAGES = [
    "README.md", "bench/README.md", *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md"))),
]  # fmt: skip


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def code_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)


def local_links(text: str) -> list[str]:
    """The files that links and pictures outside of code name, without their anchors."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S)
    targets = re.findall(r"\]\(([^)\s]+)\)", prose)
    return [t.partition("#")[0] for t in targets if not re.match(r"[a-z]+:|#", t)]


def run_blocks(page: str, folder: Path) -> str:
    """All Python of a page in one process, in order: later blocks may use names of earlier ones."""
    script = folder / "page.py"
    script.write_text("\n".join(code_blocks(text_of(page))), encoding="utf-8")
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "FLAMBEAU_DEVICE": "", "FLAMBEAU_DEBUG": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_runs(tmp_path):
    loss, accuracy = map(float, run_blocks("README.md", tmp_path).splitlines()[0].split())
    assert loss < 0.2 and accuracy > 0.9


CLAIMING = (
    "docs/autodiff.md",
    "docs/correctness.md",
    "docs/devices.md",
    "docs/profiling.md",
    "docs/tuning.md",
)


@pytest.mark.parametrize("page", CLAIMING)
def test_python_of_the_docs_runs(page, tmp_path):
    """These pages assert what they claim."""
    assert code_blocks(text_of(page))
    run_blocks(page, tmp_path)


def test_python_does_what_it_says(gpu, tmp_path):
    """The claim of one kernel, on an adapter: NumPy has no kernels to count."""
    import flambeau as fb

    x, w, b = fb.randn(64, 784, device=gpu), fb.randn(784, 128, device=gpu), fb.zeros(128, device=gpu)
    fb.realize(x, w, b)
    kernels = (x @ w + b).relu().plan()
    assert [k.name for k in kernels] == ["matmul+add+relu"]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    folder = (ROOT / page).parent
    lost = [target for target in local_links(text_of(page)) if not (folder / target).exists()]
    assert not lost


def test_every_module_has_a_line_in_the_architecture():
    text = text_of("docs/architecture.md")
    package = ROOT / "src" / "flambeau"
    names = {p.relative_to(package).parts[0].removesuffix(".py") for p in package.rglob("*.py")}
    missing = [name for name in sorted(names - {"__init__", "__main__"}) if f"`{name}`" not in text]
    assert not missing, "give these modules a row of the table in docs/architecture.md"


def test_the_reading_itself():
    text = "[a](b.md#c) ![d](e.png) [f](https://g) [h](#i) `[j](k)`\n```python\nl\n```\n```\n[m](n)\n```\n"
    assert local_links(text) == ["b.md", "e.png"]
    assert code_blocks(text) == ["l\n"]


def test_every_benchmark_is_described():
    files = [p.name for p in (ROOT / "bench").glob("*.py") if not p.name.startswith("_")]
    told = text_of("bench/README.md")
    assert [name for name in files if name not in told] == []
