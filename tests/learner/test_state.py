"""The events of a made-up run into what is shown of it, on paper: no clock, no terminal."""

import time
from math import isnan, nan

import pytest
from helpers import played

import flambeau as fb
from flambeau import data, nn, optim
from flambeau.learner import Learner, text
from flambeau.learner.advice import advice
from flambeau.learner.curve import KEPT, RECENT, Curve
from flambeau.learner.events import (
    EpochEnded,
    EpochStarted,
    Event,
    Message,
    Progress,
    RunEnded,
    RunStarted,
    Values,
)
from flambeau.learner.run_view import RunState


def folded(events) -> RunState:
    return RunState().take_all(events)


def test_a_run_that_is_done():
    s = folded(played.run(directory="runs/a"))
    assert (s.name, s.step, s.done, s.left, s.splits) == ("mnist", 400, 1.0, 0.0, ["train", "valid"])
    assert s.names == ["loss", "lr", "accuracy"] and s.folder.as_posix() == "runs/a"
    assert s.saved.step == 400 and s.ended.reason == "done" and s.elapsed == pytest.approx(4.4)
    assert s.points("loss", "train")[0] == (1, played.loss(1)) and len(s.points("loss", "train")) == 400
    assert [x for x, _ in s.points("loss", "valid")] == [100, 200, 300, 400]
    assert s.last("loss", "valid") == played.loss(400) + 0.1 and s.last("lr", "valid") is None
    assert [said for _, _, said in s.log] == ["the last batch of [3] was left out"]
    assert s.memory == 300_000_400 and s.most_memory == 300_000_400
    assert advice(s) == "ended: done"


def test_a_run_on_its_way():
    events = list(played.run())
    at = next(i for i, e in enumerate(events) if e.kind == "progress" and e.step == 250)
    s = folded(events[: at + 1])
    assert s.part == 0.5 and s.done == 2.5 / 4 and s.epoch.split == "train"
    assert s.rate() == pytest.approx(100) and s.rate("items") == pytest.approx(6400)
    assert s.waits() == pytest.approx({"data": 0.7, "host": 0.1})
    # since the first progress, at 0.1 s and 2.5% of the run, 60% more took 2.6 s
    assert s.left == pytest.approx(2.6 / 0.6 * 0.375)
    assert s.elapsed == pytest.approx(2.7)


def test_nothing_is_known_yet():
    s = RunState()
    assert (s.name, s.names, s.splits, s.done, s.part, s.left, s.rate()) == ("", [], [], 0.0, 0.0, None, None)
    assert (
        s.waits() == {}
        and s.folder is None
        and s.points("loss", "train") == []
        and s.last("a", "train") is None
    )
    s.take(EpochStarted("train", 0, 2, None, at=1.0))
    s.take(Progress("train", 0, 3, None, 3, 3, 0.0, {}, 0, at=1.0))
    assert (s.part, s.done, s.rate(), s.waits()) == (0.0, 0.0, None, {})  # no number of batches, no time

    class Unknown(Event):
        pass

    s.take(Unknown(at=7.0))
    assert s.at == 7.0
    from flambeau.learner.events import KINDS

    del KINDS["unknown"]


def test_a_run_that_goes_on_forgets_what_it_does_again():
    s = folded(list(played.run())[:48])  # killed in the second epoch
    assert s.step == 200
    s.take(RunStarted("mnist", "", "cpu", 4, 10, 150, True, {}, at=2_000_000.0))
    assert s.step == 150 and [x for x, _ in s.points("loss", "train")] == list(range(1, 151))
    assert [x for x, _ in s.points("loss", "valid")] == [100] and s.last("loss", "train") == played.loss(150)
    assert s.elapsed == 0.0 and s.left is None
    s.take(Values("train", 1, [151], {"loss": [9.0]}, at=2_000_001.0))
    assert s.points("loss", "train")[-1] == (151, 9.0)


def test_another_run_in_the_same_file_begins_anew():
    s = folded([*played.run("a"), *list(played.run("b"))[:6]])
    assert s.name == "b" and s.ended is None and s.step == 20 and len(s.points("loss", "train")) == 20


