"""What `y.wgsl()` says above each kernel: what it computes in the ops of the graph, dtypes and shapes."""

import pytest
from helpers.paper import PaperDevice

import flambeau as fb
from flambeau.codegen.render import render
from flambeau.core.limits import SOFTWARE_TURNS, Limits

F = fb.nn.functional


@pytest.fixture(scope="module")
def t():
    device = PaperDevice(Limits(software=True, turns=SOFTWARE_TURNS))
    return lambda *shape, dtype=fb.float32: fb.zeros(*shape, dtype=dtype, device=device).realize()


def headings(y) -> list[str]:
    """The first two lines of each kernel."""
    lines = y.wgsl().splitlines()
    begins = [i - 2 for i, line in enumerate(lines) if "threads" in line and ".wgsl, " in line]
    return [line for i in begins for line in lines[i : i + 2]]


CASES = {
    "epilogue": (
        lambda t: (t(64, 784) @ t(784, 128) + t(128)).relu(),
        "// matmul+add+relu: relu(add(matmul(in0, in1), in2))",
        "// in0: f32[64, 784], in1: f32[784, 128], in2: f32[128] -> out: f32[64, 128]",
    ),
    "composite": (
        lambda t: t(64, 128).softmax(-1),
        "// max+sum+sub+exp+div: softmax(in0)",
        "// in0: f32[64, 128] -> out: f32[64, 128]",
    ),
    "numbers": (
        lambda t: t(5, dtype=fb.float16) * 2.5,
        "// mul: mul(in0, 2.5)",
        "// in0: f16[5] -> out: f16[5]",
    ),
    "opaque": (lambda t: t(5, 3).cumsum(0), "// cumsum: cumsum(in0)", "// in0: f32[5, 3] -> out: f32[5, 3]"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_heading_says_what_a_kernel_computes(name, t):
    make, computes, types = CASES[name]
    assert headings(make(t)) == [computes, types]


def test_what_another_kernel_made_is_not_unfolded(t):
    """The second kernel of a split sum reads parts, which are no value of the graph."""
    lines = headings(t(2, 60000).exp().sum(1))
    assert lines[:2] == ["// sum+exp", "// in0: f32[2, 60000] -> out: temporary"]
    assert lines[2:] == ["// sum: sum(exp(...))", "// in0: temporary -> out: f32[2]"]


def test_long_expressions_end(t):
    x = t(4, 4)
    y = x
    for _ in range(40):
        y = (y + x).exp()
    lines = headings(y)
    assert len(lines) > 2 and max(map(len, lines)) < 160
    assert lines[0].endswith("more: add(exp(add(exp(add(exp(add(exp(...), in0)), in0)), in0)), in0)")


def test_equal_shaders_have_equal_texts(t):
    """Shapes are in the heading only: another batch size is the same kernel."""
    from flambeau.core.node import toposort
    from flambeau.fusion.planner import plan

    made = [plan([y.node], Limits(), toposort([y.node])) for y in ((t(n, 8) * 2).exp() for n in (4, 6))]
    (a,), (b,) = (p.kernels for p in made)
    assert a.shader == b.shader and render(a.shader) == render(b.shader)
    assert "map/map.wgsl, 128 threads: mul, exp" in render(a.shader)
