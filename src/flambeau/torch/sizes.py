"""torch.Size: shapes that are tuples with `numel`."""

from math import prod
from typing import Any

from ..tensor import Tensor
from .switch import add_patch


class TorchSize(tuple[int, ...]):
    """The sizes of a tensor's dims, a tuple."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of such a tensor."""
        return prod(self)

    def __add__(self, other: Any) -> Any:
        return TorchSize((*self, *other))

    def __radd__(self, other: Any) -> Any:
        return TorchSize((*other, *self))

    def __mul__(self, other: Any) -> Any:
        return TorchSize(tuple(self) * other)

    __rmul__ = __mul__

    def __getitem__(self, index: Any) -> Any:
        items: Any = tuple(self)
        item = items[index]
        return TorchSize(item) if item.__class__ is tuple else item

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchSize, (tuple(self),)

    def __repr__(self) -> str:
        return f"torch.Size({[*self]})"


Size = TorchSize  # the name in pickles
TorchSize.__name__ = TorchSize.__qualname__ = "Size"


def _shape(self: Tensor) -> TorchSize:
    """The size of each dim."""
    return TorchSize(self.node.shape)


add_patch(Tensor, "shape", property(_shape))
