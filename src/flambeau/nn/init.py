"""Initialisers: each assigns a tensor new values from PyTorch's distribution of the same name."""

from __future__ import annotations

import warnings
from math import ceil, erfc, prod, sqrt
from typing import TYPE_CHECKING

from ..core import dtype as dt
from ..core.modes import no_grad
from ..core.warn_once import caller_level
from ..errors import ValueError
from ..ops.creation import eye
from ..ops.distribution import rand, randn
from ..ops.linalg.decompose import linalg_qr
from ..ops.random import Generator, host_draws
from ..tensor import Tensor

if TYPE_CHECKING:
    from ..ops.mersenne import HostDraws

# PyTorch's gains: they keep the variance of activations through a layer.
GAINS = {
    "conv1d": 1.0,
    "conv2d": 1.0,
    "conv3d": 1.0,
    "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0,
    "linear": 1.0,
    "relu": sqrt(2),
    "selu": 0.75,
    "sigmoid": 1.0,
    "tanh": 5 / 3,
}


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Set every element to `val`."""
    return tensor.assign_(Tensor.full(tensor.shape, val, tensor.dtype, tensor.device))


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1)


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform in [a, b). ValueError if `a` is above `b`."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal with that mean and standard deviation (std). ValueError if std is negative."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal (mean, std), truncated to [a, b], drawn through the inverse distribution function."""
    if (host := host_draws(tensor.device, generator)) is not None:
        return tensor.assign_(_truncated(host, tensor, mean, std, a, b))
    # One draw: the rejection method needs an unknown number of draws.
    # the distribution function at both bounds: a uniform number between them is inverted
    low, high = (0.5 * erfc((mean - end) / (std * sqrt(2))) for end in (a, b))
    # the clamp mends rounding at the bounds
    drawn = (rand(*tensor.shape, device=tensor.device, generator=generator) * (high - low) + low).ndtri()
    return tensor.assign_((drawn * std + mean).clamp(a, b))