@pytest.mark.parametrize(
    "cause, said",
    [
        (
            "data",
            "waits for data 70% of the time: use more workers (num_workers=), less work per"
            " item, or preprocessed items",
        ),
        (
            "gpu",
            "waits for the GPU 70% of the time: this is ideal; fb.autocast may be faster, and"
            " fb.profile() shows the kernels",
        ),
        (
            "record",
            "waits for kernels to be recorded and compiled 70% of the time: only the first steps, and those"
            " with new shapes, do this",
        ),
        (
            "plain",
            "waits for Python 70% of the time: the step is not recorded; the message `runs unrecorded`"
            " says why",
        ),
        (
            "read",
            "waits for values to be read 70% of the time: don't use .item() or print in a"
            " step: return the values, so that they are read together",
        ),
        ("", "no waiting times measured yet"),
    ],
)
def test_the_line_that_says_what_a_run_waits_for(cause, said):
    s = folded(list(played.run(waits=cause))[:25])
    assert advice(s) == said and s.epoch.split == "valid"  # what was of late stays until there is more


def test_waits_are_those_of_late():
    """30 s of data in the first minute, then Python alone: the last ten seconds count."""
    s = RunState()
    s.take(EpochStarted("train", 0, 1, 1000, at=0.0))
    for second in range(1, 91):
        waits = {"data": 0.5 * min(second, 60), "host": 0.9 * max(second - 60, 0)}
        s.take(Progress("train", 0, second, 1000, second, second, float(second), waits, 0, at=float(second)))
    assert s.waits() == pytest.approx({"data": 0.0, "host": 0.9})
    assert advice(s).startswith("waits for Python 90% of the time: use larger batches")
    s.take(Progress("train", 0, 100, 1000, 100, 100, 100.0, {"data": 30.0, "host": 28.0}, 0, at=100.0))
    assert advice(s) == "no bottleneck: host takes the most time, 10%"


def test_a_slow_function_is_named():
    def waiting(**waits):
        s = RunState()
        s.take(EpochStarted("train", 0, 1, 10, at=0.0))
        for second in (0, 1, 2):
            now = {name.replace("_", " "): second * part for name, part in waits.items()}
            s.take(Progress("train", 0, second, 10, second, second, float(second), now, 0, at=float(second)))
        return advice(s)

    assert waiting(data=0.9, transform_Compose=0.7).startswith(
        "waits for data 90% of the time, mostly for transform Compose: use more workers"
    )
    assert waiting(data=0.9, transform_Compose=0.3).startswith("waits for data 90% of the time: use")
    assert waiting(host=0.8, prepare_crop=0.7).startswith(
        "waits for Python 80% of the time, mostly for prepare crop: apply it to items"
    )


def test_the_functions_of_a_run_are_timed():
    def slow(*parts):
        time.sleep(0.02)
        return parts

    def crop(parts):
        time.sleep(0.04)
        return parts

    items = data.Mapped(data.TensorDataset(fb.ones(8, 2), fb.ones(8, 1)), slow)
    model, events = nn.Linear(2, 1, device="cpu"), []
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    learner = Learner(model, optimizer, nn.MSELoss(), prepare=crop, renderers=[events.append])
    learner.fit(data.DataLoader(items, 2), epochs=1)
    waits = [e for e in events if isinstance(e, Progress)][-1].waits
    assert waits["data"] > waits["function slow"] > 0.03 and waits["host"] > waits["prepare crop"] > 0.03


def test_an_end_says_why():
    s = folded([RunEnded("nan", 3, "loss is nan at step 3", at=1.0)])
    assert advice(s) == "ended: nan: loss is nan at step 3"


def test_curves_stay_small_and_keep_their_means():
    c, n = Curve(), 3 * KEPT + 5
    for i in range(1, n + 1):
        c.add(i, float(i))
    assert len(c.all_points()) <= KEPT and c.stride == 4
    assert c.all_points()[0] == (4, 2.5) and c.all_points()[-1] == (n, n)
    many = Curve()  # the same, whether they come one by one or together
    for i in range(0, n, 37):
        own = list(range(i + 1, min(i + 37, n) + 1))
        many.extend(own, [float(s) for s in own])
    assert (many.stride, list(many.recent), many.low, many.high) == (4, list(c.recent), c.low, c.high)
    assert len(many.all_points()) == len(c.all_points()) and many.all_points()[-1] == c.all_points()[-1]
    assert max(abs(a - b) for (_, a), (_, b) in zip(many.all_points(), c.all_points())) <= 4
    assert next(iter(c.recent)) == (n - RECENT + 1, float(n - RECENT + 1)) and len(c.recent) == RECENT
    assert (c.low, c.high, c.last) == (1.0, float(n), float(n))
    c.cut(100)
    assert c.all_points()[-1] == (100, 98.5) and (c.low, c.high, c.last) == (2.5, 98.5, 98.5)
    c.cut(0)
    assert c.all_points() == [] and isnan(c.last)


