"""Builds the kernels of a product: the tiles they load, the positions of results, and the values that their
templates share."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from ..emit import (
    Bindings,
    Quantities,
    can_widen,
    check_bindings,
    emit,
    label,
    name_parts,
    naming_over,
    spread_grid,
)
from ..ir import Kernel, Shader, WgslFunction
from ..lower import Epilogue, NeedStore
from ..reduce import Reduction, pieces_kernel
from .product import (
    BATCH,
    COLUMNS,
    ROWS,
    OperandIndexing,
    Product,
)

Functions = tuple[tuple[str, WgslFunction], ...]  # of a kernel, by name


class GemmTile(NamedTuple):
    """The rows and columns of a workgroup and of a thread. step: the summed elements that it stages at
    once."""

    rows: int
    columns: int
    step: int
    thread_rows: int
    thread_columns: int

    @property
    def threads(self) -> int:
        return self.rows // self.thread_rows * (self.columns // self.thread_columns)

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

    whole_tiles: the tiles before them. cut_tiles: their number. piece: the summed elements of a piece; the
    last one has the remainder.
    """

    whole_tiles: int
    cut_tiles: int
    piece: int


class SumPieces(NamedTuple):
    """The summed elements of one piece, and the value that stores the sums of all pieces, one after another.
    Without a part, one piece has all places."""

    piece: int
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

    def registers(self, along: str) -> range:
        """The vec4s that a thread holds of a side that is read along `along`."""
        return range(self.loads * (4 if along == "k" else 1))

    def blocks(self, along: str) -> list[tuple[int, int]]:
        """The blocks of 4 x 4 that are stored transposed, and their columns; none for a side that is read in
        its tile's order."""
        count = 0 if along == "free" or self.singly else self.loads
        return [(i, c) for i in range(count) for c in range(4)]

    def cells(self, step: int) -> int:
        """The vec4s of a tile of `step` summed places."""
        return self.extent * step // 4


