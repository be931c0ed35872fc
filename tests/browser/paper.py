"""Turns digits into strokes as a hand draws them, lists of points in a square of 0 to 1, and draws them."""

import re
from math import cos, pi, sin

from helpers.paths import ROOT

SHOTS = ROOT / "build" / "screenshots"  # what the page looked like; git ignores it
READY = re.compile("^ready on .*swiftshader")
WAIT = 120_000  # milliseconds for whatever a page does, which a busy machine may take
Stroke = list[tuple[float, float]]


def arc(x: float, y: float, rx: float, ry: float, start: float, end: float, n: int = 16) -> Stroke:
    """Points on an ellipse about (x, y), from angle to angle in turns, clockwise from the right."""
    turns = [start + (end - start) * i / n for i in range(n + 1)]
    return [(x + rx * cos(2 * pi * t), y + ry * sin(2 * pi * t)) for t in turns]


DIGITS: dict[int, list[Stroke]] = {
    0: [arc(0.5, 0.5, 0.22, 0.33, -0.25, 0.75, 28)],
    1: [[(0.55, 0.15), (0.47, 0.85)]],
    2: [[*arc(0.5, 0.33, 0.2, 0.17, -0.5, 0.1), (0.28, 0.82), (0.75, 0.8)]],
    3: [[*arc(0.47, 0.33, 0.2, 0.17, -0.4, 0.22), *arc(0.47, 0.66, 0.23, 0.18, -0.22, 0.4)]],
    4: [[(0.32, 0.18), (0.28, 0.52), (0.72, 0.5)], [(0.66, 0.15), (0.6, 0.88)]],
    5: [[(0.7, 0.17), (0.36, 0.18), (0.34, 0.45), *arc(0.48, 0.62, 0.22, 0.2, -0.3, 0.35)]],
    6: [[(0.62, 0.15), (0.45, 0.35), *arc(0.5, 0.66, 0.18, 0.18, 0.52, -0.5, 24)]],
    7: [[(0.27, 0.2), (0.72, 0.2), (0.55, 0.5), (0.45, 0.85)]],
    8: [[*arc(0.5, 0.33, 0.16, 0.16, -0.1, -0.75, 18), *arc(0.5, 0.67, 0.19, 0.18, -0.25, 0.75, 22),
         *arc(0.5, 0.33, 0.16, 0.16, 0.25, -0.1, 8)]],
    9: [[*arc(0.48, 0.36, 0.19, 0.18, -0.1, -1.0, 22), (0.67, 0.3), (0.64, 0.55), (0.55, 0.86)]],
}  # fmt: skip


def expect(page, selector):
    from playwright.sync_api import expect

    return expect(page.locator(selector))


def draw(page, digit: int) -> None:
    """Draw with the mouse, on a clean pad."""
    if page.locator("#tab-draw").count():
        page.click("#tab-draw")
    page.click("#clear")
    page.locator("#digit").scroll_into_view_if_needed()
    box = page.locator("#digit").bounding_box()
    for stroke in DIGITS[digit]:
        points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke]
        page.mouse.move(*points[0])
        page.mouse.down()
        for x, y in points[1:]:
            page.mouse.move(x, y)
        page.mouse.up()


def overflow(page) -> list[str]:
    """What reaches beyond the window's sides, but for what scrolls in a box of its own."""
    return page.evaluate("""() => {
        const beyond = [...document.querySelectorAll("body *")].filter((one) => {
            const { left, right, width } = one.getBoundingClientRect();
            const outside = width && (left < -0.5 || right > innerWidth + 0.5);
            return outside && !one.closest("pre, .scroll, .unseen");
        }), { scrollWidth } = document.documentElement;
        const told = beyond.map((one) => one.outerHTML.slice(0, 80));
        return scrollWidth > innerWidth ? [`the page: ${scrollWidth}`, ...told] : told;
    }""")


def until(page, condition: str, given=None) -> None:
    """Wait for a function of the page to be true; the page's policy forbids Playwright's own way."""
    for _ in range(WAIT // 100):
        if page.evaluate(condition, given):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"never true: {condition}")


def shot(page, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(200)  # bars grow in 80 ms
    page.screenshot(path=SHOTS / f"{name}.png")
