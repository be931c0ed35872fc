"""Sizes that depend on values: several inputs of one shape in a row, by ONNX's reference evaluator."""

import inspect
from functools import cache

import numpy as np
import pytest
from onnx import helper, parser
from onnx.reference import ReferenceEvaluator

import flambeau as fb
from flambeau.onnx.fixed import Fixed, FixedValues
from flambeau.onnx.operators import load
from flambeau.onnx.operators.table import TABLE
from flambeau.onnx.read import read_model

# how the numbers m (one element) and s (a scalar) come, and the condition c: fed, or made of elements
ARRIVALS = {
    "fed": "m = Identity(n) s = Identity(t) c = Greater(s, two)",
    "computed": """p0 = Greater(x, none) p1 = Cast <to = 7> (p0) s = ReduceSum <keepdims = 0> (p1)
      m = Reshape(s, one1) c = Greater(s, two)""",
    "a shape": """p0 = NonZero(x) p1 = Shape(p0) s = Gather(p1, one) m = Reshape(s, one1)
      c = Greater(s, two)""",
}
BOXES = ", ".join(f"0, {k}, 1, {k + 1}" for k in range(6))
MAKERS = {
    "NonZero": "v = NonZero(x)",
    "Compress": "k = Greater(x, none) v = Compress(x, k)",
    "Unique": "v = Unique(x)",
    "Range": "v = Range(zero, s, one)",
    "TopK": "v, at = TopK(x, m)",
    "Slice to": "v = Slice(x, zero1, m)",
    "Slice from": "v = Slice(x, m, nine1)",
    "Expand": "e = Concat <axis = 0> (m, one1) v = Expand(x, e)",
    "ConstantOfShape": "v = ConstantOfShape(m)",
    "NonMaxSuppression": f"""boxes = Constant <value = float[1, 6, 4] {{{BOXES}}}> ()
      scores = Reshape(x, scored) v = NonMaxSuppression(boxes, scores, six1, half1, none1)""",
    "If": """v = If (c) <then_branch = t () => (float[A] a) { a = Neg(x) },
      else_branch = e () => (float[B] b) { b = Slice(x, one1, six1) }>""",
    "Loop": """v, w = Loop(s, yes, x) <body = b (int64 i, bool g, float[A] a) =>
      (bool h, float[B] d, float[C] f)
      { h = Identity(g) d = Concat <axis = 0> (a, x) f = Slice(a, zero1, two1) }>""",
    "Loop's rows": """w, v = Loop(s, yes, x) <body = b (int64 i, bool g, float[A] a) =>
      (bool h, float[B] d, float[C] f) { h = Identity(g) d = Neg(a) f = Abs(a) }>""",
    "Scan": """k = Greater(x, none) z = Compress(x, k) w, v = Scan <num_scan_inputs = 1,
      body = b (float[6] a, float e) => (float[6] d, float f) { d = Add(a, e) f = Neg(e) }> (x, z)""",
    "Reshape": "e = Concat <axis = 0> (m, minus1) y = Slice(x, zero1, m) v = Reshape(y, e)",
    "Tile": "v = Tile(x, m)",
    "Pad": "e = Concat <axis = 0> (m, zero1) v = Pad(x, e)",
    "Split": "r = Sub(six1, m) e = Concat <axis = 0> (m, r) v, w = Split(x, e)",
    "OneHot": "e = Constant <value = float[2] {0, 1}> () v = OneHot(two1, s, e)",
    "Resize": 'v = Resize <coordinate_transformation_mode = "asymmetric"> (x, "", "", m)',
    "Unsqueeze": "y = Reshape(x, pairs) z = Mod(m, two1) v = Unsqueeze(y, z)",
    "Squeeze": "y = Reshape(x, ends) z = Mod(m, two1) e = Mul(z, two1) v = Squeeze(y, e)",
    "ReduceSum": "y = Reshape(x, pairs) z = Mod(m, two1) v = ReduceSum <keepdims = 0> (y, z)",
    "CenterCropPad": "v = CenterCropPad(x, m)",
    "HannWindow": "v = HannWindow(s)",
    "SequenceAt": """r = Sub(six1, m) e = Concat <axis = 0> (m, r) q = SplitToSequence(x, e)
      v = SequenceAt(q, zero)""",
    "a function": "v = local.positive(x)",
    "a chain": "k = Greater(x, none) y = Compress(x, k) z = Neg(y) v = Concat <axis = 0> (z, x)",
}
READERS = """sizes = Shape(v) count = Size(v) zeros = ConstantOfShape(sizes) flat = Reshape(v, minus1)
  places = Range(zero, count, one) last = Gather(sizes, minus1) ones = Expand(one, sizes)
  y0 = Cast <to = 1> (v) y1 = Sum(y0, y0)"""
