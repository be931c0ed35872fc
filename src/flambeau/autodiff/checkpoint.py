"""Forward values that a gradient reads become copies of the nodes that made them, computed again."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import Any

from ..core.node import Node, inputs_first, next_serial, reached
from ..core.tree import leaves

MAX_COST = 64  # what computing an element again may cost ("balanced"); exp is 4, random bits 20
SMALL = 8  # a value this many times smaller than what is made of it costs nothing to keep


def checkpoint(function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
    """Call a function; its gradient computes what happened inside again instead of keeping it.

    Only the arguments and results are kept. The recorded graph is what runs a second time, not the Python
    code: random draws are the same ones, and running statistics move once. A checkpoint inside a
    checkpoint is part of the outer one.
    """
    start = next_serial()
    out = function(*args, **kw)
    results = {t.node for t in leaves(out) if hasattr(t, "node")}
    segment = object()

    def inside(node: Node) -> list[Node]:
        below = [n for n in _below(node) if n.serial >= start]
        return [n for n in below if n.param is None and n not in results]

    for node in reached([n for r in results for n in inside(r)], inside):
        node.segment = segment
    return out


def _below(node: Node) -> tuple[Node, ...]:
    return node.inputs if node.parents is node.inputs else (*node.inputs, *node.parents)


class Tape:
    """The steps of a reverse walk: from which serial number on, and by which gradient they began."""

    def __init__(self):
        self.serials: list[int] = []
        self.gradients: list[Node] = []

    def begin(self, gradient: Node) -> None:
        self.serials.append(next_serial())
        self.gradients.append(gradient)

    def gradient_of(self, node: Node) -> Node:
        """The gradient that arrived in the step that made this node."""
        return self.gradients[bisect_right(self.serials, node.serial) - 1]


def recompute(roots: list[Node], tape: Tape, balanced: bool) -> None:
    """Let the nodes that a walk made read copies of forward nodes instead of the nodes themselves."""
    if not tape.serials:
        return
    steps = sorted(_made(roots, tape.serials[0]), key=lambda n: n.serial)
    again = _Again({i for n in steps for i in _bases(n, tape.serials[0])}, balanced)
    for n in steps:  # in the order of the walk: what two steps need is computed before the first of them
        when = n.serial, tape.gradient_of(n)
        inputs = tuple([again.copy(i, *when) if i.serial < tape.serials[0] else i for i in n.inputs])
        if any(a is not b for a, b in zip(inputs, n.inputs, strict=True)):
            n.inputs = inputs


def made_by(gradients: list[Node], tape: Tape) -> set[Node]:
    """The nodes that a walk made and that still have to be computed."""
    return _made(gradients, tape.serials[0]) if tape.serials else set()


def _made(roots: list[Node], since: int) -> set[Node]:
    def is_made(n: Node) -> bool:
        return n.serial >= since and n.buffer is None

    return set(reached(filter(is_made, roots), lambda n: filter(is_made, n.inputs)))


def _bases(node: Node, since: int) -> Iterator[Node]:
    """The forward values that a node reads, through views of them."""
    for i in node.inputs:
        while i.serial < since:
            yield i
            if i.op.kind != "movement" or not i.inputs or i.buffer is not None:
                break
            i = i.inputs[0]


class _Again:
    """Which forward nodes are computed again, and their copies."""

    def __init__(self, read: set[Node], balanced: bool):
        self.balanced = balanced
        self.copies: dict[Node, Node] = {}
        self.first: dict[Any, Node] = {}  # the gradient by which a checkpoint's part of the walk began
        self.ends: dict[Node, frozenset[Node]] = {}
        self.costs: dict[Node, float] = {}
        self.kept = self._kept(read) if balanced else set()

    def copy(self, node: Node, serial: int, gradient: Node) -> Node:
        """The node to read instead: a copy, to be computed when its first user is, or the node itself."""

        def to_copy(nodes: Iterable[Node]) -> list[Node]:
            return [n for n in nodes if n not in self.copies]

        for at in inputs_first(to_copy([node]), lambda n: to_copy(n.inputs) if self.is_wanted(n) else ()):
            self.copies[at] = self._make(at, serial, gradient) if self.is_wanted(at) else at
        return self.copies[node]

    def _make(self, node: Node, serial: int, gradient: Node) -> Node:
        inputs = tuple(self.copies[i] for i in node.inputs)
        if node.segment is None and inputs == node.inputs and node.op.kind == "movement":
            return node  # a view of what is kept
        copy = Node(node.op, inputs, node.attrs, node.shape, node.dtype, node.device, node.scalars)
        copy.origin, copy.again = node.origin, True
        copy.serial = serial  # kernels run in the order of the serial numbers
        if node.segment is not None:  # none of a checkpoint's inside is computed before its gradient is there
            copy.segment, copy.after = node.segment, (self.first.setdefault(node.segment, gradient),)
        return copy

    def is_wanted(self, node: Node) -> bool:
        if node.buffer is not None or node.param is not None or not node.inputs:
            return False
        if node.segment is not None:
            return True
        views = node.op.kind in ("elementwise", "movement")
        return self.balanced and views and self.cost(node) <= MAX_COST

    def _kept(self, read: set[Node]) -> set[Node]:
        """The values to keep: those that gradients read, and those that several that they read are made
        of."""
        made_of: dict[Node, int] = {}
        for n in read:
            ends = self._visit(n, self.ends, self._ends)
            for end in ends if len(ends) == 1 else ():
                made_of[end] = made_of.get(end, 0) + (n.op.kind != "movement")
        return {n for n in read if self._is_end(n)} | {n for n, count in made_of.items() if count > 1}

    def _ends(self, node: Node) -> frozenset[Node]:
        """The large values that this one is made of by elementwise operations alone."""
        if self._is_end(node):
            return frozenset() if self._is_there(node) else frozenset([node])
        large = [self.ends[i] for i in node.inputs if not self._is_small(i, node)]
        return frozenset().union(*large)

    def cost(self, node: Node) -> float:
        """Work to compute an element again from values that are kept anyway; infinite where some are not."""
        return self._visit(node, self.costs, self._cost)

    def _visit(self, node: Node, found: dict[Node, Any], rule: Callable[[Node], Any]) -> Any:
        """The rule's result for a node, those of its inputs first."""

        def to_find(nodes: Iterable[Node]) -> list[Node]:
            return [n for n in nodes if n not in found]

        for at in inputs_first(to_find([node]), lambda n: () if self._is_end(n) else to_find(n.inputs)):
            found[at] = rule(at)
        return found[node]

    def _is_end(self, node: Node) -> bool:
        return self._is_there(node) or node.op.kind not in ("elementwise", "movement")

    def _is_there(self, node: Node) -> bool:
        """Whether it costs no memory to read it again."""
        return node.buffer is not None or node.param is not None or node.op.kind == "source"

    def _cost(self, node: Node) -> float:
        if self._is_there(node):
            return node.op.cost if node.op.kind == "source" else 0
        if self._is_end(node):
            return 0 if node in self.kept else float("inf")
        inputs = [0 if self._is_small(i, node) else self.costs[i] for i in node.inputs]
        return sum(inputs) + (node.op.cost if node.op.kind == "elementwise" else 0)

    def _is_small(self, node: Node, beside: Node) -> bool:
        return prod(node.shape) * SMALL <= prod(beside.shape)
