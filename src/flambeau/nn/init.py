"""Initialisers: each gives a tensor new values (assign_) from PyTorch's distribution of that name."""

from math import prod, sqrt

from ..op import no_grad
from ..ops.distribution import rand, randn
from ..tensor import Tensor

GAINS = {
    "conv1d": 1.0, "conv2d": 1.0, "linear": 1.0, "relu": sqrt(2), "selu": 0.75, "sigmoid": 1.0, "tanh": 5 / 3,
}  # fmt: skip


@no_grad()
def constant_(tensor: Tensor, value: float) -> Tensor:
    """Every element the same number."""
    return tensor.assign_(Tensor.full(tensor.shape, value, tensor.dtype, tensor.device))


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1)


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform in [a, b)."""
    return tensor.assign_(rand(*tensor.shape, device=tensor.device) * (b - a) + a)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal with that mean and standard deviation."""
    return tensor.assign_(randn(*tensor.shape, device=tensor.device) * std + mean)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform with variance gain^2 * 2 / (fan_in + fan_out) (Glorot and Bengio, 2010)."""
    bound = gain * sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normal with variance gain^2 * 2 / (fan_in + fan_out) (Glorot and Bengio, 2010)."""
    return normal_(tensor, 0.0, gain * sqrt(2 / sum(fans(tensor))))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Uniform with variance gain^2 / fan (He et al., 2015); `a` is leaky_relu's slope."""
    bound = sqrt(3) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Normal with variance gain^2 / fan (He et al., 2015); `a` is leaky_relu's slope."""
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity))


def calculate_gain(nonlinearity: str, param: float = 0.01) -> float:
    """What a layer before this nonlinearity is scaled by so that variance is kept."""
    if nonlinearity == "leaky_relu":
        return sqrt(2 / (1 + param**2))
    if nonlinearity not in GAINS:
        known = ", ".join(sorted([*GAINS, "leaky_relu"]))
        raise ValueError(f"calculate_gain({nonlinearity!r}): unknown nonlinearity: use one of {known}")
    return GAINS[nonlinearity]


def fans(tensor: Tensor) -> tuple[int, int]:
    """How many numbers go into and come out of one element of a weight [out, in, *kernel]."""
    if tensor.ndim < 2:
        raise ValueError(f"fans({list(tensor.shape)}): weights need at least 2 dims: use uniform_ or normal_")
    taps = prod(tensor.shape[2:])
    return tensor.shape[1] * taps, tensor.shape[0] * taps


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"kaiming(mode={mode!r}): unknown mode: use 'fan_in' or 'fan_out'")
    fan = fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / sqrt(fan) if fan else 0.0
