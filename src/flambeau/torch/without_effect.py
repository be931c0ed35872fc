"""Functions of torch for settings that do not exist here: they accept their arguments and do nothing."""

import os
from typing import Any


def _log_api_usage_once(*_event: Any) -> None:
    """Do nothing."""


_log_api_usage_metadata = _log_api_usage_once


def _get_tracing_state() -> None:
    """None: nothing is traced."""


def set_num_threads(int: int) -> None:
    """Do nothing: the CPU device uses NumPy's threads."""


set_num_interop_threads = set_num_threads


def get_num_threads() -> int:
    """The number of processors."""
    return os.cpu_count() or 1


get_num_interop_threads = get_num_threads


def set_flush_denormal(mode: bool) -> bool:
    """False: it is not possible."""
    return False


def set_warn_always(b: bool) -> None:
    """Do nothing."""


def is_warn_always_enabled() -> bool:
    """False."""
    return False


def clear_autocast_cache() -> None:
    """Do nothing: casts are nodes of the graph."""


# torch's names that begin with _, which module_tree.py looks up
__all__ = ["_get_tracing_state", "_log_api_usage_once"]
