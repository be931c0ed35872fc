"""Turns a made-up run, beside two earlier ones, into docs/images/dashboard.png: what the dashboard shows.

python scripts/draw_dashboard.py    # needs the system's Chromium, which draws textual's SVG
"""

import asyncio
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from helpers import played  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

from flambeau.learner.loggers import JSONL  # noqa: E402
from flambeau.learner.screen import DashboardApp  # noqa: E402

SIZE = 110, 32  # columns and lines
WIDTH = 1000  # pixels


async def svg(folder: Path) -> str:
    """The dashboard of the third run of a folder, on its way."""
    for name, shift in (("mnist-1", 0.8), ("mnist-2", 0.4)):
        logger = JSONL()
        for event in played.run(name, str(folder / name), shift=shift):
            logger(event)
    events = list(played.run("mnist-3", str(folder / "mnist-3"), waits="data"))
    app = DashboardApp(stay=True)
    async with app.run_test(size=SIZE) as pilot:
        app.inbox.extend(events[:-14])
        app.tick()
        await app.workers.wait_for_complete()
        await pilot.pause()
        return app.export_screenshot()


def main() -> None:
    out = ROOT / "docs" / "images" / "dashboard.png"
    with tempfile.TemporaryDirectory() as folder:
        text = asyncio.run(svg(Path(folder)))
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 700})
        page.set_content(f"<style>body{{margin:0}}svg{{width:{WIDTH}px;display:block}}</style>{text}")
        page.locator("svg").first.screenshot(path=out)
        browser.close()
    print(f"drew {out.relative_to(ROOT)}, {out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
