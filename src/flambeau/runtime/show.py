"""Print plans as tables, and WGSL below comments with each kernel's expression and the lines that created
it."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import prod
from typing import Any, TypeVar

from ..codegen.render import render
from ..core.node import Node, toposort
from ..core.printing import count_text
from ..core.source_lines import line_of
from ..device.protocol import Device
from ..fusion.plan import Plan
from ..fusion.planner import plan as plan_nodes
from ..kernels.ir import Kernel, out_name
from ..kernels.lower import alias
from ..kernels.substitute import input_name
from .transfers import plan_waves, short_name

LONGEST = 88  # characters of an expression; a longer one is shown without its arguments
LINES = 3  # of the program above a kernel: the last ones, if more are fused into it
# movement ops that only move elements
UNSEEN = ("reshape", "permute", "expand", "detach")
Value = TypeVar("Value", bound=Hashable)


def table(plan: Plan) -> str:
    """A plan as an aligned table: each kernel with the values that it reads and writes and its workgroups."""
    rows = [("kernel", "template", "reads", "writes", "groups", "ends because")]
    for k in plan.kernels:
        reads = ", ".join(f"%{v}" for v in k.reads) or "-"
        writes = ", ".join(f"%{v}" for v in k.outputs)
        rows.append((k.name, k.shader.template, reads, writes, str(prod(k.grid)), k.ends))
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows]
    return "\n".join([count_text(len(plan.kernels), "kernel"), *lines])


def tables(roots: list[Node]) -> tuple[list[Kernel], str]:
    """The kernels of a graph over several devices, and their tables, in order, with the transfers."""

    def plan_on(device: Device, nodes: list[Node]) -> tuple[Device, Plan]:
        return device, plan_nodes(nodes, device.limits, toposort(nodes))

    parts = [part for part in plan_waves(roots, plan_on) if isinstance(part, str) or part[1].kernels]
    kernels = [k for part in parts if not isinstance(part, str) for k in part[1].kernels]
    texts = [part if isinstance(part, str) else f"{short_name(part[0])}: {table(part[1])}" for part in parts]
    return kernels, "\n".join(texts)


def texts_of_waves(roots: list[Node]) -> str:
    """The WGSL of a graph over several devices, in order, with the transfers as comments."""

    def of_nodes(device: Device, nodes: list[Node]) -> tuple[str]:
        order = toposort(nodes)
        return (texts(plan_nodes(nodes, device.limits, order), order),)

    parts = plan_waves(roots, of_nodes)
    return "\n".join(f"// {part}" if isinstance(part, str) else part[0] for part in parts)


def expression(
    value: Value, parts_of: Callable[[Value], tuple[str, Sequence[Value]]], known: Mapping[Value, str]
) -> str:
    """The expression of a value, as calls of ops down to values with a name.

    parts_of: the op of a value, "" of one that is its input's elements, and its inputs. known: the names.
    """
    texts: dict[Value, str] = dict(known)
    todo = [value]
    while todo:
        name, inputs = ("", ()) if todo[-1] in texts else parts_of(todo[-1])
        missing = [i for i in inputs if i not in texts]
        if missing:
            todo += missing
            continue
        top = todo.pop()
        if top not in texts:
            texts[top] = _call(name, [texts[i] for i in inputs])
    return texts[value]


def _call(name: str, arguments: list[str]) -> str:
    if not name:
        return arguments[0]
    text = f"{name}({', '.join(arguments)})" if arguments else name
    return text if len(text) <= LONGEST else f"{name}(...)"


def heading(kernel: Kernel, order: Sequence[Node]) -> str:
    """The comments above a kernel: its results in terms of the graph's ops; the dtypes and shapes of its
    inputs and results; the lines of the program, if they were recorded (core/source_lines).
    order: the nodes of the graph by the plan's numbers."""
    names = {order[v]: name for v, name in _names_of_reads(kernel).items() if v < len(order)}
    roots = [_composite_of(order[v], order) for v in kernel.outputs if v < len(order)]
    results = [expression(root, _parts, names) for root in roots]
    reads, writes = ([_type(v, order) for v in values] for values in (kernel.inputs, kernel.outputs))
    return comment(kernel.name, results, reads, writes) + lines_of(roots, names)


def lines_of(roots: Sequence[Node], known: Mapping[Node, str]) -> str:
    """A comment for each line of the program that made values between the roots and the known nodes."""
    nodes, todo = dict[Node, None](), list(roots)
    while todo:
        node = todo.pop()
        if node not in known and node not in nodes:
            nodes[node] = None
            todo += _parts(node)[1]
    in_order = sorted([n for n in nodes if n.op.name not in UNSEEN], key=lambda node: node.serial)
    lines = list(dict.fromkeys(line for node in in_order if (line := line_of(node))))
    return "".join(f"// {line}\n" for line in lines[-LINES:])


def comment(name: str, results: Sequence[str], reads: Sequence[str], writes: Sequence[str]) -> str:
    """The lines of a heading. results: expressions of the kernel's results; reads, writes: the types of its
    buffers."""
    computes = f"// {name}: {', '.join(results)}" if results else f"// {name}"
    inputs = ", ".join(f"{input_name(i)}: {kind}" for i, kind in enumerate(reads))
    outputs = ", ".join(f"{out_name(i)}: {kind}" for i, kind in enumerate(writes))
    return f"{computes}\n// {inputs or 'nothing'} -> {outputs}\n"


def _names_of_reads(kernel: Kernel) -> dict[int, str]:
    names: dict[int, str] = {}
    for i, v in enumerate(kernel.inputs):
        names.setdefault(v, input_name(i))
    for out, v in kernel.over:  # overwritten, and read in the same buffer
        names.setdefault(v, out_name(kernel.outputs.index(out)))
    return names


def texts(plan: Plan, order: Sequence[Node]) -> str:
    """The WGSL of a plan's kernels, each below its heading."""
    return "\n".join(heading(k, order) + render(k.shader) for k in plan.kernels)


def _composite_of(node: Node, order: Sequence[Node]) -> Node:
    """The composite that a node computes, as the program called it, or the node itself."""
    return next((n for n in order if n.op.kind == "composite" and alias(n) is node), node)


def _parts(node: Node) -> tuple[str, Sequence[Node]]:
    if node.op.name == "constant":
        return _number(node.scalars[0]), ()
    if node.op.kind == "leaf" or node.buffer is not None:
        return "...", ()  # read by a kernel before this one
    if node.op.name in UNSEEN:
        return "", node.inputs
    name = node.attrs.get("label") or node.op.name.strip("_")
    return name, node.parents if node.op.kind == "composite" else node.inputs


def _number(number: Any) -> str:
    held = getattr(number, "held", number)
    return f"{held:g}" if isinstance(held, int | float | complex) else "number"


def _type(value: int, order: Sequence[Node]) -> str:
    if value >= len(order):
        return "temporary"
    return f"{order[value].dtype.short}{list(order[value].shape)}"
