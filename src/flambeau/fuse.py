"""Fusion: a graph of nodes becomes a plan, the list of kernels that compute its roots. Pure: no GPU, no
I/O."""

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import prod

from . import contraction, heads, reduction, whole
from .lower import Move, NeedStore, alias, move_of
from .node import Node, toposort
from .reuse import in_place, soon

BUILD = {  # the ops that are kernels of their own
    "reduce": reduction.reduce_kernels,
    "fold": heads.fold_kernel,
    "contract": contraction.contract_kernel,
    "whole": whole.whole_kernels,
}
SOFTWARE_TURNS = 50000  # `Limits.turns` of software adapters: what llvmpipe allows, and room for epilogues
CHEAP_READS, CHEAP_COST = 1.5, 8  # an elementwise value below both is computed again rather than stored


@dataclass(frozen=True)
class Limits:
    """What a kernel may use; the portable minimum of WebGPU unless the device says more."""

    storage_buffers: int = 8
    invocations: int = 256
    groups: int = 65535
    workgroup_memory: int = 16384  # bytes
    software: bool = (
        False  # the adapter is a CPU: reads are dear, registers and barriers are not what they seem
    )
    # Turns of loops that a thread may take. llvmpipe ends a thread's loops, silently, when they have taken
    # 65,535 altogether (Mesa's LP_MAX_TGSI_LOOP_ITERATIONS).
    turns: int = 1 << 31  # no limit
    # (family, bucket) -> the variant that was measured to be fastest here; see `choice`.
    tuned: dict = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Plan:
    """Kernels in order, and where their values come from and go to.

    Values are numbered: the node's place in the graph's order, or above it for the plan's own temporaries.
    """

    kernels: tuple["heads.Kernel", ...]
    leaves: tuple[int, ...]
    scalars: tuple[int, ...]
    roots: tuple[int, ...]  # which value each root is
    stored: tuple[tuple[int, int], ...]  # (value, bytes) of everything that kernels write
    last_use: dict  # value -> the last kernel that reads it

    def __len__(self) -> int:
        return len(self.kernels)

    def __iter__(self):
        return iter(self.kernels)


