"""The start of the page of digits: what its bar tells, and what breaks off on the way."""

import re
import threading

import pytest

from .faulty import Fault, Site
from .paper import READY, draw, expect, shot, until

WATCH = """
globalThis.seen = [];
new MutationObserver(() => {
    const bar = document.querySelector("#progress"), line = document.querySelector("#status");
    if (bar && line && !bar.hidden) seen.push([line.textContent, bar.value]);
}).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
"""


@pytest.mark.share(6, first=3)
def test_the_bar_tells_bytes_and_then_kernels(page, site):
    page.add_init_script(WATCH)
    page.goto(f"{site}mnist/")
    expect(page, "#status").to_have_text(READY)
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


@pytest.fixture
def faulty(site_folder):
    """A server of the site that can be told what to break."""
    found = Site(site_folder)
    yield found
    found.stop()


@pytest.mark.share(6, first=4)
@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("/flambeau-", r"/flambeau-\w+\.zip breaks off after \d+ of \d+ bytes: check the con"),
        ("asm.wasm", r"/pyodide.asm\.wasm breaks off after \d+ of \d+ bytes: check the con"),
        ("page.py", r"/mnist/page\.py breaks off \(.*\): check the connection and try again"),
    ],
)
def test_a_download_that_breaks_off_is_told_and_not_kept(browser, faulty, broken, said):
    context = browser.new_context()
    page = context.new_page()
    faulty.set(Fault(broken, cut=True))
    page.goto(f"{faulty.home}mnist/")
    expect(page, "#status").to_contain_text(re.compile(said))
    expect(page, "#again").to_be_visible()
    faulty.set()
    page.click("#again")
    expect(page, "#status").to_have_text(READY)
    context.close()


@pytest.mark.share(6, first=1)
def test_a_page_that_stalls_says_so_and_goes_on_when_it_can(browser, faulty):
    context = browser.new_context()
    page = context.new_page()
    page.clock.install()
    for part, stage in (("asm.wasm", "loading Python"), ("page.py", "loading the page's own files")):
        held = threading.Event()
        faulty.set(Fault(part, held=held))
        page.goto(f"{faulty.home}mnist/")
        expect(page, "#status").to_contain_text(re.compile("^loading Python: |^starting Fl"))
        expect(page, "#again").to_be_hidden()
        if part == "page.py":
            until(page, "() => Boolean(globalThis.flambeau)")
        page.wait_for_timeout(4000)  # the other files come
        page.clock.fast_forward(25_000)
        expect(page, "#stalled").not_to_be_empty()
        said = page.locator("#stalled").inner_text()
        assert said == (
            f"Nothing has happened for 20 seconds ({stage}). The connection or this device may be slow, or"
            " something is in the way: the page goes on as soon as it can; or try again."
        )
        expect(page, "#again").to_be_visible()
        shot(page, "stalled")
        held.set()
        expect(page, "#status").to_have_text(READY)
        expect(page, "#stalled").to_be_empty()
        expect(page, "#again").to_be_hidden()
        faulty.set()
        page.evaluate("""async () => { // nothing of the first round is kept for the second
            for (const name of await caches.keys()) await caches.delete(name);
            for (const one of await navigator.serviceWorker.getRegistrations()) await one.unregister();
        }""")
    context.close()


@pytest.mark.share(6, first=2)
def test_a_gpu_that_does_not_open_again_is_told_with_a_way_on(page, site):
    page.goto(f"{site}mnist/")
    expect(page, "#status").to_have_text(READY)
    page.evaluate("""async () => {
        await flambeau.run(`
import js, page
from pyodide.ffi import create_proxy
page.asked = js.navigator.gpu.requestAdapter
async def none(*args): return None
js.navigator.gpu.requestAdapter = create_proxy(none)
page.gpu._executor.device.destroy()`);
    }""")
    draw(page, 3)
    said = re.compile(
        r"^The GPU was lost \(.*\) and does not open again \(.*finds no adapter.*\): try again\.$"
    )
    expect(page, "#status").to_have_text(said)
    expect(page, "#again").to_be_visible()
    shot(page, "gone")
    page.click("#again")
    expect(page, "#status").to_have_text(READY)


@pytest.mark.share(6, first=1)
def test_python_that_ends_is_told_with_a_way_on(page, site):
    page.goto(f"{site}mnist/")
    expect(page, "#status").to_have_text(READY)
    page.evaluate("void flambeau.run('import os; os.abort()').catch(() => {})")
    expect(page, "#status").to_have_text(
        re.compile(r"^Python stopped \(.*\): try again, and it starts anew\.")
    )
    expect(page, "#again").to_be_visible()
