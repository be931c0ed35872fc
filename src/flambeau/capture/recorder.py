"""Recording: collects the computations of a call, and finds which values may be read later."""

import weakref
from collections.abc import Iterable
from sys import getrefcount
from typing import Any

from ..core.node import Node, next_serial, toposort, walk_nodes
from ..core.source_lines import user_line
from ..device.protocol import Device
from ..ops.random import Noted
from ..runtime import run
from ..runtime.state import note_assignment, stop_recording
from ..runtime.writes import update_views

ASSIGNED = "it assigns to a tensor argument: keep that tensor outside the arguments, or return the new value"


class Recorder:
    """Records one call. No kernel runs during the call: all its computations become one plan."""

    def __init__(self, device: Device, generators: Iterable[Any] = ()):
        self.device, self.start = device, next_serial()
        self.drawn = Noted(*generators)  # the call's random numbers
        self.numbers: dict[Any, None] = {}  # HostScalars that the call reads as Python numbers
        self.spoiled = ""  # why the call can't be replayed
        self.spoiled_at = ""  # the user's line that is the reason, "file.py:12"
        self.fixed: list[tuple[Any, Node]] = []  # tensors whose current values it uses
        self.assigned: dict[int, tuple[Any, Node]] = {}  # each tensor, with the node that it had before
        self.twins: dict[int, list[Any]] = {}  # id of a caller's tensor -> our copies among the arguments
        # tensors that the call makes from host numbers, with a hash of their values
        self.host_data: weakref.WeakKeyDictionary[Node, Any] = weakref.WeakKeyDictionary()
        self._asked: list[weakref.ref[Any]] = []
        # tensors that other threads assigned to, with the new node
        self._overheard: list[tuple[int, weakref.ref[Node]]] = []

    def defer(self, tensors: Any) -> None:
        """Note tensors that the call reads. All are computed together after the call."""
        self._asked += map(weakref.ref, tensors)

    def note(self, t: Any, old: Node) -> None:
        """Note an assignment: every replay must put the new value where the old one was."""
        if old.serial < self.start:  # the call's own tensors are dropped after it
            self.assigned.setdefault(id(t), (t, old))
        for twin in self.twins.get(id(t), ()):  # for the function, the copies are one tensor
            self.spoiled = self.spoiled or ASSIGNED
            if twin.node is not t.node:
                was, twin.node = twin.node, t.node
                note_assignment(twin, was)
                if twin.link is not None:
                    update_views(twin, was)

    def fix(self, t: Any, node: Node) -> None:
        """Note that the call uses a value that was computed before it from a tensor's current value."""
        self.fixed.append((t, node))

    def overhear(self, t: Any, old: Node) -> None:
        """Note that another thread assigned to a tensor."""
        self._overheard.append((id(t), weakref.ref(t.node)))

    def is_disturbed(self, outputs: list[Any]) -> bool:
        """Whether another thread computed a result of the call, or assigned to a tensor that it uses."""
        nodes = _reachable([*(t.node for t in outputs), *(t.node for t, _ in self.assigned.values())])
        computed = any(n.buffer is not None and n.op.kind != "leaf" and n.serial > self.start for n in nodes)
        overheard = {id(n) for _, ref in self._overheard if (n := ref()) is not None}
        assigned = any(key in self.assigned for key, _ in self._overheard)
        return computed or assigned or not overheard.isdisjoint(map(id, nodes))

    def spoil(self, why: str) -> None:
        """Stop recording: the rest of the call and all later calls run unrecorded."""
        if not self.spoiled:
            self.spoiled, self.spoiled_at = why, user_line()
        stop_recording()
        run.realize(*(t for ref in self._asked if (t := ref()) is not None))

    @property
    def trouble(self) -> str:
        """Return why the call can't be recorded, with the user's line that is the reason; "" if it can."""
        return f"{self.spoiled} ({self.spoiled_at})" if self.spoiled and self.spoiled_at else self.spoiled

    @property
    def before(self) -> list[tuple[Any, Node]]:
        """Return the tensors from before the call that it assigns to, with their previous values."""
        return [pair for pair in self.assigned.values() if pair[1].serial < self.start]

    def settle(self, outputs: list[Any]) -> list[Node]:
        """Return the nodes that a replay computes: results, and new values of tensors from before the
        call. Earlier nodes without values are computed now, once."""
        moved = [t.node for t, _ in self.before]
        roots = [n for n in dict.fromkeys([*(t.node for t in outputs), *moved]) if n.buffer is None]
        first = nodes_before([*roots, *(old for _, old in self.before)], self.start)
        if first:
            with self.device.lock:
                run.compute_nodes(first)
        return [n for n in roots if n.buffer is None]


def nodes_before(roots: list[Node], start: int) -> list[Node]:
    """Find the nodes of the graph with serial numbers below `start` that have no value."""
    old: dict[int, Node] = {}
    for n in toposort(roots):
        if n.serial < start:
            continue
        for x in n.inputs:
            if x.buffer is None and x.serial < start and not _is_constant(x):
                old[id(x)] = x
    old |= {id(n): n for n in roots if n.serial < start and n.buffer is None}
    return list(old.values())


def _is_constant(n: Node) -> bool:
    if n.buffer is not None:  # its inputs have been dropped
        return False
    if n.op.kind == "movement":
        return _is_constant(n.inputs[0])
    return n.op.name in ("constant", "iota")


def held_nodes(roots: list[Node], known: dict[int, int]) -> set[Node]:
    """Find the nodes of a graph that may be read later, by references to them or to nodes that depend on
    them.

    known: how many references to a node (by its id) the caller has, in addition to the graph's. The roots
    do not count: they get their values now.
    """
    nodes = _reachable(roots)
    root_ids, inside, counts = {id(n) for n in roots}, _count_inside(nodes, known), _references(nodes)
    more = [count - ALONE - inside[id(n)] for n, count in zip(nodes, counts, strict=True)]
    return set(_reachable([n for n, m in zip(nodes, more, strict=True) if m > 0 and id(n) not in root_ids]))


def _count_inside(nodes: list[Node], known: dict[int, int]) -> dict[int, int]:
    """Count the references to each node from within the graph, and collect the nodes with other holders."""
    counts = {id(n): known.get(id(n), 0) for n in nodes}
    for t in {id(t): t for n in nodes for t in (n.inputs, n.parents, n.after)}.values():
        for x in t:
            if id(x) in counts:
                counts[id(x)] += 1
    return counts


def _reachable(tops: list[Node]) -> list[Node]:
    """Collect all nodes reachable through inputs and parents, including those with values."""
    return list(walk_nodes(tops, lambda n: (*n.inputs, *n.parents, *n.after) if n.buffer is None else ()))


def _references(values: list[Any]) -> list[int]:
    return [getrefcount(v) for v in values]


ALONE = _references([object()])[0]  # the reference count of an object that only a list holds
