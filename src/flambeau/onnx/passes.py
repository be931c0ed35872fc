"""Graphs into shorter ones: what nobody asks for, what shapes decide, norms inside convolutions."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..tensor import Tensor
from .graph import GraphDef, ModelDef, NodeDef

# operators whose results differ from call to call, or by the model's mode
DRAWS = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"}
DRAWS |= {"Dropout", "BatchNormalization", "Gradient"}
FEW = 1024  # elements of what is kept as a list too
OF_SHAPES = {"Shape", "Size"}  # what they give depends on no element


@dataclass(frozen=True)
class GraphPlan:
    """What is left to do for inputs of given shapes: nodes, and the values that are known."""

    known: dict[str, Any]
    nodes: tuple[NodeDef, ...]
    lists: dict[int, Any]  # the known values that operators take as numbers, by id
    moved: dict[int, Any]  # the known values on the model's device, by id; None until asked for there


def depends_on_shapes(node: NodeDef, known: set[str], functions: Any) -> bool:
    """Whether a node gives the same for all inputs of the same shapes; known: names of such values."""
    if (node.domain, node.op, node.overload) in functions or node.op in DRAWS or any(node.graphs()):
        return False
    return (node.op in OF_SHAPES and not node.domain) or all(n in known for n in node.inputs if n)


def asked_for(nodes: Iterable[NodeDef], wanted: Iterable[str]) -> tuple[NodeDef, ...]:
    """The nodes that the wanted values need."""
    needed, kept = set(wanted), []
    for node in reversed(tuple(nodes)):
        if needed.intersection(node.outputs):
            kept.append(node)
            needed |= names_read(node)
    return tuple(reversed(kept))


def names_read(node: NodeDef) -> set[str]:
    """The names that a node and the graphs inside it read; a Gradient reads by attributes."""
    names = {n for n in node.inputs if n}
    if node.op == "Gradient":
        names.add(node.attributes.get("y", ""))
    for g in node.graphs():
        names |= {v.name for v in g.outputs}.union(*map(names_read, g.nodes))
    return names


def plan_of(graph: GraphDef, values: dict[str, Any], static: set[str]) -> GraphPlan:
    """A plan of a graph that has run: `static` are the names of what depends on shapes alone."""
    nodes = [n for n in graph.nodes if not all(out in static for out in n.outputs if out)]
    nodes = asked_for(nodes, [v.name for v in graph.outputs])
    read = {v.name for v in graph.outputs}.union(*map(names_read, nodes))
    known = {name: values[name] for name in static & read}
    few = [v for v in known.values() if isinstance(v, Tensor) and v.device.kind == "cpu" and v.numel() <= FEW]
    return GraphPlan(known, nodes, {id(v): v.tolist() for v in few}, dict.fromkeys(map(id, known.values())))


def fold_norms(model: ModelDef) -> ModelDef:
    """Batch norms as part of the convolution before them, where nobody else reads that: for inference."""
    graph = model.graph
    readers = Counter(name for n in graph.nodes for name in names_read(n)) + Counter(
        v.name for v in graph.outputs
    )
    made = {out: n for n in graph.nodes for out in n.outputs}
    arrays, replaced = dict(graph.initializers), {}
    for norm in graph.nodes:
        conv = made.get(norm.inputs[0]) if norm.inputs else None
        if norm.op != "BatchNormalization" or conv is None or not _folds(conv, norm, arrays, readers):
            continue
        weight, bias = _folded(conv, norm, arrays)
        name = norm.inputs[2]
        arrays[conv.inputs[1]], arrays[name] = weight, bias
        replaced[id(conv)] = None
        replaced[id(norm)] = replace(conv, inputs=(*conv.inputs[:2], name), outputs=norm.outputs[:1])
    nodes = tuple(r for n in graph.nodes if (r := replaced.get(id(n), n)) is not None)
    read = {v.name for v in graph.outputs}.union(*map(names_read, nodes))
    kept = {name: a for name, a in arrays.items() if name in read}
    inputs = tuple(v for v in graph.inputs if v.name in kept or v.name not in graph.initializers)
    return replace(model, graph=replace(graph, nodes=nodes, initializers=kept, inputs=inputs))


def _folds(conv: NodeDef, norm: NodeDef, arrays: dict[str, Any], readers: Counter) -> bool:
    """Whether weights are there, and nobody else has a use for them."""
    if conv.op != "Conv" or conv.domain or norm.domain or len(norm.outputs) > 1:
        return False
    names = [*conv.inputs[1:], *norm.inputs[1:]]
    own = readers[conv.outputs[0]] == 1 and all(readers[n] == 1 for n in (conv.inputs[1], norm.inputs[2]))
    return own and all(n in arrays for n in names) and not norm.attributes.get("training_mode")


def _folded(conv: NodeDef, norm: NodeDef, arrays: dict[str, Any]) -> tuple[Any, Any]:
    """Weight and bias of the convolution that gives what both give."""
    import numpy as np

    scale, shift, mean, variance = (arrays[n] for n in norm.inputs[1:5])
    weight = arrays[conv.inputs[1]]
    bias = arrays[conv.inputs[2]] if len(conv.inputs) > 2 and conv.inputs[2] else np.zeros_like(mean)
    factor = scale / np.sqrt(variance + np.array(norm.attributes.get("epsilon", 1e-5), variance.dtype))
    shaped = factor.reshape(-1, *[1] * (weight.ndim - 1))
    return (weight * shaped).astype(weight.dtype), ((bias - mean) * factor + shift).astype(weight.dtype)
