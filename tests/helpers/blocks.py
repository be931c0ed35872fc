"""Quantised blocks with random bits and scales of every size, subnormal ones too."""

import numpy as np

from flambeau.core.block_formats import FORMATS
from flambeau.io import BlockWeight
from flambeau.io.gguf_blocks import BLOCKS

HALVES = {  # the float16 numbers of a block, by their bytes; [0] of those that are not named
    "q4_1": (0, 2),
    "q5_1": (0, 2),
    "q4_k": (0, 2),
    "q5_k": (0, 2),
    "q6_k": (208,),
}


def block_weight(form: str, n: int, k: int, seed: int = 0, spread: bool = False) -> BlockWeight:
    """A matrix of a format of core/block_formats. spread: scales from 1e-7 to 10, else about 0.1."""
    rng, of = np.random.default_rng(seed), FORMATS[form]
    blocks = rng.integers(0, 256, (n * k // of.elements, of.size), dtype=np.uint8)
    for at in HALVES.get(form, (0,)):
        scale = rng.standard_normal(len(blocks)) * (
            10.0 ** rng.uniform(-7, 1, len(blocks)) if spread else 0.1
        )
        blocks[:, at : at + 2] = scale.astype("f2").reshape(-1, 1).view("u1")
    return BlockWeight(BLOCKS[form.upper()], blocks.reshape(n, -1))
