"""Gradients of convolutions by weights of 3 x 3 taps into products at 16 frequencies: F(3 x 3, 2 x 2)."""

from math import ceil, prod
from typing import NamedTuple

from ...core.choose import choose
from ...core.dtype import float32
from ...core.shape import contiguous_strides
from ..emit import Bindings, Quantities, spread_grid
from ..ir import Kernel, Shader
from ..lower import NeedStore
from ..reduce import Reduction, pieces_kernel
from .product import BATCH, COLUMNS, ROWS, SUMMED, OperandIndexing, Product
from .subgroup_matrix import precision_of
from .winograd import SPEED, TILES, Dims, Walk, WinogradTile, edge, time_of, walk, zeros_of

FEWEST = 24  # filters and channels from which it replaces direct sums
TURNS = 8  # steps that a piece of the sum has at least
FILLED = 0.7  # of the cores that have work


class Sides(NamedTuple):
    """A gradient by the weight: a reads the gradient of the result, b the image."""

    product: Product
    dims: Dims


class Split(NamedTuple):
    """How the work is cut: blocks of filters and of channels, pieces of the sum, tiles of a piece."""

    blocks: tuple[int, int]
    pieces: int
    long: int

    @property
    def groups(self) -> int:
        return prod(self.blocks) * self.pieces


def sides_of(product: Product) -> Sides | None:
    """The dims if this is the gradient of a 3 x 3 weight with stride 1 in float32; else None."""
    return _dims_of(product) or _dims_of(product.transpose())


def _dims_of(product: Product) -> Sides | None:
    shape, groups = product.domain.shape, product.domain.groups
    long = {g: [d for d in range(len(shape)) if groups[d] == g and shape[d] > 1] for g in range(4)}
    sizes = tuple(len(long[g]) for g in (BATCH, ROWS, COLUMNS))
    if sizes != (0, 1, 3) or len(long[SUMMED]) not in (2, 3) or not min(shape):
        return None
    *image, y, x = long[SUMMED]
    channel, tap_y, tap_x = long[COLUMNS]
    dims = Dims(long[ROWS][0], image[0] if image else None, y, x, channel, tap_y, tap_x)
    slides = all(
        a.strides[d] == a.strides[tap] for a in product.b.affines for d, tap in ((y, tap_y), (x, tap_x))
    )
    is_single = product.a.dtype is product.b.dtype is product.head.dtype is float32
    taps = shape[tap_y], shape[tap_x]
    return Sides(product, dims) if slides and taps == (3, 3) and is_single else None


def candidates(product: Product, sides: Sides | None) -> list[str]:
    """The shapes that fit, where the product is such a gradient."""
    if sides is None or (sides.product.b.is_stored and zeros_of(sides.product.b, sides.dims) is None):
        return []
    limits = product.limits
    return [
        n for n, w in TILES.items() if w.memory <= limits.workgroup_memory and w.threads <= limits.invocations
    ]


def choose_tile(product: Product) -> tuple[Sides, str] | None:
    """The sides of a product, and the shape that it is computed in; None for the direct sum."""
    sides = sides_of(product)
    names = candidates(product, sides)
    if sides is None or not names:
        return None
    default = by_rule(sides, names)
    name = choose(product.limits, "winograd_weight", product.bucket, ["direct", *names], default)
    return (sides, name) if name in TILES else None


def by_rule(sides: Sides, names: list[str]) -> str:
    """The shape that takes the least time; direct sums where there is little work or precision is lower."""
    product, dims = sides
    shape = product.domain.shape
    fewest = min(shape[dims.filter], shape[dims.channel]) < FEWEST
    if fewest or precision_of(product) is not None:
        return "direct"
    cores, splits = product.limits.machine.cores, {name: split_of(sides, name) for name in names}
    best = min(names, key=lambda name: time_of(name, splits[name].groups, cores) * splits[name].long)
    return best if splits[best].groups >= FILLED * cores else "direct"


