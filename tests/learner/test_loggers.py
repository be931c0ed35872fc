"""Events into files, read back by csv, json, and TensorBoard's format as its own reader takes it apart."""

import csv
import json
import struct
import warnings
from types import SimpleNamespace

import pytest
from helpers import played

import flambeau as fb
from flambeau import nn, optim
from flambeau.errors import FlambeauError
from flambeau.learner import Callback, Learner, loggers
from flambeau.learner.events import EpochEnded, Event, Message, RunEnded, RunStarted, Values
from flambeau.learner.loggers import CSV, JSONL, LogCalls, Page, TensorBoard
from flambeau.learner.page import html
from flambeau.learner.run_view import RunState
from flambeau.learner.runs import find_runs, read_events, read_run, sibling_runs
from flambeau.learner.tensorboard import crc32c


def log(logger, events):
    for event in events:
        logger(event)
    return logger


def test_jsonl_is_exactly_the_events(tmp_path):
    events = list(played.run(directory=str(tmp_path)))
    log(JSONL(), events)
    assert list(read_events(tmp_path / "events.jsonl")) == events
    log(JSONL(), played.run("again", str(tmp_path)))
    assert read_run(tmp_path).name == "again"
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == 2 * len(events)


def test_values_are_held_for_a_moment_and_no_other_event(tmp_path):
    events, path = list(played.run()), tmp_path / "e.jsonl"
    logger, holds = JSONL(path), []
    for i, event in enumerate(events[:-1]):
        logger(event)
        written = list(read_events(path))
        held = events[len(written) : i + 1]
        assert written == events[: len(written)] and {e.kind for e in held} <= {"values", "progress"}
        assert not held or event.at - held[0].at < 0.25
        holds.append(bool(held))
    assert any(holds)


def test_a_clock_that_is_set_back_holds_nothing_longer(tmp_path):
    logger = JSONL(tmp_path / "e.jsonl")
    for event in (
        next(played.run()),
        *(Values("train", 0, [i], {}, at=at) for i, at in enumerate((50, 9, 9.1))),
    ):
        logger(event)
    assert [e.at for e in logger.held] == [9.1] and len(list(read_events(tmp_path / "e.jsonl"))) == 3


def test_runs_beside_that_cant_be_read_are_left_out(tmp_path):
    for name in ("first", "own"):
        log(JSONL(), played.run(name, directory=str(tmp_path / name)))
    (tmp_path / "strange" / "events.jsonl").mkdir(parents=True)
    assert [state.name for state in sibling_runs(tmp_path / "own")] == ["first"]


def test_a_line_that_was_cut_costs_itself_alone(tmp_path):
    events, path = list(played.run()), tmp_path / "a" / "log.jsonl"
    log(JSONL(path), events[:-1])
    path.write_bytes(path.read_bytes()[:-7])
    log(JSONL(path), [RunStarted("r", "", "cpu", 4, 1, 300, True, {}, at=5.0), events[-1]])
    assert [e.kind for e in read_events(path)] == [e.kind for e in events[:-2]] + ["run_started", "run_ended"]
    path.write_text('3\n[]\n{"kind": "unknown"}\n{"kind": "saved"}\n\xff\n')
    assert list(read_events(path)) == []


@pytest.mark.parametrize(
    "kind, name, value",
    [
        ("run_started", "step", "x"),
        ("run_started", "config", []),
        ("run_started", "resumed", None),
        ("epoch_started", "steps", "9"),
        ("progress", "waits", {"data": "0.1"}),
        ("progress", "at", None),
        ("progress", "split", []),
        ("progress", "step", 1.5),
        ("values", "steps", 3),
        ("values", "steps", [True]),
        ("values", "values", {"loss": 0.5}),
        ("values", "values", {"loss": [None]}),
        ("epoch_ended", "metrics", {"loss": None}),
        ("message", "level", "loud"),
        ("run_ended", "reason", {}),
        ("run_ended", "kind", ["run_ended"]),
        ("message", "at", float("inf")),
    ],
)
def test_a_line_of_wrong_types_costs_itself_alone(tmp_path, kind, name, value):
    events = [*played.run(), Message("info", "it goes on")]
    wrong = next(e for e in events if e.kind == kind).to_dict() | {name: value}
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(d) + "\n" for d in [wrong, *(e.to_dict() for e in events), wrong]))
    assert list(read_events(path)) == events
    if name != "kind":
        with pytest.raises(ValueError, match=f"{name}=.*: pass the result of to_dict"):
            Event.from_dict(wrong)


