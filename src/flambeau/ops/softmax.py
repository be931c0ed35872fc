"""Softmax and its logarithm along a dim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.declare import composed, composite
from ..core.shape import normal_dim
from .reduce import in_float32

if TYPE_CHECKING:
    from ..core.dtype import DTypeLike
    from ..tensor import Tensor


@composed
def softmax(input: Tensor, dim: int = -1, dtype: DTypeLike | None = None) -> Tensor:
    """exp(x) normalised to sum to 1 along a dim. [..., n, ...] -> [..., n, ...]"""
    x, dtype = in_float32(input, dtype)
    return _along(_softmax, x, dim).to(dtype)


@composed
def log_softmax(input: Tensor, dim: int = -1, dtype: DTypeLike | None = None) -> Tensor:
    """Logarithm of softmax along a dim, safe for large values. [..., n, ...] -> [..., n, ...]"""
    x, dtype = in_float32(input, dtype)
    return _along(_log_softmax, x, dim).to(dtype)


def _along(op, x, dim):
    """An op along a dim; one number is a row of its own, and of no elements there is nothing to make."""
    d = normal_dim(dim, x.ndim)
    return op(x.reshape(x.shape or (1,)), dim=d).reshape(x.shape) if x.numel() else x


def _softmax_grad(g, y, x, dim):
    gy = g * y
    return [gy - y * gy.sum(dim, keepdim=True)]


@composite(grad=_softmax_grad)
def _softmax(x: Tensor, *, dim: Any) -> Tensor:
    e = (x - x._max((dim,))).exp()
    return e / e._sum((dim,))


def _log_softmax_grad(g, y, x, dim):
    return [g - y.exp() * g.sum(dim, keepdim=True)]


@composite(grad=_log_softmax_grad)
def _log_softmax(x: Tensor, *, dim: Any) -> Tensor:
    away = x - x._max((dim,))
    return away - away.exp()._sum((dim,)).log()
