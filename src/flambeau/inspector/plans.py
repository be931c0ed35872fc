"""Records plans when they run, and what is known of each kernel without keeping the graph."""

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

Look = tuple[tuple[str, str, Any, str], ...]  # of steps: kind, name, dtype, op


class NodeSeen(NamedTuple):
    """A node of a planned graph. origin: the serial number of the program's node that it is for. inputs:
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

    kernels: for each kernel, the places of its nodes, inputs first. steps: for each kernel, the places of its
    steps' nodes by function and variable. scalars: the host's numbers at the last run, by the place of their
    node in the graph.
    """

    def __init__(self, compiled: Any, nodes: list[Node], emitted: "Emitted", known: Any):
        self.compiled = compiled
        plan: Plan = compiled.plan
        of_kernels = nodes_of(plan, nodes)
        all_nodes = [nodes[v] for v in plan.leaves] + [n for mine in of_kernels for n in mine]
        there = list({id(n): n for n in all_nodes}.values())
        places = {id(n): i for i, n in enumerate(there)}
        self.nodes = [_node_seen(n, places) for n in there]
        self.steps = [
            _steps(k, [*mine, *(nodes[v] for v in k.inputs if v < len(nodes))], emitted, places)
            for k, mine in zip(plan.kernels, of_kernels, strict=True)
        ]
        all_places = [tuple([places[id(n)] for n in mine]) for mine in of_kernels]
        # Kernels of one value (split sums) get the same nodes: their texts tell which belong to which.
        shared = Counter(all_places)
        self.kernels = [self._own(i, mine) if shared[mine] > 1 else mine for i, mine in enumerate(all_places)]
        values = (*plan.leaves, *(v for v, _ in plan.stored if v < len(nodes)))
        self.of_value = {v: places[id(nodes[v])] for v in values if id(nodes[v]) in places}
        self.sizes = dict(plan.stored) | {v: nodes[v].nbytes for v in plan.leaves}
        self.is_new = [k.shader not in known for k in plan.kernels]
        self.scalars: dict[int, Any] = {}

    def _own(self, at: int, mine: tuple[int, ...]) -> tuple[int, ...]:
        """If several kernels compute nodes together: those that a kernel's own text contains, if it says."""
        there = set(self.steps[at].values())
        own = [n for n in mine if self.nodes[n].kind != "elementwise" or n in there]
        return tuple(own) or mine

    def words(self, kernel: Kernel) -> tuple[int, ...]:
        """The 32 bits of each of a kernel's Params."""
        out: list[int] = []
        for value, (_, wgsl) in zip(kernel.quantities, kernel.shader.params, strict=True):
            if _is_host_number(value):
                value = part_of(self.scalars[value[1]], value[2])  # a host number, as it was at the last run
            out.append(word_of(value, wgsl))
        return tuple(out)


def _is_host_number(quantity: Any) -> bool:
    """Whether a quantity is the place of a host number, (kind, node's place, word), and no number itself."""
    return isinstance(quantity, tuple)


def _node_seen(node: Node, places: dict[int, int]) -> NodeSeen:
    kind = "leaf" if node.buffer is not None else node.op.kind
    inputs = () if kind == "leaf" else tuple([places[id(n)] for n in node.inputs if id(n) in places])
    label = node.attrs.get("label")
    name = label if isinstance(label, str) else node.op.name.lstrip("_")
    return NodeSeen(node.origin, name, kind, tuple(node.shape), node.dtype.short, inputs, node.param)


def _steps(kernel: Kernel, seen: list[Node], emitted: "Emitted", places: dict[int, int]) -> dict[str, int]:
    """The places of the nodes of a kernel's steps. A load belongs to the value it reads."""
    own, steps = {id(n) for n in seen}, dict[str, int]()
    for name, f in kernel.shader.functions:
        for step, node in zip(f.steps, emitted.of(f, own), strict=False):
            if id(node) in places:
                steps[f"{name}.{step.var}"] = places[id(node)]
    return steps


class Emitted:
    """The functions that lowering emitted, by the look of their steps, with each step's node."""

    def __init__(self) -> None:
        self.functions: dict[Look, list[tuple[list[Node], frozenset[int]]]] = {}

    def __call__(self, lines: tuple[WgslStep, ...], nodes: list[Node]) -> None:
        if lines:
            self.functions.setdefault(_look(lines), []).append((nodes, frozenset(map(id, nodes))))

    def of(self, f: WgslFunction, mine: set[int]) -> list[Node]:
        """The nodes of a function's steps: of the alike functions, the one with most nodes of the kernel."""
        # Steps have no identity after lowering, so functions are matched by the look of their steps.
        alike = self.functions.get(_look(f.steps), [])
        return max(alike, key=lambda one: len(mine & one[1]))[0] if alike else []


def _look(steps: Sequence[WgslStep]) -> Look:
    return tuple([(s.kind, s.var, s.dtype, s.name if s.kind == "op" else "") for s in steps])


class PlansSeen:
    """The plans of a block in the order of their first run, each once."""

    def __init__(self, sites: Sites):
        self.sites, self.emitted = sites, Emitted()
        self.seen: dict[tuple[int, tuple[Place, ...]], PlanSeen] = {}
        # by the id of a Cost: its plan, and the kernel's place
        self.of_cost: dict[int, tuple[PlanSeen, int]] = {}
        self.texts: dict[Shader, str] = {}  # of shaders rendered in the block
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
            for event, tell in listeners.items():
                stack.enter_context(subscribe(event, tell))
            yield

    def _note_planned(self, planned: Any, nodes: Any) -> None:
        self._planned = list(nodes)

    def _note_plan(self, compiled: Any, roots: list[Node], order: list[Node], dying: Any, known: Any) -> None:
        # A plan is reused for graphs of equal structure from other lines: each of these is recorded apart.
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
        """The origins of the nodes of all plans."""
        return {n.origin for seen in self.seen.values() for n in seen.nodes}

    def of(self, work: Cost) -> tuple[PlanSeen, int] | None:
        """The plan and place of a submitted kernel; None if it was planned before the block."""
        return self.of_cost.get(id(work))
