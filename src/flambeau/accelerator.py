"""PyTorch's torch.accelerator: whether there is a GPU, how many, which, memory, waiting."""

from typing import Any

from .core.torch_hints import UnknownName
from .device import IN_BROWSER, get_device
from .device.protocol import Device
from .errors import DeviceError


def _gpu(device: Any = None) -> Device:
    return get_device("gpu" if device is None else device)


def is_available() -> bool:
    """Whether there is a GPU, which may be one that a driver computes on the CPU."""
    try:
        return _gpu().kind == "gpu"
    except DeviceError:
        return False


def current_accelerator(check_available: bool = False) -> Device | None:
    """The GPU that "gpu" names; None where there is none, whether check_available asks for that or not."""
    return _gpu() if is_available() else None


def device_count() -> int:
    """The number of GPUs."""
    if IN_BROWSER:
        return 1
    from .device.adapters import adapters

    try:
        return len(adapters())
    except DeviceError:
        return 0


def current_device_index() -> int:
    """The number of the GPU that "gpu" names."""
    return _gpu().index or 0


def memory_allocated(device: Any = None) -> int:
    """Bytes of tensors that are there now."""
    return _pool_bytes(device, "live")


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes of tensors so far."""
    return _pool_bytes(device, "peak")


def memory_reserved(device: Any = None) -> int:
    """Bytes that were taken from the driver."""
    return _pool_bytes(device, "reserved")


def _pool_bytes(device: Any, field: str) -> int:
    pool = _gpu(device).pool
    return getattr(pool, field) if pool else 0


def synchronize(device: Any = None) -> None:
    """Return when everything submitted is done."""
    _gpu(device).wait()


def empty_cache() -> None:
    """Give memory that no tensor uses back to the driver."""
    if (pool := _gpu().pool) is not None:
        pool.trim()


def __getattr__(name: str) -> Any:
    raise UnknownName(__name__, name, lambda: __all__)


__all__ = [
    "current_accelerator",
    "current_device_index",
    "device_count",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "synchronize",
]
