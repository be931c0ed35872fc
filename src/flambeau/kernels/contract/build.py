"""Builds the kernels of a variant of a product."""

from collections.abc import Callable
from dataclasses import replace
from math import ceil, prod

from ..emit import fitting
from ..ir import Kernel
from .cost_model import skinny_turn, tail_of
from .depthwise import depthwise_kernel
from .dispatch import TILES, GemmTile, SumPieces, in_pieces
from .pack import packed_operand
from .product import BATCH, BYTE, COLUMNS, KERNEL, ROWS, SUMMED, Operand, OperandIndexing, Product
from .skinny import SKINNY, skinny_kernel, skinny_short_kernel
from .tiles import tail_sum_kernel, tile_kernel
from .variant import Variant

SINGLY = 0.15  # picoseconds that staging an element takes longer if four are not read at once


def product_kernels(product: Product, variant: Variant) -> list[Kernel]:
    """The kernels of a variant: copies of operands, the product, and the sum of its pieces if it is split."""
    if variant.kernel == "depthwise":
        return [fitting(lambda narrow: depthwise_kernel(product, narrow))]
    if variant.kernel in TILES:
        product, copies = _with_copies(product, TILES[variant.kernel])
        if variant.tail:
            return [*copies, *tail_kernels(product, variant.kernel)]
        make, step = _of_tiles(product, TILES[variant.kernel])
    else:
        # A thread of a skinny kernel makes all rows, so the short side has to be the rows.
        product, copies = product if product.m <= product.n else product.transpose(), []
        make, step = _of_few_rows(product, variant.kernel)
    # A multiple of a step: only the last piece may end inside one.
    piece = ceil(product.k / (variant.split * step)) * step if variant.split > 1 else product.k
    return [*copies, *in_pieces(product, piece, make)]


def _of_tiles(product: Product, tile: GemmTile) -> tuple[Callable[[SumPieces], Kernel], int]:
    """A function that builds the kernel of some pieces, and the multiple of summed elements in a piece."""
    return lambda pieces: fitting(lambda narrow: tile_kernel(product, pieces, tile, None, narrow)), tile.step


def _of_few_rows(product: Product, name: str) -> tuple[Callable[[SumPieces], Kernel], int]:
    turn = skinny_turn(product)
    if name == "skinny_short":
        return lambda pieces: fitting(lambda narrow: skinny_short_kernel(product, pieces, narrow)), turn
    shape = SKINNY[name]
    return lambda pieces: fitting(lambda narrow: skinny_kernel(product, pieces, shape, narrow)), turn


def tail_kernels(product: Product, name: str) -> list[Kernel]:
    """The kernels of a product whose last tiles are cut, with a kernel that adds up their pieces."""
    tile, tail = TILES[name], tail_of(product, name)
    assert tail is not None
    # [pieces, cut tiles, rows, columns].
    part = product.plan.temporary(-(-product.k // tail.piece) * tail.cut_tiles * tile.rows * tile.columns)
    pieces = SumPieces(product.k, part)
    first = fitting(lambda narrow: tile_kernel(product, pieces, tile, tail, narrow))
    return [first, fitting(lambda narrow: tail_sum_kernel(product, part, tile, tail, narrow))]


def _with_copies(product: Product, tile: GemmTile) -> tuple[Product, list[Kernel]]:
    """A product with sides copied for reads of four where that pays, and the copies to run first."""
    sides, copies = list[Operand](), list[Kernel]()
    for o, own, other in ((product.a, ROWS, COLUMNS), (product.b, COLUMNS, ROWS)):
        # Each tile along the other side stages all elements of this one.
        times = -(-product.domain.total(other) // (tile.columns if other == COLUMNS else tile.rows))
        if is_worth_packing(product, o, own, times):
            o, copy = packed_operand(product, o, (BATCH, own, SUMMED))
            copies.append(copy)
        sides.append(o)
    a, b = sides
    return (replace(product, a=a, b=b), copies) if copies else (product, copies)


def is_worth_packing(product: Product, o: Operand, own: int, times: int) -> bool:
    """Whether reading a side in fours, this many times, is worth a copy of it."""
    if not o.is_stored or o.is_coded or OperandIndexing("a", o, own, product.domain, False).wide:
        return False
    shape = o.walked_shape()
    fours = [d for d in range(len(shape)) if product.domain.groups[d] == SUMMED]
    if prod(shape[d] for d in fours) % 4:
        return False
    elements = prod(shape)
    return times * elements * SINGLY > 2 * BYTE * elements * o.dtype.itemsize + KERNEL
