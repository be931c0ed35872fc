"""The dashboard's process: draws events from a pipe on the terminal and sends commands for keys.

It is a separate process because textual needs a main thread with signals, because drawing in a thread would
hold the training's GIL, and because it outlives a killed training: it then restores the terminal and prints
the summary.
"""

import os
import signal
import sys
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

from rich.style import Style
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widget import Widget as TextualWidget
from textual.widgets import Footer, Static

from . import text
from .advice import advice
from .events import EpochEnded, Event, Message, RunEnded
from .page import COLOURS, colour
from .plot import MARKS, NONE, plot
from .run_view import RunState
from .runs import sibling_runs

REFRESH = 10.0  # the most frames per second
LINES = 8  # lines of the log
OUTPUT_LINES = 10_000  # lines of the training's output that are printed again at the end
SILENCE = 0.3  # seconds to wait for the rest of the training's output
KILLED = "the training process ended unexpectedly: it was killed or it crashed"


class CurvesPlot(TextualWidget):
    """The curves of one metric, below their legend."""

    app: "DashboardApp"  # pyright: ignore[reportIncompatibleMethodOverride] - textual's own property

    def render(self) -> Text:
        app = self.app
        width, height = self.size
        curves = app.curves()
        out = Text(no_wrap=True)
        for c in text.key(curves):
            mark = "━━" if app.unicode else MARKS[c.colour % len(MARKS)]
            out.append(f"{mark} ", colour(c.colour)).append(f"{c.name}   ", "dim")
        out.truncate(width, overflow="ellipsis")
        for row in plot(curves, width, height - 1, unicode=app.unicode, log=app.log_scale):
            out.append("\n")
            for glyph in row:
                out.append(glyph.text, "dim" if glyph.colour == NONE else colour(glyph.colour))
        return out


DARK, LIGHT = "textual-dark", "textual-light"


def is_light(colours: str) -> bool:
    """Whether a terminal's COLORFGBG, such as "0;15", names a light background."""
    background = colours.rpartition(";")[2]
    return background in ("7", "15")


class AskStop(ModalScreen[str]):
    """The dialog of the key `q`; its result is the order, "" to continue."""

    BINDINGS = [
        ("s", "dismiss('stop')", "Checkpoint and stop"),
        ("k", "dismiss('kill')", "Kill"),
        ("g,escape,q", "dismiss('')", "Go on"),
    ]

    def compose(self) -> ComposeResult:
        yield Static(
            "Stop the run?\n\n"
            "[b]s[/b]  write a checkpoint and stop\n"
            "[b]k[/b]  kill: end now, without a checkpoint\n"
            "[b]g[/b]  continue",
            id="ask",
        )


