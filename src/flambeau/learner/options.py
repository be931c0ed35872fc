"""What a learner may be given by name, and what it is where it was not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypedDict

from ..core.options import options
from .callbacks import Callback, EarlyStopping
from .events import Renderer


class LearnerOptions(TypedDict, total=False):
    """A learner's options; Learner says what they are."""

    metrics: Sequence[Any] | Mapping[str, Any]
    scheduler: Any
    schedule: str
    scaler: Any
    clip: float | None
    accumulate: int
    prepare: Callable[[Any], Any] | None
    directory: str | Path | None
    checkpoint_every: int | None
    keep: int
    best: str | None
    early_stopping: int | EarlyStopping | None
    callbacks: Sequence[Callback]
    renderers: Sequence[Renderer] | None
    device: Any


DEFAULTS: LearnerOptions = {
    "metrics": (),
    "scheduler": None,
    "schedule": "step",
    "scaler": None,
    "clip": None,
    "accumulate": 1,
    "prepare": None,
    "directory": None,
    "checkpoint_every": None,
    "keep": 2,
    "best": None,
    "early_stopping": None,
    "callbacks": (),
    "renderers": None,
    "device": None,
}


def checked(given: LearnerOptions) -> SimpleNamespace:
    """All options; TypeError for one that there is not, ValueError for what can't be meant."""
    o = SimpleNamespace(**options("Learner", given, DEFAULTS))
    for name in ("accumulate", "checkpoint_every", "keep"):
        value = getattr(o, name)
        if value is not None and (type(value) is not int or value < 1):
            raise ValueError(f"Learner({name}={value!r}): must be a positive integer: give 1 or more")
    if o.schedule not in ("step", "epoch"):
        raise ValueError(f"Learner(schedule={o.schedule!r}): unknown: use 'step' or 'epoch'")
    if o.clip is not None and not o.clip > 0:
        raise ValueError(f"Learner(clip={o.clip!r}): must be above 0: give another, or None")
    for name in ("checkpoint_every", "best"):
        if o.directory is None and getattr(o, name) is not None:
            raise ValueError(
                f"Learner({name}={getattr(o, name)!r}): there is no place for it: give directory"
            )
    return o
