"""Shows a run's progress: a rich bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from typing import Any

PLAIN_EVERY = 5.0  # seconds between plain lines of a phase


class ProgressLine:
    """A line with the phase, speed, loss, accuracy and memory of a run. Use it as a context manager."""

    def __init__(self, stream: Any = None):
        self.stream = stream or sys.stdout
        self.name, self.total, self.done, self.numbers = "", 0, 0, ""
        self.start = self.last = time.perf_counter()
        self.bar: Any = None

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.stop()

    def phase(self, name: str, total: int = 1) -> None:
        """Begin another phase of `total` steps. The speed is measured from here."""
        self.name, self.total, self.done = name, total, 0
        self.start = self.last = time.perf_counter()
        if self.stream.isatty():
            self._begin_bar()
            self.bar.reset(self.task, total=max(total, 1), description=name, numbers=self.numbers)

    def _begin_bar(self) -> None:
        """Show the bar when the first phase begins."""
        if self.bar is not None:
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.bar = Progress(
            TextColumn("{task.description:<9}"),
            BarColumn(),
            TextColumn("{task.completed:g}/{task.total:g} {task.fields[numbers]}"),
            TimeRemainingColumn(),
        )
        self.bar.start()
        self.task = self.bar.add_task("", total=1, numbers="")

    def update(self, done: int, numbers: str = "") -> None:
        """Show that `done` steps of the phase are complete, with the run's numbers."""
        self.done, now = done, time.perf_counter()
        rate = f"{done / max(now - self.start, 1e-9):6.1f} it/s" if self.total > 1 else " " * 11
        self.numbers = numbers or self.numbers
        if self.bar is not None:
            self.bar.update(self.task, completed=done, numbers=f"{rate}  {self.numbers}")
        # A log file gets a line every 5 seconds, and one at the end of each phase.
        elif now - self.last >= PLAIN_EVERY or done == self.total:
            self.last = now
            print(
                f"{self.name:<9} {done}/{self.total}  {rate}  {numbers}".rstrip(),
                file=self.stream,
                flush=True,
            )


@contextmanager
def steps(total: int, stream: Any = None) -> Generator[Callable[[str], None]]:
    """Yield a function to call with each step's name as it begins. On a terminal it advances a bar, which is
    erased at the end; elsewhere it does nothing."""
    stream = stream or sys.stdout
    if not stream.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=stream), transient=True) as bar:
        task, done = bar.add_task("", total=total), count()
        yield lambda name: bar.update(task, description=name, completed=next(done), refresh=True)
