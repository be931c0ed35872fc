"""The site: its files and types, its first page, and what it says where it cannot run."""

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import zipfile
from io import BytesIO

import pytest
from click.testing import CliRunner

from flambeau.cli import main
from flambeau.site import archives, node, pyodide, serve
from flambeau.site.server import QuietHandler, address

from .paper import READY, draw, expect, overflow, until


def status(page):
    from playwright.sync_api import expect

    return expect(page.locator("#status"))


def fetched(url):
    with urllib.request.urlopen(url) as response:
        return response.headers, response.read()


def transferred(page) -> dict[str, int]:
    """The bytes that crossed for each file of the site, without headers, before the worker of Python."""
    return page.evaluate("""() => {
        const all = ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind));
        const worker = all.find(({ name }) => name.endsWith("/worker.js"))?.startTime ?? Infinity;
        const before = all.filter(({ startTime }) => startTime < worker);
        return Object.fromEntries(before.map((one) => [new URL(one.name).pathname, one.encodedBodySize]));
    }""")


@pytest.mark.share(4)
def test_the_first_page_reads_digits_before_python_and_runs_three_lines(page, site, site_folder):
    """An exported network at once; then code, its kernels, what is wrong with it; links; a phone; offline."""
    page.goto(site)
    status(page).to_have_text(READY)
    expect(page, "#prediction").to_have_text("5")  # it draws one for those who only look
    sizes = transferred(page)
    assert not [name for name in sizes if "pyodide" in name or name.endswith(".zip")]
    if (site_folder / "manifest.json.br").is_file():
        network = [n for n in sizes if "/program" in n or n in ("/executor.js", "/values.js")]
        assert len(network) >= 5 and sum(sizes[n] for n in network) < 50_000
        assert sum(sizes.values()) < 75_000, sizes
    assert "swiftshader" in page.inner_text("#adapter").lower()
    assert re.fullmatch(r"\d+\.\d ms, \d+ a second", page.inner_text("#measured"))
    draw(page, 3)
    expect(page, "#prediction").to_have_text("3")
    assert float(page.inner_text("#speed")) > 0
    page.click("#undo")
    expect(page, "#prediction").to_have_text("–")
    page.click("[aria-label='Draw a 8']")
    expect(page, "#prediction").to_have_text("8")

    page.click("#run")
    expect(page, "#result").to_contain_text("tensor([[")
    assert re.match(r"\d kernels? \(.*matmul.*\) on .*, \d+\.\d ms, compiling", page.inner_text("#ran"))
    page.fill("#source", "print('two')\nx = fb.arange(4.0, requires_grad=True)\n(x * x).sum().backward()[x]")
    page.keyboard.press("Control+Enter")
    expect(page, "#result").to_have_text("two\ntensor([0., 2., 4., 6.])")
    page.click("#examples button:text('Speed')")
    page.evaluate("document.getElementById('source').value = source.value.replaceAll('1024', '64')")
    page.click("#run")
    expect(page, "#result").to_contain_text("64 x 64 product: ")
    speed = re.compile(
        r"[\d.e+-]+ GFLOP/s, [\d.e+-]+ GB/s\n"
        r"64 x 64 product: [\d.]+ ms\nmean of \d+ warm calls, on\ngpu:"
    )
    assert speed.match(page.inner_text("#result"))
    page.fill("#source", "x = fb.arange(4.0)\nx + x")
    page.click("#run")
    expect(page, "#result").to_have_text("tensor([0., 2., 4., 6.])")
    page.click("summary")
    assert "@compute" in page.inner_text("#wgsl")
    for source, said in (("1 / 0", "ZeroDivisionError: division by zero"), ("x = 2", "It printed nothing")):
        page.fill("#source", source)
        page.click("#run")
        expect(page, "#result").to_contain_text(said)
    for folder in ("playground", "mnist", "cartpole", "image", "chat", "timm", "selftest"):
        assert page.locator(f"nav.site a[href='{folder}/'], .tiles a[href='{folder}/']").count() == 2
    page.set_viewport_size({"width": 360, "height": 640})
    page.evaluate("scrollTo(0, 0)")
    for name in ("#digit", "#prediction"):  # in one view
        box = page.locator(name).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 640
    assert overflow(page) == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("delete Navigator.prototype.gpu", "This browser has no WebGPU. In Chrome and Edge, update to 121"),
        ("navigator.gpu.requestAdapter = async () => null", "WebGPU is available, but finds no GPU. In"),
    ],
    ids=["no WebGPU", "no adapter"],
)
def test_a_page_that_cannot_run_says_why_before_any_download(page, site, script, said):
    asked = []
    page.on("request", lambda r: asked.append(r.url))
    page.add_init_script(script)
    page.goto(site)
    status(page).to_contain_text(said)
    assert not [url for url in asked if "pyodide" in url or url.endswith((".zip", ".safetensors"))]


