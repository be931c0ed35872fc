"""Continues after a worker died or joined: the remaining workers agree on a step, and workers that are behind
get the state."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..io.checkpoint import load_checkpoint, metadata_of, split_tensors
from ..io.safetensors import pack
from ..runtime.run import Readback
from .group import ProcessGroup
from .mesh import Mesh


class Membership:
    """How the group of this process is found and replaced; `flambeau.distributed` sets both functions.

    current: returns the group, or one of this process alone. following: returns that of the living and new
    workers.
    """

    def __init__(self) -> None:
        self.current: Callable[[], ProcessGroup] = alone
        self.following: Callable[[ProcessGroup], ProcessGroup] = ProcessGroup.reconfigure


def alone() -> ProcessGroup:
    """Return a group of this process alone."""
    return ProcessGroup(Mesh(0, {}))


membership = Membership()


LOST = re.compile(r"rank \d+ died")  # how the group names a worker that is gone


def is_lost(group: ProcessGroup) -> bool:
    """Whether calls of a group fail because a worker died, and the others can continue without it."""
    return group.elastic is not None and LOST.match(group.failure) is not None


def is_joiner(group: ProcessGroup) -> bool:
    """Whether this worker has just joined an existing group."""
    old = getattr(group.elastic, "old_ranks", [])
    return any(rank >= 0 for rank in old) and old[group.rank] < 0


def encode(state: Any) -> bytes:
    """Return nested values and tensors as the bytes of a file of `fb.save`."""
    tensors, tree = split_tensors(state)
    # The format of checkpoints, which contains no pickles, so a joining worker runs no code from another one.
    parts = pack(tensors, Readback(list(tensors.values())).wait(), metadata_of(tree))
    return b"".join(memoryview(part).cast("B") for part in parts)


def decode(data: Any, call: str) -> Any:
    """Return the values in the bytes of `encode`, with their tensors on the CPU."""
    return load_checkpoint(memoryview(data), "cpu", call)


def send_state(group: ProcessGroup, state: Any) -> None:
    """Send nested values with tensors to all ranks, which call `receive_state`."""
    data = np.frombuffer(encode(state), np.uint8).copy()
    group.broadcast(np.array([data.size], np.int64), group.rank)
    group.broadcast(data, group.rank)


def receive_state(group: ProcessGroup, source: int) -> Any:
    """Return the values that rank `source` sends, with their tensors on the CPU."""
    size = np.zeros(1, np.int64)
    group.broadcast(size, source)
    data = np.empty(int(size[0]), np.uint8)
    group.broadcast(data, source)
    return decode(data.data, f"state of rank {source}")