def tiles_of(sides: Sides) -> tuple[int, int, int]:
    """Tiles of 2 x 2 elements of the gradient: images, down, across."""
    shape, dims = sides.product.domain.shape, sides.dims
    images = 1 if dims.image is None else shape[dims.image]
    return images, -(-shape[dims.y] // 2), -(-shape[dims.x] // 2)


def split_of(sides: Sides, name: str) -> Split:
    """Pieces of the sum such that all cores have a workgroup, each with a minimum of iterations."""
    w, (_, per_core) = TILES[name], SPEED[name]
    shape, dims = sides.product.domain.shape, sides.dims
    blocks = -(-shape[dims.filter] // w.filters), -(-shape[dims.channel] // w.tiles)
    count = prod(tiles_of(sides))
    most = max(count // (TURNS * w.step), 1)
    pieces = min(max(sides.product.limits.machine.cores * per_core // prod(blocks), 1), most)
    long = ceil(count / (pieces * w.step)) * w.step
    return Split(blocks, -(-count // long), long)


def product_kernels(sides: Sides, name: str) -> list[Kernel]:
    """The sums of the pieces, and the kernel that adds them."""
    product = sides.product
    if not product.b.is_stored:
        base, _ = product.plan.base_of(product.b.node)
        raise NeedStore(base, "Winograd reads each input element four times, so the input is stored first")
    split = split_of(sides, name)
    part = product.plan.temporary(prod(product.head.shape) * split.pieces)
    pieces = Reduction(product.head, product.tail, part)
    sums = pieces_kernel(product.plan, pieces, product.after, split.pieces)
    return [sum_kernel(sides, TILES[name], split, part), sums]


def sum_kernel(sides: Sides, w: WinogradTile, split: Split, part: int) -> Kernel:
    """The kernel of the sums of pieces, each as large as the result."""
    product, dims = sides
    shape, head = product.domain.shape, product.head
    q, b = Quantities(), Bindings()
    side = OperandIndexing("a", product.a, ROWS, product.domain, True, "free")
    zeros = zeros_of(product.b, dims)
    assert zeros is not None, "it was computed when the shape was chosen"
    source = b.add(product.b.load.value, float32, 1)
    functions = (("a", side.function(b, q)),)
    images, down, across = tiles_of(sides)
    size = shape[dims.y], shape[dims.x]
    rank = len(head.shape)
    strides = {d: s for d, s in enumerate(contiguous_strides(head.shape))} | dict.fromkeys(
        range(rank, len(shape)), 0
    )
    grid = spread_grid(split.groups, product.limits.groups)
    of_image = (dims.image, dims.y, dims.x)
    rest, column = divmod(w.step, across)
    picture, row = divmod(rest, down)
    options = {
        "w": w,
        "source": source,
        "of_image": walk(product.b.affines[0], (*of_image, dims.channel), q),
        "of_gradient": tuple(walk(a, (*of_image, dims.filter), q) for a in product.a.affines),
        "out_place": Walk(
            "", *(_name_stride(strides[d], q) for d in (dims.filter, dims.tap_y, dims.tap_x, dims.channel))
        ),
        "edges": (edge(size[0], zeros[0], q), edge(size[1], zeros[1], q)),
        "size": tuple(q.add("size", n) for n in size),
        "advance": tuple(q.add("advance", n) for n in (picture, row, column)),
        "images": q.add("images", images),
        "down": q.add("down", down),
        "across": q.add("across", across),
        "count": q.add("count", images * down * across),
        "long": q.add("long", split.long),
        "turns": q.add("turns", split.long // w.step),
        "blocks": q.add("blocks", prod(split.blocks)),
        "filter_blocks": q.add("filter_blocks", split.blocks[0]),
        "filters": q.add("filters", shape[dims.filter]),
        "channels": q.add("channels", shape[dims.channel]),
        "results_size": q.add("results", prod(head.shape)),
        "all": q.add("total", split.groups),
        "groups": q.add("groups", grid[0]),
    }
    shader = Shader(
        "contract/winograd_weight.wgsl",
        tuple(q.names),
        tuple(b.kinds),
        (("f32", 1),),
        (w.threads, 1, 1),
        functions,
        tuple(options.items()),
    )
    return Kernel(head.attrs["label"], shader, tuple(b.values), (part,), tuple(q.values), grid)


def _name_stride(stride: int, q: Quantities) -> str:
    return "1" if stride == 1 else q.add("stride", stride)