def plan_load(
    s: OperandIndexing, extent: int, tile: GemmTile, pad: int, q: Quantities, may_be_singly: bool = False
) -> TileLoad:
    """The loads of a tile with `pad` vec4s of padding after each line."""
    fours, threads = extent // 4, tile.threads
    singly = may_be_singly and s.along == "k" and not s.wide
    if s.along == "free":
        # Lines of the tile that are loaded at once: a power of two, so that it divides the step.
        stride = min(1 << (threads // fours).bit_length() - 1, tile.step)
        active = stride * fours
        loads, lanes, spacing = tile.step // stride, fours, 0
        assert loads * stride == tile.step, tile
    else:
        # Blocks of 4 x 4: a thread reads four neighbours along the summed dims, of four rows or columns.
        lanes, stride = tile.step // (1 if singly else 4), tile.step
        loads = next(n for n in range(1, fours + 1) if fours % n == 0 and fours // n * lanes <= threads)
        active = fours // loads * lanes
        spacing = active // lanes
    flat = s.is_flat(tile.step)
    # Inside one run all loads of a thread share a position; across runs each load finds its own.
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


class Result:
    """Stores results through the epilogue: runs of dims, and whether four neighbours are stored at once."""

    def __init__(self, product: Product, after: Epilogue | None, narrow: bool):
        self.product, self.after = product, after
        self.out, *read = product.places(after)
        self.walk = product.domain.walk([self.out, *read], BATCH, ROWS, COLUMNS)
        self.by_group, (self.runs, self.sizes) = self.walk.runs, self.walk.flatten()
        letters = zip(self.by_group.items(), "brc", strict=True)
        self.coords = {g: [f"y_{c}{i}" for i in range(len(runs))] for (g, runs), c in letters}
        self.width = 4 if not narrow and self.is_wide() else 1

    def is_wide(self) -> bool:
        columns = self.by_group[COLUMNS]
        if not columns or self.sizes[-1] % 4 or self.out.strides[columns[-1][-1]] != 1:
            return False
        return self.after is None or can_widen(self.after.trace.steps, self.runs, self.sizes)

    def groups(self, q: Quantities) -> dict[str, Any]:
        """The templates' parameters: the groups of dims, and the positions of results."""
        batch, rows, columns = self.walk.name_groups(self.coords, q).values()
        parts = [(self.by_group[g], self.coords[g]) for g in self.by_group]
        ((_, places),) = name_parts([self.out], parts, q)
        return {"batch": batch, "rows": rows, "columns": columns, "out_places": tuple(places)}

    def functions(self, b: Bindings, q: Quantities) -> Functions:
        if self.after is None:
            return ()
        coords = [c for names in self.coords.values() for c in names]
        trace, root = self.after
        return (("finish", emit(trace.steps, naming_over(self.runs, coords, b, q, self.width), root)),)


def check_fours(product: Product, width: int) -> None:
    """NeedStore if packed elements, which are written four at a time, would be written one by one."""
    if product.tail.dtype.is_packed and width == 1:
        raise NeedStore(
            product.plan.before_packed(product.head), "packed elements are written four at a time"
        )


class ContractionBuilder:
    """Builds one dispatch of a product: both sides, and the values that the templates share.

    kind: that of the Shader.
    """

    kind = ""

    def __init__(self, product: Product, pieces: SumPieces, narrow: bool):
        self.product, self.narrow = product, narrow
        self.piece, self.part = pieces
        self.q, self.b = Quantities(), Bindings()
        self.result = Result(product, product.after if self.part is None else None, narrow)
        if self.part is None:
            check_fours(product, self.result.width)

    def functions(self, sides: Sequence[OperandIndexing]) -> Functions:
        """Of both sides, and the epilogue; BoundTwice where they read too many buffers."""
        functions = tuple([(s.name, s.function(self.b, self.q)) for s in sides])
        functions += self.result.functions(self.b, self.q)
        self.check()
        return functions

    def check(self) -> None:
        """BoundTwice where it reads more buffers than it may."""
        check_bindings(self.b, self.product.plan.max_inputs)

    def options(
        self, sides: Sequence[Any], loads: Sequence[TileLoad], step: int
    ) -> tuple[dict[str, Any], int]:
        """The values that both templates need, with the number of products or parts of them.

        step: summed elements per iteration; a piece that ends inside one checks each element, as the last
        piece does.
        """
        product, q, result = self.product, self.q, self.result
        depth = product.batch * -(-product.k // self.piece)
        sizes = (self.piece, prod(product.head.shape)) if self.part is not None else ()
        return {
            "acc": product.head.dtype.short,
            "ragged": bool(product.k % step or self.piece % step),
            "sides": tuple((s.spec(q), g) for s, g in zip(sides, loads, strict=True)),
            **result.groups(q),
            "summed": q.once("summed", product.k),
            "depth": q.add("depth", depth) if self.part is not None else q.once("batch", depth),
            "parts": tuple(q.add("part", n) for n in sizes),
        }, depth

    def kernel(
        self,
        template: str,
        threads: int,
        groups: int,
        functions: Functions,
        options: dict[str, Any],
        aside: int | None = None,
    ) -> Kernel:
        """aside: a value that stores partial sums, four at a time."""
        product, q, b, result = self.product, self.q, self.b, self.result
        grid = spread_grid(groups, product.limits.groups)
        options["groups"] = q.add("groups", grid[0])
        dtype = product.tail.dtype if self.part is None else product.head.dtype
        outs = ((dtype.short, result.width), *([(product.head.dtype.short, 4)] if aside is not None else []))
        names, kinds, structure = tuple(q.names), tuple(b.kinds), tuple(options.items())
        shader = Shader(template, names, kinds, outs, (threads, 1, 1), functions, structure, self.kind)
        after = result.after.trace.steps if result.after else ()
        name = label(product.head.attrs["label"], product.a.trace.steps, product.b.trace.steps, after)
        out = product.plan.index[id(product.tail)] if self.part is None else self.part
        values = (out, *([aside] if aside is not None else []))
        return Kernel(name, shader, tuple(b.values), values, tuple(q.values), grid)


def tiles_of(product: Product, tile: GemmTile) -> tuple[int, int]:
    """How many tiles are side by side, and one below another."""
    return -(-product.n // tile.columns), -(-product.m // tile.rows)


def in_pieces(product: Product, piece: int, make: Callable[[SumPieces], Kernel]) -> list[Kernel]:
    """A product's kernel; where a piece is shorter than its sums, the kernel of the pieces and one that adds
    them up."""
    if piece >= product.k:
        return [make(SumPieces(product.k))]
    count = -(-product.k // piece)
    part = product.plan.temporary(prod(product.head.shape) * count)  # [pieces, *result]
    reduction = Reduction(product.head, product.tail, part)
    return [make(SumPieces(piece, part)), pieces_kernel(product.plan, reduction, product.after, count)]
