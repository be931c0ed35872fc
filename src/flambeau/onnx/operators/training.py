"""Steps of optimisers as operators (ai.onnx.preview.training), and Gradient."""

from collections.abc import Callable
from typing import Any

from ...functions import where
from ...tensor import Tensor
from .table import operator

DOMAIN = "ai.onnx.preview.training"


def _columns(tensors: tuple[Tensor, ...], rows: int) -> list[tuple[Tensor, ...]]:
    """All weights, then all gradients, ...: what belongs together."""
    if len(tensors) % rows:
        raise ValueError(f"takes {rows} tensors a weight: got {len(tensors)}")
    n = len(tensors) // rows
    return [tensors[k::n] for k in range(n)]


def _stepped(tensors: tuple[Tensor, ...], rows: int, step: Callable[..., tuple]) -> tuple[Tensor, ...]:
    """Every weight's step; all new weights come first."""
    made = [step(*column) for column in _columns(tensors, rows)]
    return tuple(v for row in zip(*made, strict=True) for v in row)


@operator("Adagrad", domain=DOMAIN)
def adagrad(
    rate: Tensor,
    t: Tensor,
    *tensors: Tensor,
    decay_factor: float = 0.0,
    epsilon: float = 0.0,
    norm_coefficient: float = 0.0,
) -> tuple[Tensor, ...]:
    """Weights and sums of squared gradients, after a step (Duchi et al., 2011)."""
    rate = rate / (t.to(rate.dtype) * decay_factor + 1)

    def step(x: Tensor, g: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        g = g + x * norm_coefficient
        h = h + g * g
        return x - rate * g / (h.sqrt() + epsilon), h

    return _stepped(tensors, 3, step)


@operator("Adam", domain=DOMAIN)
def adam(
    rate: Tensor, t: Tensor, *tensors: Tensor, alpha: float = 0.9, beta: float = 0.999, **more: float
) -> tuple:
    """Weights and both moments, after a step (Kingma and Ba, 2015)."""
    unknown = sorted(more.keys() - {"epsilon", "norm_coefficient", "norm_coefficient_post"})
    if unknown:
        raise TypeError(f"has no attribute {unknown[0]!r}")
    epsilon, decay, after = (
        more.get(k, 0.0) for k in ("epsilon", "norm_coefficient", "norm_coefficient_post")
    )
    steps = t.to(rate.dtype)
    corrected = rate * (1 - beta**steps).sqrt() / (1 - alpha**steps)
    rate = where(t > 0, corrected, rate)

    def step(x: Tensor, g: Tensor, v: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        g = g + x * decay
        v, h = v * alpha + g * (1 - alpha), h * beta + g * g * (1 - beta)
        return (x - rate * v / (h.sqrt() + epsilon)) * (1 - after), v, h

    return _stepped(tensors, 4, step)


@operator("Momentum", domain=DOMAIN)
def momentum(
    rate: Tensor, t: Tensor, *tensors: Tensor, alpha: float, beta: float, **more: Any
) -> tuple[Tensor, ...]:
    """Weights and momenta, after a step; mode "nesterov" looks ahead (Nesterov, 1983)."""
    mode, decay = more.get("mode", "standard"), more.get("norm_coefficient", 0.0)
    if mode not in ("standard", "nesterov"):
        raise ValueError(f"mode {mode!r} is unknown: use standard or nesterov")
    beta_of_step = where(t > 0, beta, 1.0)

    def step(x: Tensor, g: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        g = g + x * decay
        v = v * alpha + g * beta_of_step
        return x - rate * (g + v * alpha if mode == "nesterov" else v), v

    return _stepped(tensors, 3, step)
