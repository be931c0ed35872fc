"""Describes a contraction as products of matrices: two operands, how each is read, and its dims in groups."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from ...core.node import Node
from ...core.shape import Affine, Shape, View, collapse, contiguous_strides, run_size
from ..emit import Bindings, Naming, Quantities, Run, below, can_widen, emit, emit_from, name_parts
from ..ir import WgslFunction, WgslIndex
from ..lower import Epilogue, Move, NeedStore, OwnRows, PlanContext, Trace, epilogue

BATCH, ROWS, COLUMNS, SUMMED = range(4)
NAMES = ("batch", "rows", "columns", "summed")  # of these groups of dims, in Params


class SplitIndex(NamedTuple):
    """An affine position split into parts: offset, batch, the side's own dims, the summed dims."""

    offset: str
    batch: WgslIndex
    own: WgslIndex
    summed: WgslIndex


class DimGroup(NamedTuple):
    """A group of dims: coordinate names and sizes (Params names), outermost first, and their product."""

    coords: tuple[str, ...]
    sizes: tuple[str, ...]
    total: str


class DimRuns(NamedTuple):
    """The dims of each group as runs that are traversed as one dim, with the length of each."""

    runs: dict[int, list[Run]]
    sizes: dict[int, list[int]]

    def flatten(self) -> tuple[list[Run], list[int]]:
        """All runs, group by group, and their sizes."""
        runs = [run for of_group in self.runs.values() for run in of_group]
        return runs, [size for of_group in self.sizes.values() for size in of_group]

    def name_groups(
        self,
        coords: dict[int, list[str]],
        q: Quantities,
        unravelled: Sequence[int] = (BATCH,),
        nested: Sequence[int] = (),
    ) -> dict[int, DimGroup]:
        """The groups under their names in the kernel's text: a coordinate for each run. A single run is as
        long as its group. unravelled: groups whose index is only split, which does not read the first size.
        nested: groups that are walked by one loop for each run, which do not read the product of the sizes.
        """
        groups: dict[int, DimGroup] = {}
        for g, sizes in self.sizes.items():
            is_read = g not in nested or len(sizes) == 1
            total = q.once(NAMES[g], prod(sizes)) if is_read else ""
            names = [total] * len(sizes)
            if len(sizes) > 1:
                first = "" if g in unravelled else q.add(f"{NAMES[g]}_dim", sizes[0])
                names = [first, *(q.add(f"{NAMES[g]}_dim", n) for n in sizes[1:])]
            groups[g] = DimGroup(tuple(coords[g]), tuple(names), total)
        return groups


class ContractionDomain(NamedTuple):
    """The dims of a contraction: their sizes, the group of each, and the order in which they are walked."""

    shape: Shape
    groups: tuple[int, ...]
    order: tuple[int, ...]  # the dims, in the order in which each group's are walked

    def total(self, group: int) -> int:
        return prod([n for n, g in zip(self.shape, self.groups, strict=True) if g == group])

    def walk(self, affines: Sequence[Affine], *groups: int) -> DimRuns:
        """The dims of each group as few runs as these affines walk; a group's dims count as neighbours though
        other dims lie between."""
        dims = [d for g in groups for d in self.order if self.groups[d] == g]
        moved = [Affine(tuple([a.strides[d] for d in dims]), 0) for a in affines]  # offsets don't matter here
        shape, group_of = tuple([self.shape[d] for d in dims]), tuple([self.groups[d] for d in dims])
        walk = DimRuns({g: [] for g in groups}, {g: [] for g in groups})
        for run in collapse(shape, moved, group_of):
            walk.runs[group_of[run[0]]].append(tuple([dims[i] for i in run]))
            walk.sizes[group_of[run[0]]].append(prod([shape[i] for i in run]))
        return walk


class RowStat(NamedTuple):
    """A sum over a row of an operand, from which the operand's elements are computed: its node, and the step
    of its terms."""

    node: Node
    root: int


