"""The dashboard: its picture and keys by textual's pilot, its process on a terminal of its own."""

import asyncio
import os
import re
import select
import signal
import subprocess
import sys
import termios
import time

import pytest
from helpers import played
from helpers.paths import ROOT
from helpers.scripts import script

from flambeau import data
from flambeau.learner.events import Message
from flambeau.learner.loggers import JSONL
from flambeau.learner.run_view import RunState
from flambeau.learner.runs import read_events

pytest.importorskip("textual")

from flambeau.learner.tui import CurvesPlot, DashboardApp


def texts(app) -> dict[str, str]:
    """What each part of the picture says."""
    first = app.screen_stack[0]
    found = {name: str(first.query_one(f"#{name}").render()) for name in PARTS}
    return found | {"curves": str(first.query_one(CurvesPlot).render())}


def colors(app):
    """The colours of the advice and of the keys in the footer."""
    key = app.screen.query("FooterKey").first()
    return app.screen.query_one("#advice").colors[3], key.get_component_styles("footer-key--key").color


def contrast(a, b):
    """WCAG's ratio of two colours."""
    shares = [
        [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in x.rgb] for x in (a, b)
    ]
    low, high = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in shares)
    return (high + 0.05) / (low + 0.05)


PARTS = ("heading", "metrics", "values", "bars", "facts", "advice", "log")


def on_its_way(directory=""):
    events = list(played.run("third", directory))
    return events[: next(i for i, e in enumerate(events) if getattr(e, "step", 0) == 350) + 2]


@pytest.mark.share(5)
def test_the_picture_and_its_keys(tmp_path):
    for name, shift in (("first", 0.3), ("second", 0.15)):
        logger = JSONL()
        for event in played.run(name, str(tmp_path / name), shift=shift):
            logger(event)
    orders = []

    async def look():
        app = DashboardApp(orders.append, stay=True)
        async with app.run_test(size=(110, 34)) as pilot:
            await pilot.press("right", "q", "g")  # before there is anything
            app.inbox.extend([*on_its_way(str(tmp_path / "third")), Message("warning", "[b]odd[/b]", at=1.0)])
            app.tick()
            await app.workers.wait_for_complete()
            await pilot.pause()
            shown = texts(app)
            assert shown["heading"] == "third on llvmpipe, 1.2 M parameters"
            assert "train epoch 4/4, batch 50/100" in shown["bars"] and "88% of the run" in shown["bars"]
            assert "100 steps/s, 6.4 k items/s" in shown["facts"] and "saved at step 300" in shown["facts"]
            assert shown["advice"].startswith("waits for data 70% of the time: use more workers")
            assert (
                shown["log"].splitlines()[-1] == "warning: [b]odd[/b]"
                and "epoch 3/4  valid  loss" in shown["log"]
            )
            assert shown["values"].splitlines()[1].split() == ["loss", "0.3173", "0.5349"]
            for name in ("train", "valid", "first valid", "second valid"):
                assert name in shown["curves"]
            assert re.search("[\u2801-\u28ff]{3}", shown["curves"]) and "(full)" in shown["metrics"]
            await pilot.press("o", "up", "l")
            shown = texts(app)
            assert "first" not in shown["curves"] and "(recent, log scale)" in shown["metrics"]
            await pilot.press("right")
            assert app.metric == "lr"
            await pilot.press("left", "left")
            assert app.metric == "accuracy"
            for theme in ("textual-light", "textual-dark"):
                await pilot.press("t")
                await pilot.pause()
                assert app.theme == theme
                for color in colors(app):
                    assert contrast(color, app.screen.styles.background) >= 4.5, (theme, color)  # WCAG's
            await pilot.click("#metrics", offset=(2, 0))
            assert app.metric == "loss"
            await pilot.press("q", "g", "q", "escape", "q", "q")
            assert orders == [] and len(app.screen_stack) == 1
            await pilot.press("ctrl+c", "q", "s")
            assert orders == ["interrupt", "stop"]
            assert texts(app)["advice"] == "stopping: a checkpoint is written first"
            await pilot.press("ctrl+q", "k")
            assert orders[-1] == "kill"
            app.inbox.append(None)
            app.tick()
            assert texts(app)["advice"].startswith("ended: killed: the training process ended unexpectedly")
            assert app.is_running
            await pilot.press("q")
        return app

    assert not asyncio.run(look()).is_running


