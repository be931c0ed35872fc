"""Builds products in register tiles: each thread computes rows x columns of the result, without barriers."""

from dataclasses import replace
from math import prod
from typing import Any

from ...core.choose import choose
from ...core.shape import Affine, Shape, View
from ..emit import (
    Bindings,
    Quantities,
    can_widen,
    check_bindings,
    emit,
    fitting,
    label,
    name_parts,
    naming_over,
    spread_grid,
)
from ..ir import WORKGROUP, Kernel, Shader, WgslFunction
from ..lower import Epilogue, NeedStore, check_turns
from ..reduce import reduce_parts
from .pack import packed_operand
from .product import (
    BATCH,
    COLUMNS,
    NAMES,
    READS_BUFFERS,
    ROWS,
    SUMMED,
    ContractionDomain,
    Operand,
    OperandSpec,
    Product,
    SplitIndex,
)

ALONE = {BATCH: "b", ROWS: "row", COLUMNS: "column", SUMMED: "k"}  # a coordinate that is alone in its group
GPU_FILL, LEAST_SUMMED = 16384, 128  # threads that fill a real GPU; the fewest elements that one of them sums
LARGE_FROM = 1 << 23  # multiply-adds: below, a software adapter's tiles are those of a GPU
TRANSPOSE_FROM = 256  # above these sizes (rows, columns, summed) a copy costs less than vec4s along k
PACK_FROM = 64  # columns: above this copying the rows' side costs less than reading it element by element


def register_kernels(product: Product) -> list[Kernel]:
    """The kernels of a product: one, or two if few results have long sums; before them a copy of the rows'
    side if that allows vec4 reads."""
    plan, head = product.plan, product.head
    if product.tail.dtype.is_packed:
        raise NeedStore(plan.before_packed(head), "register tiles are written element by element")
    for o in (product.a, product.b):
        if not o.is_stored:
            raise NeedStore(plan.base_of(o.node)[0], READS_BUFFERS)
    dim, parts = _split_of(product)
    if parts == 1:
        return _kernels(product)
    part = plan.temporary(prod(head.shape) * parts)
    first = _kernels(_in_parts(product, dim, parts), part)
    return [*first, reduce_parts(plan, head, product.tail, part, parts)]


def _kernels(product: Product, part: int | None = None) -> list[Kernel]:
    build = RegisterBuilder(product, part)
    # Built first: how it reads its sides (`modes`) decides whether a copy is better.
    kernel = fitting(build.kernel)
    if (build.modes[0] == "scalar" or build.is_worth_transposing()) and build.is_worth_packing():
        a, copy = packed_operand(product, product.a, (BATCH, SUMMED, ROWS))
        return [copy, fitting(RegisterBuilder(replace(product, a=a), part).kernel)]
    return [kernel]


# --- sums that are split ---


