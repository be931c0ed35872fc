"""Rows folded into rows by index, in a fixed order: what every scatter and index gradient is made of.

Where indices repeat, sums, products and extremes join in the order of the sources, and an assignment takes
the last, as NumPy does. There are no atomics: destinations are sorted, then each element of the result finds
those that are its own.
"""

from math import prod

from .. import dtype as dt
from ..op import Family, Launch, composite, kernel

CHUNK = 64  # neighbours in a run that are joined before the run is
GROUP = 64


def _scatter_launch(limits, x, keys, order, src, *, join):
    count, width = src.shape
    launches, levels = [], 0
    span, reads = CHUNK, 3
    while join != "assign" and levels < 2 and count >= span * 16:
        size = count // span * width
        launches.append(
            Launch(
                "scatter_parts.wgsl", (1, 2, "part0" if levels else reads), -(-size // GROUP),
                {"size": size, "width": width, "span": span, "chunk": CHUNK}, {"join": join, "level": levels},
                writes=f"part{levels}", elements=size,
            )
        )  # fmt: skip
        span, levels = span * CHUNK, levels + 1
    size = prod(x.shape)
    names = [f"part{level}" for level in range(levels)]
    sizes = {"size": size, "width": width, "count": count, "chunk": CHUNK}
    groups = -(-size // GROUP)
    options = {"join": join, "levels": levels}
    turns = count // CHUNK**levels + 2 * CHUNK * levels + 32
    return [
        *launches,
        Launch("scatter.wgsl", (1, 2, 3, *names), groups, sizes, options, traced=0, turns=turns),
    ]


def _scatter_xp(xp, x, keys, order, src, join):
    y = x.copy()
    places, rows = keys, src[order]
    if join == "assign":
        last = xp.append(places[1:] != places[:-1], True)
        y[places[last]] = rows[last]
    else:
        fold = {"sum": xp.add, "prod": xp.multiply, "max": xp.maximum, "min": xp.minimum}[join]
        fold.at(y, places, rows)
    return y


class Rows(Family):
    @kernel(
        "whole",
        shape=lambda x, keys, order, src, join: x,
        dtype=lambda x, keys, order, src, join: x,
        xp=_scatter_xp,
        launch=_scatter_launch,
    )
    def _scatter_sorted(self, keys, order, src, join):
        """Rows of src joined to rows of self; keys are the destinations sorted, by `order`.

        [v, d], [j], [j], [j, d] -> [v, d]
        """
        return (self, keys, order, src), {"join": join}


def join_rows(x, place, src, reduce, include_self=True):
    """Rows of src joined to the rows of x at `place`. [v, d], [j] in 0..v, [j, d] -> [v, d]"""
    if 0 in x.shape or 0 in src.shape:
        return x
    if x.dtype is dt.bool_ and reduce != "assign":
        return join_rows(x.int(), place, src.int(), reduce, include_self).bool()
    if reduce == "assign":
        return put_rows(x, place, src.to(x.dtype), join="assign")
    hit = None if include_self else put_rows(few(x, False), place, few(src, True), join="assign")
    if hit is not None:
        start = {"sum": 0, "mean": 0, "prod": 1}.get(reduce)
        x = hit.where(_extreme(x.dtype, reduce) if start is None else start, x)
    if reduce == "mean":
        total = put_rows(x, place, src, join="sum")
        start = few(x, 1) if hit is None else hit.where(0, 1)
        count = put_rows(start, place, few(src, 1), join="sum")
        return total / count if x.dtype.is_float else total // count
    return put_rows(x, place, src, join={"amax": "max", "amin": "min"}.get(reduce, reduce))


def few(x, value):
    return type(x).full((x.shape[0], 1), value, device=x.device)


def _extreme(dtype, reduce):
    """What an extreme starts from."""
    if dtype.is_float:
        return float("-inf") if reduce == "amax" else float("inf")
    low, high = (0, 2**32 - 1) if dtype.kind == "u" else (-(2**31), 2**31 - 1)
    return low if reduce == "amax" else high


def _put_grad(g, y, x, place, src, join):
    return PUT_GRADS[join](g, y, x, place, src)


def _assign_grad(g, y, x, place, src):
    """Only the last of equal places has a gradient, and what it replaced has none."""
    mine = type(g).arange(src.shape[0], device=g.device).unsqueeze(1)
    last = put_rows(few(x, -1), place, mine, join="assign")
    won = last.index_select(0, place) == mine
    return [(last < 0).where(g, 0), None, won.where(g.index_select(0, place), 0)]


def _extreme_grad(g, y, x, place, src):
    """Shared equally among equals, as PyTorch's."""
    mine, theirs = x == y, src == y.index_select(0, place)
    count = put_rows(mine.to(g.dtype), place, theirs.to(g.dtype), join="sum")
    share = g / count
    return [mine.where(share, 0), None, theirs.where(share.index_select(0, place), 0)]


def _product_grad(g, y, x, place, src):
    """The product of the others: of all by itself where nothing is 0, else only a single zero has one."""
    zero, zeros = x == 0, src == 0
    count = put_rows(zero.to(g.dtype), place, zeros.to(g.dtype), join="sum")
    x, src = zero.where(1, x), zeros.where(1, src)
    others = put_rows(x, place, src, join="prod")
    plain, single = (count == 0).where(g * others, 0), (count == 1).where(g * others, 0)
    mine = zero.where(single, plain / x)
    return [mine, None, zeros.where(single.index_select(0, place), plain.index_select(0, place) / src)]


PUT_GRADS = {
    "sum": lambda g, y, x, place, src: [g, None, g.index_select(0, place)],
    "assign": _assign_grad,
    "prod": _product_grad,
    "max": _extreme_grad,
    "min": _extreme_grad,
}


@composite(grad=_put_grad)
def _put_rows(x, place, src, *, join):
    """Rows of src joined to (or put as) the rows of x at `place`. [v, d], [j] in 0..v, [j, d] -> [v, d]"""
    j = src.shape[0]
    if j == 1:
        return _one_row(x, place, src, join)
    order = place._argsort(False, max(x.shape[0] - 1, 1).bit_length())  # as many passes as places need
    return x._scatter_sorted(place.gather(0, order), order, src, join)


def _one_row(x, place, src, join):
    hit = type(x).arange(x.shape[0], device=x.device) == place
    joined = {"sum": x.__add__, "prod": x.__mul__, "max": x.maximum, "min": x.minimum}
    return hit.unsqueeze(1).where(src if join == "assign" else joined[join](src), x)


put_rows = _put_rows
