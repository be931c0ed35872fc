"""Device memory: the pool of buffers, by size class, and reads through reusable staging buffers."""

import mmap
import os
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Any

from ..errors import OutOfMemory
from .protocol import Gpu

SMALLEST = 256
STAGING = 0x01 | 0x08  # MAP_READ | COPY_DST
KEPT = 4  # the most idle staging buffers of usual reads
SPIN_SECONDS = 100e-6  # seconds for which an awaited read is polled without yielding to other tasks
ALONE = 1 << 20  # bytes up to which a copy holds the GIL: 0.2 ms
LARGE = 1 << 24  # bytes above which several threads pay off: starting one takes 0.1 ms
THREADS = min(4, os.cpu_count() or 1)  # on an H200's host 8 are not faster than 4, 2026-11-23
PAGE = 1 << 21  # bytes of a large page, so that no two threads fault in the same one
PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}


@cache
def size_class(nbytes: int) -> int:
    """Round up to one of eight sizes in each power of two: little is lost, and keys of bind groups repeat."""
    if nbytes <= SMALLEST:
        return SMALLEST
    step = max(SMALLEST, 1 << max((nbytes - 1).bit_length() - 4, 0))
    return -(-nbytes // step) * step


class Allocation:
    """A block of device memory. When its last reference is dropped, in any thread and at any time, it is
    queued for return to its pool."""

    __slots__ = ("doubt", "handle", "last", "nbytes", "pool", "shared", "size")

    def __init__(self, pool: Any, handle: int, nbytes: int, size: int):
        self.pool, self.handle, self.nbytes, self.size = pool, handle, nbytes, size
        self.shared = False  # several nodes share it
        self.doubt: Any = None  # whether its value may depend on indices out of range (see `faults`)
        self.last: Any = None  # of a recorded state's: a weak reference to the node that it is the value of

    def __del__(self):
        try:
            pool = self.pool
        except AttributeError:  # a Ctrl-C interrupted its creation
            return
        pool.ended.append((pool, self.size, self.handle))


class Pool:
    """Allocates device memory and keeps freed blocks for reuse, last in first out.

    A recording has a separate pool, whose buffers only it may write; the device's pool, its `root`,
    counts for all of them. A recording allocates its planned memory once, so sizes are `exact` there. A
    thread holds the device's lock from taking a buffer until it is written or submitted, so that
    commands use buffers in the order in which they are taken. Dead blocks are queued by any thread at any
    time (by the garbage collector) and return at the next `take`.

    A signal handler runs between two calls, and may take or raise. It must find each handle in exactly
    one place: free, queued, or in an Allocation. Python runs handlers only at calls and jumps, so the
    statements that move a handle contain no call.
    """

    def __init__(self, device: Gpu, root: "Pool | None" = None, exact: bool = False):
        self.device, self.root, self.exact = device, root or self, exact
        self.free: dict[int, list[int]] = {}
        # queued dead blocks of the device: pool, bytes, handle
        self.ended: deque[tuple[Pool | None, int, int]] = deque() if root is None else root.ended
        self.allocations = self.peak = self._live = self._reserved = 0
        self.closed = False
        self.idle = 0  # bytes in use that a run reserves for its next kernels, not counted in peaks
        self.budget: int | None = None  # the limit of reserved bytes

    def take(self, nbytes: int) -> Allocation:
        """Take a buffer of at least nbytes, with undefined contents."""
        count = self.root
        if self.ended:
            count.collect()
        if self.exact or count.budget is not None:
            size = -(-max(nbytes, 1) // SMALLEST) * SMALLEST
        else:
            size = size_class(nbytes)
        taken, free_blocks = Allocation(self, 0, nbytes, size), self.free.get(size)
        if free_blocks:
            taken.handle = free_blocks[-1]
            del free_blocks[-1]
            count._live += size
        else:
            self._allocate(taken)
        if count._live - count.idle > count.peak:
            count.peak = count._live - count.idle
        return taken

    def _allocate(self, taken: Allocation) -> None:
        root, size, nbytes = self.root, taken.size, taken.nbytes
        if root.budget is not None and root._reserved + size > root.budget:
            root.trim()
            if root._reserved + size > root.budget:
                used = f"{root._reserved:,} bytes are in use of a budget of {root.budget:,}"
                raise OutOfMemory(f"alloc({nbytes:,} bytes): {used}: use a smaller batch, or a larger budget")
        taken.handle = self.device.alloc(size, nbytes)
        root.allocations += 1
        root._reserved += size
        root._live += size

    def end(self, handle: int) -> None:
        """Queue a buffer without a pool, to be freed."""
        self.ended.append((None, 0, handle))

    def collect(self) -> None:
        """Take back dead blocks; the caller holds the device's lock."""
        ended = self.ended
        while ended:
            entry = ended[0]
            pool, size, handle = entry
            if pool is None or not handle:
                if pool is None:
                    self.device.free(handle)
                elif pool.closed:
                    pool._trim()
                if ended and ended[0] is entry:  # a signal's handler may have done the same
                    del ended[0]
                continue
            self._live -= size
            if pool.closed:  # of a recording's, the garbage collector may end the pool before its buffers
                self._reserved -= size
                ended += ((None, 0, handle),)
            elif size in pool.free:
                pool.free[size] += (handle,)
            else:
                pool.free[size] = [handle]
            del ended[0]

    @property
    def live(self) -> int:
        """The bytes in use."""
        with self.device.lock:
            self.collect()
            return self._live

    @property
    def reserved(self) -> int:
        """The bytes allocated from the driver."""
        with self.device.lock:
            self.collect()
            return self._reserved

    def trim(self) -> int:
        """Free all unused buffers; returns the bytes freed."""
        with self.device.lock:
            self.root.collect()
            freed = self._trim()
            self.root.collect()
            return freed

    def _trim(self) -> int:
        """Queue all unused buffers to be freed; returns their bytes."""
        root, ended, freed = self.root, self.ended, 0
        for size, handles in list(self.free.items()):
            while handles:
                ended += ((None, 0, handles[-1]),)
                del handles[-1]
                root._reserved -= size
                freed += size
        return freed

    def __del__(self):
        if self.root is not self:
            self.closed = True
            self.ended.append((self, 0, 0))


# --- reads ---


class Stagings:
    """Staging buffers of a device for reads: a read takes the smallest that is large enough.

    kept: the most idle ones
    """

    def __init__(self, device: Any, kept: int = KEPT):
        self.device, self.kept = device, kept
        self.free: list[Any] = []
        self.ended: deque[Any] = deque()  # buffers of reads that any thread dropped without waiting

    def take(self, total: int) -> Any:
        while self.ended:
            with suppress(IndexError):  # a signal handler has taken it
                self.ended.popleft().destroy()
        while fits := [b for b in self.free if b.size >= total]:
            staging = min(reversed(fits), key=lambda b: b.size)  # the last used one is in the cache
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
        if len(self.free) > self.kept:
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
        device, offset = self.device, 0
        total = sum(staging_layout(n) for _, n in asked) or 256
        staging = device.stagings.take(total)
        copies: list[tuple[Any, int, int]] = []
        for handle, n in asked:
            if n:
                copies.append((device._buffers[handle], offset, -(-n // 4) * 4))
            offset += staging_layout(n)
        device._fast.gather(copies, staging)
        return device._fast.map(staging, total), asked

    def is_done(self) -> bool:
        """Whether `wait` returns at once."""
        return all(mapping.is_done() for mapping, _ in self.parts)

    def wait(self) -> list[Any]:
        """Wait for the bytes of all buffers."""
        for mapping, _ in self.parts:
            mapping.wait()
        return self._collect()

    async def arrive(self) -> list[Any]:
        """Wait for the bytes of all buffers while other tasks run."""
        import asyncio  # only awaiting code needs asyncio, whose import takes 15 ms

        until = time.perf_counter() + SPIN_SECONDS
        while not self.is_done():
            await asyncio.sleep(0 if time.perf_counter() < until else 5e-4)
        return self.wait()

    def _collect(self) -> list[Any]:
        out: list[Any] = []
        parts, self.parts = self.parts, []
        for mapping, requested in parts:
            out += _split(mapping.view(), requested, self.device._fast.ffi)
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
    offset = 0
    out: list[Any] = []
    for _, n in asked:
        out.append(copy_bytes(view[offset : offset + n], ffi))
        offset += staging_layout(n)
    return out


# --- copying mapped memory ---


def copy_bytes(view: memoryview, ffi: Any) -> Any:
    """Copy the bytes of a view, to bytes or a read-only view. Large ones are copied by several threads
    into large pages.

    ffi: cffi's, to get the address of a view.
    """
    # One thread alone copies slower than bytes cross the bus, and most of its time is the first touch of new
    # memory. From a mebibyte, other threads run meanwhile: a checkpoint is read during a training.
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

            def copy(offset: int) -> None:
                memmove(to + offset, source + offset, min(step, n - offset))

            list(pool.map(copy, range(0, n, step)))
    return memoryview(mapping).toreadonly()
