"""Contractions over windows of 3 x 3 (convolutions) into products at 16 frequencies: Winograd's F(2 x 2, 3 x 3)."""

from math import prod
from typing import NamedTuple

from .choice import choose
from .dtype import float32
from .heads import GPU_WORKGROUP, Kernel, Shader, spread_grid
from .lower import Bindings, Quantities
from .matrix import precision_of
from .shape import Affine
from .sides import BATCH, COLUMNS, ROWS, SUMMED, Operand, Spelling
from .tiling import Launch, Product
from .variants import CORES


class Tile(NamedTuple):
    """A workgroup's filters and tiles (of 2 x 2 results), the channels that it takes at a time, and a thread's
    filters and tiles: all of one frequency."""

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
    def sharers(self) -> int:
        """How many threads transform one patch: 1 reads its four rows, each of 2 three of them."""
        return self.threads // (self.tiles * self.step)

    @property
    def rows(self) -> int:
        return 4 if self.sharers == 1 else 3

    @property
    def pieces(self) -> int:
        """vec4s of filters that a thread stages."""
        return 4 * self.step * self.filters // self.threads

    @property
    def memory(self) -> int:
        """Bytes of workgroup memory."""
        return 4 * 16 * self.step * (self.filters + self.tiles)

    @property
    def at_once(self) -> int:
        """Filters of each thread whose products pass through memory at once."""
        fits = (n for n in (4, 2, 1) if 4 * 16 * self.down * n * self.tiles <= self.memory)
        return next(n for n in fits if self.wide * n % 16 == 0)

    @property
    def turned(self) -> int:
        """By how many vec4s a line of them is turned from thread to thread, so that they lie in unlike banks."""
        return self.beside if self.down * self.beside <= self.tiles // 4 else 1


TILES = {
    "64x32": Tile(64, 32, 8, 8, 16),
    "64x32k4": Tile(64, 32, 4, 8, 16),
    "32x32": Tile(32, 32, 4, 8, 16),
    "32x32k8": Tile(32, 32, 8, 8, 8),
    "32x32k4": Tile(32, 32, 4, 8, 8),
}


class Rule(NamedTuple):
    """Which shape takes the place of direct sums, from how many channels, filters and workgroups on; no shape,
    where none was measured to be faster."""

    tile: str
    channels: int
    filters: int
    groups: int


RULE = Rule("", 32, 32, CORES)


class Dims(NamedTuple):
    """A convolution's dims: which is which of the contraction's; image is None where there is one."""

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


def dims_of(product: Product) -> Dims | None:
    """The dims of a convolution in float32 with windows of 3 x 3 and stride 1; None where it is none."""
    shape, groups = product.domain.shape, product.domain.groups
    long = {g: [d for d in range(len(shape)) if groups[d] == g and shape[d] > 1] for g in range(4)}
    sizes = tuple(len(long[g]) for g in (BATCH, ROWS, SUMMED))
    if sizes != (0, 1, 3) or len(long[COLUMNS]) not in (2, 3) or not min(shape):
        return None
    *image, y, x = long[COLUMNS]
    found = Dims(long[ROWS][0], image[0] if image else None, y, x, *long[SUMMED])
    pairs = ((y, found.tap_y), (x, found.tap_x))
    slides = all(a.strides[d] == a.strides[tap] for a in product.b.affines for d, tap in pairs)
    taps = shape[found.tap_y], shape[found.tap_x]
    single = product.a.dtype is product.b.dtype is product.head.dtype is float32
    return found if slides and taps == (3, 3) and single else None


def candidates(product: Product) -> list[str]:
    """The shapes that fit, where the product is such a convolution."""
    limits = product.limits
    if dims_of(product) is None:
        return []
    return [
        n for n, w in TILES.items() if w.memory <= limits.workgroup_memory and w.threads <= limits.invocations
    ]


def chosen(product: Product) -> Tile | None:
    """The shape that makes a product; None for the direct sum."""
    names = candidates(product)
    if not names:
        return None
    name = choose(product.limits, "winograd", product.bucket, ["direct", *names], by_rule(product, names))
    return TILES.get(name)


def by_rule(product: Product, names: list[str]) -> str:
    found = dims_of(product)
    if RULE.tile not in names or found is None or precision_of(product) is not None:
        return "direct"
    shape = product.domain.shape
    large = shape[found.channel] >= RULE.channels and shape[found.filter] >= RULE.filters
    blocks, spots = grid_of(product, found, TILES[RULE.tile])
    return RULE.tile if large and blocks * spots >= RULE.groups else "direct"


