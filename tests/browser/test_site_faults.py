"""What the page of digits says of each fault on the way to it: a sentence and a button, never a hang."""

import re

import pytest
from helpers.draws import in_turn

from flambeau.site.pages import POLICY

from .faulty import Fault, Site
from .paper import READY, expect, shot

RETRY, UPLOAD = (
    "check the connection and try again.",
    "whoever runs this site must upload the whole site again.",
)
DAMAGED = (
    "arrives damaged: try again, and if that does not help, whoever runs this site must upload it again."
)
SCRIPTS = "The page's scripts cannot be had: check the connection and load the page again."
SELF = "default-src 'self'; script-src 'self'{}; img-src 'self' data:"
FORBIDDEN = "The content policy of this site forbids {}: whoever runs this site must allow it."
HTML, TEXT = b"<!doctype html><title>Home</title>", "text/plain"
SAME = b""  # zeros, as many as the file has bytes


def fails(name: str, status: int) -> str:
    return rf"The server of this site fails \(HTTP {status} for /.*{name}\): try again in a while."


def missing(name: str) -> str:
    return rf"/.*{name} is not there \(HTTP 404\): {UPLOAD}"


def cut(name: str) -> str:
    return rf"/.*{name} breaks off \(.*\): {RETRY}"


def typed(name: str) -> str:
    return rf"/.*{name} comes as text/plain, and browsers run text/javascript alone: whoever .* that type."


def forbidden(what: str) -> str:
    return FORBIDDEN.format(re.escape(what))


# what is broken, and the sentence (a pattern)
FAULTS = {
    "a server that fails": (Fault("asm.wasm", status=500), fails("asm.wasm", 500)),
    "no WebAssembly": (Fault("asm.wasm", status=404), missing("asm.wasm")),
    "a page for it": (Fault("asm.wasm", body=HTML, kind="text/html"), f"A page .* of /.*asm.wasm: {UPLOAD}"),
    "less of it": (Fault("asm.wasm", body=HTML), rf"/.*asm.wasm breaks off after 34 of \d+ bytes: {RETRY}"),
    "another in its place": (Fault("asm.wasm", body=SAME), f".*asm.wasm {DAMAGED}"),
    "no library": (Fault("/stdlib-", status=503), fails(r"stdlib-\w+.zip", 503)),
    "another library": (Fault("/stdlib-", body=SAME), rf"stdlib-\w+.zip {DAMAGED}"),
    "no package": (Fault("/flambeau-", status=404), missing(r"flambeau-\w+.zip")),
    "a script's type": (Fault("pyodide.mjs", kind=TEXT), typed("pyodide.mjs")),
    "a script that fails": (Fault("asm.mjs", status=500), fails("pyodide.asm.mjs", 500)),
    "half a script": (Fault("asm.mjs", cut=True), cut("pyodide.asm.mjs")),
    "no manifest": (Fault("manifest.json", status=404), missing("manifest.json")),
    "half a manifest": (Fault("manifest.json", cut=True), cut("manifest.json")),
    "another manifest": (Fault("manifest.json", body=b'{"files": {}}'), f"/manifest.json {DAMAGED}"),
    "no worker": (Fault("worker.js", status=404), missing("worker.js")),
    "half a worker": (Fault("worker.js", cut=True), cut("worker.js")),
    "a worker's type": (Fault("worker.js", kind=TEXT), typed("worker.js")),
    "no script of the page's": (Fault("mnist/page.js", status=404), SCRIPTS),
    "half a script of a script's": (Fault("faults.js", cut=True), SCRIPTS),
    "no WebAssembly allowed": (
        Fault("", policy=SELF.format("")), forbidden("WebAssembly (script-src without 'wasm-unsafe-eval')"),
    ),
    "no worker allowed": (Fault("", policy="worker-src 'none'"), forbidden("/worker.js (worker-src)")),
    "no fetch allowed": (Fault("", policy="connect-src 'none'"), forbidden("/worker.js (connect-src)")),
}  # fmt: skip
HARMLESS = [
    Fault("asm.wasm", kind="application/octet-stream", policy=POLICY),
    Fault("sw.js", status=500),
    Fault("loading.js", status=404),
    Fault("", policy=POLICY),  # the worker's, too: a page has it anyway
]


