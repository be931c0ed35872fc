"""Lists the variants that fit a product of matrices, and estimates which takes the least time.

The figures were measured on one NVIDIA H200 (docs/internals/performance.md). `Limits.machine` has those that
differ most between GPUs: the number of cores, and the speeds of arithmetic and memory. Where the order is
wrong, `flambeau tune` measures, and its choices replace it.
"""

from collections.abc import Iterator
from math import ceil, prod
from typing import NamedTuple

from .depthwise import along, line_of
from .dispatch import TILES, TailSplit, tiles_of
from .product import Product
from .skinny import FEW_ROWS, SKINNY, USUAL
from .variant import REGISTERS, Variant

UNEVEN = 5 / 4, 4 / 3, 3 / 2  # pieces of the summed dims: 4/3 is three quarters and the rest
SPLITS = *UNEVEN, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 128, 256
PARTIAL = 1 << 26  # the most elements of the sums of pieces
# summed places and elements of a vector's product up to which it is made without a second pass
ONE_PASS_SUMMED, ONE_PASS_ELEMENTS = 4096, 1 << 22


def candidates(product: Product) -> list[Variant]:
    """The variants that fit: registers; tiles and skinny kernels, whole and in pieces of the summed dims."""
    if not min(product.m, product.n, product.k, product.batch):
        return [REGISTERS]
    results = prod(product.head.shape)
    splits = [p for p in SPLITS if results * ceil(p) <= PARTIAL]
    variants = [REGISTERS, *(v for name in TILES for v in _of_tile(product, name, splits))]
    return [*variants, *_skinny(product, splits)] if min(product.m, product.n) <= FEW_ROWS else variants


def _of_tile(product: Product, name: str, splits: list[float]) -> Iterator[Variant]:
    tile, even = TILES[name], SPEEDS[name].beside == 1
    if tile.memory(False) > product.limits.workgroup_memory or tile.threads > product.limits.invocations:
        return
    yield Variant(name)
    for split in splits:
        if split * tile.step * 4 <= product.k and not (even and split in UNEVEN):
            yield Variant(name, split)
    if tail_of(product, name):
        yield Variant(name, tail=True)


def _skinny(product: Product, splits: list[float]) -> Iterator[Variant]:
    if line_of(along(product)) is not None:
        yield Variant("depthwise")
    yield Variant("skinny_short")
    yield Variant("skinny")
    for split in splits:
        if split * skinny_turn(product) <= product.k and split not in UNEVEN:
            yield Variant("skinny", split)
    if product.k >= 8 * USUAL.lanes:
        yield Variant("skinny_deep" if product.is_free else "skinny_long")


def by_rule(product: Product, variants: list[Variant]) -> Variant:
    """The variant of least estimated time."""
    return min(variants, key=lambda variant: estimate(product, variant))


def rank(product: Product, variants: list[Variant]) -> list[Variant]:
    """Variants by their estimated time: tuning tries the first."""
    return sorted(variants, key=lambda variant: estimate(product, variant))


class TileSpeed(NamedTuple):
    """The speed of a core with workgroups of a tile, fitted to 1,900 readings
    (docs/internals/performance.md).

    speed: multiply-adds in the time of one of the machine's, if both sides are read as vec4s along their own
    dims. turned: the factor on it for each side that is read along the summed dims. beside: workgroups that
    share a core and take no longer than one. full: workgroups of a core that hide each other's reads; with
    fewer the speed decreases, see FILLING. singly: the part of the speed that is left for
    each side that is not read in fours (300 readings of 30 odd shapes, 2026-11-27).
    """

    speed: float
    turned: float
    beside: int
    full: float
    singly: float


