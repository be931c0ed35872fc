"""Reads buffers back to the host, through reusable staging buffers."""

import mmap
import os
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

STAGING = 0x01 | 0x08  # MAP_READ | COPY_DST
KEPT = 4  # the most idle staging buffers
SPIN_SECONDS = 100e-6  # seconds for which an awaited read is polled without yielding to other tasks
ALONE = 1 << 20  # bytes up to which a copy holds the GIL: 0.2 ms
LARGE = 1 << 24  # bytes from which several threads pay off: starting one takes 0.1 ms
THREADS = min(4, os.cpu_count() or 1)  # on an H200's host 8 are no faster than 4, 2026-11-23
PAGE = 1 << 21  # bytes of a large page, so that no two threads fault in the same one
PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}


class Stagings:
    """The staging buffers of one device: a read takes the smallest that is large enough."""

    def __init__(self, device: Any):
        self.device = device
        self.free: list[Any] = []
        self.ended: deque[Any] = deque()  # buffers of reads that any thread dropped without waiting

    def take(self, total: int) -> Any:
        while self.ended:
            with suppress(IndexError):  # a signal handler has taken it
                self.ended.popleft().destroy()
        while fits := [b for b in self.free if b.size >= total]:
            staging = min(fits, key=lambda b: b.size)
            with suppress(ValueError):  # a signal handler that reads has taken it
                self.free.remove(staging)
                return staging
        size = 1 << max(total - 1, 4095).bit_length()
        return self.device._wgpu.create_buffer(
            size=max(total, min(size, self.device.max_binding)), usage=STAGING
        )

    def give(self, buffer: Any) -> None:
        """Keep the buffer for another read, replacing the smallest if there are too many."""
        self.free.append(buffer)
        if len(self.free) > KEPT:
            smallest = min(self.free, key=lambda b: b.size)
            with suppress(ValueError):  # a signal handler has taken it
                self.free.remove(smallest)
                smallest.destroy()


def staging_layout(n: int) -> int:
    """Return the space of n bytes in a staging buffer, in which values are aligned to 256 bytes."""
    return -(-n // 256) * 256


class Fetch:
    """A pending read of values: call `wait()`, or `await arrive()`."""

    parts: Any = ()  # empty if it was interrupted before they began

    def __init__(self, device: Any, asked: list[tuple[int, int]]):
        self.device = device
        self.parts = [self._begin(part) for part in batches(asked, device.max_binding)]

    def _begin(self, asked: list[tuple[int, int]]) -> tuple[Any, list[tuple[int, int]]]:
        """Submit the copies of one part, and request the mapping of its staging buffer after them."""
        device, at = self.device, 0
        total = sum(staging_layout(n) for _, n in asked) or 256
        staging = device.stagings.take(total)
        copies: list[tuple[Any, int, int]] = []
        for handle, n in asked:
            if n:
                copies.append((device._buffers[handle], at, -(-n // 4) * 4))
            at += staging_layout(n)
        device._fast.gather(copies, staging)
        return device._fast.map(staging, total), asked

    def wait(self) -> list[Any]:
        """Wait for the bytes of all buffers."""
        for mapping, _ in self.parts:
            mapping.wait()
        return self._collect()

    async def arrive(self) -> list[Any]:
        """Wait for the bytes of all buffers while other tasks run."""
        import asyncio  # only awaiting code needs asyncio, whose import takes 15 ms

        until = time.perf_counter() + SPIN_SECONDS
        while not all(mapping.is_done() for mapping, _ in self.parts):
            await asyncio.sleep(0 if time.perf_counter() < until else 5e-4)
        return self.wait()

    def _collect(self) -> list[Any]:
        out: list[Any] = []
        parts, self.parts = self.parts, []
        for mapping, asked in parts:
            out += _split(mapping.view(), asked, self.device._fast.ffi)
            mapping.end()
        with self.device.lock:
            for mapping, _ in parts:
                self.device.stagings.give(mapping.buffer)
        return out

    def __del__(self):
        for mapping, _ in self.parts:  # dropped without a wait
            self.device.stagings.ended.append(mapping.buffer)


def batches(asked: list[tuple[int, int]], most: int) -> list[list[tuple[int, int]]]:
    """Split the buffers (handle, bytes) to read into parts that fit into a staging buffer."""
    parts: list[list[tuple[int, int]]] = [[]]
    room = most
    for handle, n in asked:
        if staging_layout(n) > room and parts[-1]:
            parts, room = [*parts, []], most
        parts[-1].append((handle, n))
        room -= staging_layout(n)
    return parts


def _split(view: memoryview, asked: list[tuple[int, int]], ffi: Any) -> list[Any]:
    at = 0
    out: list[Any] = []
    for _, n in asked:
        out.append(copy_bytes(view[at : at + n], ffi))
        at += staging_layout(n)
    return out


# --- copying mapped memory ---


def copy_bytes(view: memoryview, ffi: Any) -> Any:
    """Copy the bytes of a view, to bytes or a read-only view. Large ones are copied by several threads
    into large pages.

    ffi: cffi's, to get the address of a view.
    """
    # One thread alone copies slower than bytes cross the bus, and most of its time is the first touch of new
    # memory. From a mebibyte on others run meanwhile: a checkpoint is read beside a training.
    return bytes(view) if view.nbytes < ALONE else _beside_others(view, ffi)


def _beside_others(view: memoryview, ffi: Any) -> memoryview:
    from ctypes import memmove  # releases the GIL, unlike a copy of a view

    n = view.nbytes
    mapping = mmap.mmap(-1, n, **PRIVATE)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # an operating system without large pages
            mapping.madvise(mmap.MADV_HUGEPAGE)
    to, source = (int(ffi.cast("uintptr_t", ffi.from_buffer(v))) for v in (mapping, view))
    if n < LARGE:
        memmove(to, source, n)
    else:
        step = -(-n // (THREADS * PAGE)) * PAGE
        with ThreadPoolExecutor(THREADS) as pool:

            def copy(at: int) -> None:
                memmove(to + at, source + at, min(step, n - at))

            list(pool.map(copy, range(0, n, step)))
    return memoryview(mapping).toreadonly()
