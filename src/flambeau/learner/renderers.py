"""Renderers without a dashboard: plain lines, and a notebook's live widget."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, TextIO

from . import text
from .advice import advice
from .events import EpochEnded, Event, Message, Progress, Renderer, RunEnded, RunStarted
from .loggers import JSONL
from .page import html
from .run_view import RunState

EVERY = 10.0  # seconds between plain lines within an epoch
SHARE = 0.005  # the largest share of the time for drawing a notebook's widget
PACE = 0.5  # the least seconds between two drawings


class PlainLines:
    """Prints a line per epoch, and a line each `every` seconds within it.

    stream: None for standard output.
    """

    def __init__(self, stream: TextIO | None = None, *, every: float = EVERY):
        self.stream, self.every = stream, every
        # times of the last line and of the last event, by the events' clock
        self.state, self.written, self.at = RunState(), float("-inf"), 0.0

    def __call__(self, event: Event) -> None:
        self.state.take(event)
        self.at = event.at
        handler = getattr(self, f"on_{event.kind}", None)
        if handler is not None:
            handler(event)

    def write(self, line: str) -> None:
        self.written = self.at
        stream = self.stream or sys.stdout
        encoding = getattr(stream, "encoding", None) or "utf-8"
        # The stream's encoding may not have all characters of names.
        encodable = line.encode(encoding, "backslashreplace").decode(encoding)
        with suppress(OSError):  # a closed terminal must not end the training
            print(encodable, file=stream, flush=True)

    def on_run_started(self, _: RunStarted) -> None:
        self.write(text.heading(self.state))

    def on_progress(self, event: Progress) -> None:
        if 0 <= self.at - self.written < self.every:  # negative if the clock was set back
            return
        s, split = self.state, event.split
        names = [n for n in s.names if "loss" in n and (n, split) in s.curves]
        losses = [f"{name} {text.value(s.last(name, split))}" for name in names]
        parts = [text.place(s), *losses, text.speed(s), text.time_left(s), advice(s)]
        self.write("  ".join(filter(None, parts)))

    def on_epoch_ended(self, event: EpochEnded) -> None:
        self.write(text.epoch_line(event, self.state.epoch.of if self.state.epoch else event.epoch + 1))

    def on_message(self, event: Message) -> None:
        self.write(event.text if event.level == "info" else f"{event.level}: {event.text}")

    def on_run_ended(self, event: RunEnded) -> None:
        saved = f", saved {self.state.saved.path}" if self.state.saved else ""
        self.write(
            f"{advice(self.state)} at step {event.step:,} after {text.duration(self.state.elapsed)}{saved}"
        )


class Widget:
    """A live view of the run in a notebook, updated in place as HTML by IPython's display.

    display: called as `display(HTML(...), display_id=True)`; None for IPython's.
    """

    def __init__(self, display: Callable[..., Any] | None = None):
        self.state, self.display, self.handle = RunState(), display, None
        self.next = 0.0  # time.perf_counter() of the next drawing

    def __call__(self, event: Event) -> None:
        self.state.take(event)
        begin = time.perf_counter()
        if begin < self.next and event.kind != "run_ended":
            return
        self.draw()
        now = time.perf_counter()
        # A slow drawing (many curves) is repeated less often, so that it takes at most SHARE of the time.
        self.next = now + max(PACE, (now - begin) / SHARE)

    def draw(self) -> None:
        """Display the view, or update it."""
        content = CellOutput(html(self.state), text.summary(self.state))
        if self.handle is None:
            self.handle = (self.display or ipython_display())(content, display_id=True)
        else:
            self.handle.update(content)


class CellOutput:
    """Content that notebooks display as HTML, and consoles as text."""

    def __init__(self, html: str, plain: str):
        self.html, self.plain = html, plain

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.plain


def ipython_display() -> Any:
    """Return IPython's `display`."""
    # Only called in a notebook, which has IPython.
    from IPython.display import display  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    return display  # pyright: ignore[reportUnknownVariableType]


def in_notebook() -> bool:
    """Whether this process serves a notebook, not IPython's console."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    # A kernel's configuration names its application; IPython's console has no kernel.
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def has_dashboard() -> bool:
    """Whether output goes to a terminal that can show the dashboard, and textual is installed."""
    capable = os.name == "posix" and sys.platform != "emscripten" and os.environ.get("TERM", "dumb") != "dumb"
    capable = capable and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    return capable and find_spec("textual") is not None


def screen_renderer() -> Renderer:
    """Return the renderer for this environment: a dashboard on a terminal, a widget in a notebook, else
    plain lines."""
    if in_notebook():
        return Widget()
    if has_dashboard():
        from .dashboard import Dashboard

        return Dashboard()
    return PlainLines()


def default_renderers(directory: str | os.PathLike[str] | None = None) -> list[Renderer]:
    """Return the renderer for this environment and, with a directory, a logger to its events.jsonl."""
    return [screen_renderer(), *([] if directory is None else [JSONL()])]
