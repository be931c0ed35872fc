"""The page of digits on a phone: finger and pen draw, the page stays put and fits the width."""

import re

import pytest

from .paper import DIGITS, READY, expect, overflow, shot

pytestmark = pytest.mark.share(6, first=2)
WIDTH, HIGH = 360, 640


class Phone:
    """The page in a phone's window, touched as the browser's own input is: by its debugging protocol."""

    def __init__(self, context, address: str):
        self.page = context.new_page()
        self.session = context.new_cdp_session(self.page)
        self.page.goto(address)
        expect(self.page, "#status").to_have_text(READY)
        self.page.evaluate("document.querySelectorAll('.notice button').forEach((button) => button.click())")
        self.page.evaluate("""() => {
            globalThis.seen = new Set();
            addEventListener("pointerdown", (event) => seen.add(event.pointerType), true);
        }""")

    def touch(self, kind: str, *fingers) -> None:
        """A touchStart, touchMove or touchEnd with the fingers that are down, [x, y] each."""
        points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(fingers)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def finger(self, points) -> None:
        self.touch("touchStart", points[0])
        for point in points[1:]:
            self.touch("touchMove", point)
        self.page.wait_for_timeout(100)  # at rest: a fling would swallow the next tap
        self.touch("touchMove", points[-1])
        self.touch("touchEnd")

    def pen(self, points) -> None:
        def send(kind: str, point, buttons: int) -> None:
            told = {"pointerType": "pen", "button": "left", "buttons": buttons, "force": 0.4, "tiltX": 20}
            self.session.send(
                "Input.dispatchMouseEvent",
                {"type": kind, "x": point[0], "y": point[1], "clickCount": 1} | told,
            )

        send("mousePressed", points[0], 1)
        for point in points[1:]:
            send("mouseMoved", point, 1)
        send("mouseReleased", points[-1], 0)

    def pad(self) -> dict[str, float]:
        """Where the pad is, with the page scrolled so far that it could scroll either way."""
        self.page.click("#tab-draw")
        self.page.click("#clear")
        self.page.evaluate(
            "scrollTo(0, document.querySelector('#digit').getBoundingClientRect().top + scrollY - 90)"
        )
        self.page.evaluate("() => new Promise(requestAnimationFrame)")
        return self.page.locator("#digit").bounding_box()

    def draw(self, digit: int, by) -> None:
        box = self.pad()
        for stroke in DIGITS[digit]:
            by([(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke])

    def scrolled(self) -> float:
        """How far down the page is, once it has come to rest."""
        self.page.wait_for_timeout(150)
        return self.page.evaluate("scrollY")


@pytest.fixture(scope="module")
def phone(browser, site):
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HIGH}, has_touch=True, is_mobile=True, device_scale_factor=2
    )
    yield Phone(context, f"{site}mnist/")
    context.close()


@pytest.mark.parametrize("digit", [0, 1, 3, 4, 7])
@pytest.mark.parametrize("kind", ["touch", "pen"])
def test_digits_drawn_by_finger_and_pen_are_read(phone, kind, digit):
    phone.page.evaluate("seen.clear()")
    phone.draw(digit, phone.finger if kind == "touch" else phone.pen)
    expect(phone.page, "#prediction").to_have_text(str(digit))
    if kind == "pen":  # the buttons are pressed by the mouse
        assert "pen" in phone.page.evaluate("[...seen]")
    else:
        assert phone.page.evaluate("[...seen].at(-1)") == "touch"


def test_the_page_does_not_scroll_while_a_finger_draws(phone):
    box = phone.pad()
    x, top, bottom = box["x"] + box["width"] / 2, box["y"] + 30, box["y"] + box["height"] - 30
    before = phone.scrolled()
    assert before > 0
    for begin, end in ((bottom, top), (top, bottom)):
        phone.finger([(x, begin + (end - begin) * i / 20) for i in range(21)])
        assert phone.scrolled() == before
    expect(phone.page, "#prediction").to_have_text("1")
    beside = phone.page.locator("#hint").bounding_box()  # the same finger scrolls where it does not draw
    y = beside["y"] + 5
    phone.finger([(beside["x"] + 5, y - 15 * i) for i in range(12)])
    assert phone.scrolled() > before + 30


def test_two_fingers_draw_two_strokes_and_do_not_zoom(phone):
    box = phone.pad()
    x, y, step = box["x"] + box["width"] / 2, box["y"] + 60, (box["height"] - 120) / 10
    phone.touch("touchStart", (x - 30, y), (x + 30, y))
    for i in range(1, 11):
        phone.touch("touchMove", (x - 30 - 2 * i, y + step * i), (x + 30 + 2 * i, y + step * i))
    phone.touch("touchEnd")
    expect(phone.page, "#hint").to_contain_text("% sure")
    assert phone.page.evaluate("visualViewport.scale") == 1
    seen = phone.page.evaluate("""() => {
        const pen = document.querySelector("#seen").getContext("2d");
        return [...pen.getImageData(0, 14, 28, 1).data].filter((_, i) => i % 4 === 0);
    }""")
    runs = re.findall(r"1+", "".join("01"[value > 60] for value in seen))
    assert len(runs) == 2, seen  # two lines side by side, nothing between them


def test_nothing_is_wider_than_the_phone(phone):
    page = phone.page
    phone.draw(5, phone.finger)
    expect(page, "#prediction").to_have_text("5")
    page.evaluate("scrollTo(0, 0)")
    shot(page, "phone-draw")
    for name in ("#digit", "#prediction"):  # in one view
        box = page.locator(name).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= HIGH
    assert overflow(page) == []
    page.tap("#tab-train")
    page.fill("#steps", "3")
    page.tap("#train")
    expect(page, "#train-status").to_contain_text("done at step 3")
    page.tap("summary")
    assert overflow(page) == []
    page.evaluate("scrollTo(0, 0)")
    shot(page, "phone-train")
    page.tap("#tab-kernels")
    page.locator("#kernels tr.pick button").first.tap()
    expect(page, "#kernels pre").to_be_visible()
    assert overflow(page) == []
    shot(page, "phone-kernels")


def test_what_is_touched_is_large_enough(phone):
    """24 x 24 CSS pixels at least (WCAG 2.2, 2.5.8), on every tab."""
    for name in ("draw", "train", "kernels"):
        phone.page.tap(f"#tab-{name}")
        expect(phone.page, f"#panel-{name}").to_be_visible()
        touched = "button, select, input:not(.unseen), summary"
        small = phone.page.evaluate(
            """(touched) => [...document.querySelectorAll(touched)]
            .map((one) => [one, one.getBoundingClientRect()])
            .filter(([, { width, height }]) => width && (width < 24 || height < 24))
            .map(([one, { width, height }]) => `${one.id || one.textContent} ${width} x ${height}`)""",
            touched,
        )
        assert small == []
