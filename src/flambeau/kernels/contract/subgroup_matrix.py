"""Builds contractions on matrix units: products of float16 fragments of a subgroup, added up in float32."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, NamedTuple

from ...core.dtype import float16, float32
from ...core.limits import Limits, Unit
from ..emit import Bindings, Quantities, fitting, spread_grid
from ..ir import Kernel, Shader, WgslFunction
from ..lower import PlanContext
from .cost_model import PARTIAL, byte_time, second_pass
from .dispatch import ContractionBuilder, Functions, GemmTile, SumPieces, TileLoad, in_pieces, plan_load
from .product import (
    BATCH,
    COLUMNS,
    ROWS,
    SUMMED,
    DimGroup,
    Operand,
    OperandIndexing,
    OperandSpec,
    Product,
)
from .variant import Variant

PAD = 8  # padding after each line of a tile in workgroup memory: lines start in different banks
SUBGROUPS = 2, 2  # of a workgroup: down, across
BAND = 8  # tile rows that workgroups next to each other walk together
TURNS = 2  # tiles of an iteration without prefetch, if their number is a multiple
LONGEST = 4096  # summed places that "high" adds up in a unit, which truncates: more are added in pieces
RANGE_THREADS, RANGE_GROUPS = 256, 1024  # of the search for an operand's range
CUTS = 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64  # pieces of the summed dims, where few tiles leave cores idle
TILES = {"matrix": GemmTile(128, 128, 32, 8, 16), "matrix64": GemmTile(64, 64, 64, 4, 8)}
# a tile's speed at a precision, relative to a core's multiply-adds without units: with sides converted to
# float16 while staging, and by a separate pass (an H100 through Dawn: docs/internals/performance.md)
SPEED = {
    ("matrix", "exact"): (5.8, 5.8),
    ("matrix", "high"): (2.7, 3.1),
    ("matrix", "medium"): (5.0, 6.5),
    ("matrix64", "exact"): (2.5, 2.5),  # products 3.0, windows 2.4
    ("matrix64", "high"): (1.7, 2.0),
    ("matrix64", "medium"): (2.9, 4.0),
}
BESIDE = 2  # workgroups that share a core
ALONE = {"matrix": 0.65, "matrix64": 0.8}  # the time of one on a core, of the time that two take together
BEGIN = 128  # the start of a piece takes as long as this many summed elements
PASS = 8e6  # picoseconds that a separate pass takes in addition to its bytes
PLAIN = Unit("plain", 32, 32, 16, 32)


def unit_of(limits: Limits) -> Unit | None:
    """The first matrix units with fragments that fill the tiles."""
    fit = (
        u
        for u in limits.matrix
        if not (32 % u.m or 32 % u.n or 16 % u.k) and 4 * u.lanes <= limits.invocations
    )
    return next(fit, None)


def step_of(tile: GemmTile, precision: str) -> int:
    """Summed elements that a tile stages at once: the low halves take as much memory as the high ones."""
    return tile.step // 2 if precision == "high" else tile.step


def precision_of(product: Product) -> str | None:
    """How a product may use float16 fragments: "exact", its operands are float16; "high" or "medium", they
    are float32 and the user allowed it; None, it may not."""
    if product.a.is_coded or product.b.is_coded:
        return None
    dtypes = {product.a.dtype.short, product.b.dtype.short}
    if dtypes == {"f16"}:
        return "exact"
    requested = product.head.attrs.get("precision", "highest")
    return requested if dtypes == {"f32"} and requested != "highest" else None


def memory(tile: GemmTile, precision: str) -> int:
    """Bytes of workgroup memory, however the sides lie."""
    step = step_of(tile, precision)
    sides = sum(max(own * (step + PAD), step * (own + PAD)) for own in tile[:2])
    return 2 * sides * (2 if precision == "high" else 1)


def candidates(product: Product) -> list[Variant]:
    """The variants on matrix units that fit, by their estimated time."""
    precision, unit = precision_of(product), unit_of(product.limits)
    if unit is None or precision is None or not min(product.m, product.n, product.k, product.batch):
        return []
    if precision != "exact" and not (product.a.is_stored and product.b.is_stored):
        return []
    room = product.limits.workgroup_memory
    fits = [Variant(name) for name, tile in TILES.items() if memory(tile, precision) <= room]
    if precision != "exact":
        fits += [v._replace(f16=True) for v in fits]
    return sorted([*fits, *_with_pieces(product, precision, fits)], key=lambda v: estimate(product, v))


def _with_pieces(product: Product, precision: str, fits: list[Variant]) -> Iterator[Variant]:
    """The same variants with more pieces of the summed dims, each of four turns or more."""
    results = prod(product.head.shape)
    for variant in fits:
        least = pieces_of(product, precision, variant)
        short = 4 * TURNS * step_of(TILES[variant.kernel], precision)
        yield from (
            variant._replace(split=n)
            for n in CUTS
            if n > least and n * short <= product.k and n * results <= PARTIAL
        )


def pieces_of(product: Product, precision: str, variant: Variant) -> int:
    """Pieces of the summed dims: those of the variant, and at "high" as many as are exact enough."""
    return max(int(variant.split), -(-product.k // LONGEST) if precision == "high" else 1)


def bucket_of(product: Product) -> tuple[Any, ...]:
    """The key by which tuning distinguishes products."""
    precision = precision_of(product)
    return product.bucket if precision is None else (*product.bucket, precision)


def by_rule(product: Product, variants: list[Variant]) -> Variant | None:
    """The first of the variants, where matrix units are worth it."""
    least = 16 if precision_of(product) == "exact" else 128  # float32 is read twice, and scaled
    return variants[0] if variants and min(product.m, product.n, product.k) >= least else None


def estimate(product: Product, variant: Variant) -> float:
    """Time in multiply-adds of a core without units, as `cost_model.estimate`: the rounds of workgroups, the
    second pass of pieces, and the passes that make the sides float16."""
    precision = precision_of(product)
    assert precision is not None
    tile, pieces = TILES[variant.kernel], pieces_of(product, precision, variant)
    groups = product.batch * -(-product.m // tile.rows) * -(-product.n // tile.columns) * pieces
    # A last round of at most one workgroup per core takes ALONE times a full round's time.
    machine = product.limits.machine
    rounds, left = divmod(groups, BESIDE * machine.cores)
    last = (ALONE[variant.kernel] if left <= machine.cores else 1.0) if left else 0.0
    summed = product.k / pieces + BEGIN
    speed = SPEED[variant.kernel, precision][variant.f16]
    time = BESIDE * (rounds + last) * tile.rows * tile.columns * summed / speed
    if pieces > 1:
        time += second_pass(product, pieces) + PASS / machine.multiply_add
    return time + (_conversion(product, precision) if variant.f16 else 0.0)


def _conversion(product: Product, precision: str) -> float:
    """Reading both sides as float32 and writing one or two float16 of each."""
    elements = product.batch * product.k * (product.m + product.n)
    moved = (8 if precision == "high" else 6) * elements
    return moved * byte_time(product) + PASS / product.limits.machine.multiply_add


@dataclass(frozen=True)
class F16Product:
    """A product of float16 fragments.

    shifts: the values that hold the powers of two that scale float32 sides;
    converted: the sides as float16, if a pass before makes them so.
    """

    product: Product
    tile: GemmTile
    precision: str
    shifts: tuple[int, ...] = ()
    converted: "tuple[F16Side, ...]" = ()


def product_kernels(product: Product, variant: Variant) -> list[Kernel]:
    """The product of a variant, after the search for the ranges of float32 operands."""
    precision = precision_of(product)
    assert precision is not None
    tile = TILES[variant.kernel]
    of = F16Product(product, tile._replace(step=step_of(tile, precision)), precision)
    before: list[Kernel] = []
    if precision != "exact":
        ranges = [range_kernels(product.plan, side) for side in (product.a, product.b)]
        # pass by pass, since the passes of both sides can run at the same time
        before += [k for passes in zip(*(kernels for kernels, _ in ranges), strict=True) for k in passes]
        of = replace(of, shifts=tuple(value for _, value in ranges))
    if variant.f16:
        conversions = [convert(of, side, own, extent) for side, own, extent in _operands(of)]
        before += [kernel for kernel, _ in conversions]
        of = replace(of, converted=tuple(side for _, side in conversions))
    turn = tile_turn(of)
    count = pieces_of(product, precision, variant)
    # Whole iterations, so that only the last piece checks its bounds.
    piece = -(-product.k // (count * turn)) * turn if count > 1 else product.k
    make = partial(_unit_kernel, of)
    return [*before, *in_pieces(product, piece, lambda pieces: fitting(partial(make, pieces)))]


def _operands(of: F16Product) -> tuple[tuple[Operand, int, int], ...]:
    """Each side, its own group of dims, and a tile's extent along it."""
    return (of.product.a, ROWS, of.tile.rows), (of.product.b, COLUMNS, of.tile.columns)


