"""Sums, extremes and running sums of 64-bit integers as opaque kernels on pairs of words.

They read their input once, and write packed results.
"""

from math import prod
from typing import Any

from ..core import dtype as dt
from ..core.limits import Limits
from ..core.op import Launch, Op, apply
from ..core.shape import Shape
from .integers import Integer
from .pair import move, tensor_of

THREADS = {True: 256, False: 1 << 17}  # that keep an adapter busy; True: of a CPU
LEAST = 256  # elements that are worth a thread of their own
SHARED = 4096  # elements that are worth a workgroup, whose threads read neighbours
GROUPS = 1024  # workgroups that fill a large GPU
MOST = 64  # the most pieces whose sums each later piece adds up
REDUCE_TEMPLATE, SCAN_TEMPLATE = (
    "reduce/long_sum{}.wgsl",
    "scan/long_sum{}.wgsl",
)  # "_shared": one workgroup per row


def _pieces(limits: Limits, shape: Shape, shared: bool, most: int) -> tuple[int, int]:
    """The number of pieces of a row, and their length."""
    outer, n, inner = shape
    rows = max(outer * inner, 1)
    pieces = min(GROUPS // rows, n // SHARED) if shared else min(THREADS[limits.software] // rows, n // LEAST)
    # Enough pieces that no thread exceeds the adapter's turns of loops.
    piece = max(-(-n // max(min(pieces, most), -(-n // limits.turns), 1)), 1)
    return max(-(-n // piece), 1), piece


def _launch(template: str, shape: Shape, cut: tuple[int, int], shared: bool, **rest: Any) -> Launch:
    """A launch with a thread (or, shared, a workgroup) for each piece of each row."""
    (outer, n, inner), (pieces, piece) = shape, cut
    count = outer * pieces * inner
    sizes: dict[str, int | float] = {"n": n, "pieces": pieces, "piece": piece}
    if not shared:
        sizes |= {"inner": max(inner, 1), "threads": count}
    template = template.format("_shared" if shared else "")
    groups, workgroup = (count, 256) if shared else (-(-count // 64), 64)
    # A thread reads four elements per iteration, then the results of the previous pieces.
    turns = piece // 4 + pieces + 4
    return Launch(
        template, groups=groups, sizes=sizes, workgroup=(workgroup, 1, 1), width=2, turns=turns, **rest
    )


def _is_shared(limits: Limits, shape: Shape) -> bool:
    return not limits.software and shape[2] == 1 and shape[1] > LEAST


def _join_launch(
    limits: Limits, shape: Shape, narrow: bool, cut: tuple[int, int], join: str, **end: Any
) -> Launch:
    options = {"narrow": narrow, "join": join, "start": STARTS[join]}
    shared = _is_shared(limits, shape)
    return _launch(REDUCE_TEMPLATE, shape, cut, shared, reads=(), options=options, traced=0, **end)


def _of_pieces(shape: Shape, pieces: int) -> dict[str, Any]:
    """The temporary that takes the results of pieces: [outer, pieces, inner, 2] words."""
    return {"writes": "sums", "elements": shape[0] * pieces * shape[2] * 2, "dtype": dt.uint32}


def _reduce_launches(limits: Limits, _: Any, shape: Shape, narrow: bool, join: str) -> list[Launch]:
    """One launch; if rows are few, one over pieces of rows and one that joins their results."""
    cut = _pieces(limits, shape, _is_shared(limits, shape), shape[1])
    if cut[0] == 1:
        return [_join_launch(limits, shape, narrow, cut, join)]
    first = _join_launch(limits, shape, narrow, cut, join, **_of_pieces(shape, cut[0]))
    then, uncut = (shape[0], cut[0], shape[2]), (1, cut[0])  # [outer, pieces, inner], one piece
    options = {"narrow": False, "join": join, "start": STARTS[join]}
    return [first, _launch(REDUCE_TEMPLATE, then, uncut, False, reads=("sums",), options=options)]


def _scan_launches(limits: Limits, _: Any, shape: Shape, narrow: bool) -> list[Launch]:
    """One launch; if rows are few, the sums of pieces and then a scan of each piece that begins with those
    before it."""
    shared = _is_shared(limits, shape)
    cut = _pieces(limits, shape, shared, MOST)
    carried = cut[0] > 1
    options = {"narrow": narrow, "carried": carried}
    reads = ("sums",) if carried else ()
    last = _launch(SCAN_TEMPLATE, shape, cut, shared, reads=reads, options=options, traced=0)
    if not carried:
        return [last]
    return [_join_launch(limits, shape, narrow, cut, "long_sum", **_of_pieces(shape, cut[0])), last]


def _words(xp: Any, x: Any, narrow: bool, f: Any) -> Any:
    """The reference: apply a function of 64-bit numbers to words (or to int32), and return words."""
    wide = xp.astype(x, "int64")
    results = f(wide if narrow else wide[..., 0] | wide[..., 1] << 32)
    return xp.astype(xp.stack([results & 0xFFFFFFFF, results >> 32 & 0xFFFFFFFF], axis=-1), "uint32")


def _reduced_shape(_: Shape, shape: Shape, **__: Any) -> Shape:
    return shape[0], shape[2], 2


def _scanned_shape(_: Shape, shape: Shape, **__: Any) -> Shape:
    return (*shape, 2)


def _uint32(*_: dt.DType, **__: Any) -> dt.DType:
    return dt.uint32


def _reduction(name: str) -> Op:
    def reference(xp: Any, x: Any, shape: Shape, narrow: bool, join: str) -> Any:
        function = getattr(xp, name)
        unsigned = join.endswith("u")

        def reduce_values(v: Any) -> Any:
            return xp.astype(function(xp.astype(v, "uint64") if unsigned else v, axis=1), "int64")

        return _words(xp, x, narrow, reduce_values)

    return Op(
        "opaque",
        shape=_reduced_shape,
        dtype=_uint32,
        xp=reference,
        launch=_reduce_launches,
        name=f"long_{name}",
    )


REDUCTIONS = {name: _reduction(name) for name in ("sum", "max", "min")}
# The join of two values, and the words of its neutral element.
STARTS = {
    "long_sum": (0, 0),
    "long_max_i": (0, 1 << 31),
    "long_min_i": (2**32 - 1, 2**31 - 1),
    "long_max_u": (0, 0),
    "long_min_u": (2**32 - 1, 2**32 - 1),
}


def _scan_reference(xp: Any, x: Any, shape: Shape, narrow: bool) -> Any:
    def sums(v: Any) -> Any:
        return xp.cumsum(v, axis=1)

    return _words(xp, x, narrow, sums)


SCAN = Op(
    "opaque",
    shape=_scanned_shape,
    dtype=_uint32,
    xp=_scan_reference,
    launch=_scan_launches,
    name="long_cumsum",
)


def is_read_once(x: Integer) -> bool:
    """Whether these kernels can read a value directly: as int32, or as packed words."""
    return x.is_narrow or x.is_packed


def _call_opaque(op: Op, x: Integer, shape: Shape, count: int, **how: str) -> Integer:
    """Apply an op to a value as [outer, n, inner]. count: the most elements in a sum; 0 for extremes."""
    source = x.narrow.reshape(*shape) if x.is_narrow else x.packed.reshape(*shape, 2)
    result = tensor_of(apply(op, (source.node,), {"shape": shape, "narrow": x.is_narrow, **how}))
    within = (count * min(x.range[0], 0), count * max(x.range[1], 0)) if count else x.range
    return Integer(x.dtype, result.shape[:-1], packed=result, within=within)


def reduce(x: Integer, name: str, dims: tuple[int, ...]) -> Integer:
    """Reduce dims by "sum", "max" or "min": neighbouring dims at once, the last run first."""
    join = "long_sum" if name == "sum" else f"long_{name}_{x.dtype.kind}"
    runs: list[list[int]] = []
    for d in sorted(dims):
        if runs and runs[-1][-1] == d - 1:
            runs[-1].append(d)
        else:
            runs.append([d])
    for run in reversed(runs):
        before, after = x.shape[: run[0]], x.shape[run[-1] + 1 :]
        n = prod(x.shape[d] for d in run)
        shape = prod(before), n, prod(after)
        concatenate = _call_opaque(REDUCTIONS[name], x, shape, n if name == "sum" else 0, join=join)
        ones = (1,) * len(run)  # the primitive keeps its dims
        x = move(concatenate, "reshape", shape=(*before, *ones, *after))
    return x


def so_far(x: Integer, dim: int) -> Integer:
    """Running sums along a dim."""
    shape = prod(x.shape[:dim]), x.shape[dim], prod(x.shape[dim + 1 :])
    return move(_call_opaque(SCAN, x, shape, x.shape[dim]), "reshape", shape=x.shape)
