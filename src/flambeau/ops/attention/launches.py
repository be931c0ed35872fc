"""Plans the launches of attention kernels: chooses the kernel and the work of a workgroup by sizes and
device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ...core import dtype as dt
from ...core.choose import choose
from ...core.op import Launch, Written
from . import subgroup_matrix
from .subgroup_matrix import Units

if TYPE_CHECKING:
    from ...core.limits import Limits
    from ...core.node import Node

    Nodes: TypeAlias = Sequence[Node]


class Options(NamedTuple):
    """Options of the kernel templates. bias: the dtype of the bias, or "" without one."""

    causal: bool
    placed: bool  # whether the first query's position among the keys is an input
    each: bool  # whether that is one for each row of the batch
    softcap: bool
    bias: str
    bias_in: str


class AttentionTile(NamedTuple):
    """tx * ty threads, each with `rows` x `cols` scores and `rows` x `wide` vec4s of the result.

    `step` features or columns are in workgroup memory at a time. `ahead` is 1 if the next ones are prefetched
    to registers, 2 if the first ones of the next product are too. `deep` is `wide` for a second
    result.
    """

    tx: int
    ty: int
    rows: int
    cols: int
    step: int
    ahead: int
    wide: int = 1
    deep: int = 0

    def widen(self, *vec4s: int) -> AttentionTile:
        """The tile with enough vec4s per thread for rows of `vec4s`, for one result or two."""
        # A row's vec4s are dealt to the tx threads of a row.
        wide, deep = (*(-(-n // self.tx) for n in vec4s), 0)[:2]
        return self._replace(wide=wide, deep=deep)

    @property
    def name(self) -> str:
        # FLAMBEAU_VARIANT and `flambeau tune` select a tile by this name.
        return f"{self.height}x{self.width}.{self.rows}x{self.cols}.{self.step}.{self.ahead}"

    @property
    def threads(self) -> int:
        return self.tx * self.ty

    def blocks(self, count: int) -> range:
        """The iterations in which the threads load `count` blocks, one block per thread and iteration."""
        return range(-(-count // self.threads))

    @property
    def height(self) -> int:
        return self.ty * self.rows

    @property
    def width(self) -> int:
        return self.tx * self.cols

    @property
    def left_pitch(self) -> int:
        return self.height // 4 + 1  # odd, so that neighbouring threads of a row write to different banks

    @property
    def right_pitch(self) -> int:
        # The left operand is a block of queries; the right one of keys (width // 4 vec4s) or values (entire
        # rows).
        return max(self.width // 4, self.tx * max(self.wide, self.deep))

    @property
    def memory(self) -> int:
        return 16 * self.step * (self.left_pitch + self.right_pitch)  # bytes: 16 a vec4

    def accumulators(self, products: int) -> int:
        """The accumulators of a thread, with score tiles for `products` products."""
        return self.rows * (self.cols * products + 4 * (self.wide + self.deep))

    def fits(self, limits: Limits) -> bool:
        """Whether a device can run it, and whether its parts divide evenly."""
        is_even = self.height % 32 == 0 and self.width % 32 == 0 and self.width % self.step == 0
        return (
            is_even
            and self.step % self.tx == 0
            and self.rows % 4 == 0
            and self.cols % 4 == 0
            and self.threads <= limits.invocations
            and self.memory <= limits.workgroup_memory
        )


class Few(NamedTuple):
    """A workgroup of `threads` for up to `rows` rows: `lanes` threads a key and `keys` keys at a time;
    `across` threads have a row of values."""

    rows: int
    keys: int
    lanes: int
    across: int
    threads: int

    @property
    def memory(self) -> int:
        """Bytes of workgroup memory."""
        return 4 * self.rows * (self.keys * (self.lanes + 1) + 8) + 16 * self.threads


MOST_FEW = 16  # rows that attend to the same keys, at most, to split the keys
MEMORY = 16384  # bytes of workgroup memory that each device has
LEAST_KEYS = 128  # keys of a piece
ONE_PIECE = 384  # keys up to which one workgroup takes less time than several and a kernel that combines them
GROUPS = 1024  # workgroups that saturate a large GPU's memory


LEAST_SLOPES, MOST_SLOPES = 1 << 22, 1 << 27  # bytes of gradients of scores that are stored
LONG_KEYS = 1024  # causal keys from which three products are faster than one (docs/internals/performance.md)
SHARED = 1024  # vec4s of workgroup memory that "rows" stages
THREADS = 64  # of a workgroup of "rows"
REGISTERS = 288  # accumulators of a thread, at most
FULL = 264  # workgroups that fill a large GPU
TALL = 128  # rows of a tall tile
# Causal rows of up to 64 features take tiles of 64 rows up to these lengths: taller tiles compute more
# beyond the diagonal than they save (an H100, 2026-11-25: docs/internals/performance.md).
SHORT = {"forward": 512, "queries": 256, "keys": 256}
# Measured on an H200, best first. The first one whose threads have at most two vec4s of a row is used.
QUERIED = (
    AttentionTile(8, 16, 8, 8, 16, 1),
    AttentionTile(8, 8, 8, 8, 16, 1),
    AttentionTile(16, 16, 8, 8, 16, 1),
    AttentionTile(16, 8, 8, 8, 16, 1),
)
FORWARD = (*QUERIED, AttentionTile(32, 8, 8, 8, 32, 0), AttentionTile(8, 16, 4, 8, 8, 1))
QUERIES = (*QUERIED, AttentionTile(8, 16, 4, 4, 8, 0))
SLOPES = (AttentionTile(8, 16, 8, 8, 16, 1), AttentionTile(8, 16, 4, 4, 8, 0))
KEYS = (
    AttentionTile(8, 16, 8, 8, 16, 1),
    AttentionTile(8, 8, 8, 8, 16, 0),
    AttentionTile(16, 16, 8, 8, 16, 1),
    AttentionTile(32, 8, 8, 4, 32, 0),
    AttentionTile(16, 8, 8, 4, 16, 0),
    AttentionTile(16, 16, 4, 4, 16, 0),
    AttentionTile(8, 16, 4, 4, 8, 0),
)


def padded_length(keys: int) -> int:
    """The keys of a stored line of gradients of scores, which is whole vec4s."""
    return -(-keys // 4) * 4


def _sizes(
    nodes: Nodes, biases: Nodes, scale: float, causal: bool, softcap: float | None, heads: int, placed: bool
) -> dict[str, int | float]:
    """The shader parameters of all attention kernels. A bias has strides, 0 along its dims of size 1."""
    q, k = nodes[:2]
    # exp2 is one instruction, so without a soft cap scores are in units of log 2.
    log2e = 1.4426950408889634
    sizes = {
        "queries": q.shape[1],
        "keys": k.shape[1],
        "group": q.shape[0] // max(k.shape[0], 1),
        "heads": heads,
        "scale": scale,
        "cap": float(softcap or 1),
        "uncap": 1 / (softcap or 1),
        "score": scale * log2e if softcap is None else scale / softcap,  # the argument of tanh
    }
    if biases:
        # The stride 0 broadcasts a bias over batch, heads, queries or keys.
        _, h, i, j = biases[0].shape
        steps = (h * i * j, i * j, j, 1)
        named = zip(("batch", "head", "query", "key"), biases[0].shape, steps, strict=True)
        sizes |= {f"bias_{name}": step if n > 1 else 0 for name, n, step in named}
    by_head = biases or _has_places(nodes, placed)
    unread = [*(() if by_head else ("heads",)), *(("cap", "uncap") if softcap is None else ())]
    return _drop_unread(sizes, *unread)


def _drop_unread(sizes: dict[str, int | float], *unread: str) -> dict[str, int | float]:
    """The parameters without those that a kernel does not read."""
    return {name: size for name, size in sizes.items() if name not in unread}


def _has_places(nodes: Nodes, placed: bool) -> bool:
    """Whether the first query's position is one for each row of the batch."""
    return placed and nodes[3].shape[0] > 1


