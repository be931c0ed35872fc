"""Models as modules: weights, inputs, devices, training, other files, and what is refused."""

import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

import flambeau as fb
from flambeau.errors import FlambeauError
from flambeau.onnx import OnnxError

LINE = """<ir_version: 9, opset_import: ["": 17]>
line (float[N, 3] x) => (float[N, 2] y, float[N] z)
<float[3, 2] fc.0.weight = {1, 2, 3, 4, 5, 6}, float[2] fc.0.bias = {0.5, -0.5},
 int64[1] two = {2}, int64[1] axes = {1}> {
  xs = Unsqueeze(x, two)
  q = Mul(xs, fc.0.weight)
  p = ReduceSum <keepdims = 0> (q, axes)
  y = Add(p, fc.0.bias)
  z = ReduceSum <keepdims = 0> (y, axes)
}"""


def dotted(text: str) -> onnx.ModelProto:
    """A model of a text, in which a name's dots are written "__": the parser takes none."""
    proto = parser.parse_model(text.replace("fc.0.", "fc__0__"))
    for t in proto.graph.initializer:
        t.name = t.name.replace("__", ".")
    for n in proto.graph.node:
        n.input[:] = [name.replace("__", ".") for name in n.input]
    return proto


@pytest.fixture(scope="module")
def line():
    return dotted(LINE)


def test_a_model_is_a_module(line, device):
    model = fb.onnx.load(line.SerializeToString(), device=device)
    assert repr(model).startswith(
        "OnnxModel(\n  x: float32[N, 3] -> y: float32[N, 2], z: float32[N]\n  (fc): "
    )
    assert [(n, p.shape) for n, p in model.named_parameters()] == [
        ("fc.0.weight", (3, 2)),
        ("fc.0.bias", (2,)),
    ]
    x = np.array([[1, 0, 2]], "f4")
    y, z = model(x)
    assert y.device is device and y.tolist() == [[11.5, 13.5]] and z.tolist() == [25.0]
    assert [v.tolist() for v in model({"x": [[1.0, 0.0, 2.0]]})] == [[[11.5, 13.5]], [25.0]]
    assert model(x=fb.tensor(x, device=device))[1].tolist() == [25.0]


def test_a_model_loads_for_inference(line, device):
    model = fb.onnx.load(line, device=device)
    assert not any(m.training for m in model.modules())
    assert not any(p.requires_grad for p in model.parameters())
    x = fb.tensor([[1.0, 0.0, 2.0]], device=device)
    for _ in range(3):
        y, z = model(x)
        assert y.tolist() == [[11.5, 13.5]] and z.tolist() == [25.0] and not z.requires_grad
    programs = [] if model._recordings is None else [*model._recordings.programs.values()]
    calls = [program.calls for (program,) in programs]
    assert calls == ([] if device.kind == "cpu" else [2])  # the second call is recorded, the third replayed
    x.requires_grad_()
    grads = model(x)[1].sum().backward()  # by an input, though no weight takes gradients
    assert grads[x].tolist() == [[3.0, 7.0, 11.0]]


def test_a_model_trains(line, device):
    model = fb.onnx.load(line, device=device).requires_grad_()
    sgd = fb.optim.SGD(model.parameters(), lr=0.1)
    x = fb.tensor([[1.0, 0.0, 2.0]], device=device)
    loss = model(x)[1].sum()
    sgd.step(loss.backward())
    state = model.state_dict()
    assert np.allclose(state["fc.0.bias"].numpy(), [0.4, -0.6])
    assert np.allclose(state["fc.0.weight"].numpy(), [[0.9, 1.9], [3, 4], [4.8, 5.8]])
    other = fb.onnx.load(line, device=device)
    other.load_state_dict(state)
    assert np.allclose(other(x)[1].numpy(), model(x)[1].numpy())


