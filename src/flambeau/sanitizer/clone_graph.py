"""A graph into copies of it: for a device, some of whose values are given; for NumPy in float64, with
bounds."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.node import Node, describe, inputs_first
from ..core.op import OPS
from ..device import get_device
from ..device.cpu import Array
from ..differences import of_largest
from ..selftest.bounds import Known, evaluate

AS_STORED = ("leaf", "movement", "source", "composite")  # kinds without a value of their own


def has_value(node: Node) -> bool:
    """Whether an op computes something that is compared."""
    return node.op.kind not in AS_STORED and node.buffer is None


def op_name_of(node: Node) -> str:
    """What an op is called where it is told of."""
    return str(node.attrs.get("label") or node.op.name).lstrip("_")


def call_of(node: Node) -> str:
    """An op and what it was given: `matmul(f32[2, 3], f32[3, 4])`."""
    return f"{op_name_of(node)}({', '.join(map(describe, node.inputs))})"


def leaf(node: Node, buffer: Any) -> Node:
    """A node like another, whose value is there."""
    copy = Node(OPS["buffer"], (), {}, node.shape, node.dtype, node.device)
    copy.buffer, copy.serial = buffer, node.serial  # evaluators go by serial numbers
    return copy


def copied(node: Node, substitute: Callable[[Node], Node | None], through: bool = False) -> Node:
    """A copy of a node's op, down to what `given` has: it is asked for all that stands below. through: values
    that are there are made again of what they were made of, where that is known."""
    copies: dict[Node, Node] = {}

    def below(n: Node) -> tuple[Node, ...]:
        known = substitute(n) if n is not node else None
        if known is None and n.buffer is not None and not (n.inputs and (through or n is node)):
            known = n
        if known is None:
            return n.inputs
        copies[n] = known
        return ()

    for n in inputs_first([node], below):
        if n not in copies:
            copies[n] = n.copied(tuple(copies[i] for i in n.inputs), ())
    return copies[node]


def reference(node: Node, values: Callable[[Node], Any], through: bool = False) -> Known:
    """A node's value by NumPy in float64 and how far a device may be from it, made of values (arrays, or
    None where there is none). through: as in `copied`."""

    def substitute(n: Node) -> Node | None:
        array = values(n)
        return None if array is None else leaf(n, Array(np.asarray(array)))

    own = copied(node, substitute, through)
    try:
        if not node.dtype.is_complex and not any(i.dtype.is_complex for i in node.inputs):
            return evaluate([own])[0]
    except (KeyError, ValueError, TypeError, IndexError, AttributeError):
        pass  # a rule of bounds that does not fit a strange op: by its reference alone
    return _alone(own)


def _alone(node: Node) -> Known:
    """The value by the references alone, with one bound for all elements."""
    device: Any = get_device("cpu")
    copy = copied(node, lambda _: None)
    device.compute([copy])
    return loosely(copy.buffer.array)


def loosely(array: Any) -> Known:
    """An array with one bound for all elements."""
    value = np.asarray(array)
    return Known(value, of_largest(value))
