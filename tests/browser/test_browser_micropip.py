"""flambeau in a page that is none of ours, which has a plain Pyodide: by micropip, and by a lock."""

import hashlib
import json
import shutil
import threading
import zipfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.packaging import built_wheel
from helpers.paths import ROOT

from flambeau.cli import main
from flambeau.errors import FlambeauError
from flambeau.site import archives, build_lock, pyodide, serve
from flambeau.site.server import address

from . import wheels

pytestmark = pytest.mark.share(12, first=3)
INSTALL = """async () => {
    const { loadPyodide } = await import("/pyodide/pyodide.mjs");
    globalThis.py = await loadPyodide({
        indexURL: "/pyodide/", lockFileURL: new URL("./flambeau/pyodide-lock.json", location.href).href,
    });
    const tools = await (await fetch("/tools.json")).json();
    await py.loadPackage(tools.map((path) => new URL(path, location.href).href));
    return JSON.parse(await py.runPythonAsync(`
import json
import micropip
from js import location
micropip.set_index_urls([f"{location.origin}/simple"])
await micropip.install("flambeau")
json.dumps({name: p.version for name, p in micropip.list().items()})
`));
}"""

COMPUTE = """
import json, sys
import flambeau as fb
device = await fb.open_device()
x, w = fb.tensor({x}), fb.tensor({w})
y = await (x @ w).relu().read()
json.dumps([device.name, y.tolist(), fb.__file__, "numpy" in sys.modules])
"""

# timm as a page without torch installs it; NumPy, which this test's index lacks, is the small one
TIMM = """
import json, sys
import micropip
from js import fetch
for name in ("torch", "torchvision", "safetensors", "huggingface-hub", "pyyaml"):
    micropip.add_mock_package(name, "99", modules={})
micropip.add_mock_package("numpy", "2.4", modules={"numpy": await (await fetch("/arrays.py")).text()})
await micropip.install("timm")
import flambeau as fb
import flambeau.torch as torch
import numpy
from flambeau.torch.placeholders import placeholder_class
for name in "bytes_ floating generic integer number object_ random str_ typing".split():
    vars(numpy).setdefault(name, placeholder_class(f"numpy.{name}"))
torch.install()
torch.stand_in("PIL", "huggingface_hub", "multiprocessing", "safetensors", "torchvision", "yaml")
fb.set_default_device("gpu")
import timm
model = timm.create_model("resnet10t").eval()
with torch.no_grad():
    y = await model(torch.rand(1, 3, 64, 64)).read()
torch.disable()
for name in [n for n in sys.modules if n.split(".")[0] in ("numpy", "timm", "torch")]:
    del sys.modules[name]
json.dumps([list(y.shape), torch.uninstall(), timm.__version__])
"""

