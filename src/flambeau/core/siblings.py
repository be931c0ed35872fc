"""Results that share most of their graph, such as gradients of one loss: computed in one run while held."""

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .node import Node
from .tree import is_tuple

if TYPE_CHECKING:
    from ..tensor import Tensor

MANY = 16  # results of an op: pieces of a long split are computed one by one


class Siblings:
    """Results of one call. It holds no tensor alive: a result that nobody holds is not computed.

    consumed: serials of members that a run computed on the way to other values, without storing them.
    """

    __slots__ = ("consumed", "tensors", "was_passed")

    def __init__(self, tensors: Iterable["Tensor"]):
        self.tensors = [weakref.ref(t) for t in tensors]
        self.was_passed = False  # a run has computed values from a part of the members
        self.consumed: set[int] = set()

    def missing(self) -> list[Node]:
        """The members without a value that somebody still holds."""
        held = [t.node for ref in self.tensors if (t := ref()) is not None]
        return [n for n in held if n.siblings is self and n.buffer is None]


def compute_together(tensors: Iterable[Any]) -> None:
    """When one of these tensors is read, compute all that still exist. Without it, reading n
    gradients of a chain of n layers one by one runs the chain n times."""
    waiting = [t for t in tensors if t is not None and t.node.buffer is None]
    if len(waiting) > 1:
        siblings = Siblings(waiting)
        for t in waiting:
            t.node.siblings = siblings


def group_outputs(outputs: Any) -> Any:
    """`compute_together` for the result of an op, if it is a short tuple of tensors; returns it."""
    if is_tuple(outputs) and 1 < len(outputs) <= MANY:
        compute_together(t for t in outputs if hasattr(t, "node"))
    return outputs
