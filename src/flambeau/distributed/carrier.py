"""Moves many megabytes of float32 between tensors and reused host arrays, in one pass of the host."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import accumulate, pairwise
from sys import getrefcount
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..core.dtype import float32
from ..core.node import Node
from ..core.op import OPS
from ..core.shape import Shape
from ..device.protocol import Device
from ..device.staging import StagedCopy, StagingBuffers
from ..runtime.exchange import leaf, leaf_of_array
from ..runtime.run import Readback, realize
from ..tensor import Tensor
from .compression import Floats, Numbers, copy_numbers

# Threads take turns with the GIL between two parts, so a part takes much longer than a turn.
SHARE = 1 << 19  # elements that are worth a thread: 2 MB, which takes 0.2 ms
# 496 MB between two H100s took 142, 115 and 117 ms with 1, 2 and 4 threads per pass (2026-11-28), and
# on the host of an H200 eight threads copy no faster than four.
MOST_THREADS = 4
ELEMENT = 4  # bytes of a float32


def threads_of(cores: int, processes: int) -> int:
    """Return how many threads share a pass of one of `processes` processes: several passes run at a time."""
    return max(1, min(cores // processes // 2, MOST_THREADS))


class _Helpers:
    """Threads that wait for parts of passes. They take half as long as those of concurrent.futures to
    begin: 50 us are a tenth of a part."""

    def __init__(self, count: int):
        self.jobs: queue.SimpleQueue[tuple[Callable[[], object], queue.SimpleQueue[BaseException | None]]]
        self.jobs = queue.SimpleQueue()
        for number in range(count):
            threading.Thread(target=self._serve, name=f"flambeau-copy-{number}", daemon=True).start()

    def _serve(self) -> None:
        while True:
            part, ended = self.jobs.get()
            try:
                part()
            except BaseException as e:
                ended.put(e)
            else:
                ended.put(None)
            del part, ended  # else their arrays live until the next part


@cache
def _helpers() -> _Helpers:
    return _Helpers(3 * MOST_THREADS)  # for reading, adding and writing


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # a child has none of these threads


class CopyThreads:
    """Threads that share passes over arrays. NumPy releases the GIL in each part.

    processes: that compute on this host; the cores are divided among them.
    """

    def __init__(self, processes: int = 1):
        self.count = threads_of(os.cpu_count() or 1, processes)

    def run(self, size: int, part: Callable[[int, int], object]) -> None:
        """Call part(first, end) for ranges that cover `size` elements, in several threads if that pays."""
        parts = min(self.count, size // SHARE)
        if parts < 2:
            part(0, size)
            return
        bounds = [size * i // parts // 1024 * 1024 for i in range(parts)] + [size]
        jobs, ended = _helpers().jobs, queue.SimpleQueue[BaseException | None]()
        for first, end in pairwise(bounds[1:]):
            jobs.put((partial(part, first, end), ended))
        try:
            part(bounds[0], bounds[1])
        finally:
            errors = [e for _ in range(parts - 1) if (e := ended.get()) is not None]
        if errors:
            raise errors[0]

    def copy(self, target: Floats, source: Floats) -> None:
        """Copy an array."""

        def part(first: int, end: int) -> None:
            np.copyto(target[first:end], source[first:end])

        self.run(source.size, part)


class TensorSlice(NamedTuple):
    """Elements of a tensor's value (flat), and their place in a host array."""

    tensor: Any  # the tensor, or the `Landing` of one
    first: int
    at: int
    size: int


class Landing:
    """A tensor's value that arrives in slices. buffer: of the device; array: on the host, else."""

    def __init__(self, shape: Shape, buffer: Any = None, array: Floats | None = None):
        self.shape, self.buffer, self.array = shape, buffer, array

    def is_free(self) -> bool:
        """Whether nothing else refers to the device's buffer: all tensors of the last value are gone."""
        return getrefcount(self.buffer) == 2  # this object's reference, and the call's


class PendingValues(Protocol):
    """A pending read."""

    def wait(self, target: Floats) -> None:
        """Wait for the values, and copy them to `target`."""
        ...


class Carrier:
    """Moves values of any device, by its usual reads and writes."""

    def __init__(self, device: Device, threads: CopyThreads):
        self.device, self.threads = device, threads

    def read(self, slices: Sequence[TensorSlice], size: int) -> PendingValues:
        """Begin to read slices of float32 tensors, which are `size` elements together."""
        parts = [s.tensor if s.size == s.tensor.numel() else _part(s) for s in slices]
        return _Gathered(Readback(parts), slices, self.threads)

    def land(self, shape: Shape) -> Landing:
        """Reserve memory for a value that `write` brings."""
        return Landing(shape, array=np.empty(shape, np.float32))

    def write(self, slices: Sequence[TensorSlice], sources: Sequence[Numbers]) -> None:
        """Write slices of landings. The sources, one after the other, are the array that they refer to. They
        may change when this returns."""
        offset = 0
        for source in sources:
            for s in slices:
                first, end = max(s.at, offset), min(s.at + s.size, offset + source.size)
                if first < end and s.tensor.array is not None:
                    flat = s.tensor.array.reshape(-1)
                    place = s.first + first - s.at
                    copy_numbers(flat[place : place + end - first], source, first - offset)
            offset += source.size

    def tensor(self, landing: Landing) -> Tensor:
        """Return the tensor of a landing; all its slices were written."""
        return Tensor(leaf(landing.array, landing.shape, float32, self.device))