def test_an_epoch_that_ends_again_after_a_kill_has_its_row_once(tmp_path):
    path = tmp_path / "m.csv"
    begin = RunStarted("r", "", "cpu", 4, 1, 0, False, {}, at=1.0)
    ends = [EpochEnded("train", 0, 9, {"loss": 0.5}, 1.0), EpochEnded("test", 0, 9, {"loss": 0.1}, 1.0)]
    again = [
        RunStarted("r", "", "cpu", 4, 1, 9, True, {}, at=2.0),
        *ends,
        EpochEnded("valid", 0, 9, {"loss": 0.7}, 1.0),
        EpochEnded("train", 1, 18, {"loss": 0.4}, 1.0),
    ]
    log(CSV(path), [begin, *ends])
    log(CSV(path), [*again, RunEnded("done", 18, "")])
    told = [(r["step"], r["split"], r["value"]) for r in rows(path)]
    assert told == [
        ("9", "train", "0.5"),
        ("9", "test", "0.1"),
        ("9", "test", "0.1"),  # an evaluation of its own
        ("9", "valid", "0.7"),
        ("18", "train", "0.4"),
    ]
    state = RunState().take_all([begin, *ends, *again])
    assert state.points("loss", "valid") == [(9, 0.7)]
    assert state.epochs["loss", "train"].all_points() == [(9, 0.5), (18, 0.4)]


def test_runs_of_a_folder(tmp_path):
    for name in ("a", "b", "c"):
        log(JSONL(), played.run(name, str(tmp_path / name)))
    assert {p.name for p in find_runs(tmp_path)} == {"a", "b", "c"}
    assert {s.name for s in sibling_runs(tmp_path / "b")} == {"a", "c"} and len(
        sibling_runs(tmp_path / "b", most=1)
    ) == 1
    rule = f"read_run({str(tmp_path)!r}): no run there: {tmp_path}/events.jsonl does not exist"
    with pytest.raises(FlambeauError) as caught:
        read_run(tmp_path)
    assert str(caught.value) == rule


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_csv_has_a_row_a_value(tmp_path):
    log(CSV(), played.run(directory=str(tmp_path), epochs=2))
    found = rows(tmp_path / "metrics.csv")
    assert len(found) == 2 * 200 + 2 * 2 * 2
    assert list(found[0].values()) == ["1", "0", "train", "step", "loss", str(played.loss(1))]
    assert list(found[0]) == ["step", "epoch", "split", "of", "name", "value"]
    assert (
        found[-1]["value"] == str(1 - 0.5 * 2.718281828459045 ** (-200 / 150)) and found[-1]["of"] == "epoch"
    )


def test_csv_of_a_run_that_goes_on_has_each_step_once(tmp_path):
    path = tmp_path / "m.csv"
    events = list(played.run())
    log(CSV(path), events[:30])
    with open(path, "a") as file:
        file.write("99,0,tr")  # cut
    again = RunStarted("r", "", "cpu", 4, 1, 57, True, {})
    log(CSV(path), [again, Values("train", 0, [58], {"loss": [1.0]}), events[-1]])
    steps = [int(row["step"]) for row in rows(path) if row["name"] == "loss"]
    assert steps == list(range(1, 59))
    log(CSV(path), [*events[:4], events[-1]])
    assert len(rows(path)) == 20  # another run


def test_a_run_that_was_killed_and_goes_on_has_each_step_once(tmp_path):
    def fit(*callbacks):
        model = nn.Linear(2, 1).to("cpu")
        options = {"directory": tmp_path, "checkpoint_every": 3, "callbacks": callbacks}
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        learner = Learner(model, optimizer, nn.MSELoss(), renderers=[CSV(), JSONL()], **options)
        batches = [(fb.ones(2, 2, device="cpu"), fb.zeros(2, 1, device="cpu"))] * 4
        learner.fit(batches, epochs=2, resume=True)

    class Killed(Callback):
        def after_step(self, learner):
            learner.checkpoints.wait()
            if learner.step == 5:
                learner.stop("killed")

    fit(Killed())
    fit()
    steps = [
        int(row["step"])
        for row in rows(tmp_path / "metrics.csv")
        if row["of"] == "step" and row["name"] == "loss"
    ]
    assert steps == [*range(1, 9)] == [step for step, _ in read_run(tmp_path).points("loss", "train")]


