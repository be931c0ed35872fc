"""Follows docs/tutorial.md in an empty folder, and draws its images: `python scripts/draw_tutorial.py`.

The page's files are written and run as it says, which takes a minute or two. The picture of the page needs
Chromium and Playwright.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from PIL import Image

from flambeau.site import serve
from flambeau.site.notebooks import FENCE, code_of
from flambeau.site.server import address

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
WRITE = "%%writefile "
FLAGS = ["--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]


def follow(folder: Path) -> None:
    """Write the files of the page and run its commands."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    for match in FENCE.finditer((ROOT / "docs" / "tutorial.md").read_text("utf-8")):
        source = code_of(match[1], match[2]) or ""
        if source.startswith(WRITE):
            name, _, body = source.removeprefix(WRITE).partition("\n")
            (folder / name).write_text(body, "utf-8")
        for line in source.splitlines():
            if line.startswith("!"):
                program, *arguments = shlex.split(line[1:])
                module = ["-m", "flambeau"] if program == "flambeau" else []
                subprocess.run([sys.executable, *module, *arguments], cwd=folder, env=env, check=True)


def sheet(folder: Path, columns: int = 8) -> Image.Image:
    """Return some photographs of each kind, in rows."""
    kinds = sorted((folder / "photos").iterdir())
    first = [sorted(kind.glob("*.jpg"))[:columns] for kind in kinds]
    side = Image.open(first[0][0]).width
    image = Image.new("RGB", (columns * side, len(kinds) * side))
    for row, paths in enumerate(first):
        for column, path in enumerate(paths):
            image.paste(Image.open(path), (column * side, row * side))
    return image


def photograph_page(folder: Path) -> None:
    from playwright.sync_api import expect, sync_playwright

    server = serve(folder / "page", port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 960, "height": 700})
        page.goto(address(server))
        expect(page.locator("#status")).to_contain_text("ready on", timeout=120_000)
        page.click(".examples button:last-child")
        expect(page.locator(".bars li")).to_have_count(3)
        page.screenshot(path=IMAGES / "tutorial-page.png")
        browser.close()
    server.shutdown()


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        follow(folder)
        sheet(folder).save(IMAGES / "tutorial-photographs.png")
        for name in ("history", "worst"):
            shutil.copyfile(folder / f"{name}.png", IMAGES / f"tutorial-{name}.png")
        photograph_page(folder)


if __name__ == "__main__":
    main()
