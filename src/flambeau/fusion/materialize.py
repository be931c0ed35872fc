"""The graph into the values that are stored: what is asked for, heads with their epilogues, what is dear."""

from math import prod
from typing import Any

from ..core.node import Node
from ..kernels.lower import alias
from .cse import Merged

HEADS = ("reduce", "fold", "contract", "whole", "part")  # the ops that are kernels of their own
FEW = 32  # nodes of an expression that a contraction may compute
CHEAP_READS, CHEAP_COST = 1.5, 8  # an elementwise value below both is computed again rather than stored


class Claims:
    """What a planner decides before it builds a kernel, and why: `why` has the reason by a node's id."""

    def __init__(self, graph: Merged, limits: Any, dying: frozenset[int]):
        self.roots, self.times, self.classes, self.limits = graph.roots, graph.times, graph.classes, limits
        self.dying = {id(graph.order[v]) for v in dying}  # leaves that may be written over
        self.order = order = graph.walk
        self.users: dict[int, list[Node]] = {id(n): [] for n in order}
        for n in order:
            if n.buffer is None:
                for i in n.inputs if n.op.kind != "part" else n.inputs[:1]:
                    self.users[id(i)].append(n)
        self.asked: set[int] = set()  # stored whatever the planner thinks of it
        self.stored: set[int] = set()
        self.why: dict[int, str] = {}
        self.tails: dict[int, Node] = {}  # id of a head -> the last node of its epilogue
        self.head_of: dict[int, Node] = {}  # id of a tail -> its head
        self.paths: dict[int, list[Node]] = {}  # id of a head -> head, ..., tail
        self.owner: dict[int, Node] = {}  # id of a node of an epilogue -> its head
        # id of an elementwise node -> that of the value whose kernel computes it
        self.ends: dict[int, int] = {}
        self.decide()

    def keep(self, node: Node, why: str) -> None:
        """Have a value stored."""
        self.stored.add(id(node))
        self.why.setdefault(id(node), why)

    def ask(self, node: Node, why: str) -> None:
        self.asked.add(id(alias(node)))
        self.keep(alias(node), why)

    def decide(self) -> None:
        # In this order, since each step asks what the ones before it stored: what is asked for whatever it
        # costs, then heads with their epilogues (which end at what is stored), then where each elementwise
        # value ends up, and with that which of them several kernels would compute, and whether that is dearer
        # than a store.
        for n in self.roots:
            self.ask(n, "it is a root")
        for n in self.order:
            if n.buffer is None and n.op.kind != "source" and n.param is not None:
                self.ask(n, "gradients are asked by it")
            if n.segment is not None:  # a checkpoint's inside, computed again once its gradient is there
                for g in n.after:
                    self.ask(g, "a checkpoint's inside waits for it")
        for n in self.order:
            if n.buffer is not None:
                continue
            if n.op.kind == "contract":
                self._keep_operands(n)
            if n.op.kind == "part":
                self.keep(n, "it is a further result")
            elif n.op.kind in HEADS:
                self.claim(n)
        self._meet()
        for n in self.order:
            wanted = n.buffer is None and n.op.kind == "elementwise"
            if wanted and self.is_shared(n) and not self.is_cheap(n):
                self.keep(n, "several read it, and it is dear")

    def _meet(self) -> None:
        """Find for each elementwise value the one that all its readers are a part of, element by element: the
        kernel of that computes it once, however many they are."""
        # From the last node to the first: a node's readers are known when it is reached.
        for n in reversed(self.order):
            if n.buffer is None and n.op.kind == "elementwise":
                ends = {self._end(u, n) for u in self.consumers(n)}
                self.ends[id(n)] = ends.pop() if len(ends) == 1 and id(n) not in self.stored else id(n)

    def _end(self, user: Node, n: Node) -> int:
        """What a reader of a value is a part of."""
        head = self.owner.get(id(user))
        if user.op.kind != "elementwise" or user.shape != n.shape:
            return id(user)
        return id(self.tails[id(head)]) if head is not None else self.ends[id(user)]

    def _keep_operands(self, n: Node) -> None:
        """Contractions read buffers: what they are given is stored, whoever else reads it. Only a short
        expression of buffers alone may be computed by one on a GPU, which decides that itself."""
        for i in n.inputs:
            i = alias(i)
            while i.op.kind == "movement" and i.buffer is None and id(i) not in self.stored:
                i = alias(i.inputs[0])
            is_left = not self.limits.software and self._is_of_leaves(i)
            if i.buffer is None and i.op.kind == "elementwise" and not is_left:
                self.keep(i, "contractions read buffers")

    def _is_of_leaves(self, node: Node) -> bool:
        """Whether a value is few elementwise ops and movements away from values that are there."""
        todo, left = [node], FEW
        while todo and left:
            n, left = alias(todo.pop()), left - 1
            if n.buffer is None and n.op.kind != "source":
                if n.op.kind not in ("elementwise", "movement") or id(n) in self.stored:
                    return False
                todo += n.inputs
        return not todo

    # --- epilogues ---

    def consumers(self, node: Node) -> list[Node]:
        """Who uses the value, each once, looking through composites."""
        out, todo = {}, [node]
        while todo:
            for u in self.users[id(todo.pop())]:
                if u.op.kind == "composite":
                    todo.append(u)
                else:
                    out[u] = None
        return list(out)

    def claim(self, head: Node) -> None:
        """Follow the single consumer while it is elementwise over the same elements: the epilogue."""
        path, why = [head], "it is a kernel of its own"
        while head.op.kind != "whole":
            user, why = self._next(path[-1], head)
            if user is None:
                break
            path.append(user)
        while path[-1].op.kind == "movement" and id(path[-1]) not in self.stored:
            path.pop()
        if head.op.kind == "contract" and self._is_update(path):
            path, why = path[:1], "what reads it is written over what it was"
        self.set_path(head, path, why)

    def _is_update(self, path: list[Node]) -> bool:
        """Whether an epilogue ends with a parameter's new value: of a map of its own that is written over the
        old one."""
        dies = self.dying and id(path[-1]) in self.asked
        return bool(dies) and any(id(x) in self.dying and x.shape == n.shape for n in path for x in n.inputs)

    def _next(self, at: Node, head: Node) -> tuple[Node | None, str]:
        """The node that goes on from a value inside its head's kernel, or none and why."""
        if id(at) in self.stored:
            return None, self.why[id(at)]
        users = self.consumers(at)
        if len(users) != 1:
            return None, "several read it" if users else "nothing reads it"
        user = users[0]
        if id(user) in self.head_of:
            return None, f"{user.op.name} is another kernel's"
        in_fours = head.op.kind == "contract" and not self.limits.software
        if user.dtype.is_packed and not in_fours:  # heads write one element a thread: a map goes on
            return None, f"{user.dtype.short} is written by four"
        if user.op.name in ("reshape", "detach") or (
            user.op.kind == "elementwise" and user.shape == at.shape
        ):
            return user, ""
        if user.op.kind in HEADS:
            return None, f"{user.op.name.strip('_')} reads it"
        return None, f"{user.op.name.strip('_')} has other elements"

    def set_path(self, head: Node, path: list[Node], why: str) -> None:
        old = self.tails.get(id(head))
        if old is not None:
            self.head_of.pop(id(old), None)
            for n in self.paths[id(head)][1:]:
                self.owner.pop(id(n), None)
        self.paths[id(head)], self.tails[id(head)] = path, path[-1]
        self.head_of[id(path[-1])] = head
        self.owner |= {id(n): head for n in path[1:]}
        self.keep(path[-1], why)

    def cut(self, node: Node, why: str) -> None:
        """End the epilogue that a node is in the middle of."""
        head = node if id(node) in self.paths else self.owner.get(id(node))
        if head is not None and self.tails[id(head)] is not node:
            path = self.paths[id(head)]
            at = next(i for i, p in enumerate(path) if p is node)
            self.set_path(head, path[: at + 1], why)

    # --- prices ---

    def is_shared(self, node: Node) -> bool:
        """Whether several kernels would read a value."""
        several = len(self.consumers(node)) > 1 and self.ends[id(node)] == id(node)
        return several and not self.were_apart(node)

    def were_apart(self, node: Node) -> bool:
        """Whether a value stands for several that had one reader each: that each reader computes it is no
        dearer than it was."""
        times = self.times.get(id(node), 1)
        return times > 1 and sum(self.times.get(id(u), 1) for u in self.consumers(node)) <= times

    def is_cheap(self, node: Node) -> bool:
        reads, cost = self._price(node, node, 0)
        return reads <= CHEAP_READS and cost <= CHEAP_COST

    def _price(self, node: Node, top: Node, depth: int) -> tuple[float, float]:
        """Buffers read (small ones count by their share) and work done to compute `node` again; more than is
        cheap where that is found on the way."""
        # 20 and 9 are only "more than cheap": the bits of a draw are dear, a gather reads where it likes, and
        # what lies deeper than CHEAP_COST nodes can't be cheap.
        node = alias(node)
        if node.buffer is not None or (id(node) in self.stored and node is not top) or node.op.kind in HEADS:
            return min(1.0, prod(node.shape) / max(prod(top.shape), 1)), 0.0
        if node.op.kind == "source":
            return 0.0, 20.0 if node.op.name == "random_bits" else 0.0
        if depth > CHEAP_COST:
            return 9.0, 9.0
        reads, cost = 9.0 * (node.op.kind == "gather"), node.op.cost * (node.op.kind == "elementwise")
        for i in node.inputs:
            if reads > CHEAP_READS or cost > CHEAP_COST:
                break
            more = self._price(i, top, depth + 1)
            reads, cost = reads + more[0], cost + more[1]
        return reads, cost
