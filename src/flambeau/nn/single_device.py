"""PyTorch's layers for several devices, on one device."""

from types import GenericAlias
from typing import Any

from ..errors import ValueError
from ..tensor import Tensor
from .module import Module
from .norm import BatchNorm

PARALLEL = (
    "a process uses one device, and the optimizer is wrapped: write"
    " `optimizer = flambeau.distributed.wrap(optimizer, model)`, step by"
    " `optimizer.step(loss_function, *batch)`, and start it by `flambeau launch --devices 2 script.py`"
)


class SyncBatchNorm(BatchNorm):
    """Batch normalisation. There is one process, so the batch of all processes is the batch itself. [n, c,
    ...] -> [n, c, ...]

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
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

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

    __class_getitem__ = classmethod(GenericAlias)  # DataParallel[int], as PyTorch allows it

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
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
