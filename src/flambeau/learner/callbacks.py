"""Callbacks of a run: schedules, early stopping, and those of a user."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from ..errors import suggest
from ..optim.lr_scheduler import ReduceLROnPlateau
from .history import Row

if TYPE_CHECKING:
    from .learner import Learner


class Callback:
    """Called by a Learner: a subclass defines some of the methods. Its `state_dict` goes into checkpoints.

    `learner` has the model, the optimizer, `step`, `epoch`, `history`, and `stop`. Reading a tensor in
    `after_step` waits for the device. row: the epoch's metrics, an entry of `history`.
    """

    def begin(self, learner: Learner) -> None:
        """Called when a run begins or resumes."""

    def after_step(self, learner: Learner) -> None:
        """Called after a step was submitted to the device."""

    def after_epoch(self, learner: Learner, row: Row) -> None:
        """Called after an epoch's metrics were read, before its checkpoint is written."""

    def end(self, learner: Learner) -> None:
        """Called when the run ends, for whatever reason."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state that a resumed run needs."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""


class Scheduling(Callback):
    """Steps a scheduler after each "step" or "epoch" (`per`).

    ReduceLROnPlateau gets the value of `monitor` after each epoch, whatever `per` is.
    """

    def __init__(self, scheduler: Any, per: str, monitor: str):
        self.scheduler, self.per, self.monitor = scheduler, per, monitor
        self.follows = isinstance(scheduler, ReduceLROnPlateau)

    def after_step(self, learner: Learner) -> None:
        if self.per == "step" and not self.follows:
            self.scheduler.step()

    def after_epoch(self, learner: Learner, row: Row) -> None:
        if self.follows:
            self.scheduler.step(value_of(row, self.monitor, "scheduler"))
        elif self.per == "epoch":
            self.scheduler.step()

    def state_dict(self) -> dict[str, Any]:
        return self.scheduler.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.scheduler.load_state_dict(state_dict)


class Best(Callback):
    """Tracks the epoch with the best value of `monitor`, by more than `min_delta`, and the epochs since.
    NaN and infinity never count as the best value.

    higher: whether higher is better; None asks the metric. The run ends after `patience` epochs without
    improvement.
    """

    def __init__(
        self, monitor: str, higher: bool | None = None, min_delta: float = 0.0, patience: int | None = None
    ):
        self.monitor, self.higher, self.min_delta, self.patience = monitor, higher, min_delta, patience
        self.value: float | None = None
        self.since = 0  # epochs since the best one

    def after_epoch(self, learner: Learner, row: Row) -> None:
        value = value_of(row, self.monitor, type(self).__name__)
        higher = learner.higher_is_better(self.monitor) if self.higher is None else self.higher
        # Compare as if higher were better: negate values that should be low.
        before = -inf if self.value is None else self.value if higher else -self.value
        gain = (value if higher else -value) - before
        self.since = 0 if isfinite(value) and gain > self.min_delta else self.since + 1
        if not self.since:
            self.value = value
        if self.is_over:
            learner.stop("early")

    @property
    def is_over(self) -> bool:
        """Whether `patience` epochs have passed without improvement."""
        return self.patience is not None and self.since >= self.patience

    def state_dict(self) -> dict[str, Any]:
        return {"value": self.value, "since": self.since}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.value, self.since = state_dict["value"], state_dict["since"]


class EarlyStopping(Best):
    """Ends a run when `monitor`, a name in its history, has not improved for `patience` epochs.

    mode: "min" or "max", or "auto", which asks the metric; min_delta: the least improvement. ValueError for
    another mode, and for a patience below 1.
    """

    def __init__(self, monitor: str, patience: int = 3, min_delta: float = 0.0, mode: str = "auto"):
        modes = {"auto": None, "min": False, "max": True}
        if mode not in modes:
            raise ValueError(f"EarlyStopping(mode={mode!r}): use one of {', '.join(map(repr, modes))}")
        if patience < 1:
            raise ValueError(f"EarlyStopping(patience={patience}): must be at least 1: pass another value")
        super().__init__(monitor, modes[mode], min_delta, patience)


def value_of(row: Row, name: str, who: str) -> float:
    """Return a value of a history's row; ValueError for an unknown name."""
    if name not in row:
        rule = f"the history has no such value{suggest(name, row)}"
        raise ValueError(f"{who}({name!r}): {rule}: use one of {', '.join(row)}")
    return row[name]


class Callbacks(dict[str, Callback]):
    """Named callbacks, called in order."""

    def begin(self, learner: Learner) -> None:
        for callback in self.values():
            callback.begin(learner)

    def after_step(self, learner: Learner) -> None:
        for callback in self.values():
            callback.after_step(learner)

    def after_epoch(self, learner: Learner, row: Row) -> None:
        for callback in self.values():
            callback.after_epoch(learner, row)

    def end(self, learner: Learner) -> BaseException | None:
        """Call every `end`, even if one raises; return the first exception."""
        error: BaseException | None = None
        for callback in self.values():
            try:
                callback.end(learner)
            except BaseException as e:
                # Later callbacks must still close their files; the first error is the cause.
                error = error or e
        return error


def named_callbacks(
    scheduler: Scheduling | None,
    best: Best | None,
    early: int | EarlyStopping | None,
    user: Sequence[Callback],
) -> Callbacks:
    """Return a learner's callbacks in calling order, named by their option or number.

    early: an EarlyStopping, or its patience.
    """
    # The scheduler is first: a new learning rate belongs to the checkpoint of the step. `best` precedes
    # `early_stopping`, whose stop must not hide a best epoch.
    monitor = "valid_loss" if best is None else best.monitor
    stopping = EarlyStopping(monitor, early) if isinstance(early, int) else early
    callbacks = {"scheduler": scheduler, "best": best, "early_stopping": stopping}
    numbered = {f"{i}: {type(c).__name__}": c for i, c in enumerate(user)}
    return Callbacks({name: c for name, c in callbacks.items() if c is not None} | numbered)
