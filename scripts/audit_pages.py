"""Audits pages of a built site in Chromium: contrast, names, landmarks by axe-core; overflow, small targets.

npm install axe-core --prefix /tmp/axe
python scripts/audit_pages.py SITE /tmp/axe/node_modules/axe-core/axe.min.js [PAGE ...] [--shots FOLDER]

SITE is a folder of `flambeau web build`. Without PAGE: the pages that its own scripts draw, and one of each
kind of the documentation. Each page is looked at in light and dark, at 1440 and 390 pixels; exit code 1 if
anything is found. tests/site/test_accessible.py checks what can be read from the HTML and CSS alone.
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
    "", "playground/", "mnist/", "image/", "timm/", "selftest/", "join/", "docs/index.html",
    "docs/learner.html", "docs/book/graph.html", "docs/coverage.html", "docs/examples/vae.html",
    "docs/reference/index.html", "docs/inspect/mnist.html",
)  # fmt: skip
FLAGS = ["--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
WIDTHS, SCHEMES = (1440, 390), ("light", "dark")
SETTLED = 5000  # milliseconds that a page may take to draw itself
AXE = """async () => (await axe.run({ iframes: false })).violations.flatMap(({ id, nodes }) =>
  nodes.map(({ html, any, all, none }) =>
    `${id}: ${html.slice(0, 100)}: ${[...any, ...all, ...none][0]?.message ?? ""}`))"""
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


def findings(page, shots: Path | None, name: str) -> set[str]:
    """What is wrong in a page that is open, by scheme and width."""
    found: set[str] = set()
    for scheme in SCHEMES:
        for width in WIDTHS:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(200)
            found |= {f"{width} {scheme}: {text}" for text in (*page.evaluate(AXE), *page.evaluate(OWN))}
            if shots:
                file = name.strip("/").replace("/", "_") or "index"
                page.screenshot(path=shots / f"{file}-{width}-{scheme}.png", full_page=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", type=Path)
    parser.add_argument("axe", type=Path, help="axe.min.js of the package axe-core.")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="Addresses below the site's.")
    parser.add_argument("--shots", type=Path, help="Write screenshots to this folder.")
    args = parser.parse_args()
    if args.shots:
        args.shots.mkdir(parents=True, exist_ok=True)
    server = serve(args.site, port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    count = 0
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name in args.pages or PAGES:
            page = browser.new_page()
            page.goto(address(server) + name)
            page.wait_for_timeout(SETTLED)
            page.evaluate(args.axe.read_text("utf-8"))  # not a script element: the policy forbids one
            found = sorted(findings(page, args.shots, name))
            count += len(found)
            print(f"/{name}: {len(found)}", *found, sep="\n  ", flush=True)
            page.close()
    sys.exit(count > 0)


if __name__ == "__main__":
    main()
