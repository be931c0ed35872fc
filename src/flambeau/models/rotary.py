"""Rotary position embeddings of Llama and related models (RoPE; Su et al., 2021)."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, pi
from typing import Any

from .. import nn
from ..core.node import describe
from ..nn.positions import rotate_pairs
from ..tensor import Tensor, tensor


def _linear(frequencies: list[float], rope: Mapping[str, Any]) -> list[float]:
    return [f / rope["factor"] for f in frequencies]


def _llama3(frequencies: list[float], rope: Mapping[str, Any]) -> list[float]:
    """Divide low frequencies by the factor, keep high ones, and interpolate between (Llama 3.1)."""
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]

    def scaled(f: float) -> float:
        # full rotations within the context length of the first training
        turns = rope["original_max_position_embeddings"] * f / (2 * pi)
        share = min(max((turns - low) / (high - low), 0.0), 1.0)
        return (1 - share) * f / rope["factor"] + share * f

    return [scaled(f) for f in frequencies]


Formula = Callable[[list[float], Mapping[str, Any]], list[float]]
SCALINGS: dict[str, tuple[Formula, tuple[str, ...]]] = {  # rope_type: the formula and the numbers it reads
    "default": (lambda frequencies, rope: frequencies, ()),
    "linear": (_linear, ("factor",)),
    "llama3": (
        _llama3,
        ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
    ),
}


def frequencies(
    features: int, rope: Mapping[str, Any], factors: Sequence[float] | None = None
) -> list[float]:
    """Return the angle per position of each pair of features, from rope_theta and rope_type of config.json.

    factors: divisors of the frequencies, as in llama.cpp's files, which replace the formula of rope_type
    "llama3". ValueError for an unknown rope_type, or one without its numbers.
    """
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in SCALINGS:
        raise ValueError(f"rope_type {kind!r}: unknown: one of {', '.join(SCALINGS)}")
    formula, needs = SCALINGS[kind]
    if missing := [name for name in needs if not isinstance(rope.get(name), int | float)]:
        raise ValueError(f"rope_type {kind!r}: {', '.join(missing)} is missing: use a complete config.json")
    # theta^(-2 i / features): pair 0 turns by 1 radian for each position, later pairs slower
    plain = [rope["rope_theta"] ** (-2 * i / features) for i in range(features // 2)]
    if factors is None:
        return formula(plain, rope)
    # llama.cpp has the result of the llama3 formula in its factors
    slowed = [f / factor for f, factor in zip(plain, factors, strict=True)]
    return slowed if kind == "llama3" else formula(slowed, rope)


class Rotation(nn.Module):
    """Rotates pairs of features, one of each half, by position times frequency.

    features: of a head, an even number. rope: the parameters in config.json.
    """

    inv_freq: Tensor
    # float32: in 16 bits the angle of position 4,000 would be off by a quarter of a radian
    keeps_dtype = frozenset({"inv_freq"})

    def __init__(self, features: int, rope: Mapping[str, Any]):
        if features % 2:
            raise ValueError(f"Rotation({features}): features come in pairs: pass an even number")
        self.features, self.rope = features, rope
        self.register_buffer("inv_freq", tensor(frequencies(features, rope)), persistent=False)

    def slow(self, factors: Any) -> None:
        """Divide the frequencies by a file's factors, [features / 2]. ValueError for others."""
        numbers = tensor(factors, device="cpu").flatten().tolist()
        if len(numbers) != self.features // 2 or not all(f > 0 and isfinite(f) for f in numbers):
            rule = f"{self.features // 2} numbers above 0 for heads of {self.features} features"
            raise ValueError(f"rope_freqs.weight of {describe(factors)}: takes {rule}: get a complete copy")
        own, slowed = self.inv_freq, frequencies(self.features, self.rope, numbers)
        own.assign_(tensor(slowed, dtype=own.dtype, device=own.device))

    def angles(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines for positions. [1 or b, n] -> [1 or b, 1, n, features / 2] twice"""
        # float32 even in a 16-bit model, see keeps_dtype
        angles = places.float().unsqueeze(-1) * self.inv_freq.float()
        return angles.cos().unsqueeze(1), angles.sin().unsqueeze(1)

    def forward(self, x: Tensor, angles: tuple[Tensor, Tensor]) -> Tensor:
        """[b, heads, n, features] -> the same, rotated."""
        cos, sin = (t.to(x.dtype) for t in angles)
        return rotate_pairs(x, cos, sin)
