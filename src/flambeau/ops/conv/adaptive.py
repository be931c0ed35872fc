"""Pools to a given output size: windows from floor(i * n / o) to ceil((i + 1) * n / o), gathered by index."""

# Primitives are tensor methods whose names begin with "_": they are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core.declare import composed, composite
from ...core.shape import contiguous_strides
from ..index.indices import as_places
from ..reduce import in_float32
from .pool import lowest

if TYPE_CHECKING:
    from ...core.shape import Shape
    from ...tensor import Tensor


def _ratio(n: int, o: int) -> tuple[int, int]:
    """n / o in lowest terms."""
    shared = gcd(n, o) or 1
    return n // shared, o // shared


def _starts(x: Tensor, n: int, o: int, shift: int = 0) -> Tensor:
    """floor(i * n / o), or ceil((i + 1) * n / o) with shift=1, for 0 <= i < o. -> [o] int32"""
    a, b = _ratio(n, o)
    # i * a / b in two parts, so that products rarely exceed 32 bits
    integers = dt.int32 if (o + 1) * (a % b) + b < 2**31 else dt.int64
    i = type(x).arange(o, dtype=integers, device=x.device) + shift
    return (i * (a // b) + (i * (a % b) + (b - 1) * shift) // b).int()


def _longest(n: int, o: int) -> int:
    """The size of the largest window."""
    a, b = _ratio(n, o)
    # ceil((i + 1) a / b) - floor(i a / b) is largest if the window begins with a fraction of an element
    return a // b if b == 1 else (a + b - 2) // b + 1


def _places(x: Tensor, size: Shape, out_size: Shape) -> tuple[Tensor, Tensor]:
    """The index of each window's elements in the flattened `size`, and which are inside the window.

    -> index, inside: [*out_size, *longest]
    """
    nd = len(size)
    index: Any = 0
    inside: Any = True
    for i, (n, o, step) in enumerate(zip(size, out_size, contiguous_strides(size), strict=True)):
        own = (o, *(1,) * (2 * nd - 1 - i))  # the dim's output axis, before all window axes
        tap = (
            type(x).arange(_longest(n, o), dtype=dt.int32, device=x.device).reshape(-1, *(1,) * (nd - 1 - i))
        )
        coordinates = _starts(x, n, o).reshape(*own) + tap
        inside = (coordinates < _starts(x, n, o, 1).reshape(*own)) & inside
        index = coordinates.clamp(max=n - 1) * step + index
    return index, inside


def _gather_windows(x: Tensor, nd: int, out_size: Shape) -> tuple[Tensor, Tensor]:
    """The windows of the last nd dims, and which elements are inside them. [..., *size] -> [..., *o, *k]"""
    size, lead = x.shape[x.ndim - nd :], x.shape[: x.ndim - nd]
    index, inside = _places(x, size, out_size)
    # one gather over the flattened dims
    flat = index.reshape(*(1,) * len(lead), prod(index.shape)).expand(*lead, prod(index.shape))
    return x.reshape(*lead, prod(size))._gather(flat, len(lead)).reshape(*lead, *index.shape), inside


def _sum_grad(g: Tensor, y: Tensor, x: Tensor, out_size: Shape) -> list[Tensor | None]:
    # window i has element j exactly if window j of the opposite resize has element i: the op is its own
    # adjoint
    return [adaptive_sum(g, out_size=x.shape[x.ndim - len(out_size) :])]


@composite(grad=_sum_grad)
def adaptive_sum(x: Tensor, *, out_size: Shape) -> Tensor:
    """The sum of each window over the last dims. [..., *size] -> [..., *o]"""
    nd = len(out_size)
    xw, inside = _gather_windows(x, nd, out_size)
    return inside.where(xw, 0).sum(tuple(range(xw.ndim - nd, xw.ndim)))


def _take_grad(g: Tensor, y: Tensor, x: Tensor, index: Tensor, out_size: Shape) -> list[Tensor | None]:
    size = y.shape[y.ndim - len(out_size) :]
    flat = g.reshape(*g.shape[: g.ndim - len(out_size)], prod(size))
    positions = index.reshape(*flat.shape[:-1], prod(index.shape[index.ndim - len(out_size) :]))
    return [flat._gather(positions, flat.ndim - 1).reshape(*x.shape), None]


@composite(grad=_take_grad)
def _adaptive_taken(x: Tensor, index: Tensor, *, out_size: Shape) -> Tensor:
    """The sum of x at the indices that it was taken from: the adjoint of adaptive_max. [..., *o] * 2 ->
    [..., *o]

    index: of each element of x, its index in the flattened result
    """
    nd = len(out_size)
    lead = x.ndim - nd
    xw, inside = _gather_windows(x, nd, out_size)
    own, _ = _gather_windows(index, nd, out_size)
    # An element counts where its index names the result's own position.
    positions = type(x).arange(prod(out_size), dtype=dt.int32, device=x.device).reshape(*out_size, *(1,) * nd)
    return (inside & (own == positions)).where(xw, 0).sum(tuple(range(lead + nd, lead + 2 * nd)))


def _max_places(x: Tensor, y: Tensor, nd: int) -> Tensor:
    """The index of each window's first maximum in the flattened last dims. -> the shape of y, int32"""
    size, out_size = x.shape[x.ndim - nd :], y.shape[y.ndim - nd :]
    xw, inside = _gather_windows(x, nd, out_size)
    hit = xw == y.reshape(*y.shape, *(1,) * nd)
    hit = (hit | xw.isnan() if x.dtype.is_float else hit) & inside  # NaN is the maximum, but equals nothing
    index, _ = _places(x, size, out_size)
    return hit.where(index, prod(size) - 1)._min(tuple(range(xw.ndim - nd, xw.ndim))).reshape(*y.shape)


def _max_grad(g: Tensor, y: Tensor, x: Tensor, out_size: Shape) -> list[Tensor | None]:
    places = _max_places(x.detach(), y.detach(), len(out_size))
    return [_adaptive_taken(g, places, out_size=x.shape[x.ndim - len(out_size) :])]


@composite(grad=_max_grad)
def adaptive_max(x: Tensor, *, out_size: Shape) -> Tensor:
    """The largest element of each window over the last dims. [..., *size] -> [..., *o]"""
    nd = len(out_size)
    xw, inside = _gather_windows(x, nd, out_size)
    return inside.where(xw, lowest(x.dtype)).amax(tuple(range(xw.ndim - nd, xw.ndim)))


def _sizes(x: Tensor, nd: int, output_size: int | Sequence[int | None] | None) -> tuple[int, ...]:
    """The output's sizes; None keeps the input's."""
    if x.ndim not in (nd + 1, nd + 2):
        raise ValueError(f"input needs {nd + 1} or {nd + 2} dims")
    sizes = (output_size,) * nd if output_size is None or isinstance(output_size, int) else tuple(output_size)
    sizes = sizes * nd if len(sizes) == 1 else sizes
    if len(sizes) != nd or any(o is not None and o < 0 for o in sizes):
        raise ValueError(f"output_size {output_size} needs {nd} sizes of 0 or more")
    if 0 in x.shape[-nd:]:
        raise ValueError(f"a pool of no elements is undefined: check shape {list(x.shape)}")
    return tuple(n if o is None else o for n, o in zip(x.shape[-nd:], sizes, strict=True))


def adaptive_mean(x: Tensor, out_size: Shape) -> Tensor:
    """The mean of each window over the last dims, of views if the windows tile. [..., *size] -> [..., *o]"""
    nd = len(out_size)
    size, lead = x.shape[x.ndim - nd :], x.ndim - nd
    x, dtype = in_float32(x)
    # Windows that tile are a reshape: [..., o, n / o, ...].
    if all(o and n % o == 0 for n, o in zip(size, out_size, strict=True)):
        tiles = [m for n, o in zip(size, out_size, strict=True) for m in (o, n // o)]
        return x.reshape(*x.shape[:lead], *tiles).mean(tuple(lead + 1 + 2 * i for i in range(nd))).to(dtype)
    count: Any = 1
    for i, (n, o) in enumerate(zip(size, out_size, strict=True)):
        own = _starts(x, n, o, 1) - _starts(x, n, o)  # windows differ in size
        count = own.reshape(-1, *(1,) * (nd - 1 - i)) * count
    return (adaptive_sum(x, out_size=tuple(out_size)) / count).to(dtype)


def _adaptive_avg_pool(nd: int):
    def pool(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
        """Mean of output_size windows that cover the input; None keeps a size.
        [n, c, *size] -> [n, c, *output_size]

        Raises ValueError if dims are missing, or output_size does not fit.
        """
        return adaptive_mean(input, _sizes(input, nd, output_size))

    pool.__name__ = f"adaptive_avg_pool{nd}d"
    return composed(pool)


def _adaptive_max_pool(nd: int):
    def pool(input: Tensor, output_size: int | Sequence[int], return_indices: bool = False) -> Any:
        """Largest of output_size windows that cover the input; None keeps a size. return_indices also returns
        its index in the flattened spatial dims (int64). [n, c, *size] -> [n, c, *output_size]

        Raises ValueError if dims are missing, or output_size does not fit.
        """
        y = adaptive_max(input, out_size=_sizes(input, nd, output_size))
        return (y, as_places(_max_places(input.detach(), y.detach(), nd))) if return_indices else y

    pool.__name__ = f"adaptive_max_pool{nd}d"
    return composed(pool)


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(_adaptive_avg_pool, (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(_adaptive_max_pool, (1, 2, 3))
