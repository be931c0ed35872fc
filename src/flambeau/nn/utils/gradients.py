"""In-place gradient clipping under PyTorch's names, for the result of `backward()`."""

from collections.abc import Iterable
from math import inf, isnan
from typing import Any

from ...autodiff.backward import Gradients
from ...core.modes import no_grad
from ...core.node import describe
from ...errors import TypeError, ValueError
from ...ops.join import stack
from ...runtime.exchange import transfer
from ...tensor import Tensor


def _as_list(call: str, tensors: Any) -> list[Tensor]:
    # one tensor is a list of one, as in PyTorch
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not listed:
        raise ValueError(f"{call}(0 gradients): an empty list has no norm: check requires_grad")
    return listed


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor] | Gradients, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """The p-norm (norm_type) of all tensors, or of all gradients, as one vector. -> []

    tensors: one, several, or what backward returned. error_if_nonfinite: ValueError if the norm is not
    finite, which reads it. ValueError if there are no tensors.
    """
    # The norm of norms is the norm of all elements; each in float32, since 16-bit squares overflow.
    norms = [
        x.float().abs().amax() if norm_type == inf else x.float().norm(norm_type)
        for x in _as_list("get_total_norm", tensors)
    ]
    all_norms = stack([transfer(n, norms[0].device) for n in norms])
    # [tensors]: the norm of each
    total = all_norms.amax() if norm_type == inf else all_norms.norm(norm_type)
    if error_if_nonfinite and (isnan(total.item()) or abs(total.item()) == inf):
        rule = "the norm is not finite: look for the first gradient that is not (fb.debug)"
        raise ValueError(f"get_total_norm({len(norms)} tensors, {norm_type}): {rule}")
    return total


def _container(call: str, grads: Any) -> Gradients:
    if not isinstance(grads, Gradients):
        is_many = hasattr(grads, "__iter__")
        text = f"{len(list(grads))} tensors" if is_many else describe(grads)
        rule = "pass the result of backward, since tensors have no .grad: grads = loss.backward()"
        raise TypeError(f"{call}({text}): {rule}")
    return grads


@no_grad()
def clip_grads_with_norm_(parameters: Gradients, max_norm: float, total_norm: Tensor) -> None:
    """Scale all gradients by one number so that their norm, which is total_norm, becomes at most max_norm.

    parameters: what backward returned. max_norm: the largest norm allowed. total_norm: the current norm.
    TypeError for tensors.
    """
    # PyTorch's 1e-6 against a norm of 0; the scale stays on the device, so nothing is read.
    scale = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
    # the scale is float32; a gradient keeps its dtype
    _container("clip_grads_with_norm_", parameters).map_(lambda g: g * transfer(scale, g.device).to(g.dtype))


def clip_grad_norm_(
    parameters: Gradients, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale all gradients by one number so that their total norm is at most max_norm; returns the norm
    before. -> []

    parameters: what backward returned. max_norm: the largest norm allowed. error_if_nonfinite: ValueError if
    the norm is not finite, which reads it. TypeError for tensors.
    norm_type: the power p of the norm
    """
    grads = _container("clip_grad_norm_", parameters)
    total = get_total_norm(grads, norm_type, error_if_nonfinite)
    clip_grads_with_norm_(grads, max_norm, total)
    return total


@no_grad()
def clip_grad_value_(parameters: Gradients, clip_value: float) -> None:
    """Clamp every element of the gradients to [-clip_value, clip_value].

    parameters: what backward returned. clip_value: the bound. TypeError for tensors.
    """
    _container("clip_grad_value_", parameters).map_(lambda g: g.clamp(-clip_value, clip_value))


clip_grad_norm = clip_grad_norm_
