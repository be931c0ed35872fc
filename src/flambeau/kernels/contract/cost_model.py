"""A product of matrices into the kernels that fit, by name, and the one that should take least time."""

from math import ceil, prod

from .depthwise import along, line_of
from .operand import BYTE, COLUMNS, KERNEL, Spelling
from .product import TILES, Product, Tail, tiles_of
from .skinny import AHEAD, LANES, STRIPS, THIN, THIN_LANES

# how many pieces of the summed dims, by name; 1.33: three quarters and the rest
UNEVEN = {"1.25": 5 / 4, "1.33": 4 / 3, "1.5": 3 / 2}
PIECES = UNEVEN | {str(n): n for n in (2, 3, 4, 5, 6, 8, 12, 16, 32, 64)}
PARTIAL = 1 << 26  # elements that the sums of pieces may take
SHORT, LITTLE = 4096, 1 << 22  # summed places and elements of a vector's product without a second pass


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
    "128x128": (1.0, 2),
    "64x128": (0.88, 1),
    "128x64": (0.88, 1),
    "64x64": (0.8, 1),
    "64x64k32": (0.7, 1),
    "32x64": (0.55, 1),
    "32x32": (0.45, 1),
    "16x128": (0.45, 1),
}
FULL = 3  # workgroups of other tiles that hide each other's reads on a core
CUT = 1.04  # how much longer a kernel takes that makes both whole tiles and pieces
UNIT = 5.7  # picoseconds a multiply-add of a core


def estimate(product: Product, name: str) -> float:
    """Time in a core's multiply-adds: the rounds of workgroups that its cores take, and the second pass."""
    # The unit is a multiply-add of one core (UNIT picoseconds), so a product is its multiply-adds by the
    # cores it keeps busy. Two bounds, of which the larger counts: multiply-adds in rounds of workgroups, and
    # bytes read.
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


def estimate_lanes(product: Product) -> float:
    few, many = sorted((product.m, product.n))
    return product.k * max(many * product.batch * (10 + 2 * few) / CORES, 77_000)
