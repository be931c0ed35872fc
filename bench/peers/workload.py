"""Turns a model's name into the layers, first weights and batch that all contestants train on."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

LEARNING_RATE = 1e-3
SIDE = 28  # pixels of a digit's edge


class Layer(NamedTuple):
    """One layer: `kind` is conv, linear, relu, pool (2x2 maximum) or flatten; sizes it lacks are 0."""

    kind: str
    inputs: int = 0
    outputs: int = 0
    kernel: int = 0
    padding: int = 0


RELU, POOL, FLATTEN = Layer("relu"), Layer("pool"), Layer("flatten")
MODELS = {
    "mnist": (
        Layer("conv", 1, 32, 3, 1), RELU,
        Layer("conv", 32, 32, 3, 1), RELU, POOL,
        Layer("conv", 32, 64, 3, 1), RELU, POOL,
        FLATTEN, Layer("linear", 3136, 128), RELU,
        Layer("linear", 128, 10),
    ),
    "small": (
        Layer("conv", 1, 8, 5), RELU, POOL,
        Layer("conv", 8, 16, 5), RELU, POOL,
        FLATTEN, Layer("linear", 256, 10),
    ),
    "mlp": (FLATTEN, Layer("linear", 784, 128), RELU, Layer("linear", 128, 10)),
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """What a contestant trains: layers, (weight, bias) of each layer that has them, and one batch."""

    layers: tuple[Layer, ...]
    weights: list[tuple[np.ndarray, np.ndarray]]  # [out, in, k, k] or [out, in], and [out]: torch's layouts
    images: np.ndarray  # f32 [batch, 1, 28, 28] in 0..1
    labels: np.ndarray  # i32 [batch] in 0..9


def weight_shape(layer: Layer) -> tuple[int, ...]:
    """The shape of a layer's weight in torch's layout; empty for a layer without weights."""
    shapes = {
        "conv": (layer.outputs, layer.inputs, layer.kernel, layer.kernel),
        "linear": (layer.outputs, layer.inputs),
    }
    return shapes.get(layer.kind, ())


def write(path: Path, model: str, batch: int, seed: int) -> None:
    """Writes first weights (uniform within 1/sqrt(fan in), as torch draws them) and a batch of noise."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, np.ndarray] = {
        "images": rng.integers(0, 256, (batch, 1, SIDE, SIDE), np.uint8),
        "labels": rng.integers(0, 10, batch, np.int32),
    }
    for i, layer in enumerate(MODELS[model]):
        if shape := weight_shape(layer):
            bound = float(np.prod(shape[1:])) ** -0.5
            arrays[f"weight{i}"] = rng.uniform(-bound, bound, shape).astype(np.float32)
            arrays[f"bias{i}"] = rng.uniform(-bound, bound, layer.outputs).astype(np.float32)
    np.savez(path, **arrays)


def read(path: Path, model: str) -> Task:
    """Reads what `write` wrote; the images come back as f32 in 0..1."""
    with np.load(path) as file:
        numbers = [i for i, layer in enumerate(MODELS[model]) if weight_shape(layer)]
        weights = [(file[f"weight{i}"], file[f"bias{i}"]) for i in numbers]
        images = file["images"].astype(np.float32) / np.float32(255)
        return Task(MODELS[model], weights, images, file["labels"])


def gflop_per_step(model: str, batch: int) -> float:
    """10^9 operations (+ and *) of a step's convolutions and matrix products, forward and backward."""
    total, side = 0, SIDE
    for layer in MODELS[model]:
        if layer.kind == "conv":
            side += 2 * layer.padding - layer.kernel + 1
        if layer.kind == "pool":
            side //= 2
        if shape := weight_shape(layer):
            outputs = side * side if layer.kind == "conv" else 1
            # forward, weight gradient and, but for the images, input gradient are one product each
            products = 3 if total else 2
            total += 2 * products * batch * outputs * int(np.prod(shape))
    return total / 1e9