SPEEDS = {
    "128x128": TileSpeed(1.04, 0.97, 2, 1.0, 0.88),
    "64x128": TileSpeed(0.95, 0.88, 1, 2.0, 0.95),
    "128x64": TileSpeed(0.99, 0.89, 1, 2.0, 0.96),
    "64x64": TileSpeed(0.84, 1.0, 1, 4.0, 0.9),
    "64x64k32": TileSpeed(0.67, 0.95, 1, 2.5, 0.96),
    "32x64": TileSpeed(0.7, 0.92, 1, 5.5, 0.98),
    "32x32": TileSpeed(0.64, 0.85, 1, 6.7, 0.94),
    "16x128": TileSpeed(0.49, 0.88, 1, 3.0, 0.95),
}
FILLING = 0.57  # the power of the part of the workgroups that fill a core
# Workgroups of several rounds that each add up more places than LONG drift apart, and read again what others
# have read: this factor longer.
LONG, DRIFT = 1 << 14, 1.3
CUT = 1.04  # how much longer a kernel takes that computes both whole tiles and pieces
MOST_GROUPS = 8  # workgroups per core: more pieces than these gain nothing, except for long sums
BEGIN = 20  # the start of a piece takes as long as this many summed elements
SECOND_PASS = 9.4e6  # picoseconds of the kernel that adds up pieces, beside its bytes
DEPTHWISE = 0.3  # of the time of "skinny_short": half of its reads, and a fifth of the arithmetic for places
READS_FULL = 12  # iterations of skinny workgroups on a core whose reads together reach the memory's speed
LONG_TIME = 0.9  # of the time of "skinny": it has four times as many workgroups (a guess, not measured)
SKINNY_ROW = 0.05  # picoseconds that a row adds to the time of an element that is read
PLACE, ROW = 10, 2  # the time to find a summed element, in multiply-adds; to add it to a row
LATENCY = 438_900  # picoseconds of one read, for which every iteration of a short sum waits


