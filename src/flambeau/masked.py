"""Reductions and normalisations of masked tensors, under the names of torch.masked.

A mask is a tensor of bools that broadcasts to the input: True keeps an element. Excluded elements count as
the neutral value: 0 in a sum, 1 in a product, -inf in a maximum. The result over no elements is this value
too; for a mean, median, variance or deviation it is NaN.
"""

from collections.abc import Sequence
from math import inf, nan
from typing import Any

from . import functions as F
from . import linalg
from .core import dtype as dt
from .core.dtype import DTypeLike
from .tensor import Tensor

Dims = int | Sequence[int] | None

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]


def _dims(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dims to reduce: all of them for None, and for ()."""
    if dim is None or (isinstance(dim, Sequence) and not len(dim)):
        return tuple(range(ndim))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    for d in dims:
        if not -max(ndim, 1) <= d < max(ndim, 1):  # a 0-d tensor has dims -1 and 0, as in PyTorch
            raise IndexError(
                f"dim={d} is not in [{-max(ndim, 1)}, {max(ndim, 1) - 1}]: name a dim of the input"
            )
    places = tuple(d % max(ndim, 1) for d in dims) if ndim else ()
    if len(set(places)) < len(places):
        raise RuntimeError(f"dim={dims} names a dim twice: name each once")
    return places


def _mask(input: Tensor, mask: Tensor) -> Tensor:
    """The mask, broadcast to the input's shape."""
    if mask.ndim > input.ndim:
        raise IndexError(
            f"mask has {mask.ndim} dims and input {input.ndim}: reduce the dims of the mask first"
        )
    return mask.bool().expand(*input.shape) if mask.shape != input.shape else mask.bool()


def _lowest(dtype: dt.DType) -> Any:
    return -inf if _has_fractions(dtype) else dt.iinfo(dtype).min


def _highest(dtype: dt.DType) -> Any:
    return inf if _has_fractions(dtype) else dt.iinfo(dtype).max


def _fill_excluded(input: Tensor, mask: Tensor | None, neutral: Any) -> Tensor:
    """Replace the elements that the mask excludes by a value, or by that of a function of the dtype."""
    if mask is None:
        return input
    value: Any = neutral(input.dtype) if callable(neutral) else neutral
    return F.where(_mask(input, mask), input, F.full_like(input, value))


def _has_fractions(dtype: dt.DType) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _as_float(x: Tensor) -> Tensor:
    return x.to(x.dtype.float_of())  # integers have no -inf for excluded elements


def _sum_dtype(dtype: dt.DType) -> dt.DType:
    """The dtype of sums and products: small integers are added up in int64."""
    return dtype if _has_fractions(dtype) else dt.int64


def _reduce(f: Any, x: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    dims = _dims(dim, x.ndim)
    # a 0-d input has no dim to reduce: it counts as a vector of 1
    return f(x, dims, keepdim=keepdim) if dims else f(x.reshape(1), 0)


def _count(input: Tensor, dim: Dims, keepdim: bool, mask: Tensor | None) -> Tensor:
    """The number of elements that the mask keeps."""
    counted = F.ones_like(input, dtype=dt.bool_) if mask is None else _mask(input, mask)
    return _reduce(F.sum, counted, dim, keepdim)


def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Sums of the elements that the mask keeps; 0 over none. [...] -> [] without dim"""
    x = _fill_excluded(input, mask, 0).to(dtype or _sum_dtype(input.dtype))
    return _reduce(F.sum, x, dim, keepdim)


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Products of the elements that the mask keeps; 1 over none. [...] -> [] without dim

    IndexError if there is no such dim.
    """
    result = _fill_excluded(input, mask, 1).to(dtype or _sum_dtype(input.dtype))
    # from the last dim, so that removing one does not shift the others
    for d in sorted(_dims(dim, input.ndim), reverse=True):
        result = result.prod(d, keepdim=keepdim)
    return result


def cumsum(input: Tensor, dim: int, *, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """Cumulative sums of the elements that the mask keeps. [...] -> [...]"""
    dtype = dtype or input.dtype
    return F.cumsum(_fill_excluded(input, mask, 0), dim, dtype=dtype).to(dtype)


def cumprod(input: Tensor, dim: int, *, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """Cumulative products of the elements that the mask keeps. [...] -> [...]"""
    dtype = dtype or input.dtype
    return F.cumprod(_fill_excluded(input, mask, 1), dim, dtype=dtype).to(dtype)


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest element that the mask keeps; -inf, or the lowest integer, over none. [...] -> [] without
    dim"""
    x = _fill_excluded(input, mask, _lowest)
    return _reduce(F.amax, x, dim, keepdim).to(dtype or input.dtype)


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The smallest element that the mask keeps; inf, or the highest integer, over none. [...] -> [] without
    dim"""
    x = _fill_excluded(input, mask, _highest)
    return _reduce(F.amin, x, dim, keepdim).to(dtype or input.dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The index of the largest element that the mask keeps, in the input's dtype. [...] -> [] without dim"""
    x = _fill_excluded(input, mask, _lowest)
    # as in PyTorch the index has the input's dtype, unless another is given
    return F.argmax(x, dim, keepdim).to(dtype or input.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The index of the smallest element that the mask keeps, in the input's dtype. [...] -> [] without dim"""
    x = _fill_excluded(input, mask, _highest)
    return F.argmin(x, dim, keepdim).to(dtype or input.dtype)


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Means of the elements that the mask keeps; NaN over none. ValueError for integers. [...] -> [] without
    dim"""
    dtype = dt.as_dtype(dtype or input.dtype)
    if not _has_fractions(dtype):
        raise ValueError(f"mean(dtype={dtype.name}): a mean is a float: pass a float dtype")
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, dim, keepdim, mask)  # 0 / 0 over no elements is NaN


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Lower medians of the elements that the mask keeps; over none NaN, or ValueError for integers. [..., n]
    -> [...]"""
    is_float = input.dtype.is_floating_point
    x = input if is_float else input.to(dt.float32)
    # masked elements become NaN, which nanmedian skips
    values = F.nanmedian(_fill_excluded(x, mask, nan), dim, keepdim)[0]
    if is_float:
        return values
    if bool(values.isnan().any()):
        raise ValueError("median(): the mask excludes a whole row: use floats, so that its result can be NaN")
    return values.to(dtype or input.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Norms of the elements that the mask keeps; over none 0, or inf for ord=-inf. [...] -> [] without dim

    IndexError if there is no such dim.
    """
    # the neutral element: inf for the smallest |x|, 0 for sums of powers and the largest
    x = _fill_excluded(input, mask, inf if ord == -inf else 0)
    return linalg.vector_norm(x, 2.0 if ord is None else ord, _dims(dim, input.ndim), keepdim, dtype=dtype)


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Variances of the elements that the mask keeps, dividing by their number - 1; NaN over none. [...] -> []
    without dim

    IndexError if there is no such dim.

    unbiased: False is correction=0
    correction: the number subtracted from n in the divisor
    """
    if unbiased is not None and correction is not None:
        raise ValueError("var(unbiased, correction): they exclude each other: pass one")
    subtracted = correction if correction is not None else 1.0 if unbiased is None else float(unbiased)
    dtype = dt.as_dtype(dtype or (input.dtype if _has_fractions(input.dtype) else dt.float32))
    wide = dtype if _has_fractions(dtype) else dt.float32
    # Two passes: the mean of squares minus the squared mean would cancel.
    # keepdim, so that it broadcasts
    center = sum(input, dim, keepdim=True, dtype=wide, mask=mask) / _count(input, dim, True, mask)
    away = input - center
    total = sum(away * away.conj(), dim, keepdim=keepdim, dtype=wide, mask=mask)
    # PyTorch clamps the divisor too: with too few elements the result is inf or NaN, never negative.
    count = (_count(input, dim, keepdim, mask).to(dt.float32) - subtracted).clamp(min=0.0)
    return (total / count).to(dtype)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Standard deviations of the elements that the mask keeps; NaN over none. [...] -> [] without dim

    mask: True keeps an element. IndexError if there is no such dim.
    unbiased: False is correction=0
    correction: what is subtracted from n in the divisor
    """
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


def softmax(input: Tensor, dim: int, *, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """softmax over the elements that the mask keeps; NaN if it keeps none. [...] -> [...]"""
    # a row without any kept element is all -inf, and -inf - (-inf) makes it NaN, as in PyTorch
    return F.softmax(_fill_excluded(_as_float(input), mask, _lowest), dim, dtype=dtype)


def log_softmax(
    input: Tensor, dim: int, *, dtype: DTypeLike | None = None, mask: Tensor | None = None
) -> Tensor:
    """log_softmax over the elements that the mask keeps; NaN if it keeps none. [...] -> [...]"""
    x = _fill_excluded(_as_float(input), mask, _lowest)
    return F.log_softmax(x, dim, dtype=dtype)


def softmin(input: Tensor, dim: int, *, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """softmax of -input over the elements that the mask keeps; NaN over none. [...] -> [...]"""
    x = _fill_excluded(_as_float(input), mask, _highest)
    return F.softmax(-x, dim, dtype=dtype)  # +inf becomes -inf with the sign


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Divide vectors by the larger of their masked norm and eps; 0 where the mask is False. [...] -> [...]

    ord: which norm
    """
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _fill_excluded(input, mask, 0) / size.clamp(min=eps)


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """logsumexp over the elements that the mask keeps; -inf over none. [...] -> [] without dim"""
    x = _fill_excluded(input, mask, _lowest)
    return _reduce(F.logsumexp, x, dim, keepdim).to(dtype or input.dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DTypeLike | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), each with its own mask. [...], [...] -> [...]

    input_mask, other_mask: True keeps an element.
    """
    x = _fill_excluded(input, input_mask, _lowest)
    y = _fill_excluded(other, other_mask, _lowest)
    return F.logaddexp(x, y).to(dtype or input.dtype)
