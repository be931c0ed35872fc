"""Trains a model with an optimiser and batches; a run can be stopped and resumed at any step."""

from .callbacks import Callback, EarlyStopping
from .dashboard import Dashboard
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
from .history import History
from .interpret import Interpretation
from .learner import Learner
from .loggers import CSV, JSONL, LogCalls, Page, TensorBoard
from .lr_find import LearningRates
from .nan_report import NotFinite
from .page import html
from .renderers import PlainLines, Widget, default_renderers
from .run_view import RunState
from .runs import find_runs, read_events, read_run

__all__ = [
    "CSV",
    "Callback",
    "Dashboard",
    "EarlyStopping",
    "EpochEnded",
    "EpochStarted",
    "Event",
    "History",
    "Interpretation",
    "JSONL",
    "Learner",
    "LearningRates",
    "LogCalls",
    "Message",
    "NotFinite",
    "Page",
    "PlainLines",
    "Progress",
    "Renderer",
    "RunEnded",
    "RunStarted",
    "RunState",
    "Saved",
    "TensorBoard",
    "Values",
    "Widget",
    "default_renderers",
    "find_runs",
    "html",
    "read_events",
    "read_run",
]
