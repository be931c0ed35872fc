"""Counting: how often indices occur, and how many values fall into each bin."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import dtype as dt
from ...core.declare import composed, kernel
from ...core.node import is_tensor
from ...core.op import Family, Launch
from ...core.refused_gradient import refuse_gradients
from ...core.sizes import integers
from ..elementwise import as_float
from ..index.indices import as_places, checked_places, valid
from ..index.scatter_rows import begun
from ..index.select import read_scalars

if TYPE_CHECKING:
    from ...core.limits import Limits
    from ...core.node import Node
    from ...core.rules import Prepared
    from ...tensor import Tensor


class HistogramEdges(NamedTuple):
    hist: Tensor
    bin_edges: Any  # a tensor, or for histogramdd a tuple with one for each dim


_range_of = range  # an argument of torch's functions has this name
BINS = 4096  # counters that fit in workgroup memory
PART = 4096  # the least elements of a workgroup, which then adds its counts to those of the others
MOST = 1024  # workgroups


def _count_launches(limits: Limits, x: Node, bins: int) -> list[Launch]:
    n = prod(x.shape)
    fours = 4 if n % 4 == 0 else 1  # elements of a load
    parts = min(max(-(-n // PART), 1), MOST)
    part = -(-n // (parts * fours)) * fours
    # Counters in workgroup memory, a power of two; more bins count in the result directly.
    cells = max(1 << (bins - 1).bit_length(), 64) if bins <= BINS else 0
    sizes: dict[str, Any] = {"bins": bins, "n": n, "part": part}
    options = {"cells": cells, "atomics": True}
    count = Launch(
        "reduce/histogram.wgsl",
        (),
        -(-n // part) if n else 1,
        sizes,
        options,
        workgroup=(256, 1, 1),
        traced=0,
        fours=fours == 4,
        # loops over the part, and over the counters that are added at the end
        turns=part // 256 + 1 + bins // 256,
    )
    return [begun(bins, "0"), count]


def _count_reference(xp: Any, x: Any, bins: int) -> Any:
    inside = x[(x >= 0) & (x < bins)]  # np.bincount accepts no negative numbers
    return xp.bincount(inside.reshape(-1), minlength=bins)


@composed
def bincount(
    input: Tensor, weights: Tensor | None = None, minlength: int = 0, *, length: int | None = None
) -> Tensor:
    """How often each of 0, 1, ... occurs, or the sum of its weights.

    The size is the largest element plus 1, at least minlength; it is read. With `length` nothing is read: it
    is the size, and larger elements are left out. [n] -> [max(...) + 1] or [length]

    Raises ValueError if weights have another shape; TypeError for other than integers of 1 dim.
    """
    if input.ndim != 1 or input.dtype.kind not in "iub":
        raise TypeError("takes integers of 1 dim: cast with .int(), flatten with .reshape(-1)")
    if weights is not None and weights.shape != input.shape:
        raise ValueError(f"weights of shape {list(weights.shape)} do not match {list(input.shape)}")
    size = _length(input.int(), minlength) if length is None else length
    x = input.int() if length is None else _countable(input, length)
    return as_places(counts(x, size)) if weights is None else as_float(_sum_weights(x, weights, size))


@composed
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """The number of elements in each of `bins` equal parts of min to max, both included, as floats.

    If both are 0, the range of the elements is used. Other elements and NaN are left out. [...] -> [bins]

    ValueError if bins is below 1, max is below min, or either is not finite; at the next read if the range of
    the elements is not finite.
    """
    if bins < 1:
        raise ValueError(f"bins={bins} is not above 0: pass 1 or more")
    min, max = _number(min), _number(max)
    if max < min:
        raise ValueError(f"max={max} is below min={min}: swap them")
    x = as_float(input.detach()).reshape(-1)
    low, high = _range(x, min, max, 1.0)
    # the last bin includes its upper edge
    place = ((x - low) / (high - low) * bins).floor().int().minimum(bins - 1)
    inside = (x >= low) & (x <= high)
    return counts(inside.where(place, -1), bins).to(_float_of(input))  # -1 is counted nowhere


@composed
def histogram(
    input: Tensor,
    bins: int | Tensor,
    *,
    range: tuple[float, float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> HistogramEdges:
    """(hist, bin_edges): the number of elements, or their weight, between edges; the last edge is included.

    bins: the number of equal parts of `range`, (low, high), by default that of the elements; or the edges.
    ValueError if bins is below 1, there are fewer than 2 edges, or the range is not finite (that of the
    elements: at the next read); TypeError if a gradient by input is computed. [...] -> [bins], [bins + 1]
    density: normalise the area to 1
    """
    x = as_float(input.detach()).reshape(-1)
    edges = _edges(x, bins, range)
    n = edges.shape[0] - 1
    if edges.ndim != 1 or n < 1:
        raise ValueError("bins must be a positive number, or at least 2 sorted edges")
    inside = (x >= edges[0]) & (x <= edges[n])
    # Edges up to x, less one: a value at an edge is in the bin after it, but for the last edge.
    place = (edges._search(x, True) - 1).minimum(n - 1)
    place = inside.where(place, -1)
    hist = counts(place, n).float() if weight is None else _sum_weights(place, weight.reshape(-1), n)
    if density:
        # counts over width and total: the area is 1
        hist = hist / (hist.sum() * (edges.narrow(0, 1, n) - edges.narrow(0, 0, n)))
    hist, edges = (
        refuse_gradients("histogram", part.to(_float_of(input)), input=input) for part in (hist, edges)
    )
    return HistogramEdges(hist, edges)


class Histogram(Family):
    @kernel(
        "opaque",
        shape=lambda s, bins: (bins,),
        dtype=lambda d, bins: dt.int32,
        xp=_count_reference,
        launch=_count_launches,
    )
    def _count(self: Any, bins: int) -> Prepared:
        """How often each of 0 to bins - 1 occurs; other elements are left out. [...] -> [bins] int32"""
        return (self.int(),), {"bins": bins}


@composed
def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> HistogramEdges:
    """(hist, bin_edges): the number of points, or their weight, in each cell of a grid; the last edge of each
    dim is included. [..., d] -> [bins, ...] and d edges

    bins: the number of equal parts, or one for each dim, or tensors with the edges of each dim. range: low
    and high of each dim, in one sequence; by default those of the points. ValueError if points have 1 dim, or
    the numbers of bins or ends do not fit; TypeError if a gradient by input is computed.
    density: normalise the area to 1
    """
    d = input.shape[-1] if input.ndim > 1 else 0
    each = list(bins) if isinstance(bins, tuple | list) else [bins] * d
    ranges = [None] * d if range is None else list(zip(range[::2], range[1::2], strict=False))
    if not d or len(each) != d or len(ranges) != d or len(range or ()) % 2:
        rule = "takes points [..., d], and for each of the d dims bins, a low and a high end"
        raise ValueError(f"{rule}: pass as many")
    x = as_float(input.detach()).reshape(-1, d)
    columns = [x[:, i] for i in _range_of(d)]
    grid = [_edges(c, b, e) for c, b, e in zip(columns, each, ranges, strict=True)]
    sizes = [edges.shape[0] - 1 for edges in grid]
    if min(sizes) < 1 or any(edges.ndim != 1 for edges in grid):
        raise ValueError("bins must be positive numbers, or at least 2 sorted edges for each dim")
    place: Any = 0
    inside: Any = x[:, 0] == x[:, 0]  # false for NaN
    for c, edges, n in zip(columns, grid, sizes, strict=True):
        inside = inside & (c >= edges[0]) & (c <= edges[n])
        place = place * n + (edges._search(c, True) - 1).minimum(n - 1)  # row-major cell of the grid
    place = inside.where(place, -1)
    total = prod(sizes)
    hist = counts(place, total).float() if weight is None else _sum_weights(place, weight.reshape(-1), total)
    hist = hist.reshape(*sizes)
    if density:
        hist = hist / hist.sum()
        for i, (edges, n) in enumerate(zip(grid, sizes, strict=True)):
            wide = edges.narrow(0, 1, n) - edges.narrow(0, 0, n)
            hist = hist / wide.reshape(*(n if j == i else 1 for j in _range_of(d)))
    hist, *grid = (
        refuse_gradients("histogramdd", part.to(_float_of(input)), input=input) for part in (hist, *grid)
    )
    return HistogramEdges(hist, tuple(grid))


def _float_of(x: Tensor) -> dt.DType:
    return x.dtype if x.dtype.is_float else dt.float32


def _length(x: Tensor, minlength: int) -> int:
    if not x.shape[0]:
        return minlength
    low, high = read_scalars(x.amin(), x.amax())
    if low < 0:
        raise ValueError(f"{low} is below 0: bincount takes numbers of at least 0")
    return max(high + 1, minlength)


def _sum_weights(x: Tensor, weights: Tensor, bins: int) -> Tensor:
    """The sum of the weights of each of 0 to bins - 1; other elements are left out. [n], [n] -> [bins]"""
    inside = (x >= 0) & (x < bins)
    dtype = weights.dtype.as_float if weights.dtype.is_float else dt.accumulation_dtype(weights.dtype)
    zeros = type(x).zeros(bins + 1, dtype=dtype, device=x.device)  # one more bin, for values out of range
    return zeros._scatter_at(0, inside.where(x, bins), weights.to(zeros.dtype)).narrow(0, 0, bins)


def _countable(x: Tensor, length: int) -> Tensor:
    """The elements, where one not below length becomes length, which is not counted; a negative one is a
    fault."""
    low = x.minimum(max(length - 1, 0)) if x.shape[0] else x
    return (x >= length).where(length, checked_places(low, max(length, 1), "inside", "bincount"))


def counts(x: Tensor, bins: int) -> Tensor:
    """How often each of 0 to bins - 1 occurs. -> [bins] int32"""
    return x.reshape(-1)._count(bins) if bins else type(x).zeros(0, dtype=dt.int32, device=x.device)


def _number(end: Any) -> float:
    """An end of a range; the value of a tensor of one element is read."""
    return end.item() if is_tensor(end) else end


def _range(x: Tensor, low: Any, high: Any, wide: float) -> tuple[Tensor, Tensor]:
    """The ends of a range; if both are equal, those of the elements, moved apart by `wide` if these are
    equal, too."""
    if not (isfinite(low) and isfinite(high)):
        raise ValueError(f"the range of {low} to {high} is not finite: pass finite ends")
    if low == high and x.shape[0]:
        low, high = x.amin(), x.amax()
        # a range that isn't finite is a fault at the next read
        low = valid(low, ~(low.isfinite() & high.isfinite()), "histc")
        same = low == high
        return same.where(low - wide, low), same.where(high + wide, high)
    wide = wide if low == high else 0.0
    full = type(x).full
    return full((), low - wide, device=x.device).float(), full((), high + wide, device=x.device).float()


def _edges(x: Tensor, bins: Any, ends: Any) -> Tensor:
    """The edges of bins: a tensor is returned unchanged, a number divides the range. -> [bins + 1]"""
    if is_tensor(bins) and bins.ndim:
        return as_float(bins)
    bins = integers(bins, "bins", may_be_several=False)
    if bins < 1:
        raise ValueError(f"bins={bins} is not above 0: pass 1 or more")
    low, high = map(_number, ends or (0, 0 if x.shape[0] else 1))
    if high < low:
        raise ValueError(f"range={(low, high)} ends before it begins: swap the ends")
    low, high = _range(x, low, high, 0.5)
    step = type(x).arange(bins + 1, dtype=dt.int32, device=x.device).float()
    # exactly the upper end, without rounding
    return (step == bins).where(high, low + step * ((high - low) / bins))