def test_what_is_fed_is_checked(line):
    model = fb.onnx.load(line, device="cpu")
    cases = {
        "the model: the input 'x' must be float32[N, 3], got float32[2, 4]": {"x": np.ones((2, 4), "f4")},
        "the model: the input 'x' must be float32[N, 3], got int32[2, 3]": {"x": np.ones((2, 3), "i4")},
        "the model: the input 'x' must be float32[N, 3], got float32[3]": {"x": [1.0, 2.0, 3.0]},
        "the model: it has no input 'z'; the input 'x' is missing: it takes x: float32[N, 3]": {"z": 1},
    }
    for text, feeds in cases.items():
        with pytest.raises(OnnxError) as e:
            model(feeds)
        assert str(e.value) == text
    with pytest.raises(ValueError, match=r"^the model: takes 1 inputs \(x: float32\[N, 3\]\), got 2$"):
        model(1, 2)


def test_names_that_a_module_has(device):
    """Weights may be called as methods are, or as another's folder."""
    values = {"forward": 1.0, "a": 2.0, "a.b": 3.0, "x/y::z": 4.0, "": 5.0}
    named = [n for n in values if n]
    nodes = [helper.make_node("Sum", named, ["y"])]
    tensors = [numpy_helper.from_array(np.array([values[n]], "f4"), n) for n in named]
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info("y", 1, [1])], tensors)
    model = fb.onnx.load(helper.make_model(graph), device="cpu")
    assert sorted(model.state_dict()) == ["a", "a_b", "forward_", "x/y::z"] and model().item() == 10.0


def test_running_statistics_are_no_parameters():
    names = ["scale", "bias", "mean", "var"]
    graph = helper.make_graph(
        [helper.make_node("BatchNormalization", ["x", *names], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 2])],
        [helper.make_tensor_value_info("y", 1, [1, 2])],
        [numpy_helper.from_array(np.ones(2, "f4"), n) for n in names],
    )
    from flambeau.onnx.model import running_state
    from flambeau.onnx.read import read_model

    assert running_state(read_model(helper.make_model(graph)).graph) == {"mean", "var"}


def test_doubles_run_on_the_host(gpu):
    text = """<ir_version: 9, opset_import: ["": 17]> g (double[2] x, float[2] s) => (double[2] y) {
      d = Cast <to = 11> (s) y = Mul(x, d) }"""
    y = fb.onnx.load(parser.parse_model(text), device=gpu)(np.array([1e-300, 2]), np.array([2, 3], "f4"))
    assert y.device.kind == "cpu" and y.dtype is fb.float64 and y.tolist() == [2e-300, 6.0]


def test_shapes_are_computed_on_the_host(gpu, monkeypatch):
    text = """<ir_version: 9, opset_import: ["": 17]> g (float[A, B] x) => (float[C] y) <int64[1] one = {1}> {
      s = Shape(x) p = ReduceProd <keepdims = 0> (s) q = Reshape(p, one) y = Reshape(x, q) }"""
    model = fb.onnx.load(parser.parse_model(text), device=gpu)
    x = fb.ones(2, 3, device=gpu)
    from flambeau.runtime import run

    seen, plain = [], run.read
    monkeypatch.setattr(run, "read", lambda ts: seen.extend(t.device.kind for t in ts) or plain(ts))
    assert model(x).shape == (6,) and set(seen) <= {"cpu"}


# --- tensors in other files ---


def beside(folder, location: str, **more) -> str:
    t = TensorProto(name="w", data_type=1, dims=[2], data_location=1)
    for key, value in {"location": location, **more}.items():
        t.external_data.add(key=key, value=str(value))
    graph = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["y"])], "g", [], [onnx.ValueInfoProto(name="y")]
    )
    graph.initializer.append(t)
    path = folder / "m.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    return str(path)


def test_weights_in_another_file(tmp_path):
    (tmp_path / "w.bin").write_bytes(np.array([9, 1, 2], "f4").tobytes())
    assert fb.onnx.load(beside(tmp_path, "w.bin", offset=4, length=8), device="cpu")().tolist() == [1, 2]
    assert fb.onnx.load(beside(tmp_path, "w.bin", offset=4), device="cpu")().tolist() == [1, 2]


