"""torch.nn.utils.clip_grad_norm_ and the like: of parameters, whose `.grad` they change."""

from collections.abc import Iterable
from typing import Any

from ..core.modes import no_grad
from ..nn.utils import gradients
from ..tensor import Tensor, tensor
from . import grad_slots

Parameters = Tensor | Iterable[Tensor]


def _gradients(parameters: Any) -> list[Any]:
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [g for p in listed if (g := grad_slots.read(p)) is not None]


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The p-norm (norm_type) of all tensors as one vector. -> []

    error_if_nonfinite: ValueError if it is not finite. foreach: accepted and ignored.
    """
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    return gradients.get_total_norm(listed, norm_type, error_if_nonfinite) if listed else tensor(0.0)


@no_grad()
def clip_grads_with_norm_(
    parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale `.grad` of parameters so that their norm, which is total_norm, becomes at most max_norm.

    foreach: accepted and ignored.
    """
    scale = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
    for g in _gradients(parameters):
        g.mul_(scale.to(g.device).to(g.dtype))


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale `.grad` of parameters by one number so that their total norm is at most max_norm; returns the
    norm before. -> []

    parameters: one tensor or several. norm_type: the power p of the norm. error_if_nonfinite: ValueError if
    the norm is not finite. foreach: accepted and ignored.
    """
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(listed, max_norm, total)
    return total


clip_grad_norm = clip_grad_norm_


@no_grad()
def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of `.grad` of parameters to [-clip_value, clip_value].

    foreach: accepted and ignored.
    """
    for g in _gradients(parameters):
        g.clamp_(-float(clip_value), float(clip_value))
