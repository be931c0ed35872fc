"""Draws the images of the site's page of digits: `python scripts/draw_site.py SITE`.

SITE is a folder of `flambeau web build`. It needs Chromium and Playwright, and trains for a minute or more
on a CPU.
"""

import shutil
import sys
import threading
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from flambeau.site import serve
from flambeau.site.server import address

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
FLAGS = ["--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
LONGEST = 500_000  # milliseconds
MOVES = 1000  # milliseconds that the bars may move
STEPS = "200"


def draw(page, site: str) -> None:
    """Draw a digit, then train: an image of each tab."""
    page.goto(f"{site}mnist/")
    expect(page.locator("#status")).to_contain_text("ready on", timeout=LONGEST)
    page.click(".notice button")
    page.click("[aria-label='Draw a 5']")
    expect(page.locator("#hint")).to_contain_text("% sure", timeout=LONGEST)
    page.wait_for_timeout(MOVES)
    page.screenshot(path=IMAGES / "page-draw.png")
    page.click("#tab-train")
    page.fill("#steps", STEPS)
    page.click("#train")
    expect(page.locator("#train-status")).to_contain_text(f"done at step {STEPS}", timeout=LONGEST)
    page.screenshot(path=IMAGES / "page-train.png")


def main() -> None:
    server = serve(Path(sys.argv[1]), port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        draw(browser.new_page(viewport={"width": 1100, "height": 840}), address(server))
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
