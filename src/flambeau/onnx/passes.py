"""Simplifies graphs: removes unused nodes, folds constants and shapes, merges norms into convolutions."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.node import Node
from ..tensor import Tensor
from .fixed import folds
from .graph import GraphDef, ModelDef, NodeDef

FEW = 1024  # the most elements of a value that is kept as a list too
ROOM = 1 << 28  # the most bytes of folded weights to keep; each call computes the rest


@dataclass(frozen=True)
class GraphPlan:
    """The remaining work for inputs of these shapes: the nodes, and the known values."""

    known: dict[str, Any] = field(default_factory=dict[str, Any])
    nodes: tuple[NodeDef, ...] = ()
    # constants that operators take as numbers, by id
    lists: dict[int, Any] = field(default_factory=dict[int, Any])
    # constants on the model's device; None until needed
    moved: dict[int, Any] = field(default_factory=dict[int, Any])


@dataclass(frozen=True)
class HostConstants:
    """Initializers by name that can't be assigned to."""

    is_unwatched = True  # ignored by recordings' guards: they do not change, and may be large
    values: dict[str, Any]


@dataclass(frozen=True)
class Initializers:
    """A model's initializers: host constants, and tensors that may be assigned to.

    single: for tensors of one element, the node of the file's number, and its array."""

    constants: HostConstants
    tensors: dict[str, Tensor]
    single: dict[str, tuple[Node, Tensor]]


@dataclass(eq=False)
class Folded:
    """Values folded from weights that count as constants, valid while these are unchanged."""

    values: dict[str, Any] = field(default_factory=dict[str, Any])
    # the names of these weights, and of all values that depend only on them
    names: set[str] = field(default_factory=set[str])
    # the subset that depends on no trainable floats
    static: set[str] = field(default_factory=set[str])
    sources: dict[str, tuple[Tensor, Node]] = field(default_factory=dict[str, tuple[Tensor, Node]])
    tensors: dict[str, Tensor] = field(default_factory=dict[str, Tensor])  # all of these weights
    # values that operators computed from weights, by caller
    kept: dict[Any, Any] = field(default_factory=dict[Any, Any])
    room: int = ROOM

    @staticmethod
    def of(weights: Initializers, frozen: bool) -> "Folded":
        """Return the initial state: all weights if they are frozen, else those without gradients."""
        # Integers never have gradients, so they are constants even in training.
        tensors = {n: t for n, t in weights.tensors.items() if frozen or not t.dtype.has_gradients}
        single = [(n, *pair) for n, pair in weights.single.items() if n in tensors]
        # The file's number holds only while the parameter still has the node that was loaded.
        numbers = {n: number for n, node, number in single if tensors[n].node is node}
        without_gradients = {n for n, t in tensors.items() if not t.dtype.has_gradients}
        constants = weights.constants.values
        names, static = {*constants, *tensors}, {*constants, *numbers, *without_gradients}
        folded = Folded(values={**numbers}, names=names, static=static, tensors=tensors)
        folded.follow({*numbers, *without_gradients})
        return folded

    def with_values(self, values: dict[str, Any], nodes: list[NodeDef]) -> "Folded":
        """Add these values, computed by nodes."""
        self.values |= values
        static = set(self.static)
        for node in nodes:
            self.follow(set(node.inputs))
            if static.issuperset(filter(None, node.inputs)):
                static |= set(node.outputs)
        self.static |= values.keys() & static
        self.names |= values.keys()
        return self

    def follow(self, names: set[str]) -> None:
        """Remember the current weights of these names, since kept values depend on them."""
        self.sources |= {n: (t, t.node) for n in names if (t := self.tensors.get(n)) is not None}

    def holds(self, weights: Initializers) -> bool:
        """Whether the weights are unchanged."""
        now = weights.tensors
        # Assignment replaces the tensor, an in-place op its node: both must be the remembered ones.
        return all(now[n] is t and t.node is node for n, (t, node) in self.sources.items())


def folded_nodes(graph: GraphDef, names: set[str], functions: Any) -> list[NodeDef]:
    """Return the nodes that depend only on values of these names."""
    constant_names = set(names)
    folded: list[NodeDef] = []
    for node in graph.nodes:
        if folds(node, constant_names, functions):
            folded.append(node)
            # Nodes are sorted (verify checks it), so one pass reaches all.
            constant_names |= {name for name in node.outputs if name}
    return folded


def names_read_outside(graph: GraphDef, nodes: list[NodeDef]) -> set[str]:
    """Return the names that a graph's outputs, and its nodes other than `nodes`, read."""
    inner = set(map(id, nodes))
    others = (names_read(n) for n in graph.nodes if id(n) not in inner)
    return {v.name for v in graph.outputs}.union(*others)


def needed_nodes(nodes: Iterable[NodeDef], wanted: Iterable[str]) -> tuple[NodeDef, ...]:
    """Return the nodes that the wanted values need."""
    needed = set(wanted)
    kept: list[NodeDef] = []
    for node in reversed(tuple(nodes)):
        if needed.intersection(node.outputs):
            kept.append(node)
            needed |= names_read(node)
    return tuple(reversed(kept))


def names_read(node: NodeDef) -> set[str]:
    """Return the names that a node and the graphs inside it read; a Gradient reads by attributes."""
    names = {n for n in node.inputs if n}
    if node.op == "Gradient":
        names.add(node.attributes.get("y", ""))
    for g in node.graphs():
        names |= {v.name for v in g.outputs}.union(*map(names_read, g.nodes))
    return names


