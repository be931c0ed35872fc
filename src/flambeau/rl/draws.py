"""Random numbers of several agents: of one stream, or of a stream by the seed of each."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

from ..core import dtype as dt
from ..device import get_device
from ..ops.distribution import rand, randn
from ..ops.random import Generator, drawn_bits, uniform_of
from ..tensor import Tensor, tensor

WORD = 0xFFFFFFFF


class AgentDraws:
    """Random numbers [agents, ...].

    Without seeds they are of the stream of `fb.manual_seed`. With seeds, those of an agent depend on its seed
    and on its earlier draws only, not on the other agents: all agents take the same random words, and a
    permutation of the 2^32 words that its seed selects turns them into its own.
    """

    def __init__(self, agents: int, seeds: Sequence[int] | None = None, device: Any = None):
        """seeds: one for each agent, from 0 to 2^64 - 1."""
        self.agents, self.device = agents, get_device(device)
        self._keys: Tensor | None = None
        if seeds is not None:
            words = [word for seed in seeds for word in _key_of(seed)]
            self._keys = tensor(words, dtype=dt.uint32, device=device).reshape(agents, 2)
            self._common = Generator(0)

    @property
    def seeded(self) -> bool:
        """Whether each agent has a seed."""
        return self._keys is not None

    def rand(self, *shape: int) -> Tensor:
        """Uniform in [0, 1). -> [agents, *shape]"""
        if self._keys is None:
            return rand(self.agents, *shape, device=self.device)
        words = drawn_bits((1, *shape), self.device, self._common)
        for k in range(2):
            words = _scrambled(words ^ self._keys[:, k].reshape(-1, *(1 for _ in shape)))
        return uniform_of(words)

    def randn(self, *shape: int) -> Tensor:
        """Standard normal. -> [agents, *shape]"""
        if self._keys is None:
            return randn(self.agents, *shape, device=self.device)
        radius = ((-self.rand(*shape)).log1p() * -2).sqrt()
        return radius * (self.rand(*shape) * (2 * pi)).cos()


def _key_of(seed: int) -> tuple[int, int]:
    """Two words that differ in about half of their bits between neighbouring seeds (Steele et al., 2014)."""
    z = (seed + 1) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    z = (z ^ z >> 27) * 0x94D049BB133111EB & (1 << 64) - 1
    z ^= z >> 31
    return z & WORD, z >> 32


def _scrambled(words: Tensor) -> Tensor:
    """A permutation of the 2^32 words in which each bit depends on all others (Wellons, 2018)."""
    words = (words ^ (words >> 16)) * 0x7FEB352D
    words = (words ^ (words >> 15)) * 0x846CA68B
    return words ^ (words >> 16)
