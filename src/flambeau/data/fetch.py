"""Turns a dataset and what a worker is asked for into a batch; it can go along to another process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from flambeau.data.batches import collate, default_collate, default_convert
from flambeau.data.dataset import gather, items_of


class Errand(NamedTuple):
    """A batch that is asked for: its epoch and number, and the indices of its items; or, for a dataset that
    is iterated, which loop over the loader it belongs to."""

    epoch: int
    number: int
    what: Any


class OVER:
    """What a worker gives when its items are over: the class itself, which a pickle keeps."""


@dataclass
class ByIndex:
    """Batches of a dataset that has items by index."""

    dataset: Any
    collate_fn: Callable[..., Any] | None
    batch_size: int | None

    def __call__(self, _worker: int, indices: Any) -> Any:
        import numpy as np

        indices = np.asarray(indices)
        if self.batch_size is None:
            (item,) = items_of(self.dataset, np.atleast_1d(indices))
            return (self.collate_fn or default_convert)(item)
        if self.collate_fn is None:
            return default_convert(gather(self.dataset, indices))
        if self.collate_fn is collate and hasattr(self.dataset, "gather"):
            return _as_arrays(self.dataset.gather(indices))
        return self.collate_fn(items_of(self.dataset, indices))


@dataclass
class ByTurn:
    """Batches of a dataset that is iterated: each worker does so, anew in each loop over the loader."""

    dataset: Any
    collate_fn: Callable[..., Any] | None
    batch_size: int | None
    drop_last: bool
    begun: dict[int, tuple[int, Iterator[Any]]] = field(default_factory=dict)  # by worker

    def __call__(self, worker: int, loop: int) -> Any:
        if worker not in self.begun or self.begun[worker][0] != loop:
            self.begun[worker] = (loop, self.batches())
        return next(self.begun[worker][1], OVER)

    def batches(self) -> Iterator[Any]:
        """The batches of one worker."""
        if self.batch_size is None:
            return map(self.collate_fn or default_convert, self.dataset)
        batches = cut(iter(self.dataset), self.batch_size, self.drop_last)
        return map(self.collate_fn or default_collate, batches)


def cut(items: Iterator[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    while batch := list(islice(items, size)):
        if len(batch) == size or not drop_last:
            yield batch


def _as_arrays(batch: Any) -> Any:
    if isinstance(batch, tuple):
        return tuple(map(_as_arrays, batch))
    if isinstance(batch, dict):
        return {key: _as_arrays(value) for key, value in batch.items()}
    return batch.numpy() if hasattr(batch, "numpy") else batch
