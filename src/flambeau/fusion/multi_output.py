"""Stored elementwise values that are made of the same buffers into groups, each of which is one kernel."""

from collections.abc import Iterable
from dataclasses import replace
from math import prod
from typing import Any

from ..core.node import Node
from ..kernels.ir import Kernel
from ..kernels.lower import alias
from ..kernels.rows import Group

SAME_ORDER = (
    "reshape",
    "expand",
    "detach",
)  # movement through which values are still read element by element
NEAR = 256  # nodes made between members: values that are computed early live longer
OPEN = 4  # groups of one shape that a value may join
MOST = 16  # members of a group
SEARCHED = 48  # nodes below a value, or made of it, that are looked at


def siblings(planner: Any, taken: set[int]) -> list[Group]:
    """Groups of stored elementwise nodes of one shape that share what they read, or read each other: new
    state and parameter of an optimiser, gradients of the inputs of a product."""
    finder = _Finder(planner)
    for n in planner.order:
        wanted = n.buffer is None and id(n) in planner.stored and _is_computed(planner, n)
        if wanted and id(n) not in planner.head_of and id(n) not in taken and n.segment is None:
            finder.visit(n)
    for g in finder.found:
        finder.settle(g)
    return [g for g in finder.found if len(g.outputs) > 1]


def trimmed(kernels: list[Kernel], keep: set[int]) -> tuple[list[Kernel], list[int]]:
    """What is read: the kernels of siblings without values that siblings alone read (they have them in
    registers), and no kernel of whose values none is read; and the places of those that are left.

    keep: values that are asked for.
    """
    read, left = set(keep), []
    for i in reversed(range(len(kernels))):
        k = kernels[i]
        if not read.isdisjoint(k.outputs):
            left.append((_trimmed(k, read) if k.shader.kind == "map_multi" else k, i))
            read.update(k.inputs)
    return [k for k, _ in reversed(left)], [i for _, i in reversed(left)]


def _trimmed(k: Kernel, read: set[int]) -> Kernel:
    (_, f), *_ = k.shader.functions
    left = [(v, out, r) for v, out, r in zip(k.outputs, k.shader.outs, f.results, strict=True) if v in read]
    if len(left) == len(k.outputs):
        return k
    values, outs, results = zip(*left, strict=True)
    kind, name, body = "map_multi", "values", f._replace(results=results)
    if len(left) == 1:
        kind, name = "map", "value"
        body = f._replace(result=results[0][0], dtype=results[0][1], results=())
    template = f"map/{kind}.wgsl"
    shader = replace(k.shader, template=template, kind=kind, outs=outs, functions=((name, body),))
    return replace(k, shader=shader, outputs=values)


def _is_computed(planner: Any, n: Node) -> bool:
    """Whether a node is elementwise, perhaps behind views that leave its elements in order."""
    while n.op.name in ("reshape", "detach") or n.op.kind == "composite":
        n = n.inputs[0]
        if n.buffer is not None or id(n) in planner.stored:
            return False
    return n.op.kind == "elementwise"


def _turned_back(n: Node) -> Node | None:
    """What two transposes, one behind the other, leave as it is."""
    below = alias(n.inputs[0])
    if below.buffer is not None or below.op.name != "permute":
        return None
    dims = [below.attrs["dims"][d] for d in n.attrs["dims"]]
    return below.inputs[0] if dims == list(range(len(dims))) else None


class _Finder:
    def __init__(self, planner: Any):
        self.planner = planner
        self.found: list[Group] = []
        self.open: dict[tuple, list[Group]] = {}
        self.reads: dict[int, dict[int, Node]] = {}  # id of a group -> the buffers it reads
        made = sorted(planner.order, key=lambda n: n.serial)
        self.rank = {id(n): i for i, n in enumerate(made)}  # when a node was made, and so will be computed

    def visit(self, n: Node) -> None:
        reads = self._reads(n)
        if reads is None:
            return
        groups = self.open.setdefault((n.shape, n.device), [])
        for group in reversed(groups):
            if self._joins(n, reads, group):
                return
        group = Group((prod(n.shape), 0), 0, [], [n], [n], first=n.serial)
        self.found.append(group)
        self.reads[id(group)] = reads
        groups.append(group)
        del groups[:-OPEN]

    def _reads(self, n: Node) -> dict[int, Node] | None:
        """The buffers that a value's kernel would read; None where it is not read element by element."""
        # Down to what is in memory, through elementwise ops and movements that keep the order of elements.
        # Any other movement would have a thread read elements that its neighbour writes: then siblings could
        # not be written over what they read.
        found, seen, todo = {}, set(), list(n.inputs)
        while todo:
            i = alias(todo.pop())
            if id(i) in seen:
                continue
            seen.add(id(i))
            if len(seen) > SEARCHED or n.after:
                return None
            kind = i.op.kind
            if i.buffer is not None or id(i) in self.planner.stored:
                found[id(i)] = i
            elif kind == "elementwise" or (kind == "movement" and i.op.name in SAME_ORDER):
                todo += i.inputs
            elif i.op.name == "permute" and (below := _turned_back(i)) is not None:
                todo.append(below)
            elif kind != "source":
                return None
        return found

    def _joins(self, n: Node, reads: dict[int, Node], group: Group) -> bool:
        planner, own = self.planner, self.reads[id(group)]
        members = {id(m) for m in group.outputs}
        rest = {i: r for i, r in reads.items() if i not in members}
        shared = len(rest) < len(reads) or any(i in own and prod(own[i].shape) > 1 for i in rest)
        apart = abs(self.rank[id(n)] - self.rank[id(group.outputs[0])])
        if not shared or apart > NEAR or len(members) == MOST:
            return False
        if len(own | rest) > planner.limits.storage_buffers - len(self._wanted([*group.outputs, n])):
            return False
        first = planner.index[id(group.outputs[0])]
        if not are_apart(self.planner, rest.values(), members, first):
            return False
        group.nodes.append(n)
        group.outputs.append(n)
        self.reads[id(group)] = own | rest
        return True

    def settle(self, group: Group) -> None:
        """Leave out of the outputs what the group alone reads."""
        group.outputs = self._wanted(group.nodes)
        group.inner = [n for n in group.nodes if n not in group.outputs]
        self.planner.stored -= {id(n) for n in group.inner}

    def _wanted(self, members: list[Node]) -> list[Node]:
        """The members that others read, too."""
        inside = {id(m) for m in members}
        return [m for m in members if id(m) in self.planner.asked or not self._is_inner(m, inside)]

    def _is_inner(self, node: Node, inside: set[int]) -> bool:
        """Whether all that is made of a value is made in a group, or for its members alone."""
        seen, todo = set(), [node]
        while todo:
            users = self.planner.users[id(todo.pop())]
            if not users:
                return False
            for u in users:
                if id(u) in inside or id(u) in seen:
                    continue
                seen.add(id(u))
                passes = u.op.kind in ("elementwise", "movement", "composite")
                if id(u) in self.planner.stored or not passes or len(seen) > SEARCHED:
                    return False
                todo.append(u)
        return True


def are_apart(planner: Any, values: Iterable[Node], members: set[int], first: int) -> bool:
    """Whether none of some values is made of members of a group, the first of which has this place."""
    seen, todo = set(), list(values)
    while todo:
        i = todo.pop()
        if id(i) in seen or i.buffer is not None or planner.index[id(i)] < first:
            continue
        seen.add(id(i))
        if id(i) in members or len(seen) > SEARCHED:
            return False
        todo += (*i.inputs, *i.after)
    return True
