"""Muon: momentum steps of matrices, orthogonalised so that all singular values are near 1."""

from collections.abc import Callable, Iterable
from math import sqrt
from types import SimpleNamespace
from typing import Any

from ..core.node import describe
from ..ops.join import stack
from ..tensor import Tensor
from .groups import ParamGroup
from .optimizer import Optimizer, Params, State, Update

BATCHED = 1 << 23  # elements of matrices that are multiplied at once: larger ones fill a GPU alone

# by name: the factor of the rate of a matrix [n, m]
ADJUSTED: dict[str | None, Callable[[int, int], float]] = {
    "original": lambda n, m: sqrt(max(1, n / m)),
    "match_rms_adamw": lambda n, m: 0.2 * sqrt(max(n, m)),
}
ADJUSTED[None] = ADJUSTED["original"]


class Muon(Optimizer):
    """The momentum of a matrix's gradient with all its singular values brought near 1 (Jordan et al., 2024).

    For the matrices of hidden layers; use AdamW for other tensors and embeddings. `nesterov` looks ahead by
    the momentum. The momentum x is replaced
    `ns_steps` times by a x + (b x x^T + c (x x^T)^2) x, with a, b and c from `ns_coefficients`, in float32
    (PyTorch: bfloat16). `adjust_lr_fn` scales the rate by the sizes: "original", or "match_rms_adamw".
    ValueError for tensors that are not matrices.

    params: the tensors to update, such as model.parameters()
    lr: the learning rate
    weight_decay: each step also subtracts lr * weight_decay * p from p
    ns_coefficients: a, b and c of the Newton-Schulz iteration
    eps: a lower bound of the norm that a matrix is divided by
    ns_steps: the number of Newton-Schulz iterations
    adjust_lr_fn: how a matrix's sizes scale the rate: "original" (also None) or "match_rms_adamw"
    maximize: ascend the gradient instead of descending
    offload: keep the state in host memory; jit does not record such a step
    """

    names, counts = ("momentum_buffer",), {}

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
        *,
        maximize: bool = False,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum}
        options |= {"nesterov": nesterov, "ns_coefficients": ns_coefficients, "eps": eps}
        options |= {"ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn, "maximize": maximize}
        options |= {"offload": offload}
        super().__init__(params, options)

    def check(self, group: ParamGroup) -> None:
        """ValueError unless all parameters are matrices and adjust_lr_fn is known."""
        for p in group["params"]:
            if p.ndim != 2:
                raise ValueError(f"Muon([..., {describe(p)}]): takes matrices: use AdamW for the others")
        if group["adjust_lr_fn"] not in ADJUSTED:
            names = ", ".join(repr(n) for n in ADJUSTED if n)
            raise ValueError(f"Muon(adjust_lr_fn={group['adjust_lr_fn']!r}): unknown: use one of {names}")

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [n, m], [n, m] -> [n, m]"""
        (new,) = self.update_all([(p, g, s, o)])
        return new

    def update_all(self, updates: Iterable[Update]) -> Iterable[Tensor]:
        """The new values of matrices; those of equal shape are multiplied at once."""
        all_updates = list(updates)
        direction: dict[int, Tensor] = {}
        for batch in _batches(all_updates):
            o = all_updates[batch[0]][3]
            g = _stack([all_updates[i][1] for i in batch])
            # Computed again for the stack: reading the mean from a parameter's state would take a kernel of
            # its own.
            m = _mean(_stack([all_updates[i][2]["momentum_buffer"] for i in batch]), g, o)
            directions = orthogonal(g + (m - g) * o.momentum if o.nesterov else m, o)
            direction |= zip(batch, directions.unbind(0) if len(batch) > 1 else [directions], strict=True)
        return (self._apply(*all_updates[i], direction[i]) for i in range(len(all_updates)))

    def _apply(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace, direction: Tensor) -> Tensor:
        s["momentum_buffer"].assign_(_mean(s["momentum_buffer"], g, o))
        rate = o.lr * ADJUSTED[o.adjust_lr_fn](*p.shape)
        if o.weight_decay:
            p = p * (1 - o.lr * o.weight_decay)
        return p - direction * rate


def orthogonal(x: Tensor, o: SimpleNamespace) -> Tensor:
    """About U V^T of each x = U S V^T. [..., n, m] -> [..., n, m]"""
    # Newton-Schulz of degree 5: each singular value s becomes a s + b s^3 + c s^5. The default coefficients
    # are steep at 0, and converge only to about 0.7 to 1.2 (Jordan et al., 2024).
    a, b, c = o.ns_coefficients
    is_tall = x.shape[-2] > x.shape[-1]
    # The Frobenius norm bounds the largest singular value by 1.
    x = x / (x * x).sum((-2, -1), keepdim=True).sqrt().maximum(o.eps)
    for _ in range(o.ns_steps):
        square = x.mT @ x if is_tall else x @ x.mT  # of the shorter side
        # b A + c A^2, with A = x x^T or x^T x
        turned = square * b + square @ square * c
        x = x * a + (x @ turned if is_tall else turned @ x)
    return x


def _batches(updates: list[Update]) -> list[list[int]]:
    """The indices of updates that are computed at once: those of one group and shape, if they are small."""
    batches: list[list[int]] = []
    growing: dict[tuple[int, ...] | Any, list[int]] = {}
    for i, (p, _, _, o) in enumerate(updates):
        key = id(o), p.device, *p.shape  # options and rate are the group's, so batches stay within one
        if key not in growing or (len(growing[key]) + 1) * p.numel() > BATCHED:
            growing[key] = []
            batches.append(growing[key])
        growing[key].append(i)
    return batches


def _mean(m: Tensor, g: Tensor, o: SimpleNamespace) -> Tensor:
    return m + (g - m) * (1 - o.momentum)


def _stack(tensors: list[Tensor]) -> Tensor:
    """Stack matrices along a new dim; a single one is returned unchanged. [n, m] * k -> [k, n, m]"""
    return stack(tensors) if len(tensors) > 1 else tensors[0]