class Planner:
    """Decides what is stored, and builds a kernel for each stored value."""

    def __init__(self, roots: list[Node], order: list[Node], limits: Limits):
        self.limits, self.roots, self.order = limits, roots, order
        self.max_inputs = limits.storage_buffers - 1
        self.index = {id(n): i for i, n in enumerate(order)}
        self.users: dict[int, list[Node]] = {id(n): [] for n in order}
        for n in order:
            if n.buffer is None:
                for i in n.inputs if n.op.kind != "part" else n.inputs[:1]:
                    self.users[id(i)].append(n)
        self.same: dict[int, int] = {}  # id of a node -> the value it shares, for roots that need no kernel
        self.stored: set[int] = set()
        self.emitted: set[int] = set()
        self.kernels: list[heads.Kernel] = []
        self.made: list[int] = []  # kernel -> the serial number of the node that it begins with
        self.extra: list[tuple[int, int]] = []
        self.tails: dict[int, Node] = {}  # id of a head -> the last node of its epilogue
        self.head_of: dict[int, Node] = {}  # id of a tail -> its head
        self.paths: dict[int, list[Node]] = {}  # id of a head -> head, ..., tail

    # --- what lowering asks ---

    def has(self, node: Node) -> bool:
        return node.buffer is not None or (id(node) in self.stored and id(node) in self.emitted)

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

    def temporary(self, elements: int, itemsize: int = 4) -> int:
        value = len(self.order) + len(self.extra)
        self.extra.append((value, itemsize * max(elements, 1)))
        return value

    # --- deciding ---

    def decide(self) -> None:
        for n in self.roots:
            self.stored.add(id(alias(n)))
        for n in self.order:
            if n.buffer is None and n.op.kind != "source" and n.param is not None:
                self.stored.add(id(alias(n)))
            if n.segment is not None:  # a checkpoint's inside, computed again once its gradient is there
                self.stored |= {id(alias(g)) for g in n.after}
        for n in self.order:
            if n.buffer is not None:
                continue
            if n.op.kind == "part":
                self.stored.add(id(n))
            if n.op.kind in BUILD:
                self._claim(n)
        for n in self.order:
            if (
                n.buffer is None
                and n.op.kind == "elementwise"
                and self._is_shared(n)
                and not self._is_cheap(n)
            ):
                self.stored.add(id(n))

    def _consumers(self, node: Node) -> list[Node]:
        """Who uses the value, looking through composites."""
        out = []
        for u in self.users[id(node)]:
            out += self._consumers(u) if u.op.kind == "composite" else [u]
        return out

    def _claim(self, head: Node) -> None:
        """Follow the single consumer while it is elementwise over the same elements: the epilogue."""
        path = [head]
        while head.op.kind != "whole":
            at = path[-1]
            users = self._consumers(at)
            if id(at) in self.stored or len(users) != 1 or id(users[0]) in self.head_of:
                break
            user = users[0]
            if user.dtype.is_packed:
                break  # heads write one element a thread, packed types four: a map kernel goes on from here
            same_order = user.op.name in ("reshape", "detach")
            if not same_order and not (user.op.kind == "elementwise" and user.shape == at.shape):
                break
            path.append(user)
        while path[-1].op.kind == "movement" and id(path[-1]) not in self.stored:
            path.pop()
        self._set_path(head, path)

    def _set_path(self, head: Node, path: list[Node]) -> None:
        old = self.tails.get(id(head))
        if old is not None:
            self.head_of.pop(id(old), None)
        self.paths[id(head)], self.tails[id(head)] = path, path[-1]
        self.head_of[id(path[-1])] = head
        self.stored.add(id(path[-1]))

    def _is_shared(self, node: Node) -> bool:
        return len(self._consumers(node)) > 1

    def _is_cheap(self, node: Node) -> bool:
        reads, cost = self._price(node, node, 0)
        return reads <= CHEAP_READS and cost <= CHEAP_COST

    def _price(self, node: Node, top: Node, depth: int) -> tuple[float, float]:
        """Buffers read (small ones count by their share) and work done to compute `node` again."""
        node = alias(node)
        if node.buffer is not None or (id(node) in self.stored and node is not top) or node.op.kind in BUILD:
            return min(1.0, prod(node.shape) / max(prod(top.shape), 1)), 0.0
        if node.op.kind == "source":
            return 0.0, 20.0 if node.op.name == "random_bits" else 0.0
        if depth > CHEAP_COST:
            return 9.0, 9.0
        parts = [self._price(i, top, depth + 1) for i in node.inputs]
        own = node.op.cost if node.op.kind == "elementwise" else 0
        return sum(p[0] for p in parts) + (9 if node.op.kind == "gather" else 0), own + sum(
            p[1] for p in parts
        )

    # --- building ---

    def store(self, node: Node) -> None:
        """Make a node stored now, cutting the epilogue that it was in the middle of."""
        node = alias(node)
        for head_id, path in self.paths.items():
            at = next((i for i, p in enumerate(path) if p is node), None)
            if at is not None and path[-1] is not node and id(path[0]) == head_id:
                self._set_path(path[0], path[: at + 1])
                break
        self.stored.add(id(node))
        self.emit(node)

    def emit(self, node: Node) -> None:
        """Add the kernels that compute `node`, after those that it turns out to need."""
        if id(node) in self.emitted or node.buffer is not None:
            return
        while True:
            mark = len(self.extra)
            try:
                kernels = self._build(node)
                break
            except NeedStore as need:
                del self.extra[mark:]
                below = self._shorter(node) if alias(need.node) is node else need.node
                assert below is not node and not self.has(below), f"{node} can't be lowered: {need.why}"
                self.store(below)
        for part in self._parts(node):
            self.emitted.add(id(part))
        self.kernels += kernels
        self.made += [self.head_of.get(id(node), node).serial] * len(kernels)
        self.emitted.add(id(node))

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

    def _build(self, node: Node) -> list["heads.Kernel"]:
        if node.op.kind == "part":
            if node.inputs[0].buffer is None:
                self.emit(node.inputs[0])  # with this part
                return []
            return whole.part_kernels(self, node)
        head = self.head_of.get(id(node))
        if head is not None:
            return BUILD[head.op.kind](self, head, node)
        base, chain = self.base_of(node) if node.op.kind == "movement" else (node, ())
        # a value may share the buffer of one that is computed beside it, never of a leaf: a leaf's may be
        # overwritten
        if base is not node and base.buffer is None and self.has(base) and heads.is_whole(base.shape, chain):
            self.same[id(node)] = self.value_of(base)
            return []
        return heads.map_kernel(self, node)

    def plan(self, dying: frozenset[int] | None = None) -> Plan:
        self.decide()
        for n in self.order:
            if id(n) in self.stored and n.buffer is None:
                self.emit(n)
        kernels = scheduled(self.kernels, self.made)
        written = {v for k in kernels for v in k.outputs}
        sizes = dict(self.extra)
        stored = tuple((v, sizes.get(v) or self.order[v].nbytes) for v in sorted(written))
        roots = tuple(self.value_of(alias(n)) for n in self.roots)
        known = dict(stored) | {v: self.order[v].nbytes for v in dying or ()}
        free = written - set(roots) | (dying or frozenset())
        if dying:
            kernels = soon(kernels, known, free)
        last = {v: i for i, k in enumerate(kernels) for v in k.inputs}
        if dying is not None:
            kernels = in_place(kernels, last, known, free)
        return Plan(
            kernels,
            tuple(i for i, n in enumerate(self.order) if n.buffer is not None),
            tuple(i for i, n in enumerate(self.order) if n.scalars and n.buffer is None),
            roots,
            stored,
            last,
        )


def scheduled(kernels: list["heads.Kernel"], made: list[int]) -> tuple["heads.Kernel", ...]:
    """The kernels in the order in which the program asked for what they begin with, as far as inputs allow.

    It is the order in which nothing lives longer than where operations run at once: a gradient by a weight
    is computed beside the one by its layer's input, whatever is done with it later.
    """
    writers: dict[int, list[int]] = {}  # several where each writes a part
    for i, k in enumerate(kernels):
        for v in k.outputs:
            writers.setdefault(v, []).append(i)
    users: list[list[int]] = [[] for _ in kernels]
    missing = [0] * len(kernels)
    for i, k in enumerate(kernels):
        for w in {w for v in k.inputs for w in writers.get(v, ()) if w != i}:
            users[w].append(i)
            missing[i] += 1
    ready = [(made[i], i) for i, n in enumerate(missing) if not n]
    heapify(ready)
    order = []
    while ready:
        _, i = heappop(ready)
        order.append(kernels[i])
        for u in users[i]:
            missing[u] -= 1
            if not missing[u]:
                heappush(ready, (made[u], u))
    assert len(order) == len(kernels), "kernels wait for each other"
    return tuple(order)


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
    return Planner(roots, order or toposort(roots), limits or Limits()).plan(dying)
