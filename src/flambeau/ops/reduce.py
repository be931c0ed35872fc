"""Reductions: sum, prod, max and min as kernels; all others are composed of them."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import inf, nan
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
from .index.indices import Chosen, as_places, gather_known

if TYPE_CHECKING:
    from ..core.dtype import DTypeLike
    from ..core.rules import Gradient, Gradients, Prepared
    from ..core.shape import Shape

if TYPE_CHECKING:
    from ..tensor import Tensor

LONG = 16384  # elements from which on `standardize` corrects the rounding error of the mean


def _shape(s: Shape, dims: tuple[int, ...]) -> Shape:
    """The reduced dims stay with size 1, so that the planner knows their positions."""
    return tuple(1 if d in dims else n for d, n in enumerate(s))


def reduce(
    name: str, grad: Gradient, dtypes: str = "fiub"
) -> Callable[[Callable[P, Any]], Callable[P, Tensor]]:
    """Declare a reduction by its NumPy name and its gradient."""
    return kernel(
        "reduce",
        monoid=name,
        dtypes=dtypes,
        shape=_shape,
        dtype=lambda d, dims: d,
        grad=grad,
        xp=lambda xp, x, dims: getattr(xp, name)(x, axis=dims, keepdims=True, **sum_dtype(xp, x, name)),
    )


def sum_dtype(xp: Any, x: Any, name: str = "sum") -> dict[str, str]:
    """Keywords for NumPy's sums: float64, since NumPy adds columns one by one and loses small terms in
    float32."""
    wide = {"f": "float64", "c": "complex128"}.get(xp.kind(x))
    return {"dtype": wide} if name in ("sum", "prod") and xp.is_numpy and wide else {}


def widen_integers(x: Tensor) -> Tensor:
    """x in the dtype of its sums and products: int64 for integers and bools (see `set_default_integer`)."""
    dtype = dt.accumulation_dtype(x.dtype)
    return x if x.dtype is dtype else x.to(dtype)


def in_words(x: Tensor) -> Tensor:
    """Cast bools and 8- or 16-bit integers to int32, in which kernels add."""
    return x.int() if (x.dtype.is_packed and x.dtype.is_int) or x.dtype is dt.bool_ else x


def in_float32(x: Tensor, dtype: DTypeLike | None = None) -> tuple[Tensor, dt.DType]:
    """x in float32 or wider, since sums of 16-bit floats lose too much, and the dtype of results: `dtype`, or
    that of x."""
    x = x if dtype is None else x.to(dt.as_dtype(dtype))
    wide = as_float(x)
    return wide, x.dtype if x.dtype.has_gradients else wide.dtype


def _grad_extreme(g: Tensor, y: Tensor, x: Tensor, dims: tuple[int, ...]) -> Gradients:
    """Equal elements share the gradient, as in PyTorch's amax."""
    hit = (x == y).to(x.dtype)
    # Where y is NaN nothing equals it: 0 / 0 is NaN, as in PyTorch.
    return [g * hit / hit.sum(dims, keepdim=True)]


def _grad_prod(g: Tensor, y: Tensor, x: Tensor, dims: tuple[int, ...]) -> Gradients:
    """The product of the other elements: y / x if there are no zeros; with one zero, only its element has a
    gradient; with more zeros, none has.

    For second derivatives the product is computed without a division, which would be wrong at zeros.
    """
    if is_grad_enabled():
        return [g * _others(x, dims)]
    # x + zero replaces zeros by ones: its product is that of the elements that are not 0.
    zero = (x == 0).to(x.dtype)
    zeros = zero.sum(dims, keepdim=True)
    others = (x + zero).prod(dims, keepdim=True)
    return [g * (zero * (zeros == 1) * others + (1 - zero) * (zeros == 0) * others / (x + zero))]


