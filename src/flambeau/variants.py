"""A product of matrices into the kernels that fit, by name, and the one that should take least time."""

from dataclasses import replace
from functools import partial
from math import ceil, prod

from .heads import Kernel, ReadTrace, copy_kernel
from .shape import Affine, View, contiguous_strides
from .sides import BATCH, BYTE, COLUMNS, KERNEL, ROWS, SUMMED, Operand, Spelling
from .strips import along, line_of, strips_kernel
from .tiling import (
    AHEAD,
    LANES,
    STRIPS,
    THIN,
    THIN_LANES,
    TILES,
    Product,
    Tail,
    Tile,
    lanes_kernel,
    parts_kernel,
    rest_kernel,
    thin_kernel,
    tile_kernel,
    tiles_of,
)

# how many pieces of the summed dims, by name; 1.33: three quarters and the rest
UNEVEN = {"1.25": 5 / 4, "1.33": 4 / 3, "1.5": 3 / 2}
PIECES = UNEVEN | {str(n): n for n in (2, 3, 4, 5, 6, 8, 12, 16, 32, 64)}
PARTIAL = 1 << 26  # elements that the sums of pieces may take
SHORT, LITTLE = 4096, 1 << 22  # summed places and elements of a vector's product without a second pass
SINGLY = 0.15  # picoseconds that staging an element takes longer where four are not read at once


def candidates(product: Product) -> list[str]:
    """The variants that fit: registers, and tiles, each with the summed dims in 1 piece or more ("/8")."""
    found = ["registers"]
    if not min(product.m, product.n, product.k, product.batch):
        return found
    results = prod(product.head.shape)
    pieces = {name: p for name, p in PIECES.items() if results * ceil(p) <= PARTIAL}
    for name, tile in TILES.items():
        fits = tile.memory(False) <= product.limits.workgroup_memory
        if fits and tile.threads <= product.limits.invocations:
            even = EFFICIENCY[name][1] == 1
            found += [name]
            found += [
                f"{name}/{p}"
                for p, n in pieces.items()
                if n * tile.step * 4 <= product.k and not (even and p in UNEVEN)
            ]
            found += [f"{name}+"] if tail_of(product, name) else []
    if min(product.m, product.n) <= THIN:
        found += ["strips"] * (line_of(along(product)) is not None)
        found += [
            "lanes",
            "thin",
            *(
                f"thin/{p}"
                for p, n in pieces.items()
                if n * thin_turn(product) <= product.k and p not in UNEVEN
            ),
        ]
        found += ["narrow"] * (_free(product) and product.k >= 8 * LANES)
    return found


def by_rule(product: Product, names: list[str]) -> str:
    """The variant of least estimated time."""
    return min(names, key=lambda name: estimate(product, name))


def ranked(product: Product, names: list[str]) -> list[str]:
    """Variants by their estimated time: tuning tries the first."""
    return sorted(names, key=lambda name: estimate(product, name))


CORES = 132  # multiprocessors of the GPU that the estimates were fitted to
# of each tile: the part of the largest's speed; how many workgroups share a core and take no longer than one
EFFICIENCY = {
    "128x128": (1.0, 2), "64x128": (0.88, 1), "128x64": (0.88, 1), "64x64": (0.8, 1), "64x64k32": (0.7, 1),
    "32x64": (0.55, 1), "32x32": (0.45, 1), "16x128": (0.45, 1),
}  # fmt: skip
FULL = 3  # workgroups of other tiles that hide each other's reads on a core
CUT = 1.04  # how much longer a kernel takes that makes both whole tiles and pieces
UNIT = 5.7  # picoseconds a multiply-add of a core


