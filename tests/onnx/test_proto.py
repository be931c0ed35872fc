"""The plain reader of protobuf against the onnx package's, and damaged files."""

import random

import numpy as np
import onnx
import pytest
from helpers import onnx_cases
from helpers.draws import in_turn
from helpers.onnx_cases import read, same
from onnx import helper, parser

import flambeau as fb
from flambeau.onnx import OnnxError
from flambeau.onnx.read import parse_model


@pytest.mark.share(3)
def test_both_readers_read_alike():
    """A tenth of the cases, by the commit's turn; scripts/onnx_scoreboard.py --readers compares all."""
    names = in_turn(onnx_cases.cases(every=False), 10)
    for name in names:
        data = onnx_cases.model_of(onnx_cases.cases(every=False)[name]).SerializeToString()
        assert same(read(data, True), read(data, False)), name
    assert len(names) > 150


TEXT = """<ir_version: 9, opset_import: ["": 17, "own": 1]>
main (float[N, 3] x, bool c) => (float[N, 3] y) <float[3] w = {1, 2, 3}> {
  a = Mul(x, w)
  b = own.twice <by = 2.0> (a)
  y = If (c) <then_branch = g1 () => (float[N, 3] t) { t = Abs(b) },
              else_branch = g2 () => (float[N, 3] e) { e = Neg(b) }>
}
<domain: "own", opset_import: ["": 17]>
twice <by> (v) => (r) {
  k = Constant <value_float: float = @by> ()
  r = Mul(v, k)
}"""


@pytest.fixture(scope="module")
def model():
    return parser.parse_model(TEXT)


def test_the_model_is_good(model):
    x = np.array([[1, -2, 3]], "f4")
    run = fb.onnx.load(model, device="cpu")
    assert run({"x": x, "c": np.array(True)})[0].tolist() == [[2, 8, 18]]
    assert run(x, np.array(False)).tolist() == [[-2, 8, -18]]
    assert same(read(model.SerializeToString(), True), read(model.SerializeToString(), False))


def test_damaged_files_are_one_clean_error(model):
    """Bytes changed, cut, doubled and moved: a file is read by both readers and run, or is an OnnxError."""
    data, draw, outcomes = model.SerializeToString(), random.Random(17), {True: 0, False: 0}
    x = np.ones((1, 3), "f4")
    for _ in range(400):
        bad = damaged(data, draw)
        for by_onnx in (True, False):
            try:
                made = fb.onnx.OnnxModel(read(bad, by_onnx), device="cpu")
                made({"x": x, "c": np.array(True)})
                outcomes[True] += 1
            except OnnxError as e:
                assert str(e).startswith("the file: ")
                outcomes[False] += 1
    assert min(outcomes.values()) > 30


def another_byte(data: bytes, i: int, j: int) -> bytes:
    return data[:i] + bytes([j % 256]) + data[i + 1 :]


def another_bit(data: bytes, i: int, j: int) -> bytes:
    return data[:i] + bytes([data[i] ^ 1 << j % 8]) + data[i + 1 :]


def cut(data: bytes, i: int, j: int) -> bytes:
    return data[:j]


def put_in(data: bytes, i: int, j: int) -> bytes:
    return data[:i] + b"\xff" * 3 + data[i:]


def twice(data: bytes, i: int, j: int) -> bytes:
    return data[:i] + data[i : i + j % 60] * 2 + data[i + j % 60 :]


def damaged(data: bytes, draw: random.Random) -> bytes:
    """A file with one or two kinds of damage."""
    for _ in range(draw.choice([1, 1, 1, 2])):
        kind = draw.choice([another_byte] * 3 + [another_bit] * 3 + [cut, put_in, twice])
        data = kind(data, draw.randrange(len(data)), draw.randrange(len(data))) or b"\x00"
    return data


@pytest.mark.parametrize("by_onnx", [True, False])
@pytest.mark.parametrize("length", [1, 7, 20, 100, 200])
def test_a_file_that_is_cut_short(model, length, by_onnx):
    with pytest.raises(OnnxError, match="the file: is truncated or not an ONNX file|the file: "):
        fb.onnx.OnnxModel(read(model.SerializeToString()[:-length], by_onnx), device="cpu")


def varint(n: int) -> bytes:
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


BROKEN = {
    "a field has wire type 3, which ONNX does not use": b"\x0b",
    "a field has an invalid number": b"\x00\x00",
    "a number has more than 10 bytes": b"\x08" + b"\xff" * 11,
    "ends in the middle of a field": b"\x3a" + varint(1 << 40) + b"1234",
}


