"""Builds reductions: a thread for each row on software adapters, a tree of threads on real GPUs."""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from ..core.choose import choose
from ..core.node import Node
from ..core.shape import View
from .emit import (
    Bindings,
    BoundTwice,
    Quantities,
    can_widen,
    check_bindings,
    coordinates,
    emit,
    fitting,
    label,
    naming_over,
    spread_grid,
)
from .ir import GPU_WORKGROUP, WORKGROUP, Kernel, Shader, out_name
from .lower import (
    Epilogue,
    Move,
    NeedStore,
    PlanContext,
    Trace,
    check_turns,
    collapse_domain,
    epilogue,
    finish_function,
)
from .map import ReadTrace
from .window import window_kernel

SPLIT_AT = 4096  # rows at least this long, and too few rows: reduced in two stages
SOFTWARE_FILL = 4096  # threads that fill a software adapter well enough
TREE_THREADS, TREE_FILL = 256, 1024  # a tree's workgroup, and how many of them fill a GPU
LANES = 4, 16  # threads that add up the pieces of a result together
FEW_PIECES = 16  # elements that a thread adds up while a kernel would start
ADDING = 1 << 18  # threads that such a kernel has at most: more fill a GPU without
PIECES = 64  # parts that one thread adds up at most
WINDOW, WINDOWS_FILL = 25, 1 << 18  # elements that one thread reduces; how many such threads fill a GPU


@dataclass
class ReductionDomain:
    """The traced expressions to be reduced, over the kept dims and then the reduced ones."""

    trace: Trace
    roots: tuple[int, ...]  # the step of each
    shape: tuple[int, ...]
    kept: int

    @cached_property
    def collapsed(self) -> tuple[list[tuple[int, ...]], list[int]]:
        """The dims as few runs as its expressions walk, and their sizes."""
        groups = (0,) * self.kept + (1,) * (len(self.shape) - self.kept)
        return collapse_domain(self.shape, self.trace.affines, groups)

    @property
    def root(self) -> int:
        return self.roots[0]

    @property
    def rows(self) -> int:
        return prod(self.shape[: self.kept])

    @property
    def length(self) -> int:
        return prod(self.shape[self.kept :])


class Reduction(NamedTuple):
    """One of a kernel's reductions: its node, the last of its epilogue, and the value that its parts are
    written to, where a second kernel joins them."""

    head: Node
    tail: Node
    part: int | None = None

    @property
    def op(self) -> str:
        return self.head.op.monoid or "sum"  # the parts of a contraction are added


class ReductionSpec(NamedTuple):
    """A reduction as the template sees it. tag: suffix of its variables. field: its field in the struct that
    `value` returns. out, stored: the buffer it is written to, and its dtype there. behind: whether parts are
    consecutive in memory. finish, dims: its epilogue, and the sizes of the epilogue's coordinates."""

    tag: str
    op: str
    dtype: str
    field: str
    out: str
    stored: str
    behind: bool
    finish: str
    dims: tuple[str, ...]


def reduce_kernels(plan: PlanContext, head: Node, tail: Node) -> list[Kernel]:
    """One kernel; two where rows are long and few: their parts first, and then the parts of each row."""
    return several_kernels(plan, [(head, tail)]) or []


def several_kernels(plan: PlanContext, pairs: list[tuple[Node, Node]]) -> list[Kernel] | None:
    """The kernels of reductions of one shape over the same dims, which read their input once; None if that
    binds too many buffers. pairs: the head and tail of each."""
    x, dims = pairs[0][0].inputs[0], pairs[0][0].attrs["dims"]
    outer = [d for d in range(len(x.shape)) if d not in dims]
    order = (*outer, *dims)  # kept dims outermost, [rows..., reduced...]
    shape = tuple(x.shape[d] for d in order)
    trace = Trace(plan, shape, outputs=len(pairs), can_check=True)
    moves = () if order == tuple(range(len(order))) else (Move("permute", (order,), None),)
    roots = tuple(trace.value(head.inputs[0], moves) for head, _ in pairs)
    # Operands that vary along all dims (not broadcast) must have the same order to be read in one walk.
    real = [d for d, n in enumerate(shape) if n > 1]
    views = [s.view.index.strides for s in trace.steps if s.kind == "load" and s.view is not None]
    full = {tuple(v[d] for d in real) for v in views if all(v[d] for d in real)}
    if len(pairs) > 1 and len(full) > 1:  # their orders differ, so one would be read out of order
        return None
    reductions = [Reduction(head, tail) for head, tail in pairs]
    return _stages(plan, reductions, ReductionDomain(trace, roots, shape, len(outer)))


