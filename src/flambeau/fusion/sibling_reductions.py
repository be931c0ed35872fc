"""Reductions over the same dims that read the same buffers into groups, each of which is one kernel."""

from collections.abc import Iterable
from math import prod
from typing import Any

from ..core.choose import choose
from ..core.node import Node
from ..kernels.ir import Kernel
from ..kernels.lower import alias
from ..kernels.reduce import several_kernels
from ..kernels.rows import Group
from .multi_output import SEARCHED, are_apart

NEAR = 256  # nodes of the graph between members: values that are computed early live longer
OPEN, MOST = 4, 4  # groups of one shape that a reduction may join; reductions of a group


def sums(planner: Any, taken: set[int]) -> list[Group]:
    """Groups of reductions that are no rows': by columns or channels, such as a norm's gradients by its
    weight and bias. taken: nodes of other groups. CPU adapters reduce each by itself."""
    finder = _Finder(planner)
    for n in () if planner.limits.software else planner.order:
        is_head = n.buffer is None and n.op.kind == "reduce" and id(n) in planner.tails
        if is_head and id(n) not in taken and n.segment is None and not n.after:
            finder.visit(n)
    return [g for g in finder.found if len(g.outputs) > 1]


def sums_kernels(planner: Any, group: Group) -> list[Kernel] | None:
    """A group's kernels; None where each reduction is to be by itself."""
    pairs = [(n, planner.tails[id(n)]) for n in group.reduces]
    is_whole = [id(tail) for _, tail in pairs] == [id(n) for n in group.outputs]  # no epilogue was cut
    name = choose(planner.limits, "sums", (len(pairs),), ("apart", "together"), "together")
    return several_kernels(planner, pairs) if is_whole and name == "together" else None


class _Finder:
    def __init__(self, planner: Any):
        self.planner = planner
        self.found: list[Group] = []
        self.open: dict[tuple, list[Group]] = {}
        self.reads: dict[int, dict[int, Node]] = {}  # id of a group -> the buffers it reads

    def visit(self, n: Node) -> None:
        x = n.inputs[0]
        reads = self._reads(n)
        groups = self.open.setdefault((x.shape, n.attrs["dims"], n.device), [])
        for group in reversed(groups):
            if self._joins(n, reads, group):
                return
        group = Group((prod(x.shape), 0), 0, first=n.serial)
        self._add(n, reads, group)
        self.found.append(group)
        groups.append(group)
        del groups[:-OPEN]

    def _add(self, n: Node, reads: dict[int, Node], group: Group) -> None:
        group.nodes += self.planner.paths[id(n)]
        group.outputs.append(self.planner.tails[id(n)])
        self.reads[id(group)] = self.reads.get(id(group), {}) | reads

    def _operands(self, path: Iterable[Node]) -> list[Node]:
        """What the nodes of a path are given from outside it."""
        path = list(path)
        inside = {id(n) for n in path}
        return [i for n in path for i in n.inputs if id(i) not in inside]

    def _reads(self, n: Node) -> dict[int, Node]:
        """The buffers that a reduction's kernel would read."""
        found, seen, todo = {}, set(), self._operands(self.planner.paths[id(n)])
        while todo and len(seen) < SEARCHED:
            i = alias(todo.pop())
            if id(i) in seen:
                continue
            seen.add(id(i))
            if i.buffer is not None or id(i) in self.planner.stored:
                found[id(i)] = i
            else:
                todo += i.inputs
        return found

    def _joins(self, n: Node, reads: dict[int, Node], group: Group) -> bool:
        planner, own, size = self.planner, self.reads[id(group)], prod(n.inputs[0].shape)
        bound = len(own | reads) + len(group.outputs) + 1
        shared = any(i in own and prod(reads[i].shape) == size for i in reads)
        first = planner.index[id(group.nodes[0])]
        is_near = planner.index[id(n)] - first <= NEAR and len(group.outputs) < MOST
        if not shared or not is_near or bound > planner.limits.storage_buffers:
            return False
        path = planner.paths[id(n)]
        if not are_apart(planner, self._operands(path), {id(m) for m in group.nodes}, first):
            return False
        mine = {id(m) for m in path}
        if not are_apart(planner, self._operands(group.nodes), mine, planner.index[id(n)]):
            return False
        self._add(n, reads, group)
        return True
