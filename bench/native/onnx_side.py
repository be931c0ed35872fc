"""The inference workloads in onnxruntime's WebGPU provider, inputs and results on its device."""

import numpy as np
from _onnx import attribute, described, field, node, tensor
from peers.protocol import Unsupported

from native.given import BATCH, HEADS, LENGTH, WIDTH, Arrays

OPSET = 20  # Gelu


def start(name: str, g: Arrays):
    """(adapter's name, a call, what reads its result as a flat list); it ends with the read of its result."""
    import onnxruntime as ort

    if "train" in name:
        raise Unsupported("does not train")
    model, feeds = MODELS[name[:2] if name.startswith("mm") else name](g)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model, options, providers=["WebGpuExecutionProvider"])
    if "WebGpuExecutionProvider" not in session.get_providers():
        raise Unsupported("falls back to the CPU on this adapter")

    def call():
        return session.run(None, feeds)[-1]

    return "onnxruntime webgpu", call, lambda r: np.asarray(r).reshape(-1).tolist()


def model_of(
    nodes: list[bytes], weights: Arrays, inputs: Arrays, out: tuple[int, ...]
) -> tuple[bytes, Arrays]:
    graph = b"".join(field(1, n) for n in nodes) + field(2, "work")
    graph += b"".join(field(5, tensor(name, value)) for name, value in weights.items())
    graph += b"".join(field(11, described(name, value.shape)) for name, value in inputs.items())
    graph += field(12, described("y", out))
    return field(1, 9) + field(8, field(1, "") + field(2, OPSET)) + field(7, graph), inputs


def product(g: Arrays):
    n = len(g["a"])
    return model_of([node("MatMul", ["a", "b"], "y")], {"b": g["b"]}, {"a": g["a"]}, (n, n))


def elementwise(g: Arrays):
    nodes = [
        node("Gelu", ["x"], "a"), node("Mul", ["a", "half"], "b"), node("Mul", ["x", "x"], "c"),
        node("Add", ["b", "c"], "y"),
    ]  # fmt: skip
    return model_of(nodes, {"half": np.float32([0.5])}, {"x": g["x"]}, g["x"].shape)


def total(g: Arrays):
    return model_of([node("ReduceSum", ["x"], "y", keepdims=0)], {}, {"x": g["x"]}, ())


def digits(g: Arrays):
    pool, same = {"kernel_shape": [2, 2], "strides": [2, 2]}, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes, at = [], "x"
    for i, (op, extra) in {
        0: ("Conv", same), 1: ("Relu", {}), 2: ("Conv", same), 3: ("Relu", {}), 4: ("MaxPool", pool),
        5: ("Conv", same), 6: ("Relu", {}), 7: ("MaxPool", pool), 8: ("Flatten", {"axis": 1}),
        9: ("Gemm", {"transB": 1}), 10: ("Relu", {}), 11: ("Gemm", {"transB": 1}),
    }.items():  # fmt: skip
        reads = [at, f"weight{i}", f"bias{i}"] if f"weight{i}" in g else [at]
        at = "y" if i == 11 else f"t{i}"
        nodes.append(node(op, reads, at, **extra))
    weights = {k: v for k, v in g.items() if k not in ("x", "y")}
    return model_of(nodes, weights, {"x": g["x"]}, (1, 10))


def block(g: Arrays):
    """A transformer block of plain nodes; [b, t, c] -> [b, t, c]"""
    size = WIDTH // HEADS
    weights: Arrays = {k: np.ascontiguousarray(g[k].T) for k in ("out", "up", "down")}
    weights |= {n: np.ascontiguousarray(g["qkv"][i * WIDTH : (i + 1) * WIDTH].T) for i, n in enumerate("qkv")}
    weights |= {"one": np.ones(WIDTH, np.float32), "scale": np.float32([size**-0.5])}
    shapes = {"split": [BATCH, LENGTH, HEADS, size], "whole": [BATCH, LENGTH, WIDTH]}
    nodes = [constant(name, value) for name, value in shapes.items()]
    nodes.append(node("LayerNormalization", ["x", "one"], "n1"))
    for n, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [
            node("MatMul", ["n1", n], f"{n}1"), node("Reshape", [f"{n}1", "split"], f"{n}2"),
            node("Transpose", [f"{n}2"], f"{n}3", perm=perm),
        ]  # fmt: skip
    nodes += [
        node("MatMul", ["q3", "k3"], "s1"), node("Mul", ["s1", "scale"], "s2"), node("Softmax", ["s2"], "p"),
        node("MatMul", ["p", "v3"], "a1"), node("Transpose", ["a1"], "a2", perm=[0, 2, 1, 3]),
        node("Reshape", ["a2", "whole"], "a3"), node("MatMul", ["a3", "out"], "a4"),
        node("Add", ["x", "a4"], "r"),
        node("LayerNormalization", ["r", "one"], "n2"), node("MatMul", ["n2", "up"], "u1"),
        node("Gelu", ["u1"], "u2"), node("MatMul", ["u2", "down"], "u3"), node("Add", ["r", "u3"], "y"),
    ]  # fmt: skip
    return model_of(nodes, weights, {"x": g["x"]}, (BATCH, LENGTH, WIDTH))


def constant(name: str, value: list[int]) -> bytes:
    """A node that holds 64-bit integers."""
    return field(2, name) + field(4, "Constant") + field(5, attribute("value_ints", value))


MODELS = {"mm": product, "elt4m": elementwise, "sum4m": total, "cnn_infer_b1": digits, "block_fwd": block}
