"""Kernels of maps and folds, and what all kinds share: the expressions fused before and after a head."""

from dataclasses import dataclass
from math import prod
from typing import Any

from .choice import choose
from .lower import (
    Bindings,
    Function,
    Move,
    NeedStore,
    Quantities,
    Raw,
    Trace,
    check_turns,
    collapse_domain,
    view_through,
)
from .node import Node
from .shape import Affine, View, collapse, refined, run_size

WORKGROUP = 64
LARGE = 1 << 23  # elements of a map (more than any in a bundle) from which on a thread may make several fours
SLOW = 8  # price of an element from which on they make two: too few reads are under way beside so much work
GPU_WORKGROUP = 128  # of a map on a GPU: with 64 a copy reaches 0.79 of the bandwidth that it has with 128


@dataclass(frozen=True)
class Shader:
    """What render.py turns into WGSL, and the key of the pipeline: structure only."""

    template: str
    params: tuple[tuple[str, str], ...]
    bindings: tuple[tuple[str, int], ...]
    outs: tuple[tuple[str, int], ...]  # dtype and width of what is written: out, out1, ...
    workgroup: tuple[int, int, int]
    functions: tuple[tuple[str, Function], ...]
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def checks(self) -> bool:
        """Whether it checks indices, and binds one more buffer to note those that are outside."""
        return any(s.kind == "inside" for _, f in self.functions for s in f.steps)


def out_name(i: int) -> str:
    """What a template calls the i-th buffer that it writes."""
    return f"out{i}" if i else "out"


@dataclass(frozen=True)
class Kernel:
    """One dispatch: the shader, the values it reads and writes, its quantities and its grid.

    over: (an output, the value that it is written over, and that is read from there); see `reuse`.
    ends: why what it computes is stored, and not a part of the kernels that read it.
    instead: an input, and the kernel that serves where the result may be written over it.
    parts: the kernels whose work it does, where that is several's; see `bundles`.
    """

    name: str
    shader: Shader
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    quantities: tuple
    grid: tuple[int, int, int]
    flops: int = 0  # operations that a profile counts, where `work` could not tell from the graph
    over: tuple[tuple[int, int], ...] = ()
    ends: str = ""
    instead: "tuple[int, Kernel] | None" = None
    parts: "tuple[Kernel, ...]" = ()

    @property
    def reads(self) -> tuple[int, ...]:
        """The values that it reads: its inputs, and what it writes over."""
        return (*self.inputs, *(x for _, x in self.over))


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


class ReadTrace(Trace):
    """The trace of reading one value through a view."""

    def __init__(self, planner, node: Node, value: int, view: View):
        super().__init__(planner, view.shape)
        self.reads.add(value)
        self._add(Raw("load", node.dtype, node, view=view, value=value), {value})


def map_kernel(planner, node: Node) -> list[Kernel]:
    """Every element by itself, over finer dims than the value's where what it is made of was reshaped so."""
    if node.op.kind == "gather":
        trace = Trace(planner, node.shape, can_check=True)
        return [_map(planner, trace, {planner.index[id(node)]: trace._gather(node, (), 0)})]
    domain = node.shape
    while True:
        trace = Trace(planner, domain, can_check=True)
        try:
            root = trace.value(node, () if domain == node.shape else (Move("reshape", (domain,), None),))
            return [_map(planner, trace, {planner.index[id(node)]: root})]
        except NeedStore as need:
            finer = refined(domain, need.shape) if prod(need.shape) == prod(domain) else None
            if finer is None or len(finer) <= len(domain):
                raise
            domain = finer


def maps_kernel(planner, nodes: list[Node]) -> list[Kernel] | None:
    """Several values of the same elements, those that are one value in one buffer; None where they read more
    buffers than fit."""
    trace = Trace(planner, nodes[0].shape, outputs=len(nodes), can_check=True)
    steps: dict[int, list[Node]] = {}
    for n in nodes:
        steps.setdefault(trace.value(n), []).append(n)
    made = _map(planner, trace, {planner.index[id(same[0])]: step for step, same in steps.items()})
    if len(made.inputs) > trace.most:
        return None
    planner.same |= {id(n): planner.index[id(same[0])] for same in steps.values() for n in same[1:]}
    return [made]


def copy_kernel(planner, node: Node, value: int, view: View, out: int) -> Kernel:
    """The elements of a view, laid out in order."""
    return _map(planner, ReadTrace(planner, node, value, view), {out: 0})


