"""Scans: cumulative sums, products and extremes along a dim."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from math import inf, pi, prod
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core.declare import P, composed, composite, kernel
from ...core.modes import is_grad_enabled
from ...core.op import UNORDERED, Family, Launch
from ...core.shape import normal_dim
from ..complex import complex
from ..elementwise import ANY, as_float
from ..index.indices import Chosen, as_places
from ..join import cat
from ..reduce import cast_result, in_float32, in_words, sum_dtype, widen_integers

if TYPE_CHECKING:
    from ...core.dtype import DTypeLike
    from ...core.limits import Limits
    from ...core.node import Node
    from ...core.rules import DTypeRule, Gradient, Gradients, Prepared, Reference
    from ...core.shape import Shape
    from ...tensor import Tensor

TILE = 2048  # elements that a workgroup scans at a time
THREADS = {True: 256, False: 1 << 18}  # threads that occupy an adapter, by whether it is software
LEAST = 256  # the least elements of a thread
FEW = 32  # up to this many totals each thread adds up itself; more are scanned first
GROUPS = 1024  # workgroups, of pieces of long rows, that occupy a large GPU
ALONE = 512  # from this many long rows on none is split: one pass reads and writes each element once


def scan_launches(
    limits: Limits, shape: Shape, dim: int, op: str, dtype: dt.DType, source: int | str = 0, writes: str = ""
) -> list[Launch]:
    """The launches of an inclusive scan of `shape` along `dim`. source: the position of an input, which is
    computed when it is read, or the name of an intermediate result."""
    outer, n, inner = prod(shape[:dim]), shape[dim], prod(shape[dim + 1 :])
    # A running extreme is a pair: its value and its index.
    state = {"dtype": dt.uint32, "width": 2} if op in ("max", "min") else {"dtype": dtype, "width": 1}
    traced = source if isinstance(source, int) else None
    launch = {"traced": traced, "options": {"op": op, "dtype": dtype.short}}
    reads = () if traced is not None else (source,)
    end = {"writes": writes, "elements": prod(shape), "dtype": dtype} if writes else {}
    if limits.software or inner > 1:
        return _scan_by_thread(limits, (outer, n, inner), launch, reads, state, end)
    return _scan_by_tile(outer, n, launch, reads, state, end)


def _with_options(launch: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Fields of a launch with more options."""
    return {**launch, "options": {**launch["options"], **options}}


