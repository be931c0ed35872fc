"""Decides when a run is written to its directory, and reports finished checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..tensor import Tensor
from .checkpoints import Checkpoints
from .events import Event


class RunSnapshot(NamedTuple):
    """The content of a checkpoint, taken between two steps."""

    place: tuple[int, int]  # (epoch, step)
    state: dict[str, Any]
    losses: list[Tensor]  # unread; a state whose loss is not finite is not written


class Saving:
    """Writes a snapshot every `every` steps, after each epoch and at the end of a run.

    checkpoints: of the run's folder; None: nothing is written. snapshot: returns the current state. emit:
    receives events.
    """

    def __init__(
        self,
        checkpoints: Checkpoints | None,
        every: int | None,
        snapshot: Callable[[], RunSnapshot],
        emit: Callable[[Event], None],
    ):
        self.checkpoints, self.every, self.snapshot, self.emit = checkpoints, every, snapshot, emit
        self.is_due = False

    def after_step(self, step: int) -> None:
        """Save if `step` is a multiple of `every`; if a write still runs, save after a later step."""
        if self.checkpoints is None:
            return
        # A busy writer delays a checkpoint; training does not wait for the disk.
        if self.is_ready(step):
            self.save()
        self.report()

    def is_ready(self, step: int) -> bool:
        """Whether a checkpoint is due after `step` or was since the last one, and none is being written."""
        if self.checkpoints is None:
            return False
        self.is_due = self.is_due or (self.every is not None and step % self.every == 0)
        return self.is_due and not self.checkpoints.is_busy

    def save(self, is_best: bool = False) -> None:
        """Begin to write the current state of the run, with `is_best` also as the best one."""
        if self.checkpoints is not None:
            self.write(self.snapshot(), is_best)

    def write(self, snapshot: RunSnapshot, is_best: bool = False) -> None:
        """Begin to write a snapshot."""
        if self.checkpoints is not None:
            self.is_due = False
            self.checkpoints.begin(*snapshot, is_best)
            self.report()

    def finish(self) -> None:
        """Wait until all is written; FlambeauError if the newest checkpoint could not be written."""
        if self.checkpoints is not None:
            self.checkpoints.finish()

    def report(self, wait: bool = False) -> None:
        """Emit the events of checkpoints since the last report; with `wait`, after all are written."""
        if self.checkpoints is not None:
            if wait:
                self.checkpoints.wait()
            for event in self.checkpoints.new_events():
                self.emit(event)
