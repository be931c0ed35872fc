"""The scripts of the pages, as TypeScript reads them: those that begin with `// @ts-check`."""

import subprocess

import pytest
from helpers.paths import ROOT
from helpers.typescript import compiler

from flambeau.errors import FlambeauError
from flambeau.site import node

LOOSE = ["--noEmit", "--allowJs", "--skipLibCheck", "--pretty", "false", "--moduleResolution", "bundler"]
PAGES = ["--target", "es2024", "--module", "esnext", "--lib", "es2024,dom,dom.iterable"]
CHECKED = "// @ts-check\n"
# of workers, plain scripts, exported programs (which have types of their own), kernels, the page of images
UNCHECKED = {
    "executor.js", "image/network.js", "image/own.js", "image/page.js", "image/picture.js", "loading.js",
    "mnist/kernels.js", "mnist/own/page.js", "program.js", "sw.js", "values.js", "wgsl.js", "worker.js",
}  # fmt: skip


def test_scripts_of_pages_have_no_type_errors(tmp_path):
    every = {path.relative_to(ROOT / "web").as_posix(): path for path in (ROOT / "web").rglob("*.js")}
    scripts = [path for path in every.values() if path.read_text("utf-8").startswith(CHECKED)]
    others = {place for place, path in every.items() if path not in scripts}
    assert others == UNCHECKED, f"without {CHECKED!r}, or named though with it: {others ^ UNCHECKED}"
    program = node.program("node")
    if not program:
        pytest.skip("no TypeScript: Node.js is not installed")
    try:
        call = [program, compiler(), *LOOSE, *PAGES, ROOT / "web" / "types.d.ts"]
    except FlambeauError as e:
        pytest.skip(f"no TypeScript: {e}")
    wrong = tmp_path / "wrong.js"
    wrong.write_text(f"{CHECKED}document.body.inner = 3;\n")
    done = subprocess.run([*map(str, call), *map(str, [*scripts, wrong])], capture_output=True, text=True)
    errors = [line for line in done.stdout.splitlines() if "error" in line]
    assert len(errors) == 1 and "wrong.js" in errors[0], done.stdout
