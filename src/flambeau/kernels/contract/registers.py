"""Contractions as kernels: which dims are rows, columns, batch and summed, and how each side is read."""

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from ...core.choose import choose
from ...core.node import Node
from ...core.shape import Affine, Shape, View, collapse, contiguous_strides, run_size
from ..ir import Bindings, Function, Index, Kernel, Quantities, Shader, Stored, name_index
from ..kernel import WORKGROUP, before_packed, epilogue, label, spread_grid
from ..lower import Move, NeedStore, check_turns, view_through
from ..map import copy_kernel
from ..reduce import reduce_parts
from .operand import BATCH, COLUMNS, NAMES, ROWS, SUMMED, Group, Place
from .product import in_walk_order

FILL, PART = 16384, 128  # threads that fill a real GPU; the least that is summed by one of them
SMALL = 1 << 23  # multiply-adds: below, a software adapter's tiles are those of a GPU
TURN_FROM = 256  # rows, columns and summed: from here on also than reading it in fours along the summed dims
PACK_FROM = 64  # columns: from here on copying the rows' side costs less than reading it element by element


class Side(NamedTuple):
    """What the template needs of one operand."""

    binding: str
    dtype: str
    mode: str
    index: Place
    tests: tuple[tuple[Place, str], ...]


@dataclass
class Operand:
    """One side of a contraction: its buffer, how its elements lie and how they are read.

    mode: "free" reads four neighbours of its own dims at once, "k" four of the summed dims, "scalar" one.
    """

    node: Node
    value: int
    view: View
    mode: str = "scalar"

    def walks(self, d: int) -> bool:
        return self.view.shape[d] > 1 and any(f.strides[d] for f in self.view.affines())


def register_kernels(planner: Stored, head: Node, tail: Node, full: Shape) -> list[Kernel]:
    """Each thread makes rows x columns of the result, reading vec4s where the layout allows."""
    if tail.dtype.is_packed:
        raise NeedStore(before_packed(planner, head), "tiles of registers are written element by element")
    a, b, groups = in_walk_order((_operand(planner, i, full) for i in head.inputs), head, full)
    rank = len(full) - head.attrs["nk"]
    dim, parts = _split_of(planner, full, groups)
    if parts == 1:
        return _kernels(planner, head, tail, a, b, full, groups, None)
    if rest := -full[dim] % parts:
        a, b = (Operand(o.node, o.value, _padded(o.view, dim, rest)) for o in (a, b))
    a, b = (Operand(o.node, o.value, _split(o.view, rank, dim, parts)) for o in (a, b))
    full, groups = a.view.shape, (*groups[:rank], BATCH, *groups[rank:])
    part = planner.temporary(prod(head.shape) * parts)
    first = _kernels(planner, head, head, a, b, full, groups, part)
    return [*first, reduce_parts(planner, head, tail, part, parts)]


def _kernels(
    planner: Stored, head: Node, tail: Node, a: Operand, b: Operand, full, groups, part
) -> list[Kernel]:
    build = _Build(planner, head, tail, a, b, full, groups, part)
    kernel = build.kernel()
    if (a.mode == "scalar" or build.is_worth_turning()) and build.is_worth_packing():
        a, copy = _pack(planner, a, full, groups)
        return [copy, _Build(planner, head, tail, a, b, full, groups, part).kernel()]
    return [kernel]


