"""Normalisation layers."""

from typing import Any

from ..core import dtype as dt
from ..core.dtype import DTypeLike
from ..core.modes import no_grad
from ..core.node import describe
from ..core.sizes import integers
from ..device import DeviceLike
from ..errors import ValueError
from ..ops.norm import (
    EPS_RULE,
    affine_norm,
    batch_affine_norm,
    group_norm,
    instance_norm,
    layer_norm,
    moments,
    rms_norm,
    track,
)
from ..tensor import Tensor
from . import init
from .linear import new_parameter, not_negative, positive
from .module import Module, cast_layer
from .parameter import Parameter


class NormBase(Module):
    """Base of norms: an affine map after the normalisation, initialised to the identity."""

    weight: Parameter | None
    bias: Parameter | None = None

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class BatchNorm(NormBase):
    """Zero mean and unit variance by channel over the batch (Ioffe and Szegedy, 2015), then an affine map.

    Training mode uses the batch's mean and variance and updates running ones, which eval mode uses.
    """

    ranks: tuple[int, ...] = ()
    _version = 2  # the second has num_batches_tracked
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        *,
        bias: bool = True,
    ):
        not_negative(type(self).__name__, num_features=num_features)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.weight = new_parameter(num_features, value=1.0, device=device) if affine else None
        self.bias = new_parameter(num_features, device=device) if affine and bias else None
        tracked = track_running_stats
        self.register_buffer("running_mean", Tensor.zeros(num_features, device=device) if tracked else None)
        self.register_buffer("running_var", Tensor.ones(num_features, device=device) if tracked else None)
        if tracked:
            # int64, as in PyTorch: the count of batches is in the state_dict.
            count = Tensor.full((), 0, dt.int64, device)
            self.register_buffer("num_batches_tracked", count)
        cast_layer(self, dtype)

    def reset_running_stats(self) -> None:
        """Reset the running statistics: mean 0, variance 1, no batch counted."""
        # without running statistics there is nothing to reset
        if self.running_mean is not None and self.running_var is not None:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Initialise the parameters and the running statistics again."""
        self.reset_running_stats()
        super().reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        self._check(input)
        # Without running statistics eval mode normalises by the batch, as in PyTorch.
        if self.training or self.running_mean is None or self.running_var is None:
            # mean and var: [c], over the batch and all positions
            mean, var = moments(input)
            if self.training and self.track_running_stats:
                # n: values of a channel
                self._track(mean.detach(), var.detach(), input.numel() // self.num_features)
            return batch_affine_norm(input, mean, var, self.weight, self.bias, self.eps)
        return affine_norm(input, self.running_mean, self.running_var, self.weight, self.bias, self.eps)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        *lists: list[str],
        **named: list[str],
    ) -> None:
        # Files of the first version, and those without one, may have no count of batches.
        key, version = f"{prefix}num_batches_tracked", local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *lists, **named)

    def _check_input_dim(self, input: Tensor) -> None:
        """ValueError for another number of dims; subclasses may override it, as in PyTorch."""
        if self.ranks and input.ndim not in self.ranks:
            ranks = " or ".join(map(str, self.ranks))
            rule = f"takes {ranks} dims, batch and channels first: reshape it"
            raise ValueError(f"{type(self).__name__}({describe(input)}): {rule}")

    def _check(self, x: Tensor) -> None:
        name = type(self).__name__
        if x.shape[1] != self.num_features:
            rule = f"the layer expects {self.num_features} channels, the input has {x.shape[1]}"
            raise ValueError(f"{name}({describe(x)}): {rule}: make them equal")
        # the variance of one value is 0, and the result would be the bias whatever the input
        if self.training and x.numel() == self.num_features:
            rule = "a single value per channel has no variance: train on larger batches, or call eval()"
            raise ValueError(f"{name}({describe(x)}): {rule}")
        if self.training and self.eps <= 0:
            raise ValueError(f"{name}(eps={self.eps}): {EPS_RULE}")

    @no_grad()
    def _track(self, mean: Tensor, var: Tensor, n: int) -> None:
        """Move the running statistics towards the batch's; momentum None averages over all batches."""
        if self.running_mean is None or self.running_var is None:
            return
        count = self.num_batches_tracked + 1
        # None: the cumulative mean of all batches, by a share of 1 / count.
        share = self.momentum if self.momentum is not None else 1 / count.float()
        self.num_batches_tracked.assign_(count)
        track(self.running_mean, self.running_var, mean, var, n, share)

    def extra_repr(self) -> str:
        shown = f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"
        return f"{shown}, bias={self.bias is not None}, track_running_stats={self.track_running_stats}"


class BatchNorm1d(BatchNorm):
    """Batch normalisation. [n, c] -> [n, c], [n, c, l] -> [n, c, l]

    num_features: channels of the input
    eps: a small number that keeps divisions from 0
    momentum: the share of the batch in the running statistics; None averages over all batches
    affine: learn a factor and an offset for each channel
    track_running_stats: keep running statistics, which eval mode uses
    bias: with `affine`, learn the offset; False learns only the factor
    Raises ValueError if a size is negative.
    """

    ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """Batch normalisation. [n, c, h, w] -> [n, c, h, w]

    num_features: channels of the input
    eps: a small number that keeps divisions from 0
    momentum: the share of the batch in the running statistics; None averages over all batches
    affine: learn a factor and an offset for each channel
    track_running_stats: keep running statistics, which eval mode uses
    bias: with `affine`, learn the offset; False learns only the factor
    Raises ValueError if a size is negative.
    """

    ranks = (4,)


