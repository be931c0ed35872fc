"""Compares the models of all workers, and copies the values of one to the others."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from ..core.node import describe
from ..errors import ValueError
from ..runtime.exchange import leaf
from ..runtime.run import Readback
from ..tensor import Tensor
from .group import ProcessGroup
from .reductions import Array

TEXT = 200  # bytes of a description in an error


def gather(group: ProcessGroup, array: Array) -> list[Array]:
    """Return the array of each rank. All have one shape and dtype."""
    outputs = [np.empty_like(array) for _ in range(group.size)]
    group.all_gather(outputs, array)
    return outputs


def gather_bytes(group: ProcessGroup, data: bytes) -> list[bytes]:
    """Return the bytes of each rank, of any lengths."""
    sizes = [int(s[0]) for s in gather(group, np.array([len(data)], np.int64))]
    padded = np.zeros(max(sizes), np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    return [raw[:size].tobytes() for raw, size in zip(gather(group, padded), sizes, strict=True)]


def agree(group: ProcessGroup, names: Sequence[str], tensors: Sequence[Tensor]) -> None:
    """ValueError on all ranks, with the first tensor that differs in name, shape or dtype, if one does."""
    descriptions = [f"{name!r} {describe(t)}" for name, t in zip(names, tensors, strict=True)]
    counts = [int(c[0]) for c in gather(group, np.array([len(descriptions)], np.int64))]
    # 8 bytes for each tensor instead of its description; texts are sent only if something differs.
    hashes = np.zeros(max(counts), np.uint64)
    for i, text in enumerate(descriptions):
        hashes[i] = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
    table = np.stack(gather(group, hashes))
    wrong = np.flatnonzero((table != table[0]).any(axis=0))
    if not wrong.size:
        return
    first = int(wrong[0])
    text = descriptions[first].encode()[:TEXT] if first < len(descriptions) else b"no further one"
    texts = [raw.rstrip(b"\0").decode(errors="replace") for raw in gather_bytes(group, text)]
    other = next(r for r in range(group.size) if table[r, first] != table[0, first])
    rule = f"the models differ at parameter {first}: rank 0 has {texts[0]}, rank {other} has {texts[other]}"
    raise ValueError(f"wrap(...): {rule}: build the same model on all workers")


def broadcast_values(group: ProcessGroup, tensors: Sequence[Tensor], source: int = 0) -> None:
    """Copy the values of the tensors on rank `source` to all ranks, in place."""
    if group.size == 1:
        return
    for t, raw in zip(tensors, Readback(list(tensors)).wait(), strict=True):
        values = np.frombuffer(raw, np.uint8).copy()
        group.broadcast(values, source)
        if group.rank != source:
            t.assign_(Tensor(leaf(values, t.shape, t.dtype, t.device)))