def test_ascii_and_narrow_terminals():
    async def look():
        app = DashboardApp(unicode=False, stay=True)
        async with app.run_test(size=(60, 20)) as pilot:
            app.inbox.extend(on_its_way())
            app.tick()
            await pilot.pause()
            shown = texts(app)
            assert all(text.isascii() for text in shown.values()), shown
            assert shown["curves"].startswith("* train   o valid") and "###" in shown["bars"]
            await pilot.resize_terminal(20, 8)
            await pilot.pause()
            await pilot.press("right")

    asyncio.run(look())


def test_it_ends_with_the_run_and_refreshes_ten_times_a_second_at_most():
    async def look():
        app = DashboardApp(refresh=50.0)
        assert app.pause == 0.1
        async with app.run_test(size=(80, 24)) as pilot:
            app.inbox.extend(played.run())
            await pilot.pause(0.3)
            assert not app.is_running and app.state.ended.reason == "done"

    asyncio.run(look())


@pytest.mark.share(5)
def test_the_picture_of_the_readme_is_of_runs(tmp_path, monkeypatch):
    """Its script trains them, and gives the dashboard the events of the last up to nine tenths of it."""
    drawing, mnist = script("draw_dashboard"), data.mnist

    def few(train, root):
        found = mnist(train, root=root)
        return data.TensorDataset(found.images[:60], found.labels[:60])

    monkeypatch.setattr(data, "mnist", few)
    monkeypatch.setattr(drawing, "EPOCHS", 2)
    monkeypatch.setattr(drawing, "B", 20)
    for name in drawing.OPTIMIZERS:
        drawing.train(name, tmp_path)
    kept, shown = list(read_events(tmp_path / "adam/events.jsonl")), list(drawing.so_far(tmp_path / "adam"))
    assert shown == kept[: len(shown)] and RunState().take_all(shown).done >= 0.9 and len(shown) < len(kept)
    text = re.sub("<[^>]*>", "", asyncio.run(drawing.svg(tmp_path / "adam"))).replace("&#160;", " ")
    for said in ("adam on ", "sgd valid", "rmsprop valid", "(full, log scale)", "epoch 1/2  train  loss "):
        assert said in text


# --- on a terminal ---

HEAD = """
import os, signal, sys, termios, time
from helpers import played
from flambeau.learner.dashboard import Dashboard
from flambeau.learner.events import RunEnded
signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's job in the background has none
class Learner:
    asked = ""
    def stop(self, reason):
        self.asked = reason
before, events = termios.tcgetattr(0), list(played.run("r", DIRECTORY))
dashboard, learner = Dashboard(), Learner()
dashboard.learner = learner
for event in events[:20]:
    dashboard(event)
print("printed", flush=True)
os.write(2, b"a driver's line\\n")
def wait(until):
    end = time.time() + 90
    while not until() and time.time() < end:
        time.sleep(0.02)
"""
SCREEN = "\x1b[?1049h"  # the other screen, which is left by an l at the end


