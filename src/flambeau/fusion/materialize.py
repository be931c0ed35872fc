"""Decides which values of a graph are stored: roots, heads with their epilogues, and expensive shared
values."""

from collections.abc import Iterable
from math import prod

from ..core.limits import Limits
from ..core.node import Node, walk_nodes
from ..core.shape import View
from ..kernels.lower import MOVES, move_of
from .group import Decision
from .rewrite import Merged

HEADS = ("reduce", "fold", "contract", "opaque", "output", "pair")  # the ops that are kernels of their own
WHOLE = ("detach", "reshape")  # the movements that keep all elements in their order
OPERAND_NODES = 32  # of an expression that a contraction may compute
CHEAP_READS, CHEAP_COST = 1.5, 8  # an elementwise value below both is computed again rather than stored
# A small value of this price, such as a rotation's sines, that more than OFTEN read is stored: each of its
# readers would wait for it.
SMALL_VALUE, DEAR, OFTEN = 1 << 14, 4, 8
# Above both CHEAP bounds: the price of a gather's reads, and of an expression too deep to be priced.
EXPENSIVE = 9.0


class Epilogues:
    """Where the kernel of each head ends: at its tail, the last node of its epilogue."""

    def __init__(self):
        self.nodes: dict[Node, list[Node]] = {}  # head -> head, ..., tail
        self.head_of: dict[Node, Node] = {}  # tail -> its head
        self.head_around: dict[Node, Node] = {}  # node of an epilogue -> the head

    def tail(self, head: Node) -> Node:
        return self.nodes[head][-1]

    def set(self, nodes: list[Node]) -> None:
        """Replace the epilogue of nodes[0], the head, by these nodes."""
        head = nodes[0]
        if head in self.nodes:
            self.head_of.pop(self.tail(head), None)
            for n in self.nodes[head][1:]:
                self.head_around.pop(n, None)
        self.nodes[head] = nodes
        self.head_of[nodes[-1]] = head
        self.head_around |= dict.fromkeys(nodes[1:], head)


