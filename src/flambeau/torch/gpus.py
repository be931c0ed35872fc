"""torch.cuda: the GPU of any vendor. `is_available()` is False for software adapters unless FLAMBEAU_CUDA=1
is set."""

import os
from typing import Any

from .. import accelerator
from ..device import get_device
from ..errors import DeviceError
from .devices import TorchDevice


def is_available() -> bool:
    """Whether there is a GPU; a software adapter counts only with FLAMBEAU_CUDA=1."""
    try:
        gpu = get_device("gpu")
    except DeviceError:
        return False
    is_software = gpu.adapter is not None and gpu.adapter.is_software
    return not is_software or os.environ.get("FLAMBEAU_CUDA", "0") not in ("", "0")


def current_accelerator(check_available: bool = False) -> TorchDevice | None:
    """The device "cuda" if `is_available()`, else None, whatever `check_available` is."""
    return TorchDevice("cuda") if is_available() else None


def device_count() -> int:
    """The number of GPUs, 0 if `is_available()` is False."""
    return accelerator.device_count() if is_available() else 0


def current_device() -> int:
    """The index of the GPU that "cuda" names."""
    return accelerator.current_device_index()


def get_device_name(device: Any = None) -> str:
    """The driver's name of a GPU."""
    return get_device("gpu" if device is None else device).name.partition(":")[2]


def is_initialized() -> bool:
    """Whether the GPU can be used."""
    return is_available()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether tensors on the GPU may be bfloat16. including_emulation: accepted and ignored."""
    return is_available()


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """CUDA's compute capability, which a GPU of WebGPU has none of: (0, 0)."""
    return 0, 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let max_memory_allocated count from now on."""
    if is_available() and (pool := get_device("gpu" if device is None else device).pool) is not None:
        pool.peak = pool.live


def set_device(device: Any) -> None:
    """Set the GPU that "cuda" names: only "cuda:0" exists."""


def memory_allocated(device: Any = None) -> int:
    """The bytes of current tensors on the GPU; 0 without one."""
    return accelerator.memory_allocated(device) if is_available() else 0


def max_memory_allocated(device: Any = None) -> int:
    """The peak bytes of tensors on the GPU; 0 without one."""
    return accelerator.max_memory_allocated(device) if is_available() else 0


def memory_reserved(device: Any = None) -> int:
    """The bytes that were allocated from the driver; 0 without a GPU."""
    return accelerator.memory_reserved(device) if is_available() else 0


max_memory_reserved = memory_cached = max_memory_cached = memory_reserved


def empty_cache() -> None:
    """Return unused memory to the driver."""
    if is_available():
        accelerator.empty_cache()


def synchronize(device: Any = None) -> None:
    """Wait until all submitted work is done."""
    if is_available():
        accelerator.synchronize(device)
