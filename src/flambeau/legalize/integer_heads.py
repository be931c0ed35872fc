"""Sums, extremes, products, scans, sorts and scatters of 64-bit integers in 32-bit words.

What adds up is cut in limbs of so few bits that their sums stay below 2**32, and is put together again.
"""

from collections.abc import Callable
from math import prod
from typing import Any

from ..core import dtype as dt
from ..core.op import OPS, apply
from ..core.shape import Shape
from . import integers as rule
from . import long_sums, segments
from .integers import Integer, filled, narrowed, widened
from .pair import applied, gathered, moved, tensor_of

MOST = 1 << 16  # elements whose limbs of 16 bits add up in 32
PIECE = 1 << 14  # elements of a longer dim that are summed at once


def total(x: Integer, count: int, add_up: Callable[[Any], Any]) -> Integer:
    """What a linear op that adds up at most `count` elements makes of a value."""
    within = count * min(x.range[0], 0), count * max(x.range[1], 0)
    if x.is_narrow and within[0] >= -(2**31) and within[1] < 2**31:
        return narrowed(x.dtype, add_up(x.narrow), within)
    bits = next(n for n in (16, 8, 4) if count <= 1 << (32 - n))
    if x.is_narrow:  # its highest limb has the sign
        low = x.narrow.to(dt.uint32)
        limbs = [low >> k & (1 << bits) - 1 for k in range(0, 32 - bits, bits)]
        limbs.append(x.narrow >> (32 - bits))
        high = None
    else:
        low, high = x.words
        limbs = [low >> k & (1 << bits) - 1 for k in range(0, 32, bits)]
    made = None
    for k, limb in enumerate(limbs):
        s = add_up(limb)
        term = widened(x.dtype, s.to(dt.uint32) << k * bits, (s >> (32 - k * bits)).to(dt.uint32))
        if not k:
            term = widened(x.dtype, s.to(dt.uint32), filled(s, 0))
        made = term if made is None else rule.add(made, term)
    assert made is not None
    low, top = made.words
    return widened(x.dtype, low, top if high is None else top + add_up(high), within)


# --- reductions ---


def sum_(x: Integer, dims: tuple[int, ...]) -> Integer:
    """In int32 where that holds them; with carries what is read once; what is computed from words by limbs:
    dim by dim where they are more than limbs allow, and a long one in pieces."""
    count = prod(x.shape[d] for d in dims)
    most = max(abs(x.range[0]), abs(x.range[1])) * count
    if long_sums.is_read_once(x) and not (x.is_narrow and most < 2**31) and 0 not in x.shape:
        return long_sums.reduced(x, "sum", dims)
    if count <= MOST or (x.is_narrow and most < 2**31):
        return total(x, count, lambda t: applied("_sum", t, dims=dims))
    first, *rest = sorted(dims, key=lambda d: -x.shape[d])
    if x.shape[first] > MOST:
        pieces = in_pieces(x, first, PIECE)
        part = sum_(pieces, (first + 1,))
        shape = tuple(n for d, n in enumerate(part.shape) if d != first + 1)
        return sum_(moved(part, "reshape", shape=shape), dims)
    return sum_(sum_(x, (first,)), tuple(rest))


