"""The graph into groups of nodes that one kernel computes: reductions over the same rows, and what is around
them."""

from dataclasses import replace
from math import prod
from typing import Any

from ..core.choose import choose
from ..core.node import Node
from ..core.shape import Shape
from ..kernels.ir import Kernel
from ..kernels.lower import alias
from ..kernels.map import maps_kernel
from ..kernels.rows import Group, row_kernel
from .materialize import HEADS
from .multi_output import siblings
from .sibling_reductions import sums, sums_kernels

SEARCHED = 64  # nodes below an input that are looked at, to tell whether it is made of a group's values
AROUND = 6  # nodes below a reduction that are searched for what it reads
SPREAD = 8  # views behind views that are followed to see who reads a value
ROW_LOCAL = ("reshape", "expand", "detach")  # movement that keeps the elements of a row together


def groups_of(planner: Any) -> list[Group]:
    """The groups of a graph whose stored values are decided on."""
    rows = Rows(planner)
    found = rows.groups()
    taken = {id(n) for g in found for n in g.nodes}
    found += sums(planner, taken)
    return found + siblings(planner, taken)


def kernels_of(planner: Any, group: Group) -> list[Kernel] | None:
    """A group's kernels; None where others are better."""
    if group.key[1]:
        return row_kernel(planner, group)
    if group.reduces:
        return sums_kernels(planner, group)
    names = ("apart", "together")
    if choose(planner.limits, "maps", (len(group.outputs),), names, "together") == "apart":
        return None
    found = maps_kernel(planner, group.outputs)
    if found is None:
        return None
    made, same = found
    planner.share(same)
    return [made]


def left_out(planner: Any, group: Group) -> Node | None:
    """Take the last output out of a group whose kernel is too large: one that is made of the other outputs by
    elementwise operations, and so is a kernel behind them; None where there is none."""
    inside, others = {id(n) for n in group.nodes}, {id(n) for n in group.outputs[:-1]}
    if not others or not group.key[1]:
        return None
    last = group.outputs[-1]
    todo, seen = list(last.inputs), set()
    while todo:
        n = todo.pop()
        if n.op.kind == "reduce" and id(n) in inside:
            return None
        if id(n) in inside and id(n) not in others and id(n) not in seen:
            seen.add(id(n))
            todo += n.inputs
    group.outputs.pop()
    group.nodes = [n for n in group.nodes if n is not last]
    return last


def halves(planner: Any, group: Group) -> list[Group]:
    """A group over rows that binds too many buffers as two, the later of which may read what the earlier
    stores; those of them that are still worth a kernel of their own."""
    if not group.key[1] or len(group.outputs) < 2:
        return []
    middle, inside, found = len(group.outputs) // 2, {id(n) for n in group.nodes}, []
    for outputs in (group.outputs[:middle], group.outputs[middle:]):
        needed, todo = set(), list(outputs)
        while todo:
            n = todo.pop()
            if id(n) in inside and id(n) not in needed:
                needed.add(id(n))
                todo += n.inputs
        nodes = [n for n in group.nodes if id(n) in needed]
        kept = [n for n in group.kept if n in outputs]
        half = replace(group, nodes=nodes, outputs=outputs, kept=kept, first=min(n.serial for n in nodes))
        if _is_worth(half):
            found.append(half)
        inside -= {id(n) for n in outputs}
    return found


def _is_worth(group: Group) -> bool:
    """Whether a group stores something, and more than one reduction would alone."""
    full = any(prod(n.shape) == prod(group.key) for n in group.outputs)
    return bool(group.outputs) and (len(group.reduces) > 1 or full)


