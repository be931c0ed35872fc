"""Masked selections: triangles of matrices, and a number written where a mask is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..core import dtype as dt
from ..core.declare import composed
from ..core.node import is_tensor
from .elementwise import choose, fit_to_dtype

if TYPE_CHECKING:
    from ..tensor import Tensor


@composed
def masked_fill(input: Tensor, mask: Tensor, value: float) -> Tensor:
    """`value`, one number, where mask is true. [...], [...] -> [...]

    Raises ValueError if the dtype has no such value; if value has several elements.
    """
    if getattr(value, "ndim", 0):
        raise ValueError("value must be a number or a 0-d tensor: use where for several values")
    if (
        isinstance(value, complex) or (is_tensor(value) and value.dtype.is_complex)
    ) and not input.dtype.is_complex:
        raise ValueError("value is complex but the tensor is real: pass a real number")
    return choose(mask, fit_to_dtype(value, input.dtype), input).to(input.dtype)


@composed
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of the last two dims, zero above `diagonal`. [..., n, m] -> [..., n, m]"""
    return _triangle(input, lambda i, j: j <= i + diagonal)


@composed
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of the last two dims, zero below `diagonal`. [..., n, m] -> [..., n, m]"""
    return _triangle(input, lambda i, j: j >= i + diagonal)


def _triangle(x: Tensor, keep: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    arange = type(x).arange
    i = arange(x.shape[-2], dtype=dt.int32, device=x.device).unsqueeze(1)
    mask = keep(i, arange(x.shape[-1], dtype=dt.int32, device=x.device))
    return choose(mask, x, False)  # a bool has the lowest category: the result keeps x's dtype