NAMES = {"y1": 1, "sizes": 7, "count": 7, "zeros": 1, "places": 7, "last": 7, "ones": 7}
NUMBERS = {"zero": 0, "one": 1, "two": 2}
LISTS = {"zero1": [0], "one1": [1], "two1": [2], "six1": [6], "nine1": [9], "minus1": [-1]}
LISTS |= {"pairs": [2, 3], "ends": [1, 6, 1], "scored": [1, 1, 6]}
FEEDS = [([1, 0, 0, -2, 0, 0], 2), ([3, 1, 2, 0, 1, 0], 4), ([0, 0, 5, 0, 0, 0], 1), ([1, 0, 0, -2, 0, 0], 2)]


def text(maker: str, arrival: str, outputs: str) -> str:
    lists = [f"int64[{len(v)}] {n} = {{{', '.join(map(str, v))}}}" for n, v in LISTS.items()]
    numbers = [f"int64 {n} = {{{v}}}" for n, v in NUMBERS.items()]
    floats = ["float none = {0}", "float[1] none1 = {0}", "float[1] half1 = {0.5}", "bool yes = {1}"]
    weights = ", ".join([*lists, *numbers, *floats])
    return f"""<ir_version: 9, opset_import: ["": 18, "local": 1]>
g (float[6] x, int64[1] n, int64 t) => ({outputs}) <{weights}> {{
  {ARRIVALS[arrival]} {MAKERS[maker]} {READERS} }}
<domain: "local", opset_import: ["": 18]> positive (a) => (b) {{ d = NonZero(a) b = Neg(d) }}"""


def cases(outputs: list[str], maker: str, arrival: str):
    proto = parser.parse_model(text(maker, arrival, "float y1"))
    del proto.graph.output[:]
    proto.graph.output.extend(helper.make_tensor_value_info(n, NAMES[n], None) for n in outputs)
    return proto


def fed(row: list[int], count: int) -> dict[str, np.ndarray]:
    return {"x": np.array(row, "f4"), "n": np.array([count]), "t": np.array(count)}


@cache
def wanted(maker: str, arrival: str) -> list[dict]:
    reference = ReferenceEvaluator(cases(list(NAMES), maker, arrival))
    return [dict(zip(NAMES, reference.run(None, fed(*given)), strict=True)) for given in FEEDS]


def compare(run, maker: str, arrival: str, outputs: list[str]) -> None:
    for given, right in zip(FEEDS, wanted(maker, arrival), strict=True):
        for name, value in zip(outputs, run(fed(*given)), strict=True):
            np.testing.assert_array_equal(np.asarray(value), right[name], f"{maker}, {arrival}, {name}")


@pytest.mark.parametrize("arrival", ARRIVALS)
@pytest.mark.share(5)
def test_sizes_follow_values(arrival):
    for maker in MAKERS:
        proto = cases(list(NAMES), maker, arrival)
        for outputs in (list(NAMES), ["sizes"], ["places"]):
            model = fb.onnx.load(proto if len(outputs) > 1 else cases(outputs, maker, arrival), device="cpu")
            compare(model.arrays, maker, arrival, outputs)


