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
OFFERED = WEB / "mnist" / "own" / "page.js"  # its imports lie beside it in a folder that train.js offers
BESIDE = {"pad.js": "mnist/pad.js", "preprocess.js": "mnist/preprocess.js", "index.d.ts": "program.d.ts"}


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
    for name, source in BESIDE.items():
        shutil.copy(WEB / source, tmp_path / name)
    offered, wrong = shutil.copy(OFFERED, tmp_path / OFFERED.name), tmp_path / "wrong.js"
    wrong.write_text(f"{CHECKED}document.body.inner = 3;\n")
    checked = [*(path for path in scripts if path != OFFERED), offered, wrong]
    done = subprocess.run([*map(str, call), *map(str, checked)], capture_output=True, text=True)
    errors = [line for line in done.stdout.splitlines() if "error" in line]
    assert len(errors) == 1 and "wrong.js" in errors[0], done.stdout