def test_a_page_opened_from_a_file_says_how_to_serve_it(browser, site_folder):
    page = browser.new_page()
    page.goto((site_folder / "index.html").as_uri())
    status(page).to_contain_text("flambeau web serve")
    page.close()


def test_types_and_caching(site):
    manifest = json.loads(fetched(f"{site}manifest.json")[1])
    types = {"mjs": "text/javascript; charset=utf-8", "wasm": "application/wasm", "zip": "application/zip"}
    types |= {"safetensors": "application/octet-stream", "wgsl": "text/plain; charset=utf-8"}
    types |= {"json": "application/json", "txt": "text/plain; charset=utf-8"}
    for name, wanted in manifest["files"].items():
        headers, data = fetched(site + name)
        assert headers["Content-Type"] == types[name.rpartition(".")[2]]
        assert "immutable" in headers["Cache-Control"]
        assert (len(data), hashlib.sha256(data).hexdigest()) == (wanted["bytes"], wanted["sha256"])
    assert fetched(f"{site}worker.js")[0]["Cache-Control"] == "no-cache"


def test_brotli_goes_to_those_who_take_it(site, site_folder):
    if not (site_folder / "manifest.json.br").is_file():
        pytest.skip("no Node.js: nothing is compressed")
    for name, kind in (("", "text/html; charset=utf-8"), ("client.js", "text/javascript; charset=utf-8")):
        plain, whole = fetched(site + name)
        assert whole == (site_folder / (name or "index.html")).read_bytes()
        assert (plain["Content-Encoding"], plain["Vary"]) == (None, "Accept-Encoding")
        for offer, taken in (("gzip, br", True), ("br;q=0.5", True), ("br; q=0", False), ("brr", False)):
            asked = urllib.request.Request(site + name, headers={"Accept-Encoding": offer})
            headers, data = fetched(asked)
            assert (headers["Content-Encoding"] == "br") == taken
            assert headers["Content-Type"] == kind
            assert (len(data) < len(whole)) == taken
    with pytest.raises(urllib.error.HTTPError) as refused:
        fetched(urllib.request.Request(f"{site}nothing", headers={"Accept-Encoding": "br"}))
    assert refused.value.headers["Content-Encoding"] is None


KEPT = """async (names) => {
    const kept = (await (await caches.open("flambeau-1")).keys()).map((request) => request.url);
    return names.every((name) => kept.some((url) => url.endsWith(name)));
}"""


