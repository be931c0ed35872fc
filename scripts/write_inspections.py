"""Turns three programs into docs/inspect/*.html, the inspector's pages, and those into docs/images.

python scripts/write_inspections.py             # inspects on this adapter: a minute on a software one
python scripts/write_inspections.py --pages     # the pages anew, of what is in them: as page.js changed
python scripts/write_inspections.py --pictures  # what Chromium shows of them
"""

import argparse
import re
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import flambeau as fb
from flambeau import models, nn, optim
from flambeau.inspector import Inspection, page
from flambeau.inspector.model import from_text
from flambeau.models.benchmarked import Size, gpt
from flambeau.models.digits import LR, network, train_step

ROOT = Path(__file__).resolve().parents[1]
OUT, IMAGES = ROOT / "docs" / "inspect", ROOT / "docs" / "images"
F = nn.functional
MOST = 1_000_000  # bytes of a page
RUNS, COLORS = 5, 128
LETTERS = Size(
    layers=4, width=128, heads=4, vocabulary=65, context=64
)  # nanoGPT's, for a computer without a GPU


def mnist():
    """A training step of the network that `flambeau mnist` trains."""
    model = network()
    optimizer = optim.Adam(model.parameters(), lr=LR)

    @fb.jit
    def step(x, y):
        return train_step(model, optimizer, x, y)

    return step, fb.randn(64, 1, 28, 28), fb.randint(0, 10, (64,))


def efficientnet():
    """A photograph through EfficientNet-Lite0."""
    model = models.create_model("efficientnet_lite0").eval()

    @fb.jit
    def predict(x):
        with fb.no_grad():
            return model(x).softmax(1)

    return predict, fb.randn(1, 3, 224, 224)


def letters():
    """A training step of a GPT that writes letter by letter."""
    model = gpt(fb, LETTERS)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)

    @fb.jit
    def step(ids, following):
        loss = F.cross_entropy(model(ids).flatten(0, 1), following.flatten())
        optimizer.step(loss.backward())
        return loss

    ids = fb.randint(0, LETTERS.vocabulary, (12, LETTERS.context + 1))
    return step, ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


CALLS: dict[str, tuple[str, Callable]] = {
    "mnist": ("MNIST: a training step", mnist),
    "efficientnet": ("EfficientNet-Lite0: a photograph", efficientnet),
    "gpt": ("A GPT of letters: a training step", letters),
}


def inspections(names: list[str]) -> None:
    """Inspect, and write the pages."""
    for name in names:
        title, make = CALLS[name]
        call, *given = make()
        made = fb.inspect(call, *given, runs=RUNS, target=title)
        print(made, end="\n\n", flush=True)
        write(name, made)


def pages(names: list[str]) -> None:
    """Write the pages anew of what is in them."""
    for name in names:
        write(name, held(OUT / f"{name}.html"))


def held(path: Path) -> Inspection:
    """The inspection that a page shows."""
    letters = re.search(r'id="data">([A-Za-z0-9+/=]*)</script>', path.read_text("utf-8"))
    assert letters is not None, f"{path} is no page of the inspector"
    return from_text(page.json.dumps(page.unpack(letters[1])), str(path))


def write(name: str, made: Inspection) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    size = len(made.html(OUT / f"{name}.html"))
    if size > MOST:
        sys.exit(f"{name}.html: {size:,} bytes, more than {MOST:,}")
    print(f"wrote docs/inspect/{name}.html, {size / 1000:.0f} kB", flush=True)


def pictures() -> None:
    """Draw what the page of the GPT shows, in Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 1280, "height": 760})
        for name, of, keys in PICTURES:
            shown.goto((OUT / f"{of}.html").as_uri())
            shown.wait_for_selector("body[data-ready]")
            shown.reload()
            shown.wait_for_selector("body[data-ready]")
            for key in keys:
                key(shown) if callable(key) else shown.keyboard.press(key)
            shown.wait_for_timeout(300)
            path = IMAGES / f"{name}.png"
            small(shown.screenshot()).save(path, optimize=True)
            print(f"drew docs/images/{name}.png, {path.stat().st_size / 1000:.0f} kB")
        browser.close()


def small(png: bytes):
    """A picture in as many colors as such pages need."""
    from PIL import Image

    return Image.open(BytesIO(png)).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)


def first_kernel(shown) -> None:
    shown.locator("tr[data-kernel]").first.click()
    of_ops = shown.locator("#wgsl tr", has=shown.locator("td.op:not(:empty)"))
    loops = shown.locator("#wgsl tr", has_text="for (")
    (of_ops if of_ops.count() else loops).last.click()
    shown.locator("#origin").scroll_into_view_if_needed()


def near_enough(shown) -> None:
    """To read the ops: towards the upper left corner of the model."""
    box = shown.locator("canvas.graph").bounding_box()
    shown.mouse.move(box["x"] + box["width"] / 4, box["y"] + 5)
    shown.mouse.wheel(0, -280)
    shown.mouse.move(5, 5)


PICTURES = [
    ("inspector", "gpt", [first_kernel]),
    ("inspector-model", "mnist", ["2", near_enough]),
    ("inspector-time", "gpt", ["4"]),
    ("inspector-roofline", "efficientnet", ["5"]),
]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CALLS))
    parser.add_argument("--pages", action="store_true", help="Write the pages anew of what is in them.")
    parser.add_argument("--pictures", action="store_true", help="Draw docs/images/inspector*.png.")
    args = parser.parse_args()
    names = args.names or list(CALLS)
    if unknown := set(names) - set(CALLS):
        parser.error(f"{', '.join(unknown)}: there are {', '.join(CALLS)}")
    if args.pictures:
        return pictures()
    (pages if args.pages else inspections)(names)


if __name__ == "__main__":
    main()
