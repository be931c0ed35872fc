"""Small ONNX files that the page of images is given, and what is to come of them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import flambeau as fb
from flambeau.models.imagenet import CANVAS, resize_matrix

MOST = "67,108,864"
PROBLEMS = [  # of `unknown`
    "Wish -> w: unknown operator at opset 18: did you mean 'Mish'?",
    "Unique 'only': needs NumPy, which is not in this page: run the file on the desktop",
    f"the input 'x' is float32[{1 << 30}]: that is {1 << 30:,} elements, and this page gives {MOST} at most",
    "the input 'words' is string[n]: this page gives tensors of numbers and bools alone",
]
MEANS = {"imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), "unit": ((0, 0, 0), (1, 1, 1))}


def saved(path, nodes, inputs, outputs, weights=()):
    """A file of a graph."""
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return path


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def classifier(path):
    """A network of pictures with 1,000 classes, whose batch and sizes are open."""
    rng = np.random.default_rng(3)
    weights = {
        "conv.weight": rng.normal(size=(4, 3, 5, 5)).astype("f4") / 8,
        "fc.weight": rng.normal(size=(1000, 4)).astype("f4"),
        "fc.bias": rng.normal(size=1000).astype("f4"),
        "end": np.array([-1]),
    }
    nodes = [
        helper.make_node("Conv", ["x", "conv.weight"], ["c"], strides=[16, 16]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Shape", ["p"], ["sizes"], start=0, end=1),
        helper.make_node("Concat", ["sizes", "end"], ["flat"], axis=0),
        helper.make_node("Reshape", ["p", "flat"], ["f"]),
        helper.make_node("Gemm", ["f", "fc.weight", "fc.bias"], ["scores"], transB=1),
    ]
    ends = [value("x", ["n", 3, "h", "w"])], [value("scores", ["n", 1000])]
    return saved(path, nodes, *ends, [numpy_helper.from_array(a, name) for name, a in weights.items()])


def apart(path, location):
    """A file's network again, with its weights in another file of the folder, or of one below it."""
    model, made = onnx.load(path), path.with_name(f"apart-{path.name}")
    (path.parent / location).parent.mkdir(exist_ok=True)
    options = {"location": location, "size_threshold": 0, "convert_attribute": False}
    onnx.save_model(model, made, save_as_external_data=True, **options)
    return made


def named(path, canvas, side, scale):
    """The five best classes of such a file and their shares, by NumPy's device and the onnx package."""
    across = resize_matrix(fb.tensor([side], device="cpu")).numpy()
    colours = canvas.reshape(CANVAS, CANVAS, 4)[:, :, :3].transpose(2, 0, 1).astype("f8")
    mean, std = (np.array(v).reshape(3, 1, 1) for v in MEANS[scale])
    x = (across @ colours @ across.T / 255 - mean) / std
    scores = fb.onnx.load(path, device="cpu")(x[None].astype("f4")).numpy()[0].astype("f8")
    shares = np.exp(scores - scores.max())
    best = np.argsort(-shares)[:5]
    return best.tolist(), (shares / shares.sum())[best]


def words(path):
    """A network of integers, which takes no picture."""
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("Mul", ["rows", "x"], ["y"]),
        helper.make_node("Identity", ["ids"], ["z"]),
    ]
    inputs = [value("ids", ["n", 64], TensorProto.INT64), value("x", [3])]
    outputs = [value("y", ["n", 64, 3]), value("z", ["n", 64], TensorProto.INT64)]
    return saved(path, nodes, inputs, outputs, [numpy_helper.from_array(np.ones((2, 3), "f4"), "table")])


def unknown(path):
    """A network that no page can run, for PROBLEMS."""
    nodes = [
        helper.make_node("Unique", ["x"], ["u"], name="only"),
        helper.make_node("Wish", ["u"], ["w"]),
        helper.make_node("Relu", ["w"], ["y"]),
    ]
    strings = value("words", ["n"], TensorProto.STRING)
    return saved(path, nodes, [value("x", [1 << 30]), strings], [value("y", None)])


TYPED = ("FLOAT", "DOUBLE", "FLOAT16", "BOOL", "INT8", "INT32", "INT64", "UINT16", "UINT32", "UINT64")


def typed(path):
    """Constants whose numbers lie in fields by dtype, as `make_tensor` writes them, and not in bytes."""
    kinds = [getattr(TensorProto, name) for name in TYPED]
    nodes = [
        helper.make_node("Constant", [], [f"t{kind}"], value=helper.make_tensor("t", kind, [3], [1, 0, 1]))
        for kind in kinds
    ]
    nodes.append(helper.make_node("Constant", [], ["floats"], value_floats=[1.5, -2.5]))
    zeros = helper.make_sparse_tensor(
        helper.make_tensor("v", 1, [2], [1.0, 2.0]), helper.make_tensor("i", 7, [2], [0, 3]), [4]
    )
    nodes.append(helper.make_node("Constant", [], ["sparse"], sparse_value=zeros))
    outputs = [onnx.ValueInfoProto(name=n.output[0]) for n in nodes]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [], outputs)), path)