def test_files_outside_are_not_read(tmp_path):
    inside = tmp_path / "model"
    inside.mkdir()
    (tmp_path / "secret").write_bytes(b"12345678")
    os.symlink(tmp_path / "secret", inside / "link")
    os.symlink(tmp_path, inside / "up")
    outside = "outside the model's folder: move it there"
    cases = {
        "../secret": outside,
        str(tmp_path / "secret"): outside,
        "link": outside,
        "up/secret": outside,
        "": outside,
        "none": "which is missing or not a file: put it in the model's folder",
        ".": "which is missing or not a file: put it in the model's folder",
        "a\0b": "which is not a file name",
    }
    for location, why in cases.items():
        path = beside(inside, location)
        with pytest.raises(OnnxError) as e:
            fb.onnx.load(path, device="cpu")
        comma = "," if not why.startswith("x") else ""
        assert str(e.value) == f"{path!r}: tensor 'w': is in {location!r}{comma} {why}"
    with pytest.raises(OnnxError, match="bytes have no folder: pass the model's path"):
        fb.onnx.load((inside / "m.onnx").read_bytes(), device="cpu")


def test_places_beyond_a_file(tmp_path):
    (tmp_path / "w").write_bytes(b"12345678")
    for more, why in {
        ("offset", 4): "has 4 bytes, but 2 elements of float32 need 8",
        ("offset", 9): "occupies bytes 9 to 8 of 'w', which has 8",
        ("offset", -1): "occupies bytes -1 to 8 of 'w', which has 8",
        ("length", 1 << 60): "occupies bytes 0 to 1,152,921,504,606,846,976 of 'w', which has 8",
        ("offset", "x"): "its offset or length in 'w' is not a number",
    }.items():
        path = beside(tmp_path, "w", **dict([more]))
        with pytest.raises(OnnxError) as e:
            fb.onnx.load(path, device="cpu")
        assert str(e.value) == f"{path!r}: tensor 'w': {why}"


def test_no_file(tmp_path):
    with pytest.raises(OnnxError) as e:
        fb.onnx.load(tmp_path / "none.onnx")
    assert str(e.value) == f"{str(tmp_path / 'none.onnx')!r}: no such file: check the path"


# --- all problems at once ---


def proto(text: str) -> onnx.ModelProto:
    """A model of a graph's nodes, from x to y, and of functions behind it."""
    head = '<ir_version: 9, opset_import: ["": 17, "own": 1]>\ng (float[2] x) => (float[2] y) '
    return parser.parse_model(
        head + text.replace("FUNCTION", '<domain: "own", opset_import: ["": 17, "own": 1]>')
    )


PROBLEMS = {
    "{ y = Abs(z) }": "Abs -> y: reads 'z', which no node produces",
    "{ y = Abs(a) a = Abs(x) }": "Abs -> y: reads 'a', which a later node or the node"
    " itself produces: sort the nodes",
    "{ y = Add(x, y) }": "Add -> y: reads 'y', which a later node or the node"
    " itself produces: sort the nodes",
    "{ y = Abs(x) y = Neg(x) }": "Neg -> y: produces 'y', which already exists",
    "{ x = Abs(x) y = Abs(x) }": "Abs -> x: produces 'x', which already exists",
    "{ z = Abs(x) }": "no node produces the output 'y'",
    "{ y = Absolut(x) }": "Absolut -> y: unknown operator at opset 17: did you mean 'Abs'?",
    "{ y = Add(x) }": "Add -> y: takes 2 inputs, got 1",
    "{ y = Abs(x, x) }": "Abs -> y: takes 1 inputs, got 2",
    '{ y = Add("", x) }': "Add -> y: its required input 'a' is left out",
    "{ y = ReduceSum <axis = 1> (x) }": (
        "ReduceSum -> y: has no attribute 'axis': it has keepdims, noop_with_empty_axes"
    ),
    "{ y = BitShift (x, x) }": "BitShift -> y: needs the attribute 'direction'",
    "{ y = own.f (x) }\nFUNCTION f (a) => (b) { b = own.f(a) }": "function 'f': calls itself by 'f' -> 'f'",
    "{ y = own.f (x, x) }\nFUNCTION f (a) => (b) { b = Abs(c) }": (
        "has 2 problems:\n- own.f -> y: takes 1 inputs, got 2\n- function 'f': Abs -> b: reads 'c', "
        "which no node produces"
    ),
}


