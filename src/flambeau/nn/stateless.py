"""Other layers without parameters: distances, local response norm, pixel and channel shuffles."""

from ..ops import movement, norm
from ..tensor import Tensor
from .function_layer import FunctionLayer


class ChannelShuffle(FunctionLayer):
    """Interleave the channels of all groups (Zhang et al., 2018). [n, groups * c, ...] -> the same shape

    Raises ValueError if the groups do not divide the channels.
    """

    def __init__(self, groups: int):
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return norm.channel_shuffle(input, groups=self.groups)


class CosineSimilarity(FunctionLayer):
    """Cosine of the angle between vectors along a dim; lengths are eps at least. [...], [...] -> [...]

    x1: the first rows
    x2: the second rows
    Raises IndexError if there is no such dim.
    """

    def __init__(self, dim: int = 1, eps: float = 1e-08):
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return norm.cosine_similarity(x1, x2, dim=self.dim, eps=self.eps)


class CrossMapLRN2d(FunctionLayer):
    """x / (k + alpha * mean of squares of `size` channels around)**beta (Krizhevsky et al., 2012). [n,
    c, *size] -> [n, c, *size]

    Raises ValueError if the input has fewer than 3 dims.
    """

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1):
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return norm.local_response_norm(input, size=self.size, alpha=self.alpha, beta=self.beta, k=self.k)


class Flatten(FunctionLayer):
    """Dims start_dim to end_dim as one. [n, a, b], 1 -> [n, a * b]

    Raises IndexError if there is no such dim.
    """

    shows_all = True

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return movement.flatten(input, start_dim=self.start_dim, end_dim=self.end_dim)


class LocalResponseNorm(FunctionLayer):
    """x / (k + alpha * mean of squares of `size` channels around)**beta (Krizhevsky et al., 2012). [n,
    c, *size] -> [n, c, *size]

    Raises ValueError if the input has fewer than 3 dims.
    """

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0):
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return norm.local_response_norm(input, size=self.size, alpha=self.alpha, beta=self.beta, k=self.k)


class PairwiseDistance(FunctionLayer):
    """The p-norm of x1 - x2 + eps along the last dim. [..., d], [..., d] -> [...]"""

    def __init__(self, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False):
        self.p, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return norm.pairwise_distance(x1, x2, p=self.p, eps=self.eps, keepdim=self.keepdim)


class PixelShuffle(FunctionLayer):
    """Channels become pixels (Shi et al., 2016). [..., c * r * r, h, w] -> [..., c, h * r, w * r]

    upscale_factor: how many times larger height and width become
    Raises ValueError if the factor does not divide the channels.
    """

    def __init__(self, upscale_factor: int):
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return norm.pixel_shuffle(input, upscale_factor=self.upscale_factor)


class PixelUnshuffle(FunctionLayer):
    """Pixels become channels. [..., c, h * r, w * r] -> [..., c * r * r, h, w]

    downscale_factor: how many times smaller height and width become
    Raises ValueError if the factor does not divide height and width.
    """

    def __init__(self, downscale_factor: int):
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return norm.pixel_unshuffle(input, downscale_factor=self.downscale_factor)
