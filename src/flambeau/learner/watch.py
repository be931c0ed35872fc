"""Measures an epoch: its progress, and the time it waited."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from ..core.events import UNREPLAYED
from ..data.dataset import SPENT
from ..device import Device
from ..functions import memory
from .events import EpochStarted, Event, Progress, Split
from .nan_report import NotFinite
from .steps import PlacedBatch

OVER: Any = object()  # sentinel after the last batch
PACE = 0.1  # the least seconds between two Progress events


def length(loader: Any) -> int | None:
    """Return the number of batches of a loader; None if it has no length."""
    try:
        return len(loader)
    except TypeError:
        return None


def rest_of(loader: Any, index: int) -> Iterable[Any]:
    """Iterate the batches of an epoch from number `index` on. A loader with a state is already at this
    position."""
    return loader if hasattr(loader, "load_state_dict") else islice(loader, index, None)


class EpochWatch:
    """Measures an epoch of a split: `batches` yields the loader's batches and times them.

    index: batches that the epoch had already yielded. device: its memory and waits are reported.
    """

    def __init__(self, split: Split, epoch: int, loader: Any, device: Device, index: int = 0):
        self.split: Split = split
        self.epoch, self.of, self.device = epoch, length(loader), device
        self.index, self.at, self.items = index, index, 0  # batches yielded, the current batch, items yielded
        self.is_over = False  # the loader has yielded its last batch
        self.data = 0.0  # seconds of waiting for batches
        self.begin = self.reported = time.perf_counter()
        # seconds for which submissions waited for the device so far; the NumPy device does not count them
        self._paced = getattr(device, "paced", 0.0)
        self._spent, self._unreplayed = SPENT.copy(), UNREPLAYED.copy()

    def started(self, of: int) -> EpochStarted:
        """Return the event of the epoch's start; `of` is the number of epochs."""
        return EpochStarted(self.split, self.epoch, of, self.of)

    def batches(self, loader: Iterable[Any], place: Callable[[Any], PlacedBatch]) -> Iterator[PlacedBatch]:
        """Yield the loader's batches on the device, and measure the time of the loader."""
        batches = iter(loader)
        while True:
            begin, self.at = time.perf_counter(), self.index
            batch = next(batches, OVER)
            self.data += time.perf_counter() - begin
            if batch is OVER:
                self.is_over = True
                return
            self.index += 1
            placed = place(batch)
            self.items += placed.items
            yield placed

    def note(self, e: BaseException) -> None:
        """Add the number of the batch to an exception."""
        if isinstance(e, Exception) and not isinstance(e, NotFinite):  # NotFinite names the batch itself
            e.add_note(f"fit: {self.split} epoch {self.epoch + 1}: raised by batch {self.at}")

    @contextmanager
    def naming(self) -> Generator[None]:
        """Add the number of the batch to exceptions of this block."""
        try:
            yield
        except Exception as e:
            self.note(e)
            raise

    def seconds(self) -> float:
        """Return the seconds since the epoch's start."""
        return time.perf_counter() - self.begin

    def progress(self, step: int, read: float, emit: Callable[[Event], Any]) -> None:
        """Emit the progress, at most every PACE seconds. read: seconds spent in reads."""
        now = time.perf_counter()
        if now - self.reported < PACE:
            return
        self.reported, seconds = now, now - self.begin
        gpu = getattr(self.device, "paced", 0.0) - self._paced
        # The rest is Python's share. Clocks of several threads may overlap, hence the bound.
        host = max(0.0, seconds - self.data - gpu - read)
        spent = {name: s - self._spent.get(name, 0.0) for name, s in SPENT.copy().items()}
        waits = {"data": self.data, "gpu": gpu, "read": read, **self._parts_of(host)}
        waits |= {name: s for name, s in spent.items() if s > 0}
        live = memory(self.device)["live"]
        emit(Progress(self.split, self.epoch, self.index, self.of, step, self.items, seconds, waits, live))

    def _parts_of(self, host: float) -> dict[str, float]:
        """Split Python's seconds by what it did: it recorded calls, ran unrecorded ones, or did the rest."""
        parts = {"host": host}
        for cause, seconds in UNREPLAYED.items():
            # a recorded call may hold unrecorded ones, and waits for the device that are counted elsewhere
            parts[cause] = min(seconds - self._unreplayed[cause], parts["host"])
            parts["host"] -= parts[cause]
        return parts
