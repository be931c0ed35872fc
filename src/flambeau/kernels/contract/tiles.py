"""Contractions on a real GPU: products of tiles that a workgroup stages in its memory."""

from math import prod

from ..emit import Bindings, Quantities, check_bindings, label, spread_grid
from ..ir import GPU_WORKGROUP, Kernel, Shader
from .dispatch import (
    ContractionBuilder,
    GemmTile,
    Result,
    SumPieces,
    TailSplit,
    check_fours,
    plan_load,
    tiles_of,
)
from .product import COLUMNS, ROWS, OperandIndexing, Product


def tile_kernel(
    product: Product, pieces: SumPieces, tile: GemmTile, tail: TailSplit | None, narrow: bool
) -> Kernel:
    """Tiles in workgroup memory. With a tail, `part` takes the pieces of its tiles, one after another."""
    aside = None if tail is None else pieces.part
    builder = ContractionBuilder(product, pieces if tail is None else SumPieces(product.k), narrow)
    operands = (("a", product.a, ROWS, tile.rows), ("b", product.b, COLUMNS, tile.columns))
    sides = [
        OperandIndexing(name, operand, own, product.domain, narrow) for name, operand, own, _ in operands
    ]
    functions = builder.functions(sides)
    # A vec4 of padding after each line makes lines start in different banks of workgroup memory, if it has
    # room.
    pad = int(tile.memory(True) <= product.limits.workgroup_memory)
    loads = [plan_load(s, o[3], tile, pad, builder.q, True) for s, o in zip(sides, operands, strict=True)]
    options, depth = builder.options(sides, loads, tile.step)
    tiles = tiles_of(product, tile)
    options |= {
        "step": tile.step,
        "high": tile.thread_rows,
        "wide": tile.thread_columns,
        "down": 4 * tile.rows // tile.thread_rows,
        "across": 4 * tile.columns // tile.thread_columns,
        "tiles": tuple(builder.q.add("tiles", n) for n in tiles),
    }
    groups, cut = prod(tiles) * depth, ()
    if tail is not None:
        # Uncut tiles come first: their workgroups take longest, and the short pieces fill the last round.
        groups = tail.whole_tiles + tail.cut_tiles * -(-product.k // tail.piece)
        cut = (*tail, groups)
    options["tail"] = tuple(builder.q.add("tail", n) for n in cut)
    return builder.kernel("contract/tiles.wgsl", tile.threads, groups, functions, options, aside)


def tail_sum_kernel(product: Product, part: int, tile: GemmTile, tail: TailSplit, narrow: bool) -> Kernel:
    """The second pass over the tiles of a tail: a thread adds up four neighbours of every piece."""
    q, b = Quantities(), Bindings()
    b.add(part, product.head.dtype, 4)
    result = Result(product, product.after, narrow)
    check_fours(product, result.width)  # this pass writes the result, the first only sums
    functions = result.functions(b, q)
    check_bindings(b, product.plan.max_inputs)
    fours = tail.cut_tiles * tile.rows * tile.columns // 4
    grid = spread_grid(-(-fours // GPU_WORKGROUP), product.limits.groups)
    options = {
        "acc": product.head.dtype.short,
        "extent": (tile.rows, tile.columns),
        "whole": q.add("whole", tail.whole_tiles),
        "tiles": tuple(q.add("tiles", n) for n in tiles_of(product, tile)),
        "size": q.add("size", fours),
        "all": q.add("total", fours * -(-product.k // tail.piece)),
        "groups": q.add("groups", grid[0]),
        **result.groups(q),
    }
    shader = Shader(
        "contract/tail_sum.wgsl",
        tuple(q.names),
        tuple(b.kinds),
        ((product.tail.dtype.short, result.width),),
        (GPU_WORKGROUP, 1, 1),
        functions,
        tuple(options.items()),
    )
    name = label("sum", result.after.trace.steps if result.after else ())
    out = product.plan.index[id(product.tail)]
    return Kernel(name, shader, tuple(b.values), (out,), tuple(q.values), grid)
