"""Calls of a loaded model that are recorded by themselves, and what is made of its weights ahead."""

import gc
from copy import deepcopy
from weakref import ref

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

import flambeau as fb
from flambeau.onnx.operators import spelled

MADE_OF_WEIGHTS = """<ir_version: 9, opset_import: ["": 18]>
g (float[A, 3] x) => (float[A, 2] y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}, float two = {2}> {
  t = Transpose <perm = [1, 0]> (w)
  n = Exp(t)
  p = Mul(n, two)
  m = MatMul(x, p)
  half = Constant <value_float = 0.5> ()
  cube = Constant <value_float = 3.0> ()
  q = Pow(m, cube)
  y = Mul(half, q)
}"""
W = np.arange(1, 7, dtype="f4").reshape(2, 3)


def wanted(x, w=W, two=2.0):
    return 0.5 * (x @ (np.exp(w.T) * two)) ** 3


def test_what_is_made_of_weights_is_kept_while_they_stay():
    model = fb.onnx.load(parser.parse_model(MADE_OF_WEIGHTS), device="cpu").requires_grad_()
    x = np.random.default_rng(0).normal(size=(4, 3)).astype("f4") * 0.01
    weight = model.get_parameter("w")
    with fb.no_grad():
        for _ in range(2):
            np.testing.assert_allclose(model(x).numpy(), wanted(x), rtol=1e-4)
        (plan,) = model.runner._plans.values()
        assert [n.op for n in plan.nodes] == ["MatMul", "Pow", "Mul"]
        weight.mul_(0.5)
        np.testing.assert_allclose(model(x).numpy(), wanted(x, W / 2), rtol=1e-4)
        model.get_parameter("two").fill_(3.0)
        np.testing.assert_allclose(model(x).numpy(), wanted(x, W / 2, 3), rtol=1e-4)
    y = model(fb.tensor(x, device="cpu"))  # gradients are asked for: all of it is computed
    grads = y.sum().backward()
    assert grads[model.get_parameter("two")].shape == ()
    step = 1e-3
    more = wanted(x.astype("f8"), W / 2 + step * np.eye(2, 3), 3) - wanted(x.astype("f8"), W / 2, 3)
    assert np.isclose(float((grads[weight].numpy() * np.eye(2, 3)).sum()), more.sum() / step, rtol=2e-2)


def test_weights_that_move_all_the_time_are_not_made_into_anything():
    model = fb.onnx.load(parser.parse_model(MADE_OF_WEIGHTS), device="cpu")
    x = np.full((1, 3), 0.01, "f4")
    with fb.no_grad():
        for k in range(8):
            model.get_parameter("w").add_(0.1)
            np.testing.assert_allclose(model(x).numpy(), wanted(x, W + 0.1 * (k + 1)), rtol=1e-3)
    assert not model.runner.folded.values.keys() & {"p"}


