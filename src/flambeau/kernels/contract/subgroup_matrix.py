"""Contractions on matrix units: products of float16 fragments that a subgroup holds, added up in float32."""

from math import prod
from typing import NamedTuple

from ...core.dtype import float16, float32
from ...core.limits import Unit
from ..ir import Bindings, Kernel, Quantities, Shader, Stored
from ..kernel import spread_grid
from .cost_model import CORES
from .operand import BATCH, COLUMNS, ROWS, SUMMED, Group, Operand, Side, Spelling
from .product import Launch, Product, Share, Tile, parts_kernel, share

PAD = 8  # elements behind each line of a tile in workgroup memory, so that lines start in other banks
SUBGROUPS = 2, 2  # of a workgroup: down, across
BAND = 8  # tile rows that workgroups next to each other walk together
TURNS = 2  # tiles that a turn of the loop takes, where none is fetched ahead and their number is a multiple
LONGEST = 4096  # summed places that "high" adds up in a unit, which truncates: more are added in pieces
THREADS, GROUPS = 256, 1024  # of the search for an operand's range
READY = "/halves"  # of a variant's name: float32 sides are made float16 by a pass before
OFTEN = 8  # times that each element of a side is staged, from which on that pass pays
TILES = {"matrix": Tile(128, 128, 32, 8, 16), "matrix64": Tile(64, 64, 64, 4, 8)}


PLAIN = Unit("plain", 32, 32, 16, 32)


def unit_of(limits) -> Unit | None:
    """The first of the units whose fragments fill the tiles."""
    fit = (
        u
        for u in limits.matrix
        if not (32 % u.m or 32 % u.n or 16 % u.k) and 4 * u.lanes <= limits.invocations
    )
    return next(fit, None)


def step_of(tile: Tile, precision: str) -> int:
    """Summed places that a tile takes at once: the low halves take as much memory as the high ones."""
    return tile.step // 2 if precision == "high" else tile.step


def precision_of(product: Product) -> str | None:
    """How this product may be made of float16 ones: "exact", its operands are of float16; "high" or "medium",
    they are of float32, which was allowed; None, it may not."""
    dtypes = {product.a.dtype.short, product.b.dtype.short}
    if dtypes == {"f16"}:
        return "exact"
    wanted = product.head.attrs.get("precision", "highest")
    return wanted if dtypes == {"f32"} and wanted != "highest" else None


def memory(tile: Tile, precision: str) -> int:
    """Bytes of workgroup memory, however the sides lie."""
    step = step_of(tile, precision)
    sides = sum(max(own * (step + PAD), step * (own + PAD)) for own in tile[:2])
    return 2 * sides * (2 if precision == "high" else 1)


def candidates(product: Product) -> list[str]:
    """The variants on matrix units that fit."""
    precision, unit = precision_of(product), unit_of(product.limits)
    if unit is None or precision is None or not min(product.m, product.n, product.k, product.batch):
        return []
    if precision != "exact" and not (_is_loaded(product.a) and _is_loaded(product.b)):
        return []
    fits = [n for n, tile in TILES.items() if memory(tile, precision) <= product.limits.workgroup_memory]
    return fits if precision == "exact" else [*fits, *(n + READY for n in fits)]


def bucket_of(product: Product) -> tuple:
    """What tuning tells products apart by."""
    precision = precision_of(product)
    return product.bucket if precision is None else (*product.bucket, precision)


