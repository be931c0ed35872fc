"""The name of a product's variant into its kernels."""

from dataclasses import replace
from functools import partial
from math import ceil, prod

from ...core.shape import Affine, View, contiguous_strides
from ..ir import Kernel
from ..map import ReadTrace, copy_kernel
from .cost_model import PIECES, tail_of, thin_turn
from .depthwise import strips_kernel
from .operand import BATCH, BYTE, COLUMNS, KERNEL, ROWS, SUMMED, Operand, Spelling
from .product import TILES, Product, Tile, parts_kernel
from .skinny import THIN_LANES, lanes_kernel, thin_kernel
from .tiles import rest_kernel, tile_kernel

SINGLY = 0.15  # picoseconds that staging an element takes longer where four are not read at once


def tail_kernels(product: Product, name: str) -> list[Kernel]:
    """The kernels of a product whose last tiles are cut, and added up by another."""
    tile, tail = TILES[name], tail_of(product, name)
    assert tail is not None
    product, copies = packed(product, tile)
    part = product.planner.temporary(-(-product.k // tail.long) * tail.rest * tile.rows * tile.columns)
    first = tile_kernel(product, product.k, part, tile, tail)
    return [*copies, first, rest_kernel(product, tile, tail, part)]


def product_kernels(product: Product, name: str) -> list[Kernel]:
    """The kernels of a variant: one, and another that adds up the pieces of the summed dims."""
    shape, _, parts = name.partition("/")
    if name.endswith("+"):
        return tail_kernels(product, shape[:-1])
    planner, head = product.planner, product.head
    if shape == "strips":
        return [strips_kernel(product)]
    copies: list[Kernel] = []
    if shape in (*THIN_LANES, "lanes"):
        product = product if product.m <= product.n else product.turned()
        make, step = lanes_kernel, thin_turn(product)
        if shape in THIN_LANES:
            lanes, ahead = THIN_LANES[shape]
            make = partial(thin_kernel, lanes=lanes, ahead=ahead)
    else:
        product, copies = packed(product, TILES[shape])
        make, step = partial(tile_kernel, tile=TILES[shape]), TILES[shape].step
    if not parts:
        return [*copies, make(product, long=product.k, part=None)]
    long = ceil(product.k / (PIECES[parts] * step)) * step
    pieces = -(-product.k // long)
    part = planner.temporary(prod(head.shape) * pieces)
    first = make(product, long=long, part=part)
    return [*copies, first, parts_kernel(product, part, pieces)]


def packed(product: Product, tile: Tile) -> tuple[Product, list[Kernel]]:
    """A product with sides laid out anew for reads of four where that pays, and the copies to run first."""
    sides, copies = [], []
    for o, own, other in ((product.a, ROWS, COLUMNS), (product.b, COLUMNS, ROWS)):
        times = -(-product.domain.total(other) // (tile.columns if other == COLUMNS else tile.rows))
        if is_worth_packing(product, o, own, times):
            o, copy = pack(product, o, own)
            copies.append(copy)
        sides.append(o)
    a, b = sides
    return (replace(product, a=a, b=b), copies) if copies else (product, copies)


def is_worth_packing(product: Product, o: Operand, own: int, times: int) -> bool:
    if not o.is_stored or Spelling("a", o, own, product.domain, False).wide:
        return False
    shape = o.walked_shape()
    fours = [d for d in range(len(shape)) if product.domain.groups[d] == SUMMED]
    if prod(shape[d] for d in fours) % 4:
        return False
    elements = prod(shape)
    return times * elements * SINGLY > 2 * BYTE * elements * o.dtype.itemsize + KERNEL


def pack(product: Product, o: Operand, own: int) -> tuple[Operand, Kernel]:
    """Copy a side so that the summed dims lie innermost."""
    domain, planner = product.domain, product.planner
    order = [d for g in (BATCH, own, SUMMED) for d in domain.order if domain.groups[d] == g and o.walks(d)]
    (load,) = o.trace.steps
    shape = tuple(domain.shape[d] for d in order)
    value = planner.temporary(prod(shape), o.dtype.itemsize)
    assert load.view is not None
    seen = load.view.map(shape, lambda f: Affine(tuple(f.strides[d] for d in order), f.offset))
    strides = dict(zip(order, contiguous_strides(shape), strict=True))
    view = View(o.walked_shape(), Affine(tuple(strides.get(d, 0) for d in range(len(domain.shape))), 0))
    copied = Operand(o.node, ReadTrace(planner, load.node, value, view), 0, domain.shape)
    return copied, copy_kernel(planner, load.node, load.value, seen, value)
