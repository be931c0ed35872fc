"""Statistics composed of ops: covariances, distances of pairs, finite differences, combinations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations as choices
from itertools import combinations_with_replacement
from math import prod
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.declare import composed
from ..core.node import is_tensor
from ..core.shape import normal_dim
from .complex import complex
from .creation import triu_indices
from .einsum import row_norms
from .elementwise import as_float
from .index.indices import as_places, slices, valid
from .join import cat
from .reduce import in_float32

if TYPE_CHECKING:
    from ..tensor import Tensor


@composed
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Covariances of rows; fweights are counts and aweights weights of columns. [n, m] -> [n, n]; [m], [1, m]
    -> []

    ValueError if there are more dims, or weights are not one for each column; at the next read if one is
    negative or all are 0. TypeError if fweights are not integers, or aweights not floats.

    correction: the divisor is n - correction
    """
    if input.ndim > 2:
        raise ValueError("takes 1 or 2 dims, with variables in rows: reshape it")
    x, dtype = in_float32(input)
    x = x.reshape(1, -1) if input.ndim < 2 else x
    weights = _column_weights(x.shape[1], fweights, aweights)
    w = weights[0] * weights[1] if len(weights) == 2 else next(iter(weights), None)  # both weights multiply
    if w is None:
        total, divisor = x.shape[1], max(x.shape[1] - correction, 0)
    else:
        total = w.sum()
        total = valid(total, total == 0, "cov sum")
        # numpy.cov's divisor: with aweights, the correction is multiplied by sum(w * a) / sum(w).
        lost = correction if aweights is None else (w * aweights).sum() / total * correction
        divisor = (total - lost).clamp(min=0.0)
    # in two passes: products of deviations, corrected by the mean's rounding error (Chan, Golub and LeVeque,
    # 1983). A driver may compute (x - mean) - error as x - (mean + error), which loses the error.
    deviation = x - _weighted_mean(x, w, total).detach()
    error = _weighted_mean(deviation, w, total)
    weighted = deviation if w is None else deviation * w
    c = (weighted @ deviation.mH - error * error.mH * total) / divisor
    return (c if c.shape[0] > 1 else c.reshape(())).to(dtype)


def _weighted_mean(x: Tensor, w: Tensor | None, total: Tensor | int) -> Tensor:
    """The mean of each row; total: the sum of the weights. [n, m], [m] -> [n, 1]"""
    return x.mean(1, keepdim=True) if w is None else (x * w).sum(1, keepdim=True) / total


@composed
def corrcoef(input: Tensor) -> Tensor:
    """Pearson's correlations of rows, clamped to [-1, 1]. [n, m] -> [n, n]; [m], [1, m] -> []

    Raises ValueError if there are more than 2 dims.
    """
    c = input.cov()
    if not c.ndim:  # the correlation of a row with itself: 1, or NaN without variance
        return c / c
    spread = (c.diagonal().real if c.dtype.is_complex else c.diagonal()).sqrt()
    c = c / spread.unsqueeze(1) / spread
    if c.dtype.is_complex:
        return complex(c.real.clamp(-1.0, 1.0), c.imag.clamp(-1.0, 1.0))
    return c.clamp(-1.0, 1.0)


def _column_weights(n: int, fweights: Tensor | None, aweights: Tensor | None) -> list[Tensor]:
    """The weights of n columns that are not None, checked, as floats."""
    weights: list[Tensor] = []
    for name, w, kinds in (("fweights", fweights, "iu"), ("aweights", aweights, "f")):
        if w is None:
            continue
        if w.dtype.kind not in kinds:
            raise TypeError(f"{name} are {w.dtype.name}: pass {'integers' if kinds == 'iu' else 'floats'}")
        if w.ndim > 1 or w.numel() != n:
            raise ValueError(f"{name} have shape {list(w.shape)}: pass one for each of {n} columns")
        bad = w < 0 if kinds == "iu" else (w < 0) | w.isnan()
        weights.append(as_float(valid(w, bad, f"cov {name}")))
    return weights


