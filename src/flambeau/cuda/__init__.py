"""PyTorch's torch.cuda: the functions of fb.accelerator for the available GPU, of any vendor."""

from typing import Any

from .. import accelerator
from ..core.torch_hints import UnknownName
from ..core.warn_once import note
from ..device import ANY_MAKE, get_device
from ..ops.random import manual_seed as _manual_seed
from . import amp


def is_available() -> bool:
    """Whether there is a GPU adapter, which may be a software one."""
    note(ANY_MAKE)
    return accelerator.is_available()


def device_count() -> int:
    """The number of GPUs."""
    note(ANY_MAKE)
    return accelerator.device_count()


def current_device() -> int:
    """The number of the GPU that "gpu" names."""
    note(ANY_MAKE)
    return accelerator.current_device_index()


def get_device_name(device: Any = None) -> str:
    """The driver's name of a GPU."""
    note(ANY_MAKE)
    return get_device("gpu" if device is None else device).name.partition(":")[2]


def memory_allocated(device: Any = None) -> int:
    """The current bytes of tensors."""
    return accelerator.memory_allocated(device)


def max_memory_allocated(device: Any = None) -> int:
    """The peak bytes of tensors."""
    return accelerator.max_memory_allocated(device)


def memory_reserved(device: Any = None) -> int:
    """The bytes allocated from the driver."""
    return accelerator.memory_reserved(device)


def synchronize(device: Any = None) -> None:
    """Wait until everything submitted is done."""
    accelerator.synchronize(device)


def empty_cache() -> None:
    """Return unused memory to the driver."""
    accelerator.empty_cache()


def manual_seed(seed: int) -> None:
    """The same as fb.manual_seed: one stream of random numbers for all devices."""
    _manual_seed(seed)


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
