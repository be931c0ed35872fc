"""Progress of a run: a rich bar in a terminal, plain lines elsewhere."""

import sys
import time
from typing import Any

PLAIN_EVERY = 5.0  # seconds between plain lines


class Progress:
    """One line that says phase, speed, loss, accuracy and memory; use it as a context."""

    def __init__(self, total: int, stream: Any = None):
        self.total, self.done, self.phase = total, 0, "train"
        self.stream = stream or sys.stdout
        self.start = self.last = time.perf_counter()
        self.bar: Any = None

    def __enter__(self) -> "Progress":
        if self.stream.isatty():
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self.bar = Progress(
                TextColumn("{task.fields[phase]:<8}"),
                BarColumn(),
                TextColumn("{task.completed}/{task.total}  {task.fields[numbers]}"),
                TimeRemainingColumn(),
            )
            self.bar.start()
            self.task = self.bar.add_task("", total=self.total, phase=self.phase, numbers="")
        return self

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.stop()

    def update(self, done: int, loss: float, accuracy: float, memory: int) -> None:
        """Show where the run is: steps done, the latest loss, accuracy in 0..1, bytes in use."""
        self.done, now = done, time.perf_counter()
        rate = done / max(now - self.start, 1e-9)
        numbers = f"{rate:5.1f} it/s  loss {loss:.4f}  accuracy {accuracy:.4f}  {memory / 2**20:.1f} MB"
        if self.bar is not None:
            self.bar.update(self.task, completed=done, numbers=numbers)
        elif now - self.last >= PLAIN_EVERY or done == self.total:
            self.last = now
            print(f"{self.phase} {done}/{self.total}  {numbers}", file=self.stream, flush=True)
