"""The events of a run as frozen values for renderers and loggers: plain Python, no tensors.

A renderer or logger is any callable that accepts an event. `to_dict` returns the content of a line of JSONL,
`from_dict` rebuilds the event from it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from typing import Any, ClassVar, Literal, get_args

Split = Literal["train", "valid", "test"]
Level = Literal["info", "warning", "error"]
Reason = Literal["done", "stopped", "killed", "early", "nan", "error"]
KINDS: dict[str, type[Event]] = {}  # kind -> class; each subclass adds itself


def only(values: Any, *types: type) -> bool:
    """Whether all values have exactly these types, so that a bool is not an int."""
    return set(map(type, values)) <= set(types)


def is_named(value: Any, *types: type) -> bool:
    """Whether `value` is a dict from names to values of these types."""
    return isinstance(value, dict) and only(value, str) and only(value.values(), *types)


def is_steps(value: Any) -> bool:
    """Whether `value` is a list of integers."""
    return isinstance(value, list) and only(value, int)


FITS: dict[Any, Callable[[Any], bool]] = {  # a field's annotation -> whether a value from JSON fits
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: only([value], int),
    "int | None": lambda value: only([value], int, type(None)),
    "float": lambda value: only([value], int, float) and isfinite(value),
    "list[int]": is_steps,
    "dict[str, Any]": lambda value: isinstance(value, dict),
    "dict[str, float]": lambda value: is_named(value, int, float),
    "dict[str, list[float]]": lambda value: (
        is_named(value, list) and all(only(each, int, float) for each in value.values())
    ),
    "Split": lambda value: value in get_args(Split),
    "Level": lambda value: value in get_args(Level),
    "Reason": lambda value: value in get_args(Reason),
}


@dataclass(frozen=True)
class Event:
    """An event of a run: its `kind`, and `at`, the time in seconds since 1970."""

    kind: ClassVar[str] = "event"
    at: float = field(default_factory=time.time, kw_only=True)

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        # "EpochEnded" -> "epoch_ended"
        cls.kind = "".join(f"_{c.lower()}" if c.isupper() else c for c in cls.__name__).lstrip("_")
        KINDS[cls.kind] = cls

    def to_dict(self) -> dict[str, Any]:
        """Convert the event to a dict of plain values, with its kind."""
        return {"kind": self.kind, **asdict(self)}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Event:
        """Rebuild an event from a dict of `to_dict`.

        values: the dict; entries that the event does not have are ignored. ValueError if it is invalid.
        """
        name = values.get("kind")
        kind = KINDS.get(name) if isinstance(name, str) else None
        if kind is None:
            kinds = ", ".join(KINDS)
            raise ValueError(f"Event.from_dict(kind={name!r}): unknown kind: use one of {kinds}")
        # Files of a newer version may have further fields.
        entries = {f.name: values[f.name] for f in fields(kind) if f.name in values}
        for f in fields(kind):
            if f.name in entries and f.type in FITS and not FITS[f.type](entries[f.name]):
                problem = f"Event.from_dict(kind={name!r}): {f.name}={entries[f.name]!r}: must be {f.type}"
                raise ValueError(f"{problem}: pass the result of to_dict")
        try:
            return kind(**entries)
        # a required field is absent
        except TypeError as e:
            raise ValueError(
                f"Event.from_dict(kind={kind.kind!r}): {e}: pass the result of to_dict"
            ) from None


@dataclass(frozen=True)
class RunStarted(Event):
    """A run begins or resumes at `step`.

    run: its name; directory: its folder, or ""; device: its name; epochs: the planned number; parameters: the
    number of trained values; resumed: whether it continues an earlier run; config: its options; at: seconds
    since 1970.
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
    """Epoch `epoch` of `of` begins.

    split: "train", "valid" or "test"; steps: the number of batches, None if unknown; at: seconds since 1970.
    """

    split: Split
    epoch: int
    of: int
    steps: int | None


@dataclass(frozen=True)
class Progress(Event):
    """Batch `index` of `of` was submitted to the device; at most ten of these events per second.

    `items` and `seconds` count from the start or resumption of the epoch. split: "train", "valid" or "test";
    step: of the run; waits: seconds of waiting by cause ("data", "gpu", "read"; of Python: "record" while
    calls are recorded and their kernels compiled, "plain" for calls that can't be recorded, "host" for the
    rest), and of functions of the user by kind and name ("transform Resize", in all threads); memory: bytes
    on the device; at: seconds since 1970.
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
    """Losses, learning rates and others of several steps, emitted when they were read from the device.

    split: "train", "valid" or "test"; epoch: of all steps; steps: their numbers in the run; values: lists as
    long as `steps`, by name; at: seconds since 1970.
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
    """A checkpoint is complete: it took `seconds`, of which the training waited `waited`.

    path: its file; step: of the run; at: seconds since 1970.
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
    """The run ended at `step` for a `reason`.

    reason: "done", "stopped", "killed", "early", "nan" or "error"; text: the exception's text, or ""; at:
    seconds since 1970.
    """

    reason: Reason
    step: int
    text: str


Renderer = Callable[[Event], Any]


class EventEmitter:
    """Passes each event to the renderers. One that raises is reported and removed, and training continues."""

    def __init__(self, renderers: list[Renderer]):
        self.renderers = renderers

    def __call__(self, event: Event) -> None:
        # Over a copy: a renderer that fails is removed within the loop.
        for renderer in list(self.renderers):
            try:
                renderer(event)
            except Exception as e:
                self.renderers.remove(renderer)
                error = f"{type(renderer).__name__} raised {type(e).__name__}: {e}"
                text = f"{error}: it is disabled from now on"
                print(f"flambeau: fit: {text}", file=sys.stderr)
                # The other renderers show it too. The recursion ends, because each failure removes a
                # renderer.
                self(Message("error", text))
