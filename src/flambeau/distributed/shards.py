"""Logical shards: the parts into which every batch is cut, whatever the number of workers, and their
workers."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from threading import RLock
from typing import Any

from ..core.tree import is_mapping, is_sequence, rebuild
from ..device.protocol import Device
from ..errors import ValueError
from ..ops.random import get_rng_state, set_rng_state
from ..tensor import Tensor, tensor

SHARDS = 8  # the usual number: it divides evenly over 1, 2, 4 and 8 workers
drawing = RLock()  # threads that are workers share the default generator, which a recording watches


def bounds(items: int, shards: int) -> list[tuple[int, int]]:
    """Return (first, end) of each shard's items in a batch of `items`.

    All shards but the last one with items have equal sizes, so that a shorter batch adds at most two shapes.
    Shards at the end may be empty.
    """
    size = -(-items // shards)
    return [(min(s * size, items), min((s + 1) * size, items)) for s in range(shards)]


def deal(shards: int, workers: int) -> list[range]:
    """Return the shards of each worker: contiguous, and as even as possible."""
    if not 0 < workers <= shards:
        rule = "a worker without a shard has nothing to do: use fewer workers or pass a larger shards="
        raise ValueError(f"deal({shards} shards, {workers} workers): {rule}")
    return [range(shards * w // workers, shards * (w + 1) // workers) for w in range(workers)]


def items_of(batch: Sequence[object]) -> int:
    """Return the number of items of a batch: the size of the first dim of its first tensor or array."""
    value: object = batch
    while True:
        if is_mapping(value):
            value = next(iter(value.values()), None)
        elif is_sequence(value) and value:
            value = value[0]
        else:
            break
    shape: tuple[int, ...] = getattr(value, "shape", ())
    if not shape:
        rule = "the first part of a batch must have a dim of items: pass tensors or arrays [items, ...]"
        raise ValueError(f"step(..., {type(value).__name__}): {rule}")
    return shape[0]


def cut(value: Any, first: int, end: int, items: int, device: Device) -> Any:
    """Return the items [first, end) of a batch on a device: for tensors and arrays whose first dim is
    `items`, also in nested containers; other values do not change."""
    if is_mapping(value):
        return {key: cut(part, first, end, items, device) for key, part in value.items()}
    if is_sequence(value):
        return rebuild(value, (cut(part, first, end, items, device) for part in value))
    shape: tuple[int, ...] = getattr(value, "shape", ())
    part = value[first:end] if shape and shape[0] == items else value
    if isinstance(part, Tensor):
        return part if part.device is device else part.to(device)
    return tensor(part, device=device) if hasattr(part, "__array__") else part


def seed_of(seed: int, step: int, shard: int) -> int:
    """Return the 64-bit seed of a shard's random numbers in a step: it does not depend on the worker."""
    words = b"".join(word.to_bytes(8, "little") for word in (seed, step, shard))
    return int.from_bytes(blake2b(words, digest_size=8).digest(), "little")


@contextmanager
def random_numbers(seed: int, step: int, shard: int) -> Generator[None]:
    """Draw from the stream of a shard in this block; afterwards the default generator is as before."""
    with drawing:
        # A stream for each shard, not for each worker: dropout draws the same numbers whoever computes the
        # shard.
        before = get_rng_state()
        set_rng_state((seed_of(seed, step, shard), 0))
        try:
            yield
        finally:
            set_rng_state(before)