class DashboardApp(App[None]):
    """The dashboard of a run. `inbox` receives its events; keys call `order` with "stop", "kill" or
    "interrupt"."""

    CSS = """
    #heading { text-style: bold; }
    #middle { height: 1fr; }
    #curves { width: 1fr; }
    #values { width: auto; height: 100%; max-width: 50%; padding: 0 1; border-left: solid $panel; }
    #bars, #facts { height: auto; }
    #advice { height: auto; color: $warning; }
    #log { height: 9; max-height: 25%; border-top: solid $panel; color: $text-muted; }
    .ascii #log, .ascii #values { border: none; }
    AskStop { align: center middle; }
    #ask { width: 46; height: auto; padding: 1 2; border: round $warning; background: $panel; }
    .ascii #ask { border: ascii $warning; }
    .-light-mode #advice, .-light-mode FooterKey .footer-key--key { color: #7a4a00; }
    """
    BINDINGS = [
        ("left", "turn(-1)", "Metric"),
        ("right", "turn(1)", "Metric"),
        ("up,down,f", "toggle_recent", "Full/recent"),
        ("l", "toggle_log", "Log scale"),
        ("o", "toggle_others", "Other runs"),
        ("t", "toggle_light", "Light"),
        ("q", "ask", "Stop"),
        Binding("ctrl+q", "ask", show=False, priority=True),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
    ]
    ENABLE_COMMAND_PALETTE = False
    TITLE = "Flambeau"

    def __init__(
        self,
        order: Callable[[str], Any] = lambda _: None,
        *,
        refresh: float = REFRESH,
        stay: bool = False,
        unicode: bool = True,
    ):
        super().__init__()
        self.order, self.pause, self.stay, self.unicode = order, 1 / min(refresh, REFRESH), stay, unicode
        self.inbox: deque[Event | None] = deque()  # None: the training's process has ended
        self.state, self.others = RunState(), list[RunState]()
        self.metric, self.ordered = "", ""
        self.recent = self.log_scale = False
        self.with_others, self.over = True, False
        self.directory = ""
        self.lines: deque[str] = deque(maxlen=LINES)

    def compose(self) -> ComposeResult:
        yield Static("waiting for a run", id="heading", markup=False)
        yield Static(id="metrics")
        with Horizontal(id="middle"):
            with Vertical():
                yield CurvesPlot(id="curves")
            yield Static(id="values", markup=False)
        yield Static(id="bars", markup=False)
        yield Static(id="facts", markup=False)
        yield Static(id="advice", markup=False)
        yield Static(id="log", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        if is_light(os.environ.get("COLORFGBG", "")):
            self.theme = LIGHT
        self.screen.set_class(not self.unicode, "ascii")
        self.set_interval(self.pause, self.tick)

    # --- events ---

    def tick(self) -> None:
        """Add the events since the last tick to the state, and draw."""
        if not self.inbox:
            return
        while self.inbox:
            event = self.inbox.popleft()
            if event is None:
                self.over = True
                # A killed training sends no RunEnded.
                if self.state.ended is None:
                    self.state.take(RunEnded("killed", self.state.step, KILLED, at=self.state.at))
            else:
                self.state.take(event)
                self.note(event)
        self.over = self.over or self.state.ended is not None
        self.find_others()
        self.draw()
        if self.over and not self.stay:
            self.exit()

    def note(self, event: Event) -> None:
        """Add an event to the log if it has a line there."""
        if isinstance(event, Message):
            self.lines.append(event.text if event.level == "info" else f"{event.level}: {event.text}")
        elif isinstance(event, EpochEnded):
            self.lines.append(text.epoch_line(event, self.state.epoch.of if self.state.epoch else 0))

    def find_others(self) -> None:
        """Read the runs of sibling folders, once the run's folder is known."""
        started = self.state.started
        if started and started.directory and started.directory != self.directory:
            self.directory = started.directory
            # In a thread: large event files take seconds to read.
            self.run_worker(self.read_others, thread=True)

    def read_others(self) -> None:
        self.others = sibling_runs(self.directory)
        self.call_from_thread(self.draw)

    # --- drawing ---

    def curves(self) -> list[Any]:
        """Return the curves of the selected metric."""
        states = [self.state, *(self.others if self.with_others else [])]
        return text.curves_of(states, self.metric, self.state.splits, self.recent)

    def draw(self) -> None:
        s, names = self.state, self.state.names
        if self.metric not in names:
            self.metric = names[0] if names else ""
        panels = {
            "heading": text.heading(s),
            "metrics": self.metrics(names),
            "values": "\n".join(text.last_values(s)),
            "bars": self.bars(),
            "facts": "   ".join(
                filter(None, [text.time_left(s), text.speed(s), text.memory(s), self.saved()])
            ),
            "advice": self.advice(),
            "log": "\n".join(self.lines),
        }
        for name, panel in panels.items():
            self.screen_stack[0].query_one(f"#{name}", Static).update(panel)
        self.screen_stack[0].query_one(CurvesPlot).refresh()

    def metrics(self, names: list[str]) -> Text:
        """Return the clickable names of the metrics, with the selected one first."""
        out = Text(no_wrap=True)
        for i, name in enumerate(names):
            style = "bold reverse" if name == self.metric else "dim"
            out.append(f" {name} ", Style.parse(style) + Style(meta={"@click": f"app.show({i})"})).append(" ")
        how = ["recent" if self.recent else "full", *(["log scale"] if self.log_scale else [])]
        return out.append(f"  ({', '.join(how)})", "dim")

    def bars(self) -> Text:
        """Return the progress bars of the epoch and the run."""
        width = max(self.size.width - 46, 10)
        rows = (
            (self.state.part, text.place(self.state)),
            (self.state.done, f"{self.state.done:.0%} of the run"),
        )
        out = Text(no_wrap=True)
        for i, (part, label) in enumerate(rows):
            full = round(part * width)
            out.append("━" * full if self.unicode else "#" * full, COLOURS[0])
            out.append("━" * (width - full) if self.unicode else "." * (width - full), "dim")
            out.append(f"  {label}" + ("" if i else "\n"))
        return out

    def saved(self) -> str:
        """Return the step of the last checkpoint."""
        return f"saved at step {self.state.saved.step:,}" if self.state.saved else ""

    def advice(self) -> str:
        notes = {
            "stop": "stopping: a checkpoint is written first",
            "kill": "ending after this step: q and k again end it at once",
        }
        return notes[self.ordered] if self.ordered and not self.over else advice(self.state)

    # --- keys ---

    def action_turn(self, by: int) -> None:
        names = self.state.names
        if names:
            self.metric = names[(names.index(self.metric) + by) % len(names)]
            self.draw()

    def action_show(self, number: int) -> None:
        self.metric = self.state.names[number]
        self.draw()

    def action_toggle_recent(self) -> None:
        self.recent = not self.recent
        self.draw()

    def action_toggle_log(self) -> None:
        self.log_scale = not self.log_scale
        self.draw()

    def action_toggle_others(self) -> None:
        self.with_others = not self.with_others
        self.draw()

    def action_toggle_light(self) -> None:
        self.theme = DARK if self.theme == LIGHT else LIGHT

    def action_ask(self) -> None:
        if self.over:
            self.exit()
        else:
            self.push_screen(AskStop(), self.give)

    def give(self, order: str | None) -> None:
        """Pass an order on to the training."""
        if order:
            self.ordered = order
            self.order(order)
            self.draw()

    def action_interrupt(self) -> None:
        """Handle Ctrl-C as without a dashboard."""
        if self.over:
            self.exit()
        else:
            self.order("interrupt")


# --- the process ---


def listen(pipe: Connection, app: DashboardApp) -> None:
    """Put the training's events into the inbox, and None when the training's process has ended."""
    try:
        while True:
            app.inbox.extend(pipe.recv())
    except (EOFError, OSError):
        app.inbox.append(None)


def read_output(fd: int, app: DashboardApp, output: deque[str]) -> None:
    """Put the training's printed output into the log."""
    with open(fd, encoding="utf-8", errors="replace") as file:
        for line in file:
            output.append(line.rstrip("\n"))
            app.inbox.append(Message("info", line.rstrip()))


def main(arguments: list[str]) -> int:
    """Draw until the run ends, then print its last output and its summary on the terminal."""
    pipe_fd, output_fd, refresh, stay, unicode = arguments
    for number in (signal.SIGINT, signal.SIGTERM):  # the training gets them too, and ends first
        signal.signal(number, signal.SIG_IGN)
    pipe, output = Connection(int(pipe_fd)), deque[str](maxlen=OUTPUT_LINES)
    app = DashboardApp(pipe.send, refresh=float(refresh), stay=stay == "1", unicode=unicode == "1")
    threads = [
        Thread(target=listen, args=(pipe, app), daemon=True),
        Thread(target=read_output, args=(int(output_fd), app, output), daemon=True),
    ]
    for thread in threads:
        thread.start()
    app.run()
    threads[1].join(SILENCE)
    warnings = [f"{level}: {line}" for _, level, line in app.state.log if level != "info"]
    summary = text.summary(app.state, unicode=app.unicode)
    print("\n".join([*output, *warnings, summary]), flush=True)
    os._exit(app.return_code or 0)  # threads may still wait for a training that continues


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
