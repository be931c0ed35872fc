"""Reduces rows into rows by index, in a fixed order: the base of all scatters and index gradients.

If indices repeat, an assignment keeps the last source, as in NumPy: an atomic maximum of source positions,
whose result does not depend on the order. Sums, products and extremes combine sources in order, without
atomics: destinations are sorted, then each element of the result reduces its run of sources.
"""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core.declare import composite, kernel
from ...core.modes import is_grad_enabled
from ...core.op import UNORDERED, Family, Launch
from ..elementwise import choose, depend_on
from .indices import slices

if TYPE_CHECKING:
    from ...core.limits import Limits
    from ...core.node import Node
    from ...core.rules import Gradients, Prepared
    from ...core.shape import Shape
    from ...tensor import Tensor

CHUNK = 64  # neighbours of a run that are reduced to a partial result first
GROUP = 64


def begun(n: int, value: str, dtype: dt.DType = dt.int32) -> Launch:
    """The launch that fills a result of n elements, which atomics then update."""
    width = 4 if n >= 4 else 1  # vec4s are filled if there is one; the rest is within the buffer's padding
    count = -(-n // width)
    return Launch("map/fill.wgsl", (), -(-count // GROUP), {"size": count}, {"value": value}, width=width)


def _last_launches(limits: Limits, place: Node, n: int) -> list[Launch]:
    count = prod(place.shape)
    groups = -(-count // GROUP)
    return [
        begun(n, "-1"),
        Launch("scatter/last_writer.wgsl", (), groups, {"size": count}, {"atomics": True}, traced=0),
    ]


def _last_xp(xp: Any, place: Any, n: int) -> Any:
    out = xp.full((n,), -1, dtype="int32")
    # in place and unordered, but a maximum doesn't depend on the order
    xp.maximum.at(out, place, xp.arange(place.shape[0], dtype="int32"))
    return out


def _scatter_launch(
    limits: Limits, x: Node, keys: Node, order: Node, src: Node, *, join: str
) -> list[Launch]:
    count, width = src.shape
    wide = 4 if width % 4 == 0 else 1
    width //= wide
    rows = x.shape[0]
    starts = Launch(
        "scatter/segment_starts.wgsl",
        (1,),
        -(-(rows + 1) // GROUP),
        {"rows": rows, "count": count},
        writes="starts",
        elements=rows + 1,
        dtype=dt.uint32,
    )
    launches, levels, span = [starts], 0, CHUNK
    # Long runs in levels: partial results of 64 sources, then of 64 of these.
    while levels < 2 and count >= span * 16:
        size = count // span * width
        launches.append(
            Launch(
                "scatter/segment_parts.wgsl",
                (1, 2, "part0" if levels else 3),
                -(-size // GROUP),
                {"size": size, "width": width, "span": span, "chunk": CHUNK},
                {"join": join, "level": levels},
                writes=f"part{levels}",
                elements=size * wide,
                width=wide,
                wide=(2,) if wide == 4 else (),
            )
        )
        span, levels = span * CHUNK, levels + 1
    reads = (2, 3, "starts", *(f"part{level}" for level in range(levels)))
    sizes = {"size": rows * width, "width": width} | ({"chunk": CHUNK} if levels else {})
    # A run of all sources: partial results in its middle, single sources at both ends.
    turns = count // CHUNK**levels + 2 * CHUNK * levels + 32
    last = Launch(
        "scatter/segments.wgsl",
        reads,
        -(-rows * width // GROUP),
        sizes,
        {"join": join, "levels": levels},
        traced=0,
        turns=turns,
        width=wide,
        wide=(1, *range(3, 3 + levels)) if wide == 4 else (),
        fours=wide == 4,
    )
    return [*launches, last]


def _scatter_xp(xp: Any, x: Any, keys: Any, order: Any, src: Any, join: str) -> Any:
    y = x.copy()
    # in the order of `order`, one after another
    fold = {"sum": xp.add, "prod": xp.multiply, "max": xp.maximum, "min": xp.minimum}[join]
    fold.at(y, keys, src[order])
    return y


def _scatter_shape(x: Shape, keys: Shape, order: Shape, src: Shape, join: str) -> Shape:
    return x


def _scatter_dtype(x: dt.DType, keys: dt.DType, order: dt.DType, src: dt.DType, join: str) -> dt.DType:
    return x


class ScatterRows(Family):
    @kernel(
        "opaque",
        shape=lambda place, n: (n,),
        dtype=lambda place, n: dt.int32,
        xp=_last_xp,
        launch=_last_launches,
    )
    def _last(self: Any, n: int) -> Prepared:
        """The position of the last element equal to each of 0 to n - 1, or -1. [j] in 0..n -> [n] int32"""
        return (self,), {"n": n}

    @kernel(
        "opaque",
        shape=_scatter_shape,
        dtype=_scatter_dtype,
        dtypes="fiuc",
        xp=_scatter_xp,
        launch=_scatter_launch,
    )
    def _scatter_sorted(self: Any, keys: Tensor, order: Tensor, src: Tensor, join: str) -> Prepared:
        """Rows of src reduced into rows of self. keys: the destinations, sorted by `order`.

        [v, d], [j], [j], [j, d] -> [v, d]
        """
        if self.dtype.is_complex and join in ("max", "min"):
            raise TypeError(UNORDERED)
        return (self, keys, order, src), {"join": join}


def join_rows(x: Tensor, place: Tensor, src: Tensor, reduce: str, include_self: bool = True) -> Tensor:
    """Rows of src reduced into the rows of x at `place`. [v, d], [j] in 0..v, [j, d] -> [v, d]"""
    if 0 in x.shape or 0 in src.shape:
        return depend_on(x, src)
    if x.dtype is dt.bool_ and reduce != "assign":
        return join_rows(x.int(), place, src.int(), reduce, include_self).bool()
    if reduce == "assign":  # no arithmetic: the last source is copied
        return put_rows(x, place, src.to(x.dtype), join="assign")
    hit = None if include_self else is_indexed(x, place)
    if hit is not None:
        start = {"sum": 0, "mean": 0, "prod": 1}.get(reduce)
        # Without include_self, indexed rows begin at the neutral element.
        x = choose(hit, _extreme(x.dtype, reduce) if start is None else start, x)
    if reduce == "mean":
        total = put_rows(x, place, src, join="sum")
        start = column(x, 1) if hit is None else hit.where(0, 1)  # the old row counts as one of the elements
        count = put_rows(start, place, column(src, 1), join="sum")
        # integers round down, as in PyTorch
        return total / count if x.dtype.has_gradients else total // count
    return put_rows(x, place, src, join={"amax": "max", "amin": "min"}.get(reduce, reduce))


def is_indexed(x: Tensor, place: Tensor) -> Tensor:
    """Whether each row of x occurs in `place`. [v, d], [j] in 0..v -> [v, 1]"""
    return (place._last(x.shape[0]) >= 0).unsqueeze(1)


def column(x: Tensor, value: float) -> Tensor:
    """One value for each row of x. [v, d] -> [v, 1]"""
    return type(x).full((x.shape[0], 1), value, device=x.device)


def _extreme(dtype: dt.DType, reduce: str) -> float:
    """The neutral element of amax or amin."""
    if dtype.is_float:
        return float("-inf") if reduce == "amax" else float("inf")
    info = dt.INTS[dtype]
    return info.min if reduce == "amax" else info.max


def _put_grad(g: Tensor, y: Tensor, x: Tensor, place: Tensor, src: Tensor, join: str) -> Gradients:
    return PUT_GRADS[join](g, y, x, place, src)


def _assign_grad(g: Tensor, y: Tensor, x: Tensor, place: Tensor, src: Tensor) -> Gradients:
    """The last of equal indices gets the gradient; the replaced row gets none."""
    last = place._last(x.shape[0])
    # whether a source is the one that was written
    is_last = slices(last, place, dim=0) == type(g).arange(src.shape[0], dtype=dt.int32, device=g.device)
    of_x = (last < 0).unsqueeze(1).where(g, 0)
    return [of_x, None, is_last.unsqueeze(1).where(slices(g, place, dim=0), 0)]


def _extreme_grad(g: Tensor, y: Tensor, x: Tensor, place: Tensor, src: Tensor) -> Gradients:
    """Equal elements share the gradient, as in PyTorch."""
    in_x, in_src = x == y, src == slices(y, place, dim=0)
    count = put_rows(in_x.to(g.dtype), place, in_src.to(g.dtype), join="sum")
    share = g / count
    return [in_x.where(share, 0), None, in_src.where(slices(share, place, dim=0), 0)]


def _product_grad(g: Tensor, y: Tensor, x: Tensor, place: Tensor, src: Tensor) -> Gradients:
    """The product of the other factors: the full product divided by the factor. Among factors with zeros,
    only a single zero has a gradient."""
    zero, zeros = x == 0, src == 0
    count = put_rows(zero.to(g.dtype), place, zeros.to(g.dtype), join="sum")
    # the product of the factors that are not 0, and the number of zeros, give every product of others
    x_or_1, src_or_1 = zero.where(1, x), zeros.where(1, src)
    others = put_rows(x_or_1, place, src_or_1, join="prod")
    plain, single = (count == 0).where(g * others, 0), (count == 1).where(g * others, 0)
    if not is_grad_enabled():
        of_x = zero.where(single, plain / x_or_1)
        of_src = zeros.where(slices(single, place, dim=0), slices(plain, place, dim=0) / src_or_1)
        return [of_x, None, of_src]
    # For second derivatives the zeros stay factors: a single zero appears in the gradients of the others,
    # each of two zeros in that of the other.
    zero_sum = put_rows(zero.where(x, 0), place, zeros.where(src, 0), join="sum")
    plain, double = plain + single * zero_sum, (count == 2).where(g * others, 0)
    of_x = zero.where(single + double * (zero_sum - x), plain / x_or_1)
    single, double, plain, zero_sum = (slices(t, place, dim=0) for t in (single, double, plain, zero_sum))
    return [of_x, None, zeros.where(single + double * (zero_sum - src), plain / src_or_1)]


def _sum_grad(g: Tensor, y: Tensor, x: Tensor, place: Tensor, src: Tensor) -> Gradients:
    return [g, None, slices(g, place, dim=0)]


PUT_GRADS = {
    "sum": _sum_grad,
    "assign": _assign_grad,
    "prod": _product_grad,
    "max": _extreme_grad,
    "min": _extreme_grad,
}


@composite(grad=_put_grad)
def _put_rows(x: Tensor, place: Tensor, src: Tensor, *, join: str) -> Tensor:
    """Rows of src reduced into (or written as) the rows of x at `place`. [v, d], [j] in 0..v, [j, d] -> [v,
    d]"""
    j = src.shape[0]
    if j == 1:
        return _one_row(x, place, src, join)
    if join == "assign":
        last = place._last(x.shape[0])
        last = last.unsqueeze(1)
        # Each row gathers its last source; positions without a source keep the row.
        return choose(last >= 0, src._gather(last.expand(*x.shape), 0), x)
    # the bits of the largest place: fewer radix passes
    order = place._argsort(False, max(x.shape[0] - 1, 1).bit_length())
    return x._scatter_sorted(place._gather(order, 0), order, src, join)


def _one_row(x: Tensor, place: Tensor, src: Tensor, join: str) -> Tensor:
    # one row: a comparison, not a sort
    hit = type(x).arange(x.shape[0], dtype=dt.int32, device=x.device) == place
    joined = {"sum": x.__add__, "prod": x.__mul__, "max": x.maximum, "min": x.minimum}
    return choose(hit.unsqueeze(1), src if join == "assign" else joined[join](src), x)


put_rows = _put_rows
