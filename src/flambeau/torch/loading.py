"""torch.utils.data.DataLoader: its attributes, the order of its random numbers, and its iterators.

Workers are threads: a script needs no `if __name__ == "__main__":` and its datasets need not be pickled.
Each draws from its own generator, seeded as PyTorch seeds its processes.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count, repeat, takewhile
from typing import Any, Generic, TypeVar

from ..core.dtype import int64
from ..data.fetch import OVER, BatchRequest, cut
from ..data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from ..data.workers import Threads, WorkerInfo
from ..functions import empty
from ..ops.mersenne import MersenneGenerator
from ..ops.random import defaults
from .collating import default_collate, default_convert
from .datasets import IterableDataset, read_items
from .switch import with_torch_name

T_co = TypeVar("T_co", covariant=True)
FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


class DatasetKind:
    """Whether a dataset is read by index or by iteration."""

    Map, Iterable = 0, 1


class ConstantSampler(Sampler):
    """Yields None forever: an iterable dataset chooses its own order."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


@with_torch_name
class TorchDataLoader(Generic[T_co]):
    """Batches of a dataset, like torch.utils.data.DataLoader's.

    dataset: items by index, or an IterableDataset
    batch_size: items of a batch; None yields single items
    shuffle: a new order each epoch, drawn from `generator`
    sampler: indices instead of the shuffled or sequential ones
    batch_sampler: lists of indices, one for each batch
    num_workers: how many threads fetch batches ahead; 0: the loop fetches them
    collate_fn: makes a batch of a list of items; None: `default_collate`
    pin_memory, pin_memory_device, in_order, multiprocessing_context: accepted, without effect
    drop_last: leave out a last batch that is shorter
    timeout: how many seconds a batch may take; 0: no limit
    worker_init_fn: called with its number in each worker
    generator: the source of the seed; None: the default generator
    prefetch_factor: batches that each worker fetches ahead; None: 2
    persistent_workers: keep the workers from epoch to epoch

    ValueError for options that exclude each other.
    """

    dataset: Any
    batch_size: int | None
    sampler: Any
    _DataLoader__initialized = False  # PyTorch's private name

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ):
        is_iterable = isinstance(dataset, IterableDataset)
        orders = {"shuffle": shuffle, "sampler": sampler, "batch_sampler": batch_sampler}
        batching = {"batch_size": batch_size, "shuffle": shuffle, "sampler": sampler, "drop_last": drop_last}
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        _check_order(is_iterable, orders, batching)
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.worker_init_fn, self.generator, self.persistent_workers = (
            worker_init_fn,
            generator,
            persistent_workers,
        )
        self.multiprocessing_context = multiprocessing_context
        self._dataset_kind = DatasetKind.Iterable if is_iterable else DatasetKind.Map
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            if is_iterable:
                sampler = ConstantSampler()
            else:
                sampler = (
                    RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
                )
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._iterator: BaseIterator | None = None
        self._DataLoader__initialized = True

    def __setattr__(self, attr: str, val: Any) -> None:
        if self._DataLoader__initialized and attr in FIXED:
            rule = "the loader has been made: pass it to the constructor"
            raise ValueError(f"{type(self).__name__}.{attr} = ...: {rule}")
        super().__setattr__(attr, val)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self) -> "BaseIterator":
        return ThreadedIterator(self) if self.num_workers else SerialIterator(self)

    def __iter__(self) -> Iterator[Any]:
        if not (self.persistent_workers and self.num_workers):
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator.restart(self)
        return self._iterator

    def __len__(self) -> int:
        if self._dataset_kind == DatasetKind.Map:
            return len(self._index_sampler)
        length = len(self.dataset)
        if self.batch_size is None:
            return length
        # As torch, this trusts the len() of an iterable dataset, which may yield another number of items.
        full, rest = divmod(length, self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def check_worker_number_rationality(self) -> None:
        """Do nothing: threads are cheap."""


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0 or timeout < 0 or (prefetch_factor or 0) < 0:
        rule = "num_workers, timeout and prefetch_factor must be 0 or more: pass other numbers"
        raise ValueError(f"DataLoader(num_workers={num_workers}): {rule}")
    if not num_workers and (prefetch_factor is not None or persistent_workers):
        rule = "prefetch_factor and persistent_workers need workers: pass num_workers=1 or more"
        raise ValueError(f"DataLoader(num_workers=0): {rule}")


def _check_order(is_iterable: bool, orders: dict[str, Any], batching: dict[str, Any]) -> None:
    """ValueError for two orders, or two rules of batches."""
    if is_iterable and any(orders.values()):
        rule = "an iterable dataset sets the order: leave out shuffle and samplers"
        raise ValueError(f"DataLoader(IterableDataset): {rule}")
    if orders["sampler"] is not None and orders["shuffle"]:
        raise ValueError("DataLoader(shuffle=True, sampler=...): both set the order: pass one of them")
    if orders["batch_sampler"] is not None:
        if batching["batch_size"] != 1 or any(batching[n] for n in ("shuffle", "sampler", "drop_last")):
            rule = "it already defines the batches: leave out batch_size, shuffle, sampler and drop_last"
            raise ValueError(f"DataLoader(batch_sampler=...): {rule}")
    elif batching["batch_size"] is None and batching["drop_last"]:
        raise ValueError("DataLoader(batch_size=None, drop_last=True): batching is off: pass batch_size")


class _Fetch:
    """Makes a loader's batches: from indices, or from the next items of an iterable dataset.

    Each worker has its own shallow copy of an iterable dataset, whose attributes `worker_init_fn` may set.
    """

    def __init__(self, loader: Any):  # a TorchDataLoader, whose private names are torch's
        self.by_index = loader._dataset_kind == DatasetKind.Map
        self.is_batched, self.collate_fn = loader._auto_collation, loader.collate_fn
        self.size, self.drop_last = loader.batch_size, loader.drop_last
        copies = 1 if self.by_index else max(1, loader.num_workers)
        self.datasets = [copy.copy(loader.dataset) if copies > 1 else loader.dataset for _ in range(copies)]
        self.parts: dict[int, tuple[Any, Iterator[Any]]] = {}

    def dataset_of(self, worker: int) -> Any:
        """The dataset that a worker reads."""
        return self.datasets[worker % len(self.datasets)]

    def __call__(self, worker: int, items: Any) -> Any:
        """The batch of `items`: indices; for an iterable dataset, what marks the epoch. OVER at the end."""
        dataset = self.dataset_of(worker)
        if self.by_index:
            return self.collate_fn(read_items(dataset, items) if self.is_batched else dataset[items])
        if worker not in self.parts or self.parts[worker][0] is not items:
            self.parts[worker] = items, self._parts(iter(dataset))
        part: Any = next(self.parts[worker][1], OVER)
        return OVER if part is OVER else self.collate_fn(part)

    def _parts(self, items: Iterator[Any]) -> Iterator[Any]:
        return cut(items, self.size or 1, self.drop_last) if self.is_batched else items


class BaseIterator:
    """One pass over a loader."""

    def __init__(self, loader: TorchDataLoader[Any]):
        self._loader, self._fetch = loader, _Fetch(loader)
        self.restart(loader)

    def restart(self, loader: TorchDataLoader[Any]) -> None:
        """Begin another pass."""
        own: Any = loader  # whose private names are torch's
        # The iterator of a shuffled sampler draws nothing before its first index, so the seed below comes
        # first.
        self._sampler_iter = iter(own._index_sampler)
        # PyTorch draws the seed of its workers here, with and without workers
        self._base_seed = int(empty((), dtype=int64, device="cpu").random_(generator=loader.generator).item())
        self._num_yielded = 0
        self._batches = self._begin()

    def _begin(self) -> Iterator[Any]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        batch = next(self._batches)
        self._num_yielded += 1
        return batch

    def __len__(self) -> int:
        own: Any = self._loader
        return len(own._index_sampler)


class SerialIterator(BaseIterator):
    """A pass whose batches are fetched in the loop's own thread."""

    def _begin(self) -> Iterator[Any]:
        if self._fetch.by_index:
            return (self._fetch(0, items) for items in self._sampler_iter)
        epoch = object()
        return takewhile(lambda batch: batch is not OVER, (self._fetch(0, epoch) for _ in count()))


class ThreadedIterator(BaseIterator):
    """A pass whose batches threads fetch ahead."""

    def __init__(self, loader: TorchDataLoader[Any]):
        self._team = _Team(loader)
        super().__init__(loader)

    def _begin(self) -> Iterator[Any]:
        self._team.start(self._fetch, self._base_seed)
        ahead = self._team.in_order if self._fetch.by_index else self._team.until_over
        return ahead(self._sampler_iter)

    def _shutdown_workers(self) -> None:
        """End the threads after their current batches."""
        self._team.end()


def _begin_worker(seed: int, begin: Callable[[int], None] | None, worker: int) -> None:
    """Give the thread of a worker its own generator, as a process has."""
    defaults.host = MersenneGenerator().manual_seed(seed + worker)  # per thread
    if begin is not None:
        begin(worker)


class _Team:
    """The threads of a pass. It does not know the pass: a pass that is dropped ends its threads at once."""

    threads: Threads | None = None

    def __init__(self, loader: TorchDataLoader[Any]):
        self.size, self.timeout, self.begin = loader.num_workers, loader.timeout, loader.worker_init_fn
        self.ahead = (loader.prefetch_factor or 1) * loader.num_workers
        self.is_kept = loader.persistent_workers

    def start(self, fetch: _Fetch, seed: int) -> None:
        """Start the threads, unless those of the previous pass still exist."""
        if self.threads is None:
            infos = [WorkerInfo(i, self.size, seed + i, fetch.dataset_of(i)) for i in range(self.size)]
            self.threads = Threads(fetch, infos, partial(_begin_worker, seed, self.begin), self.timeout)

    def end(self) -> None:
        """End the threads after their current batches."""
        threads, self.threads = self.threads, None
        if threads is not None:
            threads.end()

    def in_order(self, indices: Iterator[Any]) -> Iterator[Any]:
        """The batches of indices."""
        yield from self._run(BatchRequest(0, number, items) for number, items in enumerate(indices))

    def until_over(self, _indices: Iterator[Any]) -> Iterator[Any]:
        """The batches of an iterable dataset, of which each worker has a copy."""
        epoch = object()
        over = 0  # consecutive ends: requests go to workers in turn, so one end per worker ends the pass
        numbers = takewhile(lambda _: over < self.size, count())
        for batch in self._run(BatchRequest(0, number, epoch) for number in numbers):
            over = over + 1 if batch is OVER else 0
            if batch is not OVER:
                yield batch

    def _run(self, requests: Iterator[BatchRequest]) -> Iterator[Any]:
        assert self.threads is not None
        try:
            yield from self.threads.ahead(requests, self.ahead)
        except BaseException:
            self.end()
            raise
        if not self.is_kept:
            self.end()


DataLoader = TorchDataLoader
