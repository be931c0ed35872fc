"""Reductions: sum, prod and the extremes as kernels, everything else composed of them."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from ..core import dtype as dt
from ..core.declare import P, composed, composite, kernel
from ..core.modes import is_grad_enabled
from ..core.node import is_tensor
from ..core.op import COMPOSED, Family
from ..core.shape import normal_dim, normal_dims
from ..core.sizes import integers
from ..errors import NoElements
from .elementwise import as_float
from .index.indices import Chosen, as_places, picked

if TYPE_CHECKING:
    from ..core.dtype import DTypeLike
    from ..core.rules import Gradient, Gradients, Prepared
    from ..core.shape import Shape

if TYPE_CHECKING:
    from ..tensor import Tensor

LONG = 16384  # elements from which on a norm takes out what a mean was rounded by


def _shape(s: Shape, dims: tuple[int, ...]) -> Shape:
    """The reduced dims stay, with size 1: the planner then knows where they were."""
    return tuple(1 if d in dims else n for d, n in enumerate(s))


def reduce(
    name: str, grad: Gradient, dtypes: str = "fiub"
) -> Callable[[Callable[P, Any]], Callable[P, Tensor]]:
    """Declare a reduction by NumPy's name of it and its gradient."""
    return kernel(
        "reduce",
        monoid=name,
        dtypes=dtypes,
        shape=_shape,
        dtype=lambda d, dims: d,
        grad=grad,
        xp=lambda xp, x, dims: getattr(xp, name)(x, axis=dims, keepdims=True, **summed_in(xp, x, name)),
    )


def summed_in(xp: Any, x: Any, name: str = "sum") -> dict[str, str]:
    """NumPy adds up columns one by one, where float32 would lose what is small: its sums are float64."""
    wide = {"f": "float64", "c": "complex128"}.get(xp.kind(x))
    return {"dtype": wide} if name in ("sum", "prod") and xp.is_numpy and wide else {}


def counted(x: Tensor) -> Tensor:
    """Integers and bools are summed and multiplied as int64, as in PyTorch (see `set_default_integer`)."""
    wanted = dt.counted(x.dtype)
    return x if x.dtype is wanted else x.to(wanted)


def in_words(x: Tensor) -> Tensor:
    """Bools and bytes in int32, in which kernels add them up."""
    return x.int() if (x.dtype.is_packed and x.dtype.is_int) or x.dtype is dt.bool_ else x


def in_float32(x: Tensor, wanted: DTypeLike | None = None) -> tuple[Tensor, dt.DType]:
    """x in float32 or what is as exact, and the dtype that a result made of it has (what is wanted, or x's
    own): sums of 16-bit floats lose too much."""
    x = x if wanted is None else x.to(dt.as_dtype(wanted))
    wide = as_float(x)
    return wide, x.dtype if x.dtype.has_gradients else wide.dtype


def _grad_extreme(g: Tensor, y: Tensor, x: Tensor, dims: tuple[int, ...]) -> Gradients:
    """Shared equally among equals, as PyTorch's amax does."""
    hit = (x == y).to(x.dtype)
    return [g * hit / hit.sum(dims, keepdim=True)]


def _grad_prod(g: Tensor, y: Tensor, x: Tensor, dims: tuple[int, ...]) -> Gradients:
    """The product of the others: y / x where no element is 0, else only a single zero has one. To be
    differentiated again it is made without a division: by zeros, others' products have slopes too."""
    if is_grad_enabled():
        return [g * _others(x, dims)]
    zero = (x == 0).to(x.dtype)
    zeros = zero.sum(dims, keepdim=True)
    others = (x + zero).prod(dims, keepdim=True)
    return [g * (zero * (zeros == 1) * others + (1 - zero) * (zeros == 0) * others / (x + zero))]