@pytest.mark.parametrize("why", BROKEN)
def test_bytes_that_are_no_message(why):
    with pytest.raises(OnnxError) as e:
        parse_model(BROKEN[why], "'m.onnx'", by_onnx=False)
    assert str(e.value) == f"'m.onnx': it is truncated or not an ONNX file ({why}): get a complete copy"
    with pytest.raises(OnnxError, match=r"^'m.onnx': it is truncated or not an ONNX file"):
        parse_model(BROKEN[why], "'m.onnx'", by_onnx=True)


def test_files_without_a_graph_or_a_version(tmp_path):
    """Bytes of no field at all are a message of protobuf: each way in refuses them."""
    whole = with_tensor(data_type=1, dims=[0])
    no_version = onnx.ModelProto(graph=whole.graph)
    negative = onnx.ModelProto(graph=whole.graph, ir_version=-1)
    of_weights = onnx.TensorProto(dims=[2], data_type=1, float_data=[1, 2])  # another message of onnx's
    cases = {
        b"": "no graph",
        onnx.ModelProto(ir_version=9).SerializeToString(): "no graph",
        no_version.SerializeToString(): "no ir_version",
        negative.SerializeToString(): "no ir_version",
        of_weights.SerializeToString(): "no graph",
    }
    why = "is empty, truncated or not an ONNX file: get a complete copy"
    for data, lacking in cases.items():
        for by_onnx in (True, False):
            with pytest.raises(OnnxError) as e:
                read(data, by_onnx)
            assert str(e.value) == f"the file: has {lacking}: {why}"
        with pytest.raises(OnnxError) as e:
            fb.onnx.load(data)
        assert str(e.value) == f"the model: has {lacking}: {why}"
    with pytest.raises(OnnxError, match=r"^the model: has no ir_version: "):
        fb.onnx.load(no_version)
    path = tmp_path / "empty.onnx"
    path.touch()
    with pytest.raises(OnnxError) as e:
        fb.onnx.load(path)
    assert str(e.value) == f"{str(path)!r}: has no graph: {why}"


def test_graphs_deep_in_each_other():
    """Neither reader goes on for ever, nor runs out of Python's stack."""
    graph = b""
    for _ in range(3000):  # graph -> node -> attribute -> graph
        attribute = b"\x32" + varint(len(graph)) + graph
        node = b"\x2a" + varint(len(attribute)) + attribute
        graph = b"\x0a" + varint(len(node)) + node
    data = b"\x3a" + varint(len(graph)) + graph
    for by_onnx in (True, False):
        with pytest.raises(OnnxError, match="its messages are nested more than 100 deep"):
            read(data, by_onnx)


def with_tensor(**fields) -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["y"])], "g", [], [onnx.ValueInfoProto(name="y")]
    )
    graph.initializer.append(onnx.TensorProto(name="w", **fields))
    return helper.make_model(graph)


WRONG_TENSORS = {
    "has the shape [-1, 2]: sizes must be at least 0, with at most 1,099,511,627,776 elements": {
        "dims": [-1, 2]
    },
    "has the shape [4611686018427387904, 4]: sizes must be at least 0, with at most"
    " 1,099,511,627,776 elements": {"dims": [1 << 62, 4]},
    "has 4 bytes, but 1,000,000,000 elements of float32 need 4,000,000,000": {
        "dims": [10**9],
        "raw_data": b"1234",
    },
    "has 2 elements, but its shape [3] needs 3": {"dims": [3], "float_data": [1, 2]},
    "has data type 99, which ONNX does not define: valid types are 1 to 26": {"data_type": 99},
}


@pytest.mark.parametrize("why", WRONG_TENSORS)
def test_tensors_that_lie(why):
    proto = with_tensor(**{"data_type": 1, **WRONG_TENSORS[why]})
    for by_onnx in (True, False):
        with pytest.raises(OnnxError) as e:
            read(proto.SerializeToString(), by_onnx)
        assert str(e.value) == f"the file: tensor 'w': {why}"


def test_attributes_of_no_type():
    proto = with_tensor(data_type=1, dims=[0])
    proto.graph.node[0].attribute.append(onnx.AttributeProto(name="a"))
    for by_onnx in (True, False):
        with pytest.raises(OnnxError) as e:
            read(proto.SerializeToString(), by_onnx)
        assert str(e.value) == "the file: attribute 'a' is of type 0, which ONNX does not define"
