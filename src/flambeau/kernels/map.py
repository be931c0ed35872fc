"""Builds the kernels of elementwise expressions."""

from collections.abc import Callable
from dataclasses import replace
from math import prod

from ..core.choose import choose
from ..core.limits import Limits
from ..core.node import Node
from ..core.shape import View, common_refinement
from .emit import (
    Bindings,
    BoundTwice,
    Quantities,
    Raw,
    can_widen,
    check_bindings,
    coordinates,
    emit,
    fitting,
    label,
    naming_over,
    spread_grid,
)
from .ir import GPU_WORKGROUP, WORKGROUP, Kernel, Shader
from .lower import Move, NeedStore, PlanContext, Trace, collapse_domain
from .substitute import without_unused
from .transposed import transposed_kernel

SEVERAL_FROM = 1 << 23  # elements above which a thread may compute several vec4s; bundled maps have fewer
# Pairs that a thread of a software adapter computes, one after another. For 2 million int64, x + x takes 40
# ms of processor time (47 with one pair a thread) and x * x 48 (53); vectors of four pairs took 68, and int32
# takes 21 (llvmpipe, November 2026). On a GPU neighbouring threads read neighbouring pairs together.
PAIRS = 8
SLOW = 8  # cost of an element from which a thread computes two vec4s, to have more reads in flight


class ReadTrace(Trace):
    """The trace of reading one value through a view."""

    def __init__(self, plan: PlanContext, node: Node, value: int, view: View):
        super().__init__(plan, view.shape)
        self.reads.add(value)
        self._add(Raw("load", node.dtype, node, view=view, value=value), {value})


def map_kernel(plan: PlanContext, node: Node) -> list[Kernel]:
    """Every element by itself."""
    value = plan.index[id(node)]
    if node.op.kind == "gather":
        trace = Trace(plan, node.shape, can_check=True)
        return [_map(plan, trace, {value: trace.gather(node, (), 0)})]
    return _over_finer_dims(plan, [node], lambda trace, roots: _map(plan, trace, {value: roots[0]}))


def pair_kernel(plan: PlanContext, head: Node, tail: Node) -> list[Kernel]:
    """Two adjacent words an element."""
    return _over_finer_dims(plan, list(head.inputs), lambda trace, roots: _pair_map(plan, head, trace, roots))


def _over_finer_dims(
    plan: PlanContext, nodes: list[Node], build: Callable[[Trace, list[int]], Kernel]
) -> list[Kernel]:
    """A map of values of one shape. If one of its inputs was reshaped from finer dims, over those dims."""
    domain = shape = nodes[0].shape
    while True:
        trace = Trace(plan, domain, can_check=True)
        try:
            chain = () if domain == shape else (Move("reshape", (domain,), None),)
            return [build(trace, [trace.value(n, chain) for n in nodes])]
        except NeedStore as need:
            # Only finer dims help, so the loop ends: every round has more of them.
            finer = common_refinement(domain, need.shape) if prod(need.shape) == prod(domain) else None
            if finer is None or len(finer) <= len(domain):
                raise
            domain = finer