def _options(
    nodes: Nodes, biases: Nodes, causal: bool, softcap: float | None, placed: bool, **_: Any
) -> Options:
    bias = biases[0].dtype.short if biases else ""
    each = _has_places(nodes, placed)
    return Options(causal, placed, each, softcap is not None, bias, f"in{len(nodes) - 1}")


def _is_short(kind: str, nodes: Nodes, causal: bool) -> bool:
    """Whether tall tiles would compute much beyond the diagonal, or beyond the end."""
    q, k, v = nodes[:3]
    length = max(q.shape[1], k.shape[1])
    return length <= (SHORT[kind] if causal else 64) and max(q.shape[2], v.shape[2]) <= 64


def _tiles(
    limits: Limits,
    tiles: Sequence[AttentionTile],
    products: int,
    extent: tuple[int, int],
    vec4s: tuple[int, ...],
    short: bool,
) -> list[AttentionTile]:
    """The tiles that a device can run, best first.

    extent: the rows of all lines, and the largest number of queries or keys of a line. vec4s: those of a row
    of each result.
    """
    length, reach = extent
    widened = [t.widen(*vec4s) for t in tiles]
    fitting = [t for t in widened if t.fits(limits) and t.accumulators(products) <= REGISTERS]

    # A thread with one vec4 of a result leaves registers for more workgroups, which the forward pass only
    # needs where workgroups are few (an H200, 2026-11-27).
    is_narrow = max(vec4s) <= 16
    by_keys = len(vec4s) > 1
    by_registers = is_narrow and reach > TALL and not (by_keys and short)
    by_registers = by_registers and (products > 1 or length < 2 * FULL * TALL)
    # tall tiles that are few are fastest where rows are wide, and of keys, each of which reads all queries
    is_tall = reach > TALL and not short and (by_registers if by_keys else not is_narrow)

    def rank(t: AttentionTile):
        # Tall tiles compute much beyond a short diagonal, and few of them leave a large GPU partly idle.
        idle_rows = max(t.height - 64, 0) if short or length < FULL * t.height else 0
        held = max(t.wide, t.deep)
        return held > 2, by_registers and held > 1, 0 if is_tall else idle_rows

    return sorted(fitting, key=rank)