def records(path):
    """The data of each record, whose checksums are right."""
    data, out = path.read_bytes(), []
    while data:
        (n,) = struct.unpack("<Q", data[:8])
        for part, sum_ in ((data[:8], data[8:12]), (data[12 : 12 + n], data[12 + n : 16 + n])):
            crc = crc32c(part)
            assert (
                struct.unpack("<I", sum_)[0]
                == ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF
            )
        out.append(data[12 : 12 + n])
        data = data[16 + n :]
    return out


def test_checksums_are_those_of_the_rfc():
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA and crc32c(b"\xff" * 32) == 0x62A8AB43  # RFC 3720, B.4


def test_tensorboard_files(tmp_path):
    """Bytes as protoc's code writes them; `tensorboard` 2.21 read such a file when this was written."""
    log(TensorBoard(), [
        RunStarted("r", str(tmp_path), "cpu", 4, 1, 7, True, {}, at=1.0),
        Values("train", 0, [300], {"loss": [0.5]}, at=2.0),
        EpochEnded("valid", 0, 300, {"a": -1.0}, 1.0, at=3.0),
        RunEnded("done", 300, "", at=4.0),
    ])  # fmt: skip
    (path,) = (tmp_path / "tensorboard").iterdir()
    assert path.name.startswith("events.out.tfevents.")
    first, *rest = records(path)
    assert first[9:] == b"\x10\x00\x1a\x0dbrain.Event:2"
    at = [b"\x09" + struct.pack("<d", t) for t in (1.0, 2.0, 3.0)]
    assert rest == [
        at[0] + b"\x10\x08" + b"\x3a\x02\x08\x01",  # a session that starts at step 8
        at[1] + b"\x10\xac\x02" + b"\x2a\x13\x0a\x11\x0a\x0atrain/loss\x15" + struct.pack("<f", 0.5),
        at[2] + b"\x10\xac\x02" + b"\x2a\x16\x0a\x14\x0a\x0depoch/valid/a\x15" + struct.pack("<f", -1.0),
    ]


def test_a_hundred_steps_a_second_at_most_are_passed_on(tmp_path):
    given = []
    run = SimpleNamespace(
        log=lambda values, step: given.append((step, values)), finish=lambda: given.append("end")
    )
    logger = LogCalls(run)
    for i in range(20):  # a second, a thousand steps
        steps = list(range(50 * i, 50 * i + 50))
        logger(Values("train", 0, steps, {"loss": [float(s) for s in steps]}, at=100 + i * 0.05))
    logger(RunEnded("done", 1, ""))
    assert given.pop() == "end"
    assert len(given) == 50 + 50 + 10 + 17 * 5  # a second's worth at once at the most, then five in 50 ms
    assert given[-1] == (999, {"train/loss": 999.0}) and [s for s, _ in given] == sorted(
        {s for s, _ in given}
    )


def test_an_object_with_wandbs_calls():
    calls, config = [], {}
    run = SimpleNamespace(
        log=lambda values, step: calls.append((values, step)), finish=lambda: calls.append("finish")
    )
    run.config = config
    log(LogCalls(run), played.run(epochs=1))
    assert config == {"lr": 0.1, "batch_size": 64}
    assert calls[0] == ({"train/loss": played.loss(1), "train/lr": 0.1 / 1.01}, 1)
    assert calls[-2][0].keys() == {"epoch/valid/loss", "epoch/valid/accuracy"} and calls[-1] == "finish"


