"""Builds the kernel of `fold`, the transpose of taking windows: each element sums the windows over it."""

from math import prod

from ..core.node import Node
from ..core.shape import Affine, collapse, run_size
from .emit import Bindings, Quantities, emit, label, naming_over, spread_grid
from .ir import WORKGROUP, Kernel, Shader
from .lower import PlanContext, Trace, check_turns, epilogue, finish_function


def fold_kernel(plan: PlanContext, head: Node, tail: Node) -> list[Kernel]:
    """One kernel: each element adds up the window elements that lie on it."""
    x, spec = head.inputs[0], head.attrs["spec"]
    n = len(spec)
    lead = len(x.shape) - 2 * n
    trace = Trace(plan, x.shape)
    root = trace.value(x)
    # Leading dims may collapse; each window and tap dim keeps its own coordinate. x: [..., windows, kernel]
    groups = (0,) * lead + tuple(range(1, 2 * n + 1))
    q, b = Quantities(), Bindings()
    runs = collapse(x.shape[:lead], [Affine(a.strides[:lead], 0) for a in trace.affines], groups[:lead])
    dims = [q.add("dim", run_size(x.shape, r)) for r in runs[1:]]
    runs = runs + [(d,) for d in range(lead, lead + 2 * n)]
    coords = [f"c{i}" for i in range(len(runs) - 2 * n)]
    coords += [f"w{i}" for i in range(n)] + [f"k{i}" for i in range(n)]
    size = q.add("size", prod(head.shape))
    # Each loop over taps also counts one iteration for itself.
    check_turns(plan.limits, "fold", trace.turns * prod(1 + w.kernel for w in spec))
    body = emit(trace.steps, naming_over(runs, coords, b, q, 1), root)
    axes = tuple(
        (
            i,
            q.add("length", head.shape[lead + i]),
            q.add("windows", x.shape[lead + i]),
            q.add("kernel", w.kernel),
            q.add("stride", w.stride),
            q.add("dilation", w.dilation) if w.dilation > 1 else "",
            q.add("before", w.before),
        )
        for i, w in enumerate(spec)
    )
    after = epilogue(plan, head, tail, trace.reads)
    finish, e_sizes = finish_function(after, head.shape, b, q, "i")
    e_dims = [q.add("dim", s) for s in e_sizes[1:]]
    grid = spread_grid(-(-prod(head.shape) // WORKGROUP), plan.limits.groups)
    span = q.add("span", grid[0] * WORKGROUP)
    functions = (("value", body),) + ((("finish", finish),) if finish else ())
    shader = Shader(
        "map/fold.wgsl",
        tuple(q.names),
        tuple(b.kinds),
        ((tail.dtype.short, 1),),
        (WORKGROUP, 1, 1),
        functions,
        (
            ("acc", head.dtype.short),
            ("size", size),
            ("lead", tuple(coords[: len(runs) - 2 * n])),
            ("dims", tuple(dims)),
            ("axes", axes),
            ("e_dims", tuple(e_dims)),
            ("span", span),
        ),
    )
    name = label("fold", trace.steps, after.trace.steps if after else ())
    return [Kernel(name, shader, tuple(b.values), (plan.index[id(tail)],), tuple(q.values), grid)]
