"""torch.autograd's names: gradients with respect to any tensors, and functions with custom gradients."""

from collections.abc import Callable, Sequence
from typing import Any

from ..autodiff.backward import Gradients, backward, first_gradient, known_by, walk
from ..core.declare import stand_for
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
from ..core.op import Op
from ..core.siblings import compute_together
from ..core.tree import is_sequence, is_tuple
from ..errors import ValueError, suggest
from ..func import vmap
from ..tensor import Tensor
from . import functional
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
    ends = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    by = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if grad_outputs is None:
        starting: list[Any] = [None] * len(ends)
    else:
        starting = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    call = f"grad({describe(ends)}, {describe(by)})"
    if len(starting) != len(ends):
        raise ValueError(
            f"{call}: {len(ends)} outputs but {len(starting)} grad_outputs: pass one for each output"
        )
    for t in [*ends, *by]:
        if not t.requires_grad:
            raise ValueError(f"{call}: {describe(t)} has requires_grad=False: call requires_grad_() first")

    def gradients_from(*starts: Any) -> tuple[Any, ...]:
        pairs = [(y.node, first_gradient("grad", y, g)) for y, g in zip(ends, starts, strict=True)]
        by_node = walk(pairs, [x.node for x in by], create_graph)
        each = [(x, by_node.get(known_by(x.node))) for x in by]
        return tuple(_gradient_or_none(x, g, call, allow_unused, materialize_grads) for x, g in each)

    # the backward passes of a batch are one pass of vmap over the starting gradients
    dims = tuple(None if g is None else 0 for g in starting)
    gradients = vmap(gradients_from, dims)(*starting) if is_grads_batched else gradients_from(*starting)
    # as in backward: the graph is kept for another pass only on request
    if not (create_graph if retain_graph is None else retain_graph):
        for y in ends:
            y.node.released = True
    compute_together([*gradients, *ends])  # reading one gradient computes all in one run
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


class Context:
    """Passes data from a Function's forward to its backward: saved tensors, and any attributes."""

    def __init__(self, needs_input_grad: tuple[bool, ...]):
        # whether each argument of apply requires a gradient: backward may skip the others
        self.needs_input_grad = needs_input_grad
        self._saved: tuple[Any, ...] = ()
        self.results: dict[int, Tensor] = {}  # id of a tensor that forward returned -> the caller's tensor
        self.constant: set[int] = set()  # ids of outputs without gradients
        self.materialize = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs and outputs for backward, in saved_tensors."""
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        # Results that forward saved become the caller's tensors, so that backward can be differentiated.
        return tuple(self.results.get(id(t), t) for t in self._saved)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare outputs through which no gradient flows."""
        self.constant |= {id(t) for t in tensors}

    def set_materialize_grads(self, value: bool) -> None:
        """With False, backward gets None instead of zeros for an unused output."""
        self.materialize = value


class Function:
    """An operation with a custom gradient: subclass it, define forward and backward, call `apply`.

    `forward(ctx, *args)` computes with tensor operations; `backward(ctx, *grads)` returns a gradient (or
    None) for each argument. It is differentiable again when backward is made of tensor operations on
    ctx.saved_tensors. As in PyTorch, forward may omit ctx if the class has a setup_context(ctx, inputs,
    output).
    """

    setup_context: Any = None

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the operation."""
        raise NotImplementedError("Function.forward: is not implemented: define it as a staticmethod")

    @staticmethod
    def backward(ctx: Any, *grads: Any, **kwargs: Any) -> Any:
        """Compute the gradient of each argument from the gradient of each output."""
        raise NotImplementedError("Function.backward: is not implemented: define it as a staticmethod")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Call the operation."""
        ctx = Context(tuple(isinstance(a, Tensor) and a.requires_grad for a in args))
        with no_grad():  # forward's own operations have no gradients: backward stands for all of them
            if cls.setup_context is None:
                out = cls.forward(ctx, *args)
            else:
                out = cls.forward(*args)
                cls.setup_context(ctx, args, out)
        outs = out if is_tuple(out) else (out,)
        results = tuple(_result(cls, ctx, args, outs, i) for i in range(len(outs)))
        ctx.results = {id(a): b for a, b in zip(outs, results, strict=True) if isinstance(a, Tensor)}
        return results if isinstance(out, tuple) else results[0]


def _result(cls: type[Function], ctx: Context, args: tuple[Any, ...], outs: tuple[Any, ...], i: int) -> Any:
    """Make output i a node whose gradient calls backward, without gradients for the other outputs."""
    out = outs[i]
    if not isinstance(out, Tensor) or id(out) in ctx.constant:
        return out
    tensors = [a for a in args if isinstance(a, Tensor)]

    # Each output has its own node, so backward is called once for each that the loss depends on.
    def gradient(g: Any, y: Any, *_: Any) -> list[Any]:
        empty = [_no_gradient(ctx, o) for o in outs]
        empty[i] = g
        parts = cls.backward(ctx, *empty)
        parts = parts if is_sequence(parts) else (parts,)
        if len(parts) > len(args) and all(p is None for p in parts[len(args) :]):  # of default arguments
            parts = parts[: len(args)]
        if len(parts) != len(args):
            rule = f"backward returned {len(parts)} gradients for {len(args)} arguments: return one for each"
            raise ValueError(f"{cls.__name__}: {rule}, with None for inputs without a gradient")
        return [p for p, a in zip(parts, args, strict=True) if isinstance(a, Tensor)]

    return Tensor(stand_for(_op_of(cls, gradient), out.node, tuple(t.node for t in tensors), {}))


def _op_of(cls: type, gradient: Callable[..., Any]) -> Op:
    # a composite: kernels compute forward's operations, and the op itself only has the gradient rule
    def identity(xp: Any, x: Any) -> Any:
        return x

    return Op("composite", xp=identity, grad=gradient, doc=cls.__doc__ or "", name=cls.__name__)


def _no_gradient(ctx: Context, out: Any) -> Any:
    if not ctx.materialize or not isinstance(out, Tensor):
        return None
    # zeros by default, as in PyTorch, so that backward need not handle None
    return Tensor.zeros(out.shape, dtype=out.dtype, device=out.device)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"flambeau.autograd has no {name!r}{suggest(name, __all__)}")
