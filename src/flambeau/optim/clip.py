"""Clips gradients by their norm or by the value of each element."""

from typing import Any

from ..autodiff.backward import Gradients
from ..core.modes import no_grad
from ..runtime.exchange import add_up, transfer
from ..tensor import Tensor


@no_grad()
def clip_grad_norm(grads: Gradients, max_norm: float) -> tuple[Gradients, Any]:
    """Scale all gradients by one number so that together they are at most max_norm long.

    Returns the new gradients and the length before, a tensor []. ValueError unless max_norm > 0.

    grads: what backward returned
    """
    _positive("clip_grad_norm", "max_norm", max_norm)
    if not len(grads):
        raise ValueError("clip_grad_norm(0 gradients): an empty list has no norm: check requires_grad")
    # in float32: squares of 16-bit gradients overflow
    squares: list[Tensor] = [g.float().square().sum() for g in grads]
    total = add_up(squares, squares[0].device).sqrt()
    # PyTorch's 1e-6, which keeps the divisor above 0 for gradients of zeros; a tensor, so nothing is read
    scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
    return grads.map(lambda g: g * transfer(scale, g.device)), total


@no_grad()
def clip_grad_value(grads: Gradients, value: float) -> Gradients:
    """New gradients whose elements are all clamped to [-value, value]. ValueError unless value > 0.

    grads: what backward returned
    """
    _positive("clip_grad_value", "value", value)
    return grads.map(lambda g: g.clamp(-value, value))


def _positive(call: str, name: str, value: float) -> None:
    if not value > 0:
        raise ValueError(f"{call}({name}={value}): must be above 0: pass another value")