@dataclass
class Operand:
    """One side of a contraction: the expression that gives its elements over the contraction's dims.

    stats: the sums over its rows that the kernel computes first, inputs first. affines: the positions that it
    reads or checks. walked: the dims along which its elements differ. is_stored: whether it is read from one
    buffer in place; then `load` is that step, and `view` its view.
    """

    node: Node
    trace: Trace
    root: int
    shape: Shape
    stats: tuple[RowStat, ...] = ()

    def __post_init__(self) -> None:
        self.affines = list(dict.fromkeys(self.trace.affines))  # equal positions are computed once
        strides = zip(*[a.strides for a in self.affines], strict=True)
        self.walked = frozenset([d for d, s in enumerate(strides) if any(s) and self.shape[d] > 1])
        self.dtype = self.trace.steps[self.root].dtype
        self.is_stored = len(self.trace.steps) == 1
        self.load = self.trace.steps[0]
        self.view = self.load.view or View.of(self.shape)

    def walked_shape(self) -> Shape:
        """The sizes of the dims that its elements differ along, 1 for others."""
        return tuple([n if d in self.walked else 1 for d, n in enumerate(self.shape)])

    def through(self, view_of: Callable[[View], View], shape: Shape) -> "Operand":
        """The same operand with view_of applied to each view it reads through, over dims of another shape."""
        return replace(self, trace=self.trace.with_views(lambda _, view: view_of(view)), shape=shape)

    def read_from(self, value: int, view: View) -> "Operand":
        """A stored operand whose elements have been copied to another buffer, read through `view`."""
        trace = self.trace.over([self.load._replace(value=value, view=view)])
        trace.reads = {value}
        return replace(self, trace=trace)

    @property
    def is_coded(self) -> bool:
        """Whether its elements are decoded of quantised blocks where they are loaded."""
        return any(s.coded is not None for s in self.trace.steps)

    @property
    def tests(self) -> list[Affine]:
        """The positions that padding depends on."""
        return [b.position for s in self.trace.steps if s.view for b in s.view.bounds]


