"""Finds the values and shapes that are fixed once the shapes of a model's inputs are known."""

from collections import ChainMap
from collections.abc import Callable, Iterable, MutableMapping
from enum import IntEnum
from typing import Any

from .graph import GraphDef, ModelDef, NodeDef
from .operators.table import Operator, find

# operators whose results change from call to call, or with the model's mode
DRAWS = {
    *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"),
    *("Dropout", "BatchNormalization", "Gradient"),
}
OF_SHAPES = {"Shape", "Size"}  # operators that read only the shape of their input
STEPS = 1 << 20  # the most node visits (a loop's body counts each time); after these nothing is fixed


class Fixed(IntEnum):
    """The part of a value that is the same in all calls with inputs of the same shapes."""

    NOTHING = 0  # sizes depend on elements of the inputs
    SHAPE = 1  # all sizes
    VALUE = 2  # all elements too


Levels = MutableMapping[str, Fixed]


class FixedValues:
    """Propagates Fixed from each node's inputs to its outputs."""

    def __init__(self, model: ModelDef):
        self.model, self.left = model, STEPS

    def nodes(self, nodes: Iterable[NodeDef], levels: Levels, opsets: dict[str, int]) -> None:
        """Store the level of each node's outputs."""
        for node in nodes:
            self.left -= 1
            unknown = [Fixed.NOTHING] * len(node.outputs)
            outputs = self._outputs(node, levels, opsets) if self.left > 0 else unknown
            levels.update({name: level for name, level in zip(node.outputs, outputs) if name})

    def _outputs(self, node: NodeDef, levels: Levels, opsets: dict[str, int]) -> list[Fixed]:
        inputs = [levels.get(name, Fixed.NOTHING) if name else Fixed.VALUE for name in node.inputs]
        function = self.model.functions.get((node.domain, node.op, node.overload))
        if function is not None:
            inside: Levels = {
                **dict.fromkeys(function.inputs, Fixed.VALUE),
                **dict(zip(function.inputs, inputs)),
            }
            self.nodes(function.nodes, inside, function.opsets or opsets)
            return [inside.get(name, Fixed.NOTHING) for name in function.outputs]
        if not node.domain and node.op in CONTROL:
            return CONTROL[node.op](
                node, inputs, lambda g, levels_inside: self._graph(g, levels_inside, levels, opsets)
            )
        row = find(node.domain, node.op, opsets.get(node.domain, 1))
        return [row_level(row, node, inputs)] * len(node.outputs)

    def _graph(
        self, graph: GraphDef, inputs: list[Fixed], around: Levels, opsets: dict[str, int]
    ) -> list[Fixed]:
        """Return the outputs of a graph among a node's attributes, which reads the names around the node."""
        own: Levels = dict.fromkeys(graph.initializers, Fixed.VALUE)
        own.update(zip([v.name for v in graph.inputs], inputs))
        inside = ChainMap(own, around)
        self.nodes(graph.nodes, inside, opsets)
        return [inside.get(v.name, Fixed.NOTHING) for v in graph.outputs]


def row_level(row: Operator | None, node: NodeDef, inputs: list[Fixed]) -> Fixed:
    """Return the levels of an operator's outputs."""
    # Weakest input decides, with three exceptions: Shape reads no elements, draws differ at each call, and
    # an operator that reads an input as numbers (Reshape's shape) has fixed sizes only if that is fixed.
    least = min(inputs, default=Fixed.VALUE)
    if not node.domain and node.op in OF_SHAPES:
        return Fixed.VALUE if least else Fixed.NOTHING
    if least is Fixed.VALUE:
        return Fixed.SHAPE if node.op in DRAWS or any(node.graphs()) else Fixed.VALUE
    if row is None or row.sized_by_values:
        return Fixed.NOTHING
    read = [level for name, level in zip(row.inputs, inputs) if name in row.numbers]
    return min([least, Fixed.SHAPE, *(Fixed.NOTHING for level in read if level is not Fixed.VALUE)])


Run = Callable[[GraphDef, list[Fixed]], list[Fixed]]


def _if(node: NodeDef, inputs: list[Fixed], run: Run) -> list[Fixed]:
    """Return the levels of a branch, if the condition is fixed."""
    if inputs[0] is not Fixed.VALUE:
        return [Fixed.NOTHING] * len(node.outputs)
    branches = [run(node.attributes[name], []) for name in ("then_branch", "else_branch")]
    return [min(pair) for pair in zip(*branches)]


def _loop(node: NodeDef, inputs: list[Fixed], run: Run) -> list[Fixed]:
    """Return the levels of states and stacked outputs, if the number of iterations is fixed."""
    body: GraphDef = node.attributes["body"]
    inputs = [*inputs, *[Fixed.VALUE] * (2 - len(inputs))]  # trailing ones may be omitted
    condition, states, stacked = _run_to_fixpoint(
        inputs[2:], 1, lambda s: run(body, [Fixed.VALUE, Fixed.VALUE, *s])
    )
    if min(*inputs[:2], *condition) is not Fixed.VALUE:
        return [Fixed.NOTHING] * len(node.outputs)
    return [*states, *stacked]


def _scan(node: NodeDef, inputs: list[Fixed], run: Run) -> list[Fixed]:
    """Return the levels of states and stacked outputs, if the scanned sizes are fixed."""
    body, count = node.attributes["body"], node.attributes["num_scan_inputs"]
    inputs = inputs[len(inputs) - len(body.inputs) :]  # before opset 9 the first input has the lengths
    states, scanned = inputs[: len(inputs) - count], inputs[len(inputs) - count :]
    if min(scanned, default=Fixed.VALUE) is Fixed.NOTHING:
        return [Fixed.NOTHING] * len(node.outputs)
    _, states, stacked = _run_to_fixpoint(states, 0, lambda s: run(body, [*s, *scanned]))
    return [*states, *stacked]


def _run_to_fixpoint(
    states: list[Fixed], first: int, run: Callable[[list[Fixed]], list[Fixed]]
) -> tuple[list[Fixed], list[Fixed], list[Fixed]]:
    """Return the levels of a body's outputs (before the states, states, after them) for any number of
    iterations."""
    # Levels only fall, and each has three values, so the iteration ends.
    while True:
        outputs = run(states)
        after = [min(pair) for pair in zip(states, outputs[first:])]
        if after == states:
            return outputs[:first], states, outputs[first + len(states) :]
        states = after


def _map(node: NodeDef, inputs: list[Fixed], run: Run) -> list[Fixed]:
    """Return the levels of SequenceMap's outputs."""
    if inputs[0] is Fixed.NOTHING:
        return [Fixed.NOTHING] * len(node.outputs)
    return run(node.attributes["body"], inputs)


CONTROL: dict[str, Callable[[NodeDef, list[Fixed], Run], list[Fixed]]] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
    "SequenceMap": _map,
}


def fixed_names(model: ModelDef, nodes: list[NodeDef], levels: Levels) -> set[str]:
    """Return the names of the values that are fixed; levels: of weights and inputs."""
    levels = dict(levels)
    FixedValues(model).nodes(nodes, levels, model.opsets)
    return {name for name, level in levels.items() if level is Fixed.VALUE}


def folds(node: NodeDef, known: set[str], functions: Any) -> bool:
    """Whether a node's outputs depend only on the values of these names."""
    if (node.domain, node.op, node.overload) in functions or node.op in DRAWS or any(node.graphs()):
        return False
    return all(n in known for n in node.inputs if n)
