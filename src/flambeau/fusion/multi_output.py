"""Groups stored elementwise values that read the same buffers, so that one kernel computes them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from ..core.choose import choose
from ..core.node import Node, walk_nodes
from ..kernels.ir import Kernel
from ..kernels.lower import PlanContext, alias
from ..kernels.map import maps_kernel, with_results
from .group import NEAR_NODES, SEARCHED_NODES, Decision, FusedGroup, Lowered
from .materialize import Materialization, are_independent

OPEN_GROUPS = 4  # of one shape that a value may join
MOST_MEMBERS = 16  # of a group


def find(values: Materialization, grouped: set[Node]) -> Iterator[Decision]:
    """Groups of stored elementwise nodes of one shape that share inputs, or read each other: new
    state and parameter of an optimiser, gradients of the inputs of a product.

    grouped: nodes of other groups.
    """
    finder = _SiblingFinder(values)
    for n in values.order:
        is_candidate = n.buffer is None and n in values.stored and n.segment is None and n not in grouped
        if is_candidate and n not in values.epilogues.head_of and finder.is_computed(n):
            finder.visit(n)
    for siblings in finder.all:
        yield finder.decide(siblings)


def without_unread(kernels: list[Kernel], keep: set[int]) -> tuple[list[Kernel], list[int]]:
    """Drop outputs that only siblings read (they have them in registers), and kernels none of whose outputs
    is read. Returns the kernels that remain, and their places in the list.

    keep: requested values.
    """
    read, remaining = set(keep), list[tuple[Kernel, int]]()
    for i in reversed(range(len(kernels))):
        k = kernels[i]
        if not read.isdisjoint(k.outputs):
            remaining.append((with_results(k, read) if k.shader.kind == "map_multi" else k, i))
            read.update(k.inputs)
    return [k for k, _ in reversed(remaining)], [i for _, i in reversed(remaining)]


@dataclass(frozen=True, eq=False)
class MapGroup(FusedGroup):
    """Elementwise values of one shape.

    over: how many of them will overwrite an input, in a recorded plan.
    """

    over: int = 0

    def build(self, plan: PlanContext) -> Lowered | None:
        names = ("apart", "together")
        if choose(plan.limits, "maps", (len(self.outputs),), names, "together") == "apart":
            return None
        together = maps_kernel(plan, list(self.outputs), self.over)
        return None if together is None else Lowered([together[0]], together[1])


@dataclass
class _OpenMaps:
    """A group that grows: its nodes, the buffers that their kernel reads, and the buffers that each node
    reads."""

    nodes: list[Node]
    reads: set[Node]
    read_by: dict[Node, set[Node]]


class _SiblingFinder:
    """Puts each value that it visits into a group that is open, or into a new one."""

    def __init__(self, values: Materialization):
        self.values = values
        self.all: list[_OpenMaps] = []
        self.open: dict[tuple[Any, ...], list[_OpenMaps]] = {}  # by shape and device
        by_age = sorted(values.order, key=lambda n: n.serial)
        # The order of creation, which is that of computation.
        self.rank = {n: i for i, n in enumerate(by_age)}

    def is_computed(self, n: Node) -> bool:
        """Whether a node is elementwise, perhaps below views that keep its elements in order."""
        while n.op.order == "same" or n.op.kind == "composite":
            n = n.inputs[0]
            if self._is_there(n):
                return False
        return n.op.kind == "elementwise"

    def visit(self, n: Node) -> None:
        reads = self._reads(n)
        if reads is None:
            return
        groups = self.open.setdefault((n.shape, n.device), [])
        for siblings in reversed(groups):
            if self._joins(n, reads, siblings):
                return
        siblings = _OpenMaps([n], reads, {n: reads})
        self.all.append(siblings)
        groups.append(siblings)
        del groups[:-OPEN_GROUPS]

    def _is_there(self, n: Node) -> bool:
        return n.buffer is not None or n in self.values.stored

    def _reads(self, n: Node) -> set[Node] | None:
        """The buffers that a value's kernel would read; None where it is not read element by element."""

        def onward(x: Node) -> Iterable[Node]:
            return () if self._is_there(x) else map(alias, inputs_in_order(x))

        reads: set[Node] = set()
        for i, x in enumerate(walk_nodes(map(alias, n.inputs), onward), 1):
            if i > SEARCHED_NODES or n.after:
                return None
            if self._is_there(x):
                reads.add(x)
            elif x.op.kind != "source" and not inputs_in_order(x):
                return None
        return reads

    def _joins(self, n: Node, reads: set[Node], siblings: _OpenMaps) -> bool:
        """Add a value to a group if they share a buffer, fit one kernel and neither waits for the other."""
        values, nodes = self.values, siblings.nodes
        others = reads.difference(nodes)
        shares = len(others) < len(reads) or any(x in siblings.reads and prod(x.shape) > 1 for x in others)
        distance = abs(self.rank[n] - self.rank[nodes[0]])
        if not shares or distance > NEAR_NODES or len(nodes) == MOST_MEMBERS:
            return False
        joined = _OpenMaps([*nodes, n], siblings.reads | others, siblings.read_by | {n: reads})
        outputs, most = self._outputs_of(joined.nodes), values.limits.storage_buffers
        bound = len(joined.reads) + len(outputs) - self._written_over(joined, outputs)
        # each by itself has to fit too, for the case that an old value is read later than it seems here
        if bound > most or len(joined.reads) >= most:
            return False
        first = values.rank[id(nodes[0])]
        if not are_independent(values, others, set(nodes), first, SEARCHED_NODES):
            return False
        siblings.nodes, siblings.reads, siblings.read_by = joined.nodes, joined.reads, joined.read_by
        return True

    def _written_over(self, siblings: _OpenMaps, outputs: list[Node]) -> int:
        """How many of a group's outputs can be written over a leaf that they read."""
        dying, rank = self.values.dying, self.values.rank
        over: set[Node] = set()
        for n in outputs if dying else ():
            inside = walk_nodes(
                [n], lambda x: siblings.read_by[x].intersection(siblings.nodes).difference(outputs)
            )
            below = {x for member in inside for x in siblings.read_by[member]} & dying
            fits = (x for x in below - over if (x.shape, x.dtype) == (n.shape, n.dtype))
            over.update(sorted(fits, key=lambda x: rank[id(x)])[:1])
        return len(over)

    def decide(self, siblings: _OpenMaps) -> Decision:
        """Stop storing values that only the group reads. A single remaining output is not a group."""
        nodes, outputs = siblings.nodes, self._outputs_of(siblings.nodes)
        private = tuple(n for n in nodes if n not in outputs)
        if len(outputs) < 2:
            return Decision(private=private)
        over = self._written_over(siblings, outputs)
        group = MapGroup(tuple(nodes), tuple(outputs), private=private, serial=nodes[0].serial, over=over)
        return Decision(private=private, group=group)

    def _outputs_of(self, nodes: list[Node]) -> list[Node]:
        """The nodes that others read, too."""
        inside = set(nodes)
        return [n for n in nodes if n in self.values.required or not self._is_private(n, inside)]

    def _is_private(self, node: Node, inside: set[Node]) -> bool:
        """Whether a value is read only inside a group, directly or through unstored nodes."""
        users = self.values.users
        for i, n in enumerate(walk_nodes([node], lambda n: (u for u in users[id(n)] if u not in inside))):
            if not users[id(n)]:
                return False
            passes = n.op.kind in ("elementwise", "movement", "composite") and n not in self.values.stored
            if n is not node and (not passes or i > SEARCHED_NODES):
                return False
        return True


def inputs_in_order(n: Node) -> tuple[Node, ...]:
    """The inputs of which an unstored value reads element i for its element i; empty if it reads others."""
    # Any other movement would have a thread read elements that its neighbour writes: then siblings could not
    # overwrite their inputs.
    if n.op.kind == "elementwise" or n.op.order in ("same", "repeated"):
        return n.inputs
    below = alias(n.inputs[0]) if n.op.order == "turned" else None
    if below is None or below.buffer is not None or below.op.order != "turned":
        return ()
    dims = [below.attrs["dims"][d] for d in n.attrs["dims"]]
    return below.inputs if dims == list(range(len(dims))) else ()