def test_a_logger_that_fails_says_so_once_and_is_tried_again(monkeypatch):
    now, calls = [1000.0], []
    monkeypatch.setattr("flambeau.learner.loggers.time", SimpleNamespace(monotonic=lambda: now[0]))

    def fail(values, step):
        calls.append(step)
        raise ConnectionError("no network")

    logger = LogCalls(SimpleNamespace(log=fail, finish=lambda: None))
    message = (
        "LogCalls: an event was not logged: ConnectionError: no network: the run continues, and"
        " the logger retries every 60 s"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        log(logger, played.run(epochs=1))
        assert len(calls) == 1
        now[0] += 61
        log(logger, played.run(epochs=1))
    assert len(calls) == 2 and [str(w.message) for w in caught] == [message]


def test_a_page_is_written_whole_and_not_too_often(tmp_path, monkeypatch):
    now, seen = {"at": 100.0}, []
    monkeypatch.setattr(loggers.time, "monotonic", lambda: now["at"])
    page, path = Page(every=3), tmp_path / "run.html"
    for i, event in enumerate(played.run("<digits>", str(tmp_path), epochs=2)):
        now["at"] = 100.0 + i / 10
        page(event)
        text = path.read_text(encoding="utf-8")
        seen += [text] if [text] != seen[-1:] else []
        assert text.startswith("<!doctype html>") and text.endswith("</body></html>\n")
    assert [p.name for p in tmp_path.iterdir()] == ["run.html"]
    assert 3 <= len(seen) <= 2 + i / 30 + 1  # the begin, the end, and one every three seconds
    for text in seen[:-1]:
        assert '<meta http-equiv="refresh" content="3">' in text
    assert "refresh" not in seen[-1] and "<svg" in seen[-1] and "<title>&lt;digits&gt;</title>" in seen[-1]
    assert html(page.state) in seen[-1]


def test_a_page_of_a_place_and_of_a_run_that_begins_again(tmp_path):
    path = tmp_path / "www" / "a.html"
    page = log(Page(path), played.run("first", epochs=1))
    log(page, list(played.run("second", epochs=1))[:3])
    text = path.read_text(encoding="utf-8")
    assert "<title>second</title>" in text and 'content="2"' in text
    with pytest.warns(UserWarning) as told:
        log(Page(), played.run(epochs=1))
    why = "ValueError: the run has no directory: pass directory= to Learner, or a path to the logger"
    rule = "the run continues, and the logger retries every 60 s"
    assert str(told[0].message) == f"Page: an event was not logged: {why}: {rule}" and len(told) == 1
    for every in (0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError) as e:
            Page(every=every)
        assert str(e.value) == (
            f"Page(every={every}): must be a finite number of seconds above 0: pass another value"
        )


def test_a_page_knows_what_came_while_the_disk_was_full(tmp_path, monkeypatch):
    def full(path, write):
        raise OSError(28, "No space left on device")

    events, page = list(played.run(directory=str(tmp_path), epochs=2)), Page()
    with monkeypatch.context() as m, pytest.warns(UserWarning, match="No space left on device"):
        m.setattr(loggers, "write_whole", full)
        log(page, events[:-1])
    monkeypatch.setattr(loggers, "AGAIN", 0.0)
    page.rest = float("-inf")
    page(events[-1])
    assert html(RunState().take_all(events)) in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for make in (JSONL, CSV, TensorBoard):
        with pytest.warns(
            UserWarning, match=f"{make.__name__}: an event was not logged: (FileExists|NotADirectory)Error"
        ):
            log(make(tmp_path / "file" / "x"), played.run(epochs=1))
        with pytest.warns(
            UserWarning,
            match=(
                "ValueError: the run has no directory: pass directory= to Learner, or a path to the logger"
            ),
        ):
            log(make(), played.run(epochs=1))


def test_a_full_disk_leaves_whole_lines(tmp_path, monkeypatch):
    """A write that was cut short is followed by a new line."""
    import os

    logger, path, whole = JSONL(tmp_path / "e.jsonl"), tmp_path / "e.jsonl", os.write
    events = list(played.run(epochs=1))
    log(logger, events[:3])
    monkeypatch.setattr(os, "write", lambda fd, data: whole(fd, data[:10]))
    logger(events[-3])
    monkeypatch.setattr(os, "write", whole)
    log(logger, events[-2:])
    assert list(read_events(path)) == events[:2] + events[-2:]
    assert sum(1 for line in path.read_text().splitlines() if not line.endswith("}")) == 1


def test_the_first_line_of_a_file_is_readable_by_anybody(tmp_path):
    log(JSONL(), played.run(directory=str(tmp_path)))
    first = json.loads((tmp_path / "events.jsonl").read_text().splitlines()[0])
    assert first["kind"] == "run_started" and first["config"] == {"lr": 0.1, "batch_size": 64}
