"""A contraction as rows x summed times summed x columns, and the tiles that it may be cut into."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from ...core.node import Node
from ...core.shape import Affine, broadcast, contiguous_strides, run_size
from ..ir import (
    Bindings,
    Kernel,
    Quantities,
    Shader,
    Stored,
    WgslIndex,
    check_bindings,
    name_index,
    spread_grid,
)
from ..lower import NeedStore, Trace, before_packed, epilogue, label
from ..reduce import pieces_kernel
from .operand import (
    BATCH,
    COLUMNS,
    ROWS,
    SUMMED,
    ContractionDomain,
    DimGroup,
    Operand,
    OperandIndexing,
    operand,
    order_of,
)
from .registers import in_walk_order


class GemmTile(NamedTuple):
    """A workgroup's rows and columns, its step along the summed dims, a thread's rows and columns."""

    rows: int
    columns: int
    step: int
    high: int
    wide: int

    @property
    def threads(self) -> int:
        return self.rows // self.high * (self.columns // self.wide)

    def memory(self, padded: bool) -> int:
        """Bytes of workgroup memory."""
        return 4 * self.step * (self.rows + self.columns + 8 * padded)


TILES = {
    "128x128": GemmTile(128, 128, 16, 8, 16),
    "64x128": GemmTile(64, 128, 16, 8, 8),
    "128x64": GemmTile(128, 64, 16, 8, 8),
    "64x64k32": GemmTile(64, 64, 32, 8, 4),
    "64x64": GemmTile(64, 64, 16, 8, 8),
    "32x64": GemmTile(32, 64, 16, 4, 8),
    "32x32": GemmTile(32, 32, 16, 4, 4),
    "16x128": GemmTile(16, 128, 32, 4, 4),
}


class TailSplit(NamedTuple):
    """The last tiles of a product, which are cut along the summed dims so that all cores end together.

    whole: tiles before them; cut: how many they are; long: summed places of a piece (the last has the rest).
    """

    whole: int
    cut: int
    long: int


class SumPieces(NamedTuple):
    """What a kernel adds up: pieces of the summed dims, `long` each, whose sums go to the value `part`, one
    after another; without, all of them at once."""

    long: int
    part: int | None = None


class TileLoad(NamedTuple):
    """How the threads of a workgroup share the loads of one side's tile.

    advance: how far a thread goes along the summed dims at once, and carries: the same by dim. extent: rows
    or columns of the tile; pitch: vec4s of workgroup memory from one summed place to the next; lanes: threads
    along what is read side by side; loads: vec4s (or 4 x 4 blocks) a thread; spacing: vec4s of rows between a
    thread's blocks; stride: summed places between a thread's loads; flat: whether these are always in one run
    of the summed dims; active: the threads that have work, 0 for all; singly: neighbours along summed dims
    that can't be read in fours are read by neighbouring threads, each of which has four rows or columns.
    """

    advance: int
    carries: tuple[str, ...]
    extent: int = 0
    pitch: int = 0
    lanes: int = 0
    loads: int = 0
    spacing: int = 0
    stride: int = 0
    flat: bool = False
    active: int = 0
    singly: bool = False


def plan_load(
    s: OperandIndexing, extent: int, tile: GemmTile, pad: int, q: Quantities, may_be_singly: bool = False
) -> TileLoad:
    """The loads of a tile whose lines lie `pad` vec4s further apart than they are long."""
    fours, threads = extent // 4, tile.threads
    singly = may_be_singly and s.along == "k" and not s.wide
    if s.along == "free":
        stride = min(1 << (threads // fours).bit_length() - 1, tile.step)
        active = stride * fours
        loads, lanes, spacing = tile.step // stride, fours, 0
        assert loads * stride == tile.step, tile
    else:
        lanes, stride = tile.step // (1 if singly else 4), tile.step
        loads = next(n for n in range(1, fours + 1) if fours % n == 0 and fours // n * lanes <= threads)
        active = fours // loads * lanes
        spacing = active // lanes
    flat = s.is_flat(tile.step)
    advance = tile.step if flat else stride
    return TileLoad(
        advance,
        s.carries(advance, q),
        extent=extent,
        pitch=fours + pad,
        lanes=lanes,
        loads=loads,
        spacing=spacing,
        stride=stride,
        flat=flat,
        active=active if active < threads else 0,
        singly=singly,
    )


@dataclass
class Product:
    """A contraction as products of matrices: rows x summed by summed x columns, for each of a batch."""

    planner: Stored
    head: Node
    tail: Node
    a: Operand
    b: Operand
    domain: ContractionDomain

    def __post_init__(self) -> None:
        self.batch, self.m, self.n, self.k = map(self.domain.total, (BATCH, ROWS, COLUMNS, SUMMED))

    @cached_property
    def after(self) -> tuple[Trace, int] | None:
        reads = self.a.trace.reads | self.b.trace.reads
        return epilogue(self.planner, self.head, self.tail, self.head.shape, reads)

    @cached_property
    def reads_own_dims(self) -> bool:
        """Whether both sides are read in fours along their own dims."""
        sides = (("a", self.a, ROWS), ("b", self.b, COLUMNS))
        read = [OperandIndexing(name, of, own, self.domain, False) for name, of, own in sides]
        return all(s.wide and s.along == "free" for s in read)

    def transposed(self) -> "Product":
        """With rows and columns exchanged."""
        other = {ROWS: COLUMNS, COLUMNS: ROWS}
        domain = self.domain._replace(groups=tuple(other.get(g, g) for g in self.domain.groups))
        return Product(self.planner, self.head, self.tail, self.b, self.a, domain)

    @property
    def bucket(self) -> tuple:
        """What tuning tells products apart by: sizes to a power of two, and the type added up in."""
        return *(n.bit_length() for n in (self.m, self.n, self.k, self.batch)), self.head.dtype.short

    @property
    def rank(self) -> int:
        return len(self.head.shape)

    @property
    def limits(self):
        return self.planner.limits


class Result:
    """Where results go, with the epilogue on the way: runs of dims, and four neighbours at once or one."""

    def __init__(self, product: Product, after, narrow: bool):
        self.product, self.after = product, after
        domain, rank = product.domain, product.rank
        none = (0,) * (len(domain.shape) - rank)
        self.out = Affine(contiguous_strides(domain.shape[:rank]) + none, 0)
        more = after[0].affines() if after else []
        affines = [self.out, *(Affine((*a.strides, *none), a.offset) for a in more)]
        self.by_group = {g: domain.runs(affines, g) for g in (BATCH, ROWS, COLUMNS)}
        self.runs = [r for g in (BATCH, ROWS, COLUMNS) for r in self.by_group[g]]
        self.width = 4 if not narrow and self.is_wide() else 1

    def is_wide(self) -> bool:
        columns = self.by_group[COLUMNS]
        sizes = [run_size(self.product.domain.shape, r) for r in self.runs]
        if not columns or sizes[-1] % 4 or self.out.strides[columns[-1][-1]] != 1:
            return False
        return self.after is None or self.after[0].can_widen(self.runs, sizes)

    def coords(self, group: int) -> list[str]:
        return [f"y_{'brc'[group]}{i}" for i in range(len(self.by_group[group]))]

    def place(self, group: int, q: Quantities) -> WgslIndex:
        return name_index(self.out, self.by_group[group], self.coords(group), q)

    def group(self, group: int, q: Quantities) -> DimGroup:
        return self.product.domain.group(self.by_group[group], group, f"y_{'brc'[group]}", q)

    def functions(self, b: Bindings, q: Quantities) -> tuple:
        if self.after is None:
            return ()
        coords = [c for g in (BATCH, ROWS, COLUMNS) for c in self.coords(g)]
        trace, root = self.after
        return (("finish", trace.function(self.runs, coords, b, q, root, self.width)),)


def check_fours(product: Product, width: int) -> None:
    """NeedStore where packed elements, which are written in fours, would be written one by one."""
    if product.tail.dtype.is_packed and width == 1:
        raise NeedStore(before_packed(product.planner, product.head), "packed elements are written in fours")


class ContractionBuilder:
    """One dispatch of a product in the making: both sides, and what the templates share."""

    def __init__(self, product: Product, pieces: SumPieces, narrow: bool):
        self.product, self.narrow = product, narrow
        self.long, self.part = pieces
        self.q, self.b = Quantities(), Bindings()
        self.result = Result(product, product.after if self.part is None else None, narrow)
        if self.part is None:
            check_fours(product, self.result.width)

    def functions(self, sides: Sequence[OperandIndexing]) -> tuple:
        """Of both sides, and the epilogue; BoundTwice where they read too many buffers."""
        made = tuple((s.name, s.function(self.b, self.q)) for s in sides)
        made += self.result.functions(self.b, self.q)
        self.check()
        return made

    def check(self) -> None:
        """BoundTwice where it reads more buffers than it may."""
        check_bindings(self.b, self.product.planner.max_inputs)

    def options(
        self, sides: Sequence[Any], loads: Sequence[TileLoad], step: int
    ) -> tuple[dict[str, Any], int]:
        """What both templates ask for, and how many products or pieces of them there are.

        step: summed places of a turn; a piece that ends within one tests each place, as the last of all does.
        """
        product, q, result = self.product, self.q, self.result
        depth = product.batch * -(-product.k // self.long)
        sizes = (self.long, prod(product.head.shape)) if self.part is not None else ()
        return {
            "acc": product.head.dtype.short,
            "ragged": bool(product.k % step or self.long % step),
            "sides": tuple((s.spec(q), g) for s, g in zip(sides, loads, strict=True)),
            "batch": result.group(BATCH, q),
            "rows": result.group(ROWS, q),
            "columns": result.group(COLUMNS, q),
            "out_places": tuple(result.place(g, q) for g in (BATCH, ROWS, COLUMNS)),
            "summed": q.add("summed", product.k),
            "depth": q.add("depth", depth),
            "parts": tuple(q.add("part", n) for n in sizes),
        }, depth

    def kernel(
        self,
        template: str,
        threads: int,
        groups: int,
        functions: tuple,
        options: dict,
        aside: int | None = None,
    ) -> Kernel:
        """aside: a value that takes, in fours, the sums that are not whole."""
        product, q, b, result = self.product, self.q, self.b, self.result
        grid = spread_grid(groups, product.limits.groups)
        options["groups"] = q.add("groups", grid[0])
        dtype = product.tail.dtype if self.part is None else product.head.dtype
        outs = ((dtype.short, result.width), *([(product.head.dtype.short, 4)] if aside is not None else []))
        shader = Shader(
            template, tuple(q.names), tuple(b.kinds), outs, (threads, 1, 1), functions, tuple(options.items())
        )
        after = result.after[0] if result.after else None
        name = label(product.head.attrs["label"], product.a.trace, product.b.trace, after)
        out = product.planner.index[id(product.tail)] if self.part is None else self.part
        values = (out, *([aside] if aside is not None else []))
        return Kernel(name, shader, tuple(b.values), values, tuple(q.values), grid)


def tiles_of(product: Product, tile: GemmTile) -> tuple[int, int]:
    """How many tiles lie side by side, and one below another."""
    return -(-product.n // tile.columns), -(-product.m // tile.rows)


def in_pieces(product: Product, long: int, make: Callable[[SumPieces], Kernel]) -> list[Kernel]:
    """A product's kernel; where pieces are shorter than its sums, that of the pieces and one that adds them
    up."""
    if long >= product.k:
        return [make(SumPieces(product.k))]
    count = -(-product.k // long)
    part = product.planner.temporary(prod(product.head.shape) * count)
    first = make(SumPieces(long, part))
    of = product.planner, product.head, product.tail, product.after
    return [first, pieces_kernel(*of, part, count)]


def product_of(planner: Stored, head: Node, tail: Node) -> Product:
    full = broadcast(*(i.shape for i in head.inputs))
    rank = len(head.shape)
    a, b, groups = in_walk_order((operand(planner, i, full, rank) for i in head.inputs), head, full)
    return Product(planner, head, tail, a, b, ContractionDomain(full, groups, order_of((a, b), groups)))
