"""Unflatten and Softmax2d."""

from ..core.node import describe
from ..errors import ValueError
from ..ops.softmax import softmax
from ..tensor import Tensor
from .module import Module


class Unflatten(Module):
    """One dim cut into several. [..., n, ...] -> [..., *unflattened_size, ...]

    unflattened_size: the sizes; one may be -1.
    """

    def __init__(self, dim: int, unflattened_size: tuple[int, ...] | list[int]):
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Softmax2d(Module):
    """Softmax over the channels of each place. [n, c, h, w] -> [n, c, h, w]

    ValueError for other than 3 or 4 dims.
    """

    def __init__(self) -> None:
        pass  # Module.__init__ accepts any argument

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            rule = "takes 3 or 4 dims, channels before height and width: use Softmax(dim)"
            raise ValueError(f"Softmax2d({describe(input)}): {rule}")
        return softmax(input, -3)  # from the end, so that an image without a batch works
