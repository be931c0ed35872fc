"""Resize and Upsample: sizes and places as ONNX Runtime rounds them, by written numbers and beside it."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

import flambeau as fb

SIZES = range(1, 41)
SCALES = (0.1, 0.3, 0.5, 0.6, 0.7, 0.9, 1.1, 1.25, 1.3, 1.7, 2.0, 2.7, 3.3, 1 / 3, 2 / 3, 4 / 3)
LINES = [(n, "sizes", o) for n in SIZES for o in SIZES]
LINES += [(n, "scales", s) for n in SIZES for s in SCALES if int(np.float32(n) * np.float32(s))]
COORDINATES = ("half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners", "tf_half_pixel_for_nn")
COORDINATES += ("half_pixel_symmetric",)
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
HOW: list[dict] = [{"mode": "nearest", "nearest_mode": m} for m in NEAREST]
HOW += [{"mode": "linear", "antialias": a} for a in (0, 1)]
HOW += [{"mode": "cubic", "antialias": a, "exclude_outside": e} for a in (0, 1) for e in (0, 1)]


def resizing(n: int, kind: str, value: float, op: str = "Resize", opset: int = 19, **how):
    """A row of n elements resized, as an image of one row."""
    numbers = np.array([1, 1, 1, value], "f4") if kind == "scales" else np.array([1, 1, 1, value], "i8")
    names = ["x", "numbers"] if opset < 11 else ["x", "", *[""] * (kind == "sizes"), "numbers"]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], **how)],
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 1, 1, n])],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(numbers, "numbers")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def row(n: int):
    return np.arange(n, dtype="f4").reshape(1, 1, 1, n)


def computed(device, n: int, kind: str, value: float, **how):
    return fb.onnx.load(resizing(n, kind, value, **how), device=device)(row(n)).numpy().reshape(-1)


def test_roundings_decide(device):
    """Of sizes and halves; corners go by the size of the output, and what keeps its shape is copied."""
    assert len(computed(device, 30, "scales", 0.7)) == 21  # in float64, 0.7 of float32 makes 20.9999996
    ceil = computed(device, 20, "sizes", 6, nearest_mode="round_prefer_ceil")
    assert ceil.tolist() == [1, 5, 8, 11, 15, 18]
    floor = computed(device, 28, "sizes", 19, nearest_mode="round_prefer_floor")
    assert floor[9] == 13  # at 13.500001
    corners = computed(
        device, 3, "scales", 2.5, coordinate_transformation_mode="align_corners", mode="linear"
    )
    np.testing.assert_allclose(corners, [0, 1 / 3, 2 / 3, 1, 4 / 3, 5 / 3, 2], rtol=1e-6)
    assert computed(device, 5, "scales", 1.1, mode="linear").tolist() == [0, 1, 2, 3, 4]
    shrunk = computed(device, 4, "scales", 0.6, opset=10)
    assert shrunk.tolist() == [0, 2]  # of opset 10 the input behind, as in its documentation


@pytest.mark.torch  # ONNX Runtime is in the same extra
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_places_are_those_of_onnxruntime(coordinates):
    for k, how in enumerate(HOW):
        beside(LINES[k::97], coordinate_transformation_mode=coordinates, **how)


@pytest.mark.torch
def test_old_opsets_are_those_of_onnxruntime():
    scales = [line for line in LINES if line[1] == "scales"]
    for mode, (op, opset) in product(("nearest", "linear"), (("Resize", 10), ("Upsample", 9))):
        beside([v for v in scales[::5] if op == "Resize" or v[2] >= 1], op=op, opset=opset, mode=mode)


def beside(lines, **how):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    right: Any
    for n, kind, value in lines:
        model = resizing(n, kind, value, **how)
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        x = np.random.default_rng(n).normal(size=(1, 1, 1, n)).astype("f4")
        (right,) = session.run(None, {"x": x})
        y = fb.onnx.load(model, device="cpu")(x).numpy()
        np.testing.assert_allclose(y, right, atol=2e-5, err_msg=f"{n}, {kind}, {value}, {how}")
