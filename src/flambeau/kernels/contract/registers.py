"""Contractions as kernels: which dims are rows, columns, batch and summed, and how each side is read."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from ...core.choose import choose
from ...core.node import Node
from ...core.shape import Affine, Shape, View, collapse_dims, contiguous_strides
from ..ir import (
    WORKGROUP,
    Bindings,
    Kernel,
    Quantities,
    Shader,
    Stored,
    WgslFunction,
    WgslIndex,
    check_bindings,
    fitting,
    name_parts,
    spread_grid,
)
from ..lower import (
    Move,
    NeedStore,
    base_of,
    before_packed,
    check_turns,
    epilogue,
    is_there,
    label,
    value_of,
    view_through,
)
from ..reduce import reduce_parts
from .operand import BATCH, COLUMNS, NAMES, ROWS, SUMMED, DimGroup, SplitIndex
from .pack import packed_copy

GPU_FILL, LEAST_SUMMED = 16384, 128  # threads that fill a real GPU; the least that is summed by one of them
LARGE_FROM = 1 << 23  # multiply-adds: below, a software adapter's tiles are those of a GPU
TRANSPOSE_FROM = 256  # rows, columns and summed: from here on a copy costs less than fours of the summed dims
PACK_FROM = 64  # columns: from here on copying the rows' side costs less than reading it element by element


class BufferSpec(NamedTuple):
    """What the template needs of one operand."""

    binding: str
    dtype: str
    mode: str
    index: SplitIndex
    tests: tuple[tuple[SplitIndex, str], ...]


@dataclass(frozen=True)
class BufferOperand:
    """One side of a contraction: its buffer, how its elements lie and how they are read.

    mode: "free" reads four neighbours of its own dims at once, "k" four of the summed dims, "scalar" one.
    """

    node: Node
    value: int
    view: View
    mode: str = "scalar"

    @cached_property
    def walked(self) -> frozenset[int]:
        """The dims along which other elements are read."""
        strides = zip(*(a.strides for a in self.view.affines), strict=True)
        return frozenset(d for d, s in enumerate(strides) if any(s) and self.view.shape[d] > 1)

    def walks(self, d: int) -> bool:
        return d in self.walked


class RegisterTile(NamedTuple):
    """The rows and columns of the result that a thread makes."""

    rows: int
    columns: int

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}"


@dataclass(frozen=True)
class BufferProduct:
    """A contraction of two buffers: its rows' side, its columns' side, its dims and the group of each.

    part: the value that takes the sums of pieces of the summed dims, where a second kernel adds them up.
    """

    planner: Stored
    head: Node
    tail: Node
    a: BufferOperand
    b: BufferOperand
    full: Shape
    groups: tuple[int, ...]
    part: int | None = None


def register_kernels(planner: Stored, head: Node, tail: Node, full: Shape) -> list[Kernel]:
    """Each thread makes rows x columns of the result, reading vec4s where the layout allows."""
    if tail.dtype.is_packed:
        raise NeedStore(before_packed(planner, head), "tiles of registers are written element by element")
    a, b, groups = in_walk_order((buffer_operand(planner, i, full) for i in head.inputs), head, full)
    product = BufferProduct(planner, head, tail, a, b, full, groups)
    dim, parts = _split_of(product)
    if parts == 1:
        return _kernels(product)
    part = planner.temporary(prod(head.shape) * parts)
    first = _kernels(replace(_in_parts(product, dim, parts), tail=head, part=part))
    return [*first, reduce_parts(planner, head, tail, part, parts)]


def in_walk_order(operands: Iterable[Any], head: Node, full: Shape) -> tuple:
    """The rows' side, the columns' side, and each dim's group."""
    a, b = operands
    rank = len(full) - head.attrs["nk"]
    own_a = {d for d in range(rank) if a.walks(d) and not b.walks(d)}
    own_b = {d for d in range(rank) if b.walks(d) and not a.walks(d)}
    last = max((d for d in range(rank) if full[d] > 1), default=-1)
    # columns are the side whose dim the result has innermost: neighbours store side by side
    if last in own_a:
        a, b, own_a, own_b = b, a, own_b, own_a
    groups = tuple(
        SUMMED if d >= rank else ROWS if d in own_a else COLUMNS if d in own_b else BATCH
        for d in range(len(full))
    )
    return a, b, groups


def _kernels(product: BufferProduct) -> list[Kernel]:
    build = RegisterTileBuilder(product)
    kernel = fitting(build.kernel)
    if (build.a.mode == "scalar" or build.is_worth_transposing()) and build.is_worth_packing():
        a, copy = _pack(product)
        return [copy, fitting(RegisterTileBuilder(replace(product, a=a)).kernel)]
    return [kernel]