@composed
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances of all pairs of rows, i < j in reading order. [n, d] -> [n * (n - 1) / 2]

    Raises ValueError if the input does not have 2 dims.
    """
    if input.ndim != 2:
        raise ValueError("takes 2 dims, with points in rows: reshape it")
    if input.shape[0] < 2:
        return input[:0, :0].sum(1)
    x, dtype = in_float32(input)
    # pairs above the diagonal, row by row
    i, j = triu_indices(x.shape[0], x.shape[0], 1, dtype=dt.int32, device=x.device)
    return row_norms(slices(x, i, dim=0) - slices(x, j, dim=0), p).to(dtype)


@composed
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Every combination of r elements of a vector, in the order of their indices. [n] -> [choices, r]

    with_replacement: an element may occur several times
    Raises ValueError if the input does not have 1 dim, or r is below 0.
    """
    if input.ndim != 1 or r < 0:
        raise ValueError("takes 1 dim and r of at least 0")
    chosen = list((combinations_with_replacement if with_replacement else choices)(range(input.shape[0]), r))
    if not chosen or not r:
        return input[:0].reshape(0, r) if r else input[:0]  # PyTorch's result for r = 0: empty
    places = input.new_tensor([i for row in chosen for i in row], dt.int32)
    return slices(input, places, dim=0).reshape(len(chosen), r)


@composed
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The coordinates (int64, one tensor for each dim) of flat indices in a tensor of that shape. [...] -> n
    x [...]

    indices: flat indices, integers
    """
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    # row-major
    return tuple(as_places(indices // max(prod(sizes[d + 1 :]), 1) % max(n, 1)) for d, n in enumerate(sizes))


@composed
def gradient(
    input: Tensor,
    *,
    spacing: float | Sequence[float] | Tensor | Sequence[Tensor] | None = 1,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """The derivative along each dim by central differences, one-sided of order 1 or 2 at the ends. -> a tuple

    spacing: the distance of points: a number, or for each dim a number or a vector of coordinates. [...] ->
    [...]
    edge_order: 1 or 2: the order of the differences at the ends
    Raises ValueError if spacing does not have one entry for each dim, or edge_order is not 1 or 2.
    """
    spacing = 1 if spacing is None else spacing
    dims = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = [normal_dim(d, input.ndim) for d in dims]
    if len(set(dims)) < len(dims):
        raise ValueError(f"dim={dim} names a dim twice: name each dim once")
    steps: list[Any] = [spacing] * len(dims)
    if isinstance(spacing, tuple | list):
        steps = [*spacing]
    if len(steps) != len(dims) or edge_order not in (1, 2):
        raise ValueError(f"takes a spacing for each of {len(dims)} dims, and edge_order 1 or 2")
    x = input if input.dtype.has_gradients else input.float()
    return tuple(_slopes(x, d, step, edge_order) for d, step in zip(dims, steps, strict=True))


def _slopes(x: Tensor, d: int, step: Any, order: int) -> Tensor:
    """The derivative along dim d. step: the distance of points, or their coordinates [n]. -> the shape of
    x"""
    n = x.shape[d]
    if n < order + 1:
        raise ValueError(f"dim {d} of size {n} is too short: edge_order {order} needs {order + 1}")
    f = x.movedim(d, -1)
    if is_tensor(step):
        gaps = step.diff()
        # The parabola through three points at distances a and b: second order for unequal distances, too.
        a, b = gaps[:-1], gaps[1:]
        inner = (f[..., 2:] - f[..., 1:-1]) * (a / (b * (a + b)))
        inner = inner + (f[..., 1:-1] - f[..., :-2]) * (b / (a * (a + b)))
    else:
        gaps, inner = [step] * (n - 1), (f[..., 2:] - f[..., :-2]) * (0.5 / step)
    # With two points there is a single gap: indices modulo their number.
    first = _end(f, gaps[0], gaps[1 % (n - 1)], order)
    last = -_end(f.flip(-1), gaps[n - 2], gaps[(n - 3) % (n - 1)], order)
    return cat([first, inner, last], -1).movedim(-1, d)


def _end(f: Tensor, a: Any, b: Any, order: int) -> Tensor:
    """The derivative at the first point, of the line or parabola through the first points. -> [..., 1]"""
    rise = (f[..., 1:2] - f[..., :1]) / a
    if order == 1:
        return rise
    # The slope of a parabola: the first difference, extrapolated by the change to the second one.
    return rise + (rise - (f[..., 2:3] - f[..., 1:2]) / b) * (a / (a + b))