@pytest.mark.share(12, first=8)
@pytest.mark.parametrize(
    "controlled",
    [True, False],
    ids=lambda early: "" if early else "by a service worker that starts late",
)
def test_who_loaded_it_once_can_go_offline(browser, site_folder, monkeypatch, controlled):
    manifest = json.loads((site_folder / "manifest.json").read_text("utf-8"))
    if not manifest["compiled"]:
        pytest.skip("no Node.js: nothing is compiled")
    asked, whole, sent, send_header, copyfile = [], [], {}, QuietHandler.send_header, QuietHandler.copyfile

    def look(self, name, value):
        if name == "Content-Length":
            sent[self.path] = sent.get(self.path, 0) + int(value)
        send_header(self, name, value)

    def copied(self, source, outputfile):
        copyfile(self, source, outputfile)
        whole.append(self.path)  # not where the connection broke off: a browser rightly asks again

    def note(self, code="-", size="-"):
        asked.append((self.path, int(code), self.client_address[1], self.headers["Range"]))

    monkeypatch.setattr(QuietHandler, "log_request", note)
    monkeypatch.setattr(QuietHandler, "copyfile", copied)
    monkeypatch.setattr(QuietHandler, "send_header", look)
    server = serve(site_folder, port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = browser.new_context(viewport={"width": 1100, "height": 830})
    page = context.new_page()
    if not controlled:
        page.add_init_script("navigator.serviceWorker.addEventListener = () => {}")
    page.goto(f"{address(server)}mnist/")
    status(page).to_have_text(READY)
    of_other_pages = {manifest[name] for name in ("selftest", "onnx", "inspector", "timm")}
    others = of_other_pages | {*manifest["image"]}
    files = [name for name in manifest["files"] if name not in others]
    until(page, KEPT, [*files, "mnist/", "mnist/page.js", "worker.js", "selftest/page.js"])
    twice = [name for name in files if whole.count(f"/{name}") != 1]
    assert not twice or not controlled, f"not downloaded once: {twice} of {asked}"
    apart = sum(sent[f"/{name}"] for name in manifest["mnist"].values())
    assert sum(sent.values()) - apart < 9.5e6 or not controlled, (sum(sent.values()) - apart, sent)
    context.set_offline(True)
    server.shutdown()
    server.server_close()
    page.reload()
    status(page).to_have_text(READY)
    draw(page, 3)
    expect(page, "#prediction").to_have_text("3")
    if controlled:
        page.click("#tab-train")
        page.fill("#steps", "1")
        page.click("#train")
        expect(page, "#train-status").to_contain_text("done at step 1")
        page.click("nav.site a")  # to a page that was not opened while there was a network
        status(page).to_have_text(READY)
        expect(page, "#prediction").to_have_text("5")
    context.close()


@pytest.mark.share(12, first=1)
def test_a_site_that_cannot_be_kept_is_told(page, site):
    page.add_init_script("navigator.serviceWorker.register = () => Promise.reject(new Error('no room here'))")
    page.goto(f"{site}mnist/")
    expect(page, "#notices").to_contain_text(
        "The browser keeps no copy of this site (no room here): it works, but not offline."
    )
    status(page).to_have_text(READY)


@pytest.mark.share(6)
def test_building_by_the_command_line(tmp_path):
    made = CliRunner().invoke(main, ["web", "build", "--out", str(tmp_path / "site"), "--sources"])
    assert made.exit_code == 0, made.output
    sizes = r"\d+\.\d MB(, \d+\.\d MB where the server sends the \.br files)?"
    assert re.match(rf"building the site \.\.\.\nbuilt .*site: {sizes}(, not compiled .*)?\n", made.output)
    again = ["web", "build", "--out", str(tmp_path / "site"), "--sources", "--no-brotli", "--no-docs"]
    made = CliRunner().invoke(main, again)  # a site may be built over
    assert made.exit_code == 0 and re.search(r"\nbuilt .*site: \d+\.\d MB(, not|\n)", made.output)
    assert not list((tmp_path / "site").rglob("*.br"))
    (archive,) = (tmp_path / "site").glob("flambeau-*.zip")
    with zipfile.ZipFile(archive) as files:
        assert {entry.compress_type for entry in files.infolist()} == {zipfile.ZIP_DEFLATED}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    refused = CliRunner().invoke(main, ["web", "build", "--out", str(tmp_path / "mine")])
    assert refused.exit_code == 1
    assert (
        refused.output == "building the site ...\n"
        f"flambeau: web build: {tmp_path / 'mine'} holds other files: name an empty or new folder\n"
    )


@pytest.mark.share(4)
def test_the_wheel_of_the_site_is_what_pip_installs(site, site_folder, tmp_path):
    """The page names it by the site's address; it has the commands, the templates and the pages."""
    (wheel,) = site_folder.glob("*.whl")
    text = fetched(site)[1].decode()
    assert f'data-wheel="{wheel.name}">pip install {wheel.name}<' in text
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--no-compile"]
    target = ["--target", tmp_path / "env", f"{site}{wheel.name}"]
    subprocess.run([*command, *target], check=True, capture_output=True)
    path = {**os.environ, "PYTHONPATH": str(tmp_path / "env"), "FLAMBEAU_DEVICE": "cpu"}
    code = "import flambeau as fb, sys; print(fb.__file__, (fb.ones(3) * 2).sum().item())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=path, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"{tmp_path}/env/flambeau/__init__.py 6.0")
    script = next((tmp_path / "env" / "bin").glob("flambeau*"))
    shown = subprocess.run([sys.executable, script, "--help"], env=path, capture_output=True, text=True)
    assert "mnist" in shown.stdout and (tmp_path / "env" / "flambeau" / "wgsl" / "kernel.wgsl").is_file()


def test_a_port_in_use_is_said(site, tmp_path):
    port = site.rpartition(":")[2].strip("/")
    refused = CliRunner().invoke(main, ["web", "serve", str(tmp_path), "--port", port])
    assert refused.exit_code == 1
    assert (
        f"web serve: port {port} of 127.0.0.1: Address already in use: pass another --port" in refused.output
    )


def test_folders_are_compiled_separately(monkeypatch):
    """A change of one module compiles its folder alone; the others come from the cache."""
    asked = []
    same = lambda script, folder, salt, files: asked.extend(sorted(files)) or files  # noqa: E731
    monkeypatch.setattr(archives.node, "convert_files", same)
    plain = {
        "a": archives.zip_files({"a/x.py": b"1", "a/y.py": b"2", "a/b/z.py": b"3"}),
        "b": archives.zip_files({"numpy.py": b"4"}),
    }
    assert archives.compile_archives(plain) == plain
    assert asked == ["a:a", "a:a/b", "b:"]


RUN = """import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const [folder, archive, code] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: folder });
python.FS.writeFile("/a.zip", readFileSync(archive));
console.log(python.runPython(code));
process.exit(0);
"""
OF_OURS = '''
def public(x: int) -> str:
    """Shown."""
class Public:
    """Shown."""
    size: int = 0
    def __init__(self, x: int):
        """Private."""
    def method(self, x: int) -> str:
        """Shown."""
class _Private:
    """Private."""
    size: int = 0
    def method(self, x: int, *more: int, **named: int) -> str:
        """Private."""
def _private(x: int) -> str:
    """Private."""
    def inner(x: int) -> str:
        """Private."""
    return inner
'''
READ = """
import json, sys
sys.path.insert(0, "/a.zip")
import flambeau.x as x, other
of = lambda f: [f.__doc__, sorted(f.__annotations__)]
public = [of(f) for f in (x.public, x.Public, x.Public.__init__, x.Public.method)]
private = [of(f) for f in (x._Private, x._Private.method, x._private, x._private(1))]
json.dumps([public, private, of(other._private), of(other.public)])
"""


@pytest.mark.share(12, first=4)
def test_only_what_help_shows_is_compiled(tmp_path):
    """Docstrings and annotations of our private functions go, and the docstrings of other packages."""
    if not node.program("node"):
        pytest.skip("no Node.js: nothing is compiled")
    source = archives.zip_files({"flambeau/x.py": OF_OURS.encode(), "other.py": OF_OURS.encode()})
    packed = archives.compile_archives({"a": source})
    assert packed is not None and sorted(archives.unzip_files(packed["a"])) == ["flambeau/x.pyc", "other.pyc"]
    (tmp_path / "a.zip").write_bytes(packed["a"])
    (tmp_path / "read.mjs").write_text(RUN)
    call = [
        str(node.program("node")),
        str(tmp_path / "read.mjs"),
        str(pyodide.folder()),
        str(tmp_path / "a.zip"),
    ]
    done = subprocess.run([*call, READ], capture_output=True, text=True, check=True)
    public, private, other, shown = json.loads(done.stdout)
    assert public == [
        ["Shown.", ["return", "x"]],
        ["Shown.", ["size"]],
        [None, ["x"]],
        ["Shown.", ["return", "x"]],
    ]
    assert private == [[None, ["size"]], [None, []], [None, []], [None, []]]
    assert other == [None, ["return", "x"]] and shown == [None, ["return", "x"]]


def test_the_archive_is_the_package(site):
    manifest = json.loads(fetched(f"{site}manifest.json")[1])
    name = next(n for n in manifest["packages"] if n.startswith("flambeau"))
    with zipfile.ZipFile(BytesIO(fetched(site + name)[1])) as archive:
        found = {n: archive.read(n) for n in archive.namelist()}
    wanted = archives.flambeau() | archives.templates()
    if manifest["compiled"]:
        assert {n.removesuffix("c") for n in found} == {*wanted}
    else:
        assert found == wanted
    assert "flambeau/web/executor.js" in found and "flambeau/cli/main.py" not in found


@pytest.mark.share(6)
def test_the_documentation_is_searched_in_the_page(browser, tmp_path, monkeypatch):
    """Functions first, then sections; by keys; on a phone nothing overflows; the policy stops nothing."""
    from flambeau.site import docs, reference

    monkeypatch.setattr(reference, "MODULES", ("flambeau.learner", "flambeau.nn.init"))
    docs.build_docs(tmp_path / "docs")
    server = serve(tmp_path / "docs", port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_page(viewport={"width": 390, "height": 844})
    faults = []
    page.on("console", lambda m: faults.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: faults.append(str(e)))
    try:
        page.goto(f"{address(server)}learner.html")
        assert overflow(page) == [] and not page.is_visible("nav.pages li")
        page.keyboard.press("/")
        page.keyboard.type("kaiming_norm")
        expect(page, "#results a:first-child").to_contain_text("flambeau.nn.init.kaiming_normal_")
        page.keyboard.press("Enter")
        page.wait_for_url("**/reference/flambeau.nn.init.kaiming_normal_.html")
        assert overflow(page) == []
        page.fill("#search", "resume epoch")
        expect(page, "#results").to_contain_text("Learner")
        page.fill("#search", "xyzzyplugh")
        expect(page, "#results").to_contain_text("Nothing found")
        assert faults == []
    finally:
        page.close()
        server.shutdown()
