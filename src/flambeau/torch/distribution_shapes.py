"""Shapes of distributions in torch mode: torch.Size, as those of tensors."""

from typing import Any

from ..distributions import Distribution
from .sizes import TorchSize
from .switch import add_patch


def _shape_named(name: str) -> property:
    def read(self: Distribution) -> TorchSize:
        return TorchSize(vars(self).get(name, ()))

    def write(self: Distribution, shape: Any) -> None:
        vars(self)[name] = tuple(shape)

    return property(read, write)


for _name in ("batch_shape", "event_shape"):
    add_patch(Distribution, _name, _shape_named(_name))
