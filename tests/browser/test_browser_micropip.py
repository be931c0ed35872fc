"""`micropip.install("flambeau")` in a page that is none of ours: a plain Pyodide and a package index."""

import json
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from helpers.packaging import built_wheel
from helpers.paths import ROOT

from flambeau.errors import FlambeauError
from flambeau.site import pyodide, serve
from flambeau.site.server import address

from . import wheels

INSTALL = """async () => {
    const { loadPyodide } = await import("/pyodide/pyodide.mjs");
    globalThis.py = await loadPyodide({ indexURL: "/pyodide/" });
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
    micropip, packaging, jinja2 = (Path(shutil.copy(wheel, made / "wheels")) for wheel in ready)
    wheels.write_index(made / "simple", [ours, jinja2, wheels.pure("markupsafe", made / "wheels")])
    (made / "tools.json").write_text(json.dumps([f"/wheels/{w.name}" for w in (packaging, micropip)]))
    (made / "page.html").write_text("<!doctype html><title>plain</title>")
    return made


@pytest.fixture
def home(folder):
    server = serve(folder, port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield address(server)
    server.shutdown()
    server.server_close()


def test_micropip_installs_the_wheel_and_it_computes(browser, home):
    context = browser.new_context()
    asked, missing = [], []
    context.on("request", lambda r: asked.append(r.url))
    context.on("response", lambda r: missing.append(r.url) if r.status >= 400 else None)
    page = context.new_page()
    page.goto(f"{home}page.html")
    installed = page.evaluate(INSTALL)
    assert installed.keys() - {"micropip", "packaging"} == {"flambeau", "jinja2", "markupsafe"}
    assert installed["flambeau"] == "0.1.0"
    # what the index has not, micropip takes from among Pyodide's own packages, or goes on without
    assert not [url for url in missing if not url.endswith("/favicon.ico")]

    rng = np.random.default_rng(5)
    x, w = rng.normal(size=(3, 7)).astype("f4"), rng.normal(size=(7, 4)).astype("f4")
    source = COMPUTE.format(x=x.tolist(), w=w.tolist())
    adapter, found, place, numpy = json.loads(page.evaluate("(source) => py.runPythonAsync(source)", source))
    assert "swiftshader" in adapter
    np.testing.assert_allclose(found, np.maximum(x @ w, 0), rtol=1e-5, atol=1e-5)
    assert place.endswith("/site-packages/flambeau/__init__.py")
    assert not numpy
    outside = [url for url in asked if not url.startswith((home, "blob:", "data:"))]
    assert not outside, f"requests to other hosts: {outside}"
    context.close()