def test_calls_are_recorded_when_shapes_come_again(gpu, capsys):
    model = fb.onnx.load(parser.parse_model(MADE_OF_WEIGHTS), device=gpu).requires_grad_()
    x = np.random.default_rng(0).normal(size=(4, 3)).astype("f4") * 0.01
    with fb.no_grad():
        for k in range(4):
            np.testing.assert_allclose(model(x + k * 0.01).numpy(), wanted(x + k * 0.01), rtol=1e-4)
            assert (model._recordings is not None) is (k > 0)
        programs = model._recordings.programs
        ((program,),) = programs.values()
        assert len(program) == 2  # a product, and what reads it three times
        assert model({"x": fb.tensor(x, device=gpu)})[0].shape == (4, 2) and len(programs) == 1
        model.get_parameter("w").mul_(0.5)
        np.testing.assert_allclose(model(x).numpy(), wanted(x, W / 2), rtol=1e-4)
        kept = model(x)
        model(x * 2)
        np.testing.assert_allclose(kept.numpy(), wanted(x, W / 2), rtol=1e-4)  # results live side by side
        seen = []
        handle = model.register_forward_hook(lambda module, args, output: seen.append(output.shape))
        assert model(x).shape == (4, 2) and seen == [(4, 2)]
        handle.remove()
        copied = deepcopy(model)
        copied.get_parameter("w").mul_(2.0)
        for _ in range(2):
            np.testing.assert_allclose(copied(x).numpy(), wanted(x), rtol=1e-4)
        outer = fb.jit(lambda x: model(x) + 1)
        for _ in range(3):
            np.testing.assert_allclose(
                outer(fb.tensor(x, device=gpu)).numpy(), wanted(x, W / 2) + 1, rtol=1e-4
            )
        model.get_parameter("w").mul_(2.0)
        np.testing.assert_allclose(outer(fb.tensor(x, device=gpu)).numpy(), wanted(x) + 1, rtol=1e-4)
        calls = program.calls
        model.train()
        np.testing.assert_allclose(model(x).numpy(), wanted(x), rtol=1e-4)
        model.eval()
        model.replays = False
        assert len(model(x).plan()) == 2 and program.calls == calls
    assert model.replays is False and model(x).requires_grad
    with fb.no_grad():
        model.replays = True
        model.w = fb.nn.Parameter(fb.tensor(W * 3, device=gpu))  # another parameter in its place
        np.testing.assert_allclose(model(x).numpy(), wanted(x, W * 3), rtol=1e-4)
    assert "unrecorded" not in capsys.readouterr().err


def test_no_circle_holds_what_was_recorded(gpu):
    model = fb.onnx.load(parser.parse_model(MADE_OF_WEIGHTS), device=gpu)
    with fb.no_grad():
        for _ in range(3):
            model(np.ones((4, 3), "f4"))
    gone = ref(model._recordings)
    gc.collect()
    gc.disable()
    del model
    assert gone() is None
    gc.enable()


def test_models_that_read_values_run_as_they_are(gpu, capsys):
    text = """<ir_version: 9, opset_import: ["": 18]> g (float[A] x) => (float[B] y) {
      zero = Constant <value_float = 0.0> ()
      c = Greater(x, zero)
      y = Compress <axis = 0> (x, c) }"""
    model = fb.onnx.load(parser.parse_model(text), device=gpu)
    with fb.no_grad():
        for k in range(6):
            x = np.array([1, -2, 3, -4 + k], "f4")
            assert model(x).tolist() == x[x > 0].tolist()
    assert capsys.readouterr().err == ""


def spelled_out(swap=False, axis=-1, mask=(1, 1, 4, 4), read=False, scale="two", cast=False):
    """softmax(q k two + mask) v by nodes; k comes transposed."""
    node = helper.make_node
    nodes = [
        node("MatMul", ["q", "k"], ["s"]),
        node("Mul", [*(("two", "s") if swap else ("s", "two"))], ["t"]),
    ]
    nodes += [node("Add", ["mask", "t"] if swap else ["t", "mask"], ["u"])]
    nodes += [node("Softmax", ["u"], ["p"], axis=axis)]
    nodes += [node("Cast", ["p"], ["c"], to=1)] if cast else []
    nodes += [node("MatMul", ["c" if cast else "p", "v"], ["y"])]
    nodes += [node("ReduceSum", ["p"], ["z"], keepdims=0)] if read else [node("Identity", ["two"], ["z"])]
    ins = [helper.make_tensor_value_info(n, 1, None) for n in ("q", "k", "v", "mask")]
    outs = [helper.make_tensor_value_info(n, 1, None) for n in "yz"]
    two = numpy_helper.from_array(np.array(0.7 if scale == "two" else [[0.7]], "f4"), "two")
    graph = helper.make_graph(nodes, "attention", ins, outs, [two])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


