"""Builds the batch of a worker's request, with objects that can be pickled for another process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from typing import Any, NamedTuple

from flambeau.data.batches import collate, default_collate, default_convert
from flambeau.data.dataset import gather, items_of
from flambeau.data.workers import begin_share, get_worker_info

from ..core.tree import is_dict, is_tuple, rebuild

Seed = Callable[[int | None], None]  # seeds for the batch of this number; None: for the requested batch


class BatchRequest(NamedTuple):
    """A request for a batch: its epoch and number, and the indices of its items, or for an iterable
    dataset the number of the loop over the loader."""

    epoch: int
    number: int
    items: Any


class OVER:
    """A worker returns this class itself when it has no more items: pickling preserves its identity."""


@dataclass
class ByIndex:
    """Builds batches of a dataset with indices."""

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
        # collate of a gathered batch would stack items that are one array already
        if self.collate_fn is collate and hasattr(self.dataset, "gather"):
            return _as_arrays(self.dataset.gather(indices))
        return self.collate_fn(items_of(self.dataset, indices))


@dataclass
class ByTurn:
    """Builds batches of an iterable dataset. Each worker iterates it again in each loop over the loader.

    Each of n workers makes every n-th batch and drops the items of the others, so together they make the same
    batches as without workers. If the dataset yields only a worker's share, the worker batches all its items.
    """

    dataset: Any
    collate_fn: Callable[..., Any] | None
    batch_size: int | None
    drop_last: bool
    started: dict[int, tuple[int, Iterator[Any]]] = field(  # by worker
        default_factory=dict[int, tuple[int, Iterator[Any]]]
    )
    seed: Seed | None = None  # set in a worker process
    is_iterated = True

    def __call__(self, worker: int, loop: int) -> Any:
        if worker not in self.started or self.started[worker][0] != loop:
            self.started[worker] = (loop, self.turns())
        return next(self.started[worker][1], OVER)

    def batches(self) -> Iterator[Any]:
        """Yield all batches, without workers."""
        return map(self.collate, self.parts(iter(self.dataset)))

    def turns(self) -> Iterator[Any]:
        """Yield the batches of the calling worker."""
        info, seed = get_worker_info(), self.seed or _seed_nothing
        assert info is not None  # `turns` runs inside a worker
        # the items before the first batch: datasets may draw when they begin
        seed(0)
        items, is_share = begin_share(self.dataset, partial(seed, None))
        parts = self.parts(items)
        for number in count():
            if number and not is_share:
                seed(number)
            part = next(parts, OVER)
            if part is OVER:
                return
            # every worker iterates all items, and only collates its own batches
            if is_share or number % info.num_workers == info.id:
                yield self.collate(part)

    def parts(self, items: Iterator[Any]) -> Iterator[Any]:
        """Group items by batch: lists of items, or single items without a batch size."""
        return items if self.batch_size is None else cut(items, self.batch_size, self.drop_last)

    def collate(self, part: Any) -> Any:
        default = default_convert if self.batch_size is None else default_collate
        return (self.collate_fn or default)(part)


def _seed_nothing(number: int | None) -> None:
    """Do nothing: threads share the generators of the process."""


def cut(items: Iterator[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    while batch := list(islice(items, size)):
        if len(batch) == size or not drop_last:
            yield batch


def _as_arrays(batch: Any) -> Any:
    if is_tuple(batch):
        return rebuild((), map(_as_arrays, batch))
    if is_dict(batch):
        return {key: _as_arrays(value) for key, value in batch.items()}
    return batch.numpy() if hasattr(batch, "numpy") else batch
