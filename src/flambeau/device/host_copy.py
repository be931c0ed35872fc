"""Bytes that a device shows become the host's own: large ones by several threads, into large pages.

One thread alone copies slower than they cross the bus, and most of its time is the first touch of new memory.
From a mebibyte on others run meanwhile: a checkpoint is read beside a training.
"""

import mmap
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

ALONE = 1 << 20  # bytes up to which a copy holds the interpreter: a fifth of a millisecond
LARGE = 1 << 24  # bytes from which on threads are worth their start, a tenth of a millisecond
THREADS = min(4, os.cpu_count() or 1)  # on an H200's host 8 are no faster than 4, 2026-11-23
PAGE = 1 << 21  # bytes of a large page: no two threads touch one first
PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}


def copied(view: memoryview, ffi: Any) -> Any:
    """The bytes of a view, as bytes or as a view that can't be written to.

    ffi: cffi's, which knows where a view lies.
    """
    return bytes(view) if view.nbytes < ALONE else _beside_others(view, ffi)


def _beside_others(view: memoryview, ffi: Any) -> memoryview:
    from ctypes import memmove  # lets other threads run, as a view's own copy does not

    n = view.nbytes
    whole = mmap.mmap(-1, n, **PRIVATE)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without them
            whole.madvise(mmap.MADV_HUGEPAGE)
    to, source = (int(ffi.cast("uintptr_t", ffi.from_buffer(v))) for v in (whole, view))
    if n < LARGE:
        memmove(to, source, n)
    else:
        step = -(-n // (THREADS * PAGE)) * PAGE
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda at: memmove(to + at, source + at, min(step, n - at)), range(0, n, step)))
    return memoryview(whole).toreadonly()
