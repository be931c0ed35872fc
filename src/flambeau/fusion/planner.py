"""Plans a graph of nodes: builds the kernels that compute its roots. Pure: no GPU, no I/O."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ..core.events import emit
from ..core.limits import Limits
from ..core.node import Node, toposort
from ..kernels import fold, ir, launches, map, reduce
from ..kernels.contract import contract
from ..kernels.lower import PARAMS, NeedStore, PlanContext, alias, is_whole
from . import inlined_rows, multi_output, row_groups, sibling_products, sibling_reductions
from .group import Decision, FusedGroup, Lowered
from .materialize import Materialization
from .passes import Draft, run_passes
from .plan import Plan, costs_of
from .repeats import Repeats
from .rewrite import graph_of

MANY = 4  # stored values from which equal expressions are searched: a single layer has fewer
BUILD = {  # the ops that are kernels of their own
    "reduce": reduce.reduce_kernels,
    "fold": fold.fold_kernel,
    "contract": contract.contract_kernel,
    "opaque": launches.opaque_kernels,
    "pair": map.pair_kernel,
}


class Planner:
    """Builds a kernel for each stored value, and stores further values if one does not fit."""

    def __init__(
        self,
        roots: list[Node],
        order: list[Node],
        limits: Limits,
        dying: frozenset[int] | None = None,
        built: Callable[[list[ir.Kernel]], None] | None = None,
    ):
        self.built = built
        graph = graph_of(roots, order)
        self.values = values = Materialization(graph, limits, dying or frozenset())
        self.nodes = graph.order  # indexed by value; one node may own several values
        self.dying = dying
        self.context = PlanContext(
            limits,
            limits.storage_buffers - 1,
            values.index,
            values.users,
            graph.classes,
            values.epilogues.nodes,
            values.epilogues.head_of,
            values.stored,
            len(self.nodes),
        )
        self.repeats = Repeats(self.context) if len(values.stored) >= MANY else None
        self.kernels: list[ir.Kernel] = []  # that were built so far
        self.serials: list[int] = []  # of each kernel, that of the node that it begins with
        self.inlined: dict[Node, FusedGroup] = {}  # rows that products compute -> the group that would
        self.group_of = self._find_groups()  # node -> the group whose kernel stores it

    def _find_groups(self) -> dict[Node, FusedGroup]:
        """Find values that one kernel computes together. Each finder sees the changes of the groups
        before."""
        values = self.values
        groups: list[FusedGroup | None] = []
        if len(values.stored) == 1:
            return {}
        for decision in row_groups.find(values):
            values.apply(decision)
            is_inlined = decision.group is not None and self._inline(decision.group)
            groups.append(None if is_inlined else decision.group)
        grouped = {n for g in groups if g is not None for n in g.nodes}
        for finder in (sibling_reductions, multi_output):
            for decision in finder.find(values, grouped):
                values.apply(decision)
                groups.append(decision.group)
        if self.dying is not None and not values.limits.software:
            for head, second in sibling_products.find(values, self.context.classes):
                self.context.beside[head] = second
                values.apply(Decision(private=(values.epilogues.tail(second),)))
        return {n: g for g in groups if g is not None for n in g.outputs}

    def _inline(self, group: FusedGroup) -> bool:
        """Leave rows, such as those of a norm, to the products that are their only readers, if these may be
        skinny.
        They compute the group's sums themselves."""
        if self.dying is None or not inlined_rows.is_for_products(self.values, group):
            return False
        (rows,) = group.outputs
        self.inlined[rows] = group
        self.context.inlined.update(id(n) for n in group.nodes if n.op.kind == "reduce")
        self.values.apply(Decision(private=group.outputs))
        return True

    def _store_inlined(self, rows: Node) -> None:
        """Have the group's kernel store rows after all: a product can't compute them."""
        group = self.inlined.pop(rows)
        self.context.inlined.difference_update(id(n) for n in group.nodes)
        self.group_of[rows] = group
        self.values.store(rows, "contractions read buffers")

    # --- building ---

    def emit(self, node: Node) -> None:
        """Add the kernels that compute `node`, after the kernels of all stored values that they read."""
        # Whether a fusion fits is known only when its kernel is built: lowering raises NeedStore at a node
        # that can't be part of it. That node is then stored first (it goes on the stack), and the kernel is
        # built again. Each round stores one more node or dissolves a group, so the loop terminates.
        context, stack = self.context, [node]
        while stack:
            top = stack[-1]
            if top.buffer is not None or top in context.emitted:
                stack.pop()
                continue
            group, temporaries_before = self.group_of.get(top), len(context.temporaries)
            context.current.clear()
            context.current.update(group.outputs if group else (top,))
            try:
                build = partial(self._lower, top, group)
                lowered = build() if self.repeats is None else self.repeats.build(top, group, build)
                self._check_params(top, group, lowered)
            except NeedStore as need:
                for value in list(context.temporaries)[temporaries_before:]:
                    del context.temporaries[value]
                first = self._store_first(top, group, need)
                if first is not None:
                    stack.append(first)
                    self._break_cycle(stack)
                continue
            if lowered is not None:
                self._commit(top, group, lowered)
            elif group is not None:
                self._ungroup(group)

    def _lower(self, top: Node, group: FusedGroup | None) -> Lowered | None:
        return group.build(self.context) if group else self._build(top)

    def _build(self, node: Node) -> Lowered:
        """The kernels of a value that is in no group."""
        if node.op.kind == "output":
            if node.inputs[0].buffer is None:
                raise NeedStore(node.inputs[0], "its kernel also computes another result")
            return Lowered(launches.part_kernels(self.context, node))
        head = self.values.epilogues.head_of.get(node)
        if head is not None:
            return Lowered(BUILD[head.op.kind](self.context, head, node))
        base, chain = self.context.base_of(node) if node.op.kind == "movement" else (node, ())
        # a value may share the buffer of one that is computed with it, never a leaf's, which may be
        # overwritten
        is_made = base.buffer is None and self.context.has_buffer(base)
        if base is not node and is_made and is_whole(base.shape, chain):
            return Lowered([], {node: self.context.value_of(base)})
        return Lowered(map.map_kernel(self.context, node))

    def _check_params(self, top: Node, group: FusedGroup | None, built: Lowered | None) -> None:
        """NeedStore if a kernel of several expressions (a group's phases, a head and its epilogue) needs more
        Params than the limit."""
        is_large = built is not None and any(len(k.quantities) > PARAMS for k in built.kernels)
        if is_large and (group is not None or self._before_end(top) is not top):
            raise NeedStore(top, "the kernel needs more Params than the limit")

    def _commit(self, node: Node, group: FusedGroup | None, built: Lowered) -> None:
        """Add built kernels to the plan."""
        outputs = group.outputs if group else (node, *self._parts(node))
        self.context.emitted.update(outputs)
        self.context.shared.update(built.shared)
        times = max(self.values.times.get(n, 1) for n in self._nodes_of(node, group))
        why = dict.fromkeys([self.values.why[n] for n in outputs if n in self.values.why])
        why = ", ".join([*why, *([f"one for {times} that are equal"] if times > 1 else [])])
        if built.kernels:
            *earlier, last = built.kernels
            self.kernels += [replace(k, ends="continued by the next kernel") for k in earlier]
            self.kernels.append(replace(last, ends=why))
            if self.built is not None:
                self.built(built.kernels)
        serial = group.serial if group else self.values.epilogues.head_of.get(node, node).serial
        self.serials += [serial] * len(built.kernels)

    def _nodes_of(self, node: Node, group: FusedGroup | None) -> Sequence[Node]:
        """The nodes that a kernel surely computes."""
        head = self.values.epilogues.head_of.get(node)
        return group.nodes if group else (node,) if head is None else self.values.epilogues.nodes[head]

    def _parts(self, node: Node) -> list[Node]:
        """The additional results that the kernels of a node compute."""
        node_of_results = node.inputs[0] if node.op.kind == "output" else node
        return (
            [u for u in self.values.users[id(node_of_results)] if u.op.kind == "output"]
            if node_of_results.op.kind == "opaque"
            else []
        )

    # --- values that do not fit ---

    def _store_first(self, top: Node, group: FusedGroup | None, need: NeedStore) -> Node | None:
        """Store a value that a kernel can't compute, and return it. None if the kernel is a group's, which is
        then made smaller instead."""
        blocked = alias(need.node)
        # A product may fail at the rows, or at a sum over them, such as where it reads the rows transposed.
        rows = next((n for n, inlined in self.inlined.items() if blocked in inlined.nodes), None)
        if rows is not None:
            self._store_inlined(rows)
            return rows
        if group is None:
            blocked = self._before_end(top) if blocked is top else blocked
            assert blocked is not top and not self.context.has_buffer(blocked), (
                f"{top} can't be lowered: {need.why}"
            )
        elif self.context.has_buffer(blocked) or blocked in group.nodes:
            # A node of the group itself, or one that is stored already, can't be helped by storing it: the
            # kernel binds too much.
            self._shrink(group)
            return None
        self.values.cut_epilogue(blocked, need.why)
        self.values.store(blocked, need.why)
        return blocked

    def _before_end(self, tail: Node) -> Node:
        """The node at which an epilogue that does not fit is cut: the one before its last computed node (the
        head's own inputs always fit)."""
        head = self.values.epilogues.head_of.get(tail)
        nodes = self.values.epilogues.nodes[head][:-1] if head is not None else []
        return next((n for n in reversed(nodes) if n.op.kind != "movement"), tail)

    def _shrink(self, group: FusedGroup) -> None:
        """Remove the last output of a group if it can be computed from the others; otherwise split the group
        in two, or into single values if the halves are not worth a kernel."""
        smaller = group.without_last()
        if smaller is not None:
            del self.group_of[group.outputs[-1]]
            self.group_of |= dict.fromkeys(smaller.outputs, smaller)
            return
        of_halves = {n: half for half in group.halves() for n in half.outputs}
        self._ungroup(replace(group, for_group=tuple(n for n in group.for_group if n not in of_halves)))
        self.group_of |= of_halves

    def _break_cycle(self, stack: list[Node]) -> None:
        """If groups wait for each other, dissolve the smallest of them."""
        # A group that is on the stack twice waits for itself: one of its values needs a node that needs
        # another of its values. All groups between them wait too; splitting the smallest costs the least.
        groups = [self.group_of.get(n) for n in stack]
        first = next((i for i, g in enumerate(groups[:-1]) if g is not None and g is groups[-1]), None)
        if first is None:
            return
        least = min((g for g in groups[first:] if g is not None), key=lambda g: g.size)
        del stack[groups.index(least) + 1 :]
        self._ungroup(least)
        if len(stack) > 1 and stack[-1] not in self.values.stored:
            stack.pop()

    def _ungroup(self, group: FusedGroup) -> None:
        """Compute a group's values by separate kernels; values that only the group stored are computed where
        they are read."""
        for n in group.outputs:
            self.group_of.pop(n, None)
        unstored = [n for n in group.for_group if n not in self.context.emitted]
        self.values.apply(Decision(store=group.private, private=unstored))

    def plan(self) -> Plan:
        """Build the kernels of all stored values and run the passes over them."""
        for n in self.values.order:
            if n.buffer is None and n in self.values.stored:
                self.emit(n)
        roots = tuple([self.context.value_of(alias(n)) for n in self.values.roots])
        nodes, temporaries, kernels = self.nodes, self.context.temporaries, tuple(self.kernels)
        if len(kernels) > 1 or self.dying:  # one kernel can at most overwrite values that nothing else reads
            draft = Draft(
                kernels, self.serials, nodes, set(roots), temporaries, self.dying, self.values.limits
            )
            kernels = run_passes(draft)
        leaves = tuple([i for i, n in enumerate(nodes) if n.buffer is not None])
        scalars = tuple([i for i, n in enumerate(nodes) if n.scalars and n.buffer is None])
        written = sorted({v for k in kernels for v in k.outputs})
        sizes = {v: temporaries.get(v) or nodes[v].nbytes for v in (*written, *leaves)}
        stored = {v: sizes[v] for v in written}
        plan = Plan(kernels, leaves, scalars, roots, tuple(stored.items()))
        plan = replace(plan, costs=costs_of(plan, nodes, self.context.index, sizes))
        emit("planned", plan, self.nodes)
        return plan


def plan(
    roots: list[Node],
    limits: Limits | None = None,
    order: list[Node] | None = None,
    dying: frozenset[int] | None = None,
    built: Callable[[list[ir.Kernel]], None] | None = None,
) -> Plan:
    """Turn the graph under `roots` into kernels.

    dying: positions in `order` of leaves without later readers: they and temporaries may be overwritten.
    Without it, no kernel overwrites its inputs.
    built: called with kernels as soon as they are built; later passes may change them.
    """
    order = order or toposort(roots)
    return Planner(roots, order, limits or Limits(), dying, built).plan()