def reduce_parts(plan: PlanContext, head: Node, tail: Node, part: int, parts: int) -> Kernel:
    """The second stage, which joins the parts of each row: adjacent ones, or one after the other."""
    if are_pieces(plan, head, parts):
        return pieces_kernel(plan, Reduction(head, tail, part), epilogue(plan, head, tail), parts)
    trace = ReadTrace(plan, head, part, View.of((*head.shape, parts)))  # [*result, parts]
    domain = ReductionDomain(trace, (0,), trace.domain, len(head.shape))
    return ReduceBuilder(plan, [Reduction(head, tail)], domain, 1).kernel()


def are_pieces(plan: PlanContext, head: Node, parts: int) -> bool:
    """Whether parts are consecutive, each as large as the result: one thread adds few parts, possibly inside
    the kernel that reads the sums (see fusion/split_k.py)."""
    return head.op.monoid == "sum" and parts <= PIECES and not plan.limits.software


def pieces_kernel(plan: PlanContext, of: Reduction, after: Epilogue | None, pieces: int) -> Kernel:
    """A thread adds up four neighbours of every piece, or one."""
    return fitting(lambda narrow: _pieces_kernel(plan, of, after, pieces, narrow))


def lanes_of_pieces(threads: int, pieces: int) -> int:
    """How many threads add up the pieces of a result: more where few results would leave a GPU idle. One adds
    up few pieces, since a map that reads the sum can do that too."""
    fit = [n for n in LANES if 2 * n + FEW_PIECES <= pieces and n * threads <= ADDING]
    return max(fit, default=1)


