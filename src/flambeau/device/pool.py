"""The pool: buffers by size class, so that a step like the last one allocates nothing."""

from collections import deque
from functools import cache
from typing import Any

from ..errors import OutOfMemory
from .protocol import Gpu

SMALLEST = 256


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
    counts for all of them. A recording takes once what it was planned to need, so sizes are `exact`
    there. A thread holds the device's lock from taking a buffer until it is written or submitted, so that
    commands use buffers in the order in which they are taken. Dead blocks are queued by any thread at any
    time (by the garbage collector) and return at the next `take`.

    A signal handler runs between two calls, and may take or raise. It must find each handle in exactly
    one place:
    free, queued, or in an Allocation. So handles move by statements without calls.
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
        taken, kept = Allocation(self, 0, nbytes, size), self.free.get(size)
        if kept:
            taken.handle = kept[-1]
            del kept[-1]
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
