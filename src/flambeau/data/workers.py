"""Workers: numbered threads that fetch batches ahead, in order."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain, cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from flambeau.errors import FlambeauError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from flambeau.data.fetch import BatchRequest

Fetcher = Callable[[int, Any], Any]  # a function of a worker's number and its request; see data/fetch.py
Begin = Callable[[int], None] | None


class WorkerInfo(NamedTuple):
    """The worker of this thread: its number `id` of `num_workers`, its seed, the loader's dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class WorkerInfoAtStart(WorkerInfo):
    """The WorkerInfo that `worker_init_fn` sees for an iterable dataset, whose items it may choose."""

    @property
    def dataset(self) -> Any:  # type: ignore[override]
        if _here.is_shared:
            rule = "worker threads share one dataset, so an attribute can't hold each worker's share"
            cure = "call get_worker_info() in __iter__, or pass multiprocessing_context='spawn'"
            raise FlambeauError(f"get_worker_info().dataset: {rule}: {cure}")
        _here.takes_share = True
        return self[3]


_here = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """Return the DataLoader worker of this thread (or process); None outside of workers."""
    on_request = getattr(_here, "on_request", None)
    if on_request is not None:
        on_request()
    return getattr(_here, "info", None)


def begin_share(dataset: Any, reseed: Callable[[], None] | None) -> tuple[Iterator[Any], bool]:
    """Begin to iterate a dataset in a worker. Returns its items, and whether they are only this worker's
    share.

    They are if the dataset calls `get_worker_info()` before it yields its first item, or `worker_init_fn`
    did so for the dataset. Then `reseed` is called, because only workers with the same items draw the
    same numbers.
    """
    takes_share = _here.takes_share

    def on_request() -> None:
        nonlocal takes_share
        if not takes_share and reseed is not None:
            reseed()
        takes_share = True

    _here.on_request = on_request
    try:
        items: Iterator[Any] = iter(dataset)
        first = list(islice(items, 1))
    finally:
        _here.on_request = None
    return chain(first, items), takes_share


class Workers:
    """The base of threads and processes: each worker fetches every n-th batch."""

    def __init__(self, count: int, timeout: float):
        self.count, self.timeout, self.process = count, timeout, os.getpid()

    def submit(self, worker: int, request: BatchRequest) -> Any:
        """Request a batch from a worker, and return a handle for it."""
        raise NotImplementedError

    def result(self, request: BatchRequest, handle: Any) -> Any:
        """Return the batch, or raise the error of fetching it. TimeoutError if it takes longer than
        `timeout`."""
        raise NotImplementedError

    def end(self) -> None:
        """End the workers after their current requests."""
        raise NotImplementedError

    def ahead(self, batches: Iterator[BatchRequest], most: int) -> Iterator[Any]:
        """Yield batches in order; at most `most` are fetched before the loop that reads."""
        waiting: deque[tuple[BatchRequest, Any]] = deque()
        turns = cycle(range(self.count))

        def more(n: int) -> None:
            for request in islice(batches, n):
                waiting.append((request, self.submit(next(turns), request)))

        more(most)
        while waiting:
            if os.getpid() != self.process:  # a fork has no threads, so it would wait forever
                rule = "an epoch that began before a fork can't continue in the child: its thread is gone"
                raise FlambeauError(f"DataLoader: {rule}: start a new epoch, or use the start method 'spawn'")
            ready = self.result(*waiting.popleft())
            more(1)
            yield ready


class Threads(Workers):
    """Workers that are threads.

    The slow parts of loading (NumPy, Pillow, zlib, SQLite, files) release the GIL, and nothing is pickled.
    """

    def __init__(self, fetch: Fetcher, infos: list[WorkerInfo], begin: Begin, timeout: float):
        from concurrent.futures import ThreadPoolExecutor

        # import it before threads start: two that import it at once may see it half initialised
        import_module("numpy")

        super().__init__(len(infos), timeout)
        self.fetch = fetch
        self.threads: list[ThreadPoolExecutor] = []
        for info in infos:
            name = f"flambeau-data-{info.id}"
            self.threads.append(ThreadPoolExecutor(1, name, enter_worker, (info, begin, fetch)))

    def submit(self, worker: int, request: BatchRequest) -> Future[Any]:
        return self.threads[worker].submit(fetch_in_worker, self.fetch, worker, request)

    def result(self, request: BatchRequest, handle: Future[Any]) -> Any:
        try:
            return handle.result(self.timeout or None)
        except TimeoutError:
            if handle.done():  # raised by the dataset itself
                raise
            raise too_long(request, self.timeout) from None
        except SystemExit as e:  # it would end the process silently
            raise exit_error(e) from e

    def end(self) -> None:
        # A hung dataset must not block the end of the loop: with a timeout, don't wait for its thread.
        # Garbage may be collected in a worker, which can't wait for itself.
        is_worker = getattr(_here, "info", None) is not None
        for thread in self.threads:
            thread.shutdown(wait=self.timeout == 0 and not is_worker, cancel_futures=True)


def too_long(request: BatchRequest, timeout: float) -> FlambeauError:
    task = "a batch" if isinstance(request.items, int) else f"items {[int(i) for i in request.items]}"
    rule = f"took more than {timeout:g} s: increase timeout, or check these items"
    return FlambeauError(f"DataLoader: {task} {rule}")


def exit_error(error: SystemExit) -> FlambeauError:
    rule = f"it exited with SystemExit({error.code!r}): raise an ordinary exception instead"
    return FlambeauError(f"DataLoader: a worker has stopped: {rule}")


def enter_worker(info: WorkerInfo, begin: Begin, fetch: Fetcher, is_process: bool = False) -> None:
    """Make this thread a worker."""
    is_iterated = getattr(fetch, "is_iterated", False)
    _here.takes_share, _here.is_shared = False, info.num_workers > 1 and not is_process
    _here.info, _here.failed = (WorkerInfoAtStart(*info) if is_iterated else info), None
    try:
        if begin is not None:
            begin(info.id)
    except BaseException as e:  # the loop raises it, because a thread would only print it
        _here.failed = e
    _here.info = info


def fetch_in_worker(fetch: Fetcher, worker: int, request: BatchRequest) -> Any:
    """Fetch a batch in the thread of its worker."""
    if (e := _here.failed) is not None:
        problem = f"worker_init_fn({worker}) raised {type(e).__name__}: {e}"
        raise FlambeauError(f"DataLoader: {problem}: the worker has stopped: fix this error") from e
    return fetch(worker, request.items)
