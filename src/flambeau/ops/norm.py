"""Normalisations and distances: by vectors' norms, or by mean and variance of batches, groups, layers."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from ..core.declare import composed, composite
from ..core.modes import no_grad
from ..core.op import only_real
from ..core.shape import Window, normal_dim
from .elementwise import as_float
from .join import broadcast_tensors
from .reduce import in_float32, standardize

if TYPE_CHECKING:
    from ..core.rules import Gradients
    from ..core.shape import Shape
    from ..tensor import Tensor

EPS_RULE = "training divides by the root of the variance and eps: pass a positive number"


@composed
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """The input divided by its p-norm along a dim, or by eps if the norm is smaller. [...] -> [...]"""
    return input / input.norm(p, dim, keepdim=True).maximum(eps)


@composed
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between vectors along a dim; their norms are eps at least. [...], [...] -> [...]

    x1: the first rows
    x2: the second rows
    Raises IndexError if there is no such dim.
    """
    only_real(x1, x2)
    ndim = max(x1.ndim, x2.ndim)  # the dim counts in the broadcast shape
    x1, x2 = (x.reshape(*(1,) * (ndim - x.ndim), *x.shape) for x in (x1, x2))
    d = normal_dim(dim, max(ndim, 1))
    if x1.shape[d : d + 1] != x2.shape[d : d + 1]:
        x1, x2 = broadcast_tensors(x1, x2)
    norms = x1.norm(2, dim).maximum(eps) * x2.norm(2, dim).maximum(eps)
    return (x1 * x2).sum(dim) / norms


@composed
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dim. [..., d], [..., d] -> [...]"""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def by_channel(x: Tensor, ndim: int) -> Tensor:
    """A value for each channel, shaped to broadcast with ndim dims. [c] -> [1, c, 1, ...]"""
    return x.reshape(1, -1, *(1,) * (ndim - 2))


def affine_norm(
    x: Tensor,
    mean: Tensor,
    var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias, all but x by channel. [n, c, ...], [c] -> [n, c, ...]"""
    wide, dtype = in_float32(x)
    scale = (var + eps).rsqrt()
    # the affine map by channel is one product and one sum
    scale = scale if weight is None else scale * weight
    y = (wide - by_channel(mean, x.ndim)) * by_channel(scale, x.ndim)
    return (y if bias is None else y + by_channel(bias, x.ndim)).to(dtype)


def moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and (biased) variance by channel, float32. [n, c, ...] -> [c], [c]"""
    x, dims = as_float(x), (0, *range(2, x.ndim))
    # A second pass over x: the mean of squares minus the square of the mean would cancel.
    mean = x.mean(dims)
    return mean, (x - by_channel(mean, x.ndim)).square().mean(dims)


def batch_affine_norm(
    x: Tensor,
    mean: Tensor,
    var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """affine_norm whose mean and var are those of x; gradients flow through them. [n, c, ...], [c] -> same"""
    wide, dtype = in_float32(x)
    # One number serves for all channels that have no weight or bias.
    weight, bias = (
        type(x).full((1,), value, device=x.device) if factor is None else as_float(factor)
        for factor, value in ((weight, 1.0), (bias, 0.0))
    )
    return _batch_affine(wide, mean, var, weight, bias, eps=eps).to(dtype)


def _batch_affine_grad(
    g: Tensor, y: Tensor, x: Tensor, mean: Tensor, var: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> Gradients:
    """All gradients need only two sums by channel. mean and var depend on x: theirs is part of that of x."""
    # With u = (x - mean) / std and means over a channel: gx = weight / std * (g - mean(g) - u * mean(g u)),
    # gweight = sum(g u), gbias = sum(g) (Ioffe and Szegedy, 2015).
    dims = (0, *range(2, x.ndim))
    scale = (var + eps).rsqrt()
    unit = (x - by_channel(mean, x.ndim)) * by_channel(scale, x.ndim)
    shift, stretch = g.sum(dims), (g * unit).sum(dims)
    share = x.shape[1] / max(x.numel(), 1)  # 1 / n for means over the n values of a channel
    rest = by_channel(shift * share, x.ndim) + unit * by_channel(stretch * share, x.ndim)
    return [(g - rest) * by_channel(scale * weight, x.ndim), None, None, stretch, shift]


@composite(grad=_batch_affine_grad)
def _batch_affine(
    x: Tensor, mean: Tensor, var: Tensor, weight: Tensor, bias: Tensor, *, eps: float
) -> Tensor:
    return affine_norm(x, mean, var, weight, bias, eps)


@no_grad()
def track(
    running_mean: Tensor, running_var: Tensor, mean: Tensor, var: Tensor, n: int, share: float | Tensor
) -> None:
    """Move running statistics towards those of a batch with n values per channel; running_var is unbiased.
    An empty batch changes nothing."""
    if not n:
        return
    running_mean.assign_(running_mean + (mean - running_mean) * share)
    running_var.assign_(running_var + (var * (n / (n - 1)) - running_var) * share)  # Bessel's correction


@composed
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0, variance 1 by channel, then affine. training uses the batch's statistics
    and moves the running ones.

    [n, c, ...], [c] -> [n, c, ...]

    running_mean: the mean to use, or to move towards the batch's
    running_var: the variance to use, or to move towards the batch's
    momentum: the share of the batch in the running statistics
    eps: a small number that keeps divisions from 0
    Raises ValueError if a channel has one value, running statistics are needed and not given, or eps is not
        positive in training.
    """
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("without training, running_mean and running_var are required: pass both")
        if input.ndim < 2 and not input.numel():  # as in PyTorch, an empty vector passes
            return input.clone()
        return affine_norm(input, running_mean, running_var, weight, bias, eps)
    if eps <= 0:
        raise ValueError(f"eps={eps}: {EPS_RULE}")
    if input.ndim < 2 and not input.numel():
        return input.clone()
    n = input.numel() // input.shape[1]
    if n == 1:
        raise ValueError("a single value per channel has no variance: train on larger batches")
    mean, var = moments(input)
    if running_mean is not None and running_var is not None:
        track(running_mean, running_var, mean.detach(), var.detach(), n, momentum)
    return batch_affine_norm(input, mean, var, weight, bias, eps)


@composed
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0, variance 1 over each group of channels of each sample, then affine (Wu and He, 2018).

    [n, c, ...], [c] -> [n, c, ...]

    num_groups: how many groups the channels are divided into
    eps: a small number that keeps divisions from 0
    Raises ValueError if the groups do not divide the channels.
    """
    n, c = input.shape[:2]
    if c % num_groups:
        raise ValueError(f"{c} channels do not divide into {num_groups} groups: pass a divisor")
    wide, dtype = in_float32(input)
    # each group of each sample is a row
    x = wide.reshape(n, num_groups, c // num_groups * prod(input.shape[2:]))
    y = standardize(x, (x.ndim - 1,), eps).reshape(*input.shape)
    y = y if weight is None else y * by_channel(weight, input.ndim)
    return (y if bias is None else y + by_channel(bias, input.ndim)).to(dtype)


@composed
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0, variance 1 over each channel of each sample, then affine (Ulyanov et al., 2016).

    [n, c, ...], [c] -> [n, c, ...]

    running_mean: the mean to use, or to move towards the batch's
    running_var: the variance to use, or to move towards the batch's
    use_input_stats: mean and variance of the input, not the running ones
    momentum: the share of the batch in the running statistics
    eps: a small number that keeps divisions from 0
    Raises ValueError if a channel has one value.
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    n = prod(input.shape[2:])
    if n == 1:
        raise ValueError("a channel with one value has no variance: pass larger inputs")
    if running_mean is not None and running_var is not None and input.shape[0]:
        dims = tuple(range(2, input.ndim))
        # As in PyTorch, running statistics of all samples: the mean of each sample's variance.
        var = input.detach().var(dims, correction=0).mean(0)
        track(running_mean, running_var, input.detach().mean((0, *dims)), var, n, momentum)
    return group_norm(input, input.shape[1] or 1, weight, bias, eps)


def _last_dims(shape: Shape, normalized_shape: Sequence[int]) -> tuple[int, ...]:
    """The dims to normalise over; ValueError unless their sizes are normalized_shape."""
    lead = len(shape) - len(normalized_shape)
    if not normalized_shape:
        raise ValueError("normalized_shape has no dims: pass the sizes of the last ones")
    if tuple(normalized_shape) != shape[max(lead, 0) :]:
        raise ValueError(f"the last dims are {list(shape[max(lead, 0) :])}: normalized_shape must equal them")
    return tuple(range(lead, len(shape)))


@composed
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0, variance 1 over the last dims, then weight and bias (Ba et al., 2016). [..., n] -> [..., n]

    normalized_shape: the sizes of the last dims, which are normalised
    eps: a small number that keeps divisions from 0
    Raises ValueError if the last dims are not normalized_shape.
    """
    dims = _last_dims(input.shape, normalized_shape)
    x, dtype = in_float32(input)
    y = standardize(x, dims, eps).to(dtype)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


