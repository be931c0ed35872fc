"""PyTorch's torch.cuda, over the GPU that there is: whether, how many, which, memory, seeds, waiting."""

from typing import Any

from ..core.habits import UnknownName
from ..core.notes import note
from ..device import ANY_MAKE, IN_BROWSER, get_device
from ..device.seam import Device
from ..errors import DeviceError
from ..ops.random import manual_seed as _manual_seed
from . import amp


def _gpu(device: Any = None) -> Device:
    note(ANY_MAKE, 3)
    return get_device("gpu" if device is None else device)


def is_available() -> bool:
    """Whether there is a GPU, which may be one that a driver computes on the CPU."""
    try:
        return _gpu().kind == "gpu"
    except DeviceError:
        return False


def device_count() -> int:
    """How many GPUs there are."""
    if IN_BROWSER:
        return 1
    from ..device.adapters import adapters

    try:
        return len(adapters())
    except DeviceError:
        return 0


def current_device() -> int:
    """The number of the GPU that "gpu" names."""
    return _gpu().index or 0


def get_device_name(device: Any = None) -> str:
    """What the driver calls a GPU."""
    return _gpu(device).name.partition(":")[2]


def memory_allocated(device: Any = None) -> int:
    """Bytes of tensors that are there now."""
    return _pooled(device, "live")


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes of tensors so far."""
    return _pooled(device, "peak")


def memory_reserved(device: Any = None) -> int:
    """Bytes that were taken from the driver."""
    return _pooled(device, "reserved")


def _pooled(device: Any, what: str) -> int:
    pool = _gpu(device).pool
    return getattr(pool, what) if pool else 0


def synchronize(device: Any = None) -> None:
    """Return when everything submitted is done."""
    _gpu(device).wait()


def empty_cache() -> None:
    """Give memory that no tensor uses back to the driver."""
    if (pool := _gpu().pool) is not None:
        pool.trim()


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
