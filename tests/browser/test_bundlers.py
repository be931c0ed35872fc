"""An exported program inside an app that Vite, Parcel or esbuild made, by the words of docs/export.md."""

import json
import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from helpers.paths import ROOT

import flambeau as fb
from flambeau.core.files import cache_folder
from flambeau.export.web_module import PROGRAM_FILES
from flambeau.site import node, serve
from flambeau.site.server import address

VERSIONS = {"esbuild": "0.28.2", "parcel": "2.16.4", "vite": "8.3.8"}
SHOWN = "\ndocument.title = JSON.stringify([scores.data.length, best.shape, [...best.data].map(String)]);\n"
PAGE = '<!doctype html><title></title><script type="module" src="{}"></script>'


def modules() -> Path:
    """node_modules with both bundlers, in the cache; skips where they can't be had."""
    npm = node.program("npm")
    if not npm:
        pytest.skip("no bundlers: npm is not installed")
    found = cache_folder("-".join(["bundlers", *(f"{name}-{v}" for name, v in VERSIONS.items())]))
    if not found.is_dir():
        found.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=found.parent) as scratch:
            (Path(scratch) / "new").mkdir()
            (Path(scratch) / "package.json").write_text(
                json.dumps({"private": True, "dependencies": VERSIONS})
            )
            quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--fetch-retries=1"]
            done = subprocess.run([npm, "install", *quiet], cwd=scratch, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"no bundlers: {(done.stderr.strip().splitlines() or ['npm said nothing'])[-1]}")
            try:
                (Path(scratch) / "node_modules").rename(Path(scratch) / "new" / "node_modules")
                (Path(scratch) / "new").rename(found)
            except OSError:
                assert found.is_dir()  # another process was quicker
    return found / "node_modules"


@pytest.fixture(scope="module")
def app(gpu, tmp_path_factory):
    """A folder with the app of the documentation, and what its page is to say."""
    modules()  # or no tests
    folder = tmp_path_factory.mktemp("bundled")
    fb.manual_seed(0)
    net = fb.nn.Linear(4, 3)
    classify = lambda x: {"scores": net(x).softmax(-1), "best": net(x).argmax(-1)}  # noqa: E731
    fb.save_program(classify, {"x": "f32[N, 4]"}, folder / "src" / "net", max_batch=2, target="web")
    (source,) = re.findall(
        r"^```ts\n(.*?)^```$", (ROOT / "docs" / "export.md").read_text("utf-8"), re.M | re.S
    )
    (folder / "src" / "main.ts").write_text(source + SHOWN)
    (folder / "index.html").write_text(PAGE.format("/src/main.ts"))
    wanted = net(fb.tensor([[5.1, 3.5, 1.4, 0.2]])).argmax(-1).tolist()
    return folder, json.dumps([3, [1], list(map(str, wanted))], separators=(",", ":"))


def called(folder: Path, program: str, *arguments: str) -> None:
    """What `npx program ...` does in the app."""
    home = modules() / program
    given = json.loads((home / "package.json").read_text())["bin"]  # a path, or paths by name
    (script,) = [given] if isinstance(given, str) else given.values()
    command = [str(node.program("node")), str(home / script), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


def title(browser, folder: Path) -> str:
    """What the page of a folder says, with nothing that could not be loaded."""
    server = serve(folder, port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context, failed = browser.new_context(), []
    try:
        page = context.new_page()
        page.on("pageerror", lambda e: failed.append(str(e)))
        page.on(
            "response", lambda r: failed.append(r.url) if r.status >= 400 and "favicon" not in r.url else None
        )
        page.goto(address(server))
        page.wait_for_function("document.title || globalThis.failed")
        assert not failed
        return page.title()
    finally:
        context.close()
        server.shutdown()
        server.server_close()


@pytest.mark.share(6, first=1)
def test_vite_takes_the_programs_files_along(app, browser):
    folder, wanted = app
    called(folder, "vite", "build")
    assert title(browser, folder / "dist") == wanted
    names = sorted(re.sub(r"-[\w-]{8}\.", ".", p.name) for p in (folder / "dist" / "assets").iterdir())
    assert {"index.js", "values.js", "program.txt"} <= set(names), names


@pytest.mark.share(6, first=3)
def test_parcel_copies_the_programs_files(app, browser):
    """A program.json became JavaScript, which the module could not read."""
    folder, wanted = app
    shutil.copytree(folder / "src", folder / "parcelled" / "src", dirs_exist_ok=True)
    (folder / "parcelled" / "index.html").write_text(PAGE.format("./src/main.ts"))
    (folder / "parcelled" / "package.json").write_text("{}")
    called(folder / "parcelled", "parcel", "build", "index.html", "--no-cache", "--no-autoinstall")
    names = {re.sub(r"\.[0-9a-f]{8}\.", ".", p.name) for p in (folder / "parcelled" / "dist").iterdir()}
    assert {"program.txt", "kernels.wgsl", "weights.safetensors"} <= names, names
    assert title(browser, folder / "parcelled" / "dist") == wanted


@pytest.mark.share(6, first=5)
def test_esbuild_with_the_files_beside_the_bundle(app, browser):
    folder, wanted = app
    out = folder / "bundle"
    called(folder, "esbuild", "src/main.ts", "--bundle", "--format=esm", "--minify", f"--outdir={out}")
    for name in PROGRAM_FILES:
        shutil.copy(folder / "src" / "net" / name, out)
    (out / "index.html").write_text(PAGE.format("./main.js"))
    assert title(browser, out) == wanted