class Materialization:
    """Which values of a graph are stored, and why. Passes that store or drop another value record it here.

    users: the readers of a node, and rank: a number larger than that of each input; both by a node's id.
    alias: the node that computes a node's value (see kernels/lower.alias).
    dying: leaves that may be overwritten. stored: the stored values, in addition to the leaves.
    """

    def __init__(self, graph: Merged, limits: Limits, dying: frozenset[int]):
        self.roots, self.order, self.limits = graph.roots, graph.walk, limits
        self.times, self.index = graph.times, graph.places
        self.rank = self.index if graph.in_order else {id(n): i for i, n in enumerate(graph.walk)}
        self.dying = {graph.order[v] for v in dying}
        self.users: dict[int, list[Node]] = {id(n): [] for n in self.order}
        self.alias: dict[Node, Node] = {}
        for n in self.order:
            self.alias[n] = self.alias[n.inputs[0]] if n.op.kind == "composite" and n.buffer is None else n
            if n.buffer is None:
                for i in n.inputs if n.op.kind != "output" else n.inputs[:1]:
                    self.users[id(i)].append(n)
        self.epilogues = Epilogues()
        self.stored: set[Node] = set()
        self.required: set[Node] = set()  # stored whatever the planner thinks of it
        self.why: dict[Node, str] = {}  # the reason that each is stored for
        self._computed_in: dict[Node, Node] = {}  # elementwise node -> the value whose kernel computes it
        self._decide()

    # --- stored values ---

    def store(self, node: Node, why: str) -> None:
        self.stored.add(node)
        self.why.setdefault(node, why)

    def require(self, node: Node, why: str) -> None:
        """Store a value, whatever is decided later."""
        node = self.alias[node]
        self.required.add(node)
        self.store(node, why)

    def apply(self, decision: Decision) -> None:
        """Carry out a group's decision; required values stay stored."""
        for nodes in decision.cut:
            old = self.epilogues.tail(nodes[0])
            if old not in self.required:
                self.stored.discard(old)
            self._end_epilogue(nodes, "others read it")
        for n in decision.store:
            self.store(n, "others read it")
        self.stored.difference_update(n for n in decision.private if n not in self.required)

    def cut_epilogue(self, node: Node, why: str) -> None:
        """End the epilogue that a node is in the middle of with that node."""
        head = node if node in self.epilogues.nodes else self.epilogues.head_around.get(node)
        if head is not None and self.epilogues.tail(head) is not node:
            nodes = self.epilogues.nodes[head]
            self._end_epilogue(nodes[: nodes.index(node) + 1], why)

    def _end_epilogue(self, nodes: list[Node], why: str) -> None:
        self.epilogues.set(nodes)
        self.store(nodes[-1], why)

    def _decide(self) -> None:
        # In this order, since each step uses the decisions of the previous ones: requested values; then heads
        # with their epilogues, which end at stored values; then the kernel of each elementwise value, which
        # shows which of them several kernels would compute, and whether that costs more than a store.
        for n in self.roots:
            self.require(n, "it is a root")
        for n in self.order:
            is_computed = n.buffer is None and n.op.kind != "source"
            if is_computed and n.param is not None and not self._shows_leaf(n):
                self.require(n, "a gradient with respect to it is requested")
            if n.segment is not None:  # a checkpoint's inner value, recomputed for its gradient
                for g in n.after:
                    self.require(g, "a checkpoint's inside waits for it")
        for n in self.order:
            if n.buffer is not None:
                continue
            if n.op.kind == "contract":
                self._store_operands(n)
            if n.op.kind == "output":
                self.store(n, "it is a further result")
            elif n.op.kind in HEADS:
                self._grow_epilogue(n)
        self._find_sole_consumers()
        for n in self.order:
            is_elementwise = n.buffer is None and n.op.kind == "elementwise"
            if is_elementwise and self._is_shared(n) and not self.is_cheap(n):
                self.store(n, "several read it, and it is expensive")
            elif is_elementwise and self._is_read_often(n):
                self.store(n, "many read it")

    @staticmethod
    def _shows_leaf(node: Node) -> bool:
        """Whether a value has the elements of a leaf in their order, as in x.detach().requires_grad_()."""
        while node.buffer is None and (node.op.name in WHOLE or node.op.kind == "composite"):
            node = node.inputs[0]
        return node.buffer is not None

    def _store_operands(self, n: Node) -> None:
        """Store the operands of a contraction, which reads buffers. On a GPU its builder may compute a short
        expression of buffers, so such an expression is left to it."""
        for i in n.inputs:
            moves: list[Node] = []  # from the operand down to the value that it shows
            while i.buffer is None and (
                i.op.kind == "composite" or (i.op.kind == "movement" and i not in self.stored)
            ):
                if i.op.kind == "movement":
                    moves.append(i)
                i = i.inputs[0]
            is_left = not self.limits.software and self._is_of_leaves(i)
            if i.buffer is None and i.op.kind == "elementwise" and not is_left:
                self.store(self._copied_last(i, moves), "contractions read buffers")

    def _copied_last(self, value: Node, moves: list[Node]) -> Node:
        """The node to store so that an operand is a view of it: the value, or the last of its movements
        before a reshape that would copy it, if nothing else reads the value. A kernel then computes the
        elements in their last order at once. moves: from the operand down."""
        view, current = View.of(value.shape), value
        # not strict: an operand that is the value itself has no movements
        for node, then in zip(reversed(moves), [*reversed(moves[:-1]), None], strict=False):
            if node.op.name == "reshape" and then is not None and then.op.name == "reshape":
                continue  # the next one says all
            move = move_of(node)
            moved = MOVES[move.name](view, *move.args)
            if moved is None:
                return current
            if len(self.consumers(current)) > 1:
                break
            view, current = moved, node
        return value

    def _is_of_leaves(self, node: Node) -> bool:
        """Whether a few elementwise and movement ops compute a value from existing values."""
        todo, room = [node], OPERAND_NODES  # a node counts as often as it is read
        while todo and room:
            n, room = self.alias[todo.pop()], room - 1
            if n.buffer is None and n.op.kind != "source":
                if n.op.kind not in ("elementwise", "movement", "decode") or n in self.stored:
                    return False
                todo += n.inputs
        return not todo

    # --- epilogues ---

    def consumers(self, node: Node) -> list[Node]:
        """Who uses the value, each once, looking through composites."""
        readers, todo = dict[Node, None](), [node]
        while todo:
            for u in self.users[id(todo.pop())]:
                if u.op.kind == "composite":
                    todo.append(u)
                else:
                    readers[u] = None
        return list(readers)

    def _grow_epilogue(self, head: Node) -> None:
        """Follow the single consumer while it is elementwise over the same elements."""
        nodes, why = [head], "it is a kernel of its own"
        while head.op.kind not in ("opaque", "pair"):
            user, why = self._next(nodes[-1], head)
            if user is None:
                break
            nodes.append(user)
        while nodes[-1].op.kind == "movement" and nodes[-1] not in self.stored:
            nodes.pop()
        if head.op.kind == "contract" and self._is_update(nodes):
            nodes, why = nodes[:1], "its reader overwrites it"
        self._end_epilogue(nodes, why)

    def _is_update(self, nodes: list[Node]) -> bool:
        """Whether an epilogue ends with a parameter's new value, which a separate map can write over the old
        one."""
        if not self.dying or nodes[-1] not in self.required:
            return False
        return any(x in self.dying and x.shape == n.shape for n in nodes for x in n.inputs)

    def _next(self, node: Node, head: Node) -> tuple[Node | None, str]:
        """The next node of an epilogue; None and the reason where the epilogue ends."""
        if node in self.stored:
            return None, self.why[node]
        users = self.consumers(node)
        if len(users) != 1:
            return None, "several read it" if users else "nothing reads it"
        user = users[0]
        if user in self.epilogues.head_of:
            return None, f"{user.op.name} is another kernel's"
        in_fours = head.op.kind == "contract" and not self.limits.software
        if user.dtype.is_packed and not in_fours:  # heads write one element a thread: a map continues
            return None, f"{user.dtype.short} is written by four"
        if user.op.order == "same" or (user.op.kind == "elementwise" and user.shape == node.shape):
            return user, ""
        if user.op.kind in HEADS:
            return None, f"{user.op.name.strip('_')} reads it"
        return None, f"{user.op.name.strip('_')} has other elements"

    # --- which kernel computes which value ---

    def _find_sole_consumers(self) -> None:
        """Record for each elementwise value the stored value whose kernel holds all its readers, element by
        element. That kernel computes it once, whatever the number of readers."""
        # From the last node to the first: a node's readers are known when it is reached.
        for n in reversed(self.order):
            if n.buffer is None and n.op.kind == "elementwise":
                tails = {self.end_of(u, n) for u in self.consumers(n)}
                is_one = len(tails) == 1 and n not in self.stored
                self._computed_in[n] = tails.pop() if is_one else n

    def end_of(self, user: Node, n: Node) -> Node:
        """The value whose kernel computes a reader."""
        if user.op.kind != "elementwise" or user.shape != n.shape:
            return user
        head = self.epilogues.head_around.get(user)
        return self.epilogues.tail(head) if head is not None else self._computed_in[user]

    def _is_shared(self, node: Node) -> bool:
        """Whether several kernels would read a value."""
        several = len(self.consumers(node)) > 1 and self._computed_in[node] is node
        return several and not self.were_apart(node)

    def were_apart(self, node: Node) -> bool:
        """Whether a value replaced several equal ones with one reader each: if each reader computes it, the
        work is the same as before the merge."""
        times = self.times.get(node, 1)
        return times > 1 and sum(self.times.get(u, 1) for u in self.consumers(node)) <= times

    def _is_read_often(self, node: Node) -> bool:
        """Whether this many kernels would compute a small value of some price that one kernel more pays."""
        # A number, such as a step's rate, takes a binding of each reader: fewer updates would share a kernel.
        if not 1 < prod(node.shape) <= SMALL_VALUE or self._price(node, node, 0)[1] < DEAR:
            return False
        last_readers, todo = set[Node](), [node]
        while todo and len(last_readers) <= OFTEN:
            n = todo.pop()
            views = [u for u in self.users[id(n)] if u.op.kind in ("movement", "composite")]
            last_readers |= {self.end_of(u, n) for u in self.users[id(n)] if u not in views}
            todo += views
        return len(last_readers) > OFTEN

    # --- prices ---

    def is_cheap(self, node: Node) -> bool:
        """Whether computing a value again costs less than storing and reading it."""
        reads, cost = self._price(node, node, 0)
        return reads <= CHEAP_READS and cost <= CHEAP_COST

    def _price(self, node: Node, top: Node, depth: int) -> tuple[float, float]:
        """Buffers read (small ones count by their share) and work done to compute `node` again. The search
        stops as soon as either exceeds the limit of cheap."""
        node = self.alias[node]
        is_stored = node in self.stored and node is not top
        if node.buffer is not None or is_stored or node.op.kind in HEADS:
            share = 0.5 if node.op.name == "words" else 1.0  # the other word is adjacent
            return share * min(1.0, prod(node.shape) / max(prod(top.shape), 1)), 0.0
        if node.op.kind == "source":
            return 0.0, node.op.cost
        if depth > CHEAP_COST:  # of nodes that cost something each
            return EXPENSIVE, EXPENSIVE
        reads = EXPENSIVE if node.op.kind == "gather" else 0.0  # it reads where it likes
        cost = node.op.cost if node.op.kind == "elementwise" else 0.0
        for i in node.inputs:
            if reads > CHEAP_READS or cost > CHEAP_COST:
                break
            more = self._price(i, top, depth + 1)
            reads, cost = reads + more[0], cost + more[1]
        return reads, cost


def are_independent(
    values: Materialization, nodes: Iterable[Node], members: set[Node], first: int, most: int
) -> bool:
    """Whether no node depends on a member of a group. first: the rank of the first member. False if the
    search would visit more than `most` nodes."""

    def may_depend_on(inputs: Iterable[Node]) -> list[Node]:
        return [i for i in inputs if i.buffer is None and values.rank[id(i)] >= first]

    below = walk_nodes(may_depend_on(nodes), lambda n: may_depend_on((*n.inputs, *n.after)))
    return not any(n in members or count > most for count, n in enumerate(below, 1))