def _pieces_kernel(
    plan: PlanContext, of: Reduction, after: Epilogue | None, pieces: int, narrow: bool
) -> Kernel:
    head, tail, part = of
    assert part is not None
    q, b = Quantities(), Bindings()
    size = prod(head.shape)
    runs, sizes = collapse_domain(head.shape, after.trace.affines if after else [], (0,) * len(head.shape))
    fits = not narrow and size % 4 == 0 and (after is None or can_widen(after.trace.steps, runs, sizes))
    width = 4 if fits else 1
    if tail.dtype.is_packed and width == 1:
        raise NeedStore(plan.before_packed(head), "packed elements are written four at a time")
    b.add(part, head.dtype, width)
    coords = coordinates(len(runs), "c", "first")
    body = (
        (("finish", emit(after.trace.steps, naming_over(runs, coords, b, q, width), after.root)),)
        if after
        else ()
    )
    check_bindings(b, plan.max_inputs)
    lanes = lanes_of_pieces(size // width, pieces)
    grid = spread_grid(-(-size * lanes // (GPU_WORKGROUP * width)), plan.limits.groups)
    options = {
        "acc": head.dtype.short,
        "lanes": lanes,
        "size": q.add("size", size),
        "all": q.add("total", size * pieces),  # elements of all pieces
        "groups": q.add("groups", grid[0]),
        "dims": tuple(q.add("dim", n) for n in sizes[1:]) if after else (),
    }
    shader = Shader(
        "contract/split_k_sum.wgsl",
        tuple(q.names),
        tuple(b.kinds),
        ((tail.dtype.short, width),),
        (GPU_WORKGROUP, 1, 1),
        body,
        tuple(options.items()),
        "split_sum" if lanes == 1 else "",
    )
    name = label("sum", after.trace.steps if after else ())
    return Kernel(name, shader, tuple(b.values), (plan.index[id(tail)],), tuple(q.values), grid)


def _stages(plan: PlanContext, reductions: list[Reduction], domain: ReductionDomain) -> list[Kernel] | None:
    build = ReduceBuilder(plan, reductions, domain, 1)
    if len(reductions) == 1 and (kernel := window_kernel(plan, *reductions[0][:2], domain)):
        return [kernel]
    parts = build.count_parts()
    if parts > 1:
        reductions = [m._replace(part=plan.temporary(domain.rows * parts)) for m in reductions]
    try:
        first = ReduceBuilder(plan, reductions, domain, parts).kernel()
    except BoundTwice:
        return None
    joined = (reduce_parts(plan, m.head, m.tail, m.part, parts) for m in reductions if m.part is not None)
    return [first, *joined]


class ReduceBuilder:
    """One reduction kernel in the making."""

    def __init__(self, plan: PlanContext, reductions: list[Reduction], domain: ReductionDomain, parts: int):
        self.plan, self.reductions, self.domain, self.parts = plan, reductions, domain, parts
        self.runs, self.sizes = domain.collapsed
        self.outer = [i for i, r in enumerate(self.runs) if r[0] < domain.kept]
        self.inner = [i for i, r in enumerate(self.runs) if r[0] >= domain.kept]

    def can_widen(self) -> bool:
        last = bool(self.inner) and self.sizes[-1] >= 4
        return last and can_widen(self.domain.trace.steps, self.runs, self.sizes)

    def count_parts(self) -> int:
        rows, length = self.domain.rows, self.domain.length
        if self.plan.limits.software:
            return self.split_more(split_of(rows, length))
        lanes, across, width = self.tree()
        blocks = max(-(-rows // across), 1)
        # Enough parts to fill the GPU, but each thread of a part has at least 8 reads.
        return max(min(TREE_FILL // blocks, length // (lanes * width * 8)), 1)

    def split_more(self, parts: int) -> int:
        """As many parts as a thread's turns of loops need."""
        longest = max((self.sizes[i] for i in self.inner), default=1)
        while self.turns(parts) > self.plan.limits.turns and parts < longest:
            parts *= 2
        check_turns(self.plan.limits, self.reductions[0].op, self.turns(parts))
        return parts

    def turns(self, parts: int) -> int:
        """Loop iterations of a thread over its part of a row."""
        sizes = [self.sizes[i] for i in self.inner]
        cut = max(range(len(sizes)), key=lambda i: sizes[i], default=0)
        width = 4 if self.can_widen() else 1
        turns = self.domain.trace.turns
        for i, n in reversed(list(enumerate(sizes))):
            # Only the longest run is divided among parts; the innermost is read in fours if it can be.
            each = (parts if i == cut else 1) * (width if i == len(sizes) - 1 else 1)
            turns = turns * -(-n // each) + 1
        return turns

    # --- shared by both templates ---

    def kernel(self) -> Kernel:
        """BoundTwice where it binds too many buffers."""
        return fitting(self._kernel)

    def _kernel(self, narrow: bool) -> Kernel:
        plan, trace, reductions = self.plan, self.domain.trace, self.reductions
        q, b = Quantities(), Bindings()
        width = 4 if not narrow and self.can_widen() else 1
        row_dims = tuple(q.add("row_dim", self.sizes[i]) for i in self.outer[1:])
        reduced = [self.sizes[i] for i in self.inner]
        first = [q.add("reduced", n) for n in reduced[:1]] if plan.limits.software else [""]
        loops = (*first, *[q.add("reduced", n) for n in reduced[1:]])
        # The serial template loops over every run; the tree counts through all of a row with `k`.
        coordinate = "r0" if plan.limits.software else "k"
        coords = coordinates(len(self.outer), "c", "row") + coordinates(len(self.inner), "r", coordinate)
        body = emit(trace.steps, naming_over(self.runs, coords, b, q, width), self.domain.root)
        if len(reductions) > 1:
            # Reductions of the same value share a field of the struct.
            roots = zip(self.domain.roots, reductions, strict=True)
            results = dict.fromkeys((f"t{root}", m.head.dtype.short) for root, m in roots)
            body = body._replace(result="Results", results=tuple(results))
        functions, specs, after = [("value", body)], list[ReductionSpec](), list[Trace]()
        for i, m in enumerate(reductions):
            end = epilogue(plan, m.head, m.tail, trace.reads, trace.checks) if m.part is None else None
            # Parts have no epilogue: the kernel that joins them computes it.
            after += [end.trace] if end else []
            finish, sizes = finish_function(end, m.head.shape, b, q, "row")
            functions += [(f"end{i}", finish)] if finish else []
            specs.append(self.spec(i, m, bool(finish), tuple(q.add("dim", n) for n in sizes[1:])))
        checks = trace.checks or any(a.checks for a in after)
        check_bindings(b, plan.limits.storage_buffers - len(reductions) - checks)
        layout = self.serial if plan.limits.software else self.of_tree
        template, workgroup, grid, options = layout(q, width)
        options |= {"ends": tuple(specs), "row_dims": row_dims, "loops": loops}
        options |= {"coords": tuple(coords[: len(self.outer)])}
        shader = Shader(
            template,
            tuple(q.names),
            tuple(b.kinds),
            tuple((e.stored, 1) for e in specs),
            (workgroup, 1, 1),
            tuple(functions),
            tuple(sorted(options.items())),
        )
        written = tuple(plan.index[id(m.tail)] if m.part is None else m.part for m in reductions)
        name = label("+".join(m.op for m in reductions), trace.steps, *[a.steps for a in after])
        return Kernel(name, shader, tuple(b.values), written, tuple(q.values), grid)

    def spec(self, i: int, m: Reduction, has_epilogue: bool, dims: tuple[str, ...]) -> ReductionSpec:
        """The i-th reduction for the template. dims: of the coordinates of its epilogue, but the first."""
        dtype = m.head.dtype.short
        behind = self.parts > 1 and are_pieces(self.plan, m.head, self.parts)
        field = f".t{self.domain.roots[i]}" if len(self.reductions) > 1 else ""
        return ReductionSpec(
            f"_{i}" if i else "",
            m.op,
            dtype,
            field,
            out_name(i),
            m.tail.dtype.short if m.part is None else dtype,
            behind,
            f"end{i}" if has_epilogue else "",
            dims,
        )

    # --- one thread per row, or per part of a row ---

    def serial(self, q: Quantities, width: int) -> tuple[str, int, tuple[int, int, int], dict[str, Any]]:
        threads = self.domain.rows * self.parts
        grid = spread_grid(-(-threads // WORKGROUP), self.plan.limits.groups)
        # the run that the parts divide: the longest, so that every part has work
        cut = max(range(len(self.inner)), key=lambda i: self.sizes[self.inner[i]], default=0)
        options = {
            "size": q.add("size", threads),
            "parts": q.add("parts", self.parts) if self.parts > 1 else "",
            "cut": cut,
            "span": q.add("span", grid[0] * WORKGROUP),
        }
        return "reduce/serial.wgsl", WORKGROUP, grid, options

    # --- a tree ---

    def is_columns(self) -> bool:
        """Whether neighbours in memory belong to different rows, as in a sum over the first dim of a
        matrix."""
        if not self.outer or not self.inner:
            return False
        across, along = self.runs[self.outer[-1]][-1], self.runs[self.inner[-1]][-1]
        steps = [s.view.index.strides for s in self.domain.trace.steps if s.kind == "load" and s.view]
        steps = [s for s in steps if s[across] and s[along]] or steps  # broadcast: it is read from a cache
        return any(s[across] == 1 for s in steps) and not any(s[along] == 1 for s in steps)

    def tree(self) -> tuple[int, int, int]:
        """How a workgroup is shared out: threads along a row, rows side by side; and the reading width."""
        if self.is_columns():
            across = 32 if self.domain.rows > 8 else 8  # 32 neighbours are a line of memory
            return TREE_THREADS // across, across, 1
        width = 4 if self.can_widen() else 1
        turns = self.domain.length // width
        threads_per_row = TREE_THREADS if self.domain.rows == 1 else 128
        # few steps, so that a new batch size seldom makes a new shader; one thread per window, if windows
        # fill the GPU
        serial = WINDOW if self.domain.rows >= WINDOWS_FILL else 4
        steps = ((serial, 1), (64, 8), (512, 32))
        lanes = next((n for most, n in steps if turns <= most), threads_per_row)
        fits = [n for n in (1, 8, 32, 64, 128, 256) if n <= max(turns, 1)]
        bucket = (min(turns, 1 << 16).bit_length(), min(self.domain.rows, 1 << 16).bit_length(), width)
        lanes = choose(self.plan.limits, "tree", bucket, fits, lanes)
        return lanes, TREE_THREADS // lanes, width

    def of_tree(self, q: Quantities, width: int) -> tuple[str, int, tuple[int, int, int], dict[str, Any]]:
        lanes, across, _ = self.tree()
        blocks = max(-(-self.domain.rows // across), 1)
        step = lanes * width
        # Elements of a row in one part: whole iterations.
        chunk = -(-self.domain.length // (self.parts * step)) * step
        grid = spread_grid(blocks * self.parts, self.plan.limits.groups)
        options = {
            "rows": q.add("rows", self.domain.rows),
            "length": q.add("length", self.domain.length),
            "chunk": q.add("chunk", chunk),
            "blocks": q.add("blocks", blocks),
            "line": q.add("line", grid[0]),
            "parts": q.add("parts", self.parts) if self.parts > 1 else "",
            "lanes": lanes,
            "across": across,
            "columns": self.is_columns(),
        }
        return "reduce/tree.wgsl", TREE_THREADS, grid, options


def split_of(rows: int, length: int) -> int:
    """How many threads share a row on a software adapter: enough to fill it, each with work to do."""
    if rows >= SOFTWARE_FILL or length < SPLIT_AT:
        return 1
    want, parts = min(SOFTWARE_FILL // max(rows, 1), length // 256), 1
    while parts * 2 <= want:  # a power of two
        parts *= 2
    return parts
