"""The planner: a graph of nodes becomes a plan, the list of kernels that compute its roots. Pure: no GPU, no
I/O."""

from dataclasses import replace
from math import prod

from ..core.limits import Limits
from ..core.node import Node, toposort
from ..kernels import fold, ir, kernel, launches, map, reduce
from ..kernels.contract import contract
from ..kernels.ir import Kernel
from ..kernels.lower import PARAMS, Move, NeedStore, alias, move_of
from . import row_groups
from .cost import costs_of
from .cse import places
from .materialize import Claims
from .passes import PASSES, Draft
from .plan import Plan
from .rewrite import graph_of

BUILD = {  # the ops that are kernels of their own
    "reduce": reduce.reduce_kernels,
    "fold": fold.fold_kernel,
    "contract": contract.contract_kernel,
    "whole": launches.whole_kernels,
}


class Planner(Claims):
    """Builds a kernel for each stored value, and stores more where one does not fit."""

    def __init__(
        self, roots: list[Node], order: list[Node], limits: Limits, dying: frozenset[int] | None = None
    ):
        graph = graph_of(roots, order)
        self.max_inputs = limits.storage_buffers - 1
        self.nodes = graph.order  # by value; several values may be of one node
        self.index = places(graph.order)
        self.same: dict[int, int] = {}  # id of a node -> the value it shares, for roots that need no kernel
        self.target: set[int] = set()  # what the kernel that is being made stores
        self.emitted: set[int] = set()
        self.kernels: list[ir.Kernel] = []
        self.made: list[int] = []  # kernel -> the serial number of the node that it begins with
        self.extra: list[tuple[int, int]] = []
        self.leaves_die = dying
        super().__init__(graph, limits, dying or frozenset())
        # id of a node -> the group whose kernel stores it
        self.group_of = {id(n): g for g in row_groups.groups_of(self) for n in g.outputs}

    # --- what lowering asks ---

    def has(self, node: Node) -> bool:
        return node.buffer is not None or (id(node) in self.stored and id(node) in self.emitted)

    def is_due(self, node: Node) -> bool:
        """Whether a node has to be stored before a kernel that reads it, and is not yet."""
        return id(node) in self.stored and id(node) not in self.emitted and id(node) not in self.target

    def value_of(self, node: Node) -> int:
        return self.same.get(id(node), self.index[id(node)])

    def base_of(self, node: Node) -> tuple[Node, tuple[Move, ...]]:
        """The node whose elements `node` shows, and the moves from there."""
        chain: tuple[Move, ...] = ()
        node = alias(node)
        while node.op.kind == "movement" and not self.has(node):
            chain = (move_of(node), *chain)
            node = alias(node.inputs[0])
        return node, chain

    def share(self, same: dict[int, int]) -> None:
        """Have nodes (by their ids) be the values of others."""
        self.same |= same

    def temporary(self, elements: int, itemsize: int = 4) -> int:
        value = len(self.nodes) + len(self.extra)
        self.extra.append((value, itemsize * max(elements, 1)))
        return value

    # --- building ---

    def emit(self, node: Node) -> None:
        """Add the kernels that compute `node`, after those that it turns out to need."""
        # Whether a fusion fits is known only when its kernel is built: lowering raises NeedStore at what
        # can't be a part of it. That node is then stored first (it goes on the stack), and the kernel built
        # once more. Each round stores one node more or takes one group apart, so it ends.
        stack = [node]
        while stack:
            top = stack[-1]
            if top.buffer is not None or id(top) in self.emitted:
                stack.pop()
                continue
            group, mark = self.group_of.get(id(top)), len(self.extra)
            self.target = {id(n) for n in (group.outputs if group else (top,))}
            try:
                kernels = row_groups.kernels_of(self, group) if group else self._build(top)
                self._check_params(top, group, kernels or [])
            except NeedStore as need:
                del self.extra[mark:]
                below = self._below(top, group, need)
                if below is not None:
                    self.cut(below, need.why)
                    self.keep(below, need.why)
                    stack.append(below)
                    self._untie(stack)
                continue
            if kernels is None and group is not None:
                self._dissolve(group)
                continue
            self._commit(top, group, kernels or [])

    def _check_params(self, top: Node, group: row_groups.Group | None, kernels: list[Kernel]) -> None:
        """NeedStore where a kernel of several expressions (a group's phases, a head and its epilogue) asks
        for more Params than there are."""
        is_large = any(len(k.quantities) > PARAMS for k in kernels)
        if is_large and (group is not None or self._shorter(top) is not top):
            raise NeedStore(top, "the kernel asks for as many Params as there are")

    def _below(self, top: Node, group: row_groups.Group | None, need: NeedStore) -> Node | None:
        """What to store before a kernel that does not fit; None where it is a group's, which is then
        several kernels."""
        below = alias(need.node)
        # A node of the group itself, or one that is stored already, can't be helped by storing it: the kernel
        # binds too much. It leaves out an output that is made of the others, or becomes two.
        if group is not None:
            if self.has(below) or any(below is n for n in group.nodes):
                left = row_groups.left_out(self, group)
                if left is None:
                    self._divide(group)
                else:
                    del self.group_of[id(left)]
                return None
            return below
        below = self._shorter(top) if below is top else below
        assert below is not top and not self.has(below), f"{top} can't be lowered: {need.why}"
        return below

    def _untie(self, stack: list[Node]) -> None:
        """Where groups need values of each other, the least of them becomes several kernels."""
        # A group that is on the stack twice waits for itself: one of its values needs a node that needs
        # another of its values. All groups between wait with it; the smallest loses least by being several
        # kernels.
        found = [self.group_of.get(id(n)) for n in stack]
        first = next((i for i, g in enumerate(found[:-1]) if g is not None and g is found[-1]), None)
        if first is None:
            return
        least = min((g for g in found[first:] if g is not None), key=lambda g: prod(g.key))
        del stack[found.index(least) + 1 :]
        self._dissolve(least)
        if len(stack) > 1 and id(stack[-1]) not in self.stored:
            stack.pop()

    def _divide(self, group: row_groups.Group) -> None:
        """Have a group's values computed by two groups, or by themselves where these are no groups."""
        parts = row_groups.halves(self, group)
        in_parts = {id(n): part for part in parts for n in part.outputs}
        kept = [n for n in group.kept if id(n) not in in_parts]
        self._dissolve(replace(group, kept=kept))
        self.group_of |= in_parts

    def _dissolve(self, group: row_groups.Group) -> None:
        """Have a group's values computed by themselves, or where they are read if that was stored for its
        sake alone."""
        for n in group.outputs:
            self.group_of.pop(id(n), None)
        self.stored |= {id(n) for n in group.inner}
        for n in group.kept:
            if id(n) not in self.emitted and id(n) not in self.asked:
                self.stored.discard(id(n))

    def _commit(self, node: Node, group: row_groups.Group | None, kernels: list[Kernel]) -> None:
        done = group.outputs if group else [node, *self._parts(node)]
        self.emitted |= {id(n) for n in done}
        times = max(self.times.get(id(n), 1) for n in self._computed(node, group))
        why = [*dict.fromkeys(self.why[id(n)] for n in done if id(n) in self.why)]
        why = ", ".join(why if times == 1 else [*why, f"one for {times} that are equal"])
        if kernels:
            kernels = [replace(k, ends="the next kernel goes on") for k in kernels[:-1]] + [
                replace(kernels[-1], ends=why)
            ]
        first = group.first if group else self.head_of.get(id(node), node).serial
        self.kernels += kernels
        self.made += [first] * len(kernels)

    def _computed(self, node: Node, group: row_groups.Group | None) -> list[Node]:
        """The nodes that a kernel is known to compute."""
        head = self.head_of.get(id(node))
        return group.nodes if group else [node] if head is None else self.paths[id(head)]

    def _parts(self, node: Node) -> list[Node]:
        """The further results that the kernels of a node make too."""
        whole = node.inputs[0] if node.op.kind == "part" else node
        return [u for u in self.users[id(whole)] if u.op.kind == "part"] if whole.op.kind == "whole" else []

    def _shorter(self, tail: Node) -> Node:
        """Where to end an epilogue that does not fit: before its last computed node (the head's own inputs
        do fit)."""
        head = self.head_of.get(id(tail))
        path = self.paths[id(head)][:-1] if head is not None else []
        return next((n for n in reversed(path) if n.op.kind != "movement"), tail)

    def _build(self, node: Node) -> list[Kernel]:
        if node.op.kind == "part":
            if node.inputs[0].buffer is None:
                raise NeedStore(node.inputs[0], "its kernel makes a further result too")
            return launches.part_kernels(self, node)
        head = self.head_of.get(id(node))
        if head is not None:
            return BUILD[head.op.kind](self, head, node)
        base, chain = self.base_of(node) if node.op.kind == "movement" else (node, ())
        # a value may share the buffer of one that is computed beside it, never of a leaf: a leaf's may be
        # overwritten
        if base is not node and base.buffer is None and self.has(base) and kernel.is_whole(base.shape, chain):
            self.same[id(node)] = self.value_of(base)
            return []
        return map.map_kernel(self, node)

    def plan(self) -> Plan:
        # Kernels in the graph's order first: a node's come behind those that it turned out to need. What is
        # done to finished kernels is a pass, and their order matters: scheduling for memory must see split
        # sums joined with their readers, writing in place the final order, and bundles are merged last, since
        # a merged kernel can't be taken apart to tell which value it may write over.
        for n in self.order:
            if id(n) in self.stored and n.buffer is None:
                self.emit(n)
        draft = Draft(
            kernels=tuple(self.kernels),
            serials=self.made,
            nodes=self.nodes,
            roots={self.value_of(alias(n)) for n in self.roots},
            temporaries=dict(self.extra),
            dying=self.leaves_die,
            limits=self.limits,
        )
        for change in PASSES:
            change(draft)
        made = Plan(
            draft.kernels,
            leaves=tuple(i for i, n in enumerate(self.nodes) if n.buffer is not None),
            scalars=tuple(i for i, n in enumerate(self.nodes) if n.scalars and n.buffer is None),
            roots=tuple(self.value_of(alias(n)) for n in self.roots),
            stored=tuple(draft.stored.items()),
        )
        return replace(made, costs=costs_of(made, self.nodes))


def plan(
    roots: list[Node],
    limits: Limits | None = None,
    order: list[Node] | None = None,
    dying: frozenset[int] | None = None,
) -> Plan:
    """Turn the graph under `roots` into kernels.

    dying: the places in `order` of leaves that nobody reads later: they and temporaries may be written over.
    Without it, no kernel writes over what it reads.
    """
    order = order or toposort(roots)
    return Planner(roots, order, limits or Limits(), dying).plan()
