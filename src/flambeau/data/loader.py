"""Loads a dataset as batches of tensors, in a reproducible order, fetched ahead by workers."""

from __future__ import annotations

import operator
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat, takewhile
from typing import TYPE_CHECKING, Any

from flambeau.data.dataset import has_items
from flambeau.data.fetch import OVER, BatchRequest, ByIndex, ByTurn, cut
from flambeau.data.sampler import OrderedSampler, RandomSampler, SequentialSampler, torch_source
from flambeau.data.workers import Threads, WorkerInfo, Workers
from flambeau.errors import FlambeauError
from flambeau.ops.mersenne import torch_numbers
from flambeau.ops.random import Generator

if TYPE_CHECKING:
    import numpy as np  # imported where it is used: the browser has none

THREADS = sys.platform != "emscripten"  # a browser's Python starts neither threads nor processes


MOST_PARTS = 1 << 16  # numbers of parts are below this
Parts = Callable[[int, Any], dict[int, Any]]
# Options that have no effect without workers.
OF_WORKERS = ("timeout", "prefetch_factor", "persistent_workers", "multiprocessing_context")


class DataLoader:
    """Batches of a dataset: tuples of tensors [batch_size, ...].

    `state_dict` gives the position in the epoch. A loader that loads it continues there and fetches nothing
    again. Workers are threads, or processes with a `multiprocessing_context`. An error that one raises is
    raised in the loop, with the number of the item. In a browser the loop itself fetches the batches.

    dataset: an object with items and a length, or an iterable
    batch_size: items of a batch; None gives the items as they are
    shuffle: a new order each epoch. It depends only on the seed and the epoch's number, not on the workers.
    sampler: indices in place of the shuffled or sequential ones
    batch_sampler: lists of indices, one for each batch
    num_workers: how many workers fetch batches ahead; 0: the loop fetches them
    collate_fn: makes a batch of a list of items; None: `data.collate`, whose arrays become tensors
    pin_memory, pin_memory_device: accepted as in PyTorch, without effect: uploads need no pinned memory
    drop_last: leave out a last batch that is shorter
    timeout: how many seconds a batch may take; 0: no limit
    worker_init_fn: called with its number in each worker
    multiprocessing_context: "spawn", "forkserver" or such a context: workers are processes
    generator: the source of the seed; None: the default generator, which `manual_seed` sets
    prefetch_factor: batches that each worker fetches ahead; None: 2
    persistent_workers: keep the workers from epoch to epoch
    in_order: False raises ValueError: batches come in the order of the sampler
    seed: the seed as a number, in place of `generator`

    TypeError for an object that is not a dataset; ValueError for invalid options and for options that exclude
    each other; FlambeauError for processes in a browser.
    """

    def __class_getitem__(cls, _: Any) -> Any:
        return cls  # DataLoader[int], as PyTorch allows it

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[list[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0.0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        seed: int | None = None,
    ):
        # An iterator has no second epoch: `iter(file)` is rejected, the file's path is not.
        by_index = has_items(dataset) and hasattr(dataset, "__len__")
        if isinstance(dataset, Iterator) or not (by_index or isinstance(dataset, Iterable)):
            raise _no_dataset(dataset)
        self.is_iterable = not by_index
        self.dataset: Any = dataset
        self.collate_fn, self.drop_last = collate_fn, drop_last
        self.batch_size = batch_size
        if batch_size is not None:
            self.batch_size = checked_integer("batch_size", batch_size, 1, "pass 1 or more")
        self.num_workers = checked_integer("num_workers", num_workers, 0, "pass 0 (no thread) or more")
        self.prefetch_factor = 2
        if prefetch_factor is not None:
            self.prefetch_factor = checked_integer("prefetch_factor", prefetch_factor, 1, "pass 1 or more")
        self.timeout, self.worker_init_fn = timeout, worker_init_fn
        self.persistent_workers, self.pin_memory = persistent_workers, pin_memory
        self._check_order(shuffle, sampler, batch_sampler)
        for_workers = (timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        if not num_workers and any(for_workers):
            rule = (
                f"{', '.join(OF_WORKERS[:-1])} and {OF_WORKERS[-1]} need workers: pass num_workers=1 or more"
            )
            raise ValueError(f"DataLoader(num_workers=0): {rule}")
        if not in_order:
            raise ValueError("DataLoader(in_order=False): batches always come in order: leave it out")
        if generator is not None and seed is not None:
            raise ValueError("DataLoader(generator=..., seed=...): both set the seed: pass one of them")
        self.batch_sampler, self.generator = batch_sampler, generator
        self.multiprocessing_context = None
        if multiprocessing_context is not None:
            self.multiprocessing_context = self._context(multiprocessing_context)
        source = generator if seed is None else checked_integer("seed", seed, 0, "pass 0 or more")
        if sampler is None and not self.is_iterable:
            in_turn = SequentialSampler(self.dataset)
            sampler = RandomSampler(self.dataset, generator=source) if shuffle else in_turn
        self.sampler = sampler
        self.epoch = 0  # the next one
        self._at = (0, 0)  # the current epoch, and the number of its batches so far
        self._is_over = False  # the dataset with a state_dict has yielded the last item of those batches
        self._began: int | None = None  # the batch sampler's current epoch
        self._resumed: tuple[int, int] | None = None
        self._workers: Workers | None = None
        self._loops = 0  # loops over an iterable dataset

    def _check_order(self, shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
        if sampler is not None and shuffle:
            raise ValueError("DataLoader(shuffle=True, sampler=...): both set the order: pass one of them")
        makes = self.batch_size != 1 or shuffle or sampler is not None or self.drop_last
        if batch_sampler is not None and makes:
            rule = "it already defines the batches: leave out batch_size, shuffle, sampler and drop_last"
            raise ValueError(f"DataLoader(batch_sampler=...): {rule}")
        if self.is_iterable and (shuffle or sampler is not None or batch_sampler is not None):
            rule = "an iterable dataset sets the order: leave out shuffle and samplers"
            raise ValueError(f"DataLoader({type(self.dataset).__name__}): {rule}")
        if self.batch_size is None and self.drop_last:
            rule = "batching is off: pass batch_size"
            raise ValueError(f"DataLoader(batch_size=None, drop_last=True): {rule}")
        if self.num_workers and hasattr(self.dataset, "state_dict"):
            rule = "the dataset keeps its position, and workers prefetch past the loop: pass 0"
            raise ValueError(f"DataLoader(num_workers={self.num_workers}): {rule}")

    def _context(self, context: Any) -> Any:
        """Return a multiprocessing context from its name, or the context itself."""
        if not THREADS:
            rule = "a browser has no processes: leave it out"
            raise FlambeauError(f"DataLoader(multiprocessing_context={context!r}): {rule}")
        from flambeau.data.processes import context_of  # browsers lack multiprocessing

        return context_of(context)

    def __repr__(self) -> str:
        size = f"batch_size={self.batch_size}" if self.batch_sampler is None else "batch_sampler=..."
        order = {"shuffle": isinstance(self.sampler, RandomSampler), "drop_last": self.drop_last}
        options = [size, *(f"{name}=True" for name, is_set in order.items() if is_set)]
        options += [f"num_workers={self.num_workers}"] if self.num_workers else []
        count = f": {len(self):,} batches" if self._items() is not None else ""
        return f"DataLoader({type(self.dataset).__name__}, {', '.join(options)}){count}"

    def __len__(self) -> int:
        if self.batch_sampler is not None:
            return len(self.batch_sampler)  # type: ignore[arg-type]
        count = len(self.dataset if self.sampler is None else self.sampler)  # type: ignore[arg-type]
        # without batching each item counts as a batch
        full, remainder = divmod(count, self.batch_size or 1)
        return full + (remainder > 0 and not self.drop_last)

    def order(self, epoch: int) -> np.ndarray:
        """Return the indices [n] of any epoch in order. TypeError if the sampler can't compute them."""
        if not isinstance(self.sampler, OrderedSampler):
            rule = "its sampler has no order(epoch): define it, or iterate the loader"
            raise TypeError(f"DataLoader.order({epoch}): {rule}")
        return self.sampler.order(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the position: seed, epoch, number of batches so far, and the dataset's state."""
        sampler = self._ordered_sampler()
        state: dict[str, Any] = {"seed": list(getattr(sampler, "seed", ())), "epoch": self._at[0]}
        state |= {"batch": self._at[1], "batch_size": self.batch_size, "items": self._items()}
        if self.batch_sampler is not None and sampler is not None:
            state["sampler"] = sampler.epoch if self._began is None else self._began
        if hasattr(self.dataset, "state_dict"):
            state |= {"dataset": self.dataset.state_dict(), "is_over": self._is_over}
        return state

    def _ordered_sampler(self) -> OrderedSampler | None:
        """Return the sampler whose order follows from a seed; for a batch sampler, its inner sampler."""
        sampler = self.sampler if self.batch_sampler is None else getattr(self.batch_sampler, "sampler", None)
        return sampler if isinstance(sampler, OrderedSampler) else None

    def _items(self) -> int | None:
        """Return the number of indices, or of batches, in an epoch; None if unknown."""
        order = self.sampler if self.batch_sampler is None else self.batch_sampler
        return len(order) if hasattr(order, "__len__") else None  # type: ignore[arg-type]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a position: the next loop begins with the batch that would have come next. ValueError
        within an epoch if the batch size or the number of items differs."""
        size, position = state_dict.get("batch_size", self.batch_size), state_dict["batch"]
        # Positions count batches. At the start of an epoch every batch size fits.
        if position and size != self.batch_size:
            problem = (
                f"the state is {position} batches of {size} into an epoch, but this loader's"
                f" batches have {self.batch_size}"
            )
            cure = f"pass batch_size={size}, or change it between epochs"
            raise ValueError(f"DataLoader.load_state_dict(...): {problem}: {cure}")
        items, own_items = state_dict.get("items"), self._items()
        # Another number of items gives another permutation, so the position would mean other items.
        if position and None not in (items, own_items) and items != own_items:
            problem = f"the state is {position} batches into an epoch of {items} items"
            problem += f", but this loader has {own_items}"
            cure = "use the same dataset, or change it between epochs"
            raise ValueError(f"DataLoader.load_state_dict(...): {problem}: {cure}")
        if (sampler := self._ordered_sampler()) is not None:
            sampler.seed = list(state_dict["seed"] or sampler.seed)
            sampler.epoch = state_dict.get("sampler", sampler.epoch)
        self._began = None
        if "dataset" in state_dict:
            self.dataset.load_state_dict(state_dict["dataset"])
        self._is_over = state_dict.get("is_over", False)
        self._at = self._resumed = (state_dict["epoch"], state_dict["batch"])

    def __iter__(self) -> Iterator[Any]:
        epoch, position = self._begin()
        if self.is_iterable:
            return self._count_batches(epoch, position, self._iterate_batches(epoch, position))
        return self._count_batches(epoch, position, self._fetch_batches(epoch, position))

    def iterate_parts(self, parts: Parts) -> Iterator[tuple[Any, dict[int, Any]]]:
        """Iterate an epoch as `iter` does, but fetch only some parts of each batch. Yields the indices of
        each batch, and its parts.

        parts: called with the number of a batch and its indices, returns the indices of each part to fetch
        by a number of the part; workers call it ahead of the loop. TypeError for an iterable dataset.
        """
        if self.is_iterable:
            rule = "an iterable dataset has no indices: iterate the loader"
            raise TypeError(f"iterate_parts({type(self.dataset).__name__}): {rule}")
        epoch, position = self._begin()
        return self._count_batches(epoch, position, self._fetch_parts(epoch, position, parts))

    def _begin(self) -> tuple[int, int]:
        """Begin an epoch. Returns it, and the number of its batches that were yielded before."""
        epoch, position = self._resumed or (self.epoch, 0)
        sampler, is_over = self._ordered_sampler(), self._resumed is not None and self._is_over
        # Set before the first batch: `state_dict` inside the loop then refers to this epoch.
        self._resumed, self.epoch, self._at, self._is_over = None, epoch + 1, (epoch, position), is_over
        self._began = None if sampler is None else sampler.epoch
        if (source := torch_source(self.generator)) is not None:
            source.long_seed()  # PyTorch draws the seed of its workers here, with and without workers
        return epoch, position

    def _count_batches(self, epoch: int, position: int, batches: Iterator[Any]) -> Iterator[Any]:
        try:
            for batch in batches:
                position += 1
                self._at = (epoch, position)
                yield batch
        finally:
            del batches  # Python 3.12.3 would keep them, and their workers, beyond a `close` of this one
        self._at, self._is_over, self._began = (epoch + 1, 0), False, None

    # --- datasets with items by index ---

    def _fetch_batches(self, epoch: int, position: int) -> Iterator[Any]:
        batches = self._batches(epoch, position)
        if not self.num_workers or not THREADS:
            return map(self.fetch, batches)
        # numbered from the position on: a resumed epoch seeds each batch as an uninterrupted one
        requests = (BatchRequest(epoch, number, batch) for number, batch in enumerate(batches, position))
        return self._by_workers(self._by_index(), requests)

    def _fetch_parts(self, epoch: int, position: int, parts: Parts) -> Iterator[tuple[Any, dict[int, Any]]]:
        batches = enumerate(self._batches(epoch, position), position)
        if not self.num_workers or not THREADS:
            for number, indices in batches:
                yield indices, {i: self.fetch(part) for i, part in parts(number, indices).items()}
            return
        # (indices, missing parts, fetched parts) of the batches that were requested
        pending: deque[tuple[Any, list[int], dict[int, Any]]] = deque()

        def requests() -> Iterator[BatchRequest]:
            for number, indices in batches:
                part_numbers = parts(number, indices)
                pending.append((indices, list(part_numbers), {}))
                for i, part in part_numbers.items():
                    yield BatchRequest(epoch, number * MOST_PARTS + i, part)

        for part in self._by_workers(self._by_index(), requests()):
            while not pending[0][1]:  # this worker needs none of the batch
                indices, _, fetched = pending.popleft()
                yield indices, fetched
            indices, missing, fetched = pending[0]
            fetched[missing.pop(0)] = part
            if not missing:
                pending.popleft()
                yield indices, fetched
        for indices, _, fetched in pending:
            yield indices, fetched

    def _batches(self, epoch: int, position: int) -> Iterator[Any]:
        """Yield batches of indices from a position on."""
        if self.batch_sampler is not None:
            return islice(iter(self.batch_sampler), position, None)
        size = self.batch_size or 1
        # The order follows from the epoch: batches before the position are never drawn.
        if isinstance(self.sampler, OrderedSampler) and torch_numbers() is None:
            order, end = self.sampler.order(epoch), len(self)
            return (order[i * size :][:size] for i in range(position, end))
        return islice(cut(iter(self.sampler or ()), size, self.drop_last), position, None)

    def fetch(self, indices: Sequence[int]) -> Any:
        """Fetch the batch of some indices."""
        return self._by_index()(0, indices)

    def _by_index(self) -> ByIndex:
        return ByIndex(self.dataset, self.collate_fn, self.batch_size)

    # --- iterable datasets ---

    def _iterate_batches(self, epoch: int, position: int) -> Iterator[Any]:
        # the dataset's state is already that of its next epoch
        if self._is_over:
            return iter(())
        skip = 0 if hasattr(self.dataset, "load_state_dict") else position
        items = self._until_over() if hasattr(self.dataset, "state_dict") else self.dataset
        fetch = ByTurn(items, self.collate_fn, self.batch_size, self.drop_last)
        if not self.num_workers or not THREADS:
            return islice(fetch.batches(), skip, None)
        return islice(self._until_all_are_over(fetch, epoch), skip, None)

    def _until_over(self) -> Iterator[Any]:
        """Yield the dataset's batches. The last, shorter batch comes after the dataset has moved to its
        next epoch."""
        yield from self.dataset
        self._is_over = True

    def _until_all_are_over(self, fetch: ByTurn, epoch: int) -> Iterator[Any]:
        self._loops += 1
        # A worker returns OVER once its part is finished. Requests go to workers in turn, so one OVER from
        # each, consecutively, ends the epoch.
        over = 0  # in a row
        requests = takewhile(lambda _: over < self.num_workers, enumerate(repeat(self._loops)))
        for batch in self._by_workers(fetch, (BatchRequest(epoch, *which) for which in requests)):
            over = over + 1 if batch is OVER else 0
            if batch is not OVER:
                yield batch

    def _by_workers(self, fetch: ByIndex | ByTurn, batches: Iterator[BatchRequest]) -> Iterator[Any]:
        # persistent_workers: the workers of the previous epoch are still there
        workers = self._workers or self._start_workers(fetch)
        try:
            yield from workers.ahead(batches, self.prefetch_factor * self.num_workers)
        except BaseException:
            self._workers = None
            workers.end()
            raise
        if not self.persistent_workers:
            self._workers = None
            workers.end()

    def _start_workers(self, fetch: ByIndex | ByTurn) -> Workers:
        seed = sum(getattr(self.sampler, "seed", ()))
        infos = [WorkerInfo(i, self.num_workers, seed + i, self.dataset) for i in range(self.num_workers)]
        if (context := self.multiprocessing_context) is None:
            workers: Workers = Threads(fetch, infos, self.worker_init_fn, self.timeout)
        else:
            from flambeau.data.processes import Processes

            workers = Processes(fetch, infos, self.worker_init_fn, self.timeout, context)
        if self.persistent_workers:
            self._workers = workers
        return workers


def _no_dataset(dataset: Any) -> TypeError:
    return TypeError(
        f"DataLoader({type(dataset).__name__}): a dataset needs __len__ and __getitem__, or __iter__: "
        "pass a TensorDataset, a list or a Dataset of your own"
    )


def checked_integer(name: str, value: Any, least: int, advice: str) -> int:
    """Return a valid number; else ValueError."""
    kind = "positive" if least else "non-negative"
    try:
        # accepts NumPy's integers, but no floats; bool is an int, and is rejected below
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < least or isinstance(value, bool):
        raise ValueError(f"DataLoader({name}={value!r}): {name} must be a {kind} integer: {advice}")
    return number