def _map(planner, trace: Trace, roots: dict[int, int], narrow: bool = False) -> Kernel:
    """roots: the step of each value that the kernel writes."""
    q, b = Quantities(), Bindings()
    n = prod(trace.domain)
    size = q.add("n", n)
    runs, sizes = collapse_domain(trace.domain, trace.affines(), (0,) * len(trace.domain))
    dtypes = [trace.steps[s].dtype for s in roots.values()]
    # four neighbours a thread, read at once where they lie side by side
    written = 4 if n >= 4 or any(d.is_packed for d in dtypes) else 1
    width = written if not narrow and trace.can_widen(runs, sizes) else 1
    dims = [q.add("n", s) for s in sizes]
    coords = [f"c{i}" for i in range(len(runs))]
    body = trace.function(runs, coords, b, q, next(iter(roots.values())), width)
    if len(b.values) > trace.most and not narrow:  # a buffer read both in fours and singly is bound twice
        return _map(planner, trace, roots, narrow=True)
    threads = WORKGROUP if planner.limits.software else GPU_WORKGROUP
    in_fours = len(roots) == 1 and width == 4
    several = several_of(planner.limits, n, len(b.values), trace) if in_fours else 1
    grid = spread_grid(-(-n // (threads * written * several)), planner.limits.groups)
    span = q.add("g", grid[0] * threads)
    template, name = "map.wgsl", "value"
    if len(roots) > 1:
        results = tuple((f"t{s}", d.short) for s, d in zip(roots.values(), dtypes, strict=True))
        template, name, body = "maps.wgsl", "values", body._replace(result="Results", results=results)
    shader = Shader(
        template, tuple(q.names), tuple(b.kinds), tuple((d.short, written) for d in dtypes),
        (threads, 1, 1), ((name, body),),
        (("size", size), ("dims", tuple(dims)), ("span", span), ("several", several)),
    )  # fmt: skip
    return Kernel(label("", trace), shader, tuple(b.values), tuple(roots), tuple(q.values), grid)


def several_of(limits, n: int, inputs: int, trace: Trace) -> int:
    """How many fours a thread of a map makes: one, or of a large value on a GPU as many as is fastest."""
    if limits.software or n <= LARGE:
        return 1
    is_slow = inputs > 0 and trace.cost() >= SLOW
    bucket = (min(n.bit_length(), 28), inputs, is_slow)
    return int(choose(limits, "map", bucket, ["1", "2"], "2" if is_slow else "1"))


def epilogue(
    planner, head: Node, tail: Node, shape, trace_reads=(), checks: bool | None = None
) -> tuple[Trace, int] | None:
    """The expression from the head's result to the tail, over the head's shape; None when they are one.

    checks: whether the kernel checks indices before; None where it can't.
    """
    if head is tail:
        return None
    trace = Trace(planner, shape, head, can_check=checks is not None)
    trace.reads |= set(trace_reads)
    if checks:
        trace.begin_checks(tail)
    back = () if tail.shape == tuple(shape) else (Move("reshape", (tuple(shape),), tail),)
    return trace, trace.value(tail, back)


def before_packed(planner, head: Node) -> Node:
    """The last node of a head's epilogue that is written element by element: packed ones come in fours."""
    path = planner.paths[id(head)]
    return path[next(i for i, n in enumerate(path) if n.dtype.is_packed) - 1]


def finish_function(trace_root, groups, b: Bindings, q: Quantities, shape):
    """Name an epilogue: its coordinates are unravelled from the head's groups."""
    if trace_root is None:
        return None, (), ()
    trace, root = trace_root
    runs, sizes = collapse_domain(shape, trace.affines(), groups)
    coords = [f"e{i}" for i in range(len(runs))]
    return trace.function(runs, coords, b, q, root, 1), runs, sizes


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
    check_turns(planner.limits, "fold", trace.turns * prod(1 + w.kernel for w in spec))
    body = trace.function(runs, coords, b, q, root, 1)
    axes = tuple(
        (q.add("n", head.shape[lead + i]), q.add("n", x.shape[lead + i]), q.add("n", w.kernel),
         q.add("s", w.stride), q.add("s", w.dilation) if w.dilation > 1 else "", q.add("s", w.before))
        for i, w in enumerate(spec)
    )  # fmt: skip
    after = epilogue(planner, head, tail, head.shape, trace.reads)
    finish, _, e_sizes = finish_function(after, (0,) * len(head.shape), b, q, head.shape)
    e_dims = [q.add("n", s) for s in e_sizes[1:]]
    grid = spread_grid(-(-prod(head.shape) // WORKGROUP), planner.limits.groups)
    span = q.add("g", grid[0] * WORKGROUP)
    functions = (("value", body),) + ((("finish", finish),) if finish else ())
    shader = Shader(
        "fold.wgsl", tuple(q.names), tuple(b.kinds), ((tail.dtype.short, 1),),
        (WORKGROUP, 1, 1), functions,
        (("acc", head.dtype.short), ("size", size), ("lead", tuple(coords[: len(runs) - 2 * n])),
         ("dims", tuple(dims)), ("axes", axes), ("e_dims", tuple(e_dims)), ("span", span)),
    )  # fmt: skip
    name = label("fold", trace, after[0] if after else None)
    return [Kernel(name, shader, tuple(b.values), (planner.index[id(tail)],), tuple(q.values), grid)]
