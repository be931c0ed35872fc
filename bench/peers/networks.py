"""Turns a network of `bench/training.py` into a file with its first weights and its batch, and back."""

from pathlib import Path
from typing import NamedTuple

import numpy as np


class Given(NamedTuple):
    """What a contestant trains: one of the networks `lstm`, `cnn` and `gpt`, and one batch."""

    network: str
    heads: int  # of a GPT
    x: np.ndarray  # f32 [t, b, features], f32 [b, 1, 28, 28], i32 [b, t]
    y: np.ndarray  # i32 [b], of a GPT [b, t]
    adapter: str  # whom it is compared with runs there
    weights: dict[str, np.ndarray]  # by torch's names, in torch's layouts


def write(path: Path, given: Given) -> None:
    """Writes all but the network's name."""
    np.savez(path, x=given.x, y=given.y, heads=given.heads, adapter=given.adapter, **given.weights)


def read(path: Path, network: str) -> Given:
    """Reads what `write` wrote."""
    with np.load(path) as file:
        arrays = dict(file)
    heads, adapter = int(arrays.pop("heads")), str(arrays.pop("adapter"))
    return Given(network, heads, arrays.pop("x"), arrays.pop("y"), adapter, arrays)
