"""What is computed once a shape, what is left out, norms inside convolutions, and recorded calls."""

import numpy as np
from onnx import helper, numpy_helper, parser

import flambeau as fb
from flambeau.nn import functional as F
from flambeau.onnx.passes import fold_norms, needed_nodes
from flambeau.onnx.read import read_model

SHAPES = """<ir_version: 9, opset_import: ["": 17]>
g (float[A, B] x) => (float[C] y) <int64[1] one = {1}, float[3] w = {1, 2, 3}> {
  m = Mul(x, w)
  unused = Exp(m)
  s = Shape(m)
  p = ReduceProd <keepdims = 0> (s)
  q = Reshape(p, one)
  y = Reshape(m, q)
}"""


def test_what_shapes_decide_is_computed_once(monkeypatch):
    model = fb.onnx.load(parser.parse_model(SHAPES), device="cpu")
    x = np.arange(6, dtype="f4").reshape(2, 3)
    assert model(x).tolist() == [0, 2, 6, 3, 8, 15]
    (plan,) = model.runner._plans.values()
    assert [n.op for n in plan.nodes] == ["Mul", "Reshape"] and list(plan.known) == ["q"]
    assert model(x + 1).tolist() == [1, 4, 9, 4, 10, 18]
    assert model(np.ones((1, 3), "f4")).tolist() == [1, 2, 3] and len(model.runner._plans) == 2
    with fb.no_grad():
        model.get_parameter("w").mul_(2.0)
    assert model(x).tolist() == [0, 4, 12, 6, 16, 30]  # a weight is no constant


def test_a_value_that_an_inner_graph_reads_is_kept():
    text = """<ir_version: 9, opset_import: ["": 17]> g (float[2] x, bool c) => (float[2] y) {
      a = Neg(x) b = Exp(x)
      y = If (c) <then_branch = t () => (float[2] r) { r = Abs(a) },
                  else_branch = e () => (float[2] q) { q = Neg(a) }> }"""
    graph = read_model(parser.parse_model(text)).graph
    assert [n.op for n in needed_nodes(graph.nodes, ["y"])] == ["Neg", "If"]
    model = fb.onnx.load(parser.parse_model(text), device="cpu")
    for flag, expected in [(True, [1, 2]), (False, [1, -2]), (True, [1, 2])]:
        assert model(np.array([1, -2], "f4"), np.array(flag)).tolist() == expected


def test_calls_are_recorded(gpu):
    model = fb.onnx.load(parser.parse_model(SHAPES), device=gpu)
    with fb.no_grad():
        run = fb.jit(model, check="always")
        x = fb.tensor([[1.0, 2.0, 3.0]], device=gpu)
        for k in range(4):
            assert run(x + k).tolist() == [1 + k, 2 * (2 + k), 3 * (3 + k)]
        model.get_parameter("w").mul_(2.0)
        assert run(x).tolist() == [2, 8, 18]
    assert len(run.programs) == 1  # type: ignore[attr-defined]


def norm_model(second_reader: bool = False, bias: bool = True):
    draw = np.random.default_rng(3)
    arrays = {"w": draw.normal(size=(4, 2, 3, 3)), "b": draw.normal(size=4)}
    arrays |= {"scale": draw.normal(size=4), "shift": draw.normal(size=4), "mean": draw.normal(size=4)}
    arrays["var"] = draw.uniform(0.5, 2, 4)
    conv = helper.make_node("Conv", ["x", "w", "b"] if bias else ["x", "w"], ["c"], pads=[1, 1, 1, 1])
    norm = helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["n"], epsilon=1e-3)
    last = (
        helper.make_node("Add", ["n", "c"], ["y"])
        if second_reader
        else helper.make_node("Relu", ["n"], ["y"])
    )
    graph = helper.make_graph(
        [conv, norm, last],
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 2, 5, 5])],
        [helper.make_tensor_value_info("y", 1, [1, 4, 5, 5])],
        [numpy_helper.from_array(a.astype("f4"), n) for n, a in arrays.items() if bias or n != "b"],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_norms_become_part_of_convolutions():
    from onnx.reference import ReferenceEvaluator

    x = np.random.default_rng(1).normal(size=(1, 2, 5, 5)).astype("f4")
    for bias in (True, False):
        definition = fold_norms(read_model(norm_model(bias=bias)))
        graph = definition.graph
        assert [(n.op, n.inputs) for n in graph.nodes] == [("Conv", ("x", "w", "shift")), ("Relu", ("n",))]
        assert list(graph.initializers) == ["w", "shift"]
        expected = ReferenceEvaluator(norm_model(bias=bias)).run(None, {"x": x})[0]
        weight, shift = graph.initializers["w"], graph.initializers["shift"]
        found = fb.nn.functional.conv2d(
            fb.tensor(x, device="cpu"), fb.tensor(weight, device="cpu"), padding=1
        )
        found = (found + fb.tensor(shift, device="cpu").reshape(1, 4, 1, 1)).relu()
        assert np.allclose(found.numpy(), expected, atol=1e-5)


