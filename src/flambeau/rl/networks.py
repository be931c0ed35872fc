"""Networks of many agents: each agent has weights of its own, and one batched product computes all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

from .. import nn
from ..core.modes import no_grad
from ..ops.linalg.decompose import linalg_qr
from ..tensor import Tensor
from .draws import AgentDraws


class AgentMLP(nn.Module):
    """Linear layers with an activation between them, for each of several agents.

    [agents, n, sizes[0]] -> [agents, n, sizes[-1]]
    """

    def __init__(
        self,
        agents: int,
        sizes: Sequence[int],
        *,
        activation: str = "tanh",
        last: float | None = None,
        draws: AgentDraws | None = None,
        device: Any = None,
    ):
        """sizes: the features of the input, of each hidden layer and of the output.

        activation: "tanh" or "relu". last: the gain of the last layer's weights, which are orthogonal, as the
        others with a gain of sqrt(2) (Huang et al., 2022); without it all are drawn as nn.Linear's.
        draws: the random numbers of the weights, by default those of `fb.manual_seed`.
        ValueError for another activation.
        """
        super().__init__()
        if activation not in ("tanh", "relu"):
            raise ValueError(f'AgentMLP(activation={activation!r}): unknown: use "tanh" or "relu"')
        self.activation = activation
        draws = AgentDraws(agents, device=device) if draws is None else draws
        weights: list[nn.Parameter] = []
        biases: list[nn.Parameter] = []
        with no_grad():
            for k, (rows, columns) in enumerate(pairwise(sizes)):
                if last is None:
                    bound = 1 / sqrt(rows)
                    w, b = (bound * (2 * draws.rand(n, columns) - 1) for n in (rows, 1))
                else:
                    w = _orthogonal(draws, rows, columns, last if k == len(sizes) - 2 else sqrt(2))
                    b = Tensor.zeros(agents, 1, columns, device=device)
                weights.append(nn.Parameter(w.realize()))
                biases.append(nn.Parameter(b.realize()))
        self.weights, self.biases = nn.ParameterList(weights), nn.ParameterList(biases)

    def forward(self, x: Tensor) -> Tensor:
        layers = list(zip(self.weights, self.biases, strict=True))
        for w, b in layers[:-1]:
            x = x @ w + b
            x = x.tanh() if self.activation == "tanh" else x.relu()
        w, b = layers[-1]
        return x @ w + b


def _orthogonal(draws: AgentDraws, rows: int, columns: int, gain: float) -> Tensor:
    """Weights [agents, rows, columns] whose shorter side's vectors are orthogonal and of length `gain`."""
    q, r = linalg_qr(draws.randn(max(rows, columns), min(rows, columns)))
    q = q * r.diagonal(0, -2, -1).sign().unsqueeze(-2)
    return gain * (q if rows >= columns else q.mT)