class _Gathered:
    """A read of slices as separate values."""

    def __init__(self, pending: Readback, slices: Sequence[TensorSlice], threads: CopyThreads):
        self.pending, self.slices, self.threads = pending, slices, threads

    def wait(self, target: Floats) -> None:
        for s, raw in zip(self.slices, self.pending.wait(), strict=True):
            self.threads.copy(target[s.at : s.at + s.size], np.frombuffer(raw, np.float32))


def _part(s: TensorSlice) -> Tensor:
    return s.tensor.reshape(-1)[s.first : s.first + s.size]


class NumpyCarrier(Carrier):
    """Moves values of the NumPy device, which are arrays already."""

    def read(self, slices: Sequence[TensorSlice], size: int) -> PendingValues:
        realize(*(s.tensor for s in slices))
        arrays = [s.tensor.node.buffer.array.reshape(-1)[s.first : s.first + s.size] for s in slices]
        return _HostArrays(arrays, slices, self.threads)

    def tensor(self, landing: Landing) -> Tensor:
        return Tensor(leaf_of_array(landing.array, float32, self.device))  # type: ignore[arg-type]


class _HostArrays:
    """Values that already exist."""

    def __init__(self, arrays: Sequence[Floats], slices: Sequence[TensorSlice], threads: CopyThreads):
        self.arrays, self.slices, self.threads = arrays, slices, threads

    def wait(self, target: Floats) -> None:
        for s, array in zip(self.slices, self.arrays, strict=True):
            self.threads.copy(target[s.at : s.at + s.size], array)


@runtime_checkable
class HasStaging(Protocol):
    """A native device."""

    pool: Any
    lock: Any

    def staging(self) -> StagingBuffers | None:
        """Make staging buffers, if the provider's mappings can be polled."""
        ...


class StagedCarrier(Carrier):
    """Moves values of a native GPU: the host only copies between mapped memory and the caller's arrays."""

    def __init__(self, device: Any, threads: CopyThreads, staging: StagingBuffers):
        super().__init__(device, threads)
        self.gpu: HasStaging = device
        self.staging = staging

    def read(self, slices: Sequence[TensorSlice], size: int) -> PendingValues:
        realize(*(s.tensor for s in slices))
        with self.gpu.lock:  # a replay may move a value to another buffer
            return _Mapped(self.staging.read(_copies(slices), size * ELEMENT), self.threads)

    def land(self, shape: Shape) -> Landing:
        nbytes = int(np.prod(shape, dtype=np.int64)) * ELEMENT
        with self.gpu.lock:
            return Landing(shape, self.gpu.pool.take(nbytes))

    def write(self, slices: Sequence[TensorSlice], sources: Sequence[Numbers]) -> None:
        starts = [0, *accumulate(source.size for source in sources)]
        total = starts[-1]

        def fill(mapped: memoryview) -> None:
            target = np.frombuffer(mapped, np.float32)

            def part(begin: int, stop: int) -> None:
                for source, start in zip(sources, starts, strict=False):
                    first, end = max(begin, start), min(stop, start + source.size)
                    if first < end:
                        copy_numbers(target[first:end], source, first - start)

            self.threads.run(total, part)

        self.staging.write(_copies(slices), total * ELEMENT, fill)

    def tensor(self, landing: Landing) -> Tensor:
        node = Node(OPS["buffer"], (), {}, landing.shape, float32, self.device)
        node.buffer = landing.buffer
        node.buffer.doubt = None  # of the last value
        return Tensor(node)


class _Mapped:
    """A read whose values arrive in mapped memory, in the order of the target."""

    def __init__(self, pending: Any, threads: CopyThreads):
        self.pending, self.threads = pending, threads

    def wait(self, target: Floats) -> None:
        def use(mapped: memoryview) -> None:
            self.threads.copy(target, np.frombuffer(mapped, np.float32, target.size))

        self.pending.wait(use)


def _copies(slices: Sequence[TensorSlice]) -> list[StagedCopy]:
    """Return the copies between the buffers of tensors or landings and a staging buffer."""
    copies: list[StagedCopy] = []
    for s in slices:
        buffer = s.tensor.buffer if isinstance(s.tensor, Landing) else s.tensor.node.buffer
        if s.size:
            place = StagedCopy(buffer.handle, s.first * ELEMENT, s.at * ELEMENT, s.size * ELEMENT)
            copies.append(place)
    return copies


def carrier_of(device: Device, threads: CopyThreads) -> Carrier:
    """Return the object that moves a device's large values."""
    if isinstance(device, HasStaging) and (staging := device.staging()) is not None:
        return StagedCarrier(device, threads, staging)
    is_numpy = device.kind == "cpu" and device.xp.is_numpy
    return (NumpyCarrier if is_numpy else Carrier)(device, threads)
