"""Fixtures: the site, built and served once, and Debian's Chromium on its software adapter to look at it."""

import os
import shutil
import threading

import pytest

from flambeau.errors import FlambeauError
from flambeau.site import build, serve
from flambeau.site.server import address

from .paper import WAIT

# Without --enable-unsafe-webgpu there is no adapter; the others keep to the software one and off the network.
FLAGS = [
    "--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--disable-quic",
    "--disable-background-networking", "--use-fake-device-for-media-stream",
]  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def site_folder(tmp_path_factory):
    """The site's files, compiled: a quarter of a minute, and two seconds less of each page's start."""
    folder = tmp_path_factory.mktemp("site") / "site"
    try:
        build(folder)
    except FlambeauError as e:
        pytest.skip(f"no Pyodide: {e}")
    return folder


@pytest.fixture(scope="session")
def site(site_folder):
    """The address of the site, served from this process."""
    server = serve(site_folder, port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield address(server)
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="package")  # closed before other tests: while it is open, asyncio.run is refused
def browser():
    """Chromium with WebGPU, driven by Playwright; never a browser that Playwright would download."""
    from playwright import sync_api as playwright

    program = os.environ.get("FLAMBEAU_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if not program:
        pytest.skip("no browser: chromium is not installed")
    with playwright.sync_playwright() as driver:
        try:
            found = driver.chromium.launch(executable_path=program, args=FLAGS)
        except playwright.Error as e:
            pytest.skip(f"no browser: {program} does not start: {e.message.splitlines()[0]}")
        playwright.expect.set_options(timeout=WAIT)
        make = found.new_context
        found.new_context = lambda **kw: patient(make(**kw))
        yield found
        found.close()


def patient(context):
    """A context whose pages are given time: Playwright's 30 seconds are few on a busy machine."""
    context.set_default_timeout(WAIT)
    return context


@pytest.fixture
def page(browser, site):
    """A fresh page of the site. What it asks of other hosts, or throws, fails the test."""
    context = browser.new_context()
    opened = context.new_page()
    asked, thrown = [], []
    context.on("request", lambda r: asked.append(r.url))
    opened.on("pageerror", lambda e: thrown.append(str(e)))
    yield opened
    context.close()
    outside = [url for url in asked if not url.startswith((site, "blob:", "data:"))]
    assert not outside, f"requests to other hosts: {outside}"
    assert not thrown, f"errors in the page: {thrown}"


class Python:
    """The page's Python, in the worker that client.js starts."""

    def __init__(self, page, site):
        self.page = page
        page.goto(f"{site}client.js")  # a page of the site's origin with nothing on it
        page.evaluate("""async () => {
            const { start } = await import("/client.js");
            globalThis.python = await start();
        }""")

    def run(self, source: str):
        """The value of the last expression; AssertionError with the traceback for what Python raises."""
        return self._ask("run", source)

    def call(self, name: str, *args):
        """The value of a function of a module."""
        return self._ask("call", name, *args)

    def install(self, path: str, text: str) -> None:
        """A module of the page's own."""
        self._ask("install", path, text)

    def _ask(self, what: str, *args):
        result = self.page.evaluate(
            """([what, args]) => python[what](...args).then((value) => ({ value }),
                (error) => ({ trace: `${error.name}: ${error.trace}` }))""",
            [what, list(args)],
        )
        assert "trace" not in result, result["trace"]
        return result.get("value")


@pytest.fixture(scope="package")
def python(browser, site):
    """One page with Python and the GPU for all tests that need no page of their own: a start takes 7 s."""
    context = browser.new_context()
    yield Python(context.new_page(), site)
    context.close()
