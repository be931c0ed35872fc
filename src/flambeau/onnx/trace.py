"""Traces a function to a graph whose sizes are formulas, with one additional trace for each dynamic size."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core.node import Node, next_serial, toposort
from ..core.op import OPS
from ..core.tree import is_tuple, rebuild
from ..device import DeviceLike
from ..export.trace import TracedInput, Tracer, inference, nodes_before, parts_of
from ..runtime import run
from ..runtime.state import record_with
from ..tensor import Tensor
from .graph import OnnxError

LEAVE = "leave that size out of dynamic="
IGNORED = {"site"}  # attributes that do not affect the value


class SizeFormula(NamedTuple):
    """An integer as a function of input sizes: base + the sum of factor * size by name."""

    base: int
    terms: tuple[tuple[str, int], ...] = ()


def constant_size(value: int) -> SizeFormula:
    """Return a constant formula."""
    return SizeFormula(int(value))


@dataclass(eq=False)
class TracedNode:
    """A node of the graph: as Node, with SizeFormula for all integers of shape and attributes."""

    node: Node
    inputs: list["TracedNode"]
    parents: list["TracedNode"]
    shape: tuple[SizeFormula, ...]
    attrs: dict[str, Any]
    scalar: Any = None  # of a constant; a Reciprocal where it is one of a SizeFormula

    @property
    def name(self) -> str:
        return self.node.op.name

    @property
    def dtype(self) -> Any:
        return self.node.dtype


class Reciprocal(NamedTuple):
    """1 / size."""

    size: SizeFormula


class ExportTracer(Tracer):
    """Raises an error for operations that a graph can't express."""

    def spoil(self, why: str) -> None:
        raise OnnxError(f"export: the model can't be exported: {why}")


@dataclass
class InputSpec:
    """An input: its name, dtype and sizes, which are numbers or names."""

    name: str
    dtype: Any
    shape: tuple[int | str, ...]

    def at(self, sizes: dict[str, int]) -> tuple[int, ...]:
        """Return the shape for sizes by name."""
        return tuple(sizes[n] if isinstance(n, str) else n for n in self.shape)


@dataclass
class TracedGraph:
    """A graph with formulas for sizes. outputs: their names; roots: their nodes."""

    specs: list[InputSpec]
    inputs: list[TracedNode]
    roots: list[TracedNode]
    outputs: list[str]
    # name: (input, dim) where it is read
    symbols: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])


def trace(
    fn: Callable[..., Any], specs: list[InputSpec], sizes: dict[str, int], device: DeviceLike | None
) -> TracedGraph:
    """Trace a call; sizes: the size of each name in the trace."""
    # One trace with the given sizes, and for each dynamic size one in which only it is doubled: the same
    # ops must occur in the same order, so that nodes correspond by position.
    start = next_serial()
    first = _Trace(fn, specs, sizes, device, start)
    others: dict[str, _Trace] = {}
    for name, n in sizes.items():
        other = _Trace(fn, specs, {**sizes, name: 2 * n}, device, start)
        if [n.op.name for n in other.order] != [n.op.name for n in first.order]:
            rule = f"the model computes differently if {name!r} is {2 * n} instead of {n}"
            raise OnnxError(f"export: {rule}: {LEAVE}")
        others[name] = other
    return _join(specs, sizes, first, others)


class _Trace:
    """One traced call, with numeric sizes."""

    def __init__(
        self,
        fn: Callable[..., Any],
        specs: list[InputSpec],
        sizes: dict[str, int],
        device: DeviceLike | None,
        start: int,
    ):
        self.inputs: list[Node] = []
        for place, spec in enumerate(specs):
            # A placeholder: TracedInput raises an error if the function reads its values.
            node = Node(OPS["buffer"], (), {}, spec.at(sizes), spec.dtype, device)
            node.buffer = TracedInput(place)
            self.inputs.append(node)
        # Nodes with serials from `start` on belong to the call; older ones are constants.
        tracer = ExportTracer(start)
        try:
            with record_with(tracer), inference(fn):  # type: ignore[arg-type]
                result = fn(*map(Tensor, self.inputs))
        finally:
            # Undo assignments of the traced call, newest first: an export must not change the model.
            for t, old in reversed(tracer.assigned):
                t.node, old.replaced = old, False
        if tracer.assigned:
            rule = "the model assigns to a tensor, and a graph has no state: call model.eval()"
            raise OnnxError(f"export: {rule}")
        tensors, _, names = parts_of(result)
        self.names, self.roots = names, [t.node for t in tensors]
        # Constants that are computed lazily, as a rotary table: they become initializers.
        run.realize(*(Tensor(x) for x in nodes_before(self.roots, start)))
        self.order = _order(self.roots, self.inputs)


