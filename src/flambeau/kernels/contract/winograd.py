"""Computes convolutions with 3 x 3 windows as products at 16 frequencies: Winograd's F(2 x 2, 3 x 3)."""

from math import prod
from typing import NamedTuple

from ...core.choose import choose
from ...core.dtype import float32
from ...core.limits import H200
from ...core.shape import Affine
from ..emit import Bindings, BoundTwice, Quantities, spread_grid
from ..ir import GPU_WORKGROUP, Kernel, Shader
from ..lower import NeedStore
from .dispatch import ContractionBuilder, SumPieces
from .product import BATCH, COLUMNS, ROWS, SUMMED, Operand, OperandIndexing, Product
from .subgroup_matrix import precision_of


class WinogradTile(NamedTuple):
    """A workgroup's filters and tiles (of 2 x 2 results), the channels that it takes at a time, and a
    thread's filters and tiles, all of one frequency, such that each thread transforms one patch per step."""

    filters: int
    tiles: int
    step: int
    high: int
    wide: int

    @property
    def threads(self) -> int:
        return 16 * self.lanes

    @property
    def lanes(self) -> int:
        """Threads of a frequency: `down` filters (in fours), by `beside` tiles (in fours)."""
        return self.down * self.beside

    @property
    def down(self) -> int:
        return self.filters // self.high

    @property
    def beside(self) -> int:
        return self.tiles // self.wide

    @property
    def pieces(self) -> int:
        """vec4s of filters that a thread stages."""
        return 4 * self.step * self.filters // self.threads

    @property
    def memory(self) -> int:
        """Bytes of workgroup memory: for the factors, and for the products that are joined afterwards."""
        return max(64 * self.step * (self.filters + self.tiles), self.exchange_bytes(max(16 // self.wide, 1)))

    @property
    def at_once(self) -> int:
        """Filters of each thread whose products pass through memory at once."""
        return next(n for n in (4, 2, 1) if self.exchange_bytes(n) <= self.memory and self.wide * n % 16 == 0)

    def exchange_bytes(self, filters: int) -> int:
        """Bytes of the products of this many filters of each thread."""
        return 4 * 16 * self.down * filters * self.tiles

    @property
    def skew(self) -> int:
        """By how many vec4s each thread's line is rotated relative to the previous one, to use different
        banks."""
        return self.beside if self.down * self.beside <= self.tiles // 4 else 1


TILES = {"64x32": WinogradTile(64, 32, 8, 8, 16), "32x32": WinogradTile(32, 32, 4, 8, 16)}


class Rule(NamedTuple):
    """A shape, and the fewest channels, filters and workgroups with which it replaces direct sums."""

    tile: str
    channels: int
    filters: int
    groups: int


# From where on each was measured to be faster on an H200, with its number of cores
# (docs/internals/performance.md)
RULES = (Rule("64x32", 32, 33, 96), Rule("32x32", 32, 17, 96))
# Of each shape, on an H200: a multiply-add's time beside the larger shape's; workgroups that share a core.
SPEED = {"64x32": (1.0, 1), "32x32": (1.12, 2)}


class Dims(NamedTuple):
    """A convolution's dims as dims of the contraction; image is None for a single image."""

    filter: int
    image: int | None
    y: int
    x: int
    channel: int
    tap_y: int
    tap_x: int


class Walk(NamedTuple):
    """How a position depends on coordinates: an offset and strides, Params names, "1", or "" for none."""

    offset: str
    image: str
    y: str
    x: str
    channel: str


class Edge(NamedTuple):
    """The bounds between which a patch's rows (or columns) are clamped, as names of Params: `high` if some
    would lie outside, `low` if zeros replace those."""

    low: str
    high: str
    sure: tuple[bool, ...]  # which of the four are inside in all patches


def dims_of(product: Product) -> Dims | None:
    """The dims of a convolution in float32 with windows of 3 x 3 and stride 1; None where it is none."""
    shape, groups = product.domain.shape, product.domain.groups
    long = {g: [d for d in range(len(shape)) if groups[d] == g and shape[d] > 1] for g in range(4)}
    sizes = tuple(len(long[g]) for g in (BATCH, ROWS, SUMMED))
    # No groups; filters; channel and two taps; rows and columns of results, and of images if several.
    if sizes != (0, 1, 3) or len(long[COLUMNS]) not in (2, 3) or not min(shape):
        return None
    *image, y, x = long[COLUMNS]
    dims = Dims(long[ROWS][0], image[0] if image else None, y, x, *long[SUMMED])
    # A step to the next result and one to the next tap move a position equally: stride equals dilation.
    pairs = ((y, dims.tap_y), (x, dims.tap_x))
    slides = all(a.strides[d] == a.strides[tap] for a in product.b.affines for d, tap in pairs)
    taps = shape[dims.tap_y], shape[dims.tap_x]
    single = product.a.dtype is product.b.dtype is product.head.dtype is float32
    return dims if slides and taps == (3, 3) and single else None


def candidates(product: Product) -> list[str]:
    """The shapes that fit, where the product is such a convolution."""
    limits, dims = product.limits, dims_of(product)
    if dims is None or (product.b.is_stored and zeros_of(product.b, dims) is None):
        return []
    return [
        n for n, w in TILES.items() if w.memory <= limits.workgroup_memory and w.threads <= limits.invocations
    ]


def choose_tile(product: Product) -> WinogradTile | None:
    """The tile with which a product is computed; None for the direct sum."""
    names = candidates(product)
    if not names:
        return None
    name = choose(product.limits, "winograd", product.bucket, ["direct", *names], by_rule(product, names))
    return TILES.get(name)


def by_rule(product: Product, names: list[str]) -> str:
    """The fastest shape of a rule that applies to the product; else direct sums."""
    dims, shape = dims_of(product), product.domain.shape
    if dims is None or precision_of(product) is not None:
        return "direct"
    cores = product.limits.machine.cores
    groups = {name: prod(grid_of(product, dims, TILES[name])) for name in names}

    def fits(rule: Rule) -> bool:
        large = shape[dims.channel] >= rule.channels and shape[dims.filter] >= rule.filters
        return large and rule.tile in names and groups[rule.tile] * H200.cores >= rule.groups * cores

    fitting = [rule.tile for rule in RULES if fits(rule)]
    return min(fitting, key=lambda name: time_of(name, groups[name], cores), default="direct")


def time_of(name: str, groups: int, cores: int) -> float:
    """The time of a step with this many workgroups: rounds of workgroups, each with all its sums."""
    w, (speed, per_core) = TILES[name], SPEED[name]
    return -(-groups // (cores * per_core)) * per_core * w.filters * w.tiles * speed


def grid_of(product: Product, dims: Dims, w: WinogradTile) -> tuple[int, int]:
    """Workgroups: blocks of filters, and of tiles."""
    count = tiles_of(product, dims)
    return -(-product.m // w.filters), -(-prod(count) // w.tiles)


def tiles_of(product: Product, dims: Dims) -> tuple[int, int, int]:
    """Tiles of all images: images, tiles down, tiles across."""
    shape = product.domain.shape
    return product.n // (shape[dims.y] * shape[dims.x]), -(-shape[dims.y] // 2), -(-shape[dims.x] // 2)


def turns_of(product: Product, dims: Dims, w: WinogradTile) -> int:
    """Steps along the channels."""
    return -(-product.domain.shape[dims.channel] // w.step)


def product_kernels(product: Product, w: WinogradTile) -> list[Kernel]:
    """The kernels that transform the filters and compute the convolution."""
    dims = dims_of(product)
    assert dims is not None, "`candidates` offers tiles for such convolutions only"
    if not product.b.is_stored:
        base, _ = product.plan.base_of(product.b.node)
        raise NeedStore(base, "Winograd reads each input element four times, so the input is stored first")
    filters, first = filters_kernel(product, dims, w)
    return [first, image_kernel(product, dims, w, filters)]


def walk(a: Affine, dims: tuple[int | None, ...], q: Quantities) -> Walk:
    """A position in terms of image, y, x and channel."""

    def stride(d: int | None) -> str:
        s = 0 if d is None else a.strides[d]
        return "" if not s else "1" if s == 1 else q.add("stride", s)

    return Walk(q.add("offset", a.offset) if a.offset else "", *map(stride, dims))


def filters_kernel(product: Product, dims: Dims, w: WinogradTile) -> tuple[int, Kernel]:
    """The transformed filters' value, and the kernel that makes them: a thread a filter and a channel."""
    q, b, side = Quantities(), Bindings(), OperandIndexing("a", product.a, ROWS, product.domain, True, "free")
    blocks, turns = -(-product.m // w.filters), turns_of(product, dims, w)
    size = blocks * w.filters * turns * w.step  # filters and channels, padded to whole tiles and steps
    out = product.plan.temporary(16 * size)  # [blocks, steps, 16 frequencies, channels, filters]
    functions = (("a", side.function(b, q)),)
    grid = spread_grid(-(-size // GPU_WORKGROUP), product.limits.groups)
    order = (dims.filter, dims.tap_y, dims.tap_x, dims.channel)
    options = {
        "w": w,
        "places": tuple(walk(a, order, q) for a in product.a.affines),
        "size": q.add("size", size),
        "span": q.add("span", blocks * w.filters),
        "turns": q.add("turns", turns),
        "filters": q.add("filters", product.m),
        "channels": q.add("channels", product.domain.shape[dims.channel]),
        "groups": q.add("groups", grid[0]),
    }
    shader = Shader(
        "contract/winograd_filters.wgsl",
        tuple(q.names),
        tuple(b.kinds),
        (("f32", 1),),
        (GPU_WORKGROUP, 1, 1),
        functions,
        tuple(options.items()),
    )
    return out, Kernel("filters", shader, tuple(b.values), (out,), tuple(q.values), grid)


def image_kernel(product: Product, dims: Dims, w: WinogradTile, filters: int) -> Kernel:
    """The kernel of the convolution with transformed filters, and of its epilogue."""
    builder, o = ContractionBuilder(product, SumPieces(product.k), True), product.b
    q, result, shape = builder.q, builder.result, product.domain.shape
    zeros = zeros_of(o, dims)
    assert zeros is not None, "`candidates` offers tiles for such padding only"
    image, transformed = builder.b.add(o.trace.steps[0].value, float32, 1), builder.b.add(filters, float32, 4)
    try:
        functions = builder.functions(())
    except BoundTwice:
        why = "its epilogue reads as many buffers as the device allows"
        raise NeedStore(product.head, why) from None
    size, channels = (shape[dims.y], shape[dims.x]), shape[dims.channel]
    blocks, spots = grid_of(product, dims, w)
    count = tiles_of(product, dims)
    options = {
        "w": w,
        "image": image,
        "filters": transformed,
        "place": walk(o.affines[0], (dims.image, dims.y, dims.x, dims.channel), q),
        "edges": (edge(size[0], zeros[0], q), edge(size[1], zeros[1], q)),
        "odd": tuple(n % 2 == 1 for n in size),
        "size": tuple(q.add("size", n) for n in size),
        "channels": q.add("channels", channels),
        "turns": q.add("turns", turns_of(product, dims, w)),
        "blocks": q.add("blocks", blocks),
        "all": q.add("total", blocks * spots),
        "count": q.add("count", prod(count)),
        "down": q.add("down", count[1]),
        "across": q.add("across", count[2]),
        **result.groups(q),
    }
    return builder.kernel("contract/winograd.wgsl", w.threads, blocks * spots, functions, options)


Span = tuple[int, int]


def zeros_of(b: Operand, dims: Dims) -> tuple[Span | None, Span | None] | None:
    """The first and last row of the image, and column, among those that windows reach, where zeros are around
    it; None where zeros depend on more than a row or a column."""
    (step,) = b.trace.steps
    if step.view is None or not any(step.view.index.strides):
        return None
    spans: dict[int, Span] = {}
    pairs = ((dims.y, dims.tap_y), (dims.x, dims.tap_x))
    for (strides, offset), size in step.view.bounds:
        # Only a test of one row (or column) plus its tap is the zeros around an image.
        walked = {d: s for d, s in enumerate(strides) if s}
        d = next((d for d, tap in pairs if walked == {d: 1, tap: 1}), -1)
        if d < 0:
            return None
        low, high = spans.get(d, (0, b.shape[d] + 1))
        spans[d] = max(low, -offset), min(high, size - 1 - offset)
    return spans.get(dims.y), spans.get(dims.x)


def edge(size: int, zeros: Span | None, q: Quantities) -> Edge:
    """The bound for a patch's rows: with an odd number of rows, the last patch's last row does not exist."""
    # The first row of the last patch, which has four rows.
    last = -(-size // 2) * 2 - 2
    low, high = zeros or (0, size + 1)  # patches span size + 2 rows
    sure = tuple(low <= i and last + i <= high for i in range(4))
    return Edge(q.add("low", low) if zeros else "", q.add("high", high) if not all(sure) else "", sure)