# As another page would find Python: without what micropip brought.
FORGET = """
import sys, micropip
micropip.uninstall(["flambeau", "jinja2", "markupsafe"])
for name in [n for n in sys.modules if n.split(".")[0] in ("flambeau", "jinja2", "markupsafe")]:
    del sys.modules[name]
"""
LOAD = """async () => {
    for (const name of Object.keys(py.loadedPackages)) delete py.loadedPackages[name];
    const found = await py.loadPackage("flambeau");
    return found.map(({ name, fileName }) => [name, fileName]).sort();
}"""
X, W = np.random.default_rng(5).normal(size=(2, 4, 4)).astype("f4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pyodide as npm has it, an empty page, wheels, and an index of those that are to be installed."""
    made = tmp_path_factory.mktemp("plain")
    try:
        shutil.copytree(pyodide.folder(), made / "pyodide")
        ready = wheels.downloaded()
    except (FlambeauError, wheels.Unavailable) as e:
        pytest.skip(f"no Pyodide, or no wheels for it: {e}")
    (made / "wheels").mkdir()
    ours = built_wheel(ROOT, made / "wheels")
    build_lock(made / "flambeau", sources=True)  # to compile it all takes a quarter of a minute
    micropip, packaging, jinja2 = (Path(shutil.copy(wheel, made / "wheels")) for wheel in ready)
    borrowed = [wheels.pure("timm", made / "wheels")] if find_spec("timm") else []
    markupsafe = wheels.pure("markupsafe", made / "wheels")
    wheels.write_index(made / "simple", [ours, jinja2, markupsafe, *borrowed])
    shutil.copy(archives.web_folder() / "selftest" / archives.ARRAYS, made)
    (made / "tools.json").write_text(json.dumps([f"/wheels/{w.name}" for w in (packaging, micropip)]))
    (made / "page.html").write_text("<!doctype html><title>plain</title>")
    return made


@pytest.fixture(scope="module")
def found(browser, folder):
    """What one page tells: it installs by micropip and computes, forgets all that, and loads by the lock."""
    server = serve(folder, port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home, context, asked, missing = address(server), browser.new_context(), [], []
    context.on("request", lambda r: asked.append(r.url))
    context.on("response", lambda r: missing.append(r.url) if r.status >= 400 else None)
    page = context.new_page()
    page.goto(f"{home}page.html")
    compute = COMPUTE.format(x=X.tolist(), w=W.tolist())
    run = lambda source: page.evaluate("(source) => py.runPythonAsync(source)", source)  # noqa: E731
    told = {"installed": page.evaluate(INSTALL), "by micropip": json.loads(run(compute))}
    told["timm"] = json.loads(run(TIMM)) if find_spec("timm") else None
    run(FORGET)
    told |= {"loaded": page.evaluate(LOAD), "by lock": json.loads(run(compute))}
    told["outside"] = [url for url in asked if not url.startswith((home, "blob:", "data:"))]
    told["missing"] = [url for url in missing if not url.endswith("/favicon.ico")]
    yield told
    context.close()
    server.shutdown()
    server.server_close()


def check(computed, end: str) -> None:
    """The product is right, on the page's GPU, without NumPy, by files of Pyodide's place for packages."""
    adapter, values, place, numpy = computed
    assert "swiftshader" in adapter
    np.testing.assert_allclose(values, np.maximum(X @ W, 0), rtol=1e-5, atol=1e-5)
    assert place.endswith(f"/site-packages/flambeau/{end}")
    assert not numpy


def test_micropip_installs_the_wheel_and_it_computes(found):
    names = found["installed"]
    assert names.keys() - {"micropip", "packaging"} == {"flambeau", "jinja2", "markupsafe"}
    assert names["flambeau"] == "0.1.0"
    check(found["by micropip"], "__init__.py")
    # what the index has not, micropip takes from among Pyodide's own packages, or goes on without
    assert not found["missing"] and not found["outside"]


def test_micropip_installs_timm_without_torch_and_a_model_of_it_computes(found):
    if found["timm"] is None:
        pytest.skip("timm is not installed, so there is no wheel of it")
    shape, _, number = found["timm"]
    assert shape == [1, 1000] and number == version("timm")


def test_the_lock_loads_the_wheels_and_they_compute(found, folder):
    names = sorted(path.name for path in (folder / "flambeau").glob("*.whl"))
    assert found["loaded"] == [[name.split("-")[0], name] for name in names]
    assert [name for name, _ in found["loaded"]] == ["flambeau", "jinja2", "markupsafe"]
    check(found["by lock"], "__init__.py")


def test_the_lock_is_pyodides_with_three_packages_of_ours(folder):
    """All that Pyodide has is where Pyodide has it; ours lie beside the lock, by name and checksum."""
    lock, theirs = (
        json.loads((folder / name / "pyodide-lock.json").read_text()) for name in ("flambeau", "pyodide")
    )
    assert lock["info"] == theirs["info"] and lock["packages"].keys() == theirs["packages"].keys() | {
        "flambeau"
    }
    ours = {name: lock["packages"].pop(name) for name in ("flambeau", "jinja2", "markupsafe")}
    for name, row in lock["packages"].items():
        cdn = f"https://cdn.jsdelivr.net/pyodide/v{pyodide.VERSION}/full/"
        assert row == theirs["packages"][name] | {"file_name": cdn + theirs["packages"][name]["file_name"]}
    for name, row in ours.items():
        data = (folder / "flambeau" / row["file_name"]).read_bytes()
        depends = {"flambeau": ["jinja2"], "jinja2": ["markupsafe"], "markupsafe": []}[name]
        assert row == {
            "name": name, "version": row["file_name"].split("-")[1], "file_name": row["file_name"],
            "install_dir": "site", "sha256": hashlib.sha256(data).hexdigest(), "package_type": "package",
            "imports": [name], "depends": depends, "unvendored_tests": False,
        }  # fmt: skip  # as `pyodide lockfile add-wheels` has it


def test_wheels_are_compiled_and_named_by_pyodides_python(folder, monkeypatch, tmp_path):
    """By a stand-in for Pyodide's Python, which takes long; a second call writes over the first."""
    fake = {
        name: archives.zip_files({f"{name}/__init__.pyc": b"code"})
        for name in ("flambeau", "jinja2", "markupsafe")
    }
    monkeypatch.setattr(
        archives, "compile_archives", lambda plain: fake if plain.keys() == fake.keys() else None
    )
    monkeypatch.setattr(archives, "library", lambda: {"flambeau/__init__.py": b""})
    monkeypatch.setattr(archives, "templates", dict)
    called = CliRunner().invoke(main, ["web", "lock", "--out", str(tmp_path)])
    made, compiled = build_lock(tmp_path)
    assert called.output.splitlines() == [
        f"wrote {tmp_path}: {', '.join(wheel.file_name for wheel in made)}: 0.0 MB",
        f'in a page: const lockFileURL = new URL("./{tmp_path.name}/pyodide-lock.json", location.href).href;',
        "           const python = await loadPyodide({ lockFileURL });",
        '           await python.loadPackage("flambeau");',
    ]
    assert compiled and [wheel.file_name.split("-", 2)[2] for wheel in made] == ["cp314-none-any.whl"] * 3
    with zipfile.ZipFile(tmp_path / made[0].file_name) as archive:
        info = f"flambeau-{made[0].version}.dist-info"
        assert archive.namelist() == [
            *(f"{info}/{n}" for n in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")),
            "flambeau/__init__.pyc",
        ]
        assert b"Tag: cp314-none-any" in archive.read(f"{info}/WHEEL")
        assert b"Name: flambeau" in archive.read(f"{info}/METADATA")
    assert build_lock(tmp_path)[0] == made  # the same bytes
    build_lock(tmp_path, sources=True)
    assert {p.name.split("-", 2)[2] for p in tmp_path.glob("*.whl")} == {"py3-none-any.whl"}
    (tmp_path / "pyodide-lock.json").write_text("{}")
    with pytest.raises(FlambeauError) as e:
        build_lock(tmp_path)
    assert str(e.value) == f"web lock: {tmp_path} holds other files: name an empty or new folder"
