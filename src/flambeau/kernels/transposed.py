"""Maps of transposed inputs: tiles of them pass through workgroup memory."""

from math import prod
from typing import NamedTuple

from ..core.choose import choose
from ..core.shape import View
from .emit import Bindings, Naming, Quantities, Raw, Run, below, emit_from, label, name_index, spread_grid
from .ir import Kernel, Shader
from .lower import PlanContext, Trace, collapse_domain

THREADS = 256
TILE = 1024  # elements: 4 KB of workgroup memory, and four reads under way for each thread
WIDEST = 32  # elements that neighbouring threads read: 128 bytes
TILES = 3  # at most in 16 KB of workgroup memory
# The number of elements above which tiles are faster: fewer stay in the caches, where each line is soon read
# again.
FROM = 1 << 16
NARROWEST = 16  # neighbours of the output below which caches serve the reads


class Crossing(NamedTuple):
    """The runs of a domain, and the two between which tiles are transposed: the inputs' neighbours are along
    run `across`, the output's along run `along`, the last; and the steps that pass through tiles."""

    runs: list[Run]
    sizes: list[int]
    across: int
    along: int
    held: tuple[int, ...]


def crossing_of(trace: Trace, root: int) -> Crossing | None:
    """How the inputs of a map are transposed, or None if their elements are in the order of its output's."""
    runs, sizes = collapse_domain(trace.domain, trace.affines, (0,) * len(trace.domain))
    if len(runs) < 2:
        return None
    along = len(runs) - 1
    crossed = dict[int, int]()  # step of a load -> the run along which its neighbours lie
    for i, s in enumerate(trace.steps):
        if s.kind == "load" and s.view is not None:
            steps = [abs(s.view.index.strides[run[-1]]) for run in runs]
            across = min((r for r in range(along) if steps[r]), key=lambda r: steps[r], default=along)
            if across < along and steps[across] <= 2 and steps[along] > 2 * steps[across]:
                crossed[i] = across
    if not crossed:
        return None
    longest = {r: sizes[r] for r in crossed.values()}
    across = max(longest, key=lambda r: longest[r])
    loads = {i for i, r in crossed.items() if r == across}
    held = _held(trace.steps, root, loads, runs[-1][-1])
    return Crossing(runs, sizes, across, along, held)


def _held(steps: list[Raw], root: int, loads: set[int], inner: int) -> tuple[int, ...]:
    """The steps whose values pass through tiles: the largest parts of an expression that read nothing along
    the output's neighbours, or the loads themselves if these are fewer."""

    def is_crossed(i: int) -> bool:
        s = steps[i]
        return i in loads or s.kind in ("scalar", "iota", "op", "settle", "guard") or (
            s.kind == "load" and s.view is not None and not s.view.index.strides[inner]
        )  # fmt: skip

    parts, todo, seen = list[int](), [root], set[int]()
    while todo:
        i = todo.pop()
        if i in seen:
            continue
        seen.add(i)
        below_step = below(steps, i)
        if not loads.intersection(below_step):
            continue
        if i in loads or all(map(is_crossed, below_step)):
            parts.append(i)
        else:
            todo += steps[i].args
    return tuple(sorted(min(parts, sorted(loads)[:TILES], key=len)))


def tile_of(across: int, along: int) -> tuple[int, int] | None:
    """A tile's elements along both runs, powers of two; None if the runs are too short for one."""
    powers = [1 << (n - 1).bit_length() for n in (across, along)]
    wide = min(powers[0], WIDEST)
    high = min(powers[1], TILE // wide)
    wide = TILE // high
    return (wide, high) if wide <= powers[0] and high >= 4 else None


def transposed_kernel(plan: PlanContext, trace: Trace, value: int, root: int) -> Kernel | None:
    """The kernel of a map by tiles; None where its threads should read each element for themselves."""
    limits, dtype = plan.limits, trace.steps[root].dtype
    if limits.software:
        return None
    crossing = crossing_of(trace, root)
    if crossing is None:
        return None
    _, sizes, across, along, _ = crossing
    tile = tile_of(sizes[across], sizes[along])
    if tile is None or (dtype.is_packed and sizes[along] % 4):  # packed elements are written in whole words
        return None
    n = prod(sizes)
    rule = "tiles" if n >= FROM and sizes[along] >= NARROWEST else "direct"
    if choose(limits, "transposed", (n.bit_length(), tile), ["direct", "tiles"], rule) == "direct":
        return None
    return _by_tiles(plan, trace, value, root, crossing)


def _by_tiles(plan: PlanContext, trace: Trace, value: int, root: int, crossing: Crossing) -> Kernel:
    q, b = Quantities(), Bindings()
    runs, sizes, across, along, held = crossing
    tile = tile_of(sizes[across], sizes[along])
    assert tile is not None
    coords = [{across: "across", along: "along"}.get(r, f"c{r}") for r in range(len(runs))]
    others = [r for r in range(len(runs)) if r not in (across, along)]
    counts = [-(-sizes[r] // n) for r, n in ((across, tile[0]), (along, tile[1]))]
    groups = prod(counts) * prod([sizes[r] for r in others])
    grid = spread_grid(groups, plan.limits.groups)
    options = {
        "groups": q.add("groups", groups),
        "line": q.add("line", grid[0]),
        "sizes": (q.add("across", sizes[across]), q.add("along", sizes[along])),
        "counts": tuple(q.add_all([("tiles", n) for n in counts])),
        "dims": tuple(q.add_all([("dim", sizes[r]) for r in others[1:]])),
        "others": tuple([coords[r] for r in others]),
        "place": name_index(View.of(trace.domain).index, runs, coords, q),
        "tile": tile,
    }
    naming = Naming(tuple(coords), lambda a: name_index(a, runs, coords, q), None, b, q)
    functions = [(f"read_t{s}", emit_from(trace.steps, naming, s, ())) for s in held]
    functions.append(("value", emit_from(trace.steps, naming, root, held)))
    shader = Shader(
        "map/transposed.wgsl",
        tuple(q.names),
        tuple(b.kinds),
        ((trace.steps[root].dtype.short, 4 if trace.steps[root].dtype.is_packed else 1),),
        (THREADS, 1, 1),
        tuple(functions),
        tuple(sorted(options.items())),
    )
    return Kernel(label("", trace.steps), shader, tuple(b.values), (value,), tuple(q.values), grid)
