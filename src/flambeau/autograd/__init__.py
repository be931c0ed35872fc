"""torch.autograd's names: gradients with respect to any tensors, and functions with custom gradients."""

from collections.abc import Sequence
from typing import Any

from ..autodiff.backward import Gradients, backward, first_gradient, known_by, walk
from ..core.modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_anomaly_enabled,
    is_grad_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)
from ..core.node import describe
from ..core.siblings import compute_together
from ..errors import ValueError, suggest
from ..func import vmap
from ..tensor import Tensor
from . import functional
from .function import Function
from .gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "Function",
    "GradcheckError",
    "Gradients",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """Compute the sum of the outputs' gradients with respect to each of `inputs`, any tensors of the graph.

    grad_outputs: the gradient of each output (None: 1, for a single number). is_grads_batched: each of these
    has an additional first dim, and so have the results: several backward passes in one. An input that no
    output depends on raises ValueError; it gives None with allow_unused, zeros with materialize_grads.
    retain_graph: keep the graph for another backward
    create_graph: gradients can be differentiated themselves
    """
    roots = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    by = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if grad_outputs is None:
        starting: list[Any] = [None] * len(roots)
    else:
        starting = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    call = f"grad({describe(roots)}, {describe(by)})"
    if len(starting) != len(roots):
        raise ValueError(
            f"{call}: {len(roots)} outputs but {len(starting)} grad_outputs: pass one for each output"
        )
    for t in [*roots, *by]:
        if not t.requires_grad:
            raise ValueError(f"{call}: {describe(t)} has requires_grad=False: call requires_grad_() first")

    def gradients_from(*starts: Any) -> tuple[Any, ...]:
        pairs = [(y.node, first_gradient("grad", y, g)) for y, g in zip(roots, starts, strict=True)]
        by_node = walk(pairs, [x.node for x in by], create_graph)
        each = [(x, by_node.get(known_by(x.node))) for x in by]
        return tuple(_gradient_or_none(x, g, call, allow_unused, materialize_grads) for x, g in each)

    # the backward passes of a batch are one pass of vmap over the starting gradients
    dims = tuple(None if g is None else 0 for g in starting)
    gradients = vmap(gradients_from, dims)(*starting) if is_grads_batched else gradients_from(*starting)
    # as in backward: the graph is kept for another pass only on request
    if not (create_graph if retain_graph is None else retain_graph):
        for y in roots:
            y.node.released = True
    compute_together([*gradients, *roots])  # reading one gradient computes all in one run
    return gradients


def _gradient_or_none(
    x: Tensor, g: Any, call: str, allow_unused: bool | None, materialize_grads: bool
) -> Any:
    if g is not None:
        return g
    if materialize_grads:
        return Tensor.zeros(x.shape, dtype=x.dtype, device=x.device)
    if allow_unused:
        return None
    raise ValueError(f"{call}: no output depends on {describe(x)}: pass allow_unused=True to get None")


def __getattr__(name: str) -> Any:
    raise AttributeError(f"flambeau.autograd has no {name!r}{suggest(name, __all__)}")
