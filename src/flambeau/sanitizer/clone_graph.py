"""Clones a graph: for a device with some values supplied, or for NumPy in float64 with error bounds."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.node import Node, describe, inputs_first
from ..core.op import OPS
from ..device import get_device
from ..device.cpu import Array
from ..differences import of_largest
from ..selftest.bounds import Known, evaluate

AS_STORED = ("leaf", "movement", "source", "composite")  # kinds that compute nothing


def has_value(node: Node) -> bool:
    """Whether an op computes a value that is compared."""
    return node.op.kind not in AS_STORED and node.buffer is None


def op_name_of(node: Node) -> str:
    """An op's name for reports."""
    return str(node.attrs.get("label") or node.op.name).lstrip("_")


def call_of(node: Node) -> str:
    """An op and its inputs: `matmul(f32[2, 3], f32[3, 4])`."""
    return f"{op_name_of(node)}({', '.join(map(describe, node.inputs))})"


def leaf(node: Node, buffer: Any) -> Node:
    """A leaf like a node, with this buffer."""
    copy = Node(OPS["buffer"], (), {}, node.shape, node.dtype, node.device)
    copy.buffer, copy.serial = buffer, node.serial  # evaluators order nodes by serial number
    return copy


def copy_graph(node: Node, substitute: Callable[[Node], Node | None], through: bool = False) -> Node:
    """A copy of a node and the graph below it, down to nodes for which `substitute` returns another one.
    through: values that are already computed are computed again, if their inputs are known."""
    copies: dict[Node, Node] = {}

    def below(n: Node) -> tuple[Node, ...]:
        replacement = substitute(n) if n is not node else None
        if replacement is None and n.buffer is not None and not (n.inputs and (through or n is node)):
            replacement = n
        if replacement is None:
            return n.inputs
        copies[n] = replacement
        return ()

    for n in inputs_first([node], below):
        if n not in copies:
            copies[n] = n.copied(tuple(copies[i] for i in n.inputs), ())
    return copies[node]


def reference(node: Node, values: Callable[[Node], Any], through: bool = False) -> Known:
    """A node's value by NumPy in float64, with bounds, from known values (arrays; None for an unknown one).
    through: as in `copy_graph`."""

    def substitute(n: Node) -> Node | None:
        array = values(n)
        return None if array is None else leaf(n, Array(np.asarray(array)))

    own = copy_graph(node, substitute, through)
    try:
        if not node.dtype.is_complex and not any(i.dtype.is_complex for i in node.inputs):
            return evaluate([own])[0]
    except (KeyError, ValueError, TypeError, IndexError, AttributeError):
        pass  # no rule of bounds fits: use the reference alone
    return _alone(own)


def _alone(node: Node) -> Known:
    """The value by the references alone, with one bound for all elements."""
    device: Any = get_device("cpu")
    copy = copy_graph(node, lambda _: None)  # computing it fills its buffer, not the caller's
    device.compute([copy])
    return with_loose_bound(copy.buffer.array)


def with_loose_bound(array: Any) -> Known:
    """An array with one bound for all elements."""
    value = np.asarray(array)
    return Known(value, of_largest(value))
