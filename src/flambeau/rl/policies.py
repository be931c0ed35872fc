"""Policies of PPO: what an actor's outputs say about actions of a Discrete space or a Box."""

from __future__ import annotations

from math import log, pi
from typing import Any

from .. import nn
from ..core import dtype as dt
from ..tensor import Tensor
from .draws import AgentDraws
from .environment import Box


class DiscretePolicy(nn.Module):
    """The actions of a Discrete space, by the logits that an actor returns."""

    def sample(self, logits: Tensor, draws: AgentDraws) -> Tensor:
        """[agents, n, actions] -> [agents, n]"""
        uniform = draws.rand(*logits.shape[1:])
        return (logits - (-(uniform + 1e-20).log()).log()).argmax(-1)  # by Gumbel's noise

    def best(self, logits: Tensor) -> Tensor:
        return logits.argmax(-1)

    def log_prob(self, logits: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities of actions [agents, n, 1], and entropies. -> [agents, n] both"""
        logs = logits.log_softmax(-1)
        return logs.gather(-1, action.to(dt.int32))[..., 0], -(logs.exp() * logs).sum(-1)


class GaussianPolicy(nn.Module):
    """The actions of a Box: normal, around what an actor returns, with a learned spread."""

    def __init__(self, agents: int, space: Box, device: Any):
        super().__init__()
        self.middle, self.reach = (space.high + space.low) / 2, (space.high - space.low) / 2
        self.log_std = nn.Parameter(Tensor.zeros(agents, 1, space.size, device=device))

    def sample(self, mean: Tensor, draws: AgentDraws) -> Tensor:
        """[agents, n, size] -> [agents, n, size]"""
        return mean + self.log_std.exp() * draws.randn(*mean.shape[1:])

    def best(self, mean: Tensor) -> Tensor:
        return mean

    def log_prob(self, mean: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        scaled = (action - mean) / self.log_std.exp()
        logp = (-0.5 * scaled.square() - self.log_std - 0.5 * log(2 * pi)).sum(-1)
        entropy = (0.5 + 0.5 * log(2 * pi) + self.log_std).sum(-1)
        return logp, entropy.expand(logp.shape)
