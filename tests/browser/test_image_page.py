"""The page of photographs: what it names, that the desktop names the same, what it says of no picture."""

import gzip
import re
from importlib.util import find_spec
from io import BytesIO

import pytest
from helpers import onnx_files
from helpers.paths import ROOT

from flambeau.models.imagenet import PACKAGE, canvas_of, classify, efficientnet_lite0, labels

from .paper import READY, expect, shot, until

if find_spec(PACKAGE) is None:
    pytest.skip(f"no weights: {PACKAGE} is not installed", allow_module_level=True)

pytestmark = pytest.mark.share(6, first=5)
CODE = 60_000  # bytes of the page's scripts as gzip has them, at most
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


@pytest.mark.share(4, first=3)  # of the turns of this file, which are odd
def test_photographs_are_named_as_on_the_desktop(page, site):
    """However they are given; scripts are few, and no Python comes."""
    from PIL import Image

    sizes = {}
    size = lambda r: len(gzip.compress(r.body()))  # noqa: E731
    page.on("response", lambda r: sizes.update({r.url: size(r)}) if r.url.endswith(".js") else None)
    asked = []
    page.on("request", lambda r: asked.append(r.url))
    page.goto(f"{site}image/")
    expect(page, "#status").to_have_text(READY)
    assert not [url for url in asked if re.search(r"pyodide|\.zip|worker\.js", url)]
    assert len(sizes) > 5 and sum(sizes.values()) < CODE
    model = efficientnet_lite0("cpu")
    for name, best in SAMPLES.items():
        page.click(f"[data-name='{name}']")
        first = "#top5 li:first-child .name span:first-child"
        expect(page, first).to_have_text(re.compile(f"{best}$"))
        with Image.open(ROOT / "web" / "image" / name) as image:
            want = classify(model, image)
        found = named(page)
        assert [n for n, _ in found] == [g.name for g in want]
        assert [s for _, s in found] == pytest.approx([g.share for g in want], abs=0.005)
        expect(page, "#spoken").to_have_text(f"{found[0][0]}, {round(100 * found[0][1])} percent")
    shot(page, "image")
    assert float(page.text_content("#speed")) > 0 and "swiftshader" in page.text_content("#adapter").lower()

    page.set_input_files("#file", ROOT / "web" / "image" / "rocket.jpg")
    expect(page, "#spoken").to_have_text(re.compile("^missile"))
    given(page, "drop", "cup.jpg", (ROOT / "web/image/coffee.jpg").read_bytes(), "image/jpeg")
    expect(page, "#spoken").to_have_text(re.compile("^espresso"))
    for name, data in odd_pictures().items():
        said = page.text_content("#spoken")
        kind, mime = ("drop", "image/png") if name.endswith(".png") else ("paste", "image/jpeg")
        given(page, kind, name, data, mime)
        expect(page, "#spoken").not_to_have_text(said)
        with Image.open(BytesIO(data)) as image:
            want = classify(model, image)
        found = named(page)
        assert found[0][0] == want[0].name, (name, found, want)
        assert [s for _, s in found] == pytest.approx([g.share for g in want], abs=0.02), name
    given(page, "paste", "notes.txt", b"no picture", "text/plain")
    expect(page, ".notice span").to_have_text(NO_PICTURE.format("notes.txt"))
    given(page, "drop", "half.jpg", (ROOT / "web/image/cat.jpg").read_bytes()[:200], "image/jpeg")
    expect(page, ".notice span").to_have_text(NO_PICTURE.format("half.jpg"))
    assert not [url for url in asked if re.search(r"pyodide|worker\.js", url)]


@pytest.mark.share(4, first=1)
def test_the_camera_and_a_dropped_network(page, site, tmp_path):
    """Python comes for a network alone."""
    page.goto(f"{site}image/")
    expect(page, "#status").to_have_text(READY)
    page.click("[data-name='cat.jpg']")
    expect(page, "#spoken").to_have_text(re.compile("cat, [0-9]+ percent$"))
    films(page, site)
    takes_networks(page, tmp_path)


NO_PICTURE = "{} is no picture that this browser reads, or too large for it: give a JPEG, PNG or WebP."
DENIED = "this page is not allowed to. Allow it in the browser's address bar, and try again."


def odd_pictures() -> dict[str, bytes]:
    """The cat on its side with EXIF that says so, the cup with transparent holes, a large picture."""
    from PIL import Image

    found = {}
    with (
        Image.open(ROOT / "web" / "image" / "coffee.jpg") as cup,
        Image.open(ROOT / "web/image/cat.jpg") as cat,
    ):
        turned = Image.Exif()
        turned[0x0112] = 6  # to be turned right by a quarter
        lying = cat.transpose(Image.Transpose.ROTATE_90)
        hole = cup.convert("RGBA")
        hole.putalpha(cup.convert("L").point(lambda v: 255 if v > 90 else v))
        large = cat.resize((5000, 1200))
        for name, image, how in (
            ("lying.jpg", lying, {"exif": turned, "quality": 95}),
            ("hole.png", hole, {"compress_level": 1}),
            ("large.jpg", large, {"quality": 50}),
        ):
            out = BytesIO()
            image.save(out, "PNG" if name.endswith("png") else "JPEG", **how)
            found[name] = out.getvalue()
    return found


