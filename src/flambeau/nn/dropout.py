"""Dropout, and the layer that does nothing."""

from typing import Any

from ..core.docstrings import explained
from ..ops.random import dropout
from ..tensor import Tensor
from .module import Module


class Identity(Module):
    """Its input. [...] -> [...]"""

    def __init__(self, *_args: Any, **_kw: Any):
        """Takes whatever the layer that it stands for takes."""

    def forward(self, x: Tensor) -> Tensor:
        return x


@explained
class Dropout(Module):
    """In training zeroes elements with probability p and scales the others by 1 / (1 - p). [...] -> [...]

    ValueError unless p is in 0 to 1.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False):
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout({p}): p is not in 0 to 1: give a probability")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"
