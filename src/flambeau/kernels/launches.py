"""Builds the kernels of opaque ops: each of their launches, over buffers in row-major order."""

from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from ..core.dtype import DType
from ..core.node import Node
from ..core.op import Launch
from .emit import Bindings, Quantities, can_widen, coordinates, emit, naming_over, spread_grid
from .ir import Kernel, Shader
from .lower import (
    LONGEST_TRACED,
    NeedStore,
    PlanContext,
    Trace,
    check_turns,
    collapse_domain,
    is_whole,
    view_through,
)
from .map import copy_kernel


def opaque_kernels(plan: PlanContext, head: Node, tail: Node, inputs: tuple[Node, ...] = ()) -> list[Kernel]:
    """The op's launches, after the copies of inputs that are not contiguous.

    inputs: the op's inputs, if its node is stored already and has dropped them.
    """
    assert head.op.launch is not None
    inputs = inputs or head.inputs
    launches = head.op.launch(plan.limits, *inputs, **head.attrs)
    parts = {u.op.part: u for u in plan.users[id(head)] if u.op.kind == "output"}
    builder = _LaunchBuilder(plan, head, tail, inputs, parts)
    copies: list[Kernel] = []
    # Each input is copied at most once, however many launches read it.
    for index in dict.fromkeys(r for launch in launches for r in launch.reads if isinstance(r, int)):
        node = inputs[index]
        builder.sources[index] = _LaunchInput(_store_in_order(plan, node, copies), node.dtype, 1)
    return [*copies, *map(builder.kernel, launches)]


def part_kernels(plan: PlanContext, node: Node) -> list[Kernel]:
    """The opaque op again, for a further result that is read after the op's own value was stored."""
    return opaque_kernels(plan, node.inputs[0], node.inputs[0], node.inputs[1:])


def _store_in_order(plan: PlanContext, node: Node, kernels: list[Kernel]) -> int:
    """The value that holds an input in row-major order, copy there if it must be."""
    base, moves = plan.base_of(node)
    if not plan.has_buffer(base):
        raise NeedStore(base, "an opaque kernel reads it from a buffer")
    value = plan.value_of(base)
    if not moves or is_whole(base.shape, moves):
        return value
    view = view_through(base.shape, moves)
    copy = plan.temporary(prod(node.shape), node.dtype.itemsize)
    kernels.append(copy_kernel(plan, node, value, view, copy))
    return copy


class _LaunchInput(NamedTuple):
    """A value that launches read, its dtype, and the number of elements in a cell of its array."""

    value: int
    dtype: DType
    width: int


@dataclass
class _LaunchBuilder:
    """Builds the kernels of one op's launches. parts: the nodes of its additional results, by name; sources:
    the values that launches can read so far: an input by its position, a launch's result by its name."""

    plan: PlanContext
    head: Node
    tail: Node
    inputs: tuple[Node, ...]
    parts: dict[str, Node]
    sources: dict[int | str, _LaunchInput] = field(default_factory=dict[int | str, _LaunchInput])

    def kernel(self, launch: Launch) -> Kernel:
        """A launch's kernel; later launches can read its results by name."""
        kernel = self._kernel(launch)
        names = [(launch.writes, launch.dtype or self.head.dtype, launch.width)]
        names += [(w.name, w.dtype, w.width) for w in launch.also]
        for value, (name, dtype, width) in zip(kernel.outputs, names, strict=True):
            if name:
                self.sources[name] = _LaunchInput(value, dtype, width)
        return kernel

    def _kernel(self, launch: Launch) -> Kernel:
        plan, sources = self.plan, self.sources
        label = self.head.op.name.strip("_") + (f".{launch.writes}" if launch.writes else "")
        check_turns(plan.limits, label, launch.turns)
        # A launch's own names are reserved first, so that Params added here get other names.
        q, b = Quantities(used=dict.fromkeys(launch.sizes, 1)), Bindings()
        options = dict(launch.options)
        for place, source in enumerate(launch.reads):
            value, dtype, width = sources[source]
            b.values.append(value)
            b.kinds.append((dtype.stored, dtype.words[4 if place in launch.wide else width]))
        functions = ()
        if launch.traced is not None:
            functions, options["dims"] = _trace_input(plan, self.inputs[launch.traced], b, q, launch)
            options["fours"] = launch.fours
        line = launch.groups if isinstance(launch.groups, int) else 0
        grid = launch.groups if isinstance(launch.groups, tuple) else spread_grid(line, plan.limits.groups)
        options["across"] = q.add("across", grid[0])
        # The grid of two dims may have more workgroups than the line: those beyond `folded` have no work.
        options["folded"] = q.add("folded", line) if line > grid[0] else ""
        options["dtypes"] = tuple(sources[source].dtype.short for source in launch.reads)
        for name, value in launch.sizes.items():
            q.names.append((name, "f32" if isinstance(value, float) else "u32"))
            q.values.append(value)
        dtype = (launch.dtype or self.head.dtype) if launch.writes else self.tail.dtype
        written = ((dtype.short, launch.width), *((w.dtype.short, w.width) for w in launch.also))
        names, kinds, structure = tuple(q.names), tuple(b.kinds), tuple(options.items())
        shader = Shader(
            launch.template,
            names,
            kinds,
            written,
            launch.workgroup,
            functions,
            structure,
            "beside" if launch.beside else "",
        )
        outs = self.result(launch, dtype), *(self.place(w.name, w.elements, w.dtype) for w in launch.also)
        instead = None
        if launch.instead is not None:
            over, other = launch.instead
            instead = sources[over].value, self._kernel(other)
        values, numbers = tuple(b.values), tuple(q.values)
        return Kernel(label, shader, values, outs, numbers, grid, launch.flops, instead=instead)

    def result(self, launch: Launch, dtype: DType) -> int:
        """The value that a launch writes first."""
        if launch.writes:
            return self.place(launch.writes, launch.elements, dtype)
        if self.tail.buffer is not None:  # a value that already exists is only needed in parts
            return self.plan.temporary(prod(self.tail.shape), dtype.itemsize)
        return self.plan.index[id(self.tail)]

    def place(self, name: str, elements: int, dtype: DType) -> int:
        """The value of a result by its name: the value of a node of the graph if it has one, else a
        temporary."""
        if name in self.parts:
            return self.plan.index[id(self.parts[name])]
        return self.plan.temporary(elements, dtype.itemsize)


def _trace_input(plan: PlanContext, node: Node, b: Bindings, q: Quantities, launch: Launch):
    """The function that computes an input at a place of its domain (four neighbours, where asked for and
    possible), and the sizes of its coordinates."""
    trace = Trace(plan, node.shape, outputs=1 + len(launch.also), longest=LONGEST_TRACED)
    trace.reads |= set(b.values)  # these count against the limit of buffers
    root = trace.value(node)
    if trace.turns > 1 and trace.turns * launch.turns > plan.limits.turns:
        raise NeedStore(node, "its own loops would be inside the kernel's")
    runs, sizes = collapse_domain(node.shape, trace.affines, (0,) * len(node.shape))
    dims = "", *[q.add("dim", s) for s in sizes[1:]]  # splitting an index does not need the first size
    room = len(b.values) + 2 * len(trace.reads) <= trace.most  # a buffer may be bound twice
    width = 4 if launch.fours and room and can_widen(trace.steps, runs, sizes) else 1
    body = emit(trace.steps, naming_over(runs, coordinates(len(runs), "c", "i"), b, q, width), root)
    return (("value", body),), dims