class Session:
    """A script on a terminal of its own. `read` reads until a text is there, or the script is over."""

    def __init__(self, script: str, directory):
        self.fd, theirs = os.openpty()
        termios.tcsetwinsize(theirs, (34, 110))
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
        env = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
        head = HEAD.replace("DIRECTORY", repr(str(directory / "own")))
        self.settings = termios.tcgetattr(theirs)
        self.process = subprocess.Popen(
            [sys.executable, "-c", head + script],
            stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True,
        )  # fmt: skip
        self.theirs, self.shown = theirs, ""

    def read(self, until: str = "", seconds: float = 90.0) -> str:
        end = time.monotonic() + seconds
        while time.monotonic() < end and (not until or until not in self.shown):
            ready, _, _ = select.select([self.fd], [], [], 0.1)
            if ready:
                self.shown += os.read(self.fd, 1 << 16).decode(errors="replace")
            elif not until and self.process.poll() is not None:
                break
        assert until in self.shown, self.shown[-2000:]
        return self.shown

    def press(self, key: str) -> None:
        os.write(self.fd, key.encode())

    def end(self) -> str:
        """What stays on the terminal when all is over; its settings are as they were."""
        self.read()
        self.process.wait(60)
        assert termios.tcgetattr(self.theirs) == self.settings
        os.close(self.fd)
        os.close(self.theirs)
        assert self.shown.count(SCREEN) == 1
        return self.shown.rpartition("\x1b[?1049l")[2].replace("\r", "")


@pytest.mark.share(5)
def test_q_stops_and_all_that_was_printed_stays(tmp_path):
    session = Session(
        """
wait(lambda: learner.asked)
print("asked:", learner.asked)
dashboard(RunEnded("stopped", 100, "as asked"))
print("right:", termios.tcgetattr(0) == before)
""",
        tmp_path,
    )
    session.read("90/100")
    session.press("q")
    session.read("Stop the run?")
    session.press("s")
    left = session.end()
    assert session.process.returncode == 0
    order = [
        "printed",
        "a driver's line",
        "asked: stopped",
        "r on llvmpipe",
        "ended: stopped: as asked",
        "right: True",
    ]
    assert [left.index(text) for text in order] == sorted(left.index(text) for text in order)
    assert "\u2801" <= max(left) <= "\u28ff"  # braille


@pytest.mark.share(5)
def test_a_training_that_is_killed_leaves_a_terminal_that_works(tmp_path):
    session = Session("time.sleep(60)", tmp_path)
    session.read("90/100")
    session.process.send_signal(signal.SIGKILL)
    session.read("ended unexpectedly")
    time.sleep(0.5)
    left = session.end()
    assert "printed" in left and "ended: killed: the training process ended unexpectedly" in left


@pytest.mark.share(5)
def test_ctrl_c_and_an_error_that_nobody_caught(tmp_path):
    """The key is the training's SIGINT, and the traceback is the last thing on the terminal."""
    session = Session("time.sleep(60)", tmp_path)
    session.read("90/100")
    session.press("\x03")
    left = session.end()
    assert session.process.returncode != 0 and "KeyboardInterrupt" in left


@pytest.mark.share(5)
def test_plain_lines_take_over_where_the_dashboard_dies(tmp_path):
    session = Session(
        f"FLAG = {str(tmp_path / 'flag')!r}"
        """
wait(lambda: os.path.exists(FLAG))
os.kill(dashboard.process.pid, signal.SIGKILL)
wait(lambda: dashboard.died)
for event in events[20:]:
    dashboard(event)
print("right:", termios.tcgetattr(0) == before)
""",
        tmp_path,
    )
    session.read("90/100")
    (tmp_path / "flag").write_text("")
    left = session.end()
    assert "the dashboard's process ended: showing plain lines from here" in left
    assert "epoch 4/4  valid" in left and "right: True" in left


def test_the_training_pays_an_append(monkeypatch):
    """Neither drawing nor sending happens where an event is taken."""
    from flambeau.learner.dashboard import Dashboard

    dashboard = Dashboard()
    monkeypatch.setattr(dashboard, "open", lambda: setattr(dashboard, "process", object()))
    events = list(played.run())[:-1]
    for event in events:
        dashboard(event)
    assert list(dashboard.waiting) == events  # but for what comes before a run, which is a plain line
    assert RunState().take_all(dashboard.waiting).step == 400