@pytest.mark.parametrize("text", PROBLEMS)
def test_problems_are_told(text):
    with pytest.raises(OnnxError) as e:
        fb.onnx.load(proto(text), device="cpu")
    assert str(e.value) == f"the model: {PROBLEMS[text]}"


def test_what_a_terminal_would_do_is_escaped():
    graph = helper.make_graph([helper.make_node("A\x1b[2Jbs", ["x"], ["y\n"])], "g", [], [])
    with pytest.raises(OnnxError) as e:
        fb.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), device="cpu")
    told = str(e.value).splitlines()
    assert told[1:] == [
        "- A\\x1b[2Jbs -> y\\n: reads 'x', which no node produces",
        "- A\\x1b[2Jbs -> y\\n: unknown operator at opset 17: did you mean 'Abs'?",
    ]


def test_an_attribute_that_a_window_has_not_is_told():
    pool = "MaxPool <kernel_shape = [1, 1], dilatons = [1, 1]> (a)"
    model = proto(f"{{ a = Reshape (x, s) b = {pool} y = Reshape (b, t) }}")
    for name, value in (("s", [1, 1, 1, 2]), ("t", [2])):
        model.graph.initializer.append(helper.make_tensor(name, onnx.TensorProto.INT64, [len(value)], value))
    with pytest.raises(OnnxError) as e:
        fb.onnx.load(model, device="cpu")({"x": np.ones(2, "f4")})
    assert str(e.value) == "the model: MaxPool -> b: has no attribute 'dilatons'"


def test_a_list_that_is_no_tensor_is_told():
    with pytest.raises(OnnxError) as e:
        fb.onnx.load(proto("{ y = Abs(x) }"), device="cpu")({"x": [np.ones(2, "f4"), np.ones(3, "f4")]})
    told = "the model: the input 'x' is not a list of numbers in rows of equal length"
    assert str(e.value) == told


def test_all_problems_at_once():
    names = [f"n{k}" for k in range(30)]
    nodes = [helper.make_node("Nope", ["gone"], [n], name=n) for n in names]
    graph = helper.make_graph(nodes, "g", [], [onnx.ValueInfoProto(name="n0")])
    with pytest.raises(OnnxError) as e:
        fb.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), device="cpu")
    lines = str(e.value).splitlines()
    assert lines[0] == "the model: has 60 problems:" and len(lines) == 22 and lines[-1] == "- and 40 more"
    assert lines[1] == "- Nope 'n0': reads 'gone', which no node produces"


