"""The page of photographs: what it names, that the desktop names the same, what it says of no picture."""

import re
from importlib.util import find_spec

import pytest
from helpers.paths import ROOT

from flambeau.models.imagenet import PACKAGE, classify, efficientnet_lite0

from .paper import READY, WAIT, expect, shot

if find_spec(PACKAGE) is None:
    pytest.skip(f"no weights: {PACKAGE} is not installed", allow_module_level=True)

CODE = 60_000  # bytes of the page's scripts, at most
SAMPLES = {"cat.jpg": "cat", "coffee.jpg": "espresso"}  # what the best name ends with


def named(page) -> list[tuple[str, float]]:
    """The five names with their shares."""
    return page.eval_on_selector_all(
        "#top5 li",
        "all => all.map((one) => [one.querySelector('.name span').textContent, +one.dataset.share])",
    )


def given(page, kind: str, name: str, data: bytes, mime: str) -> None:
    """Drop or paste a file."""
    page.evaluate(
        """([kind, name, data, type]) => {
            const files = new DataTransfer();
            files.items.add(new File([new Uint8Array(data)], name, { type }));
            const how = { bubbles: true, cancelable: true };
            const event = kind === "drop" ? new DragEvent(kind, { ...how, dataTransfer: files })
                : new ClipboardEvent(kind, { ...how, clipboardData: files });
            document.body.dispatchEvent(event);
        }""",
        [kind, name, list(data), mime],
    )


def test_photographs_are_named_as_on_the_desktop(page, site):
    """Chosen, dropped, pasted and samples; scripts are few, and Python is not loaded."""
    from PIL import Image

    sizes = {}
    page.on("response", lambda r: sizes.update({r.url: len(r.body())}) if r.url.endswith(".js") else None)
    asked = []
    page.on("request", lambda r: asked.append(r.url))
    page.goto(f"{site}image/")
    expect(page, "#status").to_have_text(READY, timeout=2 * WAIT)
    assert not [url for url in asked if re.search(r"pyodide|\.zip|worker\.js", url)]
    assert len(sizes) > 5 and sum(sizes.values()) < CODE
    model = efficientnet_lite0("cpu")
    for name, best in SAMPLES.items():
        page.click(f"[data-name='{name}']")
        first = "#top5 li:first-child .name span:first-child"
        expect(page, first).to_have_text(re.compile(f"{best}$"), timeout=WAIT)
        with Image.open(ROOT / "web" / "image" / name) as image:
            want = classify(model, image)
        found = named(page)
        assert [n for n, _ in found] == [g.name for g in want]
        assert [s for _, s in found] == pytest.approx([g.share for g in want], abs=0.005)
        expect(page, "#spoken").to_have_text(f"{found[0][0]}, {round(100 * found[0][1])} percent")
    shot(page, "image")
    assert float(page.text_content("#speed")) > 0 and "swiftshader" in page.text_content("#adapter").lower()

    page.set_input_files("#file", ROOT / "web" / "image" / "rocket.jpg")
    expect(page, "#spoken").to_have_text(re.compile("^missile"), timeout=WAIT)
    given(page, "drop", "cup.jpg", (ROOT / "web/image/coffee.jpg").read_bytes(), "image/jpeg")
    expect(page, "#spoken").to_have_text(re.compile("^espresso"), timeout=WAIT)
    given(page, "paste", "notes.txt", b"no picture", "text/plain")
    said = "notes.txt is no picture that this browser reads: give a JPEG, PNG or WebP."
    expect(page, ".notice span").to_have_text(said)
