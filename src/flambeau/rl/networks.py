"""Networks of many agents: each agent has weights of its own, and one batched product computes all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

from .. import nn
from ..ops.distribution import rand, randn
from ..tensor import Tensor, tensor


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
        device: Any = None,
    ):
        """sizes: the features of the input, of each hidden layer and of the output.

        activation: "tanh" or "relu". last: the gain of the last layer's weights, which are orthogonal, as the
        others with a gain of sqrt(2) (Huang et al., 2022); without it all are drawn as nn.Linear's.
        ValueError for another activation.
        """
        super().__init__()
        if activation not in ("tanh", "relu"):
            raise ValueError(f'AgentMLP(activation={activation!r}): unknown: use "tanh" or "relu"')
        self.activation = activation
        weights: list[nn.Parameter] = []
        biases: list[nn.Parameter] = []
        for k, (rows, columns) in enumerate(pairwise(sizes)):
            if last is None:
                bound = 1 / sqrt(rows)
                w, b = (
                    bound * (2 * uniform - 1)
                    for uniform in (_uniform(agents, rows, columns), _uniform(agents, 1, columns))
                )
            else:
                w = _orthogonal(agents, rows, columns, last if k == len(sizes) - 2 else sqrt(2))
                b = np.zeros((agents, 1, columns), "f4")
            weights.append(nn.Parameter(tensor(w.astype("f4"), device=device)))
            biases.append(nn.Parameter(tensor(b.astype("f4"), device=device)))
        self.weights, self.biases = nn.ParameterList(weights), nn.ParameterList(biases)

    def forward(self, x: Tensor) -> Tensor:
        layers = list(zip(self.weights, self.biases, strict=True))
        for w, b in layers[:-1]:
            x = x @ w + b
            x = x.tanh() if self.activation == "tanh" else x.relu()
        w, b = layers[-1]
        return x @ w + b


def _uniform(*shape: int) -> np.ndarray[Any, Any]:
    return rand(*shape, device="cpu").numpy()


def _orthogonal(agents: int, rows: int, columns: int, gain: float) -> np.ndarray[Any, Any]:
    """Weights [agents, rows, columns] whose shorter side's vectors are orthogonal and of length `gain`."""
    tall = randn(agents, max(rows, columns), min(rows, columns), device="cpu").numpy()
    q, r = np.linalg.qr(tall)
    q = q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[:, None, :]
    return gain * (q if rows >= columns else q.swapaxes(-2, -1))