def in_pieces(x: Integer, dim: int, size: int) -> Integer:
    """A dim as (pieces, size), with zeros at the end."""
    count = -(-x.shape[dim] // size)
    more = count * size - x.shape[dim]
    if more:
        none = (0,) * len(x.shape)
        x = moved(x, "_pad", before=none, after=tuple(more * (d == dim) for d in range(len(x.shape))))
    return moved(x, "reshape", shape=(*x.shape[:dim], count, size, *x.shape[dim + 1 :]))


def extreme(name: str) -> Callable[[Integer, tuple[int, ...]], Integer]:
    """Of what is computed by the high words, and then by the low ones of those that have it."""
    worst = 0 if name == "_max" else 2**32 - 1

    def found(x: Integer, dims: tuple[int, ...]) -> Integer:
        if x.is_narrow:
            return narrowed(x.dtype, applied(name, x.narrow, dims=dims), x.range)
        if x.is_packed and 0 not in x.shape:
            return long_sums.reduced(x, name.strip("_"), dims)
        top = applied(name, x.top, dims=dims)
        low = (x.top == top).where(x.words[0], worst)
        return widened(x.dtype, applied(name, low, dims=dims), top.to(dt.uint32), x.range)

    return found


def product(x: Integer, dims: tuple[int, ...]) -> Integer:
    """Halves of a dim times each other, until one is left."""
    for d in dims:
        if not x.shape[d]:
            shape = tuple(1 if e == d else n for e, n in enumerate(x.shape))
            x = narrowed(x.dtype, rule.full(shape, 1, dt.int32, x.node.device), (1, 1))
        while (n := x.shape[d]) > 1:
            half = n // 2
            made = rule.multiply(part_of_dim(x, d, 0, half), part_of_dim(x, d, half, half))
            x = made if n % 2 == 0 else joined([made, part_of_dim(x, d, n - 1, 1)], d)
    return x


def part_of_dim(x: Integer, dim: int, start: int, size: int, step: int = 1) -> Integer:
    """Elements of a dim from one on."""
    rank = len(x.shape)
    starts, steps = tuple(start * (d == dim) for d in range(rank)), tuple(1 for _ in range(rank))
    shape = tuple(size if d == dim else n for d, n in enumerate(x.shape))
    return moved(x, "_slice", starts=starts, steps=steps, shape=shape)


def joined(parts: list[Integer], dim: int) -> Integer:
    """One after another along a dim."""
    parts = [x for x in parts if 0 not in x.shape] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    within = min(x.range[0] for x in parts), max(x.range[1] for x in parts)
    if all(x.is_narrow for x in parts):
        return narrowed(parts[0].dtype, applied("_cat", *[x.narrow for x in parts], dim=dim), within)
    if all(x.is_packed for x in parts):
        packed = applied("_cat", *[x.packed for x in parts], dim=dim)
        return Integer(parts[0].dtype, packed.shape[:-1], packed=packed, within=within)
    low, high = (applied("_cat", *words, dim=dim) for words in zip(*[x.words for x in parts], strict=True))
    return widened(parts[0].dtype, low, high, within)


# --- scans ---


def cumulative_sum(x: Integer, dim: int) -> Integer:
    """Long dims in pieces, each of which begins with the sum of those before."""
    n = x.shape[dim]
    most = max(abs(x.range[0]), abs(x.range[1])) * n
    if long_sums.is_read_once(x) and not (x.is_narrow and most < 2**31) and 0 not in x.shape:
        return long_sums.so_far(x, dim)
    if n <= MOST or (x.is_narrow and most < 2**31):
        return total(x, n, lambda t: applied("_cumsum", t, dim=dim))
    pieces = in_pieces(x, dim, PIECE)
    within = cumulative_sum(pieces, dim + 1)
    ends = part_of_dim(within, dim + 1, PIECE - 1, 1)
    before = rule.subtract(cumulative_sum(ends, dim), ends)
    whole = rule.add(within, rule.spread(before, within.shape))
    shape = (*x.shape[:dim], within.shape[dim] * PIECE, *x.shape[dim + 1 :])
    return part_of_dim(moved(whole, "reshape", shape=shape), dim, 0, n)


def cumulative_product(x: Integer, dim: int) -> Integer:
    """Each element times the one 1, 2, 4, ... before."""
    n, step = x.shape[dim], 1
    while step < n:
        made = rule.multiply(part_of_dim(x, dim, 0, n - step), part_of_dim(x, dim, step, n - step))
        x = joined([part_of_dim(x, dim, 0, step), made], dim)
        step *= 2
    return x


def running_extreme(sign: int) -> Callable[[Integer, int], Any]:
    """Places of the best so far, the latest of equals: the better of each element's and that of 1, 2, 4, ...
    before."""

    def beats(a: Integer, b: Integer) -> Any:
        return ~(rule.less(a, b) if sign > 0 else rule.less(b, a))

    def places(x: Integer, dim: int) -> Any:
        n, step = x.shape[dim], 1
        iota = tensor_of(apply(OPS["iota"], (), {"n": n}, device=x.node.device))
        at = iota.reshape(*(n if d == dim else 1 for d in range(len(x.shape)))).expand(*x.shape)
        while step < n:
            size = n - step
            late, early = part_of_dim(x, dim, step, size), part_of_dim(x, dim, 0, size)
            wins = beats(late, early)
            best = rule.choose(wins, late, early)
            found = wins.where(at.narrow(dim, step, size), at.narrow(dim, 0, size))
            x = joined([part_of_dim(x, dim, 0, step), best], dim)
            at = applied("_cat", at.narrow(dim, 0, step), found, dim=dim)
            step *= 2
        return at

    return places


# --- sorts ---


def order(x: Integer, descending: bool, bits: int) -> Any:
    """By the low words, and then by the high ones, which leaves equals as they are."""
    if x.is_narrow:
        return applied("_argsort", x.narrow, descending=descending, bits=min(bits, 32))
    last = len(x.shape) - 1
    first = applied("_argsort", x.words[0], descending=descending, bits=32)
    top = applied("_gather", x.top, first, dim=last)
    second = applied("_argsort", top, descending=descending, bits=32)
    return applied("_gather", first, second, dim=last)


def _ranks(x: Integer) -> Any:
    """The place of each element of the last dim among all in order."""
    places = order(x, False, 64)
    n = x.shape[-1]
    line = tensor_of(apply(OPS["iota"], (), {"n": n}, device=x.node.device)).expand(*x.shape)
    return applied("_back", line, places)


def search(table: Integer, x: Integer, right: bool) -> Any:
    """Ranks among both, less those among what is searched for alone."""
    if table.is_narrow and x.is_narrow:
        return applied("_search", table.narrow, x.narrow, right=right)
    shape = x.shape
    if len(table.shape) == 1:
        x = moved(x, "reshape", shape=(prod(shape),))
    n, m = table.shape[-1], x.shape[-1]
    if not n or not m:
        return rule.full(shape, 0, dt.int32, x.node.device)
    last = len(x.shape) - 1
    if len(table.shape) > len(x.shape):
        x = rule.spread(x, (*table.shape[:-1], m))
    both = _ranks(joined([table, x] if right else [x, table], last))
    return (both.narrow(last, n if right else 0, m) - _ranks(x)).reshape(*shape)


# --- scatters ---


def _rows_joined(a: Integer, b: Integer) -> Integer:
    return joined([a, b], 0)


ARITHMETIC = segments.Arithmetic(rule.multiply, rule.choose, part_of_dim, _rows_joined)


def scatter(x: Integer, keys: Any, places: Any, src: Integer, join: str) -> Integer:
    """Rows of src joined to rows of x; keys are the destinations sorted, by `places`."""
    keys, places = rule.index_of(keys), rule.index_of(places)

    def put(t: Any, values: Any, how: str) -> Any:
        return applied("_scatter_sorted", t, keys, places, values, join=how)

    if join == "sum":
        added = total(src, max(src.shape[0], 1), lambda t: put(filled(x.words[0], 0, t.dtype), t, "sum"))
        return rule.add(x, added)
    if join == "prod":
        return segments.product(ARITHMETIC, x, keys, places, src)
    worst = 0 if join == "max" else 2**32 - 1
    top = put(x.top, src.top, join)
    where = applied("_back", keys.reshape(1, -1), places.reshape(1, -1)).reshape(-1)
    mine = (x.top == top).where(x.words[0], worst)
    index = where.unsqueeze(1).expand(*src.shape)
    theirs = (src.top == applied("_gather", top, index, dim=0)).where(src.words[0], worst)
    return widened(x.dtype, put(mine, theirs, join), top.to(dt.uint32))


# --- products of matrices ---


def contraction(a: Integer, b: Integer, nk: int, label: str, **precision: str) -> Integer:
    """Products that are summed; by int32 where that holds all of it."""
    shape: Shape = tuple(max(n, m) if n and m else 0 for n, m in zip(a.shape, b.shape, strict=True))
    lead = len(shape) - nk
    count = prod(shape[lead:])
    most = max(map(abs, a.range)) * max(map(abs, b.range)) * count
    if a.is_narrow and b.is_narrow and most < 2**31:
        made = applied("_contract", a.narrow, b.narrow, nk=nk, label=label)
        return narrowed(a.dtype, made, (-most, most))
    whole = rule.multiply(rule.spread(a, shape), rule.spread(b, shape))
    summed = sum_(whole, tuple(range(lead, len(shape))))
    return moved(summed, "reshape", shape=shape[:lead])


def folded(x: Integer, spec: Any, size: Any) -> Integer:
    taps = prod(w.kernel for w in spec)
    return total(x, taps, lambda t: applied("_fold", t, spec=spec, size=size))


def _cat(*parts: Integer, dim: int) -> Integer:
    return joined(list(parts), dim)


def _gather(x: Integer, index: Any, dim: int) -> Integer:
    return gathered(x, rule.index_of(index), dim)


def _back(x: Integer, places: Any) -> Integer:
    return x.mapped(lambda t: applied("_back", t, rule.index_of(places)))


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
    "_fold": folded,
    "_cat": _cat,
    "_gather": _gather,
    "_back": _back,
}
