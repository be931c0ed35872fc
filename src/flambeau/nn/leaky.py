"""Rectifiers that learn or draw their slopes below 0."""

from ..core.dtype import DTypeLike
from ..device import DeviceLike
from ..ops import activation
from ..tensor import Tensor
from .init import constant_
from .module import Module, cast_layer
from .parameter import Parameter
from .variants import rrelu_


class RReLU(Module):
    """leaky_relu with a slope drawn for each element in training (Xu et al., 2015). [...] -> [...]

    lower: the least slope
    upper: the greatest slope
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False):
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return (rrelu_ if self.inplace else activation.rrelu)(input, self.lower, self.upper, self.training)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}"


class PReLU(Module):
    """x, or weight * x where x < 0, one weight learned, or one a channel (He et al., 2015). [n, c, ...]

    num_parameters: 1, or the number of channels
    init: the first value of the slopes
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        self.init, self.num_parameters = init, num_parameters  # type: ignore[assignment] # as in PyTorch
        self.weight = Parameter(Tensor.full((num_parameters,), init, device=device))
        cast_layer(self, dtype)

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return activation.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.weight.numel()}"
