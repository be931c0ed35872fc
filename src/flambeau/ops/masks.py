"""What a mask keeps: triangles of matrices, and numbers put in where a condition holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import dtype as dt
from ..core.declare import composed
from .elementwise import choose, fitted

if TYPE_CHECKING:
    from ..tensor import Tensor


@composed
def masked_fill(input: Tensor, mask: Tensor, value: float) -> Tensor:
    """`value` where mask is true. [...], [...] -> [...]

    Raises ValueError where the dtype has no such value.
    """
    return choose(mask, fitted(value, input.dtype), input).to(input.dtype)


@composed
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of the last two dims, zero above `diagonal`. [..., n, m] -> [..., n, m]"""
    return _triangle(input, lambda i, j: j <= i + diagonal)


@composed
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of the last two dims, zero below `diagonal`. [..., n, m] -> [..., n, m]"""
    return _triangle(input, lambda i, j: j >= i + diagonal)


def _triangle(x, keep):
    arange = type(x).arange
    i = arange(x.shape[-2], dtype=dt.int32, device=x.device).unsqueeze(1)
    mask = keep(i, arange(x.shape[-1], dtype=dt.int32, device=x.device))
    return choose(mask, x, False)  # a number of no category: x's dtype