def tile_turn(of: F16Product) -> int:
    """The most summed elements in one iteration of the loop."""
    return TURNS * of.tile.step


def _unit_kernel(of: F16Product, pieces: SumPieces, narrow: bool) -> Kernel:
    """One dispatch of tiles."""
    product, tile = of.product, of.tile
    builder, unit = ContractionBuilder(product, pieces, narrow), unit_of(product.limits)
    assert unit is not None
    if of.precision == "high" and unit.kind == "subgroup":  # no room for sums of their own: a second
        unit = unit._replace(kind="view")  # workgroup on a core is worth more than plain arrays are
    staged = _read_converted(builder, of) if of.converted else _stage(builder, of)
    scales = tuple(builder.b.add(value, float32, 1) for value in of.shifts)
    builder.check()
    options, depth = builder.options(staged.sides, staged.loads, tile.step)
    tiles = (-(-product.n // tile.columns), -(-product.m // tile.rows))
    turn = tile_turn(of)
    options |= {
        "unit": unit,
        "split": of.precision == "high",
        "scales": scales,
        "step": tile.step,
        "turns": 1 if staged.options["prefetch"] or product.k % turn or pieces.piece % turn else TURNS,
        "down": tile.rows // SUBGROUPS[0],
        "across": tile.columns // SUBGROUPS[1],
        "abreast": SUBGROUPS[1],
        "band": BAND,
        "tiles": tuple(builder.q.add("tiles", n) for n in tiles),
    } | staged.options
    threads = unit.lanes * SUBGROUPS[0] * SUBGROUPS[1]
    template = "contract/subgroup_matrix.wgsl"
    return builder.kernel(template, threads, prod(tiles) * depth, staged.functions, options)


class Staging(NamedTuple):
    """How both sides reach workgroup memory: their indexing (or converted sides), the loads of a
    tile, the functions, and the options of their own."""

    sides: "Sequence[OperandIndexing | F16Side]"
    loads: list[TileLoad]
    functions: Functions
    options: dict[str, Any]


def _stage(builder: ContractionBuilder, of: F16Product) -> Staging:
    """The staging of sides that are converted to float16 on their way to workgroup memory."""
    product, tile, operands = of.product, of.tile, _operands(of)
    named = zip("ab", operands, strict=True)
    sides = [OperandIndexing(name, o, own, product.domain, builder.narrow) for name, (o, own, _) in named]
    functions = builder.functions(sides)
    loads = [_plan_load(s, extent, tile, builder.q) for s, (*_, extent) in zip(sides, operands, strict=True)]
    read = zip(sides, functions, loads, strict=False)  # an epilogue may follow
    direct = tuple(_buffer(s, f, load) for s, (_, f), load in read)
    is_even = product.k % tile.step == 0
    # One run of summed dims and whole tiles: the next tile's position is the last one's plus a constant.
    walked = tuple(
        is_even and load.flat and len(s.runs[SUMMED]) == 1 for s, load in zip(sides, loads, strict=True)
    )
    # where a thread need not find out where to read on, the next tile is fetched while one is multiplied
    prefetch = all(direct) and all(walked)
    options = {"converted": (), "direct": direct, "walked": walked, "prefetch": prefetch}
    return Staging(sides, loads, functions, options)


class F16Side(NamedTuple):
    """A side stored as float16, tile by tile. along: the order of elements in a tile, see OperandSpec; line,
    batch: cells of four from one line of tiles, or one product, to the next."""

    name: str
    along: str
    extent: int
    value: int
    line: int
    batch: int

    def spec(self, q: Quantities) -> OperandSpec:
        none = DimGroup((), (), "")
        return OperandSpec(self.name, "f16", self.along, True, (), none, none, none)


def _read_converted(builder: ContractionBuilder, of: F16Product) -> Staging:
    """The staging of sides that a pass before has converted to float16."""
    b, q, tile = builder.b, builder.q, of.tile
    loads = [
        TileLoad(0, (), s.extent, (s.extent if s.along == "free" else tile.step) + PAD, flat=True)
        for s in of.converted
    ]
    read = tuple(
        (b.add(s.value, float16, 4), q.add("batch", s.batch), q.add("line", s.line)) for s in of.converted
    )
    options = {
        "converted": read,
        "direct": ("", ""),
        "walked": (False, False),
        "ragged": False,
        "prefetch": True,
        "summed": q.add("summed", -(-builder.product.k // tile.step) * tile.step),
    }
    return Staging(of.converted, loads, builder.functions(()), options)


def convert(of: F16Product, operand: Operand, own: int, extent: int) -> tuple[Kernel, F16Side]:
    """The kernel that converts a side to float16, scaled by 2^shift, and the side's new layout."""
    product, tile, domain = of.product, of.tile, of.product.domain
    plan, q, b = product.plan, Quantities(), Bindings()
    indexing = OperandIndexing("x", operand, own, domain, False)
    function = indexing.function(b, q)
    along = "k" if own == ROWS else "free"
    # "high" stores two float16 of each element: the truncated value and the lost remainder.
    fours, planes = extent * tile.step // 4, 2 if of.precision == "high" else 1
    lines, steps = -(-domain.total(own) // extent), -(-product.k // tile.step)
    # One copy serves all products of the batch.
    shared = not any(d in operand.walked for d, g in enumerate(domain.groups) if g == BATCH)
    line = steps * fours * planes
    # [batch, lines, steps, planes, fours], 8 bytes a four.
    out = plan.temporary(lines * line * (1 if shared else product.batch), 8)
    side = F16Side("ab"[own == COLUMNS], along, extent, out, line, 0 if shared else lines * line)
    tiles = lines * steps * (1 if shared else product.batch)
    grid = spread_grid(-(-tiles * fours // (4 * RANGE_THREADS)), product.limits.groups)
    options = {
        "s": indexing.spec(q),
        "along": along,
        "extent": extent,
        "step": tile.step,
        "split": planes == 2,
        "ragged": steps * tile.step != product.k,
        "scale": b.add(of.shifts[own == COLUMNS], float32, 1),
        "size": q.add("size", tiles),
        "steps": q.add("steps", steps),
        "lines": q.add("lines", lines),
        "groups": q.add("groups", grid[0]),
    }
    shader = Shader(
        "contract/to_f16.wgsl",
        tuple(q.names),
        tuple(b.kinds),
        (("f16", 4),),
        (RANGE_THREADS, 1, 1),
        (("x", function),),
        tuple(options.items()),
    )
    return Kernel("to_f16", shader, tuple(b.values), (out,), tuple(q.values), grid), side


def _buffer(s: OperandIndexing, function: WgslFunction, load: TileLoad) -> str:
    """The buffer of a side that is read in place four elements at a time: its words need no unpacking."""
    in_order = s.wide and len(s.operand.affines) == 1 and (s.along == "k" or load.flat)
    if not in_order or not s.operand.is_stored:
        return ""
    inner = s.inner()
    neighbours = inner is not None and s.operand.affines[0].strides[inner] == 1
    return function.steps[0].name if neighbours else ""


def _plan_load(s: OperandIndexing, extent: int, tile: GemmTile, q: Quantities) -> TileLoad:
    """How a side is staged: unchanged, with PAD elements after each line."""
    pitch = (extent if s.along == "free" else tile.step) + PAD
    return plan_load(s, extent, tile, 0, q)._replace(pitch=pitch)


def range_kernels(plan: PlanContext, side: Operand) -> tuple[list[Kernel], int]:
    """Kernels that find the power of two that scales an operand, and the value that holds it. The largest
    magnitude is then between 2^14 and 2^15, so products of float16 values lose no precision."""
    base, _ = plan.base_of(side.node)
    elements = prod(base.shape)
    groups = max(min(RANGE_GROUPS, elements // (RANGE_THREADS * 16)), 1)  # 16 elements a thread or more
    parts, exponent = plan.temporary(groups), plan.temporary(1)
    first = _range(plan, plan.value_of(base), elements, groups, parts, last=False)
    return [first, _range(plan, parts, groups, 1, exponent, last=True)], exponent


def _range(plan: PlanContext, value: int, elements: int, groups: int, out: int, last: bool) -> Kernel:
    q, b = Quantities(), Bindings()
    b.add(value, float32, 1 if last else 4)
    names = {"size": q.add("size", elements), "span": q.add("span", groups * RANGE_THREADS)}
    shader = Shader(
        "contract/amax_exponent.wgsl",
        tuple(q.names),
        tuple(b.kinds),
        (("f32", 1),),
        (RANGE_THREADS, 1, 1),
        (),
        (*names.items(), ("last", last)),
    )
    label = "range.of" if last else "range"
    return Kernel(label, shader, tuple(b.values), (out,), tuple(q.values), (groups, 1, 1))
