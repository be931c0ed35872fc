"""Audits pages of a built site in Chromium: contrast, names, landmarks by axe-core; overflow, small targets.

npm install axe-core --prefix /tmp/axe
python scripts/audit_pages.py SITE /tmp/axe/node_modules/axe-core/axe.min.js [PAGE ...] [--shots FOLDER]

SITE is a folder of `flambeau web build`. Without PAGE: the pages that its own scripts draw, and one of each
kind of the documentation; with --all every page of the folder. Each page is looked at in light and dark, at
1440, 768 and 390 pixels; exit code 1 if anything is found. With --all the 1,700 pages of functions, which one
template makes, are read in turn inside one page, with another width and scheme each twenty (half an hour).
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
    "", "playground/", "mnist/", "cartpole/", "image/", "chat/", "timm/", "selftest/", "join/",
    "docs/index.html",
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

# Puts the content of pages of one template into this one in turn; without the policy, which forbids it.
PARTS = """async ([names, root]) => {
  const found = [];
  for (const name of names) {
    const text = await (await fetch(root + name)).text();
    const other = new DOMParser().parseFromString(text, "text/html"), told = [];
    const ids = [...other.querySelectorAll("[id]")].map(({ id }) => id);
    if (new Set(ids).size !== ids.length) told.push("an id occurs twice");
    if (other.documentElement.lang !== "en" || !other.title || other.querySelectorAll("h1").length !== 1)
      told.push("no language, no title, or not one h1");
    document.querySelector("main").replaceWith(document.adoptNode(other.querySelector("main")));
    dispatchEvent(new Event("resize")); // docs.js makes what scrolls focusable
    for (const { id, impact, nodes } of (await axe.run("main")).violations)
      for (const { html } of nodes) told.push(`${id} (${impact}): ${html.slice(0, 100)}`);
    const wide = document.documentElement.scrollWidth;
    if (wide > innerWidth) told.push(`overflow: ${wide} pixels`);
    found.push([name, told]);
  }
  return found;
}"""
REFERENCE, AT_ONCE = "docs/reference/", 20


def look_at_parts(browser, root: str, axe: str, names: list[str]) -> int:
    """Look at pages of functions and classes inside one page each AT_ONCE; returns the number of findings."""
    count, looks = 0, [(width, scheme) for scheme in SCHEMES for width in WIDTHS]
    page = browser.new_context(bypass_csp=True).new_page()
    for start in range(0, len(names), AT_ONCE):
        some, (width, scheme) = names[start : start + AT_ONCE], looks[start // AT_ONCE % len(looks)]
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(root + some[0])
        page.evaluate(axe)
        for name, told in page.evaluate(PARTS, [some, root]):
            count += len(told)
            print(
                f"/{name}: {len(told)}",
                *(f"{width} {scheme}: {text}" for text in told),
                sep="\n  ",
                flush=True,
            )
    return count


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
        names, axe = args.pages or (every_page(args.site) if args.all else PAGES), args.axe.read_text("utf-8")
        parts = [name for name in names if name.startswith(REFERENCE) and not name.endswith("/index.html")]
        if args.all:
            count += look_at_parts(browser, address(server), axe, parts)
            names = [name for name in names if name not in set(parts)]
        for name in names:
            page = browser.new_page()
            page.goto(address(server) + name)
            is_text = name.startswith(TEXT) and not name.startswith(DRAWN)
            page.wait_for_timeout(200 if is_text else SETTLED)
            page.evaluate(axe)  # not a script element: the policy forbids one
            found = sorted(findings(page, args.shots, name, is_text))
            count += len(found)
            print(f"/{name}: {len(found)}", *found, sep="\n  ", flush=True)
            page.close()
    sys.exit(count > 0)


if __name__ == "__main__":
    main()
