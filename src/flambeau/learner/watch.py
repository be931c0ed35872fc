"""Batches of an epoch into events: how far it is, what it waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..functions import memory
from .events import EpochStarted, Event, Progress, Split
from .nan_report import NotFinite
from .steps import PlacedBatch

OVER: Any = object()  # what comes after the last batch
PACE = 0.1  # seconds between two of Progress, at least


def length(loader: Any) -> int | None:
    """How many batches a loader has, where it says so."""
    try:
        return len(loader)
    except TypeError:
        return None


class EpochWatch:
    """An epoch of a split as it is gone through: `batches` gives the loader's, and the time that takes.

    index: how many were given before. device: whose memory and waits are told.
    """

    def __init__(self, split: Split, epoch: int, loader: Any, device: Any, index: int = 0):
        self.split: Split = split
        self.epoch, self.of, self.device = epoch, length(loader), device
        self.index, self.at, self.items = index, index, 0  # batches given, number of this one, items
        self.data = 0.0  # seconds in which a batch was waited for
        self.began = self.told = time.perf_counter()
        self._paced = getattr(device, "paced", 0.0)

    def started(self, of: int) -> EpochStarted:
        """That it begins; `of` is how many epochs there are."""
        return EpochStarted(self.split, self.epoch, of, self.of)

    def batches(self, fetched: Iterable[Any]) -> Iterator[Any]:
        """The loader's batches, timed."""
        batches = iter(fetched)
        while True:
            asked, self.at = time.perf_counter(), self.index
            batch = next(batches, OVER)
            self.data += time.perf_counter() - asked
            if batch is OVER:
                return
            self.index += 1
            yield batch

    def counted(self, batch: PlacedBatch) -> PlacedBatch:
        """A batch, whose items are counted."""
        self.items += batch.items
        return batch

    @contextmanager
    def naming(self) -> Iterator[None]:
        """What is raised in this block is told the number of the batch."""
        try:
            yield
        except NotFinite:  # it says which
            raise
        except Exception as e:
            e.add_note(f"fit: {self.split} epoch {self.epoch + 1}: batch {self.at} raised this")
            raise

    def seconds(self) -> float:
        """How long it has taken."""
        return time.perf_counter() - self.began

    def progress(self, step: int, read: float, tell: Callable[[Event], Any]) -> None:
        """Tell how far it is, unless that was told just now; `read` are seconds that reads waited."""
        now = time.perf_counter()
        if now - self.told < PACE:
            return
        self.told, seconds = now, now - self.began
        gpu = getattr(self.device, "paced", 0.0) - self._paced
        host = max(0.0, seconds - self.data - gpu - read)
        waits = {"data": self.data, "host": host, "gpu": gpu, "read": read}
        live = memory(self.device)["live"]
        tell(Progress(self.split, self.epoch, self.index, self.of, step, self.items, seconds, waits, live))