def films(page, site) -> None:
    """The camera, refused and then allowed: frame after frame with its milliseconds, until it is stopped."""
    page.click("#camera")
    expect(page, ".notice span").to_have_text(f"The camera cannot be used: {DENIED}")
    page.context.grant_permissions(["camera"], origin=site.rstrip("/"))
    page.evaluate("""() => {
        globalThis.frames = 0;
        new MutationObserver(() => frames++).observe(document.querySelector("#speed"), { childList: true });
    }""")
    page.click("#camera")
    expect(page, "#camera").to_have_text("Stop the camera")
    until(page, "() => frames > 2")
    assert len(named(page)) == 5 and float(page.text_content("#speed")) > 0
    page.click("#camera")
    expect(page, "#camera").to_have_text("Camera")
    page.wait_for_timeout(300)  # the frame that was under way
    seen = page.evaluate("frames")
    page.wait_for_timeout(300)
    assert page.evaluate("frames") == seen
    page.context.clear_permissions()


def weights_apart(page, path, best) -> None:
    """A network whose weights are in a file of their own: dropped without it, and with it."""
    made = onnx_files.apart(path, "weights/colours.bin")
    page.set_input_files("#file", made)
    expect(page, "#own-wrong p").to_have_text("It cannot be run here:")
    (problem,) = page.locator("#own-problems li").all_text_contents()
    told = (
        "lies in the file 'colours.bin', which was not given: drop or choose it together with the .onnx file"
    )
    assert problem == f"apart-colours.onnx: tensor 'conv.weight': {told}"
    page.set_input_files("#file", [path.parent / "weights" / "colours.bin", made])
    expect(page, "#own-told").to_contain_text("It is shown pictures, 224 x 224.")
    page.click("[data-name='cat.jpg']")
    expect(page, "#spoken").to_contain_text("percent")
    page.select_option("#scale", "unit")
    first = labels()[best[0]]
    expect(page, "#spoken").to_contain_text(first)


def takes_networks(page, folder) -> None:
    """A dropped file that can't be run, one that names pictures, one that takes none; and back."""
    from PIL import Image

    problems = page.locator("#own-problems li")
    page.set_input_files("#file", onnx_files.unknown(folder / "bad.onnx"))
    expect(page, "#own-problems li >> nth=3").to_be_visible()
    assert problems.all_text_contents() == onnx_files.PROBLEMS
    shot(page, "image-problems")
    (folder / "text.onnx").write_text("<!doctype html>")
    page.set_input_files("#file", folder / "text.onnx")
    expect(page, "#own-wrong p").to_have_text("It cannot be run here:")
    said = r"text\.onnx: is a web page instead of the file: download the file itself"
    assert re.match(said, problems.all_text_contents()[0])

    page.set_input_files("#file", path := onnx_files.classifier(folder / "colours.onnx"))
    expect(page, "#own-told").to_contain_text("It is shown pictures, 224 x 224.")
    page.click("[data-name='cat.jpg']")
    expect(page, "#spoken").to_contain_text("percent")
    with Image.open(ROOT / "web" / "image" / "cat.jpg") as image:
        canvas, side = canvas_of(image)
    best, shares = onnx_files.named(path, canvas, side, "imagenet")
    assert [n for n, _ in named(page)] == [labels()[k] for k in best]
    assert [s for _, s in named(page)] == pytest.approx(shares, abs=0.005)
    before = named(page)
    page.select_option("#scale", "unit")
    until(page, "(before) => document.querySelector('#top5 li').dataset.share != before", before[0][1])
    best, shares = onnx_files.named(path, canvas, side, "unit")
    assert [s for _, s in named(page)] == pytest.approx(shares, abs=0.005)
    shot(page, "image-network")
    weights_apart(page, folder / "colours.onnx", best)

    page.set_input_files("#file", onnx_files.words(folder / "words.onnx"))
    expect(page, "#own-outputs dt >> nth=1").to_have_text("zint64[1, 64]")
    assert page.text_content("#own-outputs dt b") == "y" and not named(page)
    assert re.fullmatch(r"(0, |1, ){8}…from 0 to 1", page.text_content("#own-outputs dd >> nth=1"))
    page.click("#back")
    expect(page, "#spoken").to_have_text(re.compile("cat, "))
    assert not page.is_visible("#own")
