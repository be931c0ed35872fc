"""An operand of a contraction into an expression over batch, own and summed dims that a tile can stage."""

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from ...core.node import Node
from ...core.shape import Affine, Shape, collapse, run_size
from ..ir import Bindings, Quantities, Stored, WgslFunction, WgslIndex, name_index
from ..lower import Naming, NeedStore, Trace, base_of, is_there

BATCH, ROWS, COLUMNS, SUMMED = range(4)
NAMES = ("batch", "rows", "columns", "summed")  # of these groups of dims, in Params
Run = tuple[int, ...]


class SplitIndex(NamedTuple):
    """An affine position split by who walks it: offset, batch, the side's own dims, the summed dims."""

    offset: str
    batch: WgslIndex
    own: WgslIndex
    summed: WgslIndex


class DimGroup(NamedTuple):
    """A group of dims: coordinate names and sizes (Params names), outermost first, and their product."""

    coords: tuple[str, ...]
    sizes: tuple[str, ...]
    total: str


class ContractionDomain(NamedTuple):
    """What a contraction runs over: the sizes of all dims, which group each belongs to, and their order."""

    shape: Shape
    groups: tuple[int, ...]
    order: tuple[int, ...]  # the dims, in the order in which each group's are walked

    def total(self, group: int) -> int:
        return prod(n for n, g in zip(self.shape, self.groups, strict=True) if g == group)

    def runs(self, affines: list[Affine], group: int) -> list[Run]:
        """The dims of a group as few runs as these affines walk; a group's dims count as neighbours though
        others stand between."""
        dims = [d for d in self.order if self.groups[d] == group]
        moved = [Affine(tuple(a.strides[d] for d in dims), 0) for a in affines]
        runs = collapse(tuple(self.shape[d] for d in dims), moved, (0,) * len(dims))
        return [tuple(dims[i] for i in run) for run in runs]

    def group(self, runs: list[Run], group: int, name: str, q: Quantities) -> DimGroup:
        sizes = tuple(q.add(f"{NAMES[group]}_dim", run_size(self.shape, r)) for r in runs)
        total = q.add(NAMES[group], self.total(group))
        return DimGroup(tuple(f"{name}{i}" for i in range(len(runs))), sizes, total)


@dataclass
class Operand:
    """One side of a contraction: the expression that gives its elements over the contraction's dims."""

    node: Node
    trace: Trace
    root: int
    shape: Shape

    def __post_init__(self) -> None:
        self.trace = self.trace.with_views(lambda _, view: view.expand(self.shape))
        self.affines = list(dict.fromkeys(self.trace.affines()))

    @property
    def dtype(self):
        return self.trace.steps[self.root].dtype

    def walks(self, d: int) -> bool:
        return self.shape[d] > 1 and any(a.strides[d] for a in self.affines)

    def walked_shape(self) -> Shape:
        """The sizes of the dims that its elements differ along, 1 for others."""
        return tuple(n if self.walks(d) else 1 for d, n in enumerate(self.shape))

    @property
    def tests(self) -> list[Affine]:
        """The positions that padding depends on."""
        return [b.position for s in self.trace.steps if s.view for b in s.view.bounds]

    @property
    def is_stored(self) -> bool:
        """Whether it is read from one buffer as it lies there."""
        return len(self.trace.steps) == 1


