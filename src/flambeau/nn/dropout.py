"""Dropout, and the layer that does nothing."""

from typing import Any

from ..errors import ValueError
from ..ops import random
from ..ops.distribution import randn_like
from ..tensor import Tensor
from .module import Module


class Identity(Module):
    """Returns its input. [...] -> [...]"""

    def __init__(self, *_args: Any, **_kw: Any):
        """Takes and ignores any arguments, as in PyTorch."""

    def forward(self, input: Tensor) -> Tensor:
        return input


class Dropping(Module):
    """Base of dropout layers: p is the probability that an element, or a channel, is dropped in training."""

    function: Any

    def __init__(self, p: float = 0.5, inplace: bool = False):
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__}({p}): p must be from 0 to 1: pass a probability")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        # PyTorch's in-place variant assigns the result to the input
        return type(self).function(input, self.p, self.training, inplace=self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(Dropping):
    """In training zeroes elements with probability p and scales the others by 1 / (1 - p). [...] -> [...]

    ValueError unless p is in 0 to 1.
    """

    function = staticmethod(random.dropout)


class Dropout1d(Dropping):
    """Dropout of whole channels. [n, c, l] -> [n, c, l]

    ValueError unless p is in 0 to 1.
    """

    function = staticmethod(random.dropout1d)


class Dropout2d(Dropping):
    """Dropout of whole channels. [n, c, h, w] -> [n, c, h, w]

    ValueError unless p is in 0 to 1.
    """

    function = staticmethod(random.dropout2d)


class Dropout3d(Dropping):
    """Dropout of whole channels. [n, c, d, h, w] -> [n, c, d, h, w]

    ValueError unless p is in 0 to 1.
    """

    function = staticmethod(random.dropout3d)


class AlphaDropout(Dropping):
    """Dropout that keeps mean 0 and variance 1 after SELU (Klambauer et al., 2017). [...] -> [...]

    ValueError unless p is in 0 to 1.
    """

    function = staticmethod(random.alpha_dropout)


class FeatureAlphaDropout(Dropping):
    """AlphaDropout of whole channels. [n, c, ...] -> [n, c, ...]

    ValueError unless p is in 0 to 1.
    """

    function = staticmethod(random.feature_alpha_dropout)


class GaussianNoise(Module):
    """Adds normal noise to its input in training; returns the input in eval mode. [...] -> [...]

    std: the standard deviation; ValueError below 0.
    """

    def __init__(self, std: float = 0.1):
        if not std >= 0:
            raise ValueError(f"GaussianNoise(std={std}): std must be at least 0: pass another value")
        self.std = std

    def forward(self, input: Tensor) -> Tensor:
        return input + randn_like(input) * self.std if self.training and self.std else input

    def extra_repr(self) -> str:
        return f"std={self.std}"
