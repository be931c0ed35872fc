"""torch.autograd.forward_ad where no tensor has a tangent: torch.func.jvp computes in forward mode."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from ..tensor import Tensor


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor, which has no tangent. level: accepted and ignored."""
    return UnpackedDualTensor(tensor, None)


@contextmanager
def dual_level() -> Generator[int]:
    """A block that may ask for tangents."""
    yield 0