class BatchNorm3d(BatchNorm):
    """Batch normalisation. [n, c, d, h, w] -> [n, c, d, h, w]

    num_features: channels of the input
    eps: a small number that keeps divisions from 0
    momentum: the share of the batch in the running statistics; None averages over all batches
    affine: learn a factor and an offset for each channel
    track_running_stats: keep running statistics, which eval mode uses
    bias: with `affine`, learn the offset; False learns only the factor
    Raises ValueError if a size is negative.
    """

    ranks = (5,)


class InstanceNorm(BatchNorm):
    """Zero mean and unit variance by channel and sample (Ulyanov et al., 2016), then an affine map."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        *,
        bias: bool = True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        if self.ranks and input.ndim == self.ranks[0] - 1:  # one sample: without a batch dim
            return self.forward(input.unsqueeze(0)).squeeze(0)
        self._check_input_dim(input)
        if input.shape[1] != self.num_features:  # _check names the fault
            self._check(input)
        # eval mode uses running statistics only if there are any
        own = self.training or not self.track_running_stats
        running = (self.running_mean, self.running_var) if self.track_running_stats else (None, None)
        momentum = self.momentum or 0.0  # None leaves the running statistics unchanged, as in PyTorch
        return instance_norm(input, *running, self.weight, self.bias, own, momentum, self.eps)


class InstanceNorm1d(InstanceNorm):
    """Instance normalisation, of one sample too. [n, c, l] -> [n, c, l], [c, l] -> same

    num_features: channels of the input
    eps: a small number that keeps divisions from 0
    momentum: the share of the batch in the running statistics; None keeps them
    affine: learn a factor and an offset for each channel
    track_running_stats: keep running statistics, which eval mode uses
    bias: with `affine`, learn the offset; False learns only the factor
    """

    ranks = (3,)


class InstanceNorm2d(InstanceNorm):
    """Instance normalisation, of one sample too. [n, c, h, w] -> [n, c, h, w], [c, h, w] -> same

    num_features: channels of the input
    eps: a small number that keeps divisions from 0
    momentum: the share of the batch in the running statistics; None keeps them
    affine: learn a factor and an offset for each channel
    track_running_stats: keep running statistics, which eval mode uses
    bias: with `affine`, learn the offset; False learns only the factor
    """

    ranks = (4,)


class InstanceNorm3d(InstanceNorm):
    """Instance normalisation, of one sample too. [n, c, d, h, w] -> [n, c, d, h, w], [c, d, h, w] -> same

    num_features: channels of the input
    eps: a small number that keeps divisions from 0
    momentum: the share of the batch in the running statistics; None keeps them
    affine: learn a factor and an offset for each channel
    track_running_stats: keep running statistics, which eval mode uses
    bias: with `affine`, learn the offset; False learns only the factor
    """

    ranks = (5,)


class GroupNorm(NormBase):
    """Zero mean, unit variance over groups of channels (Wu and He, 2018), then affine. [n, c, ...] -> same

    ValueError if the groups do not divide the channels.

    num_groups: how many groups the channels are divided into
    num_channels: channels of the input
    eps: a small number that keeps divisions from 0
    bias: with `affine`, learn an offset for each channel; False learns only the factor
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        *,
        bias: bool = True,
    ):
        positive("GroupNorm", num_groups=num_groups)
        not_negative("GroupNorm", num_channels=num_channels)
        if num_channels % num_groups:
            rule = "num_groups must divide num_channels: pass a divisor"
            raise ValueError(f"GroupNorm({num_groups}, {num_channels}): {rule}")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.weight = new_parameter(num_channels, value=1.0, device=device) if affine else None
        self.bias = new_parameter(num_channels, device=device) if affine and bias else None
        cast_layer(self, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        shown = f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"
        return f"{shown}, bias={self.bias is not None}"


class RMSNorm(NormBase):
    """Root mean square 1 over the last dims (Zhang and Sennrich, 2019), then weight. [..., n] -> [..., n]

    normalized_shape: the sizes of the last dims, which are normalised
    eps: a small number that keeps divisions from 0
    elementwise_affine: learn a factor (and an offset) for each element
    Raises ValueError if a size is negative.
    """

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        sizes = integers(normalized_shape, "normalized_shape")
        shape = (sizes,) if isinstance(sizes, int) else tuple(sizes)
        not_negative("RMSNorm", normalized_shape=min(shape, default=1))
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self.weight = new_parameter(*shape, value=1.0, device=device) if elementwise_affine else None
        cast_layer(self, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LayerNorm(NormBase):
    """Zero mean, unit variance over the last dims (Ba et al., 2016), then affine. [..., n] -> [..., n]

    normalized_shape: the sizes of the last dims, which are normalised
    eps: a small number that keeps divisions from 0
    elementwise_affine: learn a factor (and an offset) for each element
    Raises ValueError if a size is negative.
    """

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        sizes = integers(normalized_shape, "normalized_shape")
        shape = (sizes,) if isinstance(sizes, int) else tuple(sizes)
        not_negative("LayerNorm", normalized_shape=min(shape, default=1))
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self.weight = new_parameter(*shape, value=1.0, device=device) if elementwise_affine else None
        self.bias = new_parameter(*shape, device=device) if elementwise_affine and bias else None
        cast_layer(self, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        shown = f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        return f"{shown}, bias={self.bias is not None}"
