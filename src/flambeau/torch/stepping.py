"""Optimisers as in torch: `step()` reads `.grad` of the parameters, `zero_grad` clears it."""

# Methods that replace those of a class use its private attributes.
# pyright: reportPrivateUsage=false

import threading
from collections.abc import Callable, Iterable
from typing import Any

from ..autodiff.backward import Gradients
from ..core.modes import enable_grad, no_grad
from ..nn.module import Module
from ..optim.lbfgs import LBFGS
from ..optim.optimizer import Optimizer
from ..tensor import Tensor
from . import grad_slots
from .derivatives import take_losses
from .switch import add_patch, in_mode

plain_step, plain_lbfgs = Optimizer.step, LBFGS.step


class _Overflow(threading.local):
    """Whether the gradients of the step that a GradScaler makes overflowed: a tensor [], or None."""

    inf: Any = None


overflow = _Overflow()


def gather(parameters: Iterable[Tensor], loss: Any = None) -> Gradients:
    """The gradients of parameters in `.grad`, as `backward` returns them outside of torch mode."""
    pairs = ((p.node.param, grad_slots.read(p)) for p in parameters)
    # without a new set of siblings: the gradients of a pass are computed together already
    grads = Gradients({}, loss, overflow.inf)
    grads.by_key.update((key, g) for key, g in pairs if g is not None and key is not None)
    return grads


@in_mode(Optimizer)
def step(self: Optimizer, closure: Any = None) -> Any:
    """Update the parameters that have a gradient in `.grad`, in one run.

    closure: a function that clears the gradients, calls backward and returns the loss, which is returned.
    """
    if isinstance(closure, Gradients):
        return plain_step(self, closure)
    arguments = () if closure is None else (closure,)
    for hook in self._hooks_of("step_pre"):
        hook(self, arguments, {})
    loss = None
    if closure is not None:
        with enable_grad():
            loss = closure()
    grads = gather(self.params, loss if isinstance(loss, Tensor) else None)
    take_losses()
    if grads.by_key:
        self._step(grads)
    for hook in self._hooks_of("step_post"):
        hook(self, arguments, {})
    return loss


@in_mode(LBFGS, "step")
def _lbfgs_step(self: LBFGS, closure: Callable[[], Any]) -> Any:
    """Several evaluations of closure, which calls backward and returns the loss; returns its first loss."""

    def gradients() -> Gradients:
        loss = closure()
        return loss if isinstance(loss, Gradients) else gather(self.params, loss)

    return plain_lbfgs(self, gradients)


def clear(parameters: Iterable[Any], set_to_none: bool) -> None:
    """Clear `.grad` of parameters: None, or zeros in the same tensors."""
    for p in parameters:
        if set_to_none:
            grad_slots.write(p, None)
        elif (g := grad_slots.read(p)) is not None:
            with no_grad():
                g.detach_().zero_()


@in_mode(Optimizer)
def zero_grad(self: Optimizer, set_to_none: bool = True) -> None:
    """Set `.grad` of the parameters to None. set_to_none: False fills the gradients with zeros."""
    clear(self.params, set_to_none)


def _zero_grad_of_module(self: Module, set_to_none: bool = True) -> None:
    """Set `.grad` of the parameters to None. set_to_none: False fills the gradients with zeros."""
    clear(self.parameters(), set_to_none)


add_patch(Module, "zero_grad", _zero_grad_of_module)
