"""Records plans when they run, and facts about each kernel, without keeping the graph."""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from ..core.events import subscribe
from ..core.node import Node
from ..fusion.plan import Cost, Plan, nodes_of
from ..fusion.planner import plan
from ..kernels.ir import Kernel, Shader, WgslFunction, WgslStep
from ..runtime.pipeline import part_of, word_of
from .sites import Place, Sites

StepsKey = tuple[tuple[str, str, Any, str], ...]  # (kind, name, dtype, op) of each step


class NodeSeen(NamedTuple):
    """A node of a planned graph. origin: the serial number of the program's node that it computes. inputs:
    places in `PlanSeen.nodes`."""

    origin: int
    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    inputs: tuple[int, ...]
    param: Any


class PlanSeen:
    """A plan that ran: its nodes, those of each kernel, and the contents of its buffers.

    kernels: the places of each kernel's nodes, inputs first. steps: the places of each kernel's steps' nodes,
    by function and variable. scalars: the host's numbers at the last run, by their node's place in the graph.
    """

    def __init__(self, compiled: Any, nodes: list[Node], emitted: "Emitted", known: Any):
        self.compiled = compiled
        plan: Plan = compiled.plan
        of_kernels = nodes_of(plan, nodes)
        all_nodes = [nodes[v] for v in plan.leaves] + [n for kernel_nodes in of_kernels for n in kernel_nodes]
        unique = list({id(n): n for n in all_nodes}.values())
        places = {id(n): i for i, n in enumerate(unique)}
        self.nodes = [_node_seen(n, places) for n in unique]
        self.steps = [
            _steps(k, [*computed, *(nodes[v] for v in k.inputs if v < len(nodes))], emitted, places)
            for k, computed in zip(plan.kernels, of_kernels, strict=True)
        ]
        all_places = [tuple([places[id(n)] for n in computed]) for computed in of_kernels]
        # Kernels of one value (split sums) get the same nodes: their texts tell which belong to which.
        shared = Counter(all_places)
        self.kernels = [self._nodes_in_text(i, p) if shared[p] > 1 else p for i, p in enumerate(all_places)]
        values = (*plan.leaves, *(v for v, _ in plan.stored if v < len(nodes)))
        self.of_value = {v: places[id(nodes[v])] for v in values if id(nodes[v]) in places}
        self.sizes = dict(plan.stored) | {v: nodes[v].nbytes for v in plan.leaves}
        self.is_new = [k.shader not in known for k in plan.kernels]
        self.scalars: dict[int, Any] = {}

    def _nodes_in_text(self, index: int, nodes: tuple[int, ...]) -> tuple[int, ...]:
        """Return those of the nodes that several kernels compute together which a kernel's text contains."""
        in_text = set(self.steps[index].values())
        contained = [n for n in nodes if self.nodes[n].kind != "elementwise" or n in in_text]
        return tuple(contained) or nodes

    def words(self, kernel: Kernel) -> tuple[int, ...]:
        """Return the 32 bits of each of a kernel's Params."""
        out: list[int] = []
        for value, (_, wgsl) in zip(kernel.quantities, kernel.shader.params, strict=True):
            if _is_host_number(value):
                value = part_of(self.scalars[value[1]], value[2])  # a host number, as it was at the last run
            out.append(word_of(value, wgsl))
        return tuple(out)


def _is_host_number(quantity: Any) -> bool:
    """Whether a quantity is not a number, but the place of a host number: (kind, node's place, word)."""
    return isinstance(quantity, tuple)


def _node_seen(node: Node, places: dict[int, int]) -> NodeSeen:
    kind = "leaf" if node.buffer is not None else node.op.kind
    inputs = () if kind == "leaf" else tuple([places[id(n)] for n in node.inputs if id(n) in places])
    label = node.attrs.get("label")
    name = label if isinstance(label, str) else node.op.name.lstrip("_")
    return NodeSeen(node.origin, name, kind, tuple(node.shape), node.dtype.short, inputs, node.param)


