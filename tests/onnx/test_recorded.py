"""Calls of ONNX models by fb.jit: what follows from shapes is no read, and is sent to the device once."""

import numpy as np
from onnx import TensorProto, helper

import flambeau as fb


def counted():
    """x + how many elements it has + its places along the last dim."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Size", ["x"], ["size"]),
        helper.make_node("Gather", ["shape", "last"], ["n"]),
        helper.make_node("Range", ["none", "n", "one"], ["places"]),
        helper.make_node("Add", ["places", "size"], ["whole"]),
        helper.make_node("Cast", ["whole"], ["added"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["x", "added"], ["y"]),
    ]
    numbers = {"last": -1, "none": 0, "one": 1}
    constants = [helper.make_tensor(name, TensorProto.INT64, [], [n]) for name, n in numbers.items()]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["b", "n"]) for n in "xy")
    graph = helper.make_graph(nodes, "counted", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_a_call_is_recorded(capsys):
    model = fb.onnx.load(counted())
    recorded = fb.jit(lambda x: model(x))
    for shape in ((2, 3), (1, 4)):
        x = np.random.default_rng(0).normal(size=shape).astype("f4")
        for _ in range(3):
            wanted = x + x.size + np.arange(shape[1])
            np.testing.assert_allclose(recorded(fb.tensor(x)).numpy(), wanted, rtol=1e-6)
    assert len(recorded.programs) == 2
    assert "unrecorded" not in capsys.readouterr().err
