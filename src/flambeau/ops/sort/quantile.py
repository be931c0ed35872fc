"""Order statistics: medians, modes and quantiles, from a sorted dim."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from ...core import dtype as dt
from ...core.declare import composed, composite
from ...core.node import is_tensor
from ...core.shape import normal_dim
from ..index.indices import Chosen, gather_known, valid
from .sort import at_rank, order_along

if TYPE_CHECKING:
    from ...core.rules import Gradients
    from ...tensor import Tensor

KINDS = ("linear", "lower", "higher", "midpoint", "nearest")


def _line(x: Tensor, dim: int | None) -> tuple[Tensor, int]:
    """The tensor with a dim to sort, and this dim: flattened if dim is None."""
    x = x.reshape(-1) if dim is None or not x.ndim else x
    d = normal_dim(dim or 0, x.ndim)
    if not x.shape[d]:
        raise ValueError(f"dim {d} has no elements: check shape {list(x.shape)}")
    return x, d


def _evenly_grad(g: Tensor, y: Tensor, x: Tensor, value: Tensor) -> Gradients:
    hit = (x == y) | (x.isnan() & y.isnan()) if x.dtype.is_float else x == y  # the value may be NaN
    return [hit.where(g / hit.sum().to(g.dtype), 0.0), None]


@composite(grad=_evenly_grad)
def _evenly(x: Tensor, value: Tensor) -> Tensor:
    """A value of x. All elements equal to it share its gradient, as in PyTorch's median without a dim."""
    return value