class Rows:
    """Finds groups of reductions over the same rows in one pass over the graph.

    A node's stage is how many heads (reductions, contractions, ...) lie one behind the other below it. What a
    group reads from outside must not be made of what is inside. It is not where its stage is no higher than
    that of what the group's reductions read; else the graph below it is searched, a little.
    """

    def __init__(self, planner: Any):
        self.planner = planner
        self.stage: dict[int, int] = {}
        self.group: dict[int, Group] = {}
        self.anchors: dict[tuple, Group] = {}
        self.found: list[Group] = []
        self.owner = planner.owner

    def groups(self) -> list[Group]:
        """The groups that are worth a kernel, with what each has to store."""
        for n in self.planner.order:
            self._visit(n)
        made = [g for g in self.found if g.merged is None]
        return [g for g in made if self._settle(g)]

    # --- who is in which group ---

    def of(self, node: Node) -> Group | None:
        group = self.group.get(id(node))
        return group and group.root

    def _visit(self, n: Node) -> None:
        below = max((self.stage[id(i)] for i in (*n.inputs, *n.after)), default=0) if n.buffer is None else 0
        self.stage[id(n)] = below + (n.op.kind in HEADS)
        if n.buffer is not None or n.segment is not None or n.after or not n.inputs:
            return
        if n.op.kind == "reduce":
            self._reduction(n)
        elif n.op.kind in ("elementwise", "composite") or n.op.name in ROW_LOCAL:
            self._elementwise(n)

    def _reduction(self, n: Node) -> None:
        x = n.inputs[0]
        key = rows_of(x.shape, n.attrs["dims"])
        if key is None:
            return
        group = self.of(x)
        if group is None or group.key != key:
            group = Group(key, self.stage[id(x)], [x])
            self.found.append(group)
        for anchor in self._anchors(x, prod(key)):
            other = self.anchors.get((key, id(anchor)))
            self.anchors[key, id(anchor)] = group = self._merged(group, other and other.root) or group
        self._add(n, group)

    def _anchors(self, x: Node, size: int) -> list[Node]:
        """What a reduction reads in full: siblings are those that read the same."""
        found, todo = [], [x]
        for _ in range(AROUND):
            if not todo:
                break
            n = alias(todo.pop())
            inside = n.buffer is None and id(n) not in self.planner.stored and self.of(n) is None
            if inside and (n.op.kind == "elementwise" or n.op.name in ROW_LOCAL):
                todo += n.inputs
            elif prod(n.shape) == size and n.op.kind != "source":
                found.append(n)
        return found

    def _elementwise(self, n: Node) -> None:
        near = {id(g): g for g in map(self.of, n.inputs) if g is not None}
        for first in sorted(near.values(), key=lambda g: (-prod(g.key), -g.low)):  # what has most to read
            group = first.root  # an earlier turn may have merged it
            for other in near.values():
                group = self._merged(group, other.root) or group
            rest = [i for i in n.inputs if self.of(i) is not group]
            if self._fits(n, group, rest):
                group.outside += rest
                self._add(n, group)
                return

    def _fits(self, n: Node, group: Group, rest: list[Node]) -> bool:
        if not all(self._is_apart(i, group) for i in rest):
            return False
        owner = self.owner.get(id(n))
        return (owner is None or self.of(owner) is group) and all(
            keeps_rows(i.shape, n.shape, group.key) for i in n.inputs if self.of(i) is group
        )

    def _add(self, n: Node, group: Group) -> None:
        self.group[id(n)] = group
        group.nodes.append(n)

    def _is_apart(self, node: Node, group: Group) -> bool:
        """Whether a node is made without the group; False where that is hard to tell."""
        # A node that is made of the group can't be read by the group: its kernel would wait for itself.
        # `stage` counts heads below a node; what lies no higher than the group's lowest input can't be made
        # of it, so the search stops there.
        stage, seen, todo = self.stage, set(), [node]
        while todo:
            n = todo.pop()
            # a value that is there may have inputs, kept for a gradient: they are no part of this graph
            if id(n) in seen or n.buffer is not None or stage[id(n)] <= group.low:
                continue
            seen.add(id(n))
            if self.of(n) is group or len(seen) > SEARCHED:
                return False
            todo += n.inputs
        return True

    def _merged(self, a: Group, b: Group | None) -> Group | None:
        """Both as one; None where one would have to wait for the other."""
        if b is None or a is b or a.key != b.key or len(a.outside) + len(b.outside) > SEARCHED:
            return None
        inside = [i for i in a.outside if self.of(i) is not b], [i for i in b.outside if self.of(i) is not a]
        if not all(self._is_apart(i, b) for i in inside[0]) or not all(
            self._is_apart(i, a) for i in inside[1]
        ):
            return None
        a.low, a.outside = min(a.low, b.low), inside[0] + inside[1]
        a.nodes += b.nodes
        b.merged, b.nodes = a, []
        return a

    # --- what a group stores ---

    def _settle(self, group: Group) -> bool:
        """Choose the outputs: what others read, as the planner would have stored it."""
        # The planner has decided by now what is stored (materialize). The group's kernel has all its values
        # at hand, so what it alone reads is stored no more, and what others read of it is, where computing it
        # again in each of them is dear. From the last node to the first: whether a node is wanted depends on
        # its readers.
        planner = self.planner
        group.nodes.sort(key=lambda n: planner.index[id(n)])
        if not self._is_promising(group):
            return False
        self._cut_paths(group)
        wanted: dict[int, bool] = {}
        for n in reversed(group.nodes):
            wanted[id(n)] = self._is_wanted(n, group, wanted)
            if wanted[id(n)] and n.op.kind == "elementwise" and self._is_dear(n, group):
                planner.keep(n, "others read it")
                group.kept.append(n)
        self._take_in(group)
        inside = [n for n in group.nodes if id(n) in planner.stored]
        group.outputs = [n for n in inside if id(n) in planner.asked or wanted[id(n)]]
        if not _is_worth(group):
            return False
        planner.stored -= {id(n) for n in inside} - {id(n) for n in group.outputs}
        group.first = min(n.serial for n in group.nodes)
        return True

    def _take_in(self, group: Group) -> None:
        """Compute in the kernel what was to be stored for it alone."""
        planner, todo, seen = self.planner, list(group.outside), set()
        while todo and len(seen) < SEARCHED:
            n = alias(todo.pop())
            if id(n) in seen:
                continue
            seen.add(id(n))
            if n.buffer is not None or self.of(n) is not None or n.op.kind not in ("elementwise", "movement"):
                continue
            if id(n) in planner.stored:
                alone = n.op.kind == "elementwise" and id(n) not in planner.asked and id(n) not in self.owner
                if not alone or not all(self._is_inside(u, group) for u in planner.users[id(n)]):
                    continue
                planner.stored.discard(id(n))
            todo += n.inputs

    def _is_inside(self, user: Node, group: Group, depth: int = 0) -> bool:
        """Whether a user computes in the group: as a part of it, or unstored for parts of it alone."""
        if self.of(user) is group:
            return True
        kind = user.op.kind
        passes = kind in ("elementwise", "movement", "composite") and id(user) not in self.planner.stored
        users = self.planner.users[id(user)]
        if not passes or not users or depth == SPREAD or len(users) > AROUND:
            return False
        return all(self._is_inside(u, group, depth + 1) for u in users)

    def _is_promising(self, group: Group) -> bool:
        size = prod(group.key)
        return len(group.reduces) > 1 or any(prod(n.shape) == size for n in group.nodes)

    def _cut_paths(self, group: Group) -> None:
        """Epilogues end where the group does."""
        for head in group.reduces:
            path = self.planner.paths[id(head)]
            inside = [n for n in path if self.of(n) is group]
            if len(inside) < len(path):
                if id(path[-1]) not in self.planner.asked:
                    self.planner.stored.discard(id(path[-1]))
                while inside[-1].op.kind == "movement":
                    inside.pop()
                self.planner.set_path(head, inside, "others read it")

    def _is_wanted(self, n: Node, group: Group, wanted: dict[int, bool]) -> bool:
        """Whether somebody outside reads a node, or what is made of it without being stored."""
        for u in self.planner.users[id(n)]:
            if self.of(u) is not group or (wanted[id(u)] and id(u) not in self.planner.stored):
                return True
        return False

    def _is_dear(self, n: Node, group: Group) -> bool:
        """Whether others had better read a node than compute it again: all that contractions read, and what
        is made of several full buffers."""
        if prod(n.shape) < prod(group.key) or id(n) in self.planner.stored:
            return False
        outside = self._readers(n, group)
        if any(self._is_read(u) for u in outside):
            return True
        return bool(outside) and not self.planner.were_apart(n) and not self.planner.is_cheap(n)

    def _readers(self, n: Node, group: Group) -> list[Node]:
        """Who uses a value outside, looking through the group's views of it."""
        out, todo = [], [n]
        while todo:
            for u in self.planner.users[id(todo.pop())]:
                if self.of(u) is not group:
                    out.append(u)
                elif u.op.kind in ("movement", "composite"):
                    todo.append(u)
        return out

    def _is_read(self, user: Node, depth: int = 0) -> bool:
        """Whether a user, seen through views, reads its input from a buffer."""
        if user.op.kind in ("movement", "composite") and depth < SPREAD:
            return any(self._is_read(u, depth + 1) for u in self.planner.users[id(user)])
        return user.op.kind in ("contract", "whole", "gather", "part")


def rows_of(shape: Shape, dims: tuple[int, ...]) -> tuple[int, int] | None:
    """How many rows a reduction has and how long they are; None where its dims are not the last."""
    real = [d for d in dims if shape[d] > 1]
    if not real or 0 in shape:
        return None
    kept = [d for d in range(len(shape)) if shape[d] > 1 and d not in real]
    if kept and kept[-1] > real[0]:
        return None
    return prod(shape[d] for d in kept), prod(shape[d] for d in real)


def keeps_rows(given: Shape, made: Shape, key: tuple[int, int]) -> bool:
    """Whether elements of a row stay in that row where a value of the group is given to an op (or view)."""
    rows, length = key
    if prod(given) == prod(made):
        return prod(made) in (rows, rows * length)
    if prod(given) != rows or prod(made) != rows * length or len(given) > len(made):
        return False
    given = (1,) * (len(made) - len(given)) + tuple(given)
    ahead = 1
    for d, (a, b) in enumerate(zip(given, made, strict=True)):
        if a != b:
            return ahead == rows and all(s == 1 for s in given[d:])
        ahead *= a
    return False