def _truncated(host: HostDraws, like: Tensor, mean: float, std: float, a: float, b: float) -> Tensor:
    """PyTorch's numbers of trunc_normal_ on its CPU device, by rejection."""
    shape, dtype = like.shape, like.dtype
    inside = 0.5 * (erfc((mean - b) / (std * sqrt(2))) - erfc((mean - a) / (std * sqrt(2))))
    if inside > 0.3:  # most normal numbers are in [a, b]
        low, high = (Tensor.full((), end, dtype, like.device) for end in (a, b))
        drawn = host.normal(shape, dtype, mean, std)
        while bool((outside := (drawn < low) | (drawn > high)).any()):
            drawn = outside.where(host.normal(shape, dtype, mean, std), drawn)
        return drawn
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2  # the logarithm of the density's maximum

    def is_rejected(candidates: Tensor) -> Tensor:
        density = (((candidates - mean) / std) ** 2) * -0.5 - peak
        return host.uniform(shape, dtype).log() > density

    drawn = host.uniform(shape, dtype, a, b)
    pending = is_rejected(drawn)
    while bool(pending.any()):
        candidates = host.uniform(shape, dtype, a, b)
        drawn = pending.where(candidates, drawn)
        pending = pending & is_rejected(candidates)
    return drawn


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere; ValueError for other than 2 dims."""
    if tensor.ndim != 2:
        raise ValueError(f"eye_({list(tensor.shape)}): takes 2 dims: use dirac_ for convolutions")
    return tensor.assign_(eye(*tensor.shape, device=tensor.device))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Convolution weights [out, in, *kernel] that copy each input channel to the output of the same index in
    each of `groups`; other outputs are 0. ValueError for other than 3 to 5 dims."""
    if tensor.ndim not in (3, 4, 5) or tensor.shape[0] % groups:
        raise ValueError(f"dirac_({list(tensor.shape)}, {groups}): needs 3 to 5 dims, groups dividing out")
    # channel: the index within its group, which equals the input channel that it copies.
    out, into, *kernel = tensor.shape
    channel = Tensor.arange(out, dtype=dt.int32, device=tensor.device) % (out // groups)
    hit = channel.reshape(-1, 1) == Tensor.arange(into, dtype=dt.int32, device=tensor.device)
    for k in kernel:
        # the middle tap
        hit = hit.unsqueeze(-1) & (Tensor.arange(k, dtype=dt.int32, device=tensor.device) == k // 2)
    return tensor.assign_(hit.float())


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Orthonormal rows, or columns if there are fewer, times gain (Saxe et al., 2013). [n, ...]

    ValueError for fewer than 2 dims.
    """
    if tensor.ndim < 2:
        raise ValueError(f"orthogonal_({list(tensor.shape)}): needs at least 2 dims: use normal_")
    if not tensor.numel():
        return tensor
    rows = tensor.shape[0]
    drawn = randn(rows, tensor.numel() // rows, device=tensor.device, generator=generator)  # [out, in * taps]
    wide = drawn.shape[0] < drawn.shape[1]
    q, r = linalg_qr(drawn.mT if wide else drawn)
    q = q * r.diagonal().sign()  # else the distribution is not uniform (Mezzadri, 2007)
    return tensor.assign_((q.mT if wide else q).reshape(tensor.shape) * gain)


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal (0, std), with the share `sparsity` of each column 0 (Martens, 2010). [n, m]

    ValueError for other than 2 dims.
    """
    if tensor.ndim != 2:
        raise ValueError(f"sparse_({list(tensor.shape)}): takes 2 dims: reshape it")
    rows = tensor.shape[0]
    if (host := host_draws(tensor.device, generator)) is not None:  # a permutation for each column
        drawn = host.normal(tensor.shape, tensor.dtype, 0.0, std)
        zeros = [host.permutation(rows) for _ in range(tensor.shape[1])]
        is_zero = Tensor.zeros(*tensor.shape, dtype=dt.bool_, device=tensor.device)
        for column, order in enumerate(zeros):
            is_zero[order[: ceil(sparsity * rows)], column] = True
        return tensor.assign_(is_zero.where(0.0, drawn))
    # a random rank for each element of its column; the lowest ones become 0
    order = rand(*tensor.shape, device=tensor.device, generator=generator).argsort(0).argsort(0)
    drawn = randn(*tensor.shape, device=tensor.device, generator=generator) * std
    return tensor.assign_((order < ceil(sparsity * rows)).where(0.0, drawn))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform with variance gain^2 * 2 / (fan_in + fan_out) (Glorot and Bengio, 2010). ValueError
    below 2 dims."""
    bound = gain * sqrt(6 / sum(fans(tensor)))  # a uniform distribution on [-b, b] has variance b^2 / 3
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with variance gain^2 * 2 / (fan_in + fan_out) (Glorot and Bengio, 2010). ValueError
    below 2 dims."""
    return normal_(tensor, 0.0, gain * sqrt(2 / sum(fans(tensor))), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform with variance gain^2 / fan (He et al., 2015); `a` is leaky_relu's slope.

    mode: "fan_in" or "fan_out"; nonlinearity: the name of the activation after the layer, for the gain.
    ValueError for other names.
    """
    if _is_empty(tensor):
        return tensor
    # sqrt(3): the bound of a uniform distribution of that standard deviation
    bound = sqrt(3) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal with variance gain^2 / fan (He et al., 2015); `a` is leaky_relu's slope.

    mode: "fan_in" or "fan_out"; nonlinearity: the name of the activation after the layer, for the gain.
    ValueError for other names.
    """
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _is_empty(tensor: Tensor) -> bool:
    """Whether a tensor has no elements; warns then, as PyTorch does."""
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", UserWarning, stacklevel=caller_level())
    return True


def calculate_gain(nonlinearity: str, param: float = 0.01) -> float:
    """The factor of a layer's weights that keeps the variance through the nonlinearity after it.

    param: leaky_relu's slope. ValueError for an unknown name.
    """
    if nonlinearity == "leaky_relu":
        return sqrt(2 / (1 + param**2))  # E[leaky_relu(x)^2] = (1 + slope^2) / 2 for a symmetric x
    if nonlinearity not in GAINS:
        choices = ", ".join(sorted([*GAINS, "leaky_relu"]))
        raise ValueError(f"calculate_gain({nonlinearity!r}): unknown nonlinearity: use one of {choices}")
    return GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(  # pyright: ignore[reportUnusedFunction]  # libraries import it
    tensor: Tensor,
) -> tuple[int, int]:
    """fans, under PyTorch's name, which libraries call."""
    return fans(tensor)


def _calculate_correct_fan(  # pyright: ignore[reportUnusedFunction]  # libraries import it
    tensor: Tensor, mode: str
) -> int:
    """The fan-in or the fan-out, by its name; ValueError for another name."""
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"_calculate_correct_fan(mode={mode!r}): unknown mode: use 'fan_in' or 'fan_out'")
    return fans(tensor)[mode.lower() == "fan_out"]


def fans(tensor: Tensor) -> tuple[int, int]:
    """The fan-in and fan-out of a weight [out, in, *kernel].

    ValueError for fewer than 2 dims.
    """
    if tensor.ndim < 2:
        raise ValueError(f"fans({list(tensor.shape)}): weights need at least 2 dims: use uniform_ or normal_")
    taps = prod(tensor.shape[2:])  # elements of the receptive field
    return tensor.shape[1] * taps, tensor.shape[0] * taps


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"kaiming(mode={mode!r}): unknown mode: use 'fan_in' or 'fan_out'")
    # fan_in keeps the variance of activations, fan_out that of gradients
    fan = fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / sqrt(fan) if fan else 0.0  # no inputs: no values either
