"""Traces a function to its graph at a batch size, without running a kernel."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..capture.recorder import nodes_before
from ..core.modes import for_kernels, no_grad
from ..core.node import Node, describe, toposort
from ..core.op import OPS
from ..core.training import in_eval
from ..core.tree import is_dict, is_sequence
from ..device.protocol import Device
from ..errors import FlambeauError
from ..ops.random import Noted, generator
from ..runtime import run
from ..runtime.state import record_with
from ..tensor import Tensor
from .inputs import Spec

READS = "it reads values that depend on an input: a saved program has fixed sizes and branches"


class TracedInput:
    """A placeholder for the buffer of an input: planning only checks that a node has a buffer."""

    def __init__(self, place: int):
        self.place = place

    def __getattr__(self, name: str) -> Any:
        # Python itself looks for special methods, as copy and repr do.
        if name.startswith("__"):
            raise AttributeError(name)
        raise FlambeauError(READS)


class Tracer:
    """Replaces the recorder during tracing. No kernel runs, no value is read, and assignments are undone."""

    def __init__(self, start: int):
        self.start = start
        self.assigned: list[tuple[Tensor, Node]] = []
        self.host_data: dict[Node, Any] = {}
        self.numbers: dict[Any, None] = {}

    def defer(self, tensors: Any) -> None:
        pass

    def spoil(self, why: str) -> None:
        raise FlambeauError(f"save_program: the function can't be saved: {why}")

    def note(self, t: Tensor, old: Node) -> None:
        # Assignments to tensors of the call are part of its graph; only those to older tensors are state.
        if old.serial < self.start:
            self.assigned.append((t, old))


@dataclass
class Graph:
    """A call at one batch size.

    result: the container of the outputs, "tensor", "list" or "dict". begin, length: the position of the
    call's random numbers in the stream, and their number in blocks of four. states: for each tensor of the
    program's state, its value before the call and after it.
    """

    roots: list[Node]
    result: str
    names: list[str]
    inputs: list[TracedInput]
    begin: int = 0
    length: int = 0
    order: list[Node] = field(default_factory=list[Node])
    states: list[tuple[Node, Node]] = field(default_factory=list[tuple[Node, Node]])

    @property
    def wanted(self) -> list[Node]:
        """The results, then the new values of the state."""
        return [*self.roots, *(new for old, new in self.states if new is not old)]

    @property
    def dying(self) -> frozenset[int] | None:
        """The positions in `order` of state that gets another value and is no result itself; None without
        state."""
        if not self.states:
            return None
        kept = {id(_base_of(n)) for n in self.wanted}
        ends = {id(old) for old, new in self.states if new is not old and id(old) not in kept}
        return frozenset(i for i, n in enumerate(self.order) if id(n) in ends)


def _base_of(n: Node) -> Node:
    """Return the node whose buffer a result may share."""
    while n.buffer is None and n.op.kind in ("movement", "composite"):
        n = n.inputs[0]
    return n


@contextmanager
def inference(fn: Any) -> Generator[None]:
    """Disable gradients, and put a model's modules in eval mode, within the block."""
    with in_eval(fn) if hasattr(fn, "modules") else nullcontext(), no_grad():
        yield


def graph_of(
    fn: Callable[..., Any],
    specs: list[Spec],
    n: int,
    device: Device,
    start: int,
    states: Sequence[Tensor] = (),
) -> Graph:
    """Return the graph of a call with placeholders of batch size n; older tensors are computed.

    start: nodes from before the first call have smaller serial numbers. states: tensors that calls change.
    """
    places = [TracedInput(i) for i in range(len(specs))]
    inputs: list[Tensor] = []
    for spec, place in zip(specs, places, strict=True):
        node = Node(OPS["buffer"], (), {}, spec.at(n), spec.dtype, device)
        node.buffer = place
        inputs.append(Tensor(node))
    before = [t.node for t in states]
    call = _call(fn, inputs, start, states)
    changes = list(zip(before, call.after, strict=True))
    graph = Graph(call.roots, call.result, call.names, places, call.begin, call.length, states=changes)
    # Nodes that existed before the call are constants: computed now, they become weights.
    run.realize(*(Tensor(x) for x in nodes_before(graph.wanted, start)))
    graph.order = toposort(graph.wanted)
    return graph


class _Traced(NamedTuple):
    """What a call returned, the values of the state after it, and its part of the random stream."""

    roots: list[Node]
    result: str
    names: list[str]
    after: list[Node]
    begin: int
    length: int


def _call(fn: Callable[..., Any], inputs: list[Tensor], start: int, states: Sequence[Tensor]) -> _Traced:
    """Call the function, and put the state and the random stream back."""
    tracer, random = Tracer(start), Noted()
    try:
        with record_with(tracer), random, inference(fn), for_kernels():
            result = fn(*inputs)
        # before the state is put back: a result may be a tensor of the state
        tensors, kind, names = parts_of(result)
        roots, after = [t.node for t in tensors], [t.node for t in states]
    finally:
        random.take_back()
        # In reverse: the first assignment has the original node.
        for t, old in reversed(tracer.assigned):
            t.node, old.replaced = old, False
    known = {id(t) for t in states}
    other = next((t for t, _ in tracer.assigned if id(t) not in known), None)
    if other is not None:
        rule = f"the function assigns to {describe(other)}, which is not in the program's state"
        raise FlambeauError(f"{rule}: call model.eval() first, return the new value, or pass it as state=")
    return _Traced(roots, kind, names, after, random.begins[generator], random.blocks[generator])


def parts_of(result: Any) -> tuple[list[Tensor], str, list[str]]:
    """Return the tensors of a result, the kind of their container, and their names."""
    if isinstance(result, Tensor):
        return [result], "tensor", ["output"]
    parts = list(result.values()) if is_dict(result) else result
    if is_sequence(parts) and parts and all(isinstance(t, Tensor) for t in parts):
        names = result if is_dict(result) else range(len(parts))
        return list(parts), "dict" if is_dict(result) else "list", [str(name) for name in names]
    raise TypeError(f"the function returns {describe(result)}: return a tensor, or a list or dict of tensors")