def _order(roots: list[Node], inputs: list[Node]) -> list[Node]:
    """Return all nodes, and the parents of composites, which their graphs may not read."""
    return toposort([*roots, *inputs])


def _join(specs: Any, sizes: dict[str, int], first: _Trace, others: dict[str, _Trace]) -> TracedGraph:
    """Combine traces of one graph to a graph with formulas."""
    places = [(s, k, d) for k, spec in enumerate(specs) for d, s in enumerate(spec.shape)]
    symbols = {s: (k, d) for s, k, d in places if isinstance(s, str)}
    traced_nodes: dict[int, TracedNode] = {}
    for place, n in enumerate(first.order):
        counterparts = {name: t.order[place] for name, t in others.items()}
        formula = _Formula(sizes, n)
        shape = formula.of(n.shape, {k: t.shape for k, t in counterparts.items()})
        known_attrs = {a: v for a, v in n.attrs.items() if a not in IGNORED}
        attrs = {
            a: formula.of(v, {k: t.attrs[a] for k, t in counterparts.items()}) for a, v in known_attrs.items()
        }
        is_constant = n.buffer is not None
        traced = TracedNode(
            n, [] if is_constant else [traced_nodes[id(x)] for x in n.inputs], [], shape, attrs
        )
        if not is_constant:
            traced.parents = [traced_nodes[id(x)] for x in n.parents if id(x) in traced_nodes]
        if n.scalars and n.op.name == "constant":
            traced.scalar = formula.scalar(n.scalars[0], {k: t.scalars[0] for k, t in counterparts.items()})
        traced_nodes[id(n)] = traced
    inputs, roots = ([traced_nodes[id(n)] for n in nodes] for nodes in (first.inputs, first.roots))
    return TracedGraph(specs, inputs, roots, first.names, symbols)


class _Formula:
    """Derives formulas from the numbers of several traces."""

    def __init__(self, sizes: dict[str, int], node: Node):
        self.sizes, self._op = sizes, node.op.name.lstrip("_")

    def of(self, value: Any, twins: dict[str, Any]) -> Any:
        """Replace the integers of a value by SizeFormula."""
        if type(value) is int:
            return self.size(value, twins)
        if is_tuple(value):
            parts = (self.of(v, {k: t[i] for k, t in twins.items()}) for i, v in enumerate(value))
            return rebuild(value, parts)
        if any(value != t for t in twins.values()):
            raise OnnxError(f"export: {self._op}: {value!r} depends on a size: {LEAVE}")
        return value

    def size(self, value: int, twins: dict[str, int]) -> SizeFormula:
        # The model computes sizes affinely in each input size: f(2n) - f(n) = factor * n. A remainder means
        # that it does not (a product of two sizes, or a division that rounds).
        terms: list[tuple[str, int]] = []
        for name, other in twins.items():
            factor, rest = divmod(other - value, self.sizes[name])
            if rest:
                rule = f"{value} becomes {other} if {name!r} is twice as large"
                raise OnnxError(f"export: {self._op}: {rule}: {LEAVE}")
            if factor:
                terms.append((name, factor))
        return SizeFormula(value - sum(f * self.sizes[n] for n, f in terms), tuple(terms))

    def scalar(self, value: Any, twins: dict[str, Any]) -> Any:
        """Return a host number: itself, a SizeFormula, or the Reciprocal of one."""
        # `held` is the value of a number that recordings can change. NaN counts as equal to itself.
        value, twins = getattr(value, "held", value), {k: getattr(t, "held", t) for k, t in twins.items()}
        if all(t == value or (t != t and value != value) for t in twins.values()):
            return value
        if type(value) is int:
            return self.size(value, twins)
        # Means multiply by 1 / size: a number whose reciprocal is an integer in all traces is a Reciprocal.
        rounded, inverse = (
            {k: round(t) for k, t in twins.items()},
            {k: round(1 / t) for k, t in twins.items()},
        )
        if value == round(value) and all(t == rounded[k] for k, t in twins.items()):
            return self.size(round(value), rounded)
        if abs(round(1 / value) * value - 1) < 1e-9:
            return Reciprocal(self.size(round(1 / value), inverse))
        raise OnnxError(f"export: {self._op}: {value} depends on a size: {LEAVE}")
