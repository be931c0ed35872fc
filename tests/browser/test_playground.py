"""The Playground: a program that was shared runs, is stopped, shows what is wrong, and its kernels."""

import re

import pytest

from flambeau.site.docs import docs_files

from .paper import expect, overflow, shot, until

pytestmark = pytest.mark.share(8, first=6)
PROGRAM = """import flambeau as fb
from flambeau.pictures import image, plot

print("begin")
x = fb.arange(12.0).reshape(3, 4)
image(x).show()
plot(x[0], log=False).show()
(x @ x.T).relu()"""
ENDLESS = "print('first')\nwhile True:\n    pass"
WRONG = "import flambeau as fb\n\ndef f(x):\n    return x @ fb.ones(5, 2)\n\nf(fb.ones(2, 3))"


def fill(page, source: str) -> None:
    page.fill("#source", source)


def ran(page) -> None:
    expect(page, "#stop").to_be_hidden()


def test_a_shared_program_runs_and_shows_its_kernels(page, site):
    page.goto(f"{site}playground/?example=gradient")
    expect(page, "#run").to_be_enabled()
    fill(page, PROGRAM)
    page.click("#share")
    until(page, "() => location.hash.startsWith('#code=')")
    address = page.url
    assert len(address) < 400
    page.goto("about:blank")
    page.goto(address)
    expect(page, "#status").to_contain_text("Read it before you run it")  # it does not run by itself
    assert page.input_value("#source") == PROGRAM
    page.focus("#source")
    page.keyboard.press("Control+Enter")
    expect(page, "#adapter").to_contain_text("(software: slow)")
    ran(page)
    assert page.inner_text("#output .out") == "begin\n"
    assert page.locator("#output canvas").get_attribute("width") == "4"
    assert page.locator("#output svg polyline").count() == 1
    assert page.inner_text("#output .value").startswith("tensor([[ 14.")
    assert re.search(r"s on .*swiftshader.*; \d+ kernels", page.inner_text("#ran"))
    page.click("#kernels li:last-child summary")
    assert "@compute" in page.inner_text("#kernels li:last-child pre")
    page.click("#inspect")
    frame = page.frame_locator("iframe.inspector")
    frame.locator("tr[data-kernel]").first.click()
    expect_in(frame, "#detail").to_contain_text("playground.py:")
    shot(page, "playground")
    page.set_viewport_size({"width": 390, "height": 844})
    assert overflow(page) == []

    fill(page, WRONG)
    page.click("#run")
    expect(page, "#output .trace").to_contain_text("line 4, in f\n    return x @ fb.ones(5, 2)")
    assert "runner.py" not in page.inner_text("#output") and "line 6" in page.inner_text("#output")
    page.click("#output .wrong button")
    assert page.evaluate("getSelection().toString()") == "    return x @ fb.ones(5, 2)"
    fill(page, ENDLESS)
    page.click("#run")
    expect(page, "#output .out").to_have_text("first\n")
    page.click("#stop")
    expect(page, "#output").to_contain_text("Stopped.")
    fill(page, "import numpy")
    page.click("#run")  # by the worker that replaced the stopped one
    expect(page, "#output .trace").to_contain_text("the page has Python's standard library and Flambeau")


def expect_in(frame, selector):
    from playwright.sync_api import expect

    return expect(frame.locator(selector))


def test_the_editor_indents_and_keeps_undo(page, site):
    page.goto(f"{site}playground/?example=fusion")
    expect(page, "#run").to_be_enabled()
    fill(page, "")
    page.keyboard.type("for i in range(3):\nif i:\npass")
    assert page.input_value("#source") == "for i in range(3):\n    if i:\n        pass"
    page.keyboard.press("Shift+Tab")
    assert page.input_value("#source").endswith("\n    pass")
    page.keyboard.press("Control+a")
    page.keyboard.press("Tab")
    assert page.input_value("#source").startswith("    for i")
    page.keyboard.press("Control+z")
    assert page.input_value("#source").startswith("for i")
    assert page.inner_text(".colors .k >> nth=0") == "for"


def test_it_says_what_is_missing_and_what_is_damaged(page, site):
    page.add_init_script("delete Navigator.prototype.gpu")
    page.goto(f"{site}playground/#code=AAAA")
    expect(page, "#status").to_contain_text("This browser has no WebGPU")
    expect(page, "#status").to_contain_text("run on a desktop")
    expect(page, "#notices").to_contain_text("The link is damaged")
    assert page.is_disabled("#run")


def test_a_cell_of_the_book_runs_beside_its_printed_output(page, site, site_folder):
    """After the cells above it; then its kernels, and on a phone."""
    for name, data in docs_files([], with_site=True).items():
        if name.startswith(("book/", "docs.")):
            path = site_folder / "docs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    page.goto(f"{site}docs/book/graph.html")
    expect(page, ".adapter").to_contain_text("Cells run on")  # Python is there before a button is pressed
    page.click(".bar .run >> nth=1")
    expect(page, ".bar .told >> nth=1").to_contain_text("swiftshader (WebGPU) (software: slow), 1 kernel")
    assert page.inner_text(".bar .told >> nth=0").endswith("(software: slow)")  # it ran first
    pair = page.locator(".pair").nth(1)
    printed, mine = (pair.locator(f"{box} pre").inner_text() for box in (".printed", ".mine"))
    assert printed.strip().removesuffix("Copy").split() == mine.split()
    page.click(".made summary >> nth=0")
    page.click(".kernels summary >> nth=0")
    assert "@compute" in page.inner_text(".kernels pre")
    page.click(".made > details > button")  # its value is there: the cells above run again, too
    expect_in(page.frame_locator("iframe.inspector"), "#facts").to_contain_text("1 kernels")
    page.set_viewport_size({"width": 390, "height": 844})
    assert overflow(page) == []
