"""Reads the losses of several steps together and some steps later: training never waits for the device."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

from ..core.tree import is_dict, is_sequence
from ..errors import FlambeauError
from ..functions import Reading, read
from ..nn.parameter import has_lazy
from ..ops.random import get_rng_state
from ..tensor import Tensor
from .events import Event, Values

KEPT_STEPS = 64  # steps between two copies of the state
STEPS, SECONDS = 16, 0.5  # a read begins after this many steps, or seconds
BATCHES = 64 << 20  # the most bytes of batches kept until their losses are read
REWIND = 64 << 20  # the most bytes of parameters and state that are copied


@dataclass(frozen=True, slots=True)
class Entry:
    """A step whose loss is unread, with everything needed to repeat it."""

    step: int
    index: int  # the number of its batch in the epoch
    loss: Tensor
    rates: list[float]  # learning rates, one per parameter group
    batches: list[Any]


class KeptState(NamedTuple):
    """The state before the first step of a Rewind."""

    model: dict[str, Tensor]
    optimizer: dict[str, Any]
    random: tuple[int, int]  # (seed, position) of flambeau's generator


class Rewind:
    """A copy of the state, if it is small enough, and the steps taken since: they can be repeated."""

    def __init__(self, kept: KeptState | None):
        self.kept, self.nbytes = kept, 0  # `nbytes` of the entries' batches
        self.entries: list[Entry] = []

    def add(self, entry: Entry) -> None:
        """Add a step."""
        self.entries.append(entry)
        self.nbytes += sum(nbytes_of(batch) for batch in entry.batches)

    @property
    def is_full(self) -> bool:
        """Whether the state should be copied again."""
        return len(self.entries) >= KEPT_STEPS or self.nbytes >= BATCHES or self.kept is None


class ReadWindow:
    """Steps whose losses are read together. `first` is the number of its first step in the Rewind."""

    def __init__(self, rewind: Rewind):
        self.rewind, self.first = rewind, len(rewind.entries)
        self.losses: list[Tensor] = []
        self.begin = time.perf_counter()
        self.values: Reading | None = None

    @property
    def entries(self) -> list[Entry]:
        """The steps of this window."""
        return self.rewind.entries[self.first :][: len(self.losses)]

    def add(self, entry: Entry) -> None:
        """Add a step."""
        self.rewind.add(entry)
        self.losses.append(entry.loss)

    @property
    def is_full(self) -> bool:
        """Whether its losses should be read."""
        # SECONDS bounds the delay of the dashboard for slow steps, STEPS the number of kept losses for fast
        # ones, BATCHES the memory of kept batches.
        late = time.perf_counter() - self.begin >= SECONDS
        return late or len(self.losses) >= STEPS or self.rewind.nbytes >= BATCHES


def nbytes_of(value: Any) -> int:
    """Return the bytes of the tensors in a batch."""
    if isinstance(value, Tensor):
        return value.nbytes
    parts = value.values() if is_dict(value) else value if is_sequence(value) else ()
    return sum(map(nbytes_of, parts))


class Losses:
    """The losses of an epoch. Those of a window are read while the next window runs.

    keep: copies the state, or returns None. emit: receives events. error_of: returns the exception
    for a step whose loss is not finite.
    """

    def __init__(
        self,
        keep: Callable[[], KeptState | None],
        emit: Callable[[Event], Any],
        error_of: Callable[[ReadWindow, int, float, int], FlambeauError],
        epoch: int,
    ):
        self.epoch, self.keep, self.emit, self.error_of = epoch, keep, emit, error_of
        self.open = ReadWindow(Rewind(keep()))
        self.reading: ReadWindow | None = None
        self.waited = 0.0  # seconds spent in reads

    @property
    def unread(self) -> list[Tensor]:
        """Return the losses not yet known to be finite."""
        return [*(self.reading.losses if self.reading is not None else ()), *self.open.losses]

    def add(self, entry: Entry) -> None:
        """Add the loss of a step; FlambeauError if an earlier one is not finite."""
        self.open.add(entry)
        if self.open.is_full:
            self._settle()
            # Only submits the copies; `_settle` waits for them when the next window is full, so at most two
            # windows are open.
            self.open.values = read(*self.open.losses)
            self.reading, rewind = self.open, self.open.rewind
            if rewind.is_full:
                rewind = Rewind(self.keep())
            self.open = ReadWindow(rewind)

    def finish(self) -> None:
        """Read the remaining losses."""
        self._settle()
        if self.open.losses:
            self.open.values = read(*self.open.losses)
            # No further step follows in this epoch, so no state is copied.
            self.reading, self.open = self.open, ReadWindow(Rewind(None))
            self._settle()

    def _settle(self) -> None:
        if self.reading is None or self.reading.values is None:
            return
        begin = time.perf_counter()
        losses = [float(v) for v in self.reading.values]
        self.waited += time.perf_counter() - begin
        window, self.reading = self.reading, None
        for i, loss in enumerate(losses):
            # The first bad loss is the cause of all later ones.
            if not isfinite(loss):
                raise self.error_of(window, i, loss, self.epoch)
        entries = window.entries
        by_group = enumerate(zip(*(e.rates for e in entries), strict=True))
        rates = {f"lr{i or ''}": list(group) for i, group in by_group}
        # The step count includes this step: a run resumed at step n has the losses up to n.
        steps = [e.step + 1 for e in entries]
        self.emit(Values("train", self.epoch, steps, {"loss": losses, **rates}))


def keep_current(model: Any, optimizer: Any) -> KeptState:
    """Keep the current state. A tensor is copied only when a step updates it (copy on write)."""
    return KeptState(model.state_dict(), optimizer.state_dict(), get_rng_state())


class StateKeeper:
    """Keeps the state of a model and an optimiser at each call; None if it is too large, or as long as a
    lazy layer has no sizes."""

    def __init__(self, model: Any, optimizer: Any):
        self.model, self.optimizer = model, optimizer
        self.is_small: bool | None = None  # None: the sizes are not known yet

    def __call__(self) -> KeptState | None:
        if self.is_small is None and not has_lazy(self.model):
            self.is_small = may_rewind(self.model, self.optimizer)
        return keep_current(self.model, self.optimizer) if self.is_small else None


def may_rewind(model: Any, optimizer: Any) -> bool:
    """Whether the state is small enough to keep copies of it."""
    state = optimizer.state_dict()["state"]
    nbytes = sum(t.nbytes for t in model.state_dict(keep_vars=True).values())
    # A copy on write doubles the memory of weights and optimiser state, hence the limit.
    return nbytes + sum(nbytes_of(s) for s in state.values()) <= REWIND