def test_curves_with_values_that_are_not_finite():
    c = Curve()
    for step, x in enumerate((1.0, nan, 3.0)):
        c.add(step, x)
    assert (c.low, c.high) == (1.0, 3.0) and isnan(c.all_points()[1][1])


def test_events_are_what_jsonl_has():
    for e in played.run():
        assert Event.from_dict(e.to_dict()) == e


def test_messages_are_kept_to_a_length():
    s = folded(Message("info", str(i), at=1.0) for i in range(500))
    assert len(s.log) == 200 and s.log[-1][2] == "499"


def test_the_newest_value_counts():
    s = folded([Values("train", 0, [1], {"loss": [5.0]}, at=1.0)])
    assert s.last("loss", "train") == 5.0
    s.take(EpochEnded("train", 0, 1, {"loss": 4.0}, 1.0, at=1.0))
    assert s.last("loss", "train") == 4.0 and s.points("loss", "train") == [(1, 5.0)]


def test_a_complete_run_that_is_fitted_again_keeps_its_end():
    before = [
        RunStarted("r", "d", "cpu", 1, 10, 0, False, {}, at=1.0), EpochStarted("train", 0, 1, 5, at=1.0),
        RunEnded("early", 5, "", at=9.0),
    ]  # fmt: skip
    again = [RunStarted("r", "d", "cpu", 1, 10, 5, True, {}, at=20.0), RunEnded("done", 5, "", at=20.5)]
    state = RunState().take_all([*before, *again])
    assert (state.ended.reason, state.elapsed, state.step) == ("early", 8.0, 5)
    more = [again[0], EpochStarted("train", 1, 2, 5, at=20.0), again[1]]
    state = RunState().take_all([*before, *more])
    assert (state.ended.reason, state.elapsed) == ("done", 0.5)


def test_a_validation_has_a_speed_of_its_own():
    def progress(split, index, seconds):
        return Progress(split, 0, index, 10, index, index * 4, seconds, {}, 0, at=seconds)

    state = RunState().take_all([EpochStarted("train", 0, 2, 10), *(progress("train", i, i) for i in (2, 4))])
    assert text.speed(state) == "1.0 steps/s, 4 items/s"
    state.take_all([EpochStarted("valid", 0, 2, 10), *(progress("valid", i, i / 100) for i in (2, 4))])
    assert text.speed(state) == "100 batches/s, 400 items/s"
    state.take(EpochStarted("train", 1, 2, 10))
    assert text.speed(state) == "1.0 steps/s, 4 items/s"


@pytest.mark.parametrize(
    "reads, said",
    [
        (False, "waits for kernels to be recorded and compiled"),
        (True, "the step is not recorded; the message"),
    ],
    ids=["the first steps", "a step that reads"],
)
def test_python_s_time_is_told_apart(reads, said, capsys):
    """A step that compiles, and one that can't be recorded, are not told to use larger batches."""

    class Slow(nn.Linear):
        def forward(self, x):
            time.sleep(0.12)  # more than the pace of the events, as compiling a network takes
            return super().forward(x) * (2 if reads and x.sum().item() > -1 else 1)

    model, state, lines = Slow(2, 1), RunState(), []

    def take(event):
        state.take(event)
        if event.kind == "progress":
            lines.append(advice(state))

    x = fb.zeros(24, 2)
    loader = data.DataLoader(data.TensorDataset(x, fb.zeros(24, 1)), 4)
    Learner(model, optim.SGD(model.parameters(), 0.1), nn.MSELoss(), renderers=[take]).fit(loader, epochs=1)
    assert said in lines[-1 if reads else 0] and not any("larger" in line for line in lines)
    told = "it reads values: return the tensor and read it outside (" in capsys.readouterr().err
    assert told == reads