def test_two_initializers_of_one_name():
    """Also where one of them is sparse, and in graphs inside: which of them counts is not said."""
    tensors = [helper.make_tensor(n, TensorProto.FLOAT, [2], [k, k]) for k, n in enumerate("abbaa")]
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [0])
    values = helper.make_tensor("c", TensorProto.FLOAT, [1], [5])
    graph = helper.make_graph(
        [helper.make_node("Sum", ["a", "b", "c"], ["y"])],
        "g",
        [],
        [onnx.ValueInfoProto(name="y")],
        [*tensors, helper.make_tensor("c", TensorProto.FLOAT, [2], [1, 1])],
        sparse_initializer=[helper.make_sparse_tensor(values, indices, [2])],
    )
    with pytest.raises(OnnxError) as e:
        fb.onnx.load(helper.make_model(graph), device="cpu")
    assert str(e.value) == "the model: has 3 problems:" + "".join(
        f"\n- the graph has two initializers {name!r}: rename one" for name in "abc"
    )
    inner = """{ c = Constant <value = bool {1}> () y = If (c) <
      then_branch = t () => (float[2] r) <float[2] w = {1, 2}> { r = Abs(w) },
      else_branch = e () => (float[2] q) { q = Neg(x) }> }"""
    model = proto(inner)
    branch = model.graph.node[1].attribute[0].g
    branch.initializer.append(branch.initializer[0])
    with pytest.raises(OnnxError) as e:
        fb.onnx.load(model, device="cpu")
    told = "the model: If -> y: the graph has two initializers 'w': rename one"
    assert str(e.value) == told


def test_functions_that_grow_beyond_all_bounds():
    """Each calls the next ten times: ten functions stand for ten thousand million nodes."""
    functions = "".join(
        f"\nFUNCTION f{k} (a) => (b9) {{"
        + "".join(
            f" b{j} = {'Abs' if k == 9 else f'own.f{k + 1}'}({'a' if j == 0 else f'b{j - 1}'})"
            for j in range(10)
        )
        + " }"
        for k in range(10)
    )
    with pytest.raises(OnnxError) as e:
        fb.onnx.load(proto("{ y = own.f0 (x) }" + functions), device="cpu")
    assert str(e.value) == (
        "the model: function 'f0': expands to 10,000,000,000 nodes: at most 2,000,000 are supported"
    )


RUN = {
    "{ y = Squeeze(x) t = Shape(x) z = Reshape(x, t) y2 = Concat <axis = 4> (x, x) }": "Concat -> y2: ",
    '{ s = Constant <value_string = "a"> () y = Abs(s) }': "Abs -> y: does not support strings: cast first",
    '{ s = Constant <value_string = "a"> () m = RegexFullMatch <pattern = "(a*)*b"> (s) y = Abs(x) }': (
        "RegexFullMatch -> m: pattern='(a*)*b': nests repeats: matching could take exponential time"
    ),
    "{ k = Constant <value_int = 5> () s = SequenceConstruct(x) y = SequenceAt(s, k) }": (
        "SequenceAt -> y: position 5 of a sequence of 1"
    ),
}


@pytest.mark.parametrize("text", RUN)
def test_what_fails_as_it_runs_names_the_node(text):
    data = proto(text)
    data.opset_import[0].version = 20
    with pytest.raises(OnnxError) as e:
        fb.onnx.load(data, device="cpu")(np.ones(2, "f4"))
    told = f"the model: {RUN[text]}"
    assert str(e.value) == told or (told.endswith(": ") and str(e.value).startswith(told))


# --- sizes that nothing holds, in files of a few hundred bytes ---

HUGE = """<ir_version: 9, opset_import: ["": 17]> g (float[1] x) => (float[N] y)
<int64[1] n = {1099511627776}, int64[2] pads = {0, 1099511627775}> { NODES }"""
GIVES_TOO_MUCH = {
    "c = ConstantOfShape(n) y = Add(c, x)": "ConstantOfShape -> c",
    "c = ConstantOfShape(n) y = ReduceSum(c)": "ConstantOfShape -> c",
    "y = Tile(x, n)": "Tile -> y",
    "y = Pad(x, pads)": "Pad -> y",
    "y = Expand(x, n)": "Expand -> y",
    "y = RandomNormal <shape = [1099511627776]> ()": "RandomNormal -> y",
    "c = ConstantOfShape <value = float8e4m3fn[1] {1}> (n) y = Identity(x)": "",
}


