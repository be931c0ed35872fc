"""What a mask keeps: triangles of matrices, and numbers put in where a condition holds."""

from ..core import dtype as dt
from ..core.declare import composed
from ..core.op import Family
from .elementwise import choose, fitted


class Masks(Family):
    @composed
    def masked_fill(self, mask, value: float):
        """`value` where mask is true. [...], [...] -> [...]"""
        return choose(mask, fitted(value, self.dtype), self).to(self.dtype)

    @composed
    def tril(self, diagonal: int = 0):
        """The lower triangle of the last two dims, zero above `diagonal`. [..., n, m] -> [..., n, m]"""
        return _triangle(self, lambda i, j: j <= i + diagonal)

    @composed
    def triu(self, diagonal: int = 0):
        """The upper triangle of the last two dims, zero below `diagonal`. [..., n, m] -> [..., n, m]"""
        return _triangle(self, lambda i, j: j >= i + diagonal)


def _triangle(x, keep):
    arange = type(x).arange
    i = arange(x.shape[-2], dtype=dt.int32, device=x.device).unsqueeze(1)
    mask = keep(i, arange(x.shape[-1], dtype=dt.int32, device=x.device))
    return choose(mask, x, False)  # a number of no category: x's dtype
