"""Learner: a model, an optimiser and batches into a trained model, by runs that survive being killed."""

from .blame import NotFinite
from .callbacks import Callback, EarlyStopping
from .events import (
    EpochEnded,
    EpochStarted,
    Event,
    Message,
    Progress,
    Renderer,
    RunEnded,
    RunStarted,
    Saved,
    Values,
)
from .learner import Learner

__all__ = [
    "Callback",
    "EarlyStopping",
    "EpochEnded",
    "EpochStarted",
    "Event",
    "Learner",
    "Message",
    "NotFinite",
    "Progress",
    "Renderer",
    "RunEnded",
    "RunStarted",
    "Saved",
    "Values",
]
