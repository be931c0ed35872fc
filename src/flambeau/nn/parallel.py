"""torch.nn.parallel's names. Training on several devices is `flambeau.distributed`."""

from .single_device import DataParallel, DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]
