"""Assigns the shards of a step: tabs compute the first ones, the training process the last."""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

import numpy as np

from .program import Floats

ENDING = "the training has ended"
WAIT = 0.25  # seconds between two looks at deadlines
FIRST = 6.0  # the first shard of a tab may take this many times the limit: its GPU compiles the kernels


class ShardTask(NamedTuple):
    """A shard of a step for a tab. data: its arrays' bytes. seed: of its random numbers."""

    step: int
    shard: int
    seed: int
    data: Callable[[], list[bytes]]


def _do_nothing(_: str) -> None:
    pass


@dataclass(eq=False)
class Tab:
    """A browser tab that takes part.

    name: its number, as "tab 1"
    adapter: the GPU that it names
    shards: how many of its results counted or were right
    seconds: that all its shards took
    is_checked: whether its first result was compared with our own
    version: the step whose weights it has
    waits: whether it waits for the check of its last result
    gone: why it left, or ""
    close: ends its connection, with the reason
    """

    name: str
    adapter: str = ""
    shards: int = 0
    seconds: float = 0.0  # of all its shards
    is_checked: bool = False
    version: int = 0
    waits: bool = False  # for the check of its last result
    gone: str = ""
    close: Callable[[str], None] = field(default=_do_nothing, repr=False)

    def end(self, why: str) -> None:
        """Close its connection, once."""
        close, self.close = self.close, _do_nothing
        close(why)

    @property
    def limit_factor(self) -> float:
        """How many times the limit its next shard may take."""
        return 1.0 if self.shards else FIRST


class Local(NamedTuple):
    """A shard to compute here. check: the tab whose result is compared with it, and that result."""

    shard: int
    check: tuple[Tab, Floats] | None


class ShardPool:
    """The shards of the current step. Tabs' threads call `take` and `give`, the training's `run`.

    limit: seconds that a tab may take for a shard. sample: the part of a checked tab's results that are
    compared with our own. differs: (result, reference) -> how they differ, or "".
    """

    def __init__(self, limit: float, sample: float, differs: Callable[[Floats, Floats], str]):
        self.limit, self.sample, self.differs = limit, sample, differs
        self.tabs: list[Tab] = []
        self.step, self.weights, self.is_closed = 0, b"", False
        self._changed = threading.Condition()
        self._tasks: Sequence[ShardTask] = ()
        self._pending: deque[int] = deque()
        self._taken: dict[int, tuple[Tab, float]] = {}  # shard -> its tab, and its deadline
        self._unchecked: deque[tuple[Tab, int, Floats]] = deque()
        self._results: dict[int, Floats] = {}
        self._random = random.Random()

    # --- the training's thread ---

    def run(
        self, tasks: Sequence[ShardTask], weights: Callable[[], bytes], compute: Callable[[int], Floats]
    ) -> list[Floats]:
        """Return the results of all tasks. compute: computes a shard here."""
        data = weights() if self.tabs else b""
        with self._changed:
            self.step, self.weights, self._tasks, self._results = tasks[0].step, data, tasks, {}
            self._pending, self._taken = deque(range(len(tasks))), {}
            self._changed.notify_all()
        while (job := self._next()) is not None:
            result = compute(job.shard)
            with self._changed:
                if job.check is not None:
                    self._compare(*job.check, result)
                self._results.setdefault(job.shard, result)
        return [self._results[s] for s in range(len(tasks))]

    def _next(self) -> Local | None:
        """The next shard to compute here, once there is one; None if all have results."""
        with self._changed:
            while True:
                self._dismiss_late()
                if self._unchecked:
                    tab, shard, result = self._unchecked.popleft()
                    return Local(shard, (tab, result))
                if self._pending:
                    return Local(self._pending.pop(), None)  # from the end: tabs take from the front
                if len(self._results) == len(self._tasks):
                    return None
                self._changed.wait(WAIT)

    def _compare(self, tab: Tab, result: Floats, reference: Floats) -> None:
        tab.waits = False
        self._changed.notify_all()
        if not np.isfinite(reference).all():
            return  # an error of the training, of which a tab's result says nothing
        difference = self.differs(result, reference)
        if difference:
            self._leave(tab, f"its result is wrong: {difference}")
            return
        tab.is_checked = True
        tab.shards += 1

    def lateness(self, tab: Tab) -> str:
        """The reason for dismissing a tab that sends no result."""
        return f"it took more than {self.limit * tab.limit_factor:g} s for a shard"

    def _dismiss_late(self) -> None:
        now = monotonic()
        for tab, deadline in list(self._taken.values()):
            if deadline < now:
                self._leave(tab, self.lateness(tab))

    def stop(self) -> None:
        """End the threads of all tabs."""
        with self._changed:
            self.is_closed = True
            for tab in list(self.tabs):
                self._leave(tab, ENDING)

    # --- the tabs' threads ---

    def join(self, tab: Tab) -> None:
        """Add a tab."""
        with self._changed:
            self.tabs.append(tab)

    def leave(self, tab: Tab, why: str) -> None:
        """Remove a tab. Its shards go to others."""
        with self._changed:
            self._leave(tab, why)

    def _leave(self, tab: Tab, why: str) -> None:
        if tab not in self.tabs:
            return
        self.tabs.remove(tab)
        tab.gone = why
        for shard in [s for s, (holder, _) in self._taken.items() if holder is tab]:
            del self._taken[shard]
            self._pending.append(shard)
        self._changed.notify_all()
        tab.end(why)

    def take(self, tab: Tab, timeout: float) -> tuple[ShardTask, bytes] | None:
        """A shard for a tab, and the weights if it has those of another step; None if none is left."""
        with self._changed:
            if not self._can_take(tab):
                self._changed.wait(timeout)
            # without weights: the step began before the first tab came
            if not self._can_take(tab) or not self.weights:
                return None
            shard = self._pending.popleft()
            self._taken[shard] = tab, monotonic() + self.limit * tab.limit_factor
            weights = b"" if tab.version == self.step else self.weights
            tab.version = self.step
            return self._tasks[shard], weights

    def _can_take(self, tab: Tab) -> bool:
        return bool(self._pending) and not self.is_closed and not tab.waits and tab in self.tabs

    def give(self, tab: Tab, task: ShardTask, result: Floats, seconds: float) -> None:
        """Take a tab's result. It counts at once, or after it was compared with our own."""
        with self._changed:
            if task.step != self.step or self._taken.get(task.shard, (None,))[0] is not tab:
                return  # another one has computed it
            del self._taken[task.shard]
            tab.seconds += seconds
            is_sampled = self._random.random() < self.sample
            if tab.is_checked and not is_sampled and np.isfinite(result).all():
                tab.shards += 1
                self._results[task.shard] = result
            else:
                tab.waits = True
                self._unchecked.append((tab, task.shard, result))
            self._changed.notify_all()
