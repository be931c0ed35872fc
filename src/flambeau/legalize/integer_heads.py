"""Computes sums, extremes, products, scans, sorts and scatters of 64-bit integers in 32-bit words.

Sums split each value into limbs of so few bits that the sum of each limb stays below 2**32, and combine
these.
"""

from collections.abc import Callable
from math import prod
from typing import Any

from ..core import dtype as dt
from ..core.op import OPS, apply
from ..core.shape import Shape
from . import integers as rule
from . import long_sums, segments
from .integers import Integer, fill_like, from_narrow, from_words
from .pair import call_op, gather, move, tensor_of

MOST = 1 << 16  # elements whose limbs of 16 bits add up in 32
PIECE = 1 << 14  # elements of a longer dim that are summed at once


def total(x: Integer, count: int, add_up: Callable[[Any], Any]) -> Integer:
    """Apply a linear op that adds up at most `count` elements to a value."""
    within = count * min(x.range[0], 0), count * max(x.range[1], 0)
    if x.is_narrow and within[0] >= -(2**31) and within[1] < 2**31:
        return from_narrow(x.dtype, add_up(x.narrow), within)
    # A limb of `bits` bits is below 2**bits, so `count` of them stay below 2**32.
    bits = next(n for n in (16, 8, 4) if count <= 1 << (32 - n))
    if x.is_narrow:  # its highest limb has the sign
        low = x.narrow.to(dt.uint32)
        limbs = [low >> k & (1 << bits) - 1 for k in range(0, 32 - bits, bits)]
        limbs.append(x.narrow >> (32 - bits))
        high = None  # no word above the limbs to add
    else:
        low, high = x.words
        limbs = [low >> k & (1 << bits) - 1 for k in range(0, 32, bits)]
    sums = None
    for k, limb in enumerate(limbs):
        s = add_up(limb)
        # s * 2**(k * bits) as two words.
        term = from_words(x.dtype, s.to(dt.uint32) << k * bits, (s >> (32 - k * bits)).to(dt.uint32))
        if not k:
            term = from_words(x.dtype, s.to(dt.uint32), fill_like(s, 0))
        sums = term if sums is None else rule.add(sums, term)
    assert sums is not None
    low, top = sums.words
    # The high word may wrap around: sums are modulo 2**64.
    return from_words(x.dtype, low, top if high is None else top + add_up(high), within)


# --- reductions ---


def sum_(x: Integer, dims: tuple[int, ...]) -> Integer:
    """The sum over dims: in int32 if the result fits; by a kernel with carries if that can read the value;
    else by limbs, dim by dim if they are more than limbs allow, and a long dim in pieces."""
    count = prod(x.shape[d] for d in dims)
    most = max(abs(x.range[0]), abs(x.range[1])) * count
    if long_sums.is_read_once(x) and not (x.is_narrow and most < 2**31) and 0 not in x.shape:
        return long_sums.reduce(x, "sum", dims)
    if count <= MOST or (x.is_narrow and most < 2**31):
        return total(x, count, lambda t: call_op("_sum", t, dims=dims))
    first, *rest = sorted(dims, key=lambda d: -x.shape[d])
    if x.shape[first] > MOST:
        pieces = in_pieces(x, first, PIECE)
        part = sum_(pieces, (first + 1,))
        shape = tuple(n for d, n in enumerate(part.shape) if d != first + 1)
        return sum_(move(part, "reshape", shape=shape), dims)
    return sum_(sum_(x, (first,)), tuple(rest))


