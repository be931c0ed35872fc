"""The page of borrowed models: one of timm's by name runs on the page's GPU, with a file's weights too."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

import flambeau as fb

from .paper import READY, expect, overflow, shot

pytestmark = [
    pytest.mark.share(12, first=5),
    pytest.mark.skipif(find_spec("timm") is None, reason="the page has timm's files where it is installed"),
]
MODEL = "resnet10t"
SHAPES = """
import json
json.dumps({name: [list(t.shape), t.dtype.name] for name, t in page.shown.model.state_dict().items()})
"""


@pytest.fixture(scope="module")
def borrowed(browser, site):
    """The page, opened by an address with a model's name."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    page, asked, thrown = context.new_page(), [], []
    context.on("request", lambda r: asked.append(r.url))
    page.on("pageerror", lambda e: thrown.append(str(e)))
    page.goto(f"{site}timm/?model={MODEL}")
    expect(page, "#status").to_have_text(READY)
    yield page
    context.close()
    assert not [url for url in asked if not url.startswith((site, "blob:", "data:"))]
    assert not thrown, f"errors in the page: {thrown}"


def test_a_model_by_name_runs_and_shows_its_kernels(borrowed):
    page = borrowed
    assert page.input_value("#name") == MODEL and "names." in page.inner_text("#told")
    page.click("#run")
    expect(page, "#told").to_contain_text(" s on ")
    assert "5,435,488" in page.inner_text("#facts") and "random" in page.inner_text("#facts")
    assert page.locator("#top5 li").count() == 5
    assert page.inner_text("#counted").split()[0].isdigit()
    page.click("#kernels li:first-child summary")
    assert "@compute" in page.inner_text("#kernels li:first-child pre")
    shot(page, "timm")
    page.set_viewport_size({"width": 360, "height": 640})
    assert overflow(page) == []
    page.set_viewport_size({"width": 1100, "height": 900})


def test_weights_of_a_file_are_used(borrowed, tmp_path):
    """A file that makes every class but one impossible."""
    page = borrowed
    shapes = json.loads(page.evaluate("(source) => flambeau.run(source)", SHAPES))
    state = {n: np.zeros(shape, dtype) for n, (shape, dtype) in shapes.items()}
    state["fc.bias"][281] = 100
    fb.save({n: fb.tensor(v, device="cpu") for n, v in state.items()}, tmp_path / "model.safetensors")
    page.set_input_files("#file", tmp_path / "model.safetensors")
    expect(page, "#facts").to_contain_text("of your file")
    expect(page, "#top5 li:first-child").to_contain_text("tabby")
    assert "100.00 %" in page.inner_text("#top5 li:first-child")


def test_an_unknown_name_is_said(borrowed):
    borrowed.fill("#name", "no_such_model")
    borrowed.click("#run")
    expect(borrowed, "#told").to_contain_text("Unknown model (no_such_model)")
    expect(borrowed, "#run").to_be_enabled()
