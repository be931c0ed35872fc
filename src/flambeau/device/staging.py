"""Large transfers of a native device, through reused staging buffers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from .memory import Stagings

READS = 32  # idle staging buffers of reads: the last rounds of a step are all read at once
WRITE = 0x02 | 0x04  # MAP_WRITE | COPY_SRC
# Staging buffers of writes: one is filled while the others wait for earlier submits of the device.
WRITES = 6
NAP = 50e-6  # seconds between two polls; a wait inside the provider would keep other threads from submitting


class StagedCopy(NamedTuple):
    """Bytes of a device buffer, and their place in the staging buffer. All numbers are multiples of 4."""

    handle: int
    first: int
    at: int
    nbytes: int


class StagingBuffers:
    """The staging buffers of one user of a device. One thread at a time reads, and one writes."""

    def __init__(self, device: Any):
        self.device = device
        self.reads = Stagings(device, READS)
        self._writes: deque[tuple[Any, Any]] = deque()  # buffers for writes with their mappings, oldest first

    def read(self, copies: Sequence[StagedCopy], total: int) -> StagedRead:
        """Begin to read `total` bytes with their values after all previous submits."""
        device = self.device
        with device.lock:
            device.check()
            staging = self.reads.take(total)
            buffers, fast = device._buffers, device._fast
            fast.carry([(buffers[c.handle], c.first, staging, c.at, c.nbytes) for c in copies], counts=False)
            return StagedRead(self.reads, staging, fast.map(staging, total))

    def write(self, copies: Sequence[StagedCopy], total: int, fill: Callable[[memoryview], object]) -> None:
        """Write to device buffers: `fill` writes `total` bytes to mapped memory, from which the device copies
        them before any later submit."""
        device = self.device
        staging, mapping = self._next_buffer(total)
        wait_for(mapping)
        fill(mapping.view())
        with device.lock:
            mapping.end()
            buffers, fast = device._buffers, device._fast
            fast.carry([(staging, c.at, buffers[c.handle], c.first, c.nbytes) for c in copies], counts=False)
            self._writes.append((staging, fast.map(staging, staging.size, writes=True)))

    def _next_buffer(self, total: int) -> tuple[Any, Any]:
        """Return a buffer that the device is done with, else a new one or that which it is done with first,
        and its mapping."""
        writes = self._writes
        if writes:
            writes[0][1].is_done()  # polls for all
        # The newest one: its memory may still be in the cache.
        for row in reversed(writes):
            if row[1].status is not None and row[0].size >= total:
                writes.remove(row)
                return row
        if len(writes) >= WRITES:
            staging, mapping = writes.popleft()
            if staging.size >= total:
                return staging, mapping
            staging.destroy()
        with self.device.lock:
            self.device.check()
            staging = self.device._wgpu.create_buffer(size=total, usage=WRITE)
            return staging, self.device._fast.map(staging, total, writes=True)


class StagedRead:
    """A pending read: call `wait`."""

    def __init__(self, owner: Stagings, staging: Any, mapping: Any):
        self.owner, self.staging, self.mapping = owner, staging, mapping

    def wait(self, use: Callable[[memoryview], object]) -> None:
        """Wait for the bytes, and call `use` with them; they are valid until it returns."""
        wait_for(self.mapping)
        use(self.mapping.view())
        self.mapping.end()
        staging, self.staging = self.staging, None
        self.owner.give(staging)

    def __del__(self):
        with suppress(AttributeError):  # an interrupt ended its creation
            if self.staging is not None:
                self.owner.ended.append(self.staging)


def wait_for(mapping: Any) -> None:
    """Wait until a buffer is mapped, while other threads submit."""
    while not mapping.is_done():
        time.sleep(NAP)
    mapping.wait()
