"""PyTorch's torch.cuda: the functions of fb.accelerator, for a GPU of any vendor."""

from typing import Any

from .. import accelerator
from ..core.torch_hints import UnknownName
from ..core.warn_once import note
from ..device import ANY_MAKE, DeviceLike, get_device
from ..ops.random import manual_seed as _manual_seed
from . import amp


def is_available() -> bool:
    """Whether a GPU is available; it may be a software adapter."""
    # A script that asks torch.cuda may assume NVIDIA: a note says once that any vendor's GPU counts.
    note(ANY_MAKE)
    return accelerator.is_available()


def device_count() -> int:
    """Return the number of GPUs."""
    note(ANY_MAKE)
    return accelerator.device_count()


def current_device() -> int:
    """Return the index of the GPU that "gpu" names."""
    note(ANY_MAKE)
    return accelerator.current_device_index()


def get_device_name(device: DeviceLike | None = None) -> str:
    """Return the driver's name of a GPU."""
    note(ANY_MAKE)
    # A device's name is "gpu:" and the name of the adapter.
    return get_device("gpu" if device is None else device).name.partition(":")[2]


def memory_allocated(device: DeviceLike | None = None) -> int:
    """Return the bytes of current tensors."""
    return accelerator.memory_allocated(device)


def max_memory_allocated(device: DeviceLike | None = None) -> int:
    """Return the peak bytes of tensors."""
    return accelerator.max_memory_allocated(device)


def memory_reserved(device: DeviceLike | None = None) -> int:
    """Return the bytes allocated from the driver."""
    return accelerator.memory_reserved(device)


def synchronize(device: DeviceLike | None = None) -> None:
    """Wait until all submitted work is done."""
    accelerator.synchronize(device)


def empty_cache() -> None:
    """Return unused memory to the driver."""
    accelerator.empty_cache()


def manual_seed(seed: int) -> None:
    """Seed the generator, as fb.manual_seed: all devices share one stream of random numbers."""
    _manual_seed(seed)


# All devices share one stream.
manual_seed_all = manual_seed


def __getattr__(name: str) -> Any:
    raise UnknownName(__name__, name, lambda: __all__)


__all__ = [
    "amp",
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "is_available",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "synchronize",
]
