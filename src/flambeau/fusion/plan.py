"""The plan of a graph: its kernels in order, the values that they read and store, and the cost of each."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

from ..core.node import Node, inputs_first
from ..kernels.ir import Kernel

COUNTED = {"reduce", "fold", "opaque"}  # an operation for each element that they read


class Cost(NamedTuple):
    """One kernel: its name and template, the minimum of bytes read and written, operations, and their dtype.

    `flops` counts a multiply-add of a contraction as two, and an elementwise op by its `Op.cost`.
    """

    name: str
    template: str
    reads: int
    writes: int
    flops: int
    shape: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        return self.reads + self.writes


@dataclass(frozen=True)
class Plan:
    """Kernels in order, and where their values come from and go to.

    Values are numbered: the node's place in the graph's order, or above it for the plan's own temporaries.
    """

    kernels: tuple[Kernel, ...]
    leaves: tuple[int, ...] = ()
    scalars: tuple[int, ...] = ()
    roots: tuple[int, ...] = ()  # which value each root is
    stored: tuple[tuple[int, int], ...] = ()  # (value, bytes) of everything that kernels write
    costs: tuple[Cost, ...] = ()  # of each kernel

    @cached_property
    def last_use(self) -> dict[int, int]:
        """The last kernel that reads each value."""
        return last_of(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __iter__(self):
        return iter(self.kernels)


def last_of(kernels: tuple[Kernel, ...]) -> dict[int, int]:
    """The last kernel that reads each value."""
    return {v: i for i, k in enumerate(kernels) for v in k.reads}


# --- the cost of each kernel ---


def costs_of(
    plan: Plan, order: Sequence[Node], index: dict[int, int], sizes: dict[int, int]
) -> tuple[Cost, ...]:
    """The cost of every kernel of a plan, in the plan's order; `order` has the node of each value, `index`
    the value of each node's id, and `sizes` the bytes of each leaf or stored value."""
    walk, (values, reads) = _Walk(order, index, sizes), _worked_for(plan, len(order))
    shares = Counter(v for k in plan.kernels for v in k.outputs)  # several may write parts of one result
    heads: dict[int, int] = {}  # value -> the kernel that does its head's arithmetic, where several make it
    for i, k in reversed(list(enumerate(plan.kernels))):
        if values[i] not in heads or k.name.startswith(walk.label(values[i])):
            heads[values[i]] = i
    costs: list[Cost] = []
    for i, (k, value) in enumerate(zip(plan.kernels, values, strict=True)):
        operations, touched = walk.of(k.outputs if value in k.outputs else (value,))
        read = sum([min(sizes.get(v, 0), touched.get(v, sizes.get(v, 0))) for v in dict.fromkeys(reads[i])])
        flops = k.flops or (operations if heads[value] == i else sizes[k.outputs[0]] // 4)
        shape = order[value].shape if value < len(order) else ()
        writes = sum(sizes[v] // shares[v] for v in k.outputs)
        costs.append(Cost(k.name, k.shader.template, read, writes, flops, shape))
    return tuple(costs)


def _worked_for(plan: Plan, count: int) -> tuple[list[int], list[tuple[int, ...]]]:
    """For each kernel a value that is a node's: its own output, or that of the kernel that reads its
    temporary; and the values that it reads."""
    values: list[int] = []
    reads = [k.reads for k in plan.kernels]
    of_reader: dict[int, int] = {}  # temporary -> the value that its reader computes
    for k, read in zip(reversed(plan.kernels), reversed(reads), strict=True):
        output = next((v for v in k.outputs if v < count), k.outputs[0])
        values.append(of_reader.get(output, output))
        for part in k.parts:
            of_reader |= {v: part.outputs[0] for v in part.reads if v >= count}
        if not k.parts:
            of_reader |= {v: values[-1] for v in read if v >= count}
    return values[::-1], reads


def nodes_of(plan: Plan, order: Sequence[Node]) -> list[list[Node]]:
    """The nodes that each kernel of a plan computes, inputs first: those between the stored values that it
    reads and its output (or that of the kernel that reads its temporary). Kernels that compute one value
    together have the same nodes."""
    stored = {id(order[v]) for v, _ in plan.stored if v < len(order)}
    nodes: list[list[Node]] = []
    for k, value in zip(plan.kernels, _worked_for(plan, len(order))[0], strict=True):
        tops = [order[v] for v in (k.outputs if value in k.outputs else (value,)) if v < len(order)]
        stored_inputs = stored.difference(map(id, tops))
        nodes.append(_down_to(stored_inputs, tops))
    return nodes


def _down_to(ends: set[int], tops: list[Node]) -> list[Node]:
    """The given nodes and all nodes that they depend on, inputs first, without leaves and `ends` (ids)."""

    def inside(nodes: Iterable[Node]) -> list[Node]:
        return [n for n in nodes if n.buffer is None and id(n) not in ends]

    return list(inputs_first(inside(tops), lambda n: inside(n.inputs)))


class _Walk:
    """Goes from a stored value down to the values that its kernels read."""

    def __init__(self, order: Sequence[Node], index: dict[int, int], sizes: dict[int, int]):
        self.order, self.index = order, index
        self.stored = {i for i in sizes if i < len(order)}
        self.walked: dict[tuple[int, ...], tuple[int, dict[int, int], str]] = {}

    def of(self, values: tuple[int, ...]) -> tuple[int, dict[int, int]]:
        """(operations, bytes of each value that is read) of the nodes of one kernel."""
        return self._walk_once(values)[:2]

    def label(self, value: int) -> str:
        """How the name of the kernel begins that does the arithmetic of a value's head."""
        return self._walk_once((value,))[2]

    def _walk_once(self, values: tuple[int, ...]) -> tuple[int, dict[int, int], str]:
        values = tuple(v for v in values if v < len(self.order))
        if values not in self.walked:
            self.walked[values] = self._walk(values)
        return self.walked[values]

    def _walk(self, values: tuple[int, ...]) -> tuple[int, dict[int, int], str]:
        flops, label = 0, ""
        touched: dict[int, int] = {}
        visited: set[tuple[int, int]] = set()
        todo = [(self.order[v], prod(self.order[v].shape)) for v in values]
        while todo:
            n, elements = todo.pop()
            index = self.index.get(id(n), -1)
            if n.buffer is not None or (index in self.stored and index not in values):
                touched[index] = touched.get(index, 0) + elements * n.dtype.itemsize
            elif (id(n), elements) not in visited:
                visited.add((id(n), elements))
                flops += _operations(n)
                label = n.attrs["label"] if n.op.kind == "contract" else label
                todo += [(i, _elements_read(n, i, elements)) for i in n.inputs]
        return flops, touched, label


def _operations(n: Node) -> int:
    """The operations of one op."""
    if n.op.kind == "contract":
        a, b = [i.shape[len(n.shape) :] for i in n.inputs]  # the summed dims, of size 1 where one repeats
        return 2 * prod(n.shape) * prod([x if y == 1 else y for x, y in zip(a, b, strict=True)])
    if n.op.kind == "elementwise":
        return n.op.cost * prod(n.shape)
    return sum(prod(i.shape) for i in n.inputs) if n.op.kind in COUNTED else 0


def _elements_read(n: Node, i: Node, elements: int) -> int:
    """How many elements of an input are read: of a slice those that it keeps, of a table those gathered."""
    available, result = prod(i.shape), prod(n.shape)
    if n.op.kind == "movement":
        return min(available, elements) if result <= available else available
    return min(available, result) if n.op.kind == "gather" else available