def _split_of(planner: Stored, full, groups) -> tuple[int, int]:
    """Which summed dim to share among threads, in how many parts: where a GPU would have too few results, or
    a thread would take more turns of the loop than it may."""
    # Two reasons, two bounds. `least`: llvmpipe ends a thread's loops at `turns`, so the sum must be cut at
    # least so often. `most`: few results leave a GPU idle, so it may be cut until threads fill it, but not
    # into parts too short to be worth a second kernel. A dim is cut only where the parts are equal, or it is
    # padded.
    size = [prod(n for n, g in zip(full, groups, strict=True) if g == group) for group in range(4)]
    threads = size[BATCH] * -(-size[ROWS] // 8) * -(-size[COLUMNS] // 8)
    least, most = max(-(-_turns(full, groups) // planner.limits.turns), 1), 1
    if not planner.limits.software and 0 < threads < FILL:
        most = min(FILL // threads, size[SUMMED] // PART)
    summed = [d for d, g in enumerate(groups) if g == SUMMED]
    choices = [(s, d) for d in summed for s in range(least, max(most, 4 * least) + 1) if full[d] % s == 0]
    if least > 1:  # the fewest that do; where none divides a dim, the longest is padded
        longest = max(summed, key=lambda d: full[d])
        parts, dim = min((c for c in choices if c[0] > 1), default=(least, longest))
        check_turns(planner.limits, "contraction", -(-_turns(full, groups) // min(parts, full[dim])))
        return dim, parts
    parts, dim = max((c for c in choices if c[0] <= most), default=(1, 0))
    return dim, parts


def _turns(full, groups) -> int:
    """Turns of a thread's loops over the summed dims."""
    turns = 1
    for n, g in reversed(list(zip(full, groups, strict=True))):
        turns = turns * n + (n > 1) if g == SUMMED else turns
    return turns


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


def _pack(planner: Stored, o: Operand, full, groups) -> tuple[Operand, Kernel]:
    """Lay the rows' side out anew, its own dims innermost, so that four rows are read at once."""
    order = [d for g in (BATCH, SUMMED, ROWS) for d in range(len(full)) if groups[d] == g and o.walks(d)]
    shape = tuple(full[d] for d in order)
    value = planner.temporary(prod(shape), o.node.dtype.itemsize)
    strides = dict(zip(order, contiguous_strides(shape), strict=True))
    view = View(full, Affine(tuple(strides.get(d, 0) for d in range(len(full))), 0))
    seen = o.view.map(shape, lambda f: Affine(tuple(f.strides[d] for d in order), f.offset))
    return Operand(o.node, value, view), copy_kernel(planner, o.node, o.value, seen, value)


def _operand(planner: Stored, node: Node, full) -> Operand:
    base, chain = planner.base_of(node)
    if not planner.has(base):
        raise NeedStore(base, "contractions read buffers")
    return Operand(
        base, planner.value_of(base), view_through(base.shape, (*chain, Move("expand", (full,), node)))
    )


class _Build:
    def __init__(
        self, planner: Stored, head: Node, tail: Node, u: Operand, v: Operand, full, groups, part=None
    ):
        self.planner, self.head, self.tail, self.u, self.v, self.part = planner, head, tail, u, v, part
        self.full, self.groups, self.nk = full, groups, head.attrs["nk"]
        self.q, self.b = Quantities(), Bindings()

    def kernel(self, narrow: bool = False) -> Kernel:
        q, head = self.q, self.head
        out = Affine(contiguous_strides(self.full[: len(self.full) - self.nk]) + (0,) * self.nk, 0)
        reads = {self.u.value, self.v.value}
        after = epilogue(self.planner, head, self.tail, head.shape, reads) if self.part is None else None
        self.collapse([out, *self.u.view.affines(), *self.v.view.affines(), *self.of_epilogue(after)])
        for side, group in ((self.u, ROWS), (self.v, COLUMNS)):
            side.mode = "scalar" if narrow else self.mode(side, group)
        m, n, batch = (self.total(g) for g in (ROWS, COLUMNS, BATCH))
        tu, tv = self.tile(m, n)
        wg = workgroup_of(-(-n // tv))
        tiles = (-(-n // (tv * wg[0])), -(-m // (tu * wg[1])))
        grid = spread_grid(tiles[0] * tiles[1] * batch, self.planner.limits.groups)
        options = {
            "acc": head.dtype.short,
            "tu": tu,
            "tv": tv,
            "ks": self.step(),
            "flat": self.planner.limits.software and len(self.of(SUMMED)) > 1,
            "u": self.side(self.u, ROWS),
            "v": self.side(self.v, COLUMNS),
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
        # an operand that the epilogue reads too may be bound twice
        if len(self.b.values) > self.planner.max_inputs:
            again = _Build(self.planner, head, self.tail, self.u, self.v, self.full, self.groups, self.part)
            return again.kernel(narrow=True)
        shader = Shader(
            "contract/registers.wgsl",
            tuple(q.names),
            tuple(self.b.kinds),
            ((self.tail.dtype.short, width),),
            (*wg, 1),
            functions,
            tuple(options.items()),
        )
        name = label(head.attrs["label"], after[0] if after else None)
        out_value = self.planner.index[id(self.tail)] if self.part is None else self.part
        return Kernel(name, shader, tuple(self.b.values), (out_value,), tuple(q.values), grid)

    def is_worth_packing(self) -> bool:
        """Every packed element is read by many columns, and rows come in fours."""
        return self.total(ROWS) % 4 == 0 and self.total(COLUMNS) >= PACK_FROM

    def is_worth_turning(self) -> bool:
        """Whether the rows' side is read by fours along the summed dims, which makes four steps of each turn
        of a loop, and one or two are a fraction of the text and run as fast."""
        if self.u.mode != "k" or not self.planner.limits.software:
            return False
        return self.is_large() if self.v.mode == "free" else self.v.mode == "scalar" and self.is_much()

    def is_much(self) -> bool:
        """Whether there is more to compute than to compile."""
        return prod(map(self.total, range(4))) >= SMALL

    def is_large(self) -> bool:
        """Whether every group of dims is long."""
        least = min(self.total(g) for g in (ROWS, COLUMNS, SUMMED))
        return self.planner.limits.software and self.total(BATCH) == 1 and least >= TURN_FROM

    def step(self) -> int:
        """How many neighbours along the last summed run a turn of the loop takes."""
        if "k" in (self.u.mode, self.v.mode):
            return 4
        summed = self.of(SUMMED)
        is_even = bool(summed) and self.sizes[summed[-1]] % 2 == 0
        return 2 if is_even and self.u.mode == self.v.mode == "free" and self.is_large() else 1

    def of_epilogue(self, after) -> list[Affine]:
        return [Affine((*f.strides, *(0,) * self.nk), f.offset) for f in after[0].affines()] if after else []

    def collapse(self, affines: list[Affine]) -> None:
        """Merge dims within each group; a group's dims count as neighbours though others stand between."""
        order = sorted(range(len(self.full)), key=lambda d: (self.groups[d], d))
        moved = [Affine(tuple(a.strides[d] for d in order), 0) for a in affines]
        runs = collapse(tuple(self.full[d] for d in order), moved, tuple(self.groups[d] for d in order))
        self.runs = [tuple(order[i] for i in r) for r in runs]
        self.sizes = [run_size(self.full, r) for r in self.runs]
        self.coords = [f"x{i}" for i in range(len(runs))]

    def of(self, *groups: int) -> list[int]:
        return [i for i, r in enumerate(self.runs) if self.groups[r[0]] in groups]

    def total(self, group: int) -> int:
        return prod(self.sizes[i] for i in self.of(group))

    def mode(self, o: Operand, group: int) -> str:
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

    def tile(self, m: int, n: int) -> tuple[int, int]:
        """Rows and columns of a thread's tile: 8 x 8, less where the result has less.

        A software adapter pays for every read and has no registers to run out of: it takes 16 rows, and 16
        columns where columns are read one by one (measured: docs/internals/performance.md). Not for so little
        work that compiling the larger kernel takes longer than running it a hundred times, nor where four
        steps of each turn fill its small registers.
        """
        # m and n are rows and columns of the whole result; u is the rows' side, v the columns'. Each row of a
        # tile reads u once and each column v once for every step, so a larger tile reads less for a multiply-
        # add; it also is that much more text to compile. u in fours wants four rows at least.
        wide = self.planner.limits.software and self.is_much()
        tall = wide and (self.step() < 4 or self.planner.limits.lanes > 4)
        tu = 16 if tall and m >= 16 else 8 if m > 4 else 4 if m > 2 or self.u.mode == "free" else max(m, 1)
        tv = 16 if wide and self.v.mode == "scalar" and n >= PACK_FROM else 8 if n > 4 else 4
        names = [f"{a}x{b}" for a in (8, 16) for b in (4, 8, 16) if m >= a and n >= b]
        bucket = (*map(_size, (m, n, self.total(SUMMED))), self.u.mode, self.v.mode, self.head.dtype.short)
        name = choose(self.planner.limits, "registers", bucket, names, f"{tu}x{tv}")
        rows, _, columns = name.partition("x")
        return int(rows), int(columns)

    def at(self, a: Affine, group: int) -> Index:
        runs = self.of(group)
        place = Affine(a.strides, 0)
        return name_index(place, [self.runs[i] for i in runs], [self.coords[i] for i in runs], self.q)

    def place(self, a: Affine, *groups: int) -> tuple[Index, ...]:
        return tuple(self.at(a, g) for g in groups)

    def side(self, o: Operand, own: int) -> Side:
        binding = self.b.add(o.value, o.node.dtype, 1 if o.mode == "scalar" else 4)

        def place(a: Affine) -> Place:
            return Place(
                self.q.add("offset", a.offset) if a.offset else "", *self.place(a, BATCH, own, SUMMED)
            )

        tests = tuple((place(t.position), self.q.add("padded", t.size)) for t in o.view.bounds)
        return Side(binding, o.node.dtype.short, o.mode, place(o.view.index), tests)

    def group(self, group: int) -> Group:
        runs = self.of(group)
        sizes = tuple(self.q.add(f"{NAMES[group]}_dim", self.sizes[i]) for i in runs)
        total = self.q.add(NAMES[group], self.total(group))
        return Group(tuple(self.coords[i] for i in runs), sizes, total)

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
        moved = [Affine(tuple(a.strides[d] for d in dims), 0) for a in affines]
        groups = tuple(self.groups[d] for d in dims)
        runs = collapse(tuple(self.full[d] for d in dims), moved, groups)
        named = [tuple(dims[i] for i in r) for r in runs]
        return named, [run_size(self.full, r) for r in named]

    def finish(self, after, wide: bool) -> Function:
        """The epilogue, over the coordinates of batch, rows and columns; of four neighbours where it can."""
        keep = self.of(BATCH, ROWS, COLUMNS)
        runs, coords = [self.runs[i] for i in keep], [self.coords[i] for i in keep]
        trace, root = after
        width = 4 if wide and trace.can_widen(*self.joined(self.of_epilogue(after))) else 1
        return trace.function(runs, coords, self.b, self.q, root, width)


def _size(n: int) -> int:
    """A size as the power of two that it reaches, up to where more makes no difference."""
    return min(n, 4096).bit_length()


def workgroup_of(columns: int) -> tuple[int, int]:
    """64 threads, along the columns as far as there is work: few shapes, so that sizes rarely compile
    anew."""
    x = next((x for x in (1, 4, 16) if x >= columns), WORKGROUP)
    return x, WORKGROUP // x
