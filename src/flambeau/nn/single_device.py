"""PyTorch's layers for several devices, on one device."""

from collections.abc import Sequence
from contextvars import ContextVar
from types import GenericAlias
from typing import Any, Protocol

from ..autograd import Function
from ..core.dtype import DTypeLike
from ..device import DeviceLike
from ..errors import ValueError
from ..functions import cat
from ..ops.norm import affine_norm, as_float, by_channel
from ..tensor import Tensor
from .module import Module
from .norm import BatchNorm

PARALLEL = (
    "a process uses one device, and the optimizer is wrapped: write"
    " `optimizer = flambeau.distributed.wrap(optimizer, model)`, step by"
    " `optimizer.step(loss_function, *batch)`, and start it by `flambeau launch --devices 2 script.py`"
)


class Statistics(Protocol):
    """Adds numbers over the shards of a step, which are computed in parallel."""

    is_first: bool  # whether this shard moves the running statistics

    def total(self, values: Tensor) -> Tensor:
        """Return the sum of [n] over all shards."""
        ...


# The state of the shard that this thread computes, in a step with synchronised batch norms.
statistics: ContextVar[Statistics | None] = ContextVar("statistics", default=None)


class TotalOverShards(Function):
    """The sum over all shards; its gradient is the sum of the gradients of all shards. [n] -> [n]"""

    @staticmethod
    def forward(ctx: Any, values: Tensor, shared: Statistics) -> Tensor:
        ctx.shared = shared
        return shared.total(values)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return ctx.shared.total(grads[0]), None


class SyncBatchNorm(BatchNorm):
    """Batch normalisation; in a step of `distributed.wrap(..., sync_batch_norm=True)` over the batch of all
    workers. [n, c, ...] -> [n, c, ...]

    num_features: channels of the input
    eps: a small number that keeps divisions from 0
    momentum: the share of the batch in the running statistics; None averages over all batches
    affine: learn a factor and an offset for each channel
    track_running_stats: keep running statistics, which eval mode uses
    process_group: accepted and ignored
    bias: with `affine`, learn the offset; False learns only the factor
    """

    ranks = (2, 3, 4, 5)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        *,
        bias: bool = True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def forward(self, input: Tensor) -> Tensor:
        shared = statistics.get()
        if shared is None or not self.training:
            return super().forward(input)
        self._check_input_dim(input)
        x, dims, channels = as_float(input), (0, *range(2, input.ndim)), self.num_features
        own = Tensor.full((1,), x.numel() // channels, device=x.device)
        sums: Tensor = TotalOverShards.apply(cat([x.sum(dims), own]), shared)
        count = sums[channels:].detach()
        mean = sums[:channels] / count
        # A second pass over x: the mean of squares minus the square of the mean would cancel.
        squares = (x - by_channel(mean, x.ndim)).square().sum(dims)
        var = TotalOverShards.apply(squares, shared) / count
        if self.track_running_stats and shared.is_first:
            self._track(mean.detach(), var.detach(), int(count.item()))
        return affine_norm(input, mean, var, self.weight, self.bias, self.eps)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace a model's batch norms by SyncBatchNorm with the same tensors; returns the model.

        module: the model. process_group: accepted and ignored.
        """
        if isinstance(module, BatchNorm) and type(module).__name__.startswith("BatchNorm"):
            # The class alone changes: SyncBatchNorm has the same attributes, for inputs of 2 to 5 dims.
            module.__class__ = cls
        for m in module.modules():
            if m is not module and type(m).__name__ in ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"):
                m.__class__ = cls
        return module


class DataParallel(Module):
    """Calls the module: one process drives one device, so the batch is not divided. state_dict has PyTorch's
    names, with the prefix "module.".

    module: the module. device_ids: None, or its one device. ValueError for several. output_device, dim:
    accepted and ignored.
    """

    # DataParallel[int], as PyTorch allows it
    __class_getitem__: Any = classmethod(GenericAlias)  # pyright: ignore[reportUnknownVariableType]

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[DeviceLike] | None = None,
        output_device: DeviceLike | None = None,
        dim: int = 0,
    ):
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError(f"DataParallel(device_ids={list(device_ids)}): {PARALLEL}")
        self.module = module  # the attribute's name gives state_dict its prefix "module."

    def forward(self, *inputs: Tensor, **kw: Any) -> Any:
        return self.module(*inputs, **kw)


class DistributedDataParallel(Module):
    """PyTorch's wrapper of a model for several processes: here the optimiser is wrapped. ValueError says how.

    module: the model. args, options: those of PyTorch.
    """

    def __init__(self, module: Module, *args: Any, **options: Any):
        raise ValueError(f"DistributedDataParallel({type(module).__name__}): {PARALLEL}")
