"""Events into plain lines, HTML and a notebook's widget, compared with what they should say."""

import io
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from math import nan
from types import SimpleNamespace

import pytest
from helpers import played

from flambeau.learner import renderers
from flambeau.learner.events import EpochEnded, EpochStarted, Message, Progress, RunEnded, RunStarted, Values
from flambeau.learner.page import html
from flambeau.learner.renderers import PlainLines, Widget, default_renderers
from flambeau.learner.run_view import RunState
from flambeau.learner.text import curves_of, duration, summary

LINES = """\
mnist on llvmpipe, 1.2 M parameters
train epoch 1/2, batch 60/100  loss 1.671  100 steps/s, 6.4 k items/s  0.6 s so far, 1.4 s left  \
waits for data 70% of the time: use more workers (num_workers=), less work per item, or preprocessed items
epoch 1/2  train  loss 1.278  accuracy 0.9  1.0 s
epoch 1/2  valid  loss 1.378  accuracy 0.7433  0.1 s
train epoch 2/2, batch 60/100  loss 0.92  100 steps/s, 6.4 k items/s  1.7 s so far, 0.4 s left  \
waits for data 70% of the time: use more workers (num_workers=), less work per item, or preprocessed items
epoch 2/2  train  loss 0.7188  accuracy 0.9  1.0 s
epoch 2/2  valid  loss 0.8188  accuracy 0.8682  0.1 s
warning: the last batch of [3] was left out
ended: done at step 200 after 2.2 s, saved /step-200.ckpt
"""


def test_plain_lines():
    out = io.StringIO()
    lines = PlainLines(out, every=0.55)
    for event in played.run(epochs=2):
        lines(event)
    assert out.getvalue() == LINES


def test_plain_lines_say_what_a_terminal_has_no_letters_for():
    out = io.BytesIO()
    lines = PlainLines(io.TextIOWrapper(out, encoding="ascii"))
    lines(RunStarted("l\u00e4uf", "", "cpu", 1, 2, 0, False, {}))
    assert out.getvalue() == b"l\\xe4uf on cpu, 2 parameters\n"


def test_plain_lines_go_on_where_a_clock_is_set_back():
    out = io.StringIO()
    lines = PlainLines(out)
    lines(RunStarted("r", "", "cpu", 1, 2, 0, False, {}, at=1000.0))
    lines(EpochStarted("train", 0, 1, 100, at=1000.0))
    for i in range(1, 5):
        lines(Progress("train", 0, i, 100, i, i, 11.0 * i, {}, 0, at=11.0 * i))
    assert len(out.getvalue().splitlines()) == 5


def test_plain_lines_survive_a_terminal_that_is_gone():
    class Gone(io.StringIO):
        def write(self, _):
            raise OSError("Input/output error")

    lines = PlainLines(Gone())
    for event in played.run(epochs=1):
        lines(event)
    assert lines.state.ended is not None


def test_durations():
    given = (0.04, 9.96, 10, 75, 3600, 86400 * 2 + 3600 * 4 + 120)
    assert [duration(s) for s in given] == ["0.0 s", "10.0 s", "0:10", "1:15", "1:00:00", "2 d 04:02"]


def test_the_order_of_curves():
    """Training beneath, whose steps have noise; the run's own validation on top of those of others."""
    own, other = (RunState().take_all(played.run(name, epochs=2)) for name in ("own", "other"))
    found = curves_of([own, other], "loss", own.splits)
    assert [(c.name, c.colour) for c in found] == [("train", 0), ("other valid", 2), ("valid", 1)]
    assert [c.name for c in curves_of([own, other], "lr", own.splits)] == ["other train", "train"]
    assert [c.name for c in curves_of([RunState(), other], "lr", [])] == ["other train"]


def test_the_summary():
    found = summary(RunState().take_all(played.run(epochs=2, reason="stopped")), width=40, height=6)
    first, second, _, key, *plot, last = found.splitlines()
    assert first == "mnist on llvmpipe, 1.2 M parameters"
    assert second == "valid epoch 2/2, step 200, 2.2 s in total" and key == "loss (train, valid)"
    assert plot[0].startswith(" 2.414 │") and last == "ended: stopped"
    assert [" ".join(row.split()) for row in plot[-5:-1]] == [
        "train valid",
        "loss 0.7188 0.8188",
        "lr 0.03333 -",
        "accuracy 0.9 0.8682",
    ]
    ascii = summary(RunState().take_all(played.run(epochs=2)), unicode=False)
    assert ascii.isascii() and "loss (train *, valid o)" in ascii
    assert summary(RunState()).startswith("waiting for a run\nnot begun, step 0")


