"""The frequencies by which Llama and its kin turn queries and keys (RoPE; Su et al., 2021)."""

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
    """Slow waves slower by the factor, fast ones as they are, those between by both (Llama 3.1)."""
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]

    def scaled(f: float) -> float:
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
    """The angle a place of each pair of features, by what config.json says of rope_theta and rope_type.

    factors: by which each is divided in place of what rope_type "llama3" computes, as llama.cpp's files have
    it. ValueError for a rope_type that is unknown, or one without its numbers.
    """
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in SCALINGS:
        raise ValueError(f"rope_type {kind!r}: unknown: one of {', '.join(SCALINGS)}")
    formula, needs = SCALINGS[kind]
    if missing := [name for name in needs if not isinstance(rope.get(name), int | float)]:
        raise ValueError(f"rope_type {kind!r}: {', '.join(missing)} is missing: use a complete config.json")
    plain = [rope["rope_theta"] ** (-2 * i / features) for i in range(features // 2)]
    if factors is None:
        return formula(plain, rope)
    slowed = [f / factor for f, factor in zip(plain, factors, strict=True)]
    return slowed if kind == "llama3" else formula(slowed, rope)


class Rotation(nn.Module):
    """Turns pairs of features, one of each half, by place times frequency.

    features: of a head, an even number. rope: what config.json says.
    """

    inv_freq: Tensor
    keeps_dtype = frozenset({"inv_freq"})  # 16 bits of it turn place 4,000 by a quarter of a radian too far

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
        """Cosines and sines of places. [1 or b, n] -> [1 or b, 1, n, features / 2] twice"""
        angles = places.float().unsqueeze(-1) * self.inv_freq.float()
        return angles.cos().unsqueeze(1), angles.sin().unsqueeze(1)

    def forward(self, x: Tensor, angles: tuple[Tensor, Tensor]) -> Tensor:
        """[b, heads, n, features] -> the same, turned."""
        cos, sin = (t.to(x.dtype) for t in angles)
        return rotate_pairs(x, cos, sin)