def operand(planner: Stored, node: Node, shape: Shape, rank: int) -> Operand:
    """The elements of an operand that is stored, or cheap enough to compute where it is read; NeedStore where
    it is neither. `rank`: how many dims the result has."""
    base, _ = base_of(planner, node)
    trace = Trace(planner, node.shape)
    trace.top = base
    root = trace.value(node)
    if not is_there(planner, base):
        columns = prod(n for n, own in zip(shape[:rank], node.shape, strict=False) if own == 1)
        if not is_worth_computing(trace, prod(node.shape) * -(-columns // STAGED_FOR), base):
            raise NeedStore(base, "a contraction would compute it too often")
    return Operand(node, trace, root, shape)


READS = 3  # buffers that a computed operand may read: both operands leave room for an epilogue's
STAGED_FOR = 128  # columns (or rows) of a tile: for how many an element is staged once
# Picoseconds on the GPU of cost_model.CORES: an operation, reading another element of a large operand and of
# a small one, moving a byte, and a kernel more.
OP, LARGE_READ, SMALL_READ, BYTE, KERNEL = 0.035, 0.3, 0.05, 0.25, 2e6


def is_worth_computing(trace: Trace, times: int, base: Node) -> bool:
    """Whether computing an operand's elements so many times costs less than storing and reading them."""
    loads = [s for s in trace.steps if s.kind == "load"]
    if (
        not loads
        or len(trace.reads) > READS
        or any(s.kind in ("gather", "inside", "random") for s in trace.steps)
    ):
        return False
    elements = prod(base.shape)
    large = [s for s in loads if 4 * prod(s.node.shape) >= elements]
    work = OP * sum(s.node.op.cost for s in trace.steps if s.kind == "op")
    each = work + LARGE_READ * max(len(large) - 1, 0) + SMALL_READ * (len(loads) - len(large))
    read = sum(s.node.nbytes for s in loads)
    return trace.turns == 1 and times * each <= BYTE * (read + base.nbytes) + KERNEL


def order_of(operands: tuple[Operand, ...], groups: tuple[int, ...]) -> tuple[int, ...]:
    """The dims in order, but the summed ones that padding depends on first: so it is tested once a step.

    Not where windows' positions are summed: those are neighbours in memory, and what is left are not.
    """
    if any(sums_positions(o, groups) for o in operands):
        return tuple(range(len(groups)))
    tests = [t for o in operands for t in o.tests]

    def is_inner(d: int) -> bool:
        return groups[d] == SUMMED and not any(a.strides[d] for a in tests)

    return tuple(sorted(range(len(groups)), key=lambda d: (is_inner(d), d)))


def sums_positions(o: Operand, groups: tuple[int, ...]) -> bool:
    """Whether padding depends on more places of the summed dims than of others: those of a convolution are
    the taps of its windows, those of its gradient by the weight the windows' positions."""
    tested = [d for d in range(len(groups)) if any(t.strides[d] for t in o.tests)]
    summed = prod(o.shape[d] for d in tested if groups[d] == SUMMED)
    return summed > prod(o.shape[d] for d in tested if groups[d] != SUMMED)


class OperandSpec(NamedTuple):
    """What the templates need of one operand.

    along: "free", four neighbours are of its own dims; "k", of the summed dims. wide: they are read at once.
    """

    name: str
    dtype: str
    along: str
    wide: bool
    places: tuple[SplitIndex, ...]
    batch: DimGroup
    own: DimGroup
    summed: DimGroup


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
        self.runs = {g: domain.runs(operand.affines, g) for g in (BATCH, own, SUMMED)}
        self.along, self.wide = self.reading(narrow)
        if along is not None:
            self.along, self.wide = along, not narrow and self.is_wide(SUMMED if along == "k" else own)

    def reading(self, narrow: bool) -> tuple[str, bool]:
        """Along which dims neighbours are read, and whether four of them at once."""
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
        sizes = [run_size(self.domain.shape, r) for r in runs]
        return bool(self.runs[last]) and sizes[-1] % 4 == 0 and self.operand.trace.can_widen(runs, sizes)

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

        naming = Naming((*position.values(), "e"), index_of, inner, b, q)
        return self.operand.trace.emit(range(len(self.operand.trace.steps)), naming, self.operand.root)

    def place(self, a: Affine, q: Quantities) -> SplitIndex:
        def at(group: int) -> WgslIndex:
            runs = self.runs[group]
            return name_index(Affine(a.strides, 0), runs, self.coords(group), q)

        return SplitIndex(q.add("offset", a.offset) if a.offset else "", at(BATCH), at(self.own), at(SUMMED))

    def coords(self, group: int) -> list[str]:
        letter = {BATCH: "b", SUMMED: "k"}.get(group, "o")
        return [f"{self.name}_{letter}{i}" for i in range(len(self.runs[group]))]

    def spec(self, q: Quantities) -> OperandSpec:
        groups = [
            self.domain.group(self.runs[g], g, self.name + "_" + letter, q)
            for g, letter in ((BATCH, "b"), (self.own, "o"), (SUMMED, "k"))
        ]
        places = tuple(self.place(a, q) for a in self.operand.affines)
        return OperandSpec(self.name, self.operand.dtype.short, self.along, self.wide, places, *groups)

    def is_flat(self, step: int) -> bool:
        """Whether so many summed places from a multiple of them on are always in one run."""
        runs = self.runs[SUMMED]
        return bool(runs) and run_size(self.domain.shape, runs[-1]) % step == 0

    def carries(self, step: int, q: Quantities) -> tuple[str, ...]:
        """How far each summed run's coordinate goes when the summed index goes by `step`."""
        carries, rest = [], step
        for run in reversed(self.runs[SUMMED]):
            size = run_size(self.domain.shape, run) if run is not self.runs[SUMMED][0] else rest + 1
            carries.append(q.add("advance", rest % size))
            rest //= size
        return tuple(reversed(carries))