def _split_of(product: BufferProduct) -> tuple[int, int]:
    """Which summed dim to share among threads, in how many parts: where a GPU would have too few results, or
    a thread would take more turns of the loop than it may."""
    # Two reasons, two bounds. `least`: llvmpipe ends a thread's loops at `turns`, so the sum must be cut at
    # least so often. `most`: few results leave a GPU idle, so it may be cut until threads fill it, but not
    # into parts too short to be worth a second kernel. A dim is cut only where the parts are equal, or it is
    # padded.
    limits, full, groups = product.planner.limits, product.full, product.groups
    size = [prod(n for n, g in zip(full, groups, strict=True) if g == group) for group in range(4)]
    threads = size[BATCH] * -(-size[ROWS] // 8) * -(-size[COLUMNS] // 8)
    least, most = max(-(-_turns(full, groups) // limits.turns), 1), 1
    if not limits.software and 0 < threads < GPU_FILL:
        most = min(GPU_FILL // threads, size[SUMMED] // LEAST_SUMMED)
    summed = [d for d, g in enumerate(groups) if g == SUMMED]
    choices = [(s, d) for d in summed for s in range(least, max(most, 4 * least) + 1) if full[d] % s == 0]
    if least > 1:  # the fewest that do; where none divides a dim, the longest is padded
        longest = max(summed, key=lambda d: full[d])
        parts, dim = min((c for c in choices if c[0] > 1), default=(least, longest))
        check_turns(limits, "contraction", -(-_turns(full, groups) // min(parts, full[dim])))
        return dim, parts
    parts, dim = max((c for c in choices if c[0] <= most), default=(1, 0))
    return dim, parts


def _turns(full, groups) -> int:
    """Turns of a thread's loops over the summed dims."""
    turns = 1
    for n, g in reversed(list(zip(full, groups, strict=True))):
        turns = turns * n + (n > 1) if g == SUMMED else turns
    return turns


def _in_parts(product: BufferProduct, dim: int, parts: int) -> BufferProduct:
    """With a summed dim as two, padded where it must be: which part, the last dim of the result, and where in
    it."""
    rank, rest, groups = len(product.head.shape), -product.full[dim] % parts, product.groups

    def cut(o: BufferOperand) -> BufferOperand:
        view = _padded(o.view, dim, rest) if rest else o.view
        return replace(o, view=_split(view, rank, dim, parts))

    a, b = cut(product.a), cut(product.b)
    groups = (*groups[:rank], BATCH, *groups[rank:])
    return replace(product, a=a, b=b, full=a.view.shape, groups=groups)


def _padded(view: View, dim: int, rest: int) -> View:
    """A dim with so many zeros behind it."""
    none = (0,) * len(view.shape)
    return view.pad(none, tuple(rest if d == dim else 0 for d in range(len(none))))


def _split(view: View, rank: int, dim: int, parts: int) -> View:
    """A summed dim as two: which part (a dim of the result, the last), and where in it."""
    each = view.shape[dim] // parts

    def cut(a: Affine) -> Affine:
        return Affine((*a.strides[:rank], a.strides[dim] * each, *a.strides[rank:]), a.offset)

    summed = tuple(each if d == dim else n for d, n in enumerate(view.shape))[rank:]
    return view.map((*view.shape[:rank], parts, *summed), cut)


def _pack(product: BufferProduct) -> tuple[BufferOperand, Kernel]:
    """Lay the rows' side out anew, its own dims innermost, so that four rows are read at once."""
    o, groups = product.a, product.groups
    order = [d for g in (BATCH, SUMMED, ROWS) for d in range(len(groups)) if groups[d] == g and o.walks(d)]
    value, view, copy = packed_copy(product.planner, o.node, o.value, o.view, order)
    return BufferOperand(o.node, value, view), copy


def buffer_operand(planner: Stored, node: Node, full) -> BufferOperand:
    base, chain = base_of(planner, node)
    if not is_there(planner, base):
        raise NeedStore(base, "contractions read buffers")
    return BufferOperand(
        base, value_of(planner, base), view_through(base.shape, (*chain, Move("expand", (full,), node)))
    )


class RegisterTileBuilder:
    """One kernel of register tiles in the making."""

    def __init__(self, product: BufferProduct):
        self.product, self.planner, self.head = product, product.planner, product.head
        self.a, self.b = product.a, product.b
        self.full, self.groups, self.nk = product.full, product.groups, product.head.attrs["nk"]

    def kernel(self, narrow: bool) -> Kernel:
        head, tail, part = self.head, self.product.tail, self.product.part
        q, bindings = self.q, self.bindings = Quantities(), Bindings()
        out = Affine(contiguous_strides(self.full[: len(self.full) - self.nk]) + (0,) * self.nk, 0)
        reads = {self.a.value, self.b.value}
        after = epilogue(self.planner, head, tail, head.shape, reads) if part is None else None
        self.collapse([out, *self.a.view.affines, *self.b.view.affines, *self.of_epilogue(after)])
        modes = ("scalar", "scalar") if narrow else (self.mode(self.a, ROWS), self.mode(self.b, COLUMNS))
        self.a, self.b = replace(self.a, mode=modes[0]), replace(self.b, mode=modes[1])
        m, n, batch = (self.total(g) for g in (ROWS, COLUMNS, BATCH))
        tile = self.tile(m, n)
        wg = workgroup_of(-(-n // tile.columns))
        tiles = (-(-n // (tile.columns * wg[0])), -(-m // (tile.rows * wg[1])))
        grid = spread_grid(tiles[0] * tiles[1] * batch, self.planner.limits.groups)
        options = {
            "acc": head.dtype.short,
            "tile_rows": tile.rows,
            "tile_columns": tile.columns,
            "step": self.step(),
            "flat": self.planner.limits.software and len(self.of(SUMMED)) > 1,
            "a": self.side(self.a, ROWS),
            "b": self.side(self.b, COLUMNS),
            "rows": self.group(ROWS),
            "columns": self.group(COLUMNS),
            "summed": self.group(SUMMED),
            "batch": self.group(BATCH),
            "out": self.place(out, BATCH, ROWS, COLUMNS),
            "tiles": (q.add("tiles", tiles[0]), q.add("tiles", tiles[1])),
            "groups": q.add("groups", grid[0]),
        }
        width = 4 if self.stores_fours(out) else 1
        functions = (("finish", self.finish(after, width == 4 and not narrow)),) if after else ()
        check_bindings(bindings, self.planner.max_inputs)  # the epilogue may read an operand too
        shader = Shader(
            "contract/registers.wgsl",
            tuple(q.names),
            tuple(bindings.kinds),
            ((tail.dtype.short, width),),
            (*wg, 1),
            functions,
            tuple(options.items()),
        )
        name = label(head.attrs["label"], after[0] if after else None)
        out_value = self.planner.index[id(tail)] if part is None else part
        return Kernel(name, shader, tuple(bindings.values), (out_value,), tuple(q.values), grid)

    def is_worth_packing(self) -> bool:
        """Every packed element is read by many columns, and rows come in fours."""
        return self.total(ROWS) % 4 == 0 and self.total(COLUMNS) >= PACK_FROM

    def is_worth_transposing(self) -> bool:
        """Whether the rows' side is read by fours along the summed dims, which makes four steps of each turn
        of a loop, and one or two are a fraction of the text and run as fast."""
        if self.a.mode != "k" or not self.planner.limits.software:
            return False
        return self.is_large() if self.b.mode == "free" else self.b.mode == "scalar" and self.is_much()

    def is_much(self) -> bool:
        """Whether there is more to compute than to compile."""
        return prod(map(self.total, range(4))) >= LARGE_FROM

    def is_large(self) -> bool:
        """Whether every group of dims is long."""
        least = min(self.total(g) for g in (ROWS, COLUMNS, SUMMED))
        return self.planner.limits.software and self.total(BATCH) == 1 and least >= TRANSPOSE_FROM

    def step(self) -> int:
        """How many neighbours along the last summed run a turn of the loop takes."""
        if "k" in (self.a.mode, self.b.mode):
            return 4
        summed = self.of(SUMMED)
        is_even = bool(summed) and self.sizes[summed[-1]] % 2 == 0
        return 2 if is_even and self.a.mode == self.b.mode == "free" and self.is_large() else 1

    def of_epilogue(self, after) -> list[Affine]:
        return [Affine((*f.strides, *(0,) * self.nk), f.offset) for f in after[0].affines()] if after else []

    def collapse(self, affines: list[Affine]) -> None:
        """Merge dims within each group; a group's dims count as neighbours though others stand between."""
        order = sorted(range(len(self.full)), key=lambda d: (self.groups[d], d))
        self.runs, self.sizes = collapse_dims(self.full, order, affines, self.groups)
        self.coords = [f"x{i}" for i in range(len(self.runs))]

    def of(self, *groups: int) -> list[int]:
        return [i for i, r in enumerate(self.runs) if self.groups[r[0]] in groups]

    def total(self, group: int) -> int:
        return prod(self.sizes[i] for i in self.of(group))

    def mode(self, o: BufferOperand, group: int) -> str:
        """Whether vec4 reads fit: neighbours along the side's last own run, or along the last summed run."""
        strides = [o.view.index.strides[r[-1]] for r in self.runs]

        def fits(i: int) -> bool:
            rest = (s for j, s in enumerate(strides) if j != i)
            return strides[i] == 1 and self.sizes[i] % 4 == 0 and all(s % 4 == 0 for s in rest)

        if o.view.bounds or o.view.index.offset % 4:
            return "scalar"
        for name, runs in (("free", self.of(group)), ("k", self.of(SUMMED))):
            if runs and fits(runs[-1]):
                return name
        return "scalar"

    def tile(self, m: int, n: int) -> RegisterTile:
        """Rows and columns of a thread's tile: 8 x 8, less where the result has less.

        A software adapter pays for every read and has no registers to run out of: it takes 16 rows, and 16
        columns where columns are read one by one (measured: docs/internals/performance.md). Not for so little
        work that compiling the larger kernel takes longer than running it a hundred times, nor where four
        steps of each turn fill its small registers.
        """
        # m and n are rows and columns of the whole result; a is the rows' side, b the columns'. Each row of a
        # tile reads a once and each column b once for every step, so a larger tile reads less for a multiply-
        # add; it also is that much more text to compile.
        large = self.planner.limits.software and self.is_much()
        usual = RegisterTile(self.tile_rows(m, large), self.tile_columns(n, large))
        tiles = [RegisterTile(a, b) for a in (8, 16) for b in (4, 8, 16) if m >= a and n >= b]
        bucket = (*map(_size, (m, n, self.total(SUMMED))), self.a.mode, self.b.mode, self.head.dtype.short)
        return choose(self.planner.limits, "registers", bucket, tiles, usual)

    def tile_rows(self, m: int, large: bool) -> int:
        if large and m >= 16 and (self.step() < 4 or self.planner.limits.lanes > 4):
            return 16
        if m > 4:
            return 8
        return 4 if m > 2 or self.a.mode == "free" else max(m, 1)  # fours of rows want four of them

    def tile_columns(self, n: int, large: bool) -> int:
        if large and self.b.mode == "scalar" and n >= PACK_FROM:
            return 16
        return 8 if n > 4 else 4

    def named(self, *groups: int) -> tuple[list[tuple[int, ...]], list[str]]:
        """The runs of groups, and their coordinates."""
        keep = self.of(*groups)
        return [self.runs[i] for i in keep], [self.coords[i] for i in keep]

    def place(self, a: Affine, *groups: int) -> tuple[WgslIndex, ...]:
        return name_parts(a, [self.named(g) for g in groups], self.q)

    def side(self, o: BufferOperand, own: int) -> BufferSpec:
        binding = self.bindings.add(o.value, o.node.dtype, 1 if o.mode == "scalar" else 4)

        def place(a: Affine) -> SplitIndex:
            return SplitIndex(
                self.q.add("offset", a.offset) if a.offset else "", *self.place(a, BATCH, own, SUMMED)
            )

        tests = tuple((place(t.position), self.q.add("padded", t.size)) for t in o.view.bounds)
        return BufferSpec(binding, o.node.dtype.short, o.mode, place(o.view.index), tests)

    def group(self, group: int) -> DimGroup:
        runs, name = self.of(group), NAMES[group]
        numbers = [*((f"{name}_dim", self.sizes[i]) for i in runs), (name, self.total(group))]
        *sizes, total = self.q.add_all(numbers)
        return DimGroup(tuple(self.coords[i] for i in runs), tuple(sizes), total)

    def stores_fours(self, out: Affine) -> bool:
        """Whether four neighbouring columns lie side by side in the result, and are stored at once: a real
        GPU gains nothing by it, a CPU's compiler has a quarter of the stores to work through."""
        if not (self.planner.limits.software and self.of(COLUMNS)):
            return False
        runs, sizes = self.joined([out])
        *others, last = (out.strides[r[-1]] for r in runs)
        return last == 1 and sizes[-1] % 4 == 0 and all(s % 4 == 0 for s in others)

    def joined(self, affines: list[Affine]) -> tuple[list[tuple[int, ...]], list[int]]:
        """The dims of the result as few runs as these affines walk, the columns last."""
        dims = [d for i in self.of(BATCH, ROWS, COLUMNS) for d in self.runs[i]]
        return collapse_dims(self.full, dims, affines, self.groups)

    def finish(self, after, wide: bool) -> WgslFunction:
        """The epilogue, over the coordinates of batch, rows and columns; of four neighbours where it can."""
        runs, coords = self.named(BATCH, ROWS, COLUMNS)
        trace, root = after
        width = 4 if wide and trace.can_widen(*self.joined(self.of_epilogue(after))) else 1
        return trace.function(runs, coords, self.bindings, self.q, root, width)


def _size(n: int) -> int:
    """A size as the power of two that it reaches, up to where more makes no difference."""
    return min(n, 4096).bit_length()


def workgroup_of(columns: int) -> tuple[int, int]:
    """64 threads, along the columns as far as there is work: few shapes, so that sizes rarely compile
    anew."""
    x = next((x for x in (1, 4, 16) if x >= columns), WORKGROUP)
    return x, WORKGROUP // x