def _pair_map(plan: PlanContext, head: Node, trace: Trace, steps: list[int]) -> Kernel:
    q, b = Quantities(), Bindings()
    n = prod(trace.domain)
    size = q.add("size", n)
    runs, sizes = collapse_domain(trace.domain, trace.affines, (0,) * len(trace.domain))
    dims = [*["" for _ in sizes[:1]], *[q.add("dim", s) for s in sizes[1:]]]
    body = emit(trace.steps, naming_over(runs, coordinates(len(runs), "c", "i"), b, q, 1), steps[0])
    check_bindings(b, trace.most)
    threads = WORKGROUP if plan.limits.software else GPU_WORKGROUP
    several = PAIRS if plan.limits.software and n % PAIRS == 0 else 1
    grid = spread_grid(-(-n // (threads * several)), plan.limits.groups)
    span = q.add("span", grid[0] * threads)
    words = tuple(f"t{s}" for s in steps)
    results = tuple((word, head.dtype.short) for word in dict.fromkeys(words))
    shader = Shader(
        "map/map_pair.wgsl",
        tuple(q.names),
        tuple(b.kinds),
        ((head.dtype.short, 2),),
        (threads, 1, 1),
        (("values", body._replace(result="Results", results=results)),),
        (("size", size), ("dims", tuple(dims)), ("span", span), ("words", words), ("several", several)),
    )
    out = (plan.index[id(head)],)
    return Kernel(label("", trace.steps), shader, tuple(b.values), out, tuple(q.values), grid)


def maps_kernel(plan: PlanContext, nodes: list[Node], over: int) -> tuple[Kernel, dict[Node, int]] | None:
    """One kernel of several values of a shape, and for each node that equals another the value of that one;
    None if they read more buffers than fit.

    over: how many of the values will overwrite an input.
    """
    trace = Trace(plan, nodes[0].shape, outputs=len(nodes) - over, can_check=True)
    steps: dict[int, list[Node]] = {}
    for n in nodes:
        # Equal values share a step: one is written, and the others are that value.
        steps.setdefault(trace.value(n), []).append(n)
    try:
        kernel = _map(plan, trace, {plan.index[id(same[0])]: step for step, same in steps.items()})
    except BoundTwice:
        return None
    if over and kernel.binds - len(nodes) >= plan.limits.storage_buffers:
        return None  # where one is not written over after all, each has to fit by itself
    return kernel, {n: plan.index[id(same[0])] for same in steps.values() for n in same[1:]}


def with_results(k: Kernel, values: set[int]) -> Kernel:
    """A map of several values, reduced to some of them."""
    ((_, f),) = k.shader.functions
    written = zip(k.outputs, k.shader.outs, f.results, strict=True)
    left = [(v, out, result) for v, out, result in written if v in values]
    if len(left) == len(k.outputs):
        return k
    outputs, outs, results = zip(*left, strict=True)
    kind, name, body = "map_multi", "values", f._replace(results=results)
    if len(left) == 1:
        kind, name = "map", "value"
        body = f._replace(result=results[0][0], dtype=results[0][1], results=())
    template = f"map/{kind}.wgsl"
    shader = replace(k.shader, template=template, kind=kind, outs=outs, functions=((name, body),))
    return replace(k, shader=shader, outputs=outputs)


def in_parts(k: Kernel, most: int) -> list[Kernel]:
    """A map of several values as maps of fewer, each of which binds at most `most` buffers (or has a single
    value)."""
    parts, part = list[Kernel](), set[int]()
    for v in k.outputs:
        if part and without_unused(with_results(k, part | {v})).binds > most:
            parts.append(without_unused(with_results(k, part)))
            part = set[int]()
        part = part | {v}
    return [*parts, without_unused(with_results(k, part))]


def copy_kernel(plan: PlanContext, node: Node, value: int, view: View, out: int) -> Kernel:
    """The elements of a view, laid out in order."""
    return _map(plan, ReadTrace(plan, node, value, view), {out: 0})


def _map(plan: PlanContext, trace: Trace, roots: dict[int, int]) -> Kernel:
    """roots: the step of each value that the kernel writes."""
    if len(roots) == 1:
        ((value, root),) = roots.items()
        if (kernel := transposed_kernel(plan, trace, value, root)) is not None:
            return kernel
    return fitting(lambda narrow: _map_in_fours(plan, trace, roots, narrow))


def _map_in_fours(plan: PlanContext, trace: Trace, roots: dict[int, int], narrow: bool) -> Kernel:
    q, b = Quantities(), Bindings()
    n = prod(trace.domain)
    size = q.add("size", n)
    runs, sizes = collapse_domain(trace.domain, trace.affines, (0,) * len(trace.domain))
    dtypes = [trace.steps[s].dtype for s in roots.values()]
    # four neighbours per thread, read at once if they are adjacent
    written = 4 if n >= 4 or any(d.is_packed for d in dtypes) else 1
    width = written if not narrow and can_widen(trace.steps, runs, sizes) else 1
    # coordinates that are counted on end at the first dim's size; without others it is the size of all
    first = size if len(sizes) == 1 else q.add("dim", sizes[0]) if sizes and width < written else ""
    dims = [*[first for _ in sizes[:1]], *[q.add("dim", s) for s in sizes[1:]]]
    coords = coordinates(len(runs), "c", "i")
    body = emit(trace.steps, naming_over(runs, coords, b, q, width), next(iter(roots.values())))
    check_bindings(b, trace.most)
    threads = WORKGROUP if plan.limits.software else GPU_WORKGROUP
    in_fours = len(roots) == 1 and width == 4  # else a thread makes one four
    several = several_of(plan.limits, n, len(b.values), trace) if in_fours else 1
    grid = spread_grid(-(-n // (threads * written * several)), plan.limits.groups)
    span = q.add("span", grid[0] * threads)
    kind, name = "map", "value"
    if len(roots) > 1:
        results = tuple((f"t{s}", d.short) for s, d in zip(roots.values(), dtypes, strict=True))
        kind, name, body = "map_multi", "values", body._replace(result="Results", results=results)
    shader = Shader(
        f"map/{kind}.wgsl",
        tuple(q.names),
        tuple(b.kinds),
        tuple((d.short, written) for d in dtypes),
        (threads, 1, 1),
        ((name, body),),
        (("size", size), ("dims", tuple(dims)), ("span", span), ("several", several)),
        kind,
    )
    return Kernel(label("", trace.steps), shader, tuple(b.values), tuple(roots), tuple(q.values), grid)


def several_of(limits: Limits, n: int, inputs: int, trace: Trace) -> int:
    """The number of vec4s that a thread of a map computes: 1, or on a GPU the fastest for a large value."""
    if limits.software or n <= SEVERAL_FROM:
        return 1
    is_slow = inputs > 0 and trace.cost() >= SLOW
    bucket = (min(n.bit_length(), 28), inputs, is_slow)
    return choose(limits, "map", bucket, [1, 2], 2 if is_slow else 1)
