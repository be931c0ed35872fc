"""Finds two products of the same few rows, one of which is the only reader of the other, such as the gate of
a gated
perceptron: one kernel computes both."""

from collections.abc import Iterator
from math import prod

from ..core.node import Node
from ..kernels.contract.skinny import FEW_ROWS
from .materialize import OPERAND_NODES, Materialization


def find(values: Materialization, classes: dict[Node, int]) -> Iterator[tuple[Node, Node]]:
    """Pairs: a product, and the one that only its epilogue reads. classes: nodes of one class are equal."""
    taken = set[Node]()
    for head in values.order:
        if head.op.kind != "contract" or head.buffer is not None or head in taken:
            continue
        for second in _products_below(values, head):
            if second not in taken and _are_siblings(values, classes, head, second):
                taken |= {head, second}
                yield head, second
                break


def _products_below(values: Materialization, head: Node) -> Iterator[Node]:
    """The stored products that the epilogue of a product reads beside it."""
    nodes = values.epilogues.nodes[head]
    todo, room = [i for n in nodes[1:] for i in n.inputs if i not in nodes], OPERAND_NODES
    visited = set[Node]()
    while todo and room:
        n, room = values.alias[todo.pop()], room - 1
        if n in visited or n.buffer is not None:
            continue
        visited.add(n)
        product = values.epilogues.head_of.get(n, n)  # a cast of a product's result is its epilogue
        if product.op.kind == "contract":
            yield product
        elif n.op.kind == "elementwise" and n not in values.stored:
            todo += n.inputs


def _are_siblings(values: Materialization, classes: dict[Node, int], head: Node, second: Node) -> bool:
    """Whether two products have the same few rows, columns of weights of one shape, and no other reader of
    the second."""
    is_alike = (second.shape, second.dtype, second.attrs) == (head.shape, head.dtype, head.attrs)
    *_, last = behind = values.epilogues.nodes[second]
    if not is_alike or last in values.required or any(n.op.name != "cast" for n in behind[1:]):
        return False
    (rows, columns), (same, others) = head.inputs, second.inputs
    if classes[same] != classes[rows]:
        (columns, rows), (others, same) = (rows, columns), (same, others)
    if classes[same] != classes[rows] or others.shape != columns.shape or others.dtype != columns.dtype:
        return False
    if prod(rows.shape[: len(head.shape)]) > FEW_ROWS or not _is_there(values, others):
        return False
    tail = values.epilogues.tail(head)
    return all(values.end_of(u, last) is tail for u in values.consumers(last))


def _is_there(values: Materialization, node: Node) -> bool:
    """Whether a node is a view of a buffer, of numbers or of quantised blocks."""
    while node.buffer is None and node.op.kind in ("movement", "composite", "decode"):
        node = values.alias[node.inputs[0]]
    return node.buffer is not None
