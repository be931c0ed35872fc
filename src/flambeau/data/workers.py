"""Workers: threads that fetch batches ahead, in order, each with a number of its own."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from flambeau.errors import FlambeauError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


class WorkerInfo(NamedTuple):
    """Which worker this thread is: its number `id` of `num_workers`, its seed, the loader's dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_here = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """What worker of a DataLoader this thread is; None outside of any."""
    return getattr(_here, "info", None)


class Workers:
    """Threads that each fetch every n-th batch.

    Threads and not processes: what takes time in loading (NumPy, Pillow, zlib, SQLite, files) lets go of the
    interpreter meanwhile, nothing is pickled, and a forked process could not go on with a GPU that is open.
    """

    def __init__(self, infos: list[WorkerInfo], begin: Callable[[int], None] | None, timeout: float):
        from concurrent.futures import ThreadPoolExecutor

        self.timeout, self.process = timeout, os.getpid()
        self.threads: list[ThreadPoolExecutor] = []
        for info in infos:
            name = f"flambeau-data-{info.id}"
            self.threads.append(ThreadPoolExecutor(1, name, _begin, (info, begin)))

    def ahead(self, fetch: Callable[[int, Any], Any], batches: Iterator[Any], most: int) -> Iterator[Any]:
        """Yield `fetch(worker, batch)` in order; at most `most` batches are fetched before the loop that
        reads."""
        numbers = count()
        waiting: deque[tuple[Any, Future]] = deque()

        def more(n: int) -> None:
            for batch in islice(batches, n):
                worker = next(numbers) % len(self.threads)
                waiting.append((batch, self.threads[worker].submit(_fetched, fetch, worker, batch)))

        more(most)
        while waiting:
            if os.getpid() != self.process:  # it would wait for ever
                rule = "an epoch that began before a fork can't go on behind it: its thread is not there"
                raise FlambeauError(f"DataLoader: {rule}: begin a new one, or start the process by 'spawn'")
            batch, future = waiting.popleft()
            ready = self._result(batch, future)
            more(1)
            yield ready

    def _result(self, batch: Any, future: Future) -> Any:
        try:
            return future.result(self.timeout or None)
        except TimeoutError:
            if future.done():  # the dataset's own
                raise
            what = f"items {[int(i) for i in batch]}" if batch is not None else "a batch"
            rule = f"took more than {self.timeout:g} s: give a longer timeout, or look at these items"
            raise FlambeauError(f"DataLoader: {what} {rule}") from None
        except SystemExit as e:  # it would end the process without a word
            rule = f"it ended by SystemExit({e.code!r}): raise another error"
            raise FlambeauError(f"DataLoader: a worker is dead: {rule}") from e

    def end(self) -> None:
        """Let the threads go, when they are done with what they are at."""
        for thread in self.threads:
            thread.shutdown(wait=self.timeout == 0, cancel_futures=True)


def _begin(info: WorkerInfo, begin: Callable[[int], None] | None) -> None:
    _here.info, _here.failed = info, None
    try:
        if begin is not None:
            begin(info.id)
    except BaseException as e:  # raised in the loop that reads: a thread would only print it
        _here.failed = e


def _fetched(fetch: Callable[[int, Any], Any], worker: int, batch: Any) -> Any:
    if (e := _here.failed) is not None:
        told = f"worker_init_fn({worker}) raised {type(e).__name__}: {e}"
        raise FlambeauError(f"DataLoader: {told}: the worker is dead: mend that") from e
    return fetch(worker, batch)