class Reader(HTMLParser):
    """What stands in a page; fails where tags do not close."""

    def __init__(self, text: str):
        super().__init__()
        self.open, self.tags, self.said = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("br", "path", "circle", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said.append(data)


def test_html_has_the_curves_the_values_and_the_line():
    events = list(played.run())
    state = RunState().take_all(
        events[: next(i for i, e in enumerate(events) if getattr(e, "step", 0) == 350)]
    )
    page = Reader(html(state, [RunState().take_all(played.run("before", shift=0.5))]))
    said = " ".join(page.said)
    assert "train epoch 4/4, batch 40/100" in said and "85% of the run" in said
    assert "waits for data 70% of the time" in said and "before valid" in said and "before train" in said
    assert sum(tag == "svg" for tag, _ in page.tags) == 3  # loss, lr, accuracy
    curves = [a["points"].split() for tag, a in page.tags if tag == "polyline"]
    assert len(curves) == (2 + 1 + 1) + 1 + 1 + 1 + 1  # of loss, lr and accuracy; of the other run validation
    widths = [a["style"] for tag, a in page.tags if tag == "div" and "style" in a]
    assert widths == ["width:40.0%", "width:85.0%"]


def test_html_is_safe_and_stands_gaps():
    state = RunState()
    for event in (
        RunStarted("<b>", "", "<i>", 1, 1, 0, False, {}, at=1.0),
        EpochStarted("train", 0, 1, 4, at=1.0),
        Values(
            "train",
            0,
            [1, 2, 3, 4],
            {"<loss>": [1.0, nan, 2.0, 3.0], "flat": [1.0] * 4, "none": [nan] * 4},
            at=2.0,
        ),
        Message("error", "<script>", at=3.0),
    ):
        state.take(event)
    text = html(state)
    assert "<script>" not in text and "<b>&lt;b&gt; on &lt;i&gt;" in text and "&lt;loss&gt;" in text
    page = Reader(text)
    assert [tag for tag, _ in page.tags].count("circle") == 1  # the point before the gap
    assert "nothing to draw yet" in page.said


def test_the_widget_draws_once_and_then_changes_it():
    shown, handle = [], SimpleNamespace(update=lambda what: shown.append(what))

    def display(what, display_id):
        assert display_id is True
        shown.append(what)
        return handle

    widget = Widget(display)
    events = list(played.run())
    for event in events:
        widget(event)
    assert 2 <= len(shown) < len(events) / 2  # twice a second at most, and at the end
    assert "<svg" in shown[-1]._repr_html_() and "ended: done" in repr(shown[-1])


def test_which_renderer(monkeypatch):
    def kinds():
        return [type(r).__name__ for r in default_renderers()]

    def terminal(is_one, term="xterm"):
        monkeypatch.setenv("TERM", term)
        for name in ("stdin", "stdout"):
            stream = io.StringIO()
            stream.isatty = lambda: is_one
            monkeypatch.setattr(sys, name, stream)

    terminal(False)
    assert kinds() == ["PlainLines"]
    terminal(True, "dumb")
    assert kinds() == ["PlainLines"]
    terminal(True)
    assert kinds() == ["Dashboard" if find_spec("textual") else "PlainLines"]
    monkeypatch.setattr(renderers, "find_spec", lambda _: None)
    assert kinds() == ["PlainLines"]
    shell = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert kinds() == ["Widget"]
    shell.config.clear()  # IPython's console
    assert kinds() == ["PlainLines"]
    assert [type(r).__name__ for r in default_renderers("runs/a")] == ["PlainLines", "JSONL"]


@pytest.mark.parametrize("of", [None, 7])
def test_lines_of_a_loader_without_a_length(of):
    out = io.StringIO()
    lines = PlainLines(out, every=0.0)
    lines(EpochStarted("train", 0, 1, None, at=1.0))
    lines(Progress("train", 0, 3, of, 3, 6, 2.0, {}, 0, at=3.0))
    lines(EpochEnded("train", 0, 3, {}, 2.0, at=3.0))
    lines(RunEnded("error", 3, "it broke", at=3.0))
    first, second, third = out.getvalue().splitlines()
    assert first.startswith("train epoch 1/1, batch 3" + ("/7" if of else "") + "  1.5 steps/s, 3 items/s")
    assert (second, third) == ("epoch 1/1  train  2.0 s", "ended: error: it broke at step 3 after 2.0 s")