FORMS = [
    {},
    {"swap": True},
    {"cast": True, "mask": (4,)},
    {"axis": 3, "mask": (2, 3, 4, 4)},
    {"axis": 2},  # over queries: no attention
    {"mask": (5, 2, 3, 4, 4)},  # makes more scores than there are
    {"read": True},  # somebody else reads the weights
    {"scale": "matrix"},
]


@pytest.mark.parametrize("place", ["gpu", "cpu"])
def test_attention_that_is_spelled_out(place, request, monkeypatch):
    from onnx.reference import ReferenceEvaluator

    monkeypatch.setattr(spelled, "_is_long", lambda q, scores: True)
    device = request.getfixturevalue(place) if place == "gpu" else "cpu"
    draw = np.random.default_rng(7)
    q, k, v = (draw.normal(size=s).astype("f4") for s in ((2, 3, 4, 8), (2, 3, 8, 4), (2, 3, 4, 8)))
    for form in FORMS if place == "cpu" else FORMS[:3]:
        proto = spelled_out(**form)
        mask = draw.normal(size=form.get("mask", (1, 1, 4, 4))).astype("f4")
        mask[..., 0] = -np.finfo("f4").max
        model = fb.onnx.load(proto, device=device, replays=False)
        names = [n.op for n in model.runner.model.graph.nodes]
        assert ("SpelledAttention" in names) is not bool(form.get("read"))
        assert "two" in dict(model.named_parameters())
        want = ReferenceEvaluator(proto).run(None, {"q": q, "k": k, "v": v, "mask": mask})
        with fb.no_grad():
            found = model(q, k, v, mask)
        for a, b in zip(found, want, strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-4, atol=1e-6)
        as_is = fb.onnx.load(proto, device=device, fuses=False)
        assert "SpelledAttention" not in [n.op for n in as_is.runner.model.graph.nodes]


