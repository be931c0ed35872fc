"""A workload's name into its inputs, the same for every framework, and what NumPy makes of them."""

from math import erf, pi, sqrt
from typing import Any

import numpy as np
from peers.workload import MODELS, weight_shape

NAMES = (
    "mm512", "mm1024", "elt4m", "sum4m", "cnn_train_sgd", "cnn_train_adam", "mlp_train_adam", "cnn_infer_b1",
    "block_fwd",
)  # fmt: skip
WIDTH, HEADS, LENGTH, BATCH = 256, 4, 128, 4  # of the transformer block
Arrays = dict[str, np.ndarray]


def given(name: str) -> Arrays:
    """The inputs of a workload."""
    rng = np.random.default_rng(0)
    if name.startswith("mm"):
        n = int(name[2:])
        return {"a": normal(rng, n, n), "b": normal(rng, n, n)}
    if name in ("elt4m", "sum4m"):
        return {"x": normal(rng, 4 << 20)}
    if name == "block_fwd":
        return block(rng)
    found: Arrays = {}
    batch = 1 if name.endswith("b1") else 64
    for i, layer in enumerate(layers(name)):
        if shape := weight_shape(layer):
            bound = float(np.prod(shape[1:])) ** -0.5
            found[f"weight{i}"] = rng.uniform(-bound, bound, shape).astype(np.float32)
            found[f"bias{i}"] = rng.uniform(-bound, bound, layer.outputs).astype(np.float32)
    x = rng.random((batch, 1, 28, 28), np.float32)
    return found | {"x": x, "y": rng.integers(0, 10, batch).astype(np.int32)}


def layers(name: str) -> tuple:
    return MODELS["mlp" if name.startswith("mlp") else "mnist"]


def normal(rng: Any, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (rng.standard_normal(shape, np.float32) * np.float32(scale)).astype(np.float32)


def block(rng: Any) -> Arrays:
    c = WIDTH
    shapes = {"qkv": (3 * c, c), "out": (c, c), "up": (4 * c, c), "down": (c, 4 * c)}
    weights = {k: normal(rng, *s, scale=s[1] ** -0.5) for k, s in shapes.items()}
    return weights | {"x": normal(rng, BATCH, LENGTH, c)}


# --- what NumPy makes of them ---


def expected(name: str, g: Arrays) -> np.ndarray:
    """The result in float64: of training the first step's loss."""
    g = {k: v.astype(np.float64) if v.dtype.kind == "f" else v for k, v in g.items()}
    if name.startswith("mm"):
        return g["a"] @ g["b"]
    if name == "elt4m":
        return gelu(g["x"]) * 0.5 + g["x"] ** 2
    if name == "sum4m":
        return g["x"].sum()[None]
    if name == "block_fwd":
        return block_of(g)
    scores = network(layers(name), g)
    if name == "cnn_infer_b1":
        return scores
    top = scores - scores.max(1, keepdims=True)
    logs = top - np.log(np.exp(top).sum(1, keepdims=True))
    return -logs[np.arange(len(g["y"])), g["y"]].mean()[None]


def gelu(x: np.ndarray) -> np.ndarray:
    """By the older formula, as tinygrad's."""
    return 0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))


def exact_gelu(x: np.ndarray) -> np.ndarray:
    """By the error function, as onnxruntime's and ferrotensor's."""
    return 0.5 * x * (1 + np.vectorize(erf)(x / sqrt(2)))


def network(layers: tuple, g: Arrays) -> np.ndarray:
    x = g["x"]
    for i, layer in enumerate(layers):
        match layer.kind:
            case "conv":
                wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
                seen = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
                x = np.einsum("nchwij,ocij->nohw", seen, g[f"weight{i}"]) + g[f"bias{i}"][:, None, None]
            case "linear":
                x = x @ g[f"weight{i}"].T + g[f"bias{i}"]
            case "relu":
                x = np.maximum(x, 0)
            case "pool":
                n, c, h, w = x.shape
                x = x[:, :, : h // 2 * 2, : w // 2 * 2].reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))
            case "flatten":
                x = x.reshape(len(x), -1)
    return x


def norm(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def block_of(g: Arrays) -> np.ndarray:
    x = g["x"]
    b, t, c = x.shape
    rows = (norm(x) @ g["qkv"].T).reshape(b, t, 3, HEADS, c // HEADS).transpose(2, 0, 3, 1, 4)
    q, k, v = rows
    scores = q @ k.transpose(0, 1, 3, 2) / sqrt(c // HEADS)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    y = (p / p.sum(-1, keepdims=True)) @ v
    x = x + y.transpose(0, 2, 1, 3).reshape(b, t, c) @ g["out"].T
    return x + gelu(norm(x) @ g["up"].T) @ g["down"].T