def _choice(
    limits: Limits, kind: str, tiles: list[AttentionTile], nodes: Nodes, causal: bool, units: Units | None
) -> AttentionTile | Units | str:
    """The variant of a launch: tiles, or matrix units; "rows": a thread for each row; "few": pieces of keys
    for few rows."""
    q, k, v = nodes[:3]
    by_name = {t.name: t for t in tiles} | ({"units": units} if units else {})
    rows = q.shape[0] // max(k.shape[0], 1) * q.shape[1]  # queries that attend to the same keys
    names = [*by_name, "rows"] if not q.dtype.is_packed else [*by_name]  # "rows" reads no 16-bit floats
    if kind == "forward" and rows <= MOST_FEW:
        names.insert(0, "few")
    use_units = units and max(units.d, units.e) <= subgroup_matrix.MOST[kind] and names[0] != "few"
    default = "units" if use_units else names[0]
    default = "rows" if limits.software and "rows" in names else default
    # A measured choice holds for calls whose sizes are about the same.
    bucket = (kind, q.dtype.short, q.shape[2], v.shape[2], min(q.shape[1], 1024).bit_length(), causal)
    name = choose(limits, "attention", bucket, names, default)
    return by_name.get(name, name)


def _vec4_inputs(nodes: Nodes, biases: Nodes) -> tuple[int, ...]:
    """The inputs that are read as vec4s: q, k and v, in gradient kernels also the gradient."""
    return (0, 1, 2, 3) if len(nodes) - len(biases) == 5 else (0, 1, 2)


def _flops(nodes: Nodes, by_d: int, by_e: int, causal: bool) -> int:
    """The FLOPs of by_d products of width d and by_e products of width e over all scores."""
    q, k, v = nodes[:3]
    # Two FLOPs a multiply-add; half of the scores are masked if causal.
    return 2 * prod(q.shape[:2]) * k.shape[1] * (by_d * q.shape[2] + by_e * v.shape[2]) // (1 + causal)


