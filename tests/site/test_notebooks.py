"""Pages as notebooks: what becomes a cell, and each notebook's cells, run from top to bottom."""

import json
import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner
from helpers.draws import in_turn
from helpers.paths import ROOT

from flambeau.cli import main
from flambeau.site.docs import linker, sources
from flambeau.site.notebooks import NOTEBOOKS, attach_pictures, notebook, notebooks

# In place of a kernel of Jupyter: the magics that the notebooks use, in one process.
KERNEL = """
import json, runpy, shlex, sys
from pathlib import Path
from click.testing import CliRunner
from flambeau.cli import main

sys.path.insert(0, "")
space = {"__name__": "__main__"}
for cell in json.loads(Path("page.ipynb").read_text("utf-8"))["cells"]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        continue
    if source.startswith("%%writefile "):
        name, _, body = source.removeprefix("%%writefile ").partition("\\n")
        Path(name).write_text(body + "\\n", "utf-8")
        continue
    lines = source.splitlines()
    for line in [line[1:] for line in lines if line.startswith("!")]:
        program, *arguments = shlex.split(line)
        if program == "python":
            runpy.run_path(arguments[0], run_name="__main__")
        else:
            done = CliRunner().invoke(main, arguments, catch_exceptions=False)
            assert done.exit_code == 0, done.output
    exec("\\n".join(line for line in lines if not line.startswith("!")), space)
"""
# The tutorial with fewer photographs and epochs, so that it is short.
SHORTER = (("COUNT = 200", "COUNT = 10"), ("EPOCHS = 8", "EPOCHS = 1"), ("[480, 120]", "[24, 6]"),
           ("EPOCHS * 15", "EPOCHS * 3"), ("DataLoader(train, 32", "DataLoader(train, 8"))  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize("name", in_turn(NOTEBOOKS, 4))
def test_cells_run(name, tmp_path):
    text = notebooks(sources(), linker, lambda _: b"")[f"{name}.ipynb"].decode()
    if name == "tutorial":
        for old, new in SHORTER:
            assert old in text
            text = text.replace(old, new)
    (tmp_path / "page.ipynb").write_text(text, "utf-8")
    (tmp_path / "kernel.py").write_text(KERNEL, "utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "FLAMBEAU_DEVICE": "", "FLAMBEAU_DEBUG": ""}
    call = [sys.executable, "kernel.py"]
    done = subprocess.run(call, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    if name == "tutorial":
        shown = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()}
        assert {"history.png", "worst.png", "runs/first/best.safetensors", "page/index.html"} <= shown


def test_what_becomes_a_cell():
    text = (
        "# One\n\nSee [data](data.md) and ![it](images/x.png).\n\n```python\n# net.py\nx = 1\n```\n\n"
        "Text.\n\n"
        "```python\ny = 2\n```\n```\npython net.py     # runs it\n```\n```\nepoch 1  loss 2\n```\n"
        "```\nflambeau web serve page --open\n```\n```\nflambeau docs --open\n```\nEnd.\n"
    )
    page = notebook(text, lambda target: f"../{target}".replace(".md", ".html"))
    found = [(cell["cell_type"], "".join(cell["source"])) for cell in page["cells"]]
    assert found[0] == ("markdown", "# One\n\nSee [data](../data.html) and ![it](../images/x.png).")
    assert found[1][0] == "markdown" and "pip install 'flambeau[train,data]'" in found[1][1]
    assert found[2:6] == [
        ("code", "%%writefile net.py\nx = 1"),
        ("markdown", "Text."),
        ("code", "y = 2"),
        ("code", "!python net.py"),
    ]
    (rest,) = found[6:]
    assert rest[0] == "markdown" and "epoch 1" in rest[1] and "serve" in rest[1] and rest[1].endswith("End.")
    assert page["nbformat"] == 4 and len({cell["id"] for cell in page["cells"]}) == len(found)
    assert all(re.fullmatch(r"[\w-]{1,64}", cell["id"]) for cell in page["cells"])


def test_pictures_are_in_the_file():
    page = notebook("# One\n\n![it](images/x.png) and ![that](images/y.png)\n", lambda target: f"../{target}")
    attach_pictures(page, lambda name: name.encode())
    (first, _) = page["cells"]
    assert "".join(first["source"]).endswith("![it](attachment:x.png) and ![that](attachment:y.png)")
    assert first["attachments"] == {"x.png": {"image/png": "eC5wbmc="}, "y.png": {"image/png": "eS5wbmc="}}


def test_the_command_writes_them(tmp_path):
    done = CliRunner().invoke(main, ["docs", "--notebooks", str(tmp_path / "n")])
    assert done.exit_code == 0 and "tutorial.ipynb" in done.output
    for name in NOTEBOOKS:
        page = json.loads((tmp_path / "n" / f"{name}.ipynb").read_text("utf-8"))
        # links lead to the pages in the folder above, or to other places
        for cell in page["cells"]:
            if cell["cell_type"] == "markdown":
                text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", "".join(cell["source"]), flags=re.M | re.S)
                for target in re.findall(r"\]\(([^)\s]+)\)", text):
                    assert target.startswith(("../", "#", "http", "attachment:")), (name, target)
