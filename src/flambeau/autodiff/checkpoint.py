"""Checkpoints: gradients read recomputed copies of forward values instead of kept ones."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import Any

from ..core.node import Node, inputs_first, next_serial, walk_nodes
from ..core.tree import leaves

MAX_COST = 64  # largest cost of recomputing an element ("balanced"); exp costs 4, random bits 20
SMALL = 8  # a value this many times smaller than the values computed from it is always kept


def checkpoint(function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
    """Call a function; its gradient recomputes the values inside it instead of keeping them.

    Only the arguments and results are kept. The graph runs a second time, not the Python code: random draws
    are the same, and running statistics are updated once. A checkpoint inside a checkpoint is part of the
    outer one.
    """
    start = next_serial()
    out = function(*args, **kw)
    results = {t.node for t in leaves(out) if hasattr(t, "node")}
    segment = object()

    def inside(node: Node) -> list[Node]:
        below = [n for n in _sources_of(node) if n.serial >= start]
        return [n for n in below if n.param is None and n not in results]

    # an inner checkpoint returned before, so its nodes get this segment
    for node in walk_nodes([n for r in results for n in inside(r)], inside):
        node.segment = segment
    return out


def _sources_of(node: Node) -> tuple[Node, ...]:
    return node.inputs if node.parents is node.inputs else (*node.inputs, *node.parents)


class Tape:
    """The steps of a reverse walk: the first serial number and the incoming gradient of each."""

    def __init__(self) -> None:
        self.serials: list[int] = []
        self.gradients: list[Node] = []

    def begin(self, gradient: Node) -> None:
        self.serials.append(next_serial())
        self.gradients.append(gradient)

    def gradient_of(self, node: Node) -> Node:
        """The incoming gradient of the step that created a node."""
        return self.gradients[bisect_right(self.serials, node.serial) - 1]


def recompute(roots: list[Node], tape: Tape, balanced: bool) -> None:
    """Let the nodes of a walk read copies of forward nodes instead of the nodes themselves."""
    if not tape.serials:
        return
    steps = sorted(_nodes_since(roots, tape.serials[0]), key=lambda n: n.serial)
    copies = _Copies({i for n in steps for i in _bases(n, tape.serials[0])}, balanced)
    for n in steps:  # in the order of the walk: values that two steps need are computed before the first
        when = n.serial, tape.gradient_of(n)
        inputs = tuple([copies.copy(i, *when) if i.serial < tape.serials[0] else i for i in n.inputs])
        if any(a is not b for a, b in zip(inputs, n.inputs, strict=True)):
            n.inputs = inputs


def nodes_of_walk(gradients: list[Node], tape: Tape) -> set[Node]:
    """The nodes that a walk created and that are not computed yet."""
    return _nodes_since(gradients, tape.serials[0]) if tape.serials else set()


def _nodes_since(roots: list[Node], since: int) -> set[Node]:
    def is_new(n: Node) -> bool:
        return n.serial >= since and n.buffer is None

    return set(walk_nodes(filter(is_new, roots), lambda n: filter(is_new, n.inputs)))


def _bases(node: Node, since: int) -> Iterator[Node]:
    """The forward values that a node reads, and those under views of them."""
    for i in node.inputs:
        while i.serial < since:
            yield i
            if i.op.kind != "movement" or not i.inputs or i.buffer is not None:
                break
            i = i.inputs[0]


class _Copies:
    """Decides which forward nodes are recomputed, and holds their copies."""

    def __init__(self, read: set[Node], balanced: bool):
        self.balanced = balanced
        self.copies: dict[Node, Node] = {}
        # (checkpoint, device) -> the first gradient of its part of the walk
        self.first: dict[tuple[Any, Any], Node] = {}
        self.ends: dict[Node, frozenset[Node]] = {}
        self.costs: dict[Node, float] = {}
        self.kept: set[Node] = self._values_to_keep(read) if balanced else set()

    def copy(self, node: Node, serial: int, gradient: Node) -> Node:
        """The node to read instead: a copy, which is computed with its first reader, or the node itself."""

        def to_copy(nodes: Iterable[Node]) -> list[Node]:
            return [n for n in nodes if n not in self.copies]

        for n in inputs_first(to_copy([node]), lambda n: to_copy(n.inputs) if self.is_recomputed(n) else ()):
            self.copies[n] = self._copy(n, serial, gradient) if self.is_recomputed(n) else n
        return self.copies[node]

    def _copy(self, node: Node, serial: int, gradient: Node) -> Node:
        inputs = tuple(self.copies[i] for i in node.inputs)
        # a view of a kept value costs nothing and needs no copy
        if node.segment is None and inputs == node.inputs and node.op.kind == "movement":
            return node  # a view of a kept value
        copy = Node(node.op, inputs, node.attrs, node.shape, node.dtype, node.device, node.scalars)
        copy.origin, copy.again = node.origin, True
        copy.serial = serial  # kernels run in the order of the serial numbers
        if node.segment is not None:  # a checkpoint is recomputed after its gradient, not before
            copy.segment = node.segment
            first = self.first.setdefault((node.segment, node.device), gradient)
            copy.after = (first,) if first.device is node.device else ()  # no order between two devices
        return copy

    def is_recomputed(self, node: Node) -> bool:
        if node.buffer is not None or node.param is not None or not node.inputs:
            return False
        if node.segment is not None:
            return True
        views = node.op.kind in ("elementwise", "movement")
        return self.balanced and views and self.cost(node) <= MAX_COST

    def _values_to_keep(self, read: set[Node]) -> set[Node]:
        """The values to keep: those that gradients read, and common sources of several of these."""
        readers: dict[Node, int] = {}
        for n in read:
            boundary = self._visit(n, self.ends, self._ends)
            for end in boundary if len(boundary) == 1 else ():
                readers[end] = readers.get(end, 0) + (n.op.kind != "movement")
        return {n for n in read if self._is_end(n)} | {n for n, count in readers.items() if count > 1}

    def _ends(self, node: Node) -> frozenset[Node]:
        """The large values from which only elementwise operations compute this one."""
        if self._is_end(node):
            return frozenset() if self._is_stored(node) else frozenset([node])
        # small inputs are kept anyway
        large = [self.ends[i] for i in node.inputs if not self._is_small(i, node)]
        return frozenset[Node]().union(*large)

    def cost(self, node: Node) -> float:
        """The cost of recomputing an element from values that are kept anyway; infinite if some are not."""
        return self._visit(node, self.costs, self._cost)

    def _visit(self, node: Node, results: dict[Node, Any], rule: Callable[[Node], Any]) -> Any:
        """The rule's result for a node, after those of its inputs."""

        def missing(nodes: Iterable[Node]) -> list[Node]:
            return [n for n in nodes if n not in results]

        for n in inputs_first(missing([node]), lambda n: () if self._is_end(n) else missing(n.inputs)):
            results[n] = rule(n)
        return results[node]

    def _is_end(self, node: Node) -> bool:
        return self._is_stored(node) or node.op.kind not in ("elementwise", "movement")

    def _is_stored(self, node: Node) -> bool:
        """Whether reading it again costs no memory."""
        return node.buffer is not None or node.param is not None or node.op.kind == "source"

    def _cost(self, node: Node) -> float:
        if self._is_stored(node):
            return node.op.cost if node.op.kind == "source" else 0
        if self._is_end(node):
            # a contraction or reduction is not repeated: it must be kept
            return 0 if node in self.kept else float("inf")
        inputs = [0 if self._is_small(i, node) else self.costs[i] for i in node.inputs]
        return sum(inputs) + (node.op.cost if node.op.kind == "elementwise" else 0)

    def _is_small(self, node: Node, beside: Node) -> bool:
        return prod(node.shape) * SMALL <= prod(beside.shape)
