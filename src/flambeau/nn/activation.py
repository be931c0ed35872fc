"""Activations that learn or draw their slopes, dropout, and the layer that does nothing."""

from typing import Any

from ..core.docstrings import explained
from ..ops import activation
from ..ops.random import dropout
from ..tensor import Tensor
from .module import Module, Parameter


class Identity(Module):
    """Its input. [...] -> [...]"""

    def __init__(self, *_args: Any, **_kw: Any):
        """Takes whatever the layer that it stands for takes."""

    def forward(self, x: Tensor) -> Tensor:
        return x


@explained
class RReLU(Module):
    """leaky_relu with a slope drawn for each element in training (Xu et al., 2015). [...] -> [...]"""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False):
        self.lower, self.upper = lower, upper

    def forward(self, x: Tensor) -> Tensor:
        return activation.rrelu(x, self.lower, self.upper, self.training)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}"


@explained
class PReLU(Module):
    """x, or weight * x where x < 0, one weight learned, or one a channel (He et al., 2015). [n, c, ...]"""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None):
        self.weight = Parameter(Tensor.full((num_parameters,), init, device=device))

    def forward(self, x: Tensor) -> Tensor:
        return activation.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.weight.numel()}"


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