def estimate(product: Product, name: str) -> float:
    """Time in a core's multiply-adds: the rounds of workgroups that its cores take, and the second pass."""
    if name == "registers":
        return float("inf") if len(product.head.shape) and product.k else 0.0
    shape, _, parts = name.partition("/")
    split = PIECES[parts] if parts else 1
    if shape in THIN_LANES:
        return estimate_thin(product, shape, split)
    if shape in ("lanes", "strips"):  # strips read half as much, with a fifth of the arithmetic for places
        return estimate_lanes(product) * (0.3 if shape == "strips" else 1)
    if name.endswith("+"):
        return estimate_tail(product, shape[:-1])
    tile = TILES[shape]
    speed, beside = EFFICIENCY[shape]
    groups = prod(tiles_of(product, tile)) * product.batch
    rounds = rounds_of(groups, split, CORES * beside) * beside
    resident = -(-int(groups * split) // CORES)
    filled = 1.0 if beside > 1 else min(resident / FULL, 1.0) ** 0.5
    work = rounds * tile.rows * tile.columns * (product.k + 64 * split) / (speed * filled)
    read = BYTE * 4 * product.batch * product.k * (product.m + product.n) / UNIT
    return max(work, read) + second_pass(product, split)


def tail_of(product: Product, name: str) -> Tail | None:
    """The tiles beyond full rounds, in as many pieces as fill another one; None where there are none."""
    tile, beside = TILES[name], EFFICIENCY[name][1]
    slots = CORES * beside
    total = prod(tiles_of(product, tile)) * product.batch
    rest = total % slots
    if beside == 1 or rest in (0, total):  # small tiles leave a short last round as it is
        return None
    fits = [p for p in PIECES.values() if p * tile.step * 4 <= product.k and ceil(p) * rest <= 4 * slots]
    best = min(fits, key=lambda p: rounds_of(rest, p, slots) + ceil(p) * rest / slots / 64, default=1)
    long = ceil(product.k / (best * tile.step)) * tile.step
    return Tail(total - rest, rest, long) if long < product.k else None


def rounds_of(tiles: int, pieces: float, slots: int) -> float:
    """How long the pieces of so many tiles take on so many slots, in tiles: the long ones first."""
    many, long = int(pieces), 1 / pieces
    full, left = divmod(tiles * many, slots)
    short = 1 - many * long
    if short < 1e-6:
        return (full + (left > 0)) * long
    beside = (slots - left) * int(long / short + 1e-6) if left else 0
    return (full + (left > 0)) * long + -(-max(tiles - beside, 0) // slots) * short


def estimate_tail(product: Product, name: str) -> float:
    tile, (speed, beside), tail = TILES[name], EFFICIENCY[name], tail_of(product, name)
    assert tail is not None
    slots = CORES * beside
    rounds = tail.whole / slots + rounds_of(tail.rest, product.k / tail.long, slots)
    work = CUT * rounds * beside * tile.rows * tile.columns * (product.k + 64) / speed
    pieces = -(-product.k // tail.long)
    aside = 2 * pieces * tail.rest * tile.rows * tile.columns
    return work + (BYTE * 4 * aside + KERNEL) / UNIT


def tail_kernels(product: Product, name: str) -> list[Kernel]:
    """The kernels of a product whose last tiles are cut, and added up by another."""
    tile, tail = TILES[name], tail_of(product, name)
    assert tail is not None
    product, copies = packed(product, tile)
    part = product.planner.temporary(-(-product.k // tail.long) * tail.rest * tile.rows * tile.columns)
    first = tile_kernel(product, product.k, part, tile, tail)
    return [*copies, first, rest_kernel(product, tile, tail, part)]


def second_pass(product: Product, split: float) -> float:
    if split == 1:
        return 0.0
    return (BYTE * 4 * (2 * ceil(split) + 1) * product.m * product.n * product.batch + KERNEL) / UNIT


def estimate_thin(product: Product, shape: str, split: float) -> float:
    """Reads at the memory's speed, as far as enough of them are under way."""
    turned = product if product.m <= product.n else product.turned()
    groups = -(-turned.n // (4 * (LANES if _free(product) else STRIPS))) * product.batch * split
    reads, filled = turned.n * product.k * product.batch, min(groups * AHEAD / (12 * CORES), 1.0)
    if shape == "narrow":
        filled = 1.0
        if turned.m > 1 or product.k > SHORT or reads >= LITTLE:
            return float("inf")
    return reads / filled * (BYTE * 4 + 0.05 * turned.m) / UNIT + second_pass(product, split)


def _free(product: Product) -> bool:
    """Whether the longer side of a thin product lies along its own dims."""
    turned = product if product.m <= product.n else product.turned()
    return Spelling("b", turned.b, COLUMNS, turned.domain, False).along == "free"


def thin_turn(product: Product) -> int:
    """Summed places that a thin product's piece is a multiple of: whole turns of its workgroups."""
    return 8 * LANES if _free(product) else 4 * LANES * AHEAD


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


def estimate_lanes(product: Product) -> float:
    few, many = sorted((product.m, product.n))
    return product.k * max(many * product.batch * (10 + 2 * few) / CORES, 77_000)


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