@pytest.fixture(scope="module")
def faulty(site_folder):
    """A server of the site that can be told what to break."""
    found = Site(site_folder)
    yield found
    found.stop()


@pytest.fixture
def empty(browser, faulty):
    """A page that kept nothing, and the site as it should be."""
    context = browser.new_context()
    faulty.set()
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("what", in_turn(FAULTS, 12))
def test_a_fault_ends_in_a_sentence_and_a_button(what, empty, faulty, site_folder):
    fault, said = FAULTS[what]
    if fault.body == SAME:
        (path,) = [p for p in site_folder.rglob("*[pm]") if fault.part in f"/{p.name}"]
        fault = Fault(fault.part, body=bytes(path.stat().st_size))
    faulty.set(fault)
    empty.goto(f"{faulty.home}mnist/")
    expect(empty, "#again").to_be_visible()
    expect(empty, "#status").to_have_text(re.compile(f"^{said}"))
    expect(empty, "#progress").to_be_hidden()
    if what == "a server that fails":
        shot(empty, "fault")
        faulty.set()
        empty.click("#again")
        expect(empty, "#status").to_have_text(READY)


@pytest.mark.share(6, first=4)
def test_what_a_page_can_do_without_does_not_keep_it(empty, faulty):
    """A type for WebAssembly, a service worker, a plain script, and more in a policy than this."""
    faulty.set(*HARMLESS)
    empty.goto(f"{faulty.home}mnist/")
    expect(empty, "#status").to_have_text(READY)
    expect(empty, "#late").to_have_count(0)


@pytest.mark.share(6, first=0)
def test_a_page_whose_scripts_are_forbidden_says_so(empty, faulty):
    faulty.set(Fault("", policy="script-src 'none'"))
    empty.goto(f"{faulty.home}mnist/")
    expect(empty, "#late").to_be_visible()
    expect(empty, "#late").to_contain_text("the browser or the content policy of this site forbids them")
    shot(empty, "forbidden")


def test_a_page_without_a_network_says_so(browser, faulty):
    """Offline before Python came; no service worker, so that nothing is kept."""
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    page.route("**/manifest.json", lambda route: (context.set_offline(True), route.abort()))
    faulty.set()
    page.goto(f"{faulty.home}mnist/")
    expect(page, "#again").to_be_visible()
    said = r"^/\w+\.js(on)? cannot be had, because this device is offline: connect it and try again\.$"
    expect(page, "#status").to_have_text(re.compile(said))
    context.close()


@pytest.mark.share(6, first=2)
def test_an_adapter_that_refuses_is_told(empty, faulty):
    """The worker's own adapter: the page's is there when it is checked."""
    broken = "GPUAdapter.prototype.requestDevice = () => Promise.reject(new Error('the driver is old'));\n"
    worker = broken.encode() + (faulty.folder / "worker.js").read_bytes()
    faulty.set(Fault("worker.js", body=worker, kind="text/javascript"))
    empty.goto(f"{faulty.home}mnist/")
    expect(empty, "#again").to_be_visible()
    expect(empty, "#status").to_have_text(re.compile(r"^gpu: .* refuses: the driver is old\.$"))


def test_an_error_is_not_kept_for_ever(site, site_folder):
    """Names with a hash may be cached for ever, but not that they are missing."""
    import urllib.error
    import urllib.request

    (name,) = [p.name for p in site_folder.glob("stdlib-*.zip")]
    with urllib.request.urlopen(site + name) as response:
        assert "immutable" in response.headers["Cache-Control"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(site + name.replace("stdlib", "missing"))
    assert refused.value.headers["Cache-Control"] == "no-cache"
    refused.value.close()