def by_rule(product: Product, names: list[str]) -> str | None:
    """The variant that is the best of all, where matrix units are worth it."""
    least = 16 if precision_of(product) == "exact" else 128  # float32 is read twice, and scaled
    if not names or min(product.m, product.n, product.k) < least:
        return None
    tiles = product.batch * -(-product.m // 128) * -(-product.n // 128)
    fits = [n for n in names if n in TILES]
    name = fits[0] if tiles >= CORES else fits[-1]
    rows, columns = TILES[name][:2]
    often = product.m > rows * (OFTEN - 1) and product.n > columns * (OFTEN - 1)
    return name + READY if often and name + READY in names else name


def product_kernels(product: Product, name: str) -> list[Kernel]:
    """The product of a variant, after the search for the operands' ranges where they are of float32."""
    precision, tile = precision_of(product), TILES[name.removesuffix(READY)]
    assert precision is not None
    tile = tile._replace(step=step_of(tile, precision))
    before, shifts, ready = [], [], None
    if precision != "exact":
        found = [range_kernels(product.planner, side) for side in (product.a, product.b)]
        # pass by pass, since those of both sides can run at once
        before = [
            kernel for passes in zip(*(kernels for kernels, _ in found), strict=True) for kernel in passes
        ]
        shifts = [value for _, value in found]
    if name.endswith(READY):
        sides = ((product.a, ROWS, tile.rows), (product.b, COLUMNS, tile.columns))
        made = [ready_side(product, s, tile, precision, v) for s, v in zip(sides, shifts, strict=True)]
        before += [kernel for kernel, _ in made]
        ready = [side for _, side in made]
    pieces = -(-product.k // LONGEST) if precision == "high" else 1
    if pieces == 1:
        return [*before, matrix_kernel(product, tile, precision, shifts, ready, product.k, None)]
    turn = tile.step * TURNS
    long = -(-product.k // (pieces * turn)) * turn
    pieces = -(-product.k // long)
    part = product.planner.temporary(prod(product.head.shape) * pieces)
    first = matrix_kernel(product, tile, precision, shifts, ready, long, part)
    return [*before, first, parts_kernel(product, part, pieces)]


def matrix_kernel(product, tile, precision, shifts, ready, long, part, narrow=False) -> Kernel:
    """One dispatch of tiles; shifts: the values that hold by which powers of two the sides are scaled; ready:
    the sides as float16, if a pass made them so."""
    made, unit = Launch(product, long, part, narrow), unit_of(product.limits)
    assert unit is not None
    if precision == "high" and unit.kind == "subgroup":  # no room for sums of their own: a second workgroup
        unit = unit._replace(kind="view")  # on a core is worth more than plain arrays are
    spelled, shares, functions, more = _ready(made, tile, ready) if ready else _staged(made, tile)
    scales = tuple(made.b.add(value, float32, 1) for value in shifts)
    if made.is_over:
        return matrix_kernel(product, tile, precision, shifts, ready, long, part, narrow=True)
    options, depth = made.options(spelled, shares, tile.step)
    tiles = (-(-product.n // tile.columns), -(-product.m // tile.rows))
    turn = TURNS * tile.step
    options |= {
        "unit": unit,
        "split": precision == "high",
        "scales": scales,
        "step": tile.step,
        "turns": 1 if more["ahead"] or product.k % turn or long % turn else TURNS,
        "down": tile.rows // SUBGROUPS[0],
        "across": tile.columns // SUBGROUPS[1],
        "abreast": SUBGROUPS[1],
        "band": BAND,
        "tiles": tuple(made.q.add("tiles", n) for n in tiles),
    } | more
    threads = unit.lanes * SUBGROUPS[0] * SUBGROUPS[1]
    return made.kernel("contract/subgroup_matrix.wgsl", threads, prod(tiles) * depth, functions, options)


def _staged(made: Launch, tile: Tile) -> tuple:
    """Sides that are brought to float16 on their way to workgroup memory, and options of their own."""
    product = made.product
    sides = (("a", product.a, ROWS, tile.rows), ("b", product.b, COLUMNS, tile.columns))
    spelled = [Spelling(name, of, own, product.domain, made.narrow) for name, of, own, _ in sides]
    functions = made.functions(spelled)
    shares = [_lying(s, side[3], tile, made.q) for s, side in zip(spelled, sides, strict=True)]
    read = zip(spelled, functions, shares, strict=False)  # an epilogue may follow
    lying = tuple(_buffer(s, f, g) for s, (_, f), g in read)
    whole = product.k % tile.step == 0
    walked = tuple(
        whole and g.flat and len(s.runs[SUMMED]) == 1 for s, g in zip(spelled, shares, strict=True)
    )
    # where a thread need not find out where to read on, the next tile is fetched while one is multiplied
    ahead = all(lying) and all(walked)
    return spelled, shares, functions, {"ready": (), "lying": lying, "walked": walked, "ahead": ahead}


class Ready(NamedTuple):
    """A side that lies as float16, tile by tile. along: what follows each other in a tile, see Side; line,
    batch: cells of four from one line of tiles, or one product, to the next."""

    name: str
    along: str
    extent: int
    value: int
    line: int
    batch: int

    def side(self, q: Quantities) -> Side:
        none = Group((), (), "")
        return Side(self.name, "f16", self.along, True, (), none, none, none)


def _ready(made: Launch, tile: Tile, ready: list[Ready]) -> tuple:
    """Sides that a pass before has made, and options of their own."""
    b, q = made.b, made.q
    shares = [
        Share(r.extent, (r.extent if r.along == "free" else tile.step) + PAD, 0, 0, 0, 0, True, 0, (), 0)
        for r in ready
    ]
    read = tuple((b.add(r.value, float16, 4), q.add("batch", r.batch), q.add("line", r.line)) for r in ready)
    more = {
        "ready": read,
        "lying": ("", ""),
        "walked": (False, False),
        "ragged": False,
        "ahead": True,
        "summed": q.add("summed", -(-made.product.k // tile.step) * tile.step),
    }
    return ready, shares, made.result.functions(b, q), more


def ready_side(product: Product, side, tile: Tile, precision: str, shift: int) -> tuple[Kernel, Ready]:
    """The kernel that makes a side (operand, dims, extent of a tile) ready, scaled by 2^shift."""
    operand, own, extent = side
    planner, q, b, domain = product.planner, Quantities(), Bindings(), product.domain
    spelled = Spelling("x", operand, own, domain, False)
    function = spelled.function(b, q)
    along = "k" if own == ROWS else "free"
    fours, planes = extent * tile.step // 4, 2 if precision == "high" else 1
    lines, steps = -(-domain.total(own) // extent), -(-product.k // tile.step)
    shared = not any(operand.walks(d) for d, g in enumerate(domain.groups) if g == BATCH)
    line = steps * fours * planes
    out = planner.temporary(lines * line * (1 if shared else product.batch), 8)
    made = Ready("ab"[own == COLUMNS], along, extent, out, line, 0 if shared else lines * line)
    tiles = lines * steps * (1 if shared else product.batch)
    grid = spread_grid(-(-tiles * fours // (4 * THREADS)), product.limits.groups)
    options = {
        "s": spelled.side(q),
        "along": along,
        "extent": extent,
        "step": tile.step,
        "split": planes == 2,
        "ragged": steps * tile.step != product.k,
        "scale": b.add(shift, float32, 1),
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
        (THREADS, 1, 1),
        (("x", function),),
        tuple(options.items()),
    )
    return Kernel("halves", shader, tuple(b.values), (out,), tuple(q.values), grid), made


def _buffer(s: Spelling, function, g: Share) -> str:
    """The buffer of a side that is read four by four as it lies there: its words need no unpacking."""
    in_order = s.wide and len(s.operand.affines) == 1 and (s.along == "k" or g.flat)
    if not in_order or not _is_loaded(s.operand):
        return ""
    inner = s.inner()
    neighbours = inner is not None and s.operand.affines[0].strides[inner] == 1
    return function.steps[0].name if neighbours else ""


def _is_loaded(operand: Operand) -> bool:
    """Whether an operand is read from one buffer as it lies there."""
    return operand.is_stored and operand.trace.steps[0].kind == "load"


def _lying(s: Spelling, extent: int, tile: Tile, q: Quantities) -> Share:
    """How a side is staged: as it lies, its lines PAD elements apart."""
    pitch = (extent if s.along == "free" else tile.step) + PAD
    return share(s, extent, tile, 0, q)._replace(pitch=pitch)


def range_kernels(planner: Stored, side) -> tuple[list[Kernel], int]:
    """Kernels that find by which power of two an operand is scaled, and the value that holds it: its largest
    magnitude then lies between 2^14 and 2^15, and products of what float16 holds lose nothing of it."""
    base, _ = planner.base_of(side.node)
    elements = prod(base.shape)
    groups = max(min(GROUPS, elements // (THREADS * 16)), 1)
    parts, found = planner.temporary(groups), planner.temporary(1)
    first = _range(planner, planner.value_of(base), elements, groups, parts, last=False)
    return [first, _range(planner, parts, groups, 1, found, last=True)], found


def _range(planner: Stored, value: int, elements: int, groups: int, out: int, last: bool) -> Kernel:
    q, b = Quantities(), Bindings()
    b.add(value, float32, 1 if last else 4)
    names = {"size": q.add("size", elements), "span": q.add("span", groups * THREADS)}
    shader = Shader(
        "contract/amax_exponent.wgsl",
        tuple(q.names),
        tuple(b.kinds),
        (("f32", 1),),
        (THREADS, 1, 1),
        (),
        (*names.items(), ("last", last)),
    )
    label = "range.of" if last else "range"
    return Kernel(label, shader, tuple(b.values), (out,), tuple(q.values), (groups, 1, 1))
