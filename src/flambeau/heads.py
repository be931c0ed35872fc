"""Kernels of each kind: a head op with the expressions that are fused before and after it."""

from dataclasses import dataclass
from math import prod
from typing import Any

from .lower import (
    Bindings,
    Function,
    Move,
    NeedStore,
    Quantities,
    Raw,
    Trace,
    collapse_domain,
    view_through,
)
from .node import Node
from .shape import Affine, View, collapse, run_size

WORKGROUP = 64
SPLIT_AT = 4096  # rows at least this long, and too few rows: reduced in two stages
LANES = 4096  # threads that fill a device well enough


@dataclass(frozen=True)
class Shader:
    """What render.py turns into WGSL, and the key of the pipeline: structure only."""

    template: str
    params: tuple[tuple[str, str], ...]
    bindings: tuple[tuple[str, int], ...]
    out: tuple[str, int]  # stored type and width of what is written
    out_dtype: str
    workgroup: tuple[int, int, int]
    functions: tuple[tuple[str, Function], ...]
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Kernel:
    """One dispatch: the shader, the values it reads and writes, its quantities and its grid."""

    name: str
    shader: Shader
    inputs: tuple[int, ...]
    output: int
    quantities: tuple
    grid: tuple[int, int, int]


def is_whole(shape, chain: tuple[Move, ...]) -> bool:
    """Whether the moves leave a buffer as it lies."""
    try:
        return view_through(shape, chain).is_contiguous
    except NeedStore:
        return False