TWICE = """<ir_version: 9, opset_import: ["": 17]>
g (float[1, 2, 3, 3] x) => (float[1, 2, 3, 3] y)
<float[2, 2, 1, 1] w = {1, 2, 3, 4}, float[2] one = {1, 2}, float[2] zero = {0, 1}> {
  mean = Identity(zero)  var = Identity(one)  again = Identity(mean)
  scale = Constant <value = float[2] {2, 3}> ()
  a = Conv(x, w)  b = BatchNormalization(a, scale, zero, mean, var)
  c = Relu(b)
  d = Conv(c, w)  y = BatchNormalization(d, one, again, zero, var)
}"""


def test_norms_are_folded_whose_numbers_come_by_other_names():
    """As PyTorch's exporter writes equal initializers: one of them, and Identity nodes."""
    from onnx.reference import ReferenceEvaluator

    proto = parser.parse_model(TWICE)
    graph = fold_norms(read_model(proto)).graph
    assert [(n.op, *n.inputs) for n in graph.nodes] == [
        ("Conv", "x", "w.folded", "zero.folded"),
        ("Relu", "b"),
        ("Conv", "c", "w.folded_", "again.folded"),
    ]
    assert list(graph.initializers) == ["w.folded", "zero.folded", "w.folded_", "again.folded"]
    x = np.random.default_rng(1).normal(size=(1, 2, 3, 3)).astype("f4")
    expected = ReferenceEvaluator(proto).run(None, {"x": x})[0]
    found = fb.onnx.load(proto, device="cpu", fold_norms=True)(x)
    assert np.allclose(found.numpy(), expected, atol=1e-5)
    text = TWICE.replace("y = BatchN", "n = BatchN").replace("var)\n}", "var)  y = Add(n, mean)\n}")
    kept = fold_norms(read_model(parser.parse_model(text))).graph  # somebody else reads one of the names
    assert [n.op for n in kept.nodes] == ["Identity", "Conv", "Relu", "Conv", "Add"]


def test_norms_stay_where_others_read():
    definition = read_model(norm_model(second_reader=True))
    assert [n.op for n in fold_norms(definition).graph.nodes] == ["Conv", "BatchNormalization", "Add"]


SPELLED = """<ir_version: 9, opset_import: ["": 17]> g (float[4, 64] x, float[64, 64] w) => (float[4, 64] y)
<float two = {2}, float half = {0.5}, float one = {1}, float root = {1.4142135}, float eps = {0.00001},
 float three = {3}, float six = {6}, float zero = {0}, float c1 = {0.044715}, float c2 = {0.79788456}> {
 NODES }"""
GELU = "d = Div(FROM, root) e = Erf(d) p = Add(e, one) m = Mul(FROM, p) y = Mul(m, half)"
NORM = """m = ReduceMean <axes = [-1]> (x) d = Sub(x, m) q = Pow(d, two) v = ReduceMean <axes = [-1]> (q)
  e = Add(v, eps) r = Sqrt(e) n = Div(d, r) y = Add(n, half)"""
LIKE = {  # what exporters spell out, and the function that it is
    GELU.replace("FROM", "x"): lambda x, w: F.gelu(x),
    "h = MatMul(x, w) " + GELU.replace("FROM", "h"): lambda x, w: F.gelu(x @ w),
    "q = Pow(x, three) a = Mul(q, c1) t = Add(x, a) u = Mul(t, c2) v = Tanh(u) p = Add(v, one) m = Mul(x, p) "
    "y = Mul(m, half)": lambda x, w: F.gelu(x, approximate="tanh"),
    "q = Sigmoid(x) y = Mul(x, q)": lambda x, w: F.silu(x),
    "a = Add(x, three) c = Clip(a, zero, six) m = Mul(x, c) y = Div(m, six)": lambda x, w: F.hardswish(x),
    NORM: lambda x, w: F.layer_norm(x, (64,)) + 0.5,
    NORM.replace("y =", "l =") + " y = MatMul(l, w)": lambda x, w: (F.layer_norm(x, (64,)) + 0.5) @ w,
    "q = Mul(x, x) v = ReduceMean <axes = [-1]> (q) e = Add(v, eps) r = Sqrt(e) y = Div(x, r)": (
        lambda x, w: F.rms_norm(x, (64,), eps=1e-5)
    ),
}


def test_what_is_spelled_out_needs_no_more_kernels_than_the_function(gpu):
    """Planned on a GPU, computed on NumPy."""
    draw = np.random.default_rng(0)
    arrays = [draw.normal(size=shape).astype("f4") for shape in ((4, 64), (64, 64))]
    for nodes, function in LIKE.items():
        proto = parser.parse_model(SPELLED.replace("NODES", nodes))
        with fb.no_grad():
            x, w = (fb.tensor(a, device=gpu) for a in arrays)
            model = fb.onnx.load(proto, device=gpu, replays=False)
            found, own = len(model(x, w).plan()), len(function(x, w).plan())
            assert found == own, (nodes, found, own)
            x, w = (fb.tensor(a, device="cpu") for a in arrays)
            y = fb.onnx.load(proto, device="cpu", replays=False)(x, w)
            assert np.allclose(y.numpy(), function(x, w).numpy(), atol=1e-5), nodes