def operand(plan: PlanContext, node: Node, shape: Shape, rank: int) -> Operand:
    """The elements of an operand that is stored, or on a GPU cheap enough to compute at each read; NeedStore
    otherwise. rank: the number of the result's dims."""
    base, _ = plan.base_of(node)
    is_there = plan.is_there(base)
    if not is_there and plan.limits.software:
        raise NeedStore(base, READS_BUFFERS)
    trace = Trace(plan, node.shape)
    trace.top = base
    if plan.inlined:
        row = (*contiguous_strides(node.shape[:rank]), *(0 for _ in node.shape[rank:]))
        trace.rows = OwnRows(plan.inlined, row)
    root = trace.value(node, (Move("expand", (shape,), node),))
    stats = row_stats(trace, root, node, shape, rank)
    if not is_there:
        # The operand has size 1 along the other side's dims: each of its elements is used for this many
        # results.
        columns = prod(n for n, own in zip(shape[:rank], node.shape, strict=False) if own == 1)
        if not is_worth_computing(trace, prod(node.shape) * -(-columns // STAGED_FOR), base):
            raise NeedStore(base, "a contraction would compute it too often")
    return Operand(node, trace, root, shape, stats)


def row_stats(trace: Trace, root: int, node: Node, shape: Shape, rank: int) -> tuple[RowStat, ...]:
    """The sums over an operand's rows that its elements depend on, with their terms; NeedStore if a sum is
    not over the operand's own rows."""
    stats: dict[Node, int] = {}
    _add_row_stats(stats, trace, root, node, shape, rank)
    return tuple(RowStat(n, value) for n, value in stats.items())


def _add_row_stats(
    stats: dict[Node, int], trace: Trace, step: int, node: Node, shape: Shape, rank: int
) -> None:
    """Add the sums that a step depends on, inputs first."""
    own = prod(node.shape[:rank]), prod(node.shape[rank:])
    for s in below(trace.steps, step):
        n = trace.steps[s].node
        if trace.steps[s].kind != "stat" or n in stats:
            continue
        x = n.inputs[0]
        if (prod(n.shape), prod(x.shape)) != (own[0], prod(own)):
            raise NeedStore(n, "it reduces other rows")
        moves = Move("reshape", (node.shape,), x), Move("expand", (shape,), None)
        value = trace.value(x, moves if x.shape != node.shape else moves[1:])
        _add_row_stats(stats, trace, value, node, shape, rank)
        stats[n] = value


READS_BUFFERS = "contractions read buffers"  # why an operand is stored
READS = 3  # buffers that a computed operand may read: both operands leave room for an epilogue's
STAGED_FOR = 128  # columns (or rows) of a tile: for how many an element is staged once
# Picoseconds on an H200: an operation, reading another element of a large operand and of a small one, moving
# a byte, and an additional kernel.
OP, LARGE_READ, SMALL_READ, BYTE, KERNEL = 0.035, 0.3, 0.05, 0.25, 2e6


def is_worth_computing(trace: Trace, times: int, base: Node) -> bool:
    """Whether computing an operand's elements this many times costs less than storing and reading them."""
    loads = [s for s in trace.steps if s.kind == "load"]
    if (
        not loads
        or len(trace.reads) > READS
        or any(s.kind in ("gather", "inside", "random") for s in trace.steps)
    ):
        return False
    elements = prod(base.shape)
    # One large read replaces that of the stored operand; only additional ones increase the cost.
    large = [s for s in loads if 4 * prod(s.node.shape) >= elements]
    work = OP * sum(s.node.op.cost for s in trace.steps if s.kind == "op")
    each = work + LARGE_READ * max(len(large) - 1, 0) + SMALL_READ * (len(loads) - len(large))
    read = sum(s.node.nbytes for s in loads)
    # A loop inside the expression would run for every staged element.
    return trace.turns == 1 and times * each <= BYTE * (read + base.nbytes) + KERNEL


def order_of(operands: tuple[Operand, ...], groups: tuple[int, ...]) -> tuple[int, ...]:
    """The dims in order, but with the summed dims that padding depends on first, so that padding is checked
    once per step.

    Not if windows' positions are summed: those are adjacent in memory, the other dims are not.
    """
    if any(sums_positions(o, groups) for o in operands):
        return tuple(range(len(groups)))
    tests = [t for o in operands for t in o.tests]

    def is_inner(d: int) -> bool:
        return groups[d] == SUMMED and not any(a.strides[d] for a in tests)

    return tuple(sorted(range(len(groups)), key=lambda d: (is_inner(d), d)))


def sums_positions(o: Operand, groups: tuple[int, ...]) -> bool:
    """Whether padding depends on more of the summed positions than of the others: a convolution sums the taps
    of its windows, its weight's gradient the windows' positions."""
    tested = [d for d in range(len(groups)) if any(t.strides[d] for t in o.tests)]
    summed = prod(o.shape[d] for d in tested if groups[d] == SUMMED)
    return summed > prod(o.shape[d] for d in tested if groups[d] != SUMMED)


class OperandSpec(NamedTuple):
    """One operand as the templates see it.

    along: the dims of four neighbours: "free", its own; "k", the summed ones; "scalar", elements are read one
    by one. wide: four are read at once. tests: for padding, each position with its upper bound.
    """

    name: str
    dtype: str
    along: str
    wide: bool
    places: tuple[SplitIndex, ...]
    batch: DimGroup
    own: DimGroup
    summed: DimGroup
    tests: tuple[tuple[SplitIndex, str], ...] = ()
    stats: tuple[str, ...] = ()


def stat_name(place: int) -> str:
    """A kernel's name for the sum over a row; the row's number is appended."""
    return f"row_sum{place}"


class OperandIndexing:
    """An operand's runs of dims, how its elements are read, and its names in the kernel's text."""

    def __init__(
        self,
        name: str,
        operand: Operand,
        own: int,
        domain: ContractionDomain,
        narrow: bool,
        along: str | None = None,
    ):
        self.name, self.operand, self.own, self.domain = name, operand, own, domain
        self.walk = domain.walk(operand.affines, BATCH, own, SUMMED)
        self.runs, self.sizes = self.walk
        letters = zip(self.runs.items(), "bok", strict=True)
        self.coords = {g: [f"{name}_{c}{i}" for i in range(len(runs))] for (g, runs), c in letters}
        self.along, self.wide = self.reading(narrow)
        if along is not None:
            self.along, self.wide = along, not narrow and self.is_wide(SUMMED if along == "k" else own)

    def reading(self, narrow: bool) -> tuple[str, bool]:
        """Along which dims ("free" or "k") neighbours are read, and whether four of them at once."""
        if not narrow:
            for along, last in (("free", self.own), ("k", SUMMED)):
                if self.is_wide(last):
                    return along, True
        loads = [s.view.index.strides for s in self.operand.trace.steps if s.kind == "load" and s.view]

        def reach(group: int) -> int:
            """How many neighbours in memory follow each other along the last run of a group."""
            run = self.runs[group][-1] if self.runs[group] else ()
            near = bool(run) and any(strides[run[-1]] == 1 for strides in loads)
            return run_size(self.domain.shape, run) if near else 0

        return ("k" if reach(SUMMED) > reach(self.own) else "free"), False

    def is_wide(self, last: int) -> bool:
        others = [g for g in (BATCH, self.own, SUMMED) if g != last]
        runs = [r for g in (*others, last) for r in self.runs[g]]
        sizes = self.sizes[last]
        return (
            bool(self.runs[last]) and sizes[-1] % 4 == 0 and can_widen(self.operand.trace.steps, runs, sizes)
        )

    def inner(self) -> int | None:
        """The dim along which four neighbours are read at once, if they are."""
        return self.runs[self.own if self.along == "free" else SUMMED][-1][-1] if self.wide else None

    def function(self, b: Bindings, q: Quantities) -> WgslFunction:
        """The expression over positions p0, p1, ... (one for each affine); e, always 0, stands for the
        neighbour."""
        inner = self.inner()
        position = {a: f"p{i}" for i, a in enumerate(self.operand.affines)}

        def index_of(a: Affine) -> WgslIndex:
            stride = a.strides[inner] if inner is not None else 0
            along = ("e", "1" if stride == 1 else q.add("stride", stride)) if stride else None
            return WgslIndex(((position[a], "1"), *([along] if along else [])), "")

        o = self.operand
        names = {id(stat.node): stat_name(i) for i, stat in enumerate(o.stats)}
        naming = Naming((*position.values(), "e"), index_of, inner, b, q, names)
        return (
            emit_from(o.trace.steps, naming, o.root, ()) if o.stats else emit(o.trace.steps, naming, o.root)
        )

    @property
    def stats(self) -> tuple[str, ...]:
        """The names of the row sums that are arguments of its function."""
        o = self.operand
        nodes = [
            o.trace.steps[s].node for s in below(o.trace.steps, o.root) if o.trace.steps[s].kind == "stat"
        ]
        names = {stat.node: stat_name(i) for i, stat in enumerate(o.stats)}
        return tuple(dict.fromkeys(names[n] for n in nodes))

    def spec(self, q: Quantities) -> OperandSpec:
        groups = self.walk.name_groups(self.coords, q)
        names = name_parts(self.operand.affines, [(self.runs[g], self.coords[g]) for g in self.runs], q)
        places = tuple([SplitIndex(offset, *parts) for offset, parts in names])
        dtype = self.operand.dtype.short
        batch, own, summed = groups.values()
        stats = self.stats if self.operand.stats else ()
        return OperandSpec(self.name, dtype, self.along, self.wide, places, batch, own, summed, stats=stats)

    def is_flat(self, step: int) -> bool:
        """Whether this many summed elements, beginning at a multiple, are always in one run."""
        runs = self.runs[SUMMED]
        return bool(runs) and run_size(self.domain.shape, runs[-1]) % step == 0

    def carries(self, step: int, q: Quantities) -> tuple[str, ...]:
        """How far each summed run's coordinate goes when the summed index goes by `step`."""
        carries, rest = list[str](), step
        for run in reversed(self.runs[SUMMED]):
            # The outermost run takes the rest: it never wraps around.
            size = run_size(self.domain.shape, run) if run is not self.runs[SUMMED][0] else rest + 1
            carries.append(q.add("advance", rest % size))
            rest //= size
        return tuple(reversed(carries))


@dataclass
class Product:
    """A contraction as products of matrices: rows x summed by summed x columns, for each of a batch.

    beside: the columns of a second product of the same rows, which the epilogue reads too.
    """

    plan: PlanContext
    head: Node
    tail: Node
    a: Operand
    b: Operand
    domain: ContractionDomain
    beside: Operand | None = None

    def __post_init__(self) -> None:
        self.batch, self.m, self.n, self.k = [self.domain.total(g) for g in range(4)]
        self.limits = self.plan.limits
        self.rank = len(self.domain.shape) - self.head.attrs["nk"]  # the number of its results' dims

    @cached_property
    def after(self) -> Epilogue | None:
        reads = self.a.trace.reads | self.b.trace.reads
        if self.beside is None:
            return epilogue(self.plan, self.head, self.tail, reads)
        reads |= self.beside.trace.reads
        return epilogue(self.plan, self.head, self.tail, reads, beside=self.plan.beside[self.head])

    @cached_property
    def reading(self) -> tuple[int, int]:
        """How many sides are read along the summed dims, and how many are not read as vec4s."""
        sides = (("a", self.a, ROWS), ("b", self.b, COLUMNS))
        read = [OperandIndexing(name, operand, own, self.domain, False) for name, operand, own in sides]
        return sum(s.along == "k" for s in read), sum(not s.wide for s in read)

    @cached_property
    def is_free(self) -> bool:
        """Whether the longer side of a skinny product lies along its own dims."""
        own, operand = (COLUMNS, self.b) if self.m <= self.n else (ROWS, self.a)
        return OperandIndexing("b", operand, own, self.domain, False).along == "free"

    def places(self, after: Epilogue | None) -> list[Affine]:
        """The position of a result, then all positions that an epilogue reads, over all dims."""
        none = (0,) * (len(self.domain.shape) - self.rank)  # results don't depend on summed dims
        read = after.trace.affines if after else []
        out = contiguous_strides(self.domain.shape[: self.rank])
        return [Affine((*out, *none), 0), *[Affine((*a.strides, *none), a.offset) for a in read]]

    def in_memory_order(self) -> "Product":
        """The same product with dims walked in their own order, not with the untested summed dims last."""
        order = tuple(range(len(self.domain.shape)))
        return self if self.domain.order == order else replace(self, domain=self.domain._replace(order=order))

    def transpose(self) -> "Product":
        """The same product with rows and columns exchanged."""
        other = {ROWS: COLUMNS, COLUMNS: ROWS}
        domain = self.domain._replace(groups=tuple(other.get(g, g) for g in self.domain.groups))
        return Product(self.plan, self.head, self.tail, self.b, self.a, domain)

    @property
    def bucket(self) -> tuple[Any, ...]:
        """The key by which tuning distinguishes products: sizes to a power of two, and the accumulator's
        dtype."""
        return *(n.bit_length() for n in (self.m, self.n, self.k, self.batch)), self.head.dtype.short


def product_of(plan: PlanContext, head: Node, tail: Node) -> Product:
    """The product that a contraction's kernels compute; NeedStore if an operand has to be stored first."""
    rank = len(head.shape)
    summed = zip(*[i.shape[rank:] for i in head.inputs], strict=True)
    full = (*head.shape, *[x if y == 1 else y for x, y in summed])
    a, b = [operand(plan, i, full, rank) for i in head.inputs]
    columns_at = 1
    last = max([d for d in range(rank) if full[d] > 1], default=-1)
    # columns are the side with the result's innermost dim, so that neighbours store adjacent elements
    if last in a.walked - b.walked:
        a, b, columns_at = b, a, 0
    group_of = {d: ROWS for d in a.walked - b.walked} | {d: COLUMNS for d in b.walked - a.walked}
    groups = tuple([group_of.get(d, BATCH) if d < rank else SUMMED for d in range(len(full))])
    in_order = tuple(range(len(full)))
    order = in_order if plan.limits.software else order_of((a, b), groups)
    product = Product(plan, head, tail, a, b, ContractionDomain(full, groups, order))
    second = plan.beside.get(head)
    if second is None or second in plan.stored:
        return product
    if plan.classes[second.inputs[1 - columns_at]] != plan.classes[head.inputs[1 - columns_at]]:
        raise NeedStore(second, "its rows are others")
    pair = replace(product, beside=operand(plan, second.inputs[columns_at], full, rank))
    # An epilogue that could not be part of the kernel as a whole may have lost the second product.
    is_read = pair.after is not None and any(s.node is second for s in pair.after.trace.steps)
    return pair if is_read else product
