"""Ops written as whole kernels: their launches become kernels over buffers that lie in row-major order."""

from math import prod

from ..core.dtype import DType
from ..core.node import Node
from ..core.op import Launch
from .ir import Bindings, Kernel, Quantities, Shader, Stored
from .kernel import is_whole, spread_grid
from .lower import NeedStore, Trace, check_turns, collapse_domain, view_through
from .map import copy_kernel


def whole_kernels(planner: Stored, head: Node, tail: Node, inputs: tuple[Node, ...] = ()) -> list[Kernel]:
    """The op's launches in order, after the copies of inputs that do not lie in order.

    inputs: the op's, where its node has its value and let go of them.
    """
    assert head.op.launch is not None
    inputs = inputs or head.inputs
    launches = head.op.launch(planner.limits, *inputs, **head.attrs)
    parts = {u.op.part: u for u in planner.users[id(head)] if u.op.kind == "part"}
    kernels: list[Kernel] = []
    given: dict[int | str, tuple[int, DType, int]] = {}
    for at in dict.fromkeys(r for launch in launches for r in launch.reads if isinstance(r, int)):
        node = inputs[at]
        given[at] = _stored(planner, node, kernels), node.dtype, 1
    for launch in launches:
        kernel = _kernel(planner, head, tail, launch, inputs, given, parts)
        kernels.append(kernel)
        names = [(launch.writes, launch.dtype or head.dtype, launch.width)]
        names += [(w.name, w.dtype, w.width) for w in launch.also]
        for value, (name, dtype, width) in zip(kernel.outputs, names, strict=True):
            if name:
                given[name] = value, dtype, width
    return kernels


def part_kernels(planner: Stored, node: Node) -> list[Kernel]:
    """The whole op again, for a part of it that is asked for when the op's own value is already there."""
    return whole_kernels(planner, node.inputs[0], node.inputs[0], node.inputs[1:])


def _stored(planner: Stored, node: Node, kernels: list[Kernel]) -> int:
    """The value that holds an input in row-major order, copied there if it must be."""
    base, moves = planner.base_of(node)
    if not planner.has(base):
        raise NeedStore(base, "a whole kernel reads it from a buffer")
    value = planner.value_of(base)
    if not moves or is_whole(base.shape, moves):
        return value
    view = view_through(base.shape, moves)
    copied = planner.temporary(prod(node.shape), node.dtype.itemsize)
    kernels.append(copy_kernel(planner, node, value, view, copied))
    return copied


def _place(planner: Stored, parts: dict, name: str, elements: int, dtype: DType) -> int:
    """The value of a result by its name: the graph's where the graph asks for it."""
    return planner.index[id(parts[name])] if name in parts else planner.temporary(elements, dtype.itemsize)


def _kernel(planner: Stored, head, tail, launch: Launch, inputs, given: dict, parts: dict) -> Kernel:
    label = head.op.name.strip("_") + (f".{launch.writes}" if launch.writes else "")
    check_turns(planner.limits, label, launch.turns)
    q, b = Quantities(), Bindings()
    options = dict(launch.options)
    for place, what in enumerate(launch.reads):
        value, dtype, width = given[what]
        b.values.append(value)
        b.kinds.append((dtype.stored, dtype.words(4 if place in launch.wide else width)))
    functions = ()
    if launch.traced is not None:
        functions, options["dims"] = _traced(planner, inputs[launch.traced], b, q, launch)
        options["fours"] = launch.fours
    line = launch.groups if isinstance(launch.groups, int) else 0
    grid = launch.groups if isinstance(launch.groups, tuple) else spread_grid(line, planner.limits.groups)
    options["across"] = q.add("across", grid[0])
    options["folded"] = q.add("folded", line) if line > grid[0] else ""
    options["dtypes"] = tuple(given[what][1].short for what in launch.reads)
    for name, value in launch.sizes.items():
        q.names.append((name, "f32" if isinstance(value, float) else "u32"))
        q.values.append(value)
    dtype = (launch.dtype or head.dtype) if launch.writes else tail.dtype
    written = ((dtype.short, launch.width), *((w.dtype.short, w.width) for w in launch.also))
    names, kinds, structure = tuple(q.names), tuple(b.kinds), tuple(options.items())
    shader = Shader(launch.template, names, kinds, written, launch.workgroup, functions, structure)
    if launch.writes:
        out = _place(planner, parts, launch.writes, launch.elements, dtype)
    else:  # of a value that is there already only parts are asked for
        again = tail.buffer is not None
        out = planner.temporary(prod(tail.shape), dtype.itemsize) if again else planner.index[id(tail)]
    outs = (out, *(_place(planner, parts, w.name, w.elements, w.dtype) for w in launch.also))
    instead = None
    if launch.instead is not None:
        over, other = launch.instead
        instead = given[over][0], _kernel(planner, head, tail, other, inputs, given, parts)
    values, numbers = tuple(b.values), tuple(q.values)
    return Kernel(label, shader, values, outs, numbers, grid, launch.flops, instead=instead)


def _traced(planner: Stored, node: Node, b: Bindings, q: Quantities, launch: Launch):
    """The function that computes an input at a place of its domain (four neighbours, where asked for and
    possible), and the sizes of its coordinates."""
    trace = Trace(planner, node.shape, outputs=1 + len(launch.also))
    trace.reads |= set(b.values)
    root = trace.value(node)
    if trace.turns > 1 and trace.turns * launch.turns > planner.limits.turns:
        raise NeedStore(node, "its own loops would be inside the kernel's")
    runs, sizes = collapse_domain(node.shape, trace.affines(), (0,) * len(node.shape))
    dims = tuple(q.add("dim", s) for s in sizes)
    room = len(b.values) + 2 * len(trace.reads) <= trace.most  # a buffer may be bound twice
    width = 4 if launch.fours and room and trace.can_widen(runs, sizes) else 1
    body = trace.function(runs, [f"c{i}" for i in range(len(runs))], b, q, root, width)
    return (("value", body),), dims
