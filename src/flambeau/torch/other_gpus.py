"""torch.xpu, torch.mps and torch.mtia, which report no device. The GPU of any vendor is torch.cuda's."""

from typing import Any


def is_available(*_args: Any) -> bool:
    """False: a GPU of any vendor is "cuda" here."""
    return False


is_initialized = is_bf16_supported = is_available


def device_count() -> int:
    """0."""
    return 0


def _do_nothing(*_args: Any, **_kw: Any) -> None:
    """Do nothing: no such device exists."""


empty_cache = synchronize = manual_seed = manual_seed_all = seed = seed_all = set_device = _do_nothing
reset_peak_memory_stats = set_per_process_memory_fraction = init = _do_nothing


def memory_allocated(*_args: Any) -> int:
    """0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
current_allocated_memory = driver_allocated_memory = memory_allocated