def _median(x: Tensor, dim: int | None, keepdim: bool, rank: Callable[[int, Tensor], Tensor]) -> Any:
    line, d = _line(x, dim)
    places = order_along(line, d)
    nan_count = line.detach().isnan().sum(d, keepdim=True, dtype=dt.int32) if line.dtype.is_float else None
    n = line.shape[d]
    place = (
        places.narrow(d, (n - 1) // 2, 1)
        if nan_count is None  # without NaN the lower middle is known
        else gather_known(places, d, rank(n, nan_count))
    )
    values, index = at_rank(line, place, d, keepdim)
    if dim is None:
        return _evenly(line, values.detach().reshape(()))
    return Chosen(values, index) if x.ndim else Chosen(values.reshape(()), index.reshape(()))


def _rank_or_nan(n: int, nan_count: Tensor) -> Tensor:
    """The lower middle, or the first NaN if there is one; NaN is sorted last."""
    return (nan_count > 0).where(n - nan_count, (n - 1) // 2)


def _rank_of_numbers(n: int, nan_count: Tensor) -> Tensor:
    """The lower middle of the elements that are not NaN."""
    return ((n - 1 - nan_count) // 2).clamp(min=0)


@overload
def median(input: Tensor) -> Tensor: ...
@overload
def median(input: Tensor, dim: int, keepdim: bool = False) -> Chosen: ...
@composed
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the two middle values of all elements, or (values, indices) over one dim; NaN wins.

    [..., n, ...] -> [...]
    """
    return _median(input, dim, keepdim, _rank_or_nan)


@overload
def nanmedian(input: Tensor) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: int, keepdim: bool = False) -> Chosen: ...
@composed
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of the elements that are not NaN, otherwise as median. [..., n, ...] -> [...]"""
    return _median(input, dim, keepdim, _rank_of_numbers)


@composed
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Chosen:
    """(values, indices) of the most frequent value of a dim: the smallest one of several, at its last index.

    [..., n, ...] -> [...], [...]

    Raises ValueError if the dim has no elements.
    """
    line, d = _line(input, dim if input.ndim else None)
    n = line.shape[d]
    places = order_along(line, d)
    ordered = gather_known(line.detach(), d, places)
    positions = (
        type(line)
        .arange(n, dtype=dt.int32, device=line.device)
        .reshape(*(n if e == d else 1 for e in range(line.ndim)))
    )
    # Equal values are runs of the sorted line: the position in its run is largest at the end of the longest
    # one.
    differs = ordered.narrow(d, 1, n - 1) != ordered.narrow(d, 0, n - 1)
    before = tuple(int(e == d) for e in range(line.ndim))
    # Where each run starts, carried along it by a running maximum.
    starts = (differs._pad(before, (0,) * line.ndim)).where(positions.expand(*line.shape), 0)
    length = positions - starts.cummax(d)[0]
    place = gather_known(places, d, length.argmax(d, keepdim=True))
    values, index = at_rank(line, place, d, keepdim)
    return Chosen(values, index) if input.ndim else Chosen(values.reshape(()), index.reshape(()))


@composed
def quantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The value below which a share q (0 to 1) of the elements lies; NaN if a line has one. q: a number or
    [k].

    [..., n, ...] -> [...] or [k, ...]

    interpolation: "linear", "lower", "higher", "nearest" or "midpoint", between two elements
    Raises ValueError if q is not in 0 to 1 or interpolation is unknown; TypeError for integers.
    """
    return _quantile(input, q, dim, keepdim, interpolation, False)


@composed
def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The quantile of the elements that are not NaN, otherwise as quantile. [..., n, ...] -> [...] or [k,
    ...]

    q: shares from 0 to 1
    interpolation: "linear", "lower", "higher", "nearest" or "midpoint", between two elements
    Raises ValueError if q is not in 0 to 1 or interpolation is unknown; TypeError for integers.
    """
    return _quantile(input, q, dim, keepdim, interpolation, True)


def _quantile(
    x: Tensor, q: float | Tensor, dim: int | None, keepdim: bool, interpolation: str, skip: bool
) -> Tensor:
    if not x.dtype.is_float:
        raise TypeError("takes floats: cast with .float()")
    if interpolation not in KINDS:
        raise ValueError(f"interpolation={interpolation!r} is unknown: use one of {', '.join(KINDS)}")
    if not is_tensor(q) and not 0 <= q <= 1:
        raise ValueError(f"q={q} must be from 0 to 1: pass a fraction")
    if is_tensor(q) and q.ndim > 1:
        raise ValueError(f"q has {q.ndim} dims: pass a number or a vector")
    line, d = _line(x, dim)
    last = line.ndim - 1
    ordered = line.sort(d)[0].transpose(d, last)  # [..., n]
    nan_count = line.detach().isnan().sum(d, keepdim=True, dtype=dt.int32).transpose(d, last)  # [..., 1]
    is_vector = is_tensor(q) and q.ndim == 1
    parts = q if is_tensor(q) else type(x).full((), q, dtype=x.dtype.as_float, device=x.device)
    parts = parts.reshape(-1)
    if is_tensor(q):
        parts = valid(parts, (parts < 0) | (parts > 1) | parts.isnan(), "quantile")
    parts = parts.to(x.dtype.as_float)
    values = _interpolate_between(ordered, nan_count, parts, interpolation, skip)  # [..., k]
    shape = [1 if e == d else n for e, n in enumerate(line.shape)]
    shape = [1] * x.ndim if dim is None else shape
    shape = shape if keepdim else ([] if dim is None else [n for e, n in enumerate(shape) if e != d])
    values = values.transpose(d, last).movedim(d, 0).to(x.dtype)
    return values.reshape(*([parts.shape[0]] if is_vector else []), *(shape if x.ndim else []))


def _interpolate_between(
    ordered: Tensor, nan_count: Tensor, parts: Tensor, interpolation: str, skip: bool
) -> Tensor:
    n = ordered.shape[-1]
    top = (n - 1 - nan_count).clamp(min=0) if skip else nan_count * 0 + (n - 1)  # the last rank that counts
    rank = parts * top.to(parts.dtype)
    if interpolation in ("lower", "higher", "nearest"):
        rank = {"lower": rank.floor, "higher": rank.ceil, "nearest": rank.round}[interpolation]()
    low, high = rank.floor(), rank.ceil()
    # Between equal infinities the interpolation would be inf - inf.
    below, above = gather_known(ordered, -1, low.int()), gather_known(ordered, -1, high.int())
    weight = (rank - low) if interpolation == "linear" else (rank != low) * 0.5
    values = (below.isinf() & (below == above)).where(below, below.lerp(above, weight))
    return values if skip else (nan_count > 0).where(float("nan"), values)