def _others(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """For each element the product of all others along dims: of those before it times those after it."""
    rest = [d for d in range(x.ndim) if d not in dims]
    order = (*rest, *dims)
    rows = x.permute(*order).reshape(*(x.shape[d] for d in rest), math.prod(x.shape[d] for d in dims))
    if not rows.numel():
        return x
    one, n = type(x).ones(*rows.shape[:-1], 1, dtype=x.dtype, device=x.device), rows.shape[-1]
    # Products of all elements before and of all after, so that zeros need no division.
    before = COMPOSED["cat"]([one, rows.narrow(-1, 0, n - 1)], -1)._cumprod(rows.ndim - 1)
    after = COMPOSED["cat"]([one, rows.flip(-1).narrow(-1, 0, n - 1)], -1)._cumprod(rows.ndim - 1).flip(-1)
    product = (before * after).reshape(*(x.shape[d] for d in order))
    return product.permute(*(order.index(d) for d in range(x.ndim)))


def drop_dims(y: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """y without its reduced dims, which have size 1, unless keepdim."""
    return y if keepdim else y.reshape(*(n for d, n in enumerate(y.shape) if d not in dims))


def cast_result(y: Tensor, dtype: DTypeLike | None) -> Tensor:
    """A result in the dtype of the call, if given: small integers are summed as int64 and then wrap."""
    return y if dtype is None else y.to(dt.as_dtype(dtype))


def reduced_dims(dim: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """The dims that a reduction removes: as in PyTorch, `dim=()` means all of them. For any, all and the
    array API's functions it means none."""
    return normal_dims(dim if isinstance(dim, int) or dim else None, rank)


def _not_empty(x: Tensor, dims: Sequence[int], result: str) -> None:
    if math.prod(x.shape[d] for d in dims) == 0:
        raise NoElements(f"{result} of no elements is not defined: check shape {list(x.shape)}")


def _read_correction(dim: Any, unbiased: bool | None, correction: float | None) -> tuple[Any, float]:
    """(dim, correction), also of PyTorch's older forms var(unbiased) and var(dim, unbiased)."""
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
    x = widen_integers(input) if dtype is None else input.to(dtype)
    dims = reduced_dims(dim, x.ndim)
    return cast_result(drop_dims(x._sum(dims), dims, keepdim), dtype)


@composed
def prod(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Product over all dims or some. [..., n, ...] -> [...] (or [..., 1, ...] with keepdim)"""
    x = widen_integers(input) if dtype is None else input.to(dtype)
    dims = reduced_dims(dim, x.ndim)
    return cast_result(drop_dims(x._prod(dims), dims, keepdim), dtype)


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
    # NaN is added, not multiplied: a driver folds the sum of nothing times NaN to 0
    y = total * (1 / n) if n else total + (complex(nan, nan) if x.dtype.is_complex else nan)
    return drop_dims(y, dims, keepdim).to(dtype)


@composed
def amax(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Largest value; equal elements share the gradient. [..., n, ...] -> [...]

    Raises ValueError if the input is empty.
    """
    dims = reduced_dims(dim, input.ndim)
    _not_empty(input, dims, "the maximum")
    # Bools have no max kernel: the largest is `any`.
    return input.any(dims, keepdim) if input.dtype is dt.bool_ else drop_dims(input._max(dims), dims, keepdim)


@composed
def amin(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Smallest value; equal elements share the gradient. [..., n, ...] -> [...]

    Raises ValueError if the input is empty.
    """
    dims = reduced_dims(dim, input.ndim)
    _not_empty(input, dims, "the minimum")
    return input.all(dims, keepdim) if input.dtype is dt.bool_ else drop_dims(input._min(dims), dims, keepdim)


@composed
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index (int64) of the first largest value; NaN counts as largest. [..., n, ...] -> [...]"""
    return as_places(_arg_extreme(input, dim, keepdim, "amax"))


@composed
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index (int64) of the first smallest value; NaN counts as smallest. [..., n, ...] -> [...]"""
    return as_places(_arg_extreme(input, dim, keepdim, "amin"))


@overload
def max(input: Tensor) -> Tensor: ...
@overload
def max(input: Tensor, dim: int, keepdim: bool = False) -> Chosen: ...
@composed
def max(input: Tensor, dim: int | None = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """Largest of all elements, or (values, indices) over one dim; the gradient goes to the first largest.
    With a tensor as dim or other: maximum."""
    if other is not None or is_tensor(dim):
        return input.maximum(dim if other is None else other)  # type: ignore[arg-type]
    return input.amax() if dim is None else _with_index(input, dim, keepdim, "amax")


@overload
def min(input: Tensor) -> Tensor: ...
@overload
def min(input: Tensor, dim: int, keepdim: bool = False) -> Chosen: ...
@composed
def min(input: Tensor, dim: int | None = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """Smallest of all elements, or (values, indices) over one dim; the gradient goes to the first smallest.
    With a tensor as dim or other: minimum."""
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
    dim, correction = _read_correction(dim, unbiased, correction)
    dims = reduced_dims(dim, input.ndim)
    n = math.prod(input.shape[d] for d in dims)
    # Var(a + i b) = Var(a) + Var(b).
    if input.dtype.is_complex:  # the variances of both parts add up
        of_real, of_imag = (
            x.var(dims, None, keepdim, correction=correction) for x in (input.real, input.imag)
        )
        return of_real + of_imag
    x, dtype = in_float32(input)
    if n <= correction and n < 2:  # 0 / 0
        return drop_dims(x._sum(dims) * float("nan"), dims, keepdim).to(dtype)
    # PyTorch's divisor is at least 0, so a correction of n or more gives infinity (NaN if all are equal).
    share = 1 / (n - correction) if n > correction else inf
    return drop_dims(_variance(x, dims=dims, share=share), dims, keepdim).to(dtype)


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
    correction: the divisor is n - correction
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
    correction: the divisor is n - correction
    """
    dims = dim if not isinstance(dim, bool) else None  # var(True) is var(unbiased=True)
    return input.var(dim, unbiased, keepdim, correction=correction), input.mean(dims, keepdim)


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
    correction: the divisor is n - correction
    """
    dims = dim if not isinstance(dim, bool) else None  # var(True) is var(unbiased=True)
    return input.std(dim, unbiased, keepdim, correction=correction), input.mean(dims, keepdim)


@composed
def nansum(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The sum, with NaN counting as 0. [..., n, ...] -> [...]"""
    return (input.isnan().where(0, input) if input.dtype.is_float else input).sum(dim, keepdim, dtype)


@composed
def nanmean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The mean of the elements that are not NaN; NaN if all are. [..., n, ...] -> [...]"""
    x, dtype = in_float32(input, dtype)
    is_nan = x.detach().isnan()
    # As for mean, 0 / 0 gives NaN if no element is left.
    return (is_nan.where(0.0, x).sum(dim, keepdim) / (~is_nan).sum(dim, keepdim, dt.int32)).to(dtype)


@composed
def aminmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Extremes:
    """(amin, amax) of all elements or of one dim. [..., n, ...] -> [...], [...]"""
    return Extremes(input.amin(dim, keepdim), input.amax(dim, keepdim))


@composed
def all(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Whether every element is true (not 0), as a bool; of uint8 as 0 or 1 in uint8. [..., n, ...] -> [...]

    Raises IndexError if there is no such dim; ValueError if one is named twice.
    """
    dims = normal_dims(dim, input.ndim)
    # A product of zeros and ones cannot overflow.
    y = drop_dims(input.bool().int()._prod(dims), dims, keepdim).bool()
    return y.to(input.dtype) if input.dtype is dt.uint8 else y


@composed
def any(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Whether some element is true (not 0), as a bool; of uint8 as 0 or 1 in uint8. [..., n, ...] -> [...]

    Raises IndexError if there is no such dim; ValueError if one is named twice.
    """
    dims = normal_dims(dim, input.ndim)
    y = drop_dims(input.bool()._sum(dims), dims, keepdim) > 0  # the number of true elements
    return y.to(input.dtype) if input.dtype is dt.uint8 else y


@composed
def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))), shifted so that nothing overflows. [..., n, ...] -> [...]"""
    dims = reduced_dims(dim, input.ndim)
    x, dtype = in_float32(input)
    if dtype.is_complex:
        y = _complex_logsumexp(x, dims)
    else:
        y = _logsumexp(x, dims=dims) if x.numel() else x._sum(dims).log()  # log(0) of no elements: -inf
    return drop_dims(y, dims, keepdim).to(dtype)


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
    # d/dx of share * sum (x - m)^2 is 2 * share * (x - m): the mean's own part cancels out.
    return [g * (share * 2) * (x - x.mean(dims, keepdim=True))]


@composite(grad=_variance_grad)
def _variance(x: Tensor, *, dims: tuple[int, ...], share: float) -> Tensor:
    """In two passes: the sum of squared deviations from the mean, corrected by the mean's rounding error,
    which is not small compared with a large mean (Chan, Golub and LeVeque, 1983)."""
    # sum (x - m)^2 - (sum (x - m))^2 / n for a rounded mean m. Rounding can make it negative: relu. An
    # infinite error would turn an infinite variance into NaN.
    deviation = x - x.mean(dims, keepdim=True)
    error = deviation._sum(dims)
    error = error.isfinite().where(error, 0.0)
    count = math.prod(x.shape[d] for d in dims)
    return ((deviation * deviation)._sum(dims) - error * error * (1 / count)).relu() * share


def standardize(x: Tensor, dims: tuple[int, ...], eps: float) -> Tensor:
    """(x - mean) / sqrt(var + eps) over dims.

    Long rows, whose sums are the least exact, are corrected by the mean's rounding error. A variance that
    overflows gives NaN, as in PyTorch; an infinite one would give 0.
    """
    deviation = x - x.mean(dims, keepdim=True)
    var = (deviation * deviation).mean(dims, keepdim=True)
    if math.prod(x.shape[d] for d in dims) >= LONG:
        error = deviation.detach().mean(dims, keepdim=True)
        deviation, var = deviation - error, (var - error * error).relu()
    return deviation * var.isinf().where(float("nan"), (var + eps).rsqrt())


@composite(grad=lambda g, y, x: [(y == 0).where(0.0, g) / ((y == 0).where(1.0, y) * 2)])
def _root(x: Tensor) -> Tensor:
    """The square root of a variance, with gradient 0 at 0, as in PyTorch."""
    return x.sqrt()


@composite(grad=lambda g, y, x, dims: [g * (x - y).exp()])
def _logsumexp(x: Tensor, *, dims: tuple[int, ...]) -> Tensor:
    """Shifted by the maximum. An infinite maximum is the result itself: inf - inf would be NaN."""
    # log(sum(exp(x))) = top + log(sum(exp(x - top))): no exponential is above 1. The gradient is the
    # softmax.
    top = x._max(dims)
    return top.isinf().where(top, (x - top).exp()._sum(dims).log() + top)


def _complex_logsumexp(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Shifted by the largest real part: only this part can overflow."""
    if not x.numel():
        return x._sum(dims).log()
    top = x.detach().real._max(dims)
    top = top.isinf().where(0.0, top)
    return (x - top).exp()._sum(dims).log() + top


def _arg_extreme(x: Tensor, dim: int | None, keepdim: bool, extreme: str) -> Tensor:
    """The smallest index of the extreme: two reductions, both of which use the whole device."""
    # One of two passes finds the extreme, the other the smallest index that has it.
    d, is_flat = 0 if dim is None else normal_dim(dim, x.ndim), dim is None or not x.ndim
    flat = x.reshape(-1) if is_flat else x
    _not_empty(flat, (d,), "the index of an extreme")
    flat = flat.detach()
    n = flat.shape[d]
    hit = flat == getattr(flat, extreme)(d, keepdim=True)
    # NaN is the extreme value if there is one, but NaN equals nothing.
    hit = hit if not flat.dtype.is_float else hit | flat.isnan()
    places = (
        type(x)
        .arange(n, dtype=dt.int32, device=x.device)
        .reshape(*(n if e == d else 1 for e in range(flat.ndim)))
    )
    index = hit.where(places, n - 1)._min((d,))
    if is_flat:
        return index.reshape(*(1,) * x.ndim if keepdim else ())
    return drop_dims(index, (d,), keepdim)


def _with_index(x: Tensor, dim: int, keepdim: bool, extreme: str) -> Chosen:
    dim = integers(dim, "dim", may_be_several=False)
    index = _arg_extreme(x, dim, True, extreme)
    values = gather_known(x, dim, index) if x.ndim else x  # a 0-d tensor is its own extreme
    d = (normal_dim(dim, x.ndim),)
    return Chosen(drop_dims(values, d, keepdim), as_places(drop_dims(index, d, keepdim)))
