"""Audits pages of a built site in Chromium: contrast, names, landmarks by axe-core; overflow, small targets.

npm install axe-core --prefix /tmp/axe
python scripts/audit_pages.py SITE /tmp/axe/node_modules/axe-core/axe.min.js [PAGE ...] [--shots FOLDER]

SITE is a folder of `flambeau web build`. Without PAGE: the pages that its own scripts draw, and one of each
kind of the documentation; with --all every page of the folder (2,000 pages are an hour). Each page is looked
at in light and dark, at 1440, 768 and 390 pixels; exit code 1 if anything is found.
tests/site/test_accessible.py checks what can be read from the HTML and CSS alone.
"""

import argparse
import shutil
import sys
import threading
from pathlib import Path

from playwright import sync_api as playwright

from flambeau.site import serve
from flambeau.site.server import address

PAGES = (
    "", "playground/", "mnist/", "cartpole/", "image/", "timm/", "selftest/", "join/", "docs/index.html",
    "docs/learner.html", "docs/book/graph.html", "docs/coverage.html", "docs/examples/vae.html",
    "docs/reference/index.html", "docs/inspect/mnist.html",
)  # fmt: skip
FLAGS = ["--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
WIDTHS, SCHEMES = (1440, 768, 390), ("light", "dark")
SETTLED = 5000  # milliseconds that a page may take to draw itself
TEXT = "docs/"  # pages below are complete when loaded, except those of DRAWN
DRAWN = ("docs/book/", "docs/inspect/")
ONCE = {(1440, "dark"), (390, "light")}  # where axe-core reads a page of text: it needs seconds for long ones
AXE = """async () => (await axe.run({ iframes: false })).violations.flatMap(({ id, impact, nodes }) =>
  nodes.map(({ html, any, all, none }) =>
    `${id} (${impact}): ${html.slice(0, 100)}: ${[...any, ...all, ...none][0]?.message ?? ""}`))"""
OWN = """() => {
  const wide = document.documentElement.scrollWidth, boxes = "[type=checkbox], [type=radio], .unseen";
  const found = wide > innerWidth ? [`overflow: ${wide} pixels`] : [];
  for (const one of document.querySelectorAll(`button, select, summary, input:not(${boxes})`)) {
    const { width, height } = one.getBoundingClientRect();
    if (width && (width < 24 || height < 24) && !one.closest(".unseen"))
      found.push(`target of ${Math.round(width)} x ${Math.round(height)}: ${one.outerHTML.slice(0, 80)}`);
  }
  return found;
}"""  # at least 24 x 24 CSS pixels: WCAG 2.2, 2.5.8


def findings(page, shots: Path | None, name: str, is_text: bool) -> set[str]:
    """What is wrong in a page that is open, by scheme and width."""
    found: set[str] = set()
    for scheme in SCHEMES:
        for width in WIDTHS:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(50)
            asked = [OWN] if is_text and (width, scheme) not in ONCE else [AXE, OWN]
            found |= {f"{width} {scheme}: {text}" for ask in asked for text in page.evaluate(ask)}
            if shots:
                file = name.strip("/").replace("/", "_") or "index"
                page.screenshot(path=shots / f"{file}-{width}-{scheme}.png", full_page=True)
    return found


def every_page(site: Path) -> list[str]:
    """The addresses of a site's pages, those without index.html by their folder."""
    pages = (p.relative_to(site).as_posix() for p in sorted(site.rglob("*.html")))
    return [name.removesuffix("index.html") if not name.startswith(TEXT) else name for name in pages]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", type=Path)
    parser.add_argument("axe", type=Path, help="axe.min.js of the package axe-core.")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="Addresses below the site's.")
    parser.add_argument("--all", action="store_true", help="Look at every page of SITE.")
    parser.add_argument("--shots", type=Path, help="Write screenshots to this folder.")
    args = parser.parse_args()
    if args.shots:
        args.shots.mkdir(parents=True, exist_ok=True)
    server = serve(args.site, port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    count = 0
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name in args.pages or (every_page(args.site) if args.all else PAGES):
            page = browser.new_page()
            page.goto(address(server) + name)
            is_text = name.startswith(TEXT) and not name.startswith(DRAWN)
            page.wait_for_timeout(200 if is_text else SETTLED)
            page.evaluate(args.axe.read_text("utf-8"))  # not a script element: the policy forbids one
            found = sorted(findings(page, args.shots, name, is_text))
            count += len(found)
            print(f"/{name}: {len(found)}", *found, sep="\n  ", flush=True)
            page.close()
    sys.exit(count > 0)


if __name__ == "__main__":
    main()