@composed
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """The input by the root of its mean square over the last dims (Zhang and Sennrich, 2019). [..., n]

    normalized_shape: the sizes of the last dims, which are normalised
    eps: a small number that keeps divisions from 0
    Raises ValueError if the last dims are not normalized_shape.
    """
    dims = _last_dims(input.shape, normalized_shape)
    # the eps of float32, in which the mean is computed
    least = 1.1920928955078125e-07 if eps is None else eps
    x, dtype = in_float32(input)
    y = (x * (x.square().mean(dims, keepdim=True) + least).rsqrt()).to(dtype)
    return y if weight is None else y * weight


@composed
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """x / (k + alpha * mean of squares of `size` channels around)**beta (Krizhevsky et al., 2012).
    [n, c, *size] -> [n, c, *size]

    Raises ValueError if the input has fewer than 3 dims.
    """
    if input.ndim < 3:
        raise ValueError("takes at least 3 dims, [n, c, ...]: reshape it")
    if not input.numel():
        return input
    # channels beyond the first and last count as 0
    windows = (Window(size, 1, 1, size // 2, (size - 1) // 2),)
    mean = input.square().movedim(1, -1)._windows(windows).mean(-1).movedim(-1, 1)
    return input / (mean * alpha + k).pow(beta)


@composed
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels interleaved across groups (Zhang et al., 2018). [n, groups * c, ...] -> the same shape

    Raises ValueError if the groups do not divide the channels.
    """
    n, c = input.shape[:2]
    if c % groups:
        raise ValueError(f"{c} channels do not divide into {groups} groups: pass a divisor")
    x = input.reshape(n, groups, c // groups, *input.shape[2:])
    return x.transpose(1, 2).reshape(*input.shape)


@composed
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels become pixels (Shi et al., 2016). [..., c * r * r, h, w] -> [..., c, h * r, w * r]

    upscale_factor: how many times larger height and width become
    Raises ValueError if the factor does not divide the channels.
    """
    r = upscale_factor
    *batch, c, h, w = input.shape
    if c % (r * r):
        raise ValueError(f"{c} channels do not divide by {r} * {r}: pass another factor")
    n = len(batch)
    # [..., c, r, r, h, w] to [..., c, h, r, w, r]
    x = input.reshape(*batch, c // (r * r), r, r, h, w)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return x.permute(*order).reshape(*batch, c // (r * r), h * r, w * r)


@composed
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Pixels become channels. [..., c, h * r, w * r] -> [..., c * r * r, h, w]

    downscale_factor: how many times smaller height and width become
    Raises ValueError if the factor does not divide height and width.
    """
    r = downscale_factor
    *batch, c, h, w = input.shape
    if h % r or w % r:
        raise ValueError(f"sizes {h} and {w} do not divide by {r}: pass another factor")
    n = len(batch)
    # [..., c, h, r, w, r] to [..., c, r, r, h, w]
    x = input.reshape(*batch, c, h // r, r, w // r, r)
    return x.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3).reshape(*batch, c * r * r, h // r, w // r)
