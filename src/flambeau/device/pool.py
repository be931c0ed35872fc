"""The pool: buffers by exact size class, so that a step that looks like the last one allocates nothing."""

from functools import cache
from typing import Any

from ..errors import OutOfMemory
from . import Buffer

SMALLEST = 256


@cache
def size_class(nbytes: int) -> int:
    """Round up to one of eight sizes in each power of two: little is lost, and keys of bind groups repeat."""
    if nbytes <= SMALLEST:
        return SMALLEST
    step = max(SMALLEST, 1 << max((nbytes - 1).bit_length() - 4, 0))
    return -(-nbytes // step) * step


class Pool:
    """Takes memory from a device and keeps what is given back, last in first out.

    A recording has a pool of its own, whose buffers nobody else may write; the device's pool, its `root`,
    counts for all of them. A recording takes once what it was planned to need, so sizes are `exact` there.
    """

    def __init__(self, device: Any, root: "Pool | None" = None, exact: bool = False):
        self.device, self.root, self.exact = device, root or self, exact
        self.free: dict[int, list[int]] = {}
        self.allocations = self.live = self.peak = self.reserved = 0
        self.closed = False
        self.budget: int | None = None  # the most that may be reserved
        self.pinned: set[int] | None = None  # given back, but named in commands that are being put together

    def take(self, nbytes: int) -> Buffer:
        """A buffer of at least nbytes; its contents are whatever was there."""
        count = self.root
        if self.exact or count.budget is not None:
            size = -(-max(nbytes, 1) // SMALLEST) * SMALLEST
        else:
            size = size_class(nbytes)
        kept = self.free.get(size)
        handle = kept.pop() if kept else self._allocate(size, nbytes)
        count.live += size
        if count.live > count.peak:
            count.peak = count.live
        return Buffer(self, handle, nbytes, size)

    def _allocate(self, size: int, nbytes: int) -> int:
        root = self.root
        if root.budget is not None and root.reserved + size > root.budget:
            root.trim()
            if root.reserved + size > root.budget:
                used = f"{root.reserved:,} bytes are in use of a budget of {root.budget:,}"
                raise OutOfMemory(f"alloc({nbytes:,} bytes): {used}: use a smaller batch, or a larger budget")
        handle = self.device.alloc(size, nbytes)
        root.allocations += 1
        root.reserved += size
        return handle

    def give(self, buffer: Buffer) -> None:
        """Called as a buffer dies. A list's append is atomic, so this may come from any thread."""
        self.root.live -= buffer.size
        if self.pinned is not None:
            self.pinned.add(buffer.handle)
        self.free.setdefault(buffer.size, []).append(buffer.handle)
        if self.closed:  # of a recording's, the garbage collector may end the pool before its buffers
            self.trim()

    def trim(self) -> int:
        """Free every buffer that waits to be used again; returns the bytes freed."""
        freed, pinned = 0, self.pinned or ()
        for size, handles in list(self.free.items()):
            for _ in range(len(handles)):
                handle = handles.pop()
                if handle in pinned:
                    handles.insert(0, handle)
                else:
                    self.device.free(handle)
                    freed += size
        self.root.reserved -= freed
        return freed

    def __del__(self):
        if self.root is not self:
            self.closed = True
            self.trim()
