"""The scripts of the pages, as TypeScript reads them: each begins with `// @ts-check`."""

import shutil
import subprocess

import pytest
from helpers.paths import ROOT
from helpers.typescript import compiler

from flambeau.errors import FlambeauError
from flambeau.site import node

WEB = ROOT / "web"
LOOSE = ["--noEmit", "--allowJs", "--skipLibCheck", "--pretty", "false"]
MODULES = ["--module", "esnext", "--moduleResolution", "bundler", "--moduleDetection", "force"]
PAGES = ["--target", "es2024", "--lib", "es2024,dom,dom.iterable"]
CHECKED = "// @ts-check\n"
# of a folder that a page offers: the names of its modules, and where those are in web/
OFFERED = {
    "mnist": ("pad.js", "preprocess.js"),
    "cartpole": ("drive.js", "scene.js"),
}


def offered_folder(folder, page):
    """The scripts of a folder that a page offers, as they lie there side by side."""
    folder.mkdir()
    for name in OFFERED[page]:
        shutil.copy(WEB / page / name, folder / name)
    shutil.copy(WEB / "program.d.ts", folder / "index.d.ts")
    shutil.copy(WEB / page / "own" / "page.js", folder / "page.js")
    return folder


def test_scripts_of_pages_have_no_type_errors(tmp_path):
    every = [path for kind in ("*.js", "*.mjs") for path in WEB.rglob(kind)]
    scripts = [path for path in every if path.read_text("utf-8").startswith(CHECKED)]
    others = [path.relative_to(WEB).as_posix() for path in every if path not in scripts]
    assert not others, f"without {CHECKED!r}: {others}"
    program = node.program("node")
    if not program:
        pytest.skip("no TypeScript: Node.js is not installed")
    try:
        call = [program, compiler(), *LOOSE, *MODULES, *PAGES, WEB / "types.d.ts"]
    except FlambeauError as e:
        pytest.skip(f"no TypeScript: {e}")
    folders = [offered_folder(tmp_path / page, page) for page in OFFERED]
    wrong = tmp_path / "wrong.js"
    wrong.write_text(f"{CHECKED}document.body.inner = 3;\n")
    offered = [folder / "page.js" for folder in folders]
    checked = [*(path for path in scripts if path.parent.name != "own"), *offered, wrong]
    done = subprocess.run([*map(str, call), *map(str, checked)], capture_output=True, text=True)
    errors = [line for line in done.stdout.splitlines() if "error" in line]
    assert len(errors) == 1 and "wrong.js" in errors[0], done.stdout
