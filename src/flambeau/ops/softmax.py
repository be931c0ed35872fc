"""Softmax and its logarithm along a dim."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..core.declare import composed, composite
from ..core.shape import normal_dim
from ..core.warn_once import note
from .reduce import in_float32

if TYPE_CHECKING:
    from ..core.dtype import DTypeLike
    from ..core.rules import Gradients
    from ..tensor import Tensor


@composed
def softmax(input: Tensor, dim: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """exp(input) normalised to sum to 1 along a dim. [..., n, ...] -> [..., n, ...]

    dim: None is dim 0 of 0, 1 or 3 dims and dim 1 of others, as in PyTorch, with a warning
    """
    x, dtype = in_float32(input, dtype)
    return _apply_along(_softmax, x, dim).to(dtype)


@composed
def log_softmax(input: Tensor, dim: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Logarithm of softmax along a dim, safe for large values. [..., n, ...] -> [..., n, ...]

    dim: None is dim 0 of 0, 1 or 3 dims and dim 1 of others, as in PyTorch, with a warning
    """
    x, dtype = in_float32(input, dtype)
    return _apply_along(_log_softmax, x, dim).to(dtype)


def _apply_along(op: Callable[..., Tensor], x: Tensor, dim: int | None) -> Tensor:
    """Apply an op along a dim. A 0-d tensor counts as one row; an empty tensor is returned unchanged."""
    d = normal_dim(_implicit_dim(x) if dim is None else dim, x.ndim)
    return op(x.reshape(x.shape or (1,)), dim=d).reshape(x.shape) if x.numel() else x


def _implicit_dim(x: Tensor) -> int:
    """The dim that softmax takes without one: PyTorch's old choice."""
    note("softmax without dim= takes dim 0 of 0, 1 or 3 dims and dim 1 of others: pass dim=")
    return 0 if x.ndim in (0, 1, 3) else 1


def _softmax_grad(g: Tensor, y: Tensor, x: Tensor, dim: int) -> Gradients:
    gy = g * y
    return [gy - y * gy.sum(dim, keepdim=True)]


@composite(grad=_softmax_grad)
def _softmax(x: Tensor, *, dim: int) -> Tensor:
    e = (x - x._max((dim,))).exp()
    return e / e._sum((dim,))


def _log_softmax_grad(g: Tensor, y: Tensor, x: Tensor, dim: int) -> Gradients:
    return [g - y.exp() * g.sum(dim, keepdim=True)]


@composite(grad=_log_softmax_grad)
def _log_softmax(x: Tensor, *, dim: int) -> Tensor:
    shifted = x - x._max((dim,))
    return shifted - shifted.exp()._sum((dim,)).log()