def _tile_launch(
    template: str,
    tile: AttentionTile,
    nodes: Nodes,
    biases: Nodes,
    of: int,
    attrs: dict[str, Any],
    products: tuple[int, int],
    also: tuple[Written, ...] = (),
    **options: Any,
) -> Launch:
    """The launch of a tiled kernel: a workgroup for each tile of rows of q (of=0) or k (of=1)."""
    lines, length = nodes[of].shape[:2]
    blocks = -(-length // tile.height)
    unread = ("uncap",) if "grad" in template else ("uncap", "scale")
    sizes = _drop_unread(_sizes(nodes, biases, **attrs), *unread) | {"blocks": blocks}
    if attrs["causal"]:
        sizes["lines"] = lines
        if of == 1:  # a tile of keys only depends on the lines
            del sizes["blocks"]
    d, e = nodes[0].shape[2] // 4, nodes[2].shape[2] // 4
    return Launch(
        template,
        tuple(range(len(nodes))),
        lines * blocks,
        sizes,
        {"d": d, "e": e, "t": tile, "o": _options(nodes, biases, **attrs), **options},
        workgroup=(tile.threads, 1, 1),
        wide=_vec4_inputs(nodes, biases),
        width=4,
        also=also,
        flops=_flops(nodes, products[0], products[1], attrs["causal"]),
    )


def _row_launch(
    template: str,
    limits: Limits,
    nodes: Nodes,
    biases: Nodes,
    of: int,
    attrs: dict[str, Any],
    unroll: int,
    side: str = "",
    also: tuple[Written, ...] = (),
    **writes: Any,
) -> Launch:
    """The launch of a kernel with a thread for each row of q (of=0) or k (of=1)."""
    q, k, v = nodes[:3]
    d, e = q.shape[2] // 4, v.shape[2] // 4
    # A row of k meets the queries of all heads that share its keys.
    steps = q.shape[0] // max(k.shape[0], 1) * q.shape[1] if of else k.shape[1]
    if limits.software and 2 * steps <= limits.turns:
        unroll = 1  # on software adapters it compiles in a tenth of the time and runs 1.6 times as fast
    tile = max(SHARED // (d + e) // unroll * unroll, unroll)
    # Workgroup memory holds a tile of keys and values that all threads read; software adapters have no faster
    # memory.
    staged = not limits.software and tile * (d + e) <= SHARED
    tile = tile if staged else unroll
    lines, length = nodes[of].shape[:2]
    blocks = -(-length // THREADS)
    # How often loops turn: a software adapter ends a kernel that turns too often.
    turns = -(-steps // tile) * (1 + tile // unroll + (tile * (d + e) // THREADS if staged else 0))
    return Launch(
        template,
        tuple(range(len(nodes))),
        lines * blocks,
        _drop_unread(_sizes(nodes, biases, **attrs), "score") | {"blocks": blocks},
        {
            "d": d,
            "e": e,
            "tile": tile,
            "unroll": unroll,
            "staged": staged,
            "of": side,
            "o": _options(nodes, biases, **attrs),
        },
        workgroup=(THREADS, 1, 1),
        turns=turns,
        also=also,
        width=4,
        wide=_vec4_inputs(nodes, biases),
        **writes,
    )


def _power_of_two(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << (n - 1).bit_length()


def _few(limits: Limits, rows: int, lanes: int, across: int) -> Few:
    """The workgroup for a number of rows. More threads each wait for fewer reads of values, as far as the
    sums of rows leave memory for them."""
    for threads in (256, 128, 64):
        at_once = threads // lanes
        f = Few(rows, max(2048 // (rows * lanes), at_once), lanes, across, threads)
        while f.memory > MEMORY and f.keys > max(at_once, 8):
            f = f._replace(keys=f.keys // 2)
        if f.memory <= MEMORY and threads <= limits.invocations and (threads < 256 or rows * lanes <= 32):
            break
    return f


def _split_keys(
    limits: Limits, nodes: Nodes, biases: Nodes, attrs: dict[str, Any], also: tuple[Written, ...]
) -> list[Launch]:
    """The launches for few rows and many keys: one for pieces of the keys, and one that combines their
    results if the pieces are several."""
    q, k, v = nodes[:3]
    d, e = q.shape[2] // 4, v.shape[2] // 4
    lines, keys = k.shape[:2]
    rows = q.shape[0] // lines * q.shape[1]
    lanes = min(_power_of_two(d), 8 if d <= 32 else 16)
    f = _few(limits, _power_of_two(rows), lanes, _power_of_two(e))
    # Pieces of LEAST_KEYS keys or more, and no more workgroups than saturate the memory.
    most = 1 if keys <= ONE_PIECE else GROUPS // lines
    pieces = max(min(-(-keys // max(LEAST_KEYS, f.keys)), most), 1)
    length = -(-keys // pieces // f.keys) * f.keys
    pieces = -(-keys // length)
    is_read = biases or _has_places(nodes, attrs["placed"])
    unread = ("scale", "uncap") if is_read else ("scale", "uncap", "group")
    sizes = _drop_unread(_sizes(nodes, biases, **attrs), *unread) | {"rows": rows, "lines": lines}
    count = q.shape[0] * q.shape[1]
    options = {"d": d, "e": e, "f": f, "o": _options(nodes, biases, **attrs), "whole": pieces == 1}
    # the reads of values of a thread and turn
    options["ahead"] = max(f.keys * f.across // f.threads, 1)
    written: dict[str, Any] = {"also": also}
    if pieces > 1:
        sizes |= {"pieces": pieces, "length": length}
        # For each row and piece: the largest score and the sum of weights, which the join needs.
        tops = Written("tops", count * pieces * 2, dt.float32)
        elements = count * pieces * e * 4
        written = {"writes": "pieces", "elements": elements, "dtype": dt.float32, "also": (tops,)}
    first = Launch(
        "attention/split_keys.wgsl",
        tuple(range(len(nodes))),
        lines * pieces,
        sizes,
        options,
        workgroup=(f.threads, 1, 1),
        wide=(0, 1, 2),
        width=4,
        turns=length // f.keys * (2 + f.keys * (f.rows + 1)),
        **written,
    )
    if pieces == 1:
        return [first]
    size = count * e
    join = Launch(
        "attention/split_keys_join.wgsl",
        ("pieces", "tops"),
        -(-size // 64),
        {"size": size, "pieces": pieces},
        {"e": e},
        width=4,
        also=also,
    )
    return [first, join]


def _unit_launch(
    u: Units, nodes: Nodes, biases: Nodes, attrs: dict[str, Any], of: str = "", **writes: Any
) -> Launch:
    """The launch of a kernel on matrix units: a workgroup for each block of queries or keys."""
    lines, length = nodes[of in ("key", "value")].shape[:2]
    blocks = -(-length // u.height)
    unread = ("uncap",) if of else ("uncap", "scale")
    sizes = _drop_unread(_sizes(nodes, biases, **attrs), *unread) | {"blocks": blocks, "lines": lines}
    options = {"d": u.d // 4, "e": u.e // 4, "u": u, "of": of, "o": _options(nodes, biases, **attrs)}
    template = "attention/grad_subgroup_matrix.wgsl" if of else "attention/subgroup_matrix.wgsl"
    return Launch(
        template,
        tuple(range(len(nodes))),
        lines * blocks,
        sizes,
        options,
        workgroup=(u.threads, 1, 1),
        wide=_vec4_inputs(nodes, biases),
        width=4,
        flops=_flops(nodes, 2 if of in ("query", "key") else 1, 1, attrs["causal"]),
        **writes,
    )


def _vec4s(*nodes: Node) -> tuple[int, ...]:
    return tuple(n.shape[2] // 4 for n in nodes)


def forward(limits: Limits, *nodes: Node, **attrs: Any) -> list[Launch]:
    """The launches of attention, which also write the norms (maximum and log-sum) of its rows."""
    q, v, biases = nodes[0], nodes[2], nodes[3 + attrs["placed"] :]
    also = (Written("norms", 2 * prod(q.shape[:2]), dt.float32),)
    short = _is_short("forward", nodes, attrs["causal"])
    reach = max(q.shape[1], nodes[1].shape[1])
    tiles = _tiles(limits, FORWARD, 1, (prod(q.shape[:2]), reach), _vec4s(v), short)
    units = subgroup_matrix.largest_workgroup(limits, q, v)
    tile = _choice(limits, "forward", tiles, nodes, attrs["causal"], units)
    if tile == "few":
        return _split_keys(limits, nodes, biases, attrs, also)
    if isinstance(tile, Units):
        return [_unit_launch(tile, nodes, biases, attrs, also=also)]
    if isinstance(tile, str):
        return [_row_launch("attention/rows.wgsl", limits, nodes, biases, 0, attrs, 8, also=also)]
    return [_tile_launch("attention/tiles.wgsl", tile, nodes, biases, 0, attrs, (1, 1), also)]


def _gradient_variant(limits: Limits, kind: str, nodes: Nodes, causal: bool) -> AttentionTile | Units | str:
    """The variant of the gradient kernel for "queries" or "keys"."""
    q, k, v = nodes[:3]
    tiles, side, results = {"queries": (QUERIES, q, (q,)), "keys": (KEYS, k, (v, q))}[kind]
    short = _is_short(kind, nodes, causal)
    reach = max(q.shape[1], k.shape[1])
    fitting = _tiles(limits, tiles, 2, (prod(side.shape[:2]), reach), _vec4s(*results), short)
    units = subgroup_matrix.largest_workgroup(limits, q, v, **subgroup_matrix.SLOPES)
    return _choice(limits, kind, fitting, nodes, causal, units)


def slopes_on_units(limits: Limits, nodes: Nodes, causal: bool) -> bool:
    """Whether a gradient of attention is computed on matrix units."""
    if not limits.matrix or nodes[0].dtype != dt.float16:
        return False
    return any(
        isinstance(_gradient_variant(limits, kind, nodes, causal), Units) for kind in ("queries", "keys")
    )


def by_queries(limits: Limits, *nodes: Node, **attrs: Any) -> list[Launch]:
    """The launches of the gradient with respect to the queries."""
    # after q, k, v, g and the rows' three numbers
    biases, variant = nodes[5:], _gradient_variant(limits, "queries", nodes, attrs["causal"])
    if isinstance(variant, Units):
        return [_unit_launch(variant, nodes, biases, attrs, "query")]
    if isinstance(variant, str):
        return [_row_launch("attention/grad_q_rows.wgsl", limits, nodes, biases, 0, attrs, 4)]
    return [_tile_launch("attention/grad_q_tiles.wgsl", variant, nodes, biases, 0, attrs, (2, 1))]


def way_of_slopes(limits: Limits, nodes: Nodes, causal: bool) -> str:
    """How gradients are computed. "computed": a kernel for the queries, and one for the keys and values, with
    three and four products of the size of the scores. "stored": the kernel for the keys stores the gradients
    of the scores, and a product with the keys gives the queries' gradient. "apart": a kernel of two products
    stores the weights and the gradients of the scores, and three products give the gradients."""
    q, k = nodes[:2]
    variant = _gradient_variant(limits, "keys", nodes, causal)
    nbytes = 4 * prod(q.shape[:2]) * padded_length(k.shape[1])
    is_tiled = q.dtype == dt.float32 and isinstance(variant, AttentionTile)
    # A tuned choice serves all sizes of its bucket, so none may store more than the documented limit.
    if limits.software or not is_tiled or nbytes > MOST_SLOPES:
        return "computed"
    bucket = (q.shape[2], min(q.shape[1], 1024).bit_length(), causal)
    # The products of "apart" compute zeros above a causal diagonal: few keys are faster without them.
    large = "stored" if causal and k.shape[1] < LONG_KEYS else "apart"
    default = large if nbytes >= LEAST_SLOPES else "computed"
    return choose(limits, "attention_slopes", bucket, ["apart", "stored", "computed"], default)


def slopes_and_weights(limits: Limits, *nodes: Node, **attrs: Any) -> list[Launch]:
    """The launch that computes the gradients of the scores, and also stores the weights."""
    q, k = nodes[:2]
    tile = next(t for t in SLOPES if t.fits(limits))
    blocks, spans = -(-k.shape[1] // tile.height), -(-q.shape[1] // tile.width)
    elements = prod(q.shape[:2]) * padded_length(k.shape[1])
    biases, also = nodes[5:], (Written("weights", elements, dt.float32, 4),)
    template = "attention/slopes_tiles.wgsl"
    launch = _tile_launch(template, tile, nodes, biases, 1, attrs, (1, 1), also)
    unread = ("lines", "scale")
    sizes = _drop_unread(dict(launch.sizes), *unread) | {"blocks": blocks, "spans": spans}
    return [replace(launch, groups=q.shape[0] * blocks * spans, sizes=sizes)]


def by_keys(limits: Limits, *nodes: Node, stored: bool, **attrs: Any) -> list[Launch]:
    """The launches of the gradients with respect to the keys and, as additional results, the values, and the
    scores if stored."""
    v, biases, variant = nodes[2], nodes[5:], _gradient_variant(limits, "keys", nodes, attrs["causal"])
    if stored and not isinstance(variant, AttentionTile):  # only tiles write the gradients of the scores
        variant = next(t for t in (tile.widen(*_vec4s(v, nodes[0])) for tile in KEYS) if t.fits(limits))
    # One kernel stores both gradients: that of the values here, that of the keys as its main result.
    first: dict[str, Any] = {"writes": "values", "elements": prod(v.shape), "dtype": v.dtype}
    also = (Written("values", prod(v.shape), v.dtype, 4),)
    if isinstance(variant, Units):
        values = _unit_launch(
            variant._replace(pitch=subgroup_matrix.PITCH), nodes, biases, attrs, "value", **first
        )
        return [values, _unit_launch(variant, nodes, biases, attrs, "key")]
    if isinstance(variant, str):
        call = ("attention/grad_kv_rows.wgsl", limits, nodes, biases, 1, attrs, 4)
        return [_row_launch(*call, "value", **first), _row_launch(*call, "key")]
    if stored:
        q, k = nodes[:2]
        also += (Written("slopes", prod(q.shape[:2]) * padded_length(k.shape[1]), dt.float32, 4),)
    template = "attention/grad_kv_tiles.wgsl"
    return [_tile_launch(template, variant, nodes, biases, 1, attrs, (2, 2), also, stored=stored)]
