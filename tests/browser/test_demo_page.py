"""Pages of `flambeau demo`: what is entered gets the same answers as on the desktop."""

import threading

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn
from flambeau.site import serve
from flambeau.site.demo import Texts, write_demo
from flambeau.site.server import address
from flambeau.site.widgets import Wishes

from .paper import expect, shot

pytestmark = pytest.mark.share(6, first=2)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "film", "was", "good", "bad", "##ly", "##s", "very",
         "un", "##real", "!", "."]  # fmt: skip
ABC = ["a", "b", "c"]


class Text(nn.Module):
    """A classifier of texts that leaves out what the mask does."""

    def __init__(self):
        self.words, self.out = nn.Embedding(len(WORDS), 8), nn.Linear(8, 2)

    def forward(self, input_ids, attention_mask):
        used = attention_mask.float().unsqueeze(-1)
        return self.out((self.words(input_ids) * used).sum(1) / used.sum(1))


class Next(nn.Module):
    """A language model whose next token is the number of the last one plus 1."""

    def forward(self, ids):
        return nn.functional.one_hot((ids + 1) % 7, 7).float() * 9


class Half(nn.Module):
    def forward(self, image):
        return image / 2


def demos(folder):
    """The folders of five demos, and their programs."""
    fb.manual_seed(5)
    table = nn.Sequential(nn.Linear(4, 3), nn.Softmax(1))
    picture = nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(3 * 16, 3))
    specs = {
        "table": (table, {"x": "f32[N, 4]"}, Wishes(ABC, ["tall", "wide", "deep", "old"]), ["1, 2, 3, 4"]),
        "picture": (picture, {"image": "f32[N, 3, 32, 32]"}, Wishes(ABC, scale="symmetric"), []),
        "half": (Half(), {"image": "u8[1, 16, 16, 3]"}, Wishes(show="picture"), []),
        "text": (Text(), {"input_ids": "i64[N, 12]", "attention_mask": "i64[N, 12]"},
                 Wishes(["no", "yes"], vocabulary=WORDS), []),
        "next": (Next(), {"ids": "i32[N, 8]"}, Wishes(), []),
    }  # fmt: skip
    with fb.device("cpu"):
        for name, (model, inputs, wishes, examples) in specs.items():
            program = fb.save_program(model, inputs, folder / f"{name}-program", max_batch=1)
            write_demo(program, folder / name, Texts(name.title(), "A test.", examples), wishes)
    return {name: model for name, (model, *_) in specs.items()}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demos")
    models = demos(folder)
    server = serve(folder, port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield address(server), models
    server.shutdown()
    server.server_close()


def shares(page):
    rows = page.eval_on_selector_all(
        ".bars li",
        "all => all.map((one) => [...one.querySelectorAll('.name span')].map((s) => s.textContent))",
    )
    return {name: float(share.removesuffix(" %")) / 100 for name, share in rows}


def test_demos(browser, served, tmp_path):
    from PIL import Image

    site, models = served
    context = browser.new_context()
    page = context.new_page()
    wrong = []
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.on("request", lambda r: wrong.append(r.url) if not r.url.startswith((site, "blob:")) else None)

    def opened(name):
        page.goto(f"{site}{name}/")
        expect(page, "#status").to_contain_text("ready on")

    opened("table")
    page.click(".examples button")
    expect(page, "label:has-text('old') input").to_have_value("4")
    expect(page, ".bars li").to_have_count(3)
    want = models["table"](fb.tensor([[1.0, 2, 3, 4]])).numpy()[0]
    assert shares(page) == pytest.approx(dict(zip("abc", want)), abs=6e-4)
    page.fill("label:has-text('old') input", "")
    expect(page, "#wrong").to_have_text("old is not a number.")
    shot(page, "demo-table")

    opened("picture")
    pixels = np.random.default_rng(1).integers(0, 256, (32, 48, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "noise.png")
    page.set_input_files("input[type=file]", tmp_path / "noise.png")
    expect(page, ".bars li").to_have_count(3)
    middle = (pixels[:, 8:40].transpose(2, 0, 1)[None].astype("f4") - 127.5) / 127.5
    want = models["picture"](fb.tensor(middle)).softmax(1).numpy()[0]
    assert shares(page) == pytest.approx(dict(zip("abc", want)), abs=6e-4)
    page.set_input_files("input[type=file]", {"name": "x.png", "mimeType": "image/png", "buffer": b"no"})
    expect(page, ".drop p").to_have_text(
        "x.png is no picture that this browser reads: choose a JPEG, PNG or WebP."
    )

    opened("half")
    page.set_input_files("input[type=file]", tmp_path / "noise.png")
    expect(page, "#spoken").to_have_text("The model has returned a picture")
    canvas = "document.querySelector('canvas.shown')"
    assert page.evaluate(f"[{canvas}.width, {canvas}.height]") == [16, 16]

    opened("text")
    page.fill("textarea", "The FILM was unrealS very, good!")
    expect(page, ".text .facts").to_have_text("12 tokens")
    expect(page, ".bars li").to_have_count(2)
    # [CLS] the film was un ##real ##s very [UNK] good ! [SEP]
    ids = [[2, 4, 5, 6, 12, 13, 10, 11, 1, 7, 14, 3]]
    want = models["text"](fb.tensor(ids), fb.ones(1, 12).int()).softmax(1).numpy()[0]
    assert shares(page) == pytest.approx({"no": want[0], "yes": want[1]}, abs=6e-4)
    page.fill("textarea", "bad")
    expect(page, ".text .facts").to_have_text("3 tokens")
    want = models["text"](fb.tensor([[2, 8, 3]]), fb.ones(1, 3).int()).softmax(1).numpy()[0]
    page.wait_for_timeout(300)
    assert shares(page) == pytest.approx({"no": want[0], "yes": want[1]}, abs=6e-4)

    opened("next")
    page.fill("textarea", "1 x")
    expect(page, "#wrong").to_have_text('"x" is not the number of a token.')
    page.fill("textarea", "1, 2")
    expect(page, ".bars li:first-child .name span:first-child").to_have_text("3")
    page.click("button:has-text('Continue')")
    expect(page, ".text .facts").to_have_text("42 tokens, of which the model sees 8")
    assert page.input_value("textarea").startswith("1, 2, 3, 4, 5, 6, 0, 1, 2")
    context.close()
    assert not wrong