def _others(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """For each element the product of all others along dims: of those before it, and of those behind."""
    rest = [d for d in range(x.ndim) if d not in dims]
    order = (*rest, *dims)
    rows = x.permute(*order).reshape(*(x.shape[d] for d in rest), math.prod(x.shape[d] for d in dims))
    if not rows.numel():
        return x
    one, n = type(x).ones(*rows.shape[:-1], 1, dtype=x.dtype, device=x.device), rows.shape[-1]
    before = COMPOSED["cat"]([one, rows.narrow(-1, 0, n - 1)], -1)._cumprod(rows.ndim - 1)
    behind = COMPOSED["cat"]([one, rows.flip(-1).narrow(-1, 0, n - 1)], -1)._cumprod(rows.ndim - 1).flip(-1)
    found = (before * behind).reshape(*(x.shape[d] for d in order))
    return found.permute(*(order.index(d) for d in range(x.ndim)))


def _result(y: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    return y if keepdim else y.reshape(*(n for d, n in enumerate(y.shape) if d not in dims))


def asked(y: Tensor, dtype: DTypeLike | None) -> Tensor:
    """A result in the dtype that was asked for: bytes are summed as int64, and then wrap."""
    return y if dtype is None else y.to(dt.as_dtype(dtype))


def reduced_dims(dim: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """The dims that a reduction takes away: as in PyTorch, `dim=()` means all of them. any and all, and the
    array API's functions, reduce nothing by it."""
    return normal_dims(dim if isinstance(dim, int) or dim else None, rank)


def _not_empty(x: Tensor, dims: Sequence[int], what: str) -> None:
    if math.prod(x.shape[d] for d in dims) == 0:
        raise NoElements(f"{what} of no elements is not defined: check shape {list(x.shape)}")


def _corrected(dim: Any, unbiased: bool | None, correction: float | None) -> tuple[Any, float]:
    """(dim, correction) of PyTorch's older forms var(unbiased) and var(dim, unbiased) too."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    correction = 1 if correction is None else correction
    return integers(dim, "dim"), correction if unbiased is None else int(unbiased)


class Extremes(NamedTuple):
    min: Tensor
    max: Tensor


@composed
def sum(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Sum over all dims or some. [..., n, ...] -> [...] (or [..., 1, ...] with keepdim)"""
    x = counted(input) if dtype is None else input.to(dtype)
    dims = reduced_dims(dim, x.ndim)
    return asked(_result(x._sum(dims), dims, keepdim), dtype)


@composed
def prod(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Product over all dims or some. [..., n, ...] -> [...] (or [..., 1, ...] with keepdim)"""
    x = counted(input) if dtype is None else input.to(dtype)
    dims = reduced_dims(dim, x.ndim)
    return asked(_result(x._prod(dims), dims, keepdim), dtype)


@composed
def mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Mean over all dims or some, in floats. [..., n, ...] -> [...] (or [..., 1, ...] with keepdim)"""
    dims = reduced_dims(dim, input.ndim)
    n = math.prod(input.shape[d] for d in dims)
    x, dtype = in_float32(input, dtype)
    total = x._sum(dims)
    # by a product with NaN a driver takes the mean of nothing for 0: a sum of nothing is a constant to it
    y = total * (1 / n) if n else total + (complex(nan, nan) if x.dtype.is_complex else nan)
    return _result(y, dims, keepdim).to(dtype)


@composed
def amax(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Largest value; the gradient is shared among equals. [..., n, ...] -> [...]

    Raises ValueError if the input is empty.
    """
    dims = reduced_dims(dim, input.ndim)
    _not_empty(input, dims, "the maximum")
    return input.any(dims, keepdim) if input.dtype is dt.bool_ else _result(input._max(dims), dims, keepdim)


@composed
def amin(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Smallest value; the gradient is shared among equals. [..., n, ...] -> [...]

    Raises ValueError if the input is empty.
    """
    dims = reduced_dims(dim, input.ndim)
    _not_empty(input, dims, "the minimum")
    return input.all(dims, keepdim) if input.dtype is dt.bool_ else _result(input._min(dims), dims, keepdim)


@composed
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index (int64) of the first largest value; NaN counts as largest. [..., n, ...] -> [...]"""
    return as_places(_first(input, dim, keepdim, "amax"))


@composed
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index (int64) of the first smallest value; NaN counts as smallest. [..., n, ...] -> [...]"""
    return as_places(_first(input, dim, keepdim, "amin"))


@overload
def max(input: Tensor) -> Tensor: ...
@overload
def max(input: Tensor, dim: int, keepdim: bool = False) -> Chosen: ...
@composed
def max(input: Tensor, dim: int | None = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """Largest of all, or (values, indices) over one dim; the gradient goes to the first largest. With a
    tensor in the place of dim, or as other: maximum."""
    if other is not None or is_tensor(dim):
        return input.maximum(dim if other is None else other)  # type: ignore[arg-type]
    return input.amax() if dim is None else _with_index(input, dim, keepdim, "amax")


@overload
def min(input: Tensor) -> Tensor: ...
@overload
def min(input: Tensor, dim: int, keepdim: bool = False) -> Chosen: ...
@composed
def min(input: Tensor, dim: int | None = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """Smallest of all, or (values, indices) over one dim; the gradient goes to the first smallest. With a
    tensor in the place of dim, or as other: minimum."""
    if other is not None or is_tensor(dim):
        return input.minimum(dim if other is None else other)  # type: ignore[arg-type]
    return input.amin() if dim is None else _with_index(input, dim, keepdim, "amin")


@composed
def var(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = 1,
) -> Tensor:
    """Variance, dividing by n - correction; unbiased=False is correction=0. [..., n, ...] -> [...]"""
    dim, correction = _corrected(dim, unbiased, correction)
    dims = reduced_dims(dim, input.ndim)
    n = math.prod(input.shape[d] for d in dims)
    if input.dtype.is_complex:  # how far from their mean both parts are
        of_real, of_imag = (
            x.var(dims, None, keepdim, correction=correction) for x in (input.real, input.imag)
        )
        return of_real + of_imag
    x, dtype = in_float32(input)
    if n <= correction:
        return _result(x._sum(dims) * float("nan"), dims, keepdim).to(dtype)
    return _result(_variance(x, dims=dims, share=1 / (n - correction)), dims, keepdim).to(dtype)


@composed
def std(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = 1,
) -> Tensor:
    """Standard deviation, the root of var. [..., n, ...] -> [...]

    unbiased: False is correction=0
    correction: what is subtracted from n in the divisor
    """
    x, dtype = in_float32(input)
    return _root(x.var(dim, unbiased, keepdim, correction=correction)).to(dtype.real)


@composed
def var_mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = 1,
) -> tuple[Tensor, Tensor]:
    """(var, mean) of the same elements. [..., n, ...] -> [...], [...]

    unbiased: False is correction=0
    correction: what is subtracted from n in the divisor
    """
    where = dim if not isinstance(dim, bool) else None
    return input.var(dim, unbiased, keepdim, correction=correction), input.mean(where, keepdim)


@composed
def std_mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = 1,
) -> tuple[Tensor, Tensor]:
    """(std, mean) of the same elements. [..., n, ...] -> [...], [...]

    unbiased: False is correction=0
    correction: what is subtracted from n in the divisor
    """
    where = dim if not isinstance(dim, bool) else None
    return input.std(dim, unbiased, keepdim, correction=correction), input.mean(where, keepdim)


@composed
def nansum(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """sum, NaN counting as 0. [..., n, ...] -> [...]"""
    return (input.isnan().where(0, input) if input.dtype.is_float else input).sum(dim, keepdim, dtype)


@composed
def nanmean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The mean of what is not NaN; NaN where all is. [..., n, ...] -> [...]"""
    x, dtype = in_float32(input, dtype)
    lost = x.detach().isnan()
    return (lost.where(0.0, x).sum(dim, keepdim) / (~lost).sum(dim, keepdim, dt.int32)).to(dtype)


@composed
def aminmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Extremes:
    """(amin, amax) of all elements or of one dim. [..., n, ...] -> [...], [...]"""
    return Extremes(input.amin(dim, keepdim), input.amax(dim, keepdim))


@composed
def all(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Whether every element is true (not 0). [..., n, ...] -> [...]

    Raises IndexError if there is no such dim; ValueError if one is named twice.
    """
    dims = normal_dims(dim, input.ndim)
    return _result(input.bool().int()._prod(dims), dims, keepdim).bool()


@composed
def any(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Whether some element is true (not 0). [..., n, ...] -> [...]

    Raises IndexError if there is no such dim; ValueError if one is named twice.
    """
    dims = normal_dims(dim, input.ndim)
    return _result(input.bool()._sum(dims), dims, keepdim) > 0


@composed
def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))), shifted so that nothing overflows. [..., n, ...] -> [...]"""
    dims = reduced_dims(dim, input.ndim)
    x, dtype = in_float32(input)
    if dtype.is_complex:
        y = _complex_logsumexp(x, dims)
    else:
        y = _logsumexp(x, dims=dims) if x.numel() else x._sum(dims).log()
    return _result(y, dims, keepdim).to(dtype)


class Reduce(Family):
    @reduce("sum", lambda g, y, x, dims: [g.expand(*x.shape)], "fiubc")
    def _sum(self: Any, dims: tuple[int, ...]) -> Prepared:
        """Sum over `dims`, which stay with size 1."""
        return (in_words(self),), {"dims": dims}

    @reduce("prod", _grad_prod, "fiubc")
    def _prod(self: Any, dims: tuple[int, ...]) -> Prepared:
        """Product over `dims`, which stay with size 1."""
        return (in_words(self),), {"dims": dims}

    @reduce("max", _grad_extreme, "fiu")
    def _max(self: Any, dims: tuple[int, ...]) -> Prepared:
        """Largest over `dims`, which stay with size 1; NaN wins."""
        return (self,), {"dims": dims}

    @reduce("min", _grad_extreme, "fiu")
    def _min(self: Any, dims: tuple[int, ...]) -> Prepared:
        """Smallest over `dims`, which stay with size 1; NaN wins."""
        return (self,), {"dims": dims}


def _variance_grad(g: Tensor, y: Tensor, x: Tensor, dims: tuple[int, ...], share: float) -> Gradients:
    return [g * (share * 2) * (x - x.mean(dims, keepdim=True))]


@composite(grad=_variance_grad)
def _variance(x: Tensor, *, dims: tuple[int, ...], share: float) -> Tensor:
    """By two passes: the squares of what is left of the mean, less what that was rounded by, which beside a
    large mean is as large as they are (Chan, Golub and LeVeque, 1983)."""
    away = x - x.mean(dims, keepdim=True)
    lost = away._sum(dims)
    lost = lost.isfinite().where(lost, 0.0)
    count = math.prod(x.shape[d] for d in dims)
    return ((away * away)._sum(dims) - lost * lost * (1 / count)).relu() * share


def standardized(x: Tensor, dims: tuple[int, ...], eps: float) -> Tensor:
    """x less its mean, over the root of its variance and eps. Beside a large mean its rounding is no small
    part of what is left: of long rows, whose sums are the least exact, that is taken out as well. A variance
    that overflows gives NaN, as in PyTorch: by an infinite one all values would be 0."""
    away = x - x.mean(dims, keepdim=True)
    var = (away * away).mean(dims, keepdim=True)
    if math.prod(x.shape[d] for d in dims) >= LONG:
        lost = away.detach().mean(dims, keepdim=True)
        away, var = away - lost, (var - lost * lost).relu()
    return away * var.isinf().where(float("nan"), (var + eps).rsqrt())


@composite(grad=lambda g, y, x: [(y == 0).where(0.0, g) / ((y == 0).where(1.0, y) * 2)])
def _root(x: Tensor) -> Tensor:
    """The root of a variance: where nothing varies it has no slope, as in PyTorch."""
    return x.sqrt()


@composite(grad=lambda g, y, x, dims: [g * (x - y).exp()])
def _logsumexp(x: Tensor, *, dims: tuple[int, ...]) -> Tensor:
    """An infinite maximum is the result: less than it there is nothing but NaN."""
    top = x._max(dims)
    return top.isinf().where(top, (x - top).exp()._sum(dims).log() + top)


def _complex_logsumexp(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Shifted by the largest real part, which is what can overflow."""
    if not x.numel():
        return x._sum(dims).log()
    top = x.detach().real._max(dims)
    top = top.isinf().where(0.0, top)
    return (x - top).exp()._sum(dims).log() + top


def _first(x: Tensor, dim: int | None, keepdim: bool, extreme: str) -> Tensor:
    """The smallest index among those that hold the extreme: two reductions, both of which fill the device."""
    d, whole = 0 if dim is None else normal_dim(dim, x.ndim), dim is None or not x.ndim
    flat = x.reshape(-1) if whole else x
    _not_empty(flat, (d,), "the index of an extreme")
    flat = flat.detach()
    n = flat.shape[d]
    hit = flat == getattr(flat, extreme)(d, keepdim=True)
    hit = hit if not flat.dtype.is_float else hit | flat.isnan()
    places = (
        type(x)
        .arange(n, dtype=dt.int32, device=x.device)
        .reshape(*(n if e == d else 1 for e in range(flat.ndim)))
    )
    found = hit.where(places, n - 1)._min((d,))
    if whole:
        return found.reshape(*(1,) * x.ndim if keepdim else ())
    return _result(found, (d,), keepdim)


def _with_index(x: Tensor, dim: int, keepdim: bool, extreme: str) -> Chosen:
    dim = integers(dim, "dim", may_be_several=False)
    index = _first(x, dim, True, extreme)
    values = picked(x, dim, index) if x.ndim else x
    d = (normal_dim(dim, x.ndim),)
    return Chosen(_result(values, d, keepdim), as_places(_result(index, d, keepdim)))