def estimate(product: Product, variant: Variant) -> float:
    """Time in a core's multiply-adds: the rounds of workgroups that its cores take, and the second pass."""
    # The unit is a multiply-add of one core, so a product costs its multiply-adds divided by the busy cores.
    # Two bounds, of which the larger counts: multiply-adds in rounds of workgroups, and bytes read.
    if variant == REGISTERS:
        return float("inf") if len(product.head.shape) and product.k else 0.0
    if variant.kernel in SKINNY:
        return estimate_skinny(product, variant)
    if variant.kernel not in TILES:
        return estimate_short(product) * (DEPTHWISE if variant.kernel == "depthwise" else 1)
    if variant.tail:
        return estimate_tail(product, variant.kernel)
    tile, split, of_tile = TILES[variant.kernel], variant.split, SPEEDS[variant.kernel]
    cores, groups = product.limits.machine.cores, prod(tiles_of(product, tile)) * product.batch
    if split > 2 and groups * split > MOST_GROUPS * cores and product.k < split * LONG / 4:
        return float("inf")
    rounds = rounds_of(groups, split, cores * of_tile.beside) * of_tile.beside
    if groups * split > cores * of_tile.beside:
        rounds *= drift(product.k / split)
    speed = speed_of(product, of_tile, -(-int(groups * split) // cores))
    work = rounds * tile.rows * tile.columns * (product.k + BEGIN * split) / speed
    # Each operand at least once, 4 bytes an element.
    read = 4 * product.batch * product.k * (product.m + product.n) * byte_time(product)
    return max(work, read) + second_pass(product, split)


def speed_of(product: Product, of_tile: TileSpeed, resident: int) -> float:
    """Multiply-adds of a core with this many workgroups, in the time of one of the machine's."""
    turned, single = product.reading
    filled = 1.0 if of_tile.beside > 1 else min(resident / of_tile.full, 1.0) ** FILLING
    return of_tile.speed * of_tile.turned**turned * of_tile.singly**single * filled


def drift(summed: float) -> float:
    """The slowdown of workgroups in several rounds that each add up this many elements."""
    return DRIFT if summed > LONG else 1.0


def tail_of(product: Product, name: str) -> TailSplit | None:
    """The tiles after the last full round, in as many pieces as fill another round; None without such
    tiles."""
    tile, per_core = TILES[name], SPEEDS[name].beside
    slots = product.limits.machine.cores * per_core
    total = prod(tiles_of(product, tile)) * product.batch
    cut = total % slots
    if per_core == 1 or cut in (0, total):  # small tiles do not cut a short last round
        return None
    fits = [p for p in SPLITS if p * tile.step * 4 <= product.k and ceil(p) * cut <= 4 * slots]
    # The second term is the cost of adding up more pieces, which decides between equal rounds.
    best = min(fits, key=lambda p: rounds_of(cut, p, slots) + ceil(p) * cut / slots / 64, default=1)
    piece = ceil(product.k / (best * tile.step)) * tile.step
    return TailSplit(total - cut, cut, piece) if piece < product.k else None


def rounds_of(tiles: int, pieces: float, slots: int) -> float:
    """The time of the pieces of this many tiles on this many slots, in tiles: the long ones first."""
    many, long = int(pieces), 1 / pieces
    # `many` long pieces of each tile run first, then the short rest: slots that are free in the last round of
    # long pieces already take short ones.
    full, left = divmod(tiles * many, slots)
    short = 1 - many * long
    if short < 1e-6:
        return (full + (left > 0)) * long
    filled = (slots - left) * int(long / short + 1e-6) if left else 0
    return (full + (left > 0)) * long + -(-max(tiles - filled, 0) // slots) * short


def estimate_tail(product: Product, name: str) -> float:
    """Full rounds of whole tiles, and one of pieces."""
    tile, of_tile, tail = TILES[name], SPEEDS[name], tail_of(product, name)
    assert tail is not None
    per_core, slots = of_tile.beside, product.limits.machine.cores * of_tile.beside
    speed = speed_of(product, of_tile, per_core)
    rounds = tail.whole_tiles / slots + rounds_of(tail.cut_tiles, product.k / tail.piece, slots)
    work = CUT * rounds * drift(product.k) * per_core * tile.rows * tile.columns * (product.k + BEGIN) / speed
    pieces = -(-product.k // tail.piece)
    aside = 2 * pieces * tail.cut_tiles * tile.rows * tile.columns
    return work + 4 * aside * byte_time(product) + second_kernel_time(product)


def second_pass(product: Product, split: float) -> float:
    """Writing and reading the sums of pieces, and a kernel more."""
    if split == 1:
        return 0.0
    moved = 4 * (2 * ceil(split) + 1) * product.m * product.n * product.batch
    return moved * byte_time(product) + second_kernel_time(product)


def byte_time(product: Product) -> float:
    """The time of moving a byte, in multiply-adds of a core."""
    return product.limits.machine.byte / product.limits.machine.multiply_add


def second_kernel_time(product: Product) -> float:
    """The time of a kernel that adds up pieces, beside its bytes, in multiply-adds of a core."""
    return SECOND_PASS / product.limits.machine.multiply_add


def estimate_skinny(product: Product, variant: Variant) -> float:
    """Reads at the memory's speed, if enough of them are in flight."""
    machine, wide = product.limits.machine, product if product.m <= product.n else product.transpose()
    across = USUAL.lanes if product.is_free else USUAL.strips
    groups = -(-wide.n // (4 * across)) * product.batch * variant.split
    if wide.b.is_coded:
        return estimate_coded(product, variant, groups)
    reads, filled = (
        wide.n * product.k * product.batch,
        min(groups * USUAL.reads / (READS_FULL * machine.cores), 1.0),
    )
    is_small_vector = wide.m == 1 and product.k <= ONE_PASS_SUMMED and reads < ONE_PASS_ELEMENTS
    if variant.kernel == "skinny_long" and groups >= machine.cores:
        return float("inf")
    if variant.kernel in ("skinny_deep", "skinny_long") and not is_small_vector:
        return float("inf")
    if is_small_vector and (variant.kernel != "skinny" or (variant.split == 1 and not product.is_free)):
        filled = 1.0  # 32 columns a workgroup
    time = reads / filled * (machine.byte * 4 + SKINNY_ROW * wide.m) / machine.multiply_add
    time *= LONG_TIME if variant.kernel == "skinny_long" else 1
    return time + second_pass(product, variant.split)


def estimate_coded(product: Product, variant: Variant, groups: float) -> float:
    """Few rows of floats times quantised blocks: one kernel, which decodes each element once for all rows;
    the kernel of more workgroups if those of the other do not fill the GPU."""
    is_long = groups < product.limits.machine.cores and product.k >= 8 * USUAL.lanes
    is_best = variant.split == 1 and variant.kernel == ("skinny_long" if is_long else "skinny")
    return 0.0 if is_best and not product.is_free else float("inf")


def skinny_turn(product: Product) -> int:
    """A skinny product's piece is a multiple of this many summed elements: whole iterations of its
    workgroups."""
    return (8 if product.is_free else 4 * USUAL.reads) * USUAL.lanes


def estimate_short(product: Product) -> float:
    """Short sums, a thread each: a read's time for every summed place, or more where threads are many."""
    machine, (short, long) = product.limits.machine, sorted((product.m, product.n))
    work = long * product.batch * (PLACE + ROW * short) / machine.cores
    return product.k * max(work, LATENCY / machine.multiply_add)