def in_pieces(x: Integer, dim: int, size: int) -> Integer:
    """A dim as (pieces, size), with zeros at the end."""
    count = -(-x.shape[dim] // size)
    more = count * size - x.shape[dim]
    if more:
        none = (0,) * len(x.shape)
        x = move(x, "_pad", before=none, after=tuple(more * (d == dim) for d in range(len(x.shape))))
    return move(x, "reshape", shape=(*x.shape[:dim], count, size, *x.shape[dim + 1 :]))


def extreme(name: str) -> Callable[[Integer, tuple[int, ...]], Integer]:
    """The largest or least value: that of the high words, then that of the low words of elements with that
    high word. Packed words are reduced by one kernel."""
    worst = 0 if name == "_max" else 2**32 - 1  # never wins among low words

    def reduce_words(x: Integer, dims: tuple[int, ...]) -> Integer:
        if x.is_narrow:
            return from_narrow(x.dtype, call_op(name, x.narrow, dims=dims), x.range)
        if x.is_packed and 0 not in x.shape:
            return long_sums.reduce(x, name.strip("_"), dims)
        top = call_op(name, x.top, dims=dims)
        low = (x.top == top).where(x.words[0], worst)
        return from_words(x.dtype, call_op(name, low, dims=dims), top.to(dt.uint32), x.range)

    return reduce_words


def product(x: Integer, dims: tuple[int, ...]) -> Integer:
    """Halves of a dim times each other, until one is left."""
    for d in dims:
        if not x.shape[d]:
            shape = tuple(1 if e == d else n for e, n in enumerate(x.shape))
            x = from_narrow(x.dtype, rule.full(shape, 1, dt.int32, x.node.device), (1, 1))
        while (n := x.shape[d]) > 1:
            half = n // 2
            products = rule.multiply(part_of_dim(x, d, 0, half), part_of_dim(x, d, half, half))
            x = products if n % 2 == 0 else concatenate([products, part_of_dim(x, d, n - 1, 1)], d)
    return x


def part_of_dim(x: Integer, dim: int, start: int, size: int, step: int = 1) -> Integer:
    """`size` elements of a dim from `start` on."""
    rank = len(x.shape)
    starts, steps = tuple(start * (d == dim) for d in range(rank)), tuple(1 for _ in range(rank))
    shape = tuple(size if d == dim else n for d, n in enumerate(x.shape))
    return move(x, "_slice", starts=starts, steps=steps, shape=shape)


def concatenate(parts: list[Integer], dim: int) -> Integer:
    """Concatenate values along a dim."""
    parts = [x for x in parts if 0 not in x.shape] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    within = min(x.range[0] for x in parts), max(x.range[1] for x in parts)
    if all(x.is_narrow for x in parts):
        return from_narrow(parts[0].dtype, call_op("_cat", *[x.narrow for x in parts], dim=dim), within)
    if all(x.is_packed for x in parts):
        packed = call_op("_cat", *[x.packed for x in parts], dim=dim)
        return Integer(parts[0].dtype, packed.shape[:-1], packed=packed, within=within)
    low, high = (call_op("_cat", *words, dim=dim) for words in zip(*[x.words for x in parts], strict=True))
    return from_words(parts[0].dtype, low, high, within)


# --- scans ---


def cumulative_sum(x: Integer, dim: int) -> Integer:
    """Running sums; of long dims in pieces, to each of which the sum of the pieces before is added."""
    n = x.shape[dim]
    most = max(abs(x.range[0]), abs(x.range[1])) * n
    if long_sums.is_read_once(x) and not (x.is_narrow and most < 2**31) and 0 not in x.shape:
        return long_sums.so_far(x, dim)
    if n <= MOST or (x.is_narrow and most < 2**31):
        return total(x, n, lambda t: call_op("_cumsum", t, dim=dim))
    pieces = in_pieces(x, dim, PIECE)
    within = cumulative_sum(pieces, dim + 1)
    ends = part_of_dim(within, dim + 1, PIECE - 1, 1)
    before = rule.subtract(cumulative_sum(ends, dim), ends)  # exclusive sums of pieces
    scanned = rule.add(within, rule.expand_to(before, within.shape))
    shape = (*x.shape[:dim], within.shape[dim] * PIECE, *x.shape[dim + 1 :])
    return part_of_dim(move(scanned, "reshape", shape=shape), dim, 0, n)


def cumulative_product(x: Integer, dim: int) -> Integer:
    """Running products: in turns, each element times the one 1, 2, 4, ... before it."""
    n, step = x.shape[dim], 1
    while step < n:
        products = rule.multiply(part_of_dim(x, dim, 0, n - step), part_of_dim(x, dim, step, n - step))
        x = concatenate([part_of_dim(x, dim, 0, step), products], dim)
        step *= 2
    return x


def running_extreme(sign: int) -> Callable[[Integer, int], Any]:
    """Indices of the running extremes, the latest of equals: in turns, the better of each element and the one
    1, 2, 4, ... before it."""

    def beats(a: Integer, b: Integer) -> Any:
        return ~(rule.less(a, b) if sign > 0 else rule.less(b, a))

    def places(x: Integer, dim: int) -> Any:
        n, step = x.shape[dim], 1
        iota = tensor_of(apply(OPS["iota"], (), {"n": n}, device=x.node.device))
        positions = iota.reshape(*(n if d == dim else 1 for d in range(len(x.shape)))).expand(*x.shape)
        while step < n:
            size = n - step
            late, early = part_of_dim(x, dim, step, size), part_of_dim(x, dim, 0, size)
            wins = beats(late, early)
            best = rule.choose(wins, late, early)
            best_at = wins.where(positions.narrow(dim, step, size), positions.narrow(dim, 0, size))
            x = concatenate([part_of_dim(x, dim, 0, step), best], dim)
            positions = call_op("_cat", positions.narrow(dim, 0, step), best_at, dim=dim)
            step *= 2
        return positions

    return places


# --- sorts ---


def order(x: Integer, descending: bool, bits: int, first: int = 0) -> Any:
    """Sort by the low words, then by the high ones; the second sort is stable. first: see `_argsort`."""
    if x.is_narrow:
        return call_op("_argsort", x.narrow, descending=descending, bits=min(bits, 32), first=first)
    last = len(x.shape) - 1
    # Least significant word first, as in a radix sort.
    by_low = call_op("_argsort", x.words[0], descending=descending, bits=32, first=0)
    top = call_op("_gather", x.top, by_low, dim=last)
    by_high = call_op("_argsort", top, descending=descending, bits=32, first=first)
    return call_op("_gather", by_low, by_high, dim=last)


def _ranks(x: Integer) -> Any:
    """The rank of each element of the last dim."""
    places = order(x, False, 64)
    n = x.shape[-1]
    line = tensor_of(apply(OPS["iota"], (), {"n": n}, device=x.node.device)).expand(*x.shape)
    return call_op("_back", line, places)


def search(table: Integer, x: Integer, right: bool) -> Any:
    """Insertion points: the ranks of x among table and x, minus the ranks of x among x."""
    if table.is_narrow and x.is_narrow:
        return call_op("_search", table.narrow, x.narrow, right=right)
    shape = x.shape
    if len(table.shape) == 1:
        x = move(x, "reshape", shape=(prod(shape),))
    n, m = table.shape[-1], x.shape[-1]
    if not n or not m:
        return rule.full(shape, 0, dt.int32, x.node.device)
    last = len(x.shape) - 1
    if len(table.shape) > len(x.shape):
        x = rule.expand_to(x, (*table.shape[:-1], m))
    # Ranks are stable: equal elements rank in the order in which they are joined, which decides the side.
    both = _ranks(concatenate([table, x] if right else [x, table], last))
    return (both.narrow(last, n if right else 0, m) - _ranks(x)).reshape(*shape)


# --- scatters ---


def _join_rows(a: Integer, b: Integer) -> Integer:
    return concatenate([a, b], 0)


ARITHMETIC = segments.Arithmetic(rule.multiply, rule.choose, part_of_dim, _join_rows)


def scatter(x: Integer, keys: Any, places: Any, src: Integer, join: str) -> Integer:
    """x with rows of src joined to its rows by `join`; keys are the destinations sorted, by `places`."""
    keys, places = rule.index_of(keys), rule.index_of(places)

    def put(t: Any, values: Any, how: str) -> Any:
        return call_op("_scatter_sorted", t, keys, places, values, join=how)

    if join == "sum":
        # At most all rows go to one destination.
        added = total(src, max(src.shape[0], 1), lambda t: put(fill_like(x.words[0], 0, t.dtype), t, "sum"))
        return rule.add(x, added)
    if join == "prod":
        return segments.product(ARITHMETIC, x, keys, places, src)
    worst = 0 if join == "max" else 2**32 - 1
    top = put(x.top, src.top, join)
    # The destination of each row of src, in src's order.
    where = call_op("_back", keys.reshape(1, -1), places.reshape(1, -1)).reshape(-1)
    # Low words count only where the high word is the winning one.
    own_words = (x.top == top).where(x.words[0], worst)
    index = where.unsqueeze(1).expand(*src.shape)
    source_words = (src.top == call_op("_gather", top, index, dim=0)).where(src.words[0], worst)
    return from_words(x.dtype, put(own_words, source_words, join), top.to(dt.uint32))


# --- products of matrices ---


def contraction(a: Integer, b: Integer, nk: int, label: str, **precision: str) -> Integer:
    """A contraction: in int32 if all sums fit, else the sum of broadcast products."""
    shape: Shape = tuple(max(n, m) if n and m else 0 for n, m in zip(a.shape, b.shape, strict=True))
    lead = len(shape) - nk
    count = prod(shape[lead:])
    most = max(map(abs, a.range)) * max(map(abs, b.range)) * count
    if a.is_narrow and b.is_narrow and most < 2**31:
        products = call_op("_contract", a.narrow, b.narrow, nk=nk, label=label)
        return from_narrow(a.dtype, products, (-most, most))
    products = rule.multiply(rule.expand_to(a, shape), rule.expand_to(b, shape))
    summed = sum_(products, tuple(range(lead, len(shape))))
    return move(summed, "reshape", shape=shape[:lead])


def fold(x: Integer, spec: Any, size: Any) -> Integer:
    taps = prod(w.kernel for w in spec)
    return total(x, taps, lambda t: call_op("_fold", t, spec=spec, size=size))


def _cat(*parts: Integer, dim: int) -> Integer:
    return concatenate(list(parts), dim)


def _gather(x: Integer, index: Any, dim: int) -> Integer:
    return gather(x, rule.index_of(index), dim)


def _back(x: Integer, places: Any) -> Integer:
    return x.map_words(lambda t: call_op("_back", t, rule.index_of(places)))


RULES: dict[str, Callable[..., Any]] = {
    "_sum": sum_,
    "_prod": product,
    "_max": extreme("_max"),
    "_min": extreme("_min"),
    "_cumsum": cumulative_sum,
    "_cumprod": cumulative_product,
    "_cummax": running_extreme(1),
    "_cummin": running_extreme(-1),
    "_argsort": order,
    "_search": search,
    "_scatter_sorted": scatter,
    "_contract": contraction,
    "_fold": fold,
    "_cat": _cat,
    "_gather": _gather,
    "_back": _back,
}
