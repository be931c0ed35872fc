"""Turns a dataset into batches of NumPy arrays, in order or shuffled, prepared ahead by a thread."""

from __future__ import annotations

import operator
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from flambeau.data.dataset import Indexable, gather
from flambeau.errors import FlambeauError

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np  # imported where it is used: the browser has none

THREADS = sys.platform != "emscripten"  # a browser's Python starts none


class DataLoader:
    """Batches of a dataset: tuples of arrays [batch_size, ...], the last one shorter unless `drop_last`.

    `shuffle` gives a new order each epoch; the same `seed` gives the same epochs, and setting `epoch` goes to
    one of them. `collate_fn` makes a batch from a list of items. A thread prepares `prefetch` batches ahead
    (0: none, as in the browser, which has no threads); what it raises is raised in the loop.
    TypeError for what is no dataset, ValueError for sizes that can't be meant.
    """

    def __init__(
        self,
        dataset: Indexable,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        seed: int | None = None,
        drop_last: bool = False,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        prefetch: int = 2,
    ):
        if not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")):
            raise TypeError(
                f"DataLoader({type(dataset).__name__}): a dataset has __len__ and __getitem__: "
                "pass a TensorDataset, a list or a Dataset of your own"
            )
        self.dataset, self.shuffle, self.drop_last, self.collate_fn = dataset, shuffle, drop_last, collate_fn
        self.batch_size = whole("batch_size", batch_size, 1, "pass 1 or more")
        self.prefetch = whole("prefetch", prefetch, 0, "pass 0 for no thread, or more")
        self.seed = (
            int.from_bytes(os.urandom(8), "little")
            if seed is None
            else whole("seed", seed, 0, "pass 0 or more")
        )
        self.epoch = 0

    def __len__(self) -> int:
        full, rest = divmod(len(self.dataset), self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        order = self.order(self.epoch)
        self.epoch += 1
        batches = (order[i * self.batch_size :][: self.batch_size] for i in range(len(self)))
        if not self.prefetch or not THREADS:
            return map(self.fetch, batches)
        return fetched_ahead(self.fetch, batches, self.prefetch)

    def order(self, epoch: int) -> np.ndarray:
        """The indices [n] in the order of an epoch, from seed and epoch alone: any epoch can be repeated."""
        import numpy as np

        count = len(self.dataset)
        if not self.shuffle:
            return np.arange(count)
        return np.random.default_rng([self.seed, epoch]).permutation(count)

    def fetch(self, indices: np.ndarray) -> Any:
        if self.collate_fn is None:
            return gather(self.dataset, indices)
        return self.collate_fn([self.dataset[i] for i in indices.tolist()])


def fetched_ahead(
    fetch: Callable[[np.ndarray], Any], batches: Iterator[np.ndarray], ahead: int
) -> Iterator[Any]:
    """Yield `fetch(batch)` in order; one thread works at most `ahead` batches before the loop that reads."""
    from concurrent.futures import ThreadPoolExecutor

    thread, process = ThreadPoolExecutor(1, thread_name_prefix="flambeau-data"), os.getpid()
    try:
        waiting: deque[Future] = deque(thread.submit(fetch, batch) for batch in islice(batches, ahead))
        while waiting:
            if os.getpid() != process:  # it would wait for ever
                rule = "an epoch that began before a fork can't go on behind it: its thread is not there"
                raise FlambeauError(f"DataLoader: {rule}: begin a new one, or start the process by 'spawn'")
            ready = waiting.popleft().result()
            waiting.extend(thread.submit(fetch, batch) for batch in islice(batches, 1))
            yield ready
    finally:  # also when the loop is left early: Python closes the generator
        thread.shutdown(cancel_futures=True)


def whole(name: str, value: Any, least: int, advice: str) -> int:
    kind = "positive" if least else "non-negative"
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < least or isinstance(value, bool):
        raise ValueError(f"DataLoader({name}={value!r}): {name} must be a {kind} integer: {advice}")
    return number
