"""The page of CartPole: an agent learns, the cart is drawn, and its policy balances without Python."""

import threading
import zipfile

import pytest

from flambeau.site import serve
from flambeau.site.server import address

from .paper import READY, expect, overflow, shot, until

pytestmark = pytest.mark.share(8, first=6)
# what a canvas shows, as a number that other pictures do not have
DRAWN = """(id) => {
    const canvas = document.getElementById(id), pen = canvas.getContext("2d");
    const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
    return data.reduce((sum, value, i) => (31 * sum + value * (i % 251)) % 1e9, 7);
}"""


@pytest.fixture(scope="module")
def cartpole(browser, site):
    """The page at the width of a phone."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page, asked, thrown = context.new_page(), [], []
    context.on("request", lambda r: asked.append(r.url))
    page.on("pageerror", lambda e: thrown.append(str(e)))
    page.goto(f"{site}cartpole/")
    expect(page, "#status").to_have_text(READY)
    yield page
    context.close()
    assert not [url for url in asked if not url.startswith((site, "blob:", "data:"))]
    assert not thrown, f"errors in the page: {thrown}"


def test_the_exported_policy_balances(cartpole):
    """For longer than a pole without a policy, which falls within 0.3 s."""
    expect(cartpole, "#drive-told").to_contain_text("swiftshader")
    until(cartpole, "() => parseFloat(document.querySelector('#balanced').textContent) > 2")
    before = cartpole.evaluate(DRAWN, "driving")
    cartpole.click("#left")
    until(cartpole, f"(before) => ({DRAWN})('driving') !== before", before)


def test_the_agent_learns_and_its_cart_is_drawn(browser, cartpole, tmp_path):
    assert cartpole.is_disabled("#policy option[value=trained]")
    cartpole.click("#learn")
    rows = "document.querySelectorAll('#numbers tr').length"
    until(cartpole, f"() => {rows} >= 2")
    before = cartpole.evaluate(DRAWN, "learning")
    until(cartpole, f"(before) => ({DRAWN})('learning') !== before", before)
    until(cartpole, f"() => {rows} >= 6")
    shot(cartpole, "cartpole-phone")
    cartpole.click("#stop")
    expect(cartpole, "#told").to_contain_text("Stopped after")
    texts = "all => all.map((row) => [...row.children].map((cell) => cell.textContent.replaceAll(',', '')))"
    numbers = cartpole.eval_on_selector_all("#numbers tr", texts)[::-1]
    assert [row[:2] for row in numbers[:3]] == [[str(k), str(k * 64 * 32)] for k in (1, 2, 3)]
    means = [float(row[2]) for row in numbers]
    assert 10 < means[0] < 30 and means[5] > 1.4 * means[0]
    expect(cartpole, "#policy").to_have_value("trained")
    assert overflow(cartpole) == []
    downloaded_folder_balances(browser, cartpole, tmp_path)


def downloaded_folder_balances(browser, cartpole, folder):
    """The folder of the learned policy is a page of its own."""
    with cartpole.expect_download() as saved:
        cartpole.click("#folder")
    with zipfile.ZipFile(saved.value.path()) as archive:
        archive.extractall(folder)
    server = serve(folder / "cartpole", port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page, thrown = browser.new_page(), []
    page.on("pageerror", lambda e: thrown.append(str(e)))
    page.goto(address(server))
    until(page, "() => parseFloat(document.querySelector('#balanced').textContent) > 0.1")
    assert not thrown
    page.close()
    server.shutdown()
    server.server_close()