def grid_of(product: Product, dims: Dims, w: Tile) -> tuple[int, int]:
    """Workgroups: blocks of filters, and of tiles."""
    count = tiles_of(product, dims)
    return -(-product.m // w.filters), -(-prod(count) // w.tiles)


def tiles_of(product: Product, dims: Dims) -> tuple[int, int, int]:
    """Tiles of all images: images, tiles down, tiles across."""
    shape = product.domain.shape
    return product.n // (shape[dims.y] * shape[dims.x]), -(-shape[dims.y] // 2), -(-shape[dims.x] // 2)


def product_kernels(product: Product, w: Tile) -> list[Kernel]:
    """The filters' transform, and the convolution."""
    dims = dims_of(product)
    assert dims is not None, "it was found when the shape was chosen"
    filters, first = filters_kernel(product, dims, w)
    return [first, image_kernel(product, dims, w, filters)]


def walk(a: Affine, dims: tuple[int | None, ...], q: Quantities) -> Walk:
    """A position by the dims that take the places of image, y, x and channel."""

    def stride(d: int | None) -> str:
        s = 0 if d is None else a.strides[d]
        return "" if not s else "1" if s == 1 else q.add("s", s)

    return Walk(q.add("o", a.offset) if a.offset else "", *map(stride, dims))


def filters_kernel(product: Product, dims: Dims, w: Tile) -> tuple[int, Kernel]:
    """The transformed filters' value, and the kernel that makes them: a thread a filter and a channel."""
    q, b, side = Quantities(), Bindings(), Spelling("a", product.a, ROWS, product.domain, True, "free")
    blocks, turns = -(-product.m // w.filters), -(-product.domain.shape[dims.channel] // w.step)
    size = blocks * w.filters * turns * w.step
    out = product.planner.temporary(16 * size)
    functions = (("a", side.function(b, q)),)
    grid = spread_grid(-(-size // GPU_WORKGROUP), product.limits.groups)
    order = (dims.filter, dims.tap_y, dims.tap_x, dims.channel)
    options = {
        "w": w, "places": tuple(walk(a, order, q) for a in product.a.affines), "size": q.add("n", size),
        "span": q.add("n", blocks * w.filters), "turns": q.add("n", turns), "filters": q.add("n", product.m),
        "channels": q.add("n", product.domain.shape[dims.channel]), "groups": q.add("g", grid[0]),
    }  # fmt: skip
    shader = Shader(
        "winograd_filters.wgsl", tuple(q.names), tuple(b.kinds), (("f32", 1),), (GPU_WORKGROUP, 1, 1),
        functions, tuple(options.items()),
    )  # fmt: skip
    return out, Kernel("filters", shader, tuple(b.values), (out,), tuple(q.values), grid)


def image_kernel(product: Product, dims: Dims, w: Tile, filters: int) -> Kernel:
    """The convolution with transformed filters, and what is made of it."""
    made = Launch(product, product.k, None, True)
    b: Operand = product.b
    q, result, shape = made.q, made.result, product.domain.shape
    functions = made.functions([Spelling("b", b, COLUMNS, product.domain, True, "free")])
    size, channels = (shape[dims.y], shape[dims.x]), shape[dims.channel]
    blocks, spots = grid_of(product, dims, w)
    _, down, across = tiles_of(product, dims)
    options = {
        "w": w, "places": tuple(walk(a, (dims.image, dims.y, dims.x, dims.channel), q) for a in b.affines),
        "filters": made.b.add(filters, float32, 4), "channels": q.add("n", channels),
        "turns": q.add("n", -(-channels // w.step)), "blocks": q.add("n", blocks),
        "all": q.add("g", blocks * spots), "count": q.add("n", prod(tiles_of(product, dims))),
        "down": q.add("n", down), "across": q.add("n", across), "size": tuple(q.add("n", n) for n in size),
        # where a last tile has one row or column, those of its patch that do not exist are held inside
        "odd": tuple(q.add("n", n + 1) if n % 2 else "" for n in size),
        "batch": result.group(BATCH, q), "rows": result.group(ROWS, q), "columns": result.group(COLUMNS, q),
        "out_places": tuple(result.place(g, q) for g in (BATCH, ROWS, COLUMNS)),
    }  # fmt: skip
    return made.kernel("winograd.wgsl", w.threads, blocks * spots, functions, options)