def _steps(kernel: Kernel, seen: list[Node], emitted: "Emitted", places: dict[int, int]) -> dict[str, int]:
    """Return the places of the nodes of a kernel's steps. A load belongs to the value that it reads."""
    ids, steps = {id(n) for n in seen}, dict[str, int]()
    for name, f in kernel.shader.functions:
        for step, node in zip(f.steps, emitted.of(f, ids), strict=False):
            if id(node) in places:
                steps[f"{name}.{step.var}"] = places[id(node)]
    return steps


class Emitted:
    """The functions that lowering emitted, by the key of their steps, with the node of each step."""

    def __init__(self) -> None:
        self.functions: dict[StepsKey, list[tuple[list[Node], frozenset[int]]]] = {}

    def __call__(self, lines: tuple[WgslStep, ...], nodes: list[Node]) -> None:
        if lines:
            self.functions.setdefault(_steps_key(lines), []).append((nodes, frozenset(map(id, nodes))))

    def of(self, f: WgslFunction, ids: set[int]) -> list[Node]:
        """Return the nodes of a function's steps. ids: the kernel's nodes, which select among equal
        functions."""
        # Steps have no identity after lowering, so functions are matched by the key of their steps.
        alike = self.functions.get(_steps_key(f.steps), [])
        return max(alike, key=lambda one: len(ids & one[1]))[0] if alike else []


def _steps_key(steps: Sequence[WgslStep]) -> StepsKey:
    return tuple([(s.kind, s.var, s.dtype, s.name if s.kind == "op" else "") for s in steps])


class PlansSeen:
    """The plans of a block in the order of their first run, each once."""

    def __init__(self, sites: Sites):
        self.sites, self.emitted = sites, Emitted()
        self.seen: dict[tuple[int, tuple[Place, ...]], PlanSeen] = {}
        # id of a Cost -> its plan, and the kernel's place in it.
        self.of_cost: dict[int, tuple[PlanSeen, int]] = {}
        self.texts: dict[Shader, str] = {}  # texts of shaders that were rendered in the block
        self._planned: list[Node] | None = None  # the nodes of the last graph

    @contextmanager
    def watching(self) -> Generator[None]:
        """Record the plans of a block."""
        listeners: dict[str, Callable[..., None]] = {
            "emitted": self.emitted,
            "planned": self._note_planned,
            "plan": self._note_plan,
        }
        listeners["rendered"] = self.texts.__setitem__
        with ExitStack() as stack:
            for event, listener in listeners.items():
                stack.enter_context(subscribe(event, listener))
            yield

    def _note_planned(self, planned: Any, nodes: Any) -> None:
        self._planned = list(nodes)

    def _note_plan(self, compiled: Any, roots: list[Node], order: list[Node], dying: Any, known: Any) -> None:
        # A plan is reused for graphs of equal structure from other lines: record each of these separately.
        lines = tuple([self.sites.place(n.origin) for n in roots])
        seen = self.seen.get((id(compiled), lines))
        if seen is None:
            if self._planned is None:  # the plan is cached: planning the same graph again gives the same one
                device = next(n.device for n in order if n.device is not None)
                plan(roots, device.limits, order, dying)
            assert self._planned is not None
            seen = self.seen[id(compiled), lines] = PlanSeen(compiled, self._planned, self.emitted, known)
        self._planned = None
        self.emitted.functions.clear()
        scalar_nodes: set[int] = {
            q[1] for k in compiled.plan.kernels for q in k.quantities if _is_host_number(q)
        }
        seen.scalars = {i: order[i].scalars[0] for i in scalar_nodes}
        for i, cost in enumerate(compiled.plan.costs):
            self.of_cost[id(cost)] = seen, i

    def origins(self) -> set[int]:
        """Return the origins of the nodes of all plans."""
        return {n.origin for seen in self.seen.values() for n in seen.nodes}

    def of(self, work: Cost) -> tuple[PlanSeen, int] | None:
        """Return the plan and place of a submitted kernel; None if it was planned before the block."""
        return self.of_cost.get(id(work))
