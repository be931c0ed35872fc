"""Rectifiers that learn or draw their slopes below 0."""

from typing import Any

from ..core.docstrings import explained
from ..ops import activation
from ..tensor import Tensor
from .init import constant_
from .module import Module
from .parameter import Parameter
from .variants import rrelu_


@explained
class RReLU(Module):
    """leaky_relu with a slope drawn for each element in training (Xu et al., 2015). [...] -> [...]"""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False):
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, x: Tensor) -> Tensor:
        return (rrelu_ if self.inplace else activation.rrelu)(x, self.lower, self.upper, self.training)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}"


@explained
class PReLU(Module):
    """x, or weight * x where x < 0, one weight learned, or one a channel (He et al., 2015). [n, c, ...]"""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None):
        self.init = init
        self.weight = Parameter(Tensor.full((num_parameters,), init, device=device))

    def reset_parameters(self) -> None:
        """Give the parameters new first values, as those of a layer that is just made."""
        constant_(self.weight, self.init)

    def forward(self, x: Tensor) -> Tensor:
        return activation.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.weight.numel()}"