@pytest.mark.parametrize("nodes", GIVES_TOO_MUCH)
def test_results_that_no_device_holds(nodes, device):
    from flambeau.onnx.values import host_memory

    with pytest.raises(OnnxError) as e:
        fb.onnx.load(parser.parse_model(HUGE.replace("NODES", nodes)), device=device)(np.ones(1, "f4"))
    gives = f"the model: {GIVES_TOO_MUCH[nodes]}: gives float32[1099511627776]: "
    told = {
        "cpu": f"{gives}4,398,046,511,104 bytes exceed the {host_memory():,} of memory of this machine",
        "gpu": f"{gives}1,099,511,627,776 elements are more than the 2,147,483,648 that a kernel can index",
    }[device.kind]
    if not GIVES_TOO_MUCH[nodes]:  # an array of the host's, which an operating system may promise
        rule = f"1,099,511,627,776 bytes exceed the {host_memory():,} of memory of this machine"
        told = f"the model: ConstantOfShape -> c: gives float8_e4m3fn[1099511627776]: {rule}"
    assert str(e.value) == told


def test_counts_that_no_machine_holds():
    """A place of an n-gram says how long a row of the result is."""
    from flambeau.onnx.values import host_memory

    x, y = (helper.make_tensor_value_info(n, t, [1]) for n, t in (("x", 7), ("y", 1)))
    grams = {"pool_int64s": [1], "ngram_counts": [0], "ngram_indexes": [2**40 - 1]}
    sizes = {"min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "mode": "TF"}
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], **grams, **sizes)
    model = helper.make_model(helper.make_graph([node], "g", [x], [y]))
    with pytest.raises(OnnxError) as e:
        fb.onnx.load(model, device="cpu")(np.ones(1, "i8"))
    rule = f"4,398,046,511,104 bytes exceed the {host_memory():,} of memory of this machine"
    assert str(e.value) == f"the model: TfIdfVectorizer -> y: gives float32[1, 1099511627776]: {rule}"


def test_memory_that_runs_out_as_a_result_is_read(monkeypatch):
    from flambeau.onnx import model as module

    def refuse(value):
        raise MemoryError("Unable to allocate 9.00 GiB")

    model = fb.onnx.load(proto("{ y = Abs(x) }"), device="cpu")
    assert [a.tolist() for a in model.arrays({"x": [1.0, -2.0]})] == [[1.0, 2.0]]
    monkeypatch.setattr(module, "to_array", refuse)
    with pytest.raises(OnnxError) as e:
        model.arrays({"x": [1.0, 2.0]})
    told = "the model: Abs -> y: needs more memory than is available: Unable to allocate 9.00 GiB"
    assert str(e.value) == told


READING = {
    "If": """g (float[2] x, bool c) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] r)
      { r = Abs(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> }""",
    "NonZero": "g (float[2] x) => (int64[1, k] y) { y = NonZero(x) }",
    "Range": "g (int64 x) => (int64[k] y) <int64 z = {0}, int64 o = {1}> { y = Range(z, x, o) }",
    "Reshape": "g (float[2] x, int64[2] s) => (float[A, B] y) { y = Reshape(x, s) }",
}


@pytest.mark.parametrize("name", READING)
def test_what_reads_values_cannot_be_saved(name, device, tmp_path):
    text = '<ir_version: 9, opset_import: ["": 17]> ' + READING[name]
    model = fb.onnx.load(parser.parse_model(text), device=device)
    short = {"float32": "f32", "int64": "i64", "bool": "bool"}
    specs = {v.name: f"{short[v.dtype]}{list(v.shape)}" for v in model.inputs}
    rule = "it reads values that depend on an input: a saved program has fixed sizes and branches"
    zeros = {v.name: fb.zeros(*v.shape, dtype=v.dtype, device=device) for v in model.inputs}
    with fb.device(device):
        for given, save in ((specs, fb.save_program), (zeros, fb.onnx.export)):
            with pytest.raises(FlambeauError) as e:
                save(model, given, tmp_path / "saved")
            assert str(e.value).endswith(f"the model: {name} -> y: {rule}")
            assert not (tmp_path / "saved").exists()
