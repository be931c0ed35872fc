"""Writes events to files and other loggers. A logger that fails warns once and never stops the run."""

import csv
import json
import os
import time
import warnings
from math import inf
from pathlib import Path
from typing import Any

from ..core.files import write_whole
from .events import EpochEnded, Event, Progress, RunStarted, Values
from .page import render_page
from .run_view import RunState
from .runs import EVENTS
from .tensorboard import EventFile, scalars, session_start

HOLD = 0.25  # seconds for which values and progress are collected before they are written
AGAIN = 60.0  # seconds after which a logger that failed is tried again
SHARE = 0.005  # the largest share of the time for writing pages
PER_SECOND = 100  # the most steps per second passed on to slow loggers
ENCODE = json.JSONEncoder(check_circular=False).encode
COLUMNS = ("step", "epoch", "split", "of", "name", "value")


class Logger:
    """A logger: `write` takes events. `start` opens its files for a run, `end` closes them.

    Values and progress are buffered for a quarter of a second, which cuts their cost to a third. Other
    events are written at once, after the buffered ones, so that a checkpoint's file never precedes its
    values.
    """

    def __init__(self):
        self.warned, self.rest = False, -inf  # time.monotonic() before which no write is tried again
        self.held: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.held.append(event)
        waited = event.at - self.held[0].at  # negative if the clock was set back
        if isinstance(event, Values | Progress) and 0 <= waited < HOLD:
            return
        # Other events end the wait, after the values that precede them.
        events, self.held = self.held, []
        # After a failure the events of the next AGAIN seconds are dropped, so that a slow failure costs
        # little.
        if time.monotonic() < self.rest:
            return
        try:
            if isinstance(event, RunStarted):
                self.start(event)
            self.write(events)
            if event.kind == "run_ended":
                self.end()
        except Exception as e:  # a logging error must not end the training
            self.rest = time.monotonic() + AGAIN
            self.warn(e)

    def warn(self, error: Exception) -> None:
        """Report an error once."""
        if not self.warned:
            self.warned = True
            reason = f"{type(error).__name__}: {error}"
            rule = f"the run continues, and the logger retries every {AGAIN:.0f} s"
            warnings.warn(f"{type(self).__name__}: an event was not logged: {reason}: {rule}", stacklevel=3)

    def start(self, event: RunStarted) -> None:
        pass

    def write(self, events: list[Event]) -> None:
        raise NotImplementedError

    def end(self) -> None:
        pass


def in_folder(path: str | Path | None, event: RunStarted, name: str) -> Path:
    """Return the path, or `name` in the run's folder if it is None."""
    if path is None and not event.directory:
        raise ValueError("the run has no directory: pass directory= to Learner, or a path to the logger")
    file = Path(path) if path is not None else Path(event.directory) / name
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


