"""Computes the content of a dashboard from the events of a run, without a clock or files."""

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .curve import Curve, Points
from .events import EpochEnded, EpochStarted, Event, Message, Progress, RunEnded, RunStarted, Saved, Values

WINDOW = 10.0  # seconds over which speed and waits are measured
LOG = 200  # lines kept of the log


class RunState:
    """The state of a run after its events so far; `take` adds an event."""

    def __init__(self):
        self.started: RunStarted | None = None
        self.ended: RunEnded | None = None
        self.saved: Saved | None = None
        self.epoch: EpochStarted | None = None
        self.progress: Progress | None = None
        self.begin = self.at = 0.0  # times of the first event and of the last
        self.step = 0
        self.unfolded: deque[Values] = deque()  # events that are not yet in the curves
        self.folded: dict[tuple[str, str], Curve] = {}
        self.epochs: dict[tuple[str, str], Curve] = {}  # (name, split): metrics of whole epochs
        self.seconds: dict[str, float] = {}  # split: seconds of its last epoch
        self.memory = self.most_memory = 0
        self.log: deque[tuple[float, str, str]] = deque(maxlen=LOG)  # (at, level, text)
        self.windows: dict[str, deque[Progress]] = {}  # by split: the progress of the last seconds
        self.first: tuple[float, float] | None = None  # (at, fraction done) of this session's first progress
        # The end and the begin of the session before: a session without an epoch keeps them.
        self.before: tuple[RunEnded | None, float] = None, 0.0
        self.has_epoch = False  # whether this session began an epoch

    def take(self, event: Event) -> None:
        """Add one event. An event of an unknown kind changes only the time."""
        self.begin = self.begin or event.at
        self.at = max(self.at, event.at)
        take = getattr(self, f"take_{event.kind}", None)
        if take is not None:
            take(event)

    def take_all(self, events: Iterable[Event]) -> "RunState":
        """Add events, and return self."""
        for event in events:
            self.take(event)
        return self

    def take_run_started(self, e: RunStarted) -> None:
        if self.started is not None and not e.resumed:
            self.__init__()  # another run in the same file
        self.before = (self.ended, self.begin) if e.resumed else (None, 0.0)
        self.has_epoch = False
        self.started, self.ended, self.begin, self.at = e, None, e.at, e.at
        self.step = e.step
        for curve in (*self.curves.values(), *self.epochs.values()):
            # A resumed run repeats the steps after its checkpoint.
            curve.cut(e.step)
        self.windows.clear()
        self.first = None

    def take_epoch_started(self, e: EpochStarted) -> None:
        # The windows stay, so that the last speed of a split is shown until new progress.
        self.epoch, self.progress, self.has_epoch = e, None, True

    def take_progress(self, e: Progress) -> None:
        self.progress, self.step = e, max(self.step, e.step)
        self.memory, self.most_memory = e.memory, max(e.memory, self.most_memory)
        window = self.windows.setdefault(e.split, deque())
        if window and window[-1].epoch != e.epoch:
            window.clear()
        window.append(e)
        # At least two stay, so that slow steps have a rate too.
        while len(window) > 2 and e.seconds - window[0].seconds > WINDOW:
            window.popleft()
        if self.first is None:
            self.first = e.at, self.done

    def take_values(self, e: Values) -> None:
        self.unfolded.append(e)
        if e.split == "train" and e.steps:
            self.step = max(self.step, e.steps[-1])

    def take_epoch_ended(self, e: EpochEnded) -> None:
        self.seconds[e.split] = e.seconds
        for name, value in e.metrics.items():
            curve = self.epochs.setdefault((name, e.split), Curve())
            curve.cut(e.step - 1)  # a run that was killed in its validation ends the same epoch twice
            curve.add(e.step, value)

    def take_saved(self, e: Saved) -> None:
        self.saved = e

    def take_message(self, e: Message) -> None:
        self.log.append((e.at, e.level, e.text))

    def take_run_ended(self, e: RunEnded) -> None:
        ended, begin = self.before
        if ended is not None and not self.has_epoch:  # the run was complete already
            self.ended, self.begin, self.at = ended, begin, ended.at
            return
        self.ended, self.step = e, max(self.step, e.step)

    # --- queries ---

    @property
    def curves(self) -> dict[tuple[str, str], Curve]:
        """Return the curves of single steps by (name, split)."""
        # Only when the dashboard draws: at a thousand steps per second, events arrive more often.
        while self.unfolded:
            e = self.unfolded.popleft()
            for name, values in e.values.items():
                self.folded.setdefault((name, e.split), Curve()).extend(e.steps, values)
        return self.folded

    @property
    def name(self) -> str:
        return self.started.run if self.started else ""

    @property
    def names(self) -> list[str]:
        """Return the names of the metrics, losses first, else in the order of their first values."""
        names = dict.fromkeys(name for name, _ in [*self.curves, *self.epochs])
        return sorted(names, key=lambda name: "loss" not in name)

    @property
    def splits(self) -> list[str]:
        splits = {split for _, split in [*self.curves, *self.epochs]}
        return [s for s in ("train", "valid", "test") if s in splits]

    def points(self, name: str, split: str, recent: bool = False) -> Points:
        """Return a curve to draw: for training of its steps, for other splits of epochs if it has any."""
        key = name, split
        order = (self.curves, self.epochs) if split == "train" else (self.epochs, self.curves)
        curve = next((c[key] for c in order if key in c), None)
        return [] if curve is None else list(curve.recent) if recent else curve.all_points()

    def last(self, name: str, split: str) -> float | None:
        """Return the newest value of an epoch or a step; None without values."""
        curves = [c[name, split] for c in (self.epochs, self.curves) if (name, split) in c]
        newest = max((c for c in curves if c.recent), key=lambda c: c.recent[-1][0], default=None)
        return newest.last if newest else None

    @property
    def part(self) -> float:
        """Return the completed fraction of the current epoch, 0 to 1."""
        p = self.progress
        total = (p.of if p else None) or (self.epoch.steps if self.epoch else None)
        return min(p.index / total, 1.0) if p and total else 0.0

    @property
    def done(self) -> float:
        """Return the completed fraction of the run, 0 to 1, without validation."""
        if self.ended and self.ended.reason == "done":
            return 1.0
        if not self.started or not self.started.epochs or not self.epoch:
            return 0.0
        # Validation follows the training of its epoch.
        part = self.part if self.epoch.split == "train" else 1.0
        return min((self.epoch.epoch + part) / self.started.epochs, 1.0)

    @property
    def elapsed(self) -> float:
        """Return the seconds from the start of this session to the last event."""
        return self.at - self.begin

    @property
    def left(self) -> float | None:
        """Estimate the remaining seconds of the run at this session's pace; None if unknown."""
        if self.ended:
            return 0.0
        # At the pace of this session: a resumed run did not compute the earlier fraction.
        if self.first is None or self.done <= self.first[1]:
            return None
        return (self.at - self.first[0]) / (self.done - self.first[1]) * (1 - self.done)

    def window_ends(self) -> tuple[Progress | None, Progress | None]:
        """Return the progress at both ends of the window; (None, last) if it holds at most one."""
        current = self.epoch or self.progress
        window = self.windows.get(current.split) if current else None
        window = window or max(self.windows.values(), key=lambda w: w[-1].at, default=None)
        if not window:
            return None, self.progress
        return (window[0] if len(window) > 1 else None), window[-1]

    def rate(self, of: str = "index") -> float | None:
        """Return the recent steps (`index`) or items (`items`) per second; None if unknown."""
        a, b = self.window_ends()
        if b is None:
            return None
        # Without a first point, the counts of `b` are those since the start of the epoch.
        done = getattr(b, of) - (getattr(a, of) if a else 0)
        seconds = b.seconds - (a.seconds if a else 0.0)
        return done / seconds if seconds > 0 else None

    def waits(self) -> dict[str, float]:
        """Return the recent fraction of the time that each cause took, 0 to 1."""
        a, b = self.window_ends()
        seconds = (b.seconds - (a.seconds if a else 0.0)) if b else 0.0
        if b is None or seconds <= 0:
            return {}
        before: dict[str, Any] = a.waits if a else {}
        return {c: min(max(s - before.get(c, 0.0), 0.0) / seconds, 1.0) for c, s in b.waits.items()}

    @property
    def folder(self) -> Path | None:
        return Path(self.started.directory) if self.started and self.started.directory else None
