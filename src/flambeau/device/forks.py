"""Keeps forked children away from drivers, whose threads exist only in the parent."""

import atexit
import ctypes
import os
import sys
from collections.abc import Collection
from typing import Any


def keep(_: Any) -> None:
    """Release nothing."""


def skip_drivers(adapter_types: Collection[type[Any]]) -> None:
    """Call no driver in later forks of this process: neither to release adapters, nor at exit.

    adapter_types: empty until the driver has listed its adapters; read at each fork.
    """
    if not hasattr(os, "register_at_fork"):
        return
    exits = _LibcExits() if _is_linux() else None

    def after_fork() -> None:
        for adapter_type in adapter_types:
            adapter_type._release = keep
        if exits is None:
            return
        if adapter_types:
            exits.skip()
        else:
            # A thread that lists GPUs may hold C's lock of exit functions, which `os._exit` does not need.
            atexit.register(exits.skip)

    os.register_at_fork(after_in_child=after_fork)


def _is_linux() -> bool:
    return sys.platform == "linux"


class _LibcExits:
    """The exit functions that C libraries registered. Mesa's waits for its threads: signal 11 in a child."""

    def __init__(self) -> None:
        # looked up before a fork: another thread may hold the loader's lock during it
        libc = ctypes.CDLL(None)
        self._end, self._flush = getattr(libc, "_exit", None), libc.fflush
        self._on_exit, self._at_exit = getattr(libc, "on_exit", None), getattr(libc, "__cxa_atexit", None)

    def skip(self) -> None:
        """Make `exit` flush C's files and end the process, before it runs the functions registered so far.

        Exit functions run last in, first out. on_exit passes the status to `_exit`; only glibc has it.
        """
        if self._on_exit is not None and self._at_exit is not None:
            self._on_exit(self._end, None)
            self._at_exit(self._flush, None, None)
