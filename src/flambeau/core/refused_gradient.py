"""Gradients that are not implemented: a walk that needs one raises, so that no path of a loss is dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import TypeError
from . import op as _op
from .declare import stand_for
from .op import Op

if TYPE_CHECKING:
    from ..tensor import Tensor


class RefusedGradient:
    """The gradient of op `name` with respect to its argument `argument`. Any use of it raises TypeError."""

    def __init__(self, name: str, argument: str):
        self._place = name, argument

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        name, argument = self._place
        raise TypeError(f"backward: {name} has no gradient by {argument}: pass it {argument}.detach()")


def refused(name: str, argument: str) -> Tensor:
    """Return a `RefusedGradient`, typed as the tensor that a gradient rule returns in its place."""
    gradient: Any = RefusedGradient(name, argument)
    return gradient


def refuse_gradients(name: str, result: Tensor, **arguments: Tensor | None) -> Tensor:
    """Return `result` as a value that depends on the arguments, whose gradients are refused.

    Gradients of the tensors from which `result` was computed are unaffected.
    """
    tensors = {k: t.node for k, t in arguments.items() if t is not None and t.requires_grad}
    if not tensors:
        return result
    gradients = [refused(name, argument) for argument in tensors]

    def gradient(g: Tensor, *_: Tensor) -> list[Any]:
        return [g, *gradients]

    op = Op("composite", xp=_identity, grad=gradient, name=name)
    return _op.Tensor(stand_for(op, result.node, (result.node, *tensors.values()), {}))


def _identity(xp: Any, x: Any) -> Any:
    return x