def packed(rng, k, n, block, zeros, dtype):
    """A MatMulNBits with weights of the file, and the matrix that they stand for."""
    blocks = -(-k // block)
    words = rng.integers(0, 256, (n, blocks, block // 2)).astype("u1")
    scales = rng.uniform(0.5, 1, (n, blocks)).astype(dtype)
    points = rng.integers(0, 256, (n, -(-blocks // 2))).astype("u1")
    given = {"words": words, "scales": scales} | ({"points": points} if zeros else {})
    cells = np.stack([words & 15, words >> 4], -1).reshape(n, blocks, block).astype("f4")
    at = np.stack([points & 15, points >> 4], -1).reshape(n, -1)[:, :blocks, None] if zeros else 8
    w = ((cells - at) * scales[..., None].astype("f4")).reshape(n, -1)[:, :k]
    node = helper.make_node(
        "MatMulNBits", ["x", *given], ["y"], domain="com.microsoft", K=k, N=n, bits=4, block_size=block
    )
    kind = {"f4": TensorProto.FLOAT, "f2": TensorProto.FLOAT16}[dtype]
    ends = [helper.make_tensor_value_info(name, kind, None) for name in "xy"]
    weights = [numpy_helper.from_array(a, name) for name, a in given.items()]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], weights)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9), w


@pytest.mark.parametrize(("k", "zeros", "dtype"), [(64, False, "f4"), (72, True, "f4"), (64, True, "f2")])
def test_packed_weights_are_read_as_they_are(gpu, k, zeros, dtype):
    rng = np.random.default_rng(5)
    proto, w = packed(rng, k, 12, 32, zeros, dtype)
    model = fb.onnx.load(proto, device=gpu).requires_grad_()
    x = rng.normal(size=(3, k)).astype(dtype)
    with fb.no_grad():
        model.replays = False
        y = model(fb.tensor(x, device=gpu))
        largest = max(n for _, n in y._plan_kernels().stored)
        assert largest < 4 * w.size  # no float32 weights are written
        tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == "f4" else {"rtol": 2e-3, "atol": 2e-2}
        np.testing.assert_allclose(y.numpy(), x.astype("f4") @ w.T, **tolerance)
    slopes = model(fb.tensor(x, device=gpu)).float().sum().backward()  # scales can be trained
    slope = slopes[model.get_parameter("scales")].numpy()
    assert slope.shape == (12, -(-k // 32)) and np.abs(slope).max() > 0


def test_large_files_are_looked_at_in_place(tmp_path, monkeypatch):
    from mmap import mmap

    from flambeau.onnx import read

    monkeypatch.setattr(read, "LARGE", 100)
    path = tmp_path / "large.onnx"
    data = parser.parse_model(MADE_OF_WEIGHTS).SerializeToString()
    packed_proto, _ = packed(np.random.default_rng(0), 64, 12, 32, False, "f4")
    path.write_bytes(packed_proto.SerializeToString())
    words = read.read_model(path).graph.initializers["words"]
    while isinstance(words, np.ndarray):
        words = words.base
    assert isinstance(words.obj, mmap)
    path.write_bytes(data)
    model = fb.onnx.load(path, device="cpu")
    assert model.definition.graph.initializers == {"w": None, "two": None}  # the file is let go of
    assert model.get_parameter("w").tolist() == W.tolist()
    path.write_bytes(data[:-5])
    with pytest.raises(fb.onnx.OnnxError) as e:
        fb.onnx.load(path)
    assert str(e.value).endswith(
        "it is truncated or not an ONNX file (ends in the middle of a field): get a complete copy"
    )


def of_few_bits(name: str, values: list[float], more: int = 0):
    """x plus a weight of a dtype that no device has, of so many elements more."""
    kind = getattr(TensorProto, name)
    weight = helper.make_tensor("w", kind, [len(values) + more], values + [0.0] * more)
    nodes = [helper.make_node("Cast", ["w"], ["c"], to=1), helper.make_node("Slice", ["c", "a", "b"], ["d"])]
    nodes.append(helper.make_node("Add", ["x", "d"], ["y"]))
    ends = [numpy_helper.from_array(np.array([v]), n) for n, v in (("a", 0), ("b", len(values)))]
    sides = [helper.make_tensor_value_info(n, 1, [len(values)]) for n in "xy"]
    graph = helper.make_graph(nodes, "g", sides[:1], sides[1:], [weight, *ends])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])


SMALL = ("INT4", "UINT4", "INT2", "UINT2", "FLOAT4E2M1", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2")


@pytest.mark.parametrize("name", [*SMALL, "FLOAT8E5M2FNUZ", "FLOAT8E8M0"])
def test_weights_that_no_device_has_are_called_again(name, gpu, capsys):
    """Four calls, of which the last ones are replayed; large weights are no hindrance."""
    values = [0.0, 1.0, 1.0] if name != "FLOAT8E8M0" else [1.0, 2.0, 4.0]
    model = fb.onnx.load(of_few_bits(name, values, 1 << 17 if name == "INT4" else 0), device=gpu)
    with fb.no_grad():
        for k in range(4):
            assert model(np.full(3, k, "f4")).tolist() == [k + v for v in values]
    assert model._recordings is not None and len(model._recordings.programs) == 1
    assert capsys.readouterr().err == ""


def test_constants_that_are_fed_in_turn():
    """What is made of constants ahead is made of those that are not fed."""
    proto = parser.parse_model("""<ir_version: 9, opset_import: ["": 18]>
g (float[2] x, int64[2] a, int64[2] b) => (float[2] y) <int64[2] a = {1, 2}, int64[2] b = {10, 20}> {
  c = Neg(a) d = Neg(b) e = Sub(c, d) f = Cast <to = 1> (e) y = Add(x, f) }""")
    model, x, fed = fb.onnx.load(proto, device="cpu"), np.zeros(2, "f4"), np.array([100, 100])
    with fb.no_grad():
        assert model({"x": x})[0].tolist() == [9, 18]
        assert model({"x": x, "a": fed})[0].tolist() == [-90, -80]
        assert model({"x": x, "b": fed})[0].tolist() == [99, 98]
