"""Groups reductions over the same dims that read the same buffers, so that one kernel computes them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from math import prod
from typing import Any

from ..core.choose import choose
from ..core.node import Node, walk_nodes
from ..kernels.lower import PlanContext, alias
from ..kernels.reduce import several_kernels
from .group import NEAR_NODES, SEARCHED_NODES, Decision, FusedGroup, Lowered
from .materialize import Materialization, are_independent

OPEN_GROUPS = 4  # of one shape that a reduction may join
MOST_REDUCTIONS = 4  # of a group


def find(values: Materialization, grouped: set[Node]) -> Iterator[Decision]:
    """Groups of reductions that are not of rows but of columns or channels, such as a norm's gradients of its
    weight and bias. grouped: nodes of other groups. CPU adapters reduce each by itself."""
    finder = _ReductionFinder(values)
    for n in () if values.limits.software else values.order:
        is_head = n.buffer is None and n.op.kind == "reduce"
        if is_head and n not in grouped and n.segment is None and not n.after:
            finder.visit(n)
    for siblings in finder.all:
        if len(siblings.heads) > 1:
            yield Decision(group=siblings.group(values))


@dataclass(frozen=True, eq=False)
class ReductionGroup(FusedGroup):
    """Reductions of one shape over the same dims, and their epilogues."""

    def build(self, plan: PlanContext) -> Lowered | None:
        heads = [n for n in self.nodes if n.op.kind == "reduce"]
        pairs = [(n, plan.epilogues[n][-1]) for n in heads]
        is_whole = all(tail is n for (_, tail), n in zip(pairs, self.outputs, strict=True))  # none was cut
        name = choose(plan.limits, "sums", (len(pairs),), ("apart", "together"), "together")
        kernels = several_kernels(plan, pairs) if is_whole and name == "together" else None
        return None if kernels is None else Lowered(kernels)


@dataclass
class _OpenReductions:
    """A group that grows: its reductions, they and their epilogues, and the buffers that their kernel
    reads."""

    heads: list[Node] = field(default_factory=list[Node])
    nodes: list[Node] = field(default_factory=list[Node])
    reads: set[Node] = field(default_factory=set[Node])

    def group(self, values: Materialization) -> ReductionGroup:
        outputs = tuple(values.epilogues.tail(n) for n in self.heads)
        return ReductionGroup(tuple(self.nodes), outputs, serial=self.heads[0].serial)


class _ReductionFinder:
    """Puts each reduction that it visits into a group that is open, or into a new one."""

    def __init__(self, values: Materialization):
        self.values = values
        self.all: list[_OpenReductions] = []
        self.open: dict[tuple[Any, ...], list[_OpenReductions]] = {}  # by shape, dims and device

    def visit(self, n: Node) -> None:
        x = n.inputs[0]
        reads = self._reads(n)
        groups = self.open.setdefault((x.shape, n.attrs["dims"], n.device), [])
        for siblings in reversed(groups):
            if self._joins(n, reads, siblings):
                return
        siblings = _OpenReductions()
        self._add(n, reads, siblings)
        self.all.append(siblings)
        groups.append(siblings)
        del groups[:-OPEN_GROUPS]

    def _add(self, n: Node, reads: set[Node], siblings: _OpenReductions) -> None:
        siblings.heads.append(n)
        siblings.nodes += self.values.epilogues.nodes[n]
        siblings.reads |= reads

    def _reads(self, n: Node) -> set[Node]:
        """The buffers that a reduction's kernel would read."""

        def is_there(x: Node) -> bool:
            return x.buffer is not None or x in self.values.stored

        starts = map(alias, inputs_of(self.values.epilogues.nodes[n]))
        below = walk_nodes(starts, lambda x: () if is_there(x) else map(alias, x.inputs))
        return {x for x in islice(below, SEARCHED_NODES) if is_there(x)}

    def _joins(self, n: Node, reads: set[Node], siblings: _OpenReductions) -> bool:
        """Add a reduction to a group if both read the same full buffer and neither waits for the other."""
        values, size = self.values, prod(n.inputs[0].shape)
        shares = any(x in siblings.reads and prod(x.shape) == size for x in reads)
        place, first = values.rank[id(n)], values.rank[id(siblings.heads[0])]
        if not shares or place - first > NEAR_NODES or len(siblings.heads) == MOST_REDUCTIONS:
            return False
        if len(siblings.reads | reads) + len(siblings.heads) + 1 > values.limits.storage_buffers:
            return False
        own_nodes, sibling_nodes = values.epilogues.nodes[n], siblings.nodes
        if not are_independent(values, inputs_of(own_nodes), set(sibling_nodes), first, SEARCHED_NODES):
            return False
        if not are_independent(values, inputs_of(sibling_nodes), set(own_nodes), place, SEARCHED_NODES):
            return False
        self._add(n, reads, siblings)
        return True


def inputs_of(nodes: Iterable[Node]) -> list[Node]:
    """The inputs of some nodes that are not among them."""
    inside = dict.fromkeys(nodes)
    return [i for n in inside for i in n.inputs if i not in inside]
