"""Separates a plan into its structure, which several batch sizes share, and the numbers of one batch size."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core.limits import SOFTWARE_TURNS, Limits
from ..core.node import Node, describe
from ..core.tree import is_tuple
from ..errors import FlambeauError
from ..fusion.planner import plan
from ..kernels.ir import Kernel, Shader
from ..ops.random import generator
from ..runtime import run
from ..runtime.pipeline import part_of, word_of
from ..tensor import Tensor
from .trace import Graph, TracedInput

# The classes of adapters; each has kernels for its limits.
KINDS = {"gpu": Limits(), "software": Limits(software=True, turns=SOFTWARE_TURNS)}


class SavedStep(NamedTuple):
    """A kernel and the values that it reads and writes: x0 is an input, w0 a weight, s0 state, t0 a
    temporary.

    draws: (index of a word of Params, number of the random draw, word of the draw) for each such word.
    """

    shader: Shader
    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    draws: tuple[tuple[int, int, int], ...]


class Structure(NamedTuple):
    """The part of a plan that batch sizes can share."""

    temporaries: int  # their number
    outputs: tuple[tuple[str, int], ...]  # value and rank of each
    steps: tuple[SavedStep, ...]
    draws: int
    states: tuple[str, ...]  # the value that each tensor of the state has after a call


class Sketch(NamedTuple):
    """A plan at one batch size.

    numbers: the bytes of the temporaries; the sizes of the outputs; the grid and Params of each step; the
    positions of the draws, and their total length, in blocks.
    """

    structure: Structure
    numbers: list[int]


@dataclass
class Weights:
    """The tensors that a program contains, identified by their nodes."""

    names: dict[int, str]  # id of a node -> its name in the model
    nodes: list[Node] = field(default_factory=list[Node])
    numbers: dict[int, int] = field(default_factory=dict[int, int])
    # the first call's tensors of host numbers
    constants: list[tuple[Node, bytes]] = field(default_factory=list[tuple[Node, bytes]])
    # later calls' tensors, kept so that their ids are not reused
    held: list[Node] = field(default_factory=list[Node])

    def number(self, node: Node) -> int:
        """Return the number of a weight; a new weight is added."""
        if id(node) not in self.numbers:
            self.numbers[id(node)] = len(self.nodes)
            self.nodes.append(node)
        return self.numbers[id(node)]

    def file(self) -> dict[str, Tensor]:
        """Return the weights by name, in the order of their numbers."""
        taken = set(self.names.values())
        tensors: dict[str, Tensor] = {}
        for i, n in enumerate(self.nodes):
            name = f"constant.{i}"
            while name in taken:
                name += "_"
            tensors[self.names.get(id(n), name)] = Tensor(n)
        return tensors

    def compare(self, graph: Graph, start: int, first: bool) -> None:
        """Check that a call creates the same tensors from host numbers as the first call; FlambeauError if
        not."""
        tensors = [
            n
            for n in graph.order
            if n.buffer is not None and n.serial >= start and not isinstance(n.buffer, TracedInput)
        ]
        values = [bytes(v) for v in run.read([Tensor(n) for n in tensors])] if tensors else []
        if first:
            self.constants = list(zip(tensors, values, strict=True))
        has_same_shapes = [(n.shape, n.dtype) for n in tensors] == [
            (n.shape, n.dtype) for n, _ in self.constants
        ]
        if not has_same_shapes or values != [v for _, v in self.constants]:
            listed = ", ".join(describe(n) for n in tensors) or "none"
            rule = (
                f"the tensors that the function creates from Python numbers ({listed}) differ"
                " from those of the first batch size"
            )
            raise FlambeauError(f"{rule}: compute them from the inputs with ops, or before the call")
        for n, (first_call, _) in zip(tensors, self.constants, strict=True):
            self.numbers[id(n)] = self.number(first_call)
            self.held.append(n)


def start_of(t: Tensor, weights: Weights) -> str | None:
    """Return the weight that has the first value of a tensor of the state, None if it is zero."""
    return f"w{weights.number(t.node)}" if any(bytes(run.read([t])[0])) else None


def sketch(graph: Graph, kind: str, weights: Weights) -> Sketch:
    """Plan a graph for a class of adapters, and separate its structure from its numbers."""
    planned = plan(graph.wanted, KINDS[kind], graph.order, graph.dying)
    names = {i: _leaf(graph, graph.order[i], weights) for i in planned.leaves}
    sizes = dict(planned.stored)
    numbers: list[int] = []
    for k in planned.kernels:
        over = dict(k.over)
        for v in k.outputs:
            if v in over:  # the same buffer
                names.setdefault(v, names[over[v]])
            elif v not in names:
                # The numbers of the temporaries come first, so that their count is the next free name.
                names[v] = f"t{len(numbers)}"
                numbers.append(sizes[v])
    temporaries = len(numbers)
    for root in graph.roots:
        numbers += root.shape
    places: dict[int, int] = {}  # draw -> its position, relative to the start of the call
    draws: dict[int, int] = {}
    steps = tuple(_step(k, graph, names, numbers, draws, places) for k in planned.kernels)
    numbers += [*places.values(), graph.length]
    # graph.wanted has the results, then the state that changed
    results = [names[v] for v in planned.roots]
    outputs = tuple((v, len(r.shape)) for v, r in zip(results, graph.roots))
    rest = iter(results[len(graph.roots) :])
    states = tuple(f"s{i}" if new is old else next(rest) for i, (old, new) in enumerate(graph.states))
    return Sketch(Structure(temporaries, outputs, steps, len(draws), states), numbers)


def _leaf(graph: Graph, node: Node, weights: Weights) -> str:
    if (state := next((i for i, (old, _) in enumerate(graph.states) if old is node), None)) is not None:
        return f"s{state}"
    if not isinstance(node.buffer, TracedInput):
        return f"w{weights.number(node)}"
    if node.buffer not in graph.inputs:
        raise FlambeauError(f"the function uses {describe(node)} of an earlier call: don't store inputs")
    return f"x{node.buffer.place}"


def _step(
    k: Kernel,
    graph: Graph,
    names: dict[int, str],
    numbers: list[int],
    draws: dict[int, int],
    places: dict[int, int],
) -> SavedStep:
    words: list[tuple[int, int, int]] = []  # of random draws
    numbers += k.grid
    for i, (value, (_, wgsl)) in enumerate(zip(k.quantities, k.shader.params, strict=True)):
        # (kind, position in the order, word): a host number of an op, or a word of a random draw
        if is_tuple(value):
            place: int = value[1]
            source = graph.order[place].scalars[0]
            if hasattr(source, "words"):
                words.append((i, _draw(source, graph, draws, places), value[2]))
                value = 0
            else:
                value = part_of(source, value[2])
        # As 32 bits: floats by their bits, so that `fit` sees integers only.
        numbers.append(int(value) if wgsl != "f32" and -(2**31) <= value < 2**32 else word_of(value, wgsl))
    reads, writes = (tuple(names[v] for v in values) for values in (k.inputs, k.outputs))
    return SavedStep(k.shader, k.name, reads, writes, tuple(words))


def _draw(draw: Any, graph: Graph, draws: dict[int, int], places: dict[int, int]) -> int:
    if draw.source is not generator:
        raise FlambeauError(
            "the function draws from a separate generator: use the default one, which is saved"
        )
    # Relative: the loaded program adds the position of its own stream.
    places[id(draw)] = draw.at - graph.begin
    return draws.setdefault(id(draw), len(draws))
