"""The start of the page of digits: what its bar tells, and what breaks off on the way."""

import re
import threading
from functools import partial

import pytest

from flambeau.site import serve
from flambeau.site.server import QuietHandler, address

from .paper import READY, WAIT, expect

WATCH = """
globalThis.seen = [];
new MutationObserver(() => {
    const bar = document.querySelector("#progress"), line = document.querySelector("#status");
    if (bar && line && !bar.hidden) seen.push([line.textContent, bar.value]);
}).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
"""


def test_the_bar_tells_bytes_and_then_kernels(page, site):
    page.add_init_script(WATCH)
    page.goto(f"{site}mnist/")
    expect(page, "#status").to_have_text(READY, timeout=WAIT)
    expect(page, "#progress").to_be_hidden()
    seen = page.evaluate("seen")
    loading = [(text, value) for text, value in seen if text.startswith("loading Python: ")]
    compiling = [(text, value) for text, value in seen if text.startswith("compiling kernels: ")]
    assert len(loading) > 3 and len(compiling) > 3
    for part in (loading, compiling):
        assert [value for _, value in part] == sorted(value for _, value in part)
        assert part[-1][1] == 1
    loaded, total = map(float, re.findall(r"[\d.]+", loading[-1][0]))
    assert loaded == total > 10  # MB, as the files have them, however they crossed
    compiled, kernels = map(int, re.findall(r"\d+", compiling[-1][0]))
    assert compiled == kernels > 5
    assert seen.index(list(loading[-1])) < seen.index(list(compiling[0]))


class Halving(QuietHandler):
    """Sends files whose names hold `broken` half and hangs up."""

    broken = ""

    def copyfile(self, source, outputfile) -> None:
        if not self.broken or self.broken not in self.path:
            return super().copyfile(source, outputfile)
        data = source.read()
        outputfile.write(data[: len(data) // 2])
        self.close_connection = True


@pytest.fixture
def halving(site_folder):
    """A server of the site, and the handler that breaks off."""
    handler = type("Handler", (Halving,), {})
    server = serve(site_folder, port=0, quiet=True)
    server.RequestHandlerClass = partial(handler, directory=str(site_folder))  # type: ignore[assignment]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield address(server), handler
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            "/flambeau-",
            r"/flambeau-\w+\.zip breaks off after \d+ of \d+ bytes: check the con",
        ),
        (
            "/stdlib-",
            r"/stdlib-\w+\.zip breaks off after \d+ of \d+ bytes: check the con",
        ),
        (
            "asm.wasm",
            r"/pyodide.asm\.wasm breaks off after \d+ of \d+ bytes: check the con",
        ),
        ("manifest.json", r"/manifest\.json breaks off \(.*\): check the connection and try again"),
        ("page.py", r"/mnist/page\.py breaks off \(.*\): check the connection and try again"),
        ("worker.js", r"The worker could not start: the browser blocks it, or worker\.js cannot be had"),
    ],
)
def test_a_download_that_breaks_off_is_told_and_not_kept(browser, halving, broken, said):
    home, handler = halving
    context = browser.new_context()
    page = context.new_page()
    handler.broken = broken
    page.goto(f"{home}mnist/")
    expect(page, "#status").to_contain_text(re.compile(said), timeout=WAIT)
    expect(page, "#again").to_be_visible()
    handler.broken = ""
    page.click("#again")
    expect(page, "#status").to_have_text(READY, timeout=WAIT)
    context.close()


def test_a_page_whose_scripts_break_off_says_so(browser, halving):
    home, handler = halving
    handler.broken = "draw.js"
    page = browser.new_page()
    page.goto(f"{home}mnist/")
    told = "The page's scripts cannot be had: check the connection and load the page again."
    expect(page, "#status").to_have_text(told, timeout=WAIT)
    page.close()


def test_a_worker_that_the_site_forbids_is_told(browser, site):
    context = browser.new_context()
    page = context.new_page()

    def forbid(route):
        response = route.fetch()
        headers = response.headers | {"content-security-policy": "worker-src 'none'"}
        route.fulfill(response=response, headers=headers)

    page.route("**/mnist/", forbid)
    page.goto(f"{site}mnist/")
    expect(page, "#status").to_have_text(re.compile("The worker could not start: "), timeout=WAIT)
    expect(page, "#again").to_be_visible()
    context.close()