def _scan_by_thread(
    limits: Limits,
    shape: tuple[int, int, int],
    fields: dict[str, Any],
    reads: tuple[int | str, ...],
    state: dict[str, Any],
    end: dict[str, Any],
    most: int = 1 << 31,
) -> list[Launch]:
    """One thread for each row if there are many rows; else one for each of at most `most` pieces, whose
    totals are computed first."""
    outer, n, inner = shape
    rows = max(outer * inner, 1)
    # As many pieces as occupy the device, of LEAST elements or more; no loop longer than the limit.
    pieces = max(min(THREADS[limits.software] // rows, n // LEAST, most), -(-n // limits.turns), 1)
    piece = -(-n // pieces)
    pieces = -(-n // piece) if n else 1
    threads = outer * inner * pieces
    sizes = {"n": n, "inner": max(inner, 1), "pieces": pieces, "piece": piece, "threads": threads}
    groups, wide = -(-threads // 64), threads * state["width"]

    def scan_pass(reads: tuple[int | str, ...], totals: bool, carried: str, **rest: Any) -> Launch:
        launch = _with_options(fields, totals=totals, carried=carried)
        # vec4s of a piece, the ends, and the totals before it
        turns = piece // 4 + 4 + (pieces if carried == "totals" else 0)
        return Launch("scan/serial.wgsl", reads, groups, sizes, **launch, **rest, turns=turns)

    if pieces == 1:
        return [scan_pass(reads, False, "", **end)]
    first = scan_pass(reads, True, "", writes="totals", elements=wide, **state)
    # Pairs of a value and an index have no scan of their totals.
    if pieces <= FEW or state["width"] > 1:
        return [first, scan_pass((*reads, "totals"), False, "totals", **end)]
    again = {"traced": None, "options": fields["options"]}
    between = {"writes": "sums", "elements": wide, **state}
    of_totals = _scan_by_thread(limits, (outer, pieces, inner), again, ("totals",), state, between, most=1)
    return [first, *of_totals, scan_pass((*reads, "sums"), False, "sums", **end)]


def _scan_by_tile(
    rows: int,
    n: int,
    fields: dict[str, Any],
    reads: tuple[int | str, ...],
    state: dict[str, Any],
    end: dict[str, Any],
) -> list[Launch]:
    """Several short rows to a workgroup; one long row to one, or to several after the totals of its
    pieces."""
    segmented = n <= TILE
    # A workgroup scans as many entire rows as fit in a tile.
    stretch = n * max(TILE // max(n, 1), 1) if segmented else n
    size, lines = rows * n, (-(-rows * n // max(stretch, 1)))
    # One piece for short rows, or if the rows suffice to occupy the device; else pieces of entire tiles.
    pieces = 1 if segmented or rows >= ALONE else max(min(GROUPS // rows, n // TILE), 1)
    piece = -(-stretch // pieces // TILE) * TILE if pieces > 1 else stretch
    pieces = -(-stretch // piece) if stretch else 1
    sizes = {"stretch": stretch, "pieces": pieces, "piece": piece, "size": size}
    count = lines * pieces

    # Four elements per thread, if they are in one row and computed here.
    fours = n % 4 == 0 and not end and fields["traced"] is not None and state["width"] == 1

    def scan_pass(reads: tuple[int | str, ...], carried: bool, **rest: Any) -> Launch:
        launch = _with_options(fields, segmented=segmented, carried=carried)
        if fours:
            return Launch(
                "scan/tile_vec4.wgsl",
                reads,
                count,
                tile_sizes,
                **launch,
                workgroup=(256, 1, 1),
                fours=True,
                width=4,
                **rest,
            )
        return Launch("scan/tile.wgsl", reads, count, tile_sizes, **launch, workgroup=(256, 1, 1), **rest)

    tile_sizes = sizes | ({"n": n} if segmented else {})
    if pieces == 1:
        return [scan_pass(reads, False, **end)]
    wide = count * state["width"]
    first = Launch(
        "scan/totals.wgsl",
        reads,
        count,
        sizes,
        **fields,
        workgroup=(256, 1, 1),
        writes="totals",
        elements=wide,
        **state,
    )
    return [first, scan_pass((*reads, "totals"), True, **end)]


def scan(
    op: str, grad: Gradient | None, xp: Reference, dtype: DTypeRule = lambda d, dim: d, dtypes: str = "fiub"
) -> Callable[[Callable[P, Any]], Callable[P, Tensor]]:
    """Declare a scan by the op that combines two elements, its gradient and its reference."""

    def launch(limits: Limits, x: Node, dim: int) -> list[Launch]:
        return scan_launches(limits, x.shape, dim, op, x.dtype)

    return kernel(
        "opaque",
        shape=lambda s, dim: s,
        dtype=dtype,
        grad=grad,
        xp=xp,
        launch=launch,
        dtypes=dtypes,
        refusal="" if "c" in dtypes else UNORDERED,
    )


def _backwards(x: Tensor, dim: int) -> Tensor:
    """Sums of each element and those after it."""
    return x.flip(dim)._cumsum(dim).flip(dim)


def _shift(x: Tensor, by: int, dim: int, start: float) -> Tensor:
    """x shifted by `by` places along a dim (to lower indices if negative), filled with `start`."""
    n = x.shape[dim]
    if abs(by) >= n:
        return x.new_full(x.shape, start)
    inside = x.narrow(dim, max(-by, 0), n - abs(by))  # what stays inside
    shape = tuple(abs(by) if d == dim else size for d, size in enumerate(x.shape))
    rest = x.new_full(shape, start)
    return cat([rest, inside] if by > 0 else [inside, rest], dim)


def _rests(g: Tensor, x: Tensor, dim: int) -> Tensor:
    """s[k] = g[k] + x[k + 1] * s[k + 1], in log2(n) steps: the gradient of cumprod apart from a factor,
    without a division, so that second derivatives are exact where x is 0."""
    # Recursive doubling: total sums `by` terms of the recurrence, times is the product of x over as many.
    total, times, by = g, _shift(x, -1, dim, 0.0), 1
    while by < x.shape[dim]:
        # Each step adds the next `by` terms to a sum of `by` terms, doubling their number.
        total = total + times * _shift(total, -by, dim, 0.0)
        times, by = times * _shift(times, -by, dim, 0.0), by * 2
    return total


def _grad_cumprod(g: Tensor, y: Tensor, x: Tensor, dim: int) -> Gradients:
    """An element's gradient is the sum of the products that contain it, divided by it. At and after the first
    zero these are the products of a row with 1 in its place."""
    if is_grad_enabled():
        return [_rests(g, x, dim) * _shift(x, 1, dim, 1.0)._cumprod(dim)]
    # y[k] = x[0] ... x[k], so the gradient at i is the sum of g[k] y[k] / x[i] over k >= i. Before the first
    # zero, divide by x[i]; the row with 1 instead of the zero gives the gradient at the zero.
    zero = x == 0
    zeros = zero.int()._cumsum(dim)
    first = zero & (zeros == 1)
    other = _backwards(g * first.where(1.0, x)._cumprod(dim), dim)
    over = zero.where(1.0, x)
    after = first.where(x, 0.0).sum(dim, keepdim=True) * other / over
    return [(zeros == 0).where(_backwards(g * y, dim) / over, first.where(other, after))]


def _signs_apart(g: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
    """part(log(g)) for positive g minus part(log(-g)) for negative g."""

    def of(g: Tensor) -> Tensor:
        # -1e30 stands for log(0): -inf - (-inf) would be NaN.
        return part((g > 0).where((g > 0).where(g, 1.0).log(), -1e30))

    return of(g) - of(-g)


def _shares_after_grad(u: Tensor, z: Tensor, g: Tensor, x: Tensor, y: Tensor, dim: int) -> Gradients:
    back = _shares_before(u, x, y, dim=dim)
    return [back, u * z, -g * back]


@composite(grad=_shares_after_grad)
def _shares_after(g: Tensor, x: Tensor, y: Tensor, *, dim: int) -> Tensor:
    """The sum of g * exp(x - y) over the g and y of each element and later ones. It is linear in g, and
    computed with logarithms for each sign of g, so that nothing overflows."""
    # The gradient of logcumsumexp: y[k] = log(sum of exp(x[i]) for i <= k) depends on x[i] with the slope
    # exp(x[i] - y[k]).
    return _signs_apart(g, lambda log: ((log - y).flip(dim)._logcumsumexp(dim).flip(dim) + x).exp())


def _shares_before_grad(u: Tensor, z: Tensor, g: Tensor, x: Tensor, y: Tensor, dim: int) -> Gradients:
    back = _shares_after(u, x, y, dim=dim)
    return [back, g * back, -u * z]


@composite(grad=_shares_before_grad)
def _shares_before(g: Tensor, x: Tensor, y: Tensor, *, dim: int) -> Tensor:
    """The same sum over the g and x of each element and earlier ones; 0 where y is -inf."""
    empty = y == -inf
    end = empty.where(0.0, y)  # any number: the result is 0
    return empty.where(0.0, _signs_apart(g, lambda log: ((log + x)._logcumsumexp(dim) - end).exp()))


def _running_best(xp: Any, x: Any, dim: int, better: Any) -> Any:
    """The index of the latest best element so far; NaN wins. The reference of cummax and cummin."""
    x = xp.moveaxis(x, dim, -1)
    index = xp.zeros(x.shape, dtype="int32")
    if x.size:
        best = x[..., 0]
        positions = xp.zeros(best.shape, dtype="int32")
        for i in range(x.shape[-1]):
            element = x[..., i]
            # NaN stays the best once it is seen, and each later NaN replaces it, as in PyTorch.
            wins = (element != element) | ((best == best) & better(element, best))
            best, positions = xp.where(wins, element, best), xp.where(wins, i, positions)
            index[..., i] = positions
    return xp.moveaxis(index, -1, dim)


def _reference(name: str) -> Callable[..., Any]:
    def reference(xp: Any, x: Any, dim: int) -> Any:
        return getattr(xp, name)(x, axis=dim, **sum_dtype(xp, x))

    return reference


@composed
def cumsum(input: Tensor, dim: int, dtype: DTypeLike | None = None) -> Tensor:
    """Cumulative sums along a dim; integers as int64. [..., n, ...] -> [..., n, ...]"""
    return _scan_along(input, dim, "_cumsum", dtype, widen_integers)


@composed
def cumprod(input: Tensor, dim: int, dtype: DTypeLike | None = None) -> Tensor:
    """Cumulative products along a dim. [..., n, ...] -> [..., n, ...]"""
    return _scan_along(input, dim, "_cumprod", dtype, widen_integers)


@composed
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """log(cumsum(exp(x))), without overflow. [..., n, ...] -> [..., n, ...]"""
    x, dtype = in_float32(input)
    if dtype.is_complex:
        return _complex_logcumsumexp(x, normal_dim(dim, max(x.ndim, 1)))
    return _scan_along(x, dim, "_logcumsumexp").to(dtype)


def _complex_logcumsumexp(x: Tensor, dim: int) -> Tensor:
    """The sums of exp(x), relative to those of their absolute values, have no overflow.

    As in PyTorch, an angle continues that of the larger summand: of the sum so far, or of the new element.
    """
    if not x.ndim:
        return x
    sizes, angles = x.real, x.imag
    sums = sizes._logcumsumexp(dim)
    # exp(x) / exp(sums) summed up: absolute values of 1 or less.
    re, im = (_shares_before(part, sizes, sums, dim=dim) for part in (angles.cos(), angles.sin()))
    log = complex(re, im).log()
    size, angle = sums + log.real, log.imag
    return complex(size, angle + _turns(x.detach(), size.detach(), angle.detach(), dim))


def _turns(x: Tensor, size: Tensor, angle: Tensor, dim: int) -> Tensor:
    """The multiples of 2 pi to add to the angles of cumulative sums, whose logarithms have the real part
    `size`.

    A new element that is at least as large as the sum before it sets the number of turns. After a smaller one
    it changes where the angle crosses pi.
    """
    before, smaller = _shift(angle, 1, dim, 0.0), _shift(size, 1, dim, -inf)
    # How many turns the angle is away from that of the new element, if that sets the turns here.
    set_to = ((x.imag - angle) / (2 * pi)).round()
    crossed = ((before - angle) / (2 * pi)).round()._cumsum(dim)
    places = type(x).arange(x.shape[dim], dtype=dt.int32, device=x.device)
    places = places.reshape(*(-1 if d == dim else 1 for d in range(x.ndim)))
    # The latest element that was as large as the sum before it.
    start = (x.real >= smaller).where(places, -1)._cummax(dim)
    return ((set_to - crossed)._gather(start, dim) + crossed) * (2 * pi)


@composed
def cummax(input: Tensor, dim: int) -> Chosen:
    """(values, indices) of the cumulative maximum, the last one of equal elements; NaN counts as largest.

    [..., n, ...] -> [..., n, ...], [..., n, ...]
    """
    return _extremes(input, dim, "_cummax")


@composed
def cummin(input: Tensor, dim: int) -> Chosen:
    """(values, indices) of the cumulative minimum, the last one of equal elements; NaN counts as smallest.

    [..., n, ...] -> [..., n, ...], [..., n, ...]
    """
    return _extremes(input, dim, "_cummin")


@composed
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Differences of neighbours along a dim, taken n times. [..., m, ...] -> [..., m - n, ...]

    prepend: elements put before the input
    append: elements put after the input
    Raises ValueError if n is below 0, or the input is 0-d.
    """
    if n < 0:
        raise ValueError(f"n={n} is below 0")
    d, x = normal_dim(dim, input.ndim), input
    if not x.ndim:
        raise ValueError("takes at least 1 dim: reshape the 0-d tensor")
    if n == 0:
        return x
    pieces = [part for part in (prepend, input, append) if part is not None]
    x = cat(pieces, d) if len(pieces) > 1 else x
    # After as many differences as elements nothing is left.
    for _ in range(min(n, x.shape[d])):
        m = x.shape[d] - 1
        after, before = x.narrow(d, 1, m), x.narrow(d, 0, m)
        # PyTorch's difference of bools.
        x = after ^ before if x.dtype is dt.bool_ else after - before
    return x


class Scan(Family):
    @scan("sum", lambda g, y, x, dim: [_backwards(g, dim)], _reference("cumsum"), dtypes=ANY)
    def _cumsum(self: Any, dim: int) -> Prepared:
        """Cumulative sums along a dim."""
        return (in_words(self),), {"dim": dim}

    @scan("prod", _grad_cumprod, _reference("cumprod"), dtypes=ANY)
    def _cumprod(self: Any, dim: int) -> Prepared:
        """Cumulative products along a dim."""
        return (in_words(self),), {"dim": dim}

    @scan(
        "logsumexp",
        lambda g, y, x, dim: [_shares_after(g, x, y, dim=dim)],
        lambda xp, x, dim: xp.logcumsumexp(x, axis=dim),
    )
    def _logcumsumexp(self: Any, dim: int) -> Prepared:
        """Logarithms of the cumulative sums of exp along a dim."""
        return (as_float(self),), {"dim": dim}

    @scan(
        "max", None, lambda xp, x, dim: _running_best(xp, x, dim, xp.greater_equal), lambda d, dim: dt.int32
    )
    def _cummax(self: Any, dim: int) -> Prepared:
        """Indices (int32) of the cumulative maximum, the last one of equal elements; NaN wins."""
        return (self,), {"dim": dim}

    @scan("min", None, lambda xp, x, dim: _running_best(xp, x, dim, xp.less_equal), lambda d, dim: dt.int32)
    def _cummin(self: Any, dim: int) -> Prepared:
        """Indices (int32) of the cumulative minimum, the last one of equal elements; NaN wins."""
        return (self,), {"dim": dim}


def _areas(y: Tensor, x: Tensor | None, dx: float | None, dim: int) -> tuple[Tensor, int]:
    """The trapezoids between neighbours: mean height times width."""
    if x is not None and dx is not None:
        raise ValueError("x and dx are both given: pass one of them")
    if not y.ndim:
        raise ValueError("takes at least 1 dim: reshape the 0-d tensor")
    d = normal_dim(dim, y.ndim)
    m = max(y.shape[d] - 1, 0)
    heights = (y.narrow(d, y.shape[d] - m, m) + y.narrow(d, 0, m)) * 0.5  # mean heights of neighbours
    if x is None:
        return heights * (1.0 if dx is None else dx), d
    if x.ndim == 1:
        x = x.reshape(*(-1 if e == d else 1 for e in range(y.ndim)))
    # from the end: x may have fewer dims than y
    return heights * x.diff(dim=d - y.ndim), d


@composed
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The area under points along a dim, at distances dx (or 1) or at the positions x. [..., n, ...] -> [...]

    Raises ValueError if both x and dx are given, or y is 0-d.
    """
    areas, d = _areas(y, x, dx, dim)
    return areas.sum(d)


@composed
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1
) -> Tensor:
    """Cumulative areas under points along a dim, as trapezoid. [..., n, ...] -> [..., n - 1, ...]

    dx: the distance of points, if x is not given
    Raises ValueError if both x and dx are given, or y is 0-d.
    """
    areas, d = _areas(y, x, dx, dim)
    return areas.cumsum(d)


def _scan_along(
    x: Tensor,
    dim: int,
    name: str,
    dtype: DTypeLike | None = None,
    widen: Callable[[Tensor], Tensor] = in_words,
) -> Tensor:
    x = widen(x) if dtype is None else x.to(dtype)
    d = normal_dim(dim, max(x.ndim, 1))
    return cast_result(getattr(x.reshape(1) if x.ndim == 0 else x, name)(d).reshape(*x.shape), dtype)


def _extremes(x: Tensor, dim: int, name: str) -> Chosen:
    d = normal_dim(dim, max(x.ndim, 1))
    line = x.reshape(1) if x.ndim == 0 else x
    index = getattr(line.detach(), name)(d)
    return Chosen(line._gather(index, d).reshape(*x.shape), as_places(index.reshape(*x.shape)))
