"""The other layers without parameters, a row each: distances, channels into places and back.

Made by `python scripts/write_stubs.py`."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int

from ..nn.module import Module
from ..tensor import Tensor

class ChannelShuffle(Module):
    """Channels of all groups taken in turn (Zhang et al., 2018). [n, groups * c, ...] -> the same shape

    Raises ValueError where the groups do not divide the channels."""

    groups: _int
    def __init__(self, groups: _int) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class CosineSimilarity(Module):
    """Cosine of the angle between vectors along a dim; lengths are eps at least. [...], [...] -> [...]

    x1: the first rows
    x2: the second rows
    Raises IndexError where there is no such dim."""

    dim: _int
    eps: _float
    def __init__(self, dim: _int = 1, eps: _float = 1e-08) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor: ...
    def __call__(self, x1: Tensor, x2: Tensor) -> Tensor: ...

class CrossMapLRN2d(Module):
    """x / (k + alpha * mean of squares of `size` channels around)**beta (Krizhevsky et al., 2012).
    [n, c, *size] -> [n, c, *size]

    Raises ValueError where the input has fewer than 3 dims."""

    size: _int
    alpha: _float
    beta: _float
    k: _float
    def __init__(self, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Flatten(Module):
    """Dims start_dim to end_dim as one. [n, a, b], 1 -> [n, a * b]

    Raises IndexError where there is no such dim."""

    start_dim: _int
    end_dim: _int
    def __init__(self, start_dim: _int = 1, end_dim: _int = -1) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class LocalResponseNorm(Module):
    """x / (k + alpha * mean of squares of `size` channels around)**beta (Krizhevsky et al., 2012).
    [n, c, *size] -> [n, c, *size]

    Raises ValueError where the input has fewer than 3 dims."""

    size: _int
    alpha: _float
    beta: _float
    k: _float
    def __init__(self, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dim. [..., d], [..., d] -> [...]"""

    p: _float
    eps: _float
    keepdim: _bool
    def __init__(self, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor: ...
    def __call__(self, x1: Tensor, x2: Tensor) -> Tensor: ...

class PixelShuffle(Module):
    """Channels become pixels (Shi et al., 2016). [..., c * r * r, h, w] -> [..., c, h * r, w * r]

    upscale_factor: how many times larger height and width become
    Raises ValueError where the factor does not divide the channels."""

    upscale_factor: _int
    def __init__(self, upscale_factor: _int) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class PixelUnshuffle(Module):
    """Pixels become channels. [..., c, h * r, w * r] -> [..., c * r * r, h, w]

    downscale_factor: how many times smaller height and width become
    Raises ValueError where the factor does not divide height and width."""

    downscale_factor: _int
    def __init__(self, downscale_factor: _int) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
