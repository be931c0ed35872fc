"""Groups reductions over the same rows and the elementwise nodes around them: softmax, norms."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import prod

from ..core.node import Node, walk_nodes
from ..core.shape import Shape
from ..kernels.lower import PlanContext
from ..kernels.rows import row_kernel
from .group import Decision, FusedGroup, Lowered
from .materialize import HEADS, Materialization

SEARCHED_INPUTS = 64  # nodes below an input that the search for a dependence on a group visits at most
SEARCHED_ANCHORS = 6  # the most nodes below a reduction in a search for its inputs
MOST_READERS = 6  # the most views in a search for a value's readers
MOST_VIEWS = 8  # the most consecutive ones in that search


def find(values: Materialization) -> Iterator[Decision]:
    """Find the row groups of a graph whose stored values are decided on. Two decisions for each: the ends of
    epilogues, then the stored values. Each depends on the decisions before it, which the caller has
    applied."""
    finder = _RowFinder(values)
    for n in values.order:
        finder.visit(n)
    for candidate in finder.candidates():
        yield finder.cuts(candidate)
        yield finder.decide(candidate)


@dataclass(frozen=True, eq=False)
class RowGroup(FusedGroup):
    """Reductions over the same rows, and the elementwise nodes before and after them.

    key: the number and the length of the rows.
    """

    key: tuple[int, int] = 0, 0

    @property
    def reduces(self) -> list[Node]:
        return [n for n in self.nodes if n.op.kind == "reduce"]

    @property
    def size(self) -> int:
        return prod(self.key)

    @property
    def is_worth_a_kernel(self) -> bool:
        """Whether it stores something, and more than one reduction would alone."""
        is_full = any(prod(n.shape) == self.size for n in self.outputs)
        return bool(self.outputs) and (len(self.reduces) > 1 or is_full)

    def build(self, plan: PlanContext) -> Lowered | None:
        kernels = row_kernel(plan, self)
        return None if kernels is None else Lowered(kernels)

    def without_last(self) -> "RowGroup | None":
        """The group without its last output, if elementwise ops compute that from the other outputs, so that
        a kernel after them can."""
        *others, last = self.outputs
        if not others:
            return None
        inside = inputs_among(self.nodes)
        between = walk_nodes(inside(last), lambda n: () if n in others else inside(n))
        if any(n.op.kind == "reduce" for n in between):
            return None
        nodes = tuple(n for n in self.nodes if n is not last)
        return replace(self, nodes=nodes, outputs=tuple(others))

    def halves(self) -> list["RowGroup"]:
        """The first half of its outputs and the second; those of them that are still worth a kernel."""
        middle = len(self.outputs) // 2
        first, second = self.outputs[:middle], self.outputs[middle:]
        if not first:
            return []
        halves = self._part(first, ()), self._part(second, first)
        return [half for half in halves if half.is_worth_a_kernel]

    def _part(self, outputs: tuple[Node, ...], existing: tuple[Node, ...]) -> "RowGroup":
        """The part of the group that computes some of its outputs, when `there` are stored before."""
        needed = set(walk_nodes(outputs, inputs_among(set(self.nodes).difference(existing))))
        nodes = tuple(n for n in self.nodes if n in needed)
        for_group = tuple(n for n in self.for_group if n in outputs)
        serial = min(n.serial for n in nodes)
        return replace(self, nodes=nodes, outputs=outputs, for_group=for_group, serial=serial)


@dataclass(eq=False)
class _OpenRows:
    """A growing group: the number and length of its rows, its nodes, and its inputs from outside.

    min_depth: the least depth of the values that its reductions read.
    """

    key: tuple[int, int]
    min_depth: int
    inputs: list[Node]
    nodes: list[Node] = field(default_factory=list[Node])
    merged: "_OpenRows | None" = None  # the one that this one became a part of

    @property
    def size(self) -> int:
        return prod(self.key)

    @property
    def root(self) -> "_OpenRows":
        """The group that this one is a part of by now."""
        group = self
        while group.merged is not None:
            group = group.merged
        return group

    @property
    def reduces(self) -> list[Node]:
        return [n for n in self.nodes if n.op.kind == "reduce"]

    @property
    def is_promising(self) -> bool:
        return len(self.reduces) > 1 or any(prod(n.shape) == self.size for n in self.nodes)


class _RowFinder:
    """Finds groups of reductions over the same rows in one pass over the graph.

    A node's depth is the number of heads (reductions, contractions, ...) on the longest path below it. Inputs
    of a group must not depend on its members. They don't if their depth is at most that of the values that
    the group's reductions read; otherwise the graph below them is searched, up to a limit.
    """

    def __init__(self, values: Materialization):
        self.values = values
        self.depth: dict[Node, int] = {}
        self.group_of: dict[Node, _OpenRows] = {}
        self.by_anchor: dict[tuple[tuple[int, int], Node], _OpenRows] = {}
        self.all: list[_OpenRows] = []

    def candidates(self) -> list[_OpenRows]:
        """The groups that have several reductions, or a value as large as their rows."""
        return [g for g in self.all if g.merged is None and g.is_promising]

    # --- membership of groups ---

    def of(self, node: Node) -> _OpenRows | None:
        group = self.group_of.get(node)
        return group and group.root

    def visit(self, n: Node) -> None:
        below = max((self.depth[i] for i in (*n.inputs, *n.after)), default=0) if n.buffer is None else 0
        self.depth[n] = below + (n.op.kind in HEADS)
        if n.buffer is not None or n.segment is not None or n.after or not n.inputs:
            return
        if n.op.kind == "reduce":
            self._visit_reduction(n)
        elif n.op.kind in ("elementwise", "composite") or n.op.order in ("same", "repeated"):
            self._visit_elementwise(n)

    def _visit_reduction(self, n: Node) -> None:
        x = n.inputs[0]
        key = rows_of(x.shape, n.attrs["dims"])
        if key is None:
            return
        group = self.of(x)
        if group is None or group.key != key:
            group = _OpenRows(key, self.depth[x], [x])
            self.all.append(group)
        for anchor in self._anchors(x, group.size):
            other = self.by_anchor.get((key, anchor))
            self.by_anchor[key, anchor] = group = self._merge(group, other and other.root) or group
        self._add(n, group)

    def _anchors(self, x: Node, size: int) -> list[Node]:
        """The values that a reduction reads completely: siblings read the same ones."""
        anchors, todo = list[Node](), [x]
        for _ in range(SEARCHED_ANCHORS):
            if not todo:
                break
            n = self.values.alias[todo.pop()]
            is_inside = n.buffer is None and n not in self.values.stored and self.of(n) is None
            if is_inside and (n.op.kind == "elementwise" or n.op.order in ("same", "repeated")):
                todo += n.inputs
            elif prod(n.shape) == size and n.op.kind != "source":
                anchors.append(n)
        return anchors

    def _visit_elementwise(self, n: Node) -> None:
        near = dict.fromkeys(g for g in map(self.of, n.inputs) if g is not None)
        for first in sorted(near, key=lambda g: (-g.size, -g.min_depth)):  # the value with the most to read
            group = first.root  # an earlier turn may have merged it
            for other in near:
                group = self._merge(group, other.root) or group
            others = [i for i in n.inputs if self.of(i) is not group]
            if self._fits(n, group, others):
                group.inputs += others
                self._add(n, group)
                return

    def _fits(self, n: Node, group: _OpenRows, others: list[Node]) -> bool:
        """Whether a node that reads values of a group, and others, can be computed with it."""
        if not all(self._is_made_apart(i, group) for i in others):
            return False
        head = self.values.epilogues.head_around.get(n)
        return (head is None or self.of(head) is group) and all(
            keeps_rows(i.shape, n.shape, group.key) for i in n.inputs if self.of(i) is group
        )

    def _add(self, n: Node, group: _OpenRows) -> None:
        self.group_of[n] = group
        group.nodes.append(n)

    def _is_made_apart(self, node: Node, group: _OpenRows) -> bool:
        """Whether a node does not depend on the group; False if the search gives up."""

        # A node that depends on the group can't be read by the group: its kernel would wait for itself.
        # A node no higher than the group's lowest input can't depend on it, so the search stops there. A
        # stored value may have inputs, kept for a gradient: they are not part of this graph.
        def may_be_made_of_it(n: Node) -> bool:
            return n.buffer is None and self.depth[n] > group.min_depth

        below = walk_nodes(filter(may_be_made_of_it, (node,)), lambda n: filter(may_be_made_of_it, n.inputs))
        return not any(self.of(n) is group or i > SEARCHED_INPUTS for i, n in enumerate(below, 1))

    def _merge(self, a: _OpenRows, b: _OpenRows | None) -> _OpenRows | None:
        """Both as one; None where one would have to wait for the other."""
        if b is None or a is b or a.key != b.key:
            return None
        if len(a.inputs) + len(b.inputs) > SEARCHED_INPUTS:
            return None
        of_a = [i for i in a.inputs if self.of(i) is not b]
        of_b = [i for i in b.inputs if self.of(i) is not a]
        if not all(self._is_made_apart(i, b) for i in of_a):
            return None
        if not all(self._is_made_apart(i, a) for i in of_b):
            return None
        a.min_depth, a.inputs = min(a.min_depth, b.min_depth), of_a + of_b
        a.nodes += b.nodes
        b.merged, b.nodes = a, []
        return a

    # --- values that a group stores ---

    def cuts(self, group: _OpenRows) -> Decision:
        """Epilogues end where the group does."""
        cut: list[list[Node]] = []
        for head in group.reduces:
            nodes = self.values.epilogues.nodes[head]
            inside = [n for n in nodes if self.of(n) is group]
            if len(inside) < len(nodes):
                while inside[-1].op.kind == "movement":
                    inside.pop()
                cut.append(inside)
        return Decision(cut=cut)

    def decide(self, group: _OpenRows) -> Decision:
        """The values that the group stores: those that others read, as the planner would have stored them."""
        # The planner has already decided which values are stored (materialize). The group's kernel has all
        # its values available: values that only it reads are no longer stored, and values that others read
        # are, if computing them in each reader is expensive. From the last node to the first: whether others
        # read a
        # node depends on its readers.
        values, rank = self.values, self.values.rank
        nodes = sorted(group.nodes, key=lambda n: rank[id(n)])
        is_read: dict[Node, bool] = {}  # by others
        for_group: dict[Node, None] = {}
        for n in reversed(nodes):
            is_read[n] = self._is_read_by_others(n, group, is_read, for_group)
            if is_read[n] and n.op.kind == "elementwise" and self._is_expensive(n, group):
                for_group[n] = None
        stored = [n for n in nodes if n in values.stored or n in for_group]
        outputs = tuple(n for n in stored if n in values.required or is_read[n])
        store, private = tuple(for_group), self._computed_for(group)
        serial = min(n.serial for n in nodes)
        row_group = RowGroup(tuple(nodes), outputs, store, serial=serial, key=group.key)
        if not row_group.is_worth_a_kernel:
            return Decision(store=store, private=private)
        private += set(stored).difference(outputs)
        return Decision(store=store, private=private, group=row_group)

    def _is_read_by_others(
        self, n: Node, group: _OpenRows, is_read: dict[Node, bool], for_group: dict[Node, None]
    ) -> bool:
        """Whether a node outside reads this one, directly or through an unstored member of the group."""
        for u in self.values.users[id(n)]:
            if self.of(u) is not group:
                return True
            if is_read[u] and u not in for_group and u not in self.values.stored:
                return True
        return False

    def _computed_for(self, group: _OpenRows) -> list[Node]:
        """Values that would be stored only for the group to read: its kernel computes them."""
        todo, visited, private = list(group.inputs), set[Node](), list[Node]()
        while todo and len(visited) < SEARCHED_INPUTS:
            n = self.values.alias[todo.pop()]
            if n in visited:
                continue
            visited.add(n)
            passes = n.buffer is None and self.of(n) is None and n.op.kind in ("elementwise", "movement")
            if not passes or (n in self.values.stored and not self._is_for(n, group, private)):
                continue
            if n in self.values.stored:
                private.append(n)
            todo += n.inputs
        return private

    def _is_for(self, n: Node, group: _OpenRows, private: list[Node]) -> bool:
        """Whether a stored value needs to be stored for a group alone."""
        if n.op.kind != "elementwise" or n in self.values.required:
            return False
        if n in self.values.epilogues.head_around:
            return False
        return all(self._is_inside(u, group, private) for u in self.values.users[id(n)])

    def _is_inside(self, user: Node, group: _OpenRows, private: list[Node], depth: int = 0) -> bool:
        """Whether a user is computed in the group: as a part of it, or without a store only for parts of
        it."""
        if self.of(user) is group:
            return True
        is_stored = user in self.values.stored and user not in private
        users = self.values.users[id(user)]
        if is_stored or user.op.kind not in ("elementwise", "movement", "composite"):
            return False
        if not users or depth == MOST_VIEWS or len(users) > MOST_READERS:
            return False
        return all(self._is_inside(u, group, private, depth + 1) for u in users)

    def _is_expensive(self, n: Node, group: _OpenRows) -> bool:
        """Whether readers outside should load a node, not compute it: operands of contractions, and values
        that take several full buffers to compute."""
        if prod(n.shape) < group.size or n in self.values.stored:
            return False
        readers = self._readers(n, group)
        if any(self._reads_a_buffer(u) for u in readers):
            return True
        return bool(readers) and not self.values.were_apart(n) and not self.values.is_cheap(n)

    def _readers(self, n: Node, group: _OpenRows) -> list[Node]:
        """Who uses a value outside, looking through the group's views of it."""
        users, is_view = self.values.users, ("movement", "composite").__contains__
        views = walk_nodes(
            [n], lambda v: (u for u in users[id(v)] if self.of(u) is group and is_view(u.op.kind))
        )
        return [u for v in views for u in users[id(v)] if self.of(u) is not group]

    def _reads_a_buffer(self, user: Node, depth: int = 0) -> bool:
        """Whether a user, seen through views, reads its input from a buffer."""
        if user.op.kind in ("movement", "composite") and depth < MOST_VIEWS:
            return any(self._reads_a_buffer(u, depth + 1) for u in self.values.users[id(user)])
        return user.op.kind in ("contract", "opaque", "gather", "output")


