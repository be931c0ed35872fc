"""Operators of networks and classical models: values by hand, slopes, draws, and what they refuse."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import flambeau as fb
from flambeau.onnx.operators.table import find

ML, MS = "ai.onnx.ml", "com.microsoft"


def call(name, *inputs, domain="", opset=22, **attributes):
    """An operator of arrays on the NumPy device; floats stay as wide as they are."""
    row = find(domain, name, opset)
    names = [*row.inputs, *[""] * len(inputs)]
    given = [placed(x, n in row.numbers) for n, x in zip(names, inputs, strict=False)]
    if row.takes_node:
        attributes["node"] = SimpleNamespace(
            wants=lambda k: k < 2,
            device=fb.device("cpu"),
            number=lambda value: None,
            once=lambda make, *args, of: make(*args),
        )
    return row.function(*given, **attributes)


def placed(x, as_numbers):
    """An input as the runner hands it over."""
    if x is None or isinstance(x, fb.Tensor):
        return x
    x = np.asarray(x)
    return x.tolist() if as_numbers else fb.tensor(x, device="cpu", dtype=x.dtype.name)


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def test_places_of_a_pool_count_all_of_the_input():
    x = np.array([[[[1.0, 5, 2], [4, 3, 9]]], [[[7.0, 0, 0], [0, 8, 0]]]], "f4")
    y, places = call("MaxPool", x, kernel_shape=(2, 2))
    assert y.tolist() == [[[[5, 9]]], [[[8, 8]]]] and places.tolist() == [[[[1, 5]]], [[[10, 10]]]]
    _, columns = call("MaxPool", x, kernel_shape=(2, 2), storage_order=1)
    assert columns.tolist() == [[[[2, 5]]], [[[9, 9]]]]
    back = call("MaxUnpool", y, places, kernel_shape=(2, 2), strides=(1, 1))
    assert back.tolist() == [[[[0, 5, 0], [0, 0, 9]]], [[[0, 0, 0], [0, 8, 0]]]]


def test_means_of_a_pool_leave_out_what_is_not_asked_for():
    x = np.arange(1.0, 6)[None, None].astype("f4")
    window = {"kernel_shape": (2,), "strides": (2,), "pads": (1, 0), "ceil_mode": 1}
    assert call("AveragePool", x, **window).tolist() == [[[1.0, 2.5, 4.5]]]
    assert call("AveragePool", x, count_include_pad=1, **window).tolist() == [[[0.5, 2.5, 4.5]]]


def test_resized_images():
    x = np.array([[[[1.0, 2], [3, 4]]]], "f4")
    near = call("Resize", x, None, [1.0, 1, 1, 2], None, mode="nearest")
    assert near.tolist() == [[[[1, 1, 2, 2], [3, 3, 4, 4]]]]
    line = call(
        "Resize", x, None, None, [1, 1, 2, 3], mode="linear", coordinate_transformation_mode="align_corners"
    )
    assert line.tolist() == [[[[1, 1.5, 2], [3, 3.5, 4]]]]
    whole = call("Resize", np.array([[0, 255]], "u1"), None, None, [1, 4], mode="cubic")
    assert whole.dtype is fb.uint8 and whole.tolist()[0][0] == 0 and whole.tolist()[0][3] == 255


def test_forms_of_the_same_attention():
    packed = draw(2, 3, 2, 3, 4).astype("f4")
    apart = [packed[:, :, :, k].reshape(2, 3, 8) for k in range(3)]
    y = call("MultiHeadAttention", packed, domain=MS, num_heads=2)[0]
    z = call("MultiHeadAttention", *apart, domain=MS, num_heads=2)[0]
    both = np.stack([apart[1].reshape(2, 3, 2, 4), apart[2].reshape(2, 3, 2, 4)], 3)
    w = call("MultiHeadAttention", apart[0], both, domain=MS, num_heads=2)[0]
    v = call("Attention", *apart, opset=23, q_num_heads=2, kv_num_heads=2)[0]
    for other in (z, w, v):
        np.testing.assert_allclose(y.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("inner", "shape"), [(1, (2, 1, 1, 5)), (0, (1, 3, 4, 5))])
def test_softmax_with_a_bias(inner, shape):
    x, bias = draw(2, 3, 4, 5), draw(*shape, seed=1)
    e = np.exp(x + bias)
    y = call("BiasSoftmax", x, bias, domain=MS, axis=3, is_inner_broadcast=inner)
    np.testing.assert_allclose(y.numpy(), e / e.sum(-1, keepdims=True), rtol=1e-6)


def test_blocks_of_bits_in_an_order():
    words = np.array([[[0x21, 0x43], [0x65, 0x87]]], "u1")  # 1 to 8, blocks of four
    order = np.array([1, 0, 0, 0, 1, 1, 0, 1])
    scales, x = np.array([10.0, 100.0], "f4"), np.eye(8, dtype="f4")
    given = {"domain": MS, "K": 8, "N": 1, "bits": 4, "block_size": 4}
    plain = call("MatMulNBits", x, words, scales, np.array([0x11], "u1"), **given)
    assert plain.flatten().tolist() == [0, 10, 20, 30, 400, 500, 600, 700]
    turned = call("MatMulNBits", x, words, scales, np.array([0x11], "u1"), order, **given)
    assert turned.flatten().tolist() == [0, 10, 20, 30, 400, 500, 60, 700]


def test_quantised_by_blocks():
    x = np.array([[1.0, 2, 3], [4, 5, 6]], "f4")
    scale, zero = np.array([[1.0, 3], [2, 2]], "f4"), np.array([[0, 1], [2, 3]], "i1")
    whole = call("QuantizeLinear", x, scale, zero, axis=1, block_size=2)
    assert whole.dtype is fb.int8 and whole.tolist() == [[1, 2, 2], [4, 4, 6]]  # halves to the even
    back = call("DequantizeLinear", whole.numpy(), scale, zero, axis=1, block_size=2)
    assert back.tolist() == [[1, 2, 3], [4, 4, 6]]


SLOPES = {
    "Conv": ((draw(1, 2, 5), draw(3, 2, 2)), {"pads": (0, 1), "strides": (2,)}),
    "ConvTranspose": (
        (draw(1, 2, 4), draw(2, 1, 3)),
        {"pads": (0, 1), "output_padding": (1,), "strides": (2,)},
    ),
    "LpPool": ((draw(1, 1, 6),), {"kernel_shape": (3,), "p": 3}),
    "Resize": ((draw(1, 5), None, None, [1, 3]), {"mode": "cubic", "antialias": 1}),
    "RoiAlign": ((draw(1, 2, 5, 6), [[0.4, 0.7, 4.2, 3.9]], [0]), {"output_height": 2, "output_width": 1}),
    "LRN": ((draw(1, 4, 2),), {"size": 3, "alpha": 0.3}),
    "LayerNormalization": ((draw(2, 3), draw(3)), {}),
    "LSTM": (
        (draw(3, 1, 2), draw(1, 8, 2), draw(1, 8, 2)),
        {"activations": ("HardSigmoid", "Tanh", "Softsign")},
    ),
    "SoftmaxCrossEntropyLoss": ((draw(3, 4), np.array([1, 3, 0])), {"ignore_index": 3}),
}


@pytest.mark.parametrize("name", SLOPES)
def test_slopes_are_those_of_differences(name):
    """In one random direction, in float64."""
    (x, *rest), attributes = SLOPES[name]

    def total(at):
        y = call(name, at, *rest, **attributes)
        return ((y[0] if isinstance(y, tuple) else y) ** 2).sum()

    leaf, way = fb.tensor(x, dtype="float64", device="cpu").requires_grad_(), draw(*x.shape, seed=9)
    slope = total(leaf).backward()[leaf].numpy()
    step = 1e-4
    wanted = (total(x + step * way).item() - total(x - step * way).item()) / (2 * step)
    assert (slope * way).sum() == pytest.approx(wanted, rel=1e-3, abs=1e-5)


def test_draws_are_by_their_seed():
    for name, given in (
        ("RandomNormal", {"mean": 5.0, "scale": 0.1}),
        ("RandomUniform", {"low": 4.0, "high": 6.0}),
    ):
        x, y, z = (call(name, shape=(40, 5), seed=s, **given) for s in (1.5, 1.5, 2.0))
        assert (
            x.tolist() == y.tolist() != z.tolist() and x.shape == (40, 5) and abs(x.mean().item() - 5) < 0.3
        )
    like = call("RandomNormalLike", np.zeros((2, 3), "f4"), dtype=11)
    assert like.dtype is fb.float64 and like.shape == (2, 3)
    ones = call("Bernoulli", np.array([0.0, 1.0, 1.0], "f4"), dtype=9)
    assert ones.tolist() == [False, True, True] and ones.dtype is fb.bool
    drawn = call("Multinomial", np.log(np.array([[1e-9, 1, 1e-9]], "f4")), sample_size=4, dtype=7)
    assert drawn.tolist() == [[1, 1, 1, 1]] and drawn.dtype is fb.int64
    y, kept = call("Dropout", np.ones(1000, "f4"), 0.25, True, seed=3)
    assert set(y.tolist()) == {0.0, np.float32(4 / 3)} and 700 < kept.sum().item() < 800
    assert (y.numpy() > 0).tolist() == kept.tolist()


def tree(**changes):
    """A node and two leaves."""
    nodes = {"treeids": (0, 0, 0), "nodeids": (0, 1, 2), "featureids": (1, 0, 0), "values": (0.5, 0.0, 0.0)}
    nodes |= {"modes": ("BRANCH_LT", "LEAF", "LEAF"), "truenodeids": (1, 0, 0), "falsenodeids": (2, 0, 0)}
    given = {f"nodes_{k}": v for k, v in nodes.items()}
    given |= {
        "target_treeids": (0, 0),
        "target_nodeids": (1, 2),
        "target_ids": (0, 0),
        "target_weights": (3.0, 4.0),
    }
    return given | changes


def test_a_tree():
    x = np.array([[0, 0.4], [9, 0.5], [0, np.nan]], "f4")
    assert call("TreeEnsembleRegressor", x, domain=ML, **tree()).tolist() == [[3], [4], [4]]
    kept = tree(nodes_missing_value_tracks_true=(1, 0, 0), base_values=(1.0,))
    assert call("TreeEnsembleRegressor", x, domain=ML, **kept).tolist() == [[4], [5], [4]]


X = np.ones((1, 2, 4, 4), "f4")
W = np.ones((3, 2, 2, 2), "f4")
WRONG = [
    (
        ("Conv", X, W),
        {"auto_pad": "SAME"},
        "auto_pad 'SAME' is unknown: use NOTSET, VALID, SAME_UPPER or SAME_LOWER",
    ),
    (("Conv", X, W), {"kernel_shape": (3, 3)}, "kernel_shape [3, 3] is not that of the weight, [2, 2]"),
    (("Conv", X, W), {"pads": (1, 1)}, "pads [1, 1] is for 2 dims: the input has 4 spatial dims"),
    (
        ("Conv", X, W),
        {"strides": (0, 1)},
        "kernel_shape [2, 2], strides [0, 1], dilations [1, 1]: all must be above 0",
    ),
    (
        ("Conv", X[0, 0], W),
        {},
        "input [4, 4] and weight [3, 2, 2, 2] must have the same 3 to 5 dims: [n, c, "
        "*size] and [o, c, *kernel]",
    ),
    (("Conv", X, W), {"pads": (0, 0, -1, 0)}, "pads [0, 0, -1, 0]: none may be below 0"),
    (
        ("Conv", X, W),
        {"pads": (0, 0, 2**62, 0)},
        "the elements of a padded channel would be 18,446,744,073,709,551,632: at most"
        " 2,147,483,648 are supported",
    ),
    (
        ("MaxPool", X),
        {"kernel_shape": (2, 2), "pads": (0, 0, 2, 0)},
        "pads [0, 0, 2, 0] exceed windows of [2, 2]: some windows would be empty",
    ),
    (
        ("Resize", X, None, None, [1, 2, 2**30, 4]),
        {},
        "the elements of a dim would be 1,073,741,824: at most 4,194,304 are supported",
    ),
    (
        ("HannWindow", np.array(2**40)),
        {},
        "a window's elements would be 1,099,511,627,776: at most 16,777,216 are supported",
    ),
    (
        ("Attention", X, X, X, np.ones((3, 4), "?")),
        {"opset": 23},
        "a mask of [3, 4] does not fit scores of [1, 2, 4, 4]",
    ),
    (("MaxPool", X), {}, "kernel_shape is missing: it needs one number for each spatial dim"),
    (("MaxPool", X), {"kernel_shape": (2,)}, "kernel_shape [2] does not fit an input of [1, 2, 4, 4]"),
    (("Resize", X, None, [1, 1], None), {}, "takes either scales or sizes, 4 of them: got [1, 1] and None"),
    (
        ("Resize", X, None, [1, 1, 2, 2], None),
        {"mode": "sinc"},
        "mode 'sinc' is unknown: use nearest, linear, cubic",
    ),
    (
        ("Resize", X, None, [1, 1, 2, 2], None),
        {"antialias": 1},
        "antialias is for the modes linear and cubic, not for nearest",
    ),
    (
        ("LSTM", X[0], X[0], X[0]),
        {},
        "input [2, 4, 4], W [2, 4, 4] and R [2, 4, 4] do not fit each other: with this "
        "hidden size and direction forward R is [1, 16, 4]",
    ),
    (
        ("RNN", np.ones((2, 1, 3), "f4"), np.ones((1, 2, 3), "f4"), np.ones((1, 2, 2), "f4")),
        {"activations": ("Sine",)},
        "activation 'Sine' is unknown: use one of affine, elu, hardsigmoid, leakyrelu, "
        "relu, scaledtanh, sigmoid, softplus, softsign, tanh, thresholdedrelu",
    ),
    (
        ("Attention", X, X[:, :, :, :3], X),
        {"opset": 23, "qk_matmul_output_mode": 5},
        "qk_matmul_output_mode 5: takes 0 to 3",
    ),
    (
        ("QuantizeLinear", X, np.ones(3, "f4")),
        {},
        "scales of the shape [3] do not fit axis 1 of [1, 2, 4, 4]",
    ),
    (
        ("DequantizeLinear", X, X),
        {"block_size": 3, "axis": 3},
        "blocks of 3 of [1, 2, 4, 4] need scales of [1, 2, 4, 2]: got [1, 2, 4, 4]",
    ),
    (
        ("DFT", X, None, np.array(3)),
        {"opset": 20},
        "axis 3 is not a signal axis: the last dim holds the real and imaginary parts",
    ),
    (
        ("TreeEnsembleRegressor", X[0, 0]),
        {"domain": ML, **tree(nodes_truenodeids=(5, 0, 0))},
        "tree 0 has no node 5",
    ),
    (
        ("TreeEnsembleRegressor", X[0, 0]),
        {"domain": ML, **tree(nodes_falsenodeids=(0, 0, 0))},
        "its nodes form a cycle, which a tree must not have",
    ),
    (
        ("TreeEnsembleRegressor", X[0, 0]),
        {"domain": ML, **tree(nodes_featureids=(7, 0, 0))},
        "nodes use feature 7: the input has 4 features",
    ),
    (
        ("TreeEnsembleRegressor", X[0, 0]),
        {"domain": ML, **tree(nodes_modes=("LIKE", "LEAF", "LEAF"))},
        "nodes_modes 'LIKE' is unknown: use one of BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, "
        "BRANCH_GT, BRANCH_EQ, BRANCH_NEQ, BRANCH_MEMBER, LEAF",
    ),
    (("Normalizer", X[0, 0]), {"domain": ML, "norm": "L3"}, "norm 'L3' is unknown: use MAX, L1 or L2"),
    (
        ("ImageDecoder", np.frombuffer(b"no image", "u1")),
        {},
        "can't read the image: cannot identify image file",
    ),
    (
        ("MatMulNBits", X[0, 0], X, X),
        {"domain": MS, "K": 4, "N": 1, "block_size": 4, "bits": 5},
        "bits=5, accuracy_level=0: takes 2, 4 or 8, and 0 to 4",
    ),
]


@pytest.mark.parametrize(
    ("given", "attributes", "says"), WRONG, ids=[f"{k}-{w[0][0]}" for k, w in enumerate(WRONG)]
)
def test_what_is_refused(given, attributes, says):
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(says)}"):
        y = call(*given, **attributes)
        [t.numpy() for t in (y if isinstance(y, tuple) else (y,)) if t is not None]


def test_forms_of_old_opsets():
    x = draw(1, 2, 2, 3)
    given = {"is_test": 1, "epsilon": 0.0, "opset": 6}
    y = call("BatchNormalization", x, *[np.array(v, "f8") for v in ([2, 3], [0, 1], [0, 1], [1, 4])], **given)
    np.testing.assert_allclose(y.numpy()[0, 1], (x[0, 1] - 1) / 2 * 3 + 1)
    flat = np.exp(x).reshape(1, -1)
    np.testing.assert_allclose(call("Softmax", x, opset=11).numpy().reshape(1, -1), flat / flat.sum())
    assert call("Upsample", x, opset=1, height_scale=2.0, width_scale=1.0).shape == (1, 2, 4, 3)
    assert call("Upsample", x, opset=7, scales=(1.0, 1.0, 1.0, 2.0)).shape == (1, 2, 2, 6)
    slopes = call("PRelu", x, np.array([0.5, 2.0]), opset=6).numpy()
    np.testing.assert_allclose(slopes, np.where(x < 0, x * np.array([0.5, 2])[:, None, None], x))
    same, kept = call("Dropout", x, opset=6, is_test=1)
    assert same.tolist() == x.tolist() and kept.numpy().all()
    one = call("GroupNormalization", x, np.array([2.0]), np.array([1.0]), num_groups=1, opset=18)
    np.testing.assert_allclose(one.numpy(), (x - x.mean()) / x.std() * 2 + 1, rtol=1e-4)