class JSONL(Logger):
    """Writes each event as a line of JSON, as `Event.to_dict` returns it. `flambeau runs` reads these files.

    path: the file to append to; None for events.jsonl in the run's directory.
    """

    def __init__(self, path: str | Path | None = None):
        super().__init__()
        self.path, self.file = path, -1
        self.is_torn = False  # the last line may be incomplete

    def start(self, event: RunStarted) -> None:
        self.end()
        path = in_folder(self.path, event, EVENTS)
        self.is_torn = path.exists() and path.stat().st_size > 0 and path.read_bytes()[-1:] != b"\n"
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)

    def write(self, events: list[Event]) -> None:
        if self.file < 0:
            return
        lines = [ENCODE({"kind": e.kind, **vars(e)}) + "\n" for e in events]  # to_dict copies each list
        data = "".join(["\n" if self.is_torn else "", *lines]).encode()
        self.is_torn = True
        # A single write, so that a full disk rarely leaves a part of a line.
        self.is_torn = os.write(self.file, data) < len(data)

    def end(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


class CSV(Logger):
    """Writes a row per value: step, epoch, split, of ("step" or "epoch"), name, value.

    path: the file; None for metrics.csv in the run's directory. A resumed run replaces the rows after its
    step.
    """

    def __init__(self, path: str | Path | None = None):
        super().__init__()
        self.path, self.file = path, None
        self.ended: set[tuple[str, ...]] = set()  # the last epoch's rows that the file already has

    def start(self, event: RunStarted) -> None:
        self.end()
        path = in_folder(self.path, event, "metrics.csv")
        earlier_rows = rows_until(path, event.step) if event.resumed else []
        last = (row for row in earlier_rows if row[0] == str(event.step) and row[2] != "test")
        self.ended = {tuple(row[:5]) for row in last}  # a run killed in its validation ends the epoch again
        # Written beside and renamed: a crash must not lose the earlier rows.
        part = path.with_suffix(".part")
        with open(part, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([COLUMNS, *earlier_rows])
        os.replace(part, path)
        self.file = open(path, "a", newline="", encoding="utf-8")  # noqa: SIM115 - as long as the run
        self.rows = csv.writer(self.file)

    def write(self, events: list[Event]) -> None:
        if self.file is None:
            return
        for event in events:
            self.add(event)
        self.file.flush()

    def add(self, event: Event) -> None:
        """Add the rows of an event."""
        if isinstance(event, Values):
            for name, values in event.values.items():
                self.rows.writerows(
                    (s, event.epoch, event.split, "step", name, v) for s, v in zip(event.steps, values)
                )
        elif isinstance(event, EpochEnded):
            head = str(event.step), str(event.epoch), event.split, "epoch"
            rows = [(*head, name, value) for name, value in event.metrics.items()]
            self.rows.writerows(row for row in rows if row[:5] not in self.ended)

    def end(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None


def rows_until(path: Path, step: int) -> list[list[str]]:
    """Read the complete rows of a CSV file up to a step, without the header."""
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return [row for row in rows if len(row) == len(COLUMNS) and row[0].isdigit() and int(row[0]) <= step]


class ThinnedLogger(Logger):
    """A logger of at most PER_SECOND evenly spaced steps per second."""

    def __init__(self):
        super().__init__()
        self.since, self.allowed = -inf, 0.0  # time of the last event, steps that may still be logged

    def choose_steps(self, event: Values) -> list[tuple[int, dict[str, float]]]:
        """Return (step, values by name) of evenly spaced steps of an event, including the last, as many as
        the time since the previous event allows."""
        # A token bucket of one second. The first event fills it, because `since` is -inf.
        self.allowed = min(self.allowed + PER_SECOND * (event.at - self.since), PER_SECOND)
        self.since, n = event.at, len(event.steps)
        most = min(n, int(self.allowed + 1e-6))  # in floats, ten times 0.01 is not 0.1
        self.allowed -= most
        chosen = [(i + 1) * n // most - 1 for i in range(most)]
        return [(event.steps[i], {name: v[i] for name, v in event.values.items()}) for i in chosen]

    def values_of(self, event: Event) -> list[tuple[int, dict[str, float]]]:
        """Return (step, values by tag) of an event's chosen steps or epoch."""
        if isinstance(event, Values):
            return [(step, add_tags(event.split, values)) for step, values in self.choose_steps(event)]
        if isinstance(event, EpochEnded):
            return [(event.step, add_tags(f"epoch/{event.split}", event.metrics))]
        return []


def add_tags(split: str, values: dict[str, float]) -> dict[str, float]:
    return {f"{split}/{name}": value for name, value in values.items()}


class TensorBoard(ThinnedLogger):
    """Writes TensorBoard's event files: `train/loss` of steps, `epoch/valid/loss` of epochs.

    path: the folder; None for tensorboard in the run's directory. At most 100 steps per second are written
    (TensorBoard shows 1,000 points of a curve); JSONL has all of them.
    """

    def __init__(self, path: str | Path | None = None):
        super().__init__()
        self.path, self.file = path, None

    def start(self, event: RunStarted) -> None:
        self.end()
        self.file = EventFile(in_folder(self.path, event, "tensorboard"))
        # A killed run may have written later steps than its checkpoint has.
        if event.resumed:
            self.file.write(session_start(event.at, event.step + 1))

    def write(self, events: list[Event]) -> None:
        if self.file is not None:
            self.file.write(
                *(scalars(e.at, step, values) for e in events for step, values in self.values_of(e))
            )

    def end(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None


class LogCalls(ThinnedLogger):
    """Logs a run to an object with wandb's methods: `log(dict, step=)`, and `finish()` at the end.

    run: the object, such as wandb.init() returns; its `config` is updated if it has one. Names are as in
    TensorBoard's files; at most 100 steps per second are logged.
    """

    def __init__(self, run: Any):
        super().__init__()
        self.run = run

    def start(self, event: RunStarted) -> None:
        if hasattr(self.run, "config"):
            self.run.config.update(event.config)

    def write(self, events: list[Event]) -> None:
        for event in events:
            for step, values in self.values_of(event):
                self.run.log(values, step=step)

    def end(self) -> None:
        self.run.finish()


class Page(Logger):
    """Writes an HTML page that reloads itself: the curves, values and log of the run.

    path: the file; None for run.html in the run's directory. every: the least seconds between two writes,
    which take at most 0.5% of the time; the start and the end of a run are always written. Writes are atomic,
    and the last page does not reload. ValueError for seconds that are not positive.
    """

    def __init__(self, path: str | Path | None = None, *, every: float = 2.0):
        super().__init__()
        if not 0 < every < inf:
            raise ValueError(
                f"Page(every={every}): must be a finite number of seconds above 0: pass another value"
            )
        self.path, self.every = path, every
        self.state, self.file = RunState(), None
        self.next = -inf  # time.monotonic() of the next write

    def __call__(self, event: Event) -> None:
        self.state.take(event)  # also while writes fail
        super().__call__(event)

    def start(self, event: RunStarted) -> None:
        self.file = in_folder(self.path, event, "run.html")
        self.next = -inf

    def write(self, events: list[Event]) -> None:
        is_over, begin = events[-1].kind == "run_ended", time.monotonic()
        if self.file is None or (begin < self.next and not is_over):
            return
        text = render_page(self.state, None if is_over else self.every).encode("utf-8")
        write_whole(self.file, lambda part: part.write_bytes(text))
        now = time.monotonic()
        self.next = now + max(self.every, (now - begin) / SHARE)