@pytest.mark.parametrize("call", ["replayed", "jit"])
def test_sizes_follow_values_on_a_gpu(call, gpu):
    """Calls of which those of the same shapes are recorded."""
    for maker in MAKERS:
        outputs = ["sizes", "count"]
        model = fb.onnx.load(cases(outputs, maker, "fed"), device=gpu)
        with fb.no_grad():
            compare(model if call == "replayed" else fb.jit(model), maker, "fed", outputs)


READS = {"item", "tolist", "numpy", "nonzero", "to_array", "numbers", "argwhere", "unique"}
# rows that read elements, and whose outputs have the same sizes whatever those are: elements one by one,
# regions and classes as many as there are rows, and those whose sizes follow from what `numbers` names
SIZED = {
    *("BitCast", "Cast", "CastLike", "CategoryMapper", "Constant", "LabelEncoder", "QuantizeLinear"),
    *("DictVectorizer", "LinearClassifier", "OneHotEncoder", "SVMClassifier", "StringConcat", "ZipMap"),
    *("TfIdfVectorizer", "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"),
    *("Compress", "ConstantOfShape", "Loop", "MaxRoiPool", "RoiAlign"),
}


def reads(function, seen: set) -> bool:
    """Whether a function or one that it calls asks for elements."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or code in seen:
        return False
    seen.add(code)
    inner = [c for c in code.co_consts if inspect.iscode(c)]
    names = {n for c in (code, *inner) for n in c.co_names}
    if names & READS:
        return True
    called = [function.__globals__.get(n) for n in names]
    return any(
        inspect.isfunction(f) and f.__module__ == function.__module__ and reads(f, seen) for f in called
    )


def test_who_reads_values_says_whether_sizes_depend_on_them():
    load()
    rows = [row for several in TABLE.values() for row in several]
    found = {row.name for row in rows if not row.sized_by_values and reads(row.function, set())}
    assert found == set(SIZED)


def test_sizes_of_loops_over_shapes_are_fixed():
    """Loops are fixed where their count follows from a shape, and are not where it follows from a value."""
    proto = parser.parse_model("""<ir_version: 9, opset_import: ["": 18]>
g (float[A, 3] x, int64 n) => (int64[B] y, float[A, 3] w, int64[C] z) <int64 zero = {0}, bool yes = {1}> {
  s = Shape(x) k = Gather(s, zero)
  y0, y1 = Loop(k, yes, k) <body = b (int64 i, bool g, int64 a) => (bool h, int64 d, int64 f)
    { h = Identity(g) d = Add(a, i) f = Mul(a, a) }>
  y = Concat <axis = 0> (s, y1)
  w = Scan <num_scan_inputs = 1, body = c (float[3] e) => (float[3] o) { o = Neg(e) }> (x)
  z0, z = Loop(n, yes, zero) <body = b (int64 i, bool g, int64 a) => (bool h, int64 d, int64 f)
    { h = Identity(g) d = Add(a, i) f = Mul(a, a) }> }""")
    model = read_model(proto)
    levels = {"x": Fixed.SHAPE, "n": Fixed.SHAPE, "zero": Fixed.VALUE, "yes": Fixed.VALUE}
    FixedValues(model).nodes(model.graph.nodes, levels, model.opsets)
    told = {name: levels[name].name for name in ("y0", "y", "w", "z0", "z")}
    assert told == {"y0": "VALUE", "y": "VALUE", "w": "SHAPE", "z0": "NOTHING", "z": "NOTHING"}
    loaded = fb.onnx.load(proto, device="cpu")
    for rows, n in ((2, 3), (2, 1), (4, 2)):
        y, _, z = loaded.arrays({"x": np.ones((rows, 3), "f4"), "n": np.array(n)})
        sums = np.cumsum([rows, *range(rows - 1)])
        assert y.tolist() == [rows, 3, *(sums**2)] and len(z) == n