def _split_of(product: Product) -> tuple[int, int]:
    """The summed dim to share among threads, and in how many parts: if a GPU would have too few results, or a
    thread would exceed its loop iterations."""
    # Two reasons, two bounds. `least`: llvmpipe ends a thread's loops at `turns`, so the sum must be cut at
    # least so often. `most`: few results leave a GPU idle, so the sum may be cut until threads fill it, but
    # not into parts too short for a second kernel. A dim is cut only where the parts are equal, or it is
    # padded.
    limits, full = product.limits, product.domain.shape
    summed = [d for d, g in enumerate(product.domain.groups) if g == SUMMED]
    turns = _turns([full[d] for d in summed])
    threads = product.batch * -(-product.m // 8) * -(-product.n // 8)
    least, most = max(-(-turns // limits.turns), 1), 1
    if not limits.software and 0 < threads < GPU_FILL:
        most = min(GPU_FILL // threads, product.k // LEAST_SUMMED)
    choices = [(s, d) for d in summed for s in range(least, max(most, 4 * least) + 1) if full[d] % s == 0]
    if least > 1:  # the fewest that do; where none divides a dim, the longest is padded
        longest = max(summed, key=lambda d: full[d])
        parts, dim = min([c for c in choices if c[0] > 1], default=(least, longest))
        check_turns(limits, "contraction", -(-turns // min(parts, full[dim])))
        return dim, parts
    parts, dim = max([c for c in choices if c[0] <= most], default=(1, 0))
    return dim, parts


def _turns(sizes: list[int]) -> int:
    """Turns of a thread's loops over the summed dims."""
    turns = 1
    for n in reversed(sizes):
        turns = turns * n + (n > 1)  # a loop also counts one iteration for itself
    return turns


def _in_parts(product: Product, dim: int, parts: int) -> Product:
    """Split a summed dim into two: the part, which is the last dim of the result, and the place in the part.
    The last part is padded if the dim is not a multiple."""
    domain, rank = product.domain, product.rank
    each = -(-domain.shape[dim] // parts)
    summed = [each if d == dim else n for d, n in enumerate(domain.shape)][rank:]
    shape = (*domain.shape[:rank], parts, *summed)
    groups = (*domain.groups[:rank], BATCH, *domain.groups[rank:])
    a, b = (o.through(lambda view: _split_dim(view, dim, shape, rank), shape) for o in (product.a, product.b))
    domain = ContractionDomain(shape, groups, tuple(range(len(shape))))
    return replace(product, a=a, b=b, domain=domain)


def _split_dim(view: View, dim: int, shape: Shape, rank: int) -> View:
    """A view with a dim as two: its parts at `rank`, and where in a part; zeros fill up the last one."""
    parts, each = shape[rank], shape[dim + 1]
    if rest := parts * each - view.shape[dim]:
        none = (0,) * len(view.shape)
        view = view.pad(none, tuple([rest if d == dim else 0 for d in range(len(none))]))

    def split(a: Affine) -> Affine:
        return Affine((*a.strides[:rank], a.strides[dim] * each, *a.strides[rank:]), a.offset)

    return view.map(shape, split)


# --- one kernel ---


class RegisterBuilder:
    """One dispatch of a product in the making. Both sides, the result and the epilogue walk the same runs of
    dims, so a thread finds each coordinate once. part: the value that takes the sums of parts."""

    def __init__(self, product: Product, part: int | None):
        self.product, self.part, self.limits = product, part, product.limits
        self.after = product.after if part is None else None
        self.out, *read = product.places(self.after)
        domain, (a, b) = product.domain, (product.a, product.b)
        affines = [self.out, *a.affines, *b.affines, *read]
        self.walk = domain.walk(affines, BATCH, ROWS, COLUMNS, SUMMED)
        self.runs, self.sizes = self.walk
        # the epilogue alone walks the dims of the result in fewer runs
        self.walk_read = domain.walk(read, BATCH, ROWS, COLUMNS).flatten() if self.after else None
        names = iter(range(len(domain.shape)))
        self.coords = {
            group: [ALONE[group]] if len(runs) == 1 else [f"x{next(names)}" for _ in runs]
            for group, runs in self.runs.items()
        }
        self.modes = ("scalar", "scalar")  # how the sides are read, see OperandSpec.along

    # --- reads and results ---

    def mode(self, o: Operand, own: int) -> str:
        """Whether vec4 reads fit: neighbours along the side's last own run, or along the last summed run."""
        strides = {run: o.view.index.strides[run[-1]] for runs in self.runs.values() for run in runs}
        # A four may neither cross padding nor begin off a multiple of four elements.
        if o.view.bounds or o.view.index.offset % 4:
            return "scalar"
        for along, group in (("free", own), ("k", SUMMED)):
            if self.runs[group]:
                last = self.runs[group][-1]
                others = [s for run, s in strides.items() if run is not last]
                if strides[last] == 1 and self.sizes[group][-1] % 4 == 0 and not any([s % 4 for s in others]):
                    return along
        return "scalar"

    def is_worth_packing(self) -> bool:
        """Every packed element is read by many columns, and rows come in fours."""
        product = self.product
        return product.m % 4 == 0 and product.n >= PACK_FROM and not product.a.is_coded

    def is_worth_transposing(self) -> bool:
        """Whether the rows' side is read as vec4s along the summed dims: each iteration then has four steps,
        while one or two need a fraction of the code and run as fast."""
        a, b = self.modes
        if a != "k" or not self.limits.software:
            return False
        return self.is_large() if b == "free" else b == "scalar" and self.is_much()

    def is_much(self) -> bool:
        """Whether there is more to compute than to compile."""
        product = self.product
        return product.batch * product.m * product.n * product.k >= LARGE_FROM

    def is_large(self) -> bool:
        """Whether every group of dims is long."""
        product = self.product
        least = min(product.m, product.n, product.k)
        return self.limits.software and product.batch == 1 and least >= TRANSPOSE_FROM

    def step(self) -> int:
        """How many neighbours along the last summed run an iteration processes."""
        if "k" in self.modes:
            return 4
        is_even = bool(self.runs[SUMMED]) and self.sizes[SUMMED][-1] % 2 == 0
        return 2 if is_even and self.modes == ("free", "free") and self.is_large() else 1

    def tile(self) -> tuple[int, int]:
        """Rows and columns of a thread's tile: 8 x 8, less where the result has less.

        A software adapter pays for every read and has no registers to run out of: it takes 16 rows, and 16
        columns where columns are read one by one (measured: docs/internals/performance.md). Not for so little
        work that compiling the larger kernel takes longer than running it a hundred times, nor where four
        steps of each turn fill its small registers.
        """
        # m and n are rows and columns of the whole result; a is the rows' side, b the columns'. Each row of a
        # tile reads a once and each column b once for every step, so a larger tile reads less for a multiply-
        # add; it also is that much more text to compile.
        m, n, k = self.product.m, self.product.n, self.product.k
        large = self.limits.software and self.is_much()
        usual = f"{self.tile_rows(m, large)}x{self.tile_columns(n, large)}"
        texts = [f"{a}x{b}" for a in (8, 16) for b in (4, 8, 16) if m >= a and n >= b]
        bucket = (_size(m), _size(n), _size(k), *self.modes, self.product.head.dtype.short)
        rows, _, columns = choose(self.limits, "registers", bucket, texts, usual).partition("x")
        return int(rows), int(columns)

    def tile_rows(self, m: int, large: bool) -> int:
        if large and m >= 16 and (self.step() < 4 or self.limits.lanes > 4):
            return 16
        if m > 4:
            return 8
        return 4 if m > 2 or self.modes[0] == "free" else max(m, 1)  # fours of rows want four of them

    def tile_columns(self, n: int, large: bool) -> int:
        if large and self.modes[1] == "scalar" and n >= PACK_FROM:
            return 16
        return 8 if n > 4 else 4

    def stores_fours(self) -> bool:
        """Whether four neighbouring columns are adjacent in the result, and are stored at once: a real GPU
        gains nothing from it; a CPU's compiler has a quarter of the stores to process."""
        shape, groups, side_by_side = self.product.domain.shape, self.product.domain.groups, 1
        for d in reversed(range(self.product.rank)):
            if shape[d] != 1:
                if groups[d] != COLUMNS:
                    break
                side_by_side *= shape[d]
        return self.limits.software and side_by_side % 4 == 0

    # --- its text ---

    def kernel(self, narrow: bool) -> Kernel:
        product, head = self.product, self.product.head
        a, b = product.a, product.b
        self.modes = ("scalar", "scalar") if narrow else (self.mode(a, ROWS), self.mode(b, COLUMNS))
        rows, columns = self.tile()
        workgroup = workgroup_of(-(-product.n // columns))
        tiles = -(-product.n // (columns * workgroup[0])), -(-product.m // (rows * workgroup[1]))
        width = 4 if self.stores_fours() else 1
        q, bindings, step = Quantities(), Bindings(), self.step()
        options, specs = self.template_options(q, bindings)
        functions: tuple[tuple[str, WgslFunction], ...] = ()
        if self.after is not None:
            functions = (("finish", self.finish(self.after, width == 4 and not narrow, q, bindings)),)
        check_bindings(bindings, product.plan.max_inputs)  # the epilogue may read an operand too
        grid = spread_grid(tiles[0] * tiles[1] * product.batch, self.limits.groups)
        options |= {
            "acc": head.dtype.short,
            "tile_rows": rows,
            "tile_columns": columns,
            "step": step,
            "flat": self.is_flat,
            "a": specs[0],
            "b": specs[1],
            "tiles": (q.add("tiles", tiles[0]), q.add("tiles", tiles[1])),
            "groups": q.add("groups", grid[0]),
        }
        # Parts are in the head's dtype; the second kernel has the epilogue.
        tail = product.tail if self.part is None else head
        shader = Shader(
            "contract/registers.wgsl",
            tuple(q.names),
            tuple(bindings.kinds),
            ((tail.dtype.short, width),),
            (*workgroup, 1),
            functions,
            tuple(options.items()),
        )
        name = label(head.attrs["label"], self.after.trace.steps if self.after else ())
        out = product.plan.index[id(tail)] if self.part is None else self.part
        return Kernel(name, shader, tuple(bindings.values), (out,), tuple(q.values), grid)

    @property
    def is_flat(self) -> bool:
        """Whether several summed dims are one loop."""
        return self.limits.software and len(self.runs[SUMMED]) > 1

    def template_options(self, q: Quantities, bindings: Bindings) -> tuple[dict[str, Any], list[OperandSpec]]:
        """The template's named parameters: the groups of dims, the positions of results, and both sides."""
        a, b = self.product.a, self.product.b
        affines = list(dict.fromkeys([*a.affines, *b.affines, self.out]))
        sizes = [("padded", bound.size) for o in (a, b) for bound in o.view.bounds]
        parts = [(self.runs[g], self.coords[g]) for g in (BATCH, ROWS, COLUMNS, SUMMED)]
        widths = [1 if along == "scalar" else 4 for along in self.modes]
        unravelled, nested = ((BATCH, SUMMED), ()) if self.is_flat else ((BATCH,), (SUMMED,))
        groups = self.walk.name_groups(self.coords, q, unravelled, nested)
        names = dict(zip(affines, name_parts(affines, parts, q), strict=True))
        padded = iter(q.add_all(sizes))
        buffers = (
            bindings.add(a.load.value, a.load.held, widths[0]),
            bindings.add(b.load.value, b.load.held, widths[1]),
        )
        specs: list[OperandSpec] = []
        for o, own, along, buffer in zip((a, b), (ROWS, COLUMNS), self.modes, buffers, strict=True):
            places = {
                a: SplitIndex(offset, by[BATCH], by[own], by[SUMMED]) for a, (offset, by) in names.items()
            }
            tests = tuple([(places[t.position], next(padded)) for t in o.view.bounds])
            by_group = groups[BATCH], groups[own], groups[SUMMED]
            wide, index = along != "scalar", (places[o.view.index],)
            specs.append(OperandSpec(buffer, o.load.held.short, along, wide, index, *by_group, tests))
        by_name: dict[str, Any] = dict(zip(NAMES, [groups[g] for g in range(4)], strict=True))
        return by_name | {"out": tuple(names[self.out][1][:SUMMED])}, specs

    def finish(self, after: Epilogue, wide: bool, q: Quantities, bindings: Bindings) -> WgslFunction:
        """The epilogue, over the coordinates of batch, rows and columns; of four neighbours where it can."""
        runs = [r for g in (BATCH, ROWS, COLUMNS) for r in self.runs[g]]
        coords = [c for g in (BATCH, ROWS, COLUMNS) for c in self.coords[g]]
        fits = wide and self.walk_read is not None and can_widen(after.trace.steps, *self.walk_read)
        width = 4 if fits else 1
        return emit(after.trace.steps, naming_over(runs, coords, bindings, q, width), after.root)


def _size(n: int) -> int:
    """A size as the power of two that it reaches, up to where more makes no difference."""
    return min(n, 4096).bit_length()


def workgroup_of(columns: int) -> tuple[int, int]:
    """64 threads, along as many columns as have work. Few shapes, so that a new size rarely needs a
    new shader."""
    x = next((x for x in (1, 4, 16) if x >= columns), WORKGROUP)
    return x, WORKGROUP // x
