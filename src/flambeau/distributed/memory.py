"""Payloads in shared memory: anonymous files that the kernel frees with their last user, also after kill -9.

A rank copies a piece into its own block and sends the block's position in a frame; the readers map the block
through /proc, read it in place and send a frame that frees it. Nothing has a name in a file system.
"""

import mmap
import os
import struct
import sys
import weakref
from collections import deque

import numpy as np

from ..core.warn_once import note
from ..errors import DistributedError
from .reductions import Array

PLACE = struct.Struct("<QQQ")  # file descriptor of the sender, first byte, bytes of the payload
SMALLEST = 1 << 15  # bytes; smaller payloads travel in the frame itself
CAPACITY = 128 << 20  # bytes of a rank's blocks; a sender waits for its readers beyond them

if sys.platform == "linux":
    import fcntl

    # The size of a sealed file is final: a reader can't be killed by a file that its owner truncates.
    SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class MemoryGone(DistributedError):
    """A process, or its shared memory, ended before this one had mapped it."""


def host_key() -> str:
    """Equal for processes that can map each other's blocks; "" if mapping is impossible."""
    if sys.platform != "linux" or not hasattr(os, "memfd_create"):
        return ""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')} {os.getuid()}"
    except OSError:
        return ""


class SharedBlock:
    """A piece of shared memory of this process."""

    def __init__(self, size: int):
        self.file = os.memfd_create("flambeau", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.posix_fallocate(self.file, 0, size)  # now, as a write to a full memory would be SIGBUS
            fcntl.fcntl(self.file, fcntl.F_ADD_SEALS, SEALS)
            self.memory = mmap.mmap(self.file, size)
        except OSError:
            os.close(self.file)
            raise
        self.size, self.readers = size, 0
        self.bytes: Array = np.frombuffer(self.memory, np.uint8)
        self.start: int = self.bytes.__array_interface__["data"][0]  # its address
        self.is_array = False  # it holds an array of the user's


def make_block() -> SharedBlock | None:
    """A small block, or None without shared memory."""
    try:
        return SharedBlock(mmap.PAGESIZE)
    except OSError:
        return None


class Blocks:
    """The blocks of one rank: those it writes, and those of others that it has mapped."""

    def __init__(self, capacity: int = CAPACITY):
        self.capacity, self.used = capacity, 0
        self.own: dict[int, SharedBlock] = {}
        self.idle: dict[int, list[SharedBlock]] = {}  # by size
        self.arrays: dict[int, SharedBlock] = {}  # with arrays that are in use, by file
        self.returned: deque[SharedBlock] = deque()  # blocks whose arrays are freed; any thread appends
        self.mapped: dict[tuple[int, int], Array] = {}
        self.full = ""  # the reason if no more blocks are available

    def take(self, length: int) -> SharedBlock | None:
        """A block of at least `length` bytes, or None if all are in use. The caller holds the mesh's lock."""
        size = 1 << max(length - 1, SMALLEST - 1).bit_length()
        idle = self.idle.setdefault(size, [])
        if idle:
            return idle.pop()
        if self.used + size > self.capacity or self.full:
            return None
        block = self._make(size)
        if block is not None:
            self.used += size
        return block

    def _make(self, size: int) -> SharedBlock | None:
        try:
            block = SharedBlock(size)
        except OSError as e:
            self.full = f"{e.strerror or e}"
            note(f"distributed: shared memory is full ({self.full}): payloads go through sockets instead")
            return None
        self.own[block.file] = block
        return block

    def array(self, length: int) -> Array | None:
        """An array of bytes that peers can read where it is, or None. The caller holds the mesh's lock."""
        for _ in range(len(self.returned)):
            block = self.returned.popleft()
            if block.readers:
                self.returned.append(block)  # a failed call has lent it
            else:
                del self.arrays[block.file]
                self.idle.setdefault(-block.size, []).append(block)
        size = -(-length // mmap.PAGESIZE) * mmap.PAGESIZE
        idle = self.idle.get(-size, [])
        block = idle.pop() if idle else None if self.full else self._make(size)
        if block is None:
            return None
        block.is_array = True
        self.arrays[block.file] = block
        # Views of the array keep this object, which stands for the block, alive.
        array: Array = np.frombuffer(block.memory, np.uint8)
        weakref.finalize(array, self.returned.append, block)
        return array[:length]

    def find(self, data: Array) -> tuple[SharedBlock, int] | None:
        """The block in which contiguous bytes lie, and where; None if a copy is needed."""
        if not self.arrays:
            return None
        start = data.__array_interface__["data"][0]
        for block in self.arrays.values():
            if block.start <= start and start + data.size <= block.start + block.size:
                return block, start - block.start
        return None

    def release(self, file: int) -> None:
        """One reader of a block is done."""
        block = self.own.get(file)
        if block is None or block.readers < 1:
            raise DistributedError("a peer freed a block of shared memory that it does not have")
        block.readers -= 1
        if not block.readers and not block.is_array:
            self.idle[block.size].append(block)

    def view(self, pid: int, file: int, first: int, length: int) -> Array:
        """Map the block of another process. Raises DistributedError if it is none."""
        block = self.mapped.get((pid, file))
        if block is None:
            try:
                copy = os.open(f"/proc/{pid}/fd/{file}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            except (FileNotFoundError, ProcessLookupError) as e:
                raise MemoryGone(f"its shared memory is gone: {e}") from e
            except OSError as e:
                raise DistributedError(f"shared memory of process {pid} cannot be opened: {e}") from e
            try:
                if fcntl.fcntl(copy, fcntl.F_GET_SEALS) & SEALS != SEALS:
                    raise OSError("its size is not final")
                block = np.frombuffer(mmap.mmap(copy, 0, prot=mmap.PROT_READ), np.uint8)
            except (OSError, ValueError) as e:
                raise DistributedError(f"shared memory of process {pid} cannot be mapped: {e}") from e
            finally:
                os.close(copy)
            self.mapped[pid, file] = block
        if first + length > block.size:
            raise DistributedError(f"a frame claims {length} bytes at {first} of a block of {block.size}")
        return block[first : first + length]

    def close(self) -> None:
        """Unmap everything. Arrays that still refer to a block keep its memory until they go."""
        for block in self.own.values():
            os.close(block.file)
        self.own, self.idle, self.arrays, self.mapped = {}, {}, {}, {}
        self.returned.clear()


def can_map(pid: int, file: int, text: str) -> bool:
    """Whether this process can read that block, which begins with the text."""
    try:
        return Blocks().view(pid, file, 0, len(text)).tobytes() == text.encode()
    except DistributedError:
        return False