def spread_grid(groups: int, limit: int) -> tuple[int, int, int]:
    """Fold a line of workgroups into two dims where it is longer than a device allows."""
    if groups <= limit:
        return max(groups, 1), 1, 1
    y = -(-groups // limit)
    return -(-groups // y), y, 1


def label(head: str, *traces) -> str:
    """`matmul+add+relu`: the head and the ops fused with it, in order."""
    names = [s.name for t in traces if t for s in t.steps if s.kind == "op"]
    if len(names) > 6:
        names = [*names[:5], f"{len(names) - 5} more"]
    return "+".join([head, *names] if head else names or ["copy"])


def map_kernel(planner, node: Node) -> list[Kernel]:
    """Every element by itself."""
    trace = Trace(planner, node.shape)
    root = trace.value(node) if node.op.kind != "gather" else trace._gather(node, (), 0)
    return [_map(planner, trace, root, node.dtype, planner.index[id(node)])]


def copy_kernel(planner, node: Node, value: int, view: View, out: int) -> Kernel:
    """The elements of a view, laid out in order."""
    return _map(planner, ReadTrace(planner, node, value, view), 0, node.dtype, out)


def _map(planner, trace: Trace, root: int, dtype, out: int, narrow: bool = False) -> Kernel:
    q, b = Quantities(), Bindings()
    n = prod(trace.domain)
    size = q.add("n", n)
    runs, sizes = collapse_domain(trace.domain, trace.affines(), (0,) * len(trace.domain))
    written = 4 if n >= 4 else 1  # four neighbours a thread, read at once where they lie side by side
    width = written if not narrow and trace.can_widen(runs, sizes) else 1
    dims = [q.add("n", s) for s in sizes]
    coords = [f"c{i}" for i in range(len(runs))]
    body = trace.function(runs, coords, b, q, root, width)
    if len(b.values) > planner.max_inputs:  # a buffer read both in fours and singly is bound twice
        return _map(planner, trace, root, dtype, out, narrow=True)
    grid = spread_grid(-(-n // (WORKGROUP * written)), planner.limits.groups)
    span = q.add("g", grid[0] * WORKGROUP)
    shader = Shader(
        "map.wgsl", tuple(q.names), tuple(b.kinds), (dtype.stored, written), dtype.short,
        (WORKGROUP, 1, 1), (("value", body),), (("size", size), ("dims", tuple(dims)), ("span", span)),
    )  # fmt: skip
    return Kernel(label("", trace), shader, tuple(b.values), out, tuple(q.values), grid)


def epilogue(planner, head: Node, tail: Node, shape, trace_reads=()) -> tuple[Trace, int] | None:
    """The expression from the head's result to the tail, over the head's shape; None when they are one."""
    if head is tail:
        return None
    trace = Trace(planner, shape, head)
    trace.reads |= set(trace_reads)
    back = () if tail.shape == tuple(shape) else (Move("reshape", (tuple(shape),), tail),)
    return trace, trace.value(tail, back)


def finish_function(trace_root, groups, b: Bindings, q: Quantities, shape):
    """Name an epilogue: its coordinates are unravelled from the head's groups."""
    if trace_root is None:
        return None, (), ()
    trace, root = trace_root
    runs, sizes = collapse_domain(shape, trace.affines(), groups)
    coords = [f"e{i}" for i in range(len(runs))]
    return trace.function(runs, coords, b, q, root, 1), runs, sizes


# --- reduce
# -------------------------------------------------------------------------------------------------------


def reduce_kernel(planner, head: Node, tail: Node) -> list[Kernel]:
    """Rows reduced by a thread each; long rows of few are split among threads, and their parts reduced
    after."""
    dims = head.attrs["dims"]
    x = head.inputs[0]
    outer = [d for d in range(len(x.shape)) if d not in dims]
    order = (*outer, *dims)
    shape = tuple(x.shape[d] for d in order)
    trace = Trace(planner, shape)
    root = trace.value(x, () if order == tuple(range(len(order))) else (Move("permute", (order,), None),))
    groups = (0,) * len(outer) + (1,) * len(dims)
    rows, length = prod(shape[: len(outer)]), prod(shape[len(outer) :])
    parts = split_of(rows, length)
    if parts == 1:
        return [_reduce(planner, head, tail, trace, root, shape, groups, None, 1)]
    part = planner.temporary(rows * parts)
    first = _reduce(planner, head, head, trace, root, shape, groups, part, parts)
    return [first, reduce_parts(planner, head, tail, part, parts)]


def split_of(rows: int, length: int) -> int:
    """How many threads share a row: enough to fill the device, each with work to do."""
    if rows >= LANES or length < SPLIT_AT:
        return 1
    want, parts = min(LANES // max(rows, 1), length // 256), 1
    while parts * 2 <= want:
        parts *= 2
    return parts


def _reduce(planner, head, tail, trace, root, shape, groups, part, parts, narrow=False) -> Kernel:
    q, b = Quantities(), Bindings()
    op = head.op.name[1:] if head.op.kind == "reduce" else "sum"  # the parts of a contraction are added
    runs, sizes = collapse_domain(shape, trace.affines(), groups)
    outer = [i for i, r in enumerate(runs) if groups[r[0]] == 0]
    inner = [i for i, r in enumerate(runs) if groups[r[0]] == 1]
    rows = prod(s for i, s in enumerate(sizes) if i in outer)
    width = 4 if not narrow and inner and sizes[-1] >= 4 and trace.can_widen(runs, sizes) else 1
    size = q.add("n", rows * parts)
    row_dims = [q.add("n", sizes[i]) for i in outer[1:]]
    loops = [q.add("n", sizes[i]) for i in inner]
    count = q.add("n", parts) if parts > 1 else ""
    coords = [f"c{i}" for i in outer] + [f"r{i}" for i in range(len(inner))]
    body = trace.function(runs, coords, b, q, root, width)
    after = epilogue(planner, head, tail, head.shape, trace.reads) if part is None else None
    finish, _, e_sizes = finish_function(after, (0,) * len(head.shape), b, q, head.shape)
    if len(b.values) > planner.max_inputs:  # as in _map
        return _reduce(planner, head, tail, trace, root, shape, groups, part, parts, narrow=True)
    e_dims = [q.add("n", s) for s in e_sizes[1:]]
    grid = spread_grid(-(-rows * parts // WORKGROUP), planner.limits.groups)
    span = q.add("g", grid[0] * WORKGROUP)
    # the run that the parts divide: the longest, so that every part has work
    cut = max(range(len(inner)), key=lambda i: sizes[inner[i]], default=0)
    functions = (("value", body),) + ((("finish", finish),) if finish else ())
    shader = Shader(
        "reduce.wgsl", tuple(q.names), tuple(b.kinds), (tail.dtype.stored, 1), tail.dtype.short,
        (WORKGROUP, 1, 1), functions,
        (("op", op), ("acc", head.dtype.short), ("size", size), ("row_dims", tuple(row_dims)),
         ("coords", tuple(coords[: len(outer)])), ("loops", tuple(loops)), ("parts", count), ("cut", cut),
         ("e_dims", tuple(e_dims)), ("span", span)),
    )  # fmt: skip
    out = planner.index[id(tail)] if part is None else part
    name = label(op, trace, after[0] if after else None)
    return Kernel(name, shader, tuple(b.values), out, tuple(q.values), grid)


def reduce_parts(planner, head, tail, part: int, parts: int) -> Kernel:
    """The second stage: the parts of each row, which lie side by side."""
    shape = (*head.shape, parts)
    trace = ReadTrace(planner, head, part, View.of(shape))
    return _reduce(planner, head, tail, trace, 0, shape, (0,) * len(head.shape) + (1,), None, 1)


class ReadTrace(Trace):
    """The trace of reading one value through a view."""

    def __init__(self, planner, node: Node, value: int, view: View):
        super().__init__(planner, view.shape)
        self.reads.add(value)
        self._add(Raw("load", node.dtype, node, view=view, value=value), {value})


# --- fold
# ---------------------------------------------------------------------------------------------------------


def fold_kernel(planner, head: Node, tail: Node) -> list[Kernel]:
    """Each element gathers the windows that it was part of."""
    x, spec = head.inputs[0], head.attrs["spec"]
    n = len(spec)
    lead = len(x.shape) - 2 * n
    trace = Trace(planner, x.shape)
    root = trace.value(x)
    groups = (0,) * lead + tuple(range(1, 2 * n + 1))
    q, b = Quantities(), Bindings()
    runs = collapse(x.shape[:lead], [Affine(a.strides[:lead], 0) for a in trace.affines()], groups[:lead])
    dims = [q.add("n", run_size(x.shape, r)) for r in runs[1:]]
    runs = runs + [(d,) for d in range(lead, lead + 2 * n)]
    coords = [f"c{i}" for i in range(len(runs) - 2 * n)]
    coords += [f"w{i}" for i in range(n)] + [f"k{i}" for i in range(n)]
    size = q.add("n", prod(head.shape))
    body = trace.function(runs, coords, b, q, root, 1)
    axes = tuple(
        (q.add("n", head.shape[lead + i]), q.add("n", x.shape[lead + i]), q.add("n", w.kernel),
         q.add("s", w.stride), q.add("s", w.dilation), q.add("s", w.before))
        for i, w in enumerate(spec)
    )  # fmt: skip
    after = epilogue(planner, head, tail, head.shape, trace.reads)
    finish, _, e_sizes = finish_function(after, (0,) * len(head.shape), b, q, head.shape)
    e_dims = [q.add("n", s) for s in e_sizes[1:]]
    grid = spread_grid(-(-prod(head.shape) // WORKGROUP), planner.limits.groups)
    span = q.add("g", grid[0] * WORKGROUP)
    functions = (("value", body),) + ((("finish", finish),) if finish else ())
    shader = Shader(
        "fold.wgsl", tuple(q.names), tuple(b.kinds), (tail.dtype.stored, 1), tail.dtype.short,
        (WORKGROUP, 1, 1), functions,
        (("acc", head.dtype.short), ("size", size), ("lead", tuple(coords[: len(runs) - 2 * n])),
         ("dims", tuple(dims)), ("axes", axes), ("e_dims", tuple(e_dims)), ("span", span)),
    )  # fmt: skip
    name = label("fold", trace, after[0] if after else None)
    return [Kernel(name, shader, tuple(b.values), planner.index[id(tail)], tuple(q.values), grid)]


BUILD = {"reduce": reduce_kernel, "fold": fold_kernel}
