"""What happens in a run, into frozen values that renderers and loggers take: plain Python, no tensors.

A renderer or logger is any callable that takes an event. `to_dict` is what a line of JSONL holds, `from_dict`
makes the event again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal

Split = Literal["train", "valid", "test"]
Level = Literal["info", "warning", "error"]
Reason = Literal["done", "stopped", "killed", "early", "nan", "error"]
KINDS: dict[str, type[Event]] = {}  # by kind


@dataclass(frozen=True)
class Event:
    """Something that happened in a run: its `kind`, and `at`, the time in seconds since 1970."""

    kind: ClassVar[str] = "event"
    at: float = field(default_factory=time.time, kw_only=True)

    def __init_subclass__(cls, **given: Any):
        super().__init_subclass__(**given)
        cls.kind = "".join(f"_{c.lower()}" if c.isupper() else c for c in cls.__name__).lstrip("_")
        KINDS[cls.kind] = cls

    def to_dict(self) -> dict[str, Any]:
        """The event as a dict of plain values, with its kind."""
        return {"kind": self.kind, **asdict(self)}

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> Event:
        """The event that `to_dict` made a dict of; ValueError where it is none. given: the dict."""
        kind = KINDS.get(given.get("kind", ""))
        if kind is None:
            known = ", ".join(KINDS)
            raise ValueError(f"Event.from_dict(kind={given.get('kind')!r}): unknown kind: known are {known}")
        names = {f.name for f in fields(kind)}
        try:
            return kind(**{name: value for name, value in given.items() if name in names})
        except TypeError as e:
            raise ValueError(f"Event.from_dict(kind={kind.kind!r}): {e}: give what to_dict made") from None


@dataclass(frozen=True)
class RunStarted(Event):
    """A run begins, or goes on at `step`: `parameters` is how many numbers it trains, `config` is to read.

    run: its name; directory: where it is kept; epochs: how many there are to be; resumed: whether it goes on;
    at: seconds since 1970.
    """

    run: str
    directory: str
    device: str
    epochs: int
    parameters: int
    step: int
    resumed: bool
    config: dict[str, Any]


@dataclass(frozen=True)
class EpochStarted(Event):
    """An epoch of `of` begins, of `steps` batches where that is known.

    split: "train", "valid" or "test"; at: seconds since 1970.
    """

    split: Split
    epoch: int
    of: int
    steps: int | None


@dataclass(frozen=True)
class Progress(Event):
    """Batch `index` of `of` was given to the device; at most ten of these a second.

    `items` and `seconds` count from where the epoch began, or was gone on with; `waits` are seconds of those
    by cause ("data", "host", "gpu", "read"), `memory` bytes on the device. split: "train", "valid" or "test";
    step: of the run; at: seconds since 1970.
    """

    split: Split
    epoch: int
    index: int
    of: int | None
    step: int
    items: int
    seconds: float
    waits: dict[str, float]
    memory: int


@dataclass(frozen=True)
class Values(Event):
    """Losses, learning rates, ... of many steps, when they were read: lists as long as `steps`.

    steps: how many the run had made with each; values: these, by name; split: "train", "valid" or "test";
    epoch: of all of them; at: seconds since 1970.
    """

    split: Split
    epoch: int
    steps: list[int]
    values: dict[str, list[float]]


@dataclass(frozen=True)
class EpochEnded(Event):
    """An epoch ended after `seconds`, with its metrics.

    split: "train", "valid" or "test"; step: of the run; at: seconds since 1970.
    """

    split: Split
    epoch: int
    step: int
    metrics: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class Saved(Event):
    """A checkpoint is whole: it took `seconds`, of which the step waited `waited`.

    path: its folder; step: of the run; at: seconds since 1970.
    """

    path: str
    step: int
    seconds: float
    waited: float


@dataclass(frozen=True)
class Message(Event):
    """A line for the log. level: "info", "warning" or "error"; text: the line; at: seconds since 1970."""

    level: Level
    text: str


@dataclass(frozen=True)
class RunEnded(Event):
    """The run ended at `step`, and why.

    reason: "done", "stopped", "killed", "early", "nan" or "error"; text: the same in words; at: seconds since
    1970.
    """

    reason: Reason
    step: int
    text: str


Renderer = Callable[[Event], Any]
