"""The WGSL of a dozen graphs, byte for byte: a refactor leaves it as it is.

FLAMBEAU_GOLDEN=write writes it anew.
"""

import os
import re

import pytest
from helpers.paper import PaperDevice
from helpers.paths import ROOT, TESTS

import flambeau as fb
from flambeau.codegen.render import lines_of, render, template_line
from flambeau.core.limits import SOFTWARE_TURNS, Limits
from flambeau.fusion.planner import plan

GOLDEN = TESTS / "golden"
PAGE = ROOT / "docs" / "shaders.md"
FENCED = re.compile(r"```wgsl\n.*?```\n", re.S)
F = fb.nn.functional


def made(*shape, dtype=fb.float32):
    return fb.zeros(*shape, dtype=dtype).realize()


GRAPHS = {
    "chain": lambda: (made(4, 6).exp() * 2 + 1).sigmoid(),
    "broadcast": lambda: made(4, 8) + made(8),
    "strided": lambda: made(6, 8).t()[1:, ::-2] * 2,
    "padded": lambda: made(5, 8).pad((1, 2)).relu(),
    "row_sum": lambda: (made(5, 8) * 2).sum(1).sqrt(),
    "column_max": lambda: made(5, 8).amax(0),
    "full_sum": lambda: made(64, 1024).sum(),
    "matmul": lambda: (made(16, 12) @ made(12, 20) + made(20)).relu(),
    "batched_matmul": lambda: made(3, 5, 7) @ made(3, 7, 9),
    "conv2d": lambda: F.conv2d(made(2, 3, 9, 9), made(4, 3, 3, 3), made(4), padding=1).relu(),
    "max_pool2d": lambda: F.max_pool2d(made(2, 3, 8, 8), 3, stride=2, padding=1),
    "gather": lambda: made(7, 4).gather(0, made(3, 4, dtype=fb.int32)) + 1,
    "random": lambda: fb.rand(10),
    "fold": lambda: F.avg_pool2d(made(1, 1, 5, 5).requires_grad_(), 3, stride=1),
}


def text_of(name: str) -> str:
    kernels = plan([GRAPHS[name]().node], Limits()).kernels
    return "\n".join(f"// {k.name}\n{render(k.shader)}" for k in kernels)


@pytest.mark.parametrize("name", GRAPHS)
def test_wgsl_is_as_it_was(name):
    path = GOLDEN / f"{name}.wgsl"
    found = text_of(name)
    if os.environ.get("FLAMBEAU_GOLDEN") == "write":
        path.write_text(found)
    assert found == path.read_text()


@pytest.mark.parametrize("name", GRAPHS)
def test_every_line_is_of_a_template(name):
    """The text by lines, each with the places that it is made of: what stands there is in the line."""
    for k in plan([GRAPHS[name]().node], Limits()).kernels:
        lines = lines_of(k.shader)
        assert "".join(f"{line.text}\n" for line in lines) == render(k.shader)
        assert all(line.places for line in lines)
        loops = [line for line in lines if line.text.lstrip().startswith("for (")]
        assert all("for (" in "".join(template_line(*p) for p in line.places) for line in loops)


FIGURES = {
    "softmax": (True, lambda t: t(64, 128).softmax(-1)),
    "linear": (True, lambda t: (t(64, 784) @ t(784, 128) + t(128)).relu()),
    "attention": (False, lambda t: F.scaled_dot_product_attention(t(4, 1, 64), t(4, 64, 64), t(4, 64, 64))),
}


def test_the_page_of_figures():
    """docs/shaders.md shows what `y.wgsl()` gives."""
    page = FENCED.sub("", PAGE.read_text("utf-8"))
    for name, (software, make) in FIGURES.items():
        device = PaperDevice(Limits(software=software, turns=SOFTWARE_TURNS if software else Limits().turns))
        y = make(lambda *shape, device=device: fb.zeros(*shape, device=device).realize())
        mark = f"<!-- {name} -->\n"
        assert mark in page
        page = page.replace(mark, f"{mark}```wgsl\n{y.wgsl()}```\n")
    if os.environ.get("FLAMBEAU_GOLDEN") == "write":
        PAGE.write_text(page, "utf-8")
    assert page == PAGE.read_text("utf-8")


def test_no_file_is_left_over():
    assert sorted(p.stem for p in GOLDEN.glob("*.wgsl")) == sorted(GRAPHS)
