"""Builds the kernels of products of few rows or columns."""

from dataclasses import replace
from typing import Any, NamedTuple

from ..emit import fitting
from ..ir import GPU_WORKGROUP, Kernel
from ..lower import NeedStore
from .dispatch import ContractionBuilder, SumPieces, TileLoad
from .product import COLUMNS, READS_BUFFERS, ROWS, OperandIndexing, Product, stat_name
from .variant import Variant

FEW_ROWS = 8  # rows or columns that a skinny product has at most


class SkinnyShape(NamedTuple):
    """How the threads of a workgroup share a skinny product.

    Adjacent columns: lanes are adjacent threads, four columns each; strips are lines of threads that share a
    sum. Columns read along the summed dims: lanes share a sum, four elements each; strips have four columns
    each. reads: iterations of the sum whose reads are in flight at once.
    """

    lanes: int
    strips: int
    reads: int

    @property
    def threads(self) -> int:
        return self.lanes * self.strips


# More threads share a sum in "skinny_deep" (adjacent columns) and "skinny_long" (columns read along the
# summed dims): few columns need no second pass, and make more workgroups.
SKINNY = {
    "skinny": SkinnyShape(32, 8, 4),
    "skinny_deep": SkinnyShape(8, 32, 8),
    "skinny_long": SkinnyShape(128, 2, 4),
}
USUAL = SKINNY["skinny"]


def skinny_kernel(product: Product, pieces: SumPieces, shape: SkinnyShape, narrow: bool) -> Kernel:
    """Few rows, all of them by each thread, four columns at a time. Columns that are not adjacent are read
    along the summed dims. A shape that is meant for the other order is replaced by the usual one."""
    builder, domain = ContractionBuilder(product, pieces, narrow), product.domain
    builder.kind = "beside"
    b = OperandIndexing("b", product.b, COLUMNS, domain, narrow)
    free = b.along == "free"
    # Columns in fours along the summed dims need the rows in the same fours.
    a = OperandIndexing("a", product.a, ROWS, domain, narrow or free, b.along)
    row_sums = [
        OperandIndexing(f"s{i}", replace(product.a, root=stat.root), ROWS, domain, narrow, "k")
        for i, stat in enumerate(product.a.stats)
    ]
    sides = [a, b]
    if product.beside is not None:
        sides.append(OperandIndexing("c", product.beside, COLUMNS, domain, narrow, b.along))
        if sides[2].wide != b.wide:
            raise NeedStore(product.plan.beside[product.head], "its columns lie otherwise")
    functions = builder.functions([*row_sums, *sides])
    shape = USUAL if shape is SKINNY["skinny_long" if free else "skinny_deep"] else shape
    stride = shape.strips if free else 4 * shape.lanes  # summed elements that the workgroup processes at once
    loads = [TileLoad(stride, s.carries(stride, builder.q), stride=stride) for s in sides]
    options, depth = builder.options(sides, loads, stride * shape.reads)
    tiles = -(-product.n // (4 * (shape.lanes if free else shape.strips)))
    options |= {
        "high": thread_rows(product.m),
        "reads": shape.reads,
        "lanes": shape.lanes,
        "tiles": builder.q.add("tiles", tiles),
        "row_sums": _row_sums(builder, row_sums, 4 * shape.threads),
    }
    return builder.kernel("contract/skinny.wgsl", shape.threads, tiles * depth, functions, options)


def _row_sums(builder: ContractionBuilder, sides: list[OperandIndexing], stride: int) -> tuple[Any, ...]:
    """The template's parameters for sums over rows, which all threads of a workgroup compute together."""
    loads = [TileLoad(stride, s.carries(stride, builder.q), stride=stride) for s in sides]
    specs = [s.spec(builder.q) for s in sides]
    return tuple((stat_name(i), s, g) for i, (s, g) in enumerate(zip(specs, loads, strict=True)))


def fused_kernel(product: Product, variant: Variant) -> Kernel:
    """The kernel of a product that computes sums over its rows first, or a second product of the same rows;
    NeedStore of the rows, or of the second product, where another kernel is faster, which does not."""
    plan, head = product.plan, product.head
    product = product if product.m <= product.n else product.transpose()
    a, b = product.a, product.b
    is_few = product.m <= FEW_ROWS and variant.kernel in SKINNY and variant.split == 1
    floats = all(stat.node.dtype.short == head.dtype.wide.short == "f32" for stat in a.stats)
    if b.stats or not is_few or not floats:
        if product.beside is not None:
            raise NeedStore(plan.beside[head], "it is a kernel of its own")
        raise NeedStore(plan.base_of((a if a.stats else b).node)[0], READS_BUFFERS)
    whole = SumPieces(product.k)
    return fitting(lambda narrow: skinny_kernel(product, whole, SKINNY[variant.kernel], narrow))


def skinny_short_kernel(product: Product, pieces: SumPieces, narrow: bool) -> Kernel:
    """Few rows and short sums: every thread its own columns."""
    domain = product.domain
    b = OperandIndexing("b", product.b, COLUMNS, domain, narrow, "free")
    builder = ContractionBuilder(product, pieces, narrow or not b.wide)
    # All threads read the same element of the rows' side at a time: fours would not save a read.
    a = OperandIndexing("a", product.a, ROWS, domain, True, "free")
    functions = builder.functions([a, b])
    loads = [TileLoad(1, s.carries(1, builder.q), stride=1) for s in (a, b)]
    options, depth = builder.options([a, b], loads, 1)
    tiles = -(-product.n // (4 * GPU_WORKGROUP))
    options |= {"high": thread_rows(product.m), "tiles": builder.q.add("tiles", tiles)}
    return builder.kernel("contract/skinny_short.wgsl", GPU_WORKGROUP, tiles * depth, functions, options)


def thread_rows(rows: int) -> int:
    """The rows of a thread of a skinny product: few values, so that a new size rarely needs a new shader."""
    return next(n for n in (1, 2, 4, 8) if n >= rows)