def inputs_among(nodes: Iterable[Node]) -> Callable[[Node], list[Node]]:
    """A function that gives the inputs of a node that are among some nodes."""
    inside = frozenset(nodes)
    return lambda n: [i for i in n.inputs if i in inside]


def rows_of(shape: Shape, dims: tuple[int, ...]) -> tuple[int, int] | None:
    """The number and length of a reduction's rows; None if its dims are not the last."""
    real = [d for d in dims if shape[d] > 1]
    if not real or 0 in shape:
        return None
    row_dims = [d for d in range(len(shape)) if shape[d] > 1 and d not in real]
    if row_dims and row_dims[-1] > real[0]:
        return None
    return prod(shape[d] for d in row_dims), prod(shape[d] for d in real)


def keeps_rows(source: Shape, result: Shape, key: tuple[int, int]) -> bool:
    """Whether an op (or view) of a value of the group keeps each element in its row."""
    rows, length = key
    if prod(source) == prod(result):
        return prod(result) in (rows, rows * length)
    if prod(source) != rows or prod(result) != rows * length or len(source) > len(result):
        return False
    source = (1,) * (len(result) - len(source)) + tuple(source)
    ahead = 1
    for d, (a, b) in enumerate(zip(source, result, strict=True)):
        if a != b:
            return ahead == rows and all(s == 1 for s in source[d:])
        ahead *= a
    return False
