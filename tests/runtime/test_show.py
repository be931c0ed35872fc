"""What `y.wgsl()` says above each kernel: what it computes in the ops of the graph, dtypes, shapes, lines."""

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


def test_the_lines_of_the_program_are_above_a_kernel(t):
    """Each line that is fused into a kernel, and no line of the package or of a kernel before it."""
    with fb.debug.made_at():
        layer = fb.nn.Linear(64, 8, device=t(1).device)
        h = layer(t(4, 64)).relu()
        y = h.softmax(-1)
    kernels = y.wgsl().split("\n\n")
    places = [[line for line in text.splitlines() if "test_show.py:" in line] for text in kernels]
    assert [line.partition(": ")[2] for line in places[0]] == ["h = layer(t(4, 64)).relu()"]
    assert [line.partition(": ")[2] for line in places[1]] == ["y = h.softmax(-1)"]
    assert all(
        text.splitlines()[2].startswith("// ") and "test_show.py:" in text.splitlines()[2] for text in kernels
    )


def test_many_lines_are_cut(t):
    with fb.debug.made_at():
        x = t(4, 4) + 1
        x = x.exp()
        x = x.sqrt()
        x = x.tanh()
    lines = [line.partition(": ")[2] for line in x.wgsl().splitlines() if "test_show.py:" in line]
    assert lines == ["x = x.exp()", "x = x.sqrt()", "x = x.tanh()"]


def test_a_line_is_no_part_of_a_text(t):
    """The same call at two lines is one kernel, one key of a plan, one text. Unrecorded, it has no line."""
    from flambeau.core.node import toposort
    from flambeau.runtime.run import graph_key

    with fb.debug.made_at():
        a = (t(4, 8) * 2).exp()
        b = (t(4, 8) * 2).exp()
    c = (t(4, 8) * 2).exp()
    (k,), (m,) = a.plan(), b.plan()
    assert k.shader == m.shader and render(k.shader) == render(m.shader)
    assert len({graph_key([y.node], toposort([y.node])) for y in (a, b, c)}) == 1
    texts = [[line for line in y.wgsl().splitlines() if "test_show.py" not in line] for y in (a, b)]
    assert texts[0] == texts[1] == c.wgsl().splitlines() != a.wgsl().splitlines()
