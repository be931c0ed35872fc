"""PyTorch's torch.accelerator: the available GPUs, their memory, and synchronisation."""

from typing import Any

from .core.torch_hints import UnknownName
from .device import IN_BROWSER, DeviceLike, get_device
from .device.protocol import Device
from .errors import DeviceError


def _gpu(device: DeviceLike | None = None) -> Device:
    return get_device("gpu" if device is None else device)


def is_available() -> bool:
    """Whether a GPU is available; it may be a software adapter."""
    try:
        return _gpu().kind == "gpu"
    except DeviceError:
        return False


def current_accelerator(check_available: bool = False) -> Device | None:
    """Return the GPU that "gpu" names; None without a GPU, whatever `check_available` is."""
    return _gpu() if is_available() else None


def device_count() -> int:
    """Return the number of GPUs."""
    # A page can't list adapters: it requests one.
    if IN_BROWSER:
        return 1
    from .device.adapters import adapters

    try:
        return len(adapters())
    except DeviceError:
        return 0


def current_device_index() -> int:
    """Return the index of the GPU that "gpu" names."""
    return _gpu().index or 0


def memory_allocated(device: DeviceLike | None = None) -> int:
    """Return the bytes of current tensors."""
    return _pool_bytes(device, "live")


def max_memory_allocated(device: DeviceLike | None = None) -> int:
    """Return the peak bytes of tensors."""
    return _pool_bytes(device, "peak")


def memory_reserved(device: DeviceLike | None = None) -> int:
    """Return the bytes allocated from the driver."""
    return _pool_bytes(device, "reserved")


def _pool_bytes(device: Any, field: str) -> int:
    pool = _gpu(device).pool
    # The NumPy device has no pool.
    return getattr(pool, field) if pool else 0


def synchronize(device: DeviceLike | None = None) -> None:
    """Wait until all submitted work is done."""
    _gpu(device).wait()


def empty_cache() -> None:
    """Return unused memory to the driver."""
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