def plan_of(graph: GraphDef, nodes: list[NodeDef], values: dict[str, Any], static: set[str]) -> GraphPlan:
    """Return the plan of a graph whose nodes have run: `static` are the names of values that depend on
    shapes only."""
    remaining = [n for n in nodes if not all(out in static for out in n.outputs if out)]
    needed = needed_nodes(remaining, [v.name for v in graph.outputs])
    read = {v.name for v in graph.outputs}.union(*map(names_read, needed))
    constants = {name: values[name] for name in static & read}
    # Shapes as Python lists: operators read them as numbers at each call, without `.tolist()`.
    small_tensors = [
        v for v in constants.values() if isinstance(v, Tensor) and v.device.kind == "cpu" and v.numel() <= FEW
    ]
    return GraphPlan(
        constants,
        needed,
        {id(v): v.tolist() for v in small_tensors},
        dict.fromkeys(map(id, constants.values())),
    )


def fold_norms(model: ModelDef) -> ModelDef:
    """Fold batch norms into the convolution before them, if nothing else reads its result; for inference."""
    graph = model.graph
    readers = Counter(name for n in graph.nodes for name in names_read(n)) + Counter(
        v.name for v in graph.outputs
    )
    makers = {out: n for n in graph.nodes for out in n.outputs}
    replaced: dict[int, NodeDef | None] = {}
    arrays, taken = dict(graph.initializers), {*readers, *makers, *graph.initializers}
    known_arrays = _known_arrays(graph)
    for norm in graph.nodes:
        conv = makers.get(norm.inputs[0]) if norm.inputs else None
        if norm.op != "BatchNormalization" or conv is None or not _folds(conv, norm, known_arrays, readers):
            continue
        names = [_own_name(n, graph, readers, taken) for n in (conv.inputs[1], norm.inputs[2])]
        arrays |= zip(names, _fold_weights(conv, norm, known_arrays), strict=True)
        replaced[id(conv)] = None
        replaced[id(norm)] = replace(conv, inputs=(conv.inputs[0], *names), outputs=norm.outputs[:1])
    nodes = tuple(r for n in graph.nodes if (r := replaced.get(id(n), n)) is not None)
    needed = set(map(id, needed_nodes(nodes, [v.name for v in graph.outputs])))
    nodes = tuple(n for n in nodes if id(n) in needed or not _is_constant(n, known_arrays))
    read = {v.name for v in graph.outputs}.union(*map(names_read, nodes))
    weights_read = {name: a for name, a in arrays.items() if name in read}
    inputs = tuple(v for v in graph.inputs if v.name in weights_read or v.name not in graph.initializers)
    return replace(model, graph=replace(graph, nodes=nodes, initializers=weights_read, inputs=inputs))


def _known_arrays(graph: GraphDef) -> dict[str, Any]:
    """Initializers and constants by all their names: PyTorch's exporter writes equal ones once, with Identity
    nodes for the other names."""
    known = dict(graph.initializers)
    for node in graph.nodes:
        if _is_constant(node, known):
            known[node.outputs[0]] = (
                node.attributes["value"] if node.op == "Constant" else known[node.inputs[0]]
            )
    return known


def _is_constant(node: NodeDef, known: dict[str, Any]) -> bool:
    """Whether a node returns a tensor of the file: a constant, or an alias of one."""
    if node.domain or len(node.outputs) != 1:
        return False
    is_alias = node.op == "Identity" and len(node.inputs) == 1 and node.inputs[0] in known
    return is_alias or (node.op == "Constant" and hasattr(node.attributes.get("value"), "dtype"))


def _own_name(name: str, graph: GraphDef, readers: Counter[Any], taken: set[str]) -> str:
    """Return the name for a folded initializer: its own, or a new one if other nodes read it too."""
    if name in graph.initializers and readers[name] == 1:
        return name
    name += ".folded"
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _folds(conv: NodeDef, norm: NodeDef, known: dict[str, Any], readers: Counter[Any]) -> bool:
    """Whether the weights are known, and nothing else reads the convolution's result."""
    if conv.op != "Conv" or conv.domain or norm.domain or len(norm.outputs) > 1:
        return False
    names = [n for n in (*conv.inputs[1:], *norm.inputs[1:]) if n]
    own = readers[conv.outputs[0]] == 1
    return own and all(n in known for n in names) and not norm.attributes.get("training_mode")


def _fold_weights(conv: NodeDef, norm: NodeDef, arrays: dict[str, Any]) -> tuple[Any, Any]:
    """Return the weight and bias of the combined convolution."""
    import numpy as np

    scale, shift, mean, variance = (arrays[n] for n in norm.inputs[1:5])
    weight = arrays[conv.inputs[1]]
    bias = arrays[conv.inputs[2]] if len(conv.inputs) > 2 and conv.inputs[2] else np.zeros_like(mean)
    factor = scale / np.sqrt(variance + np.array(norm.attributes.get("epsilon", 1e-5), variance.dtype))
    shaped = factor.reshape(-1, *[1] * (weight.ndim - 1))
    return (weight * shaped).astype(weight.dtype), ((bias - mean) * factor + shift).astype(weight.dtype)
