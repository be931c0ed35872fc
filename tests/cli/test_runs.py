"""`flambeau runs`: folders of made-up runs into a table and into JSON."""

import json

from click.testing import CliRunner
from helpers import played

from flambeau.cli import main
from flambeau.learner.loggers import JSONL


def flambeau(*args):
    return CliRunner().invoke(main, [str(a) for a in args], env={"COLUMNS": "100"})


def logged(folder, events):
    logger = JSONL(folder / "events.jsonl")
    for event in events:
        logger(event)


def test_runs_are_listed_side_by_side(tmp_path):
    logged(tmp_path / "first", played.run("first"))
    logged(tmp_path / "deep" / "second", list(played.run("second", shift=0.5))[:40])  # killed
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "events.jsonl").write_text("{")
    done = flambeau("runs", tmp_path)
    assert done.exit_code == 0, done.output
    head, splits, *rows = [line.split() for line in done.stdout.splitlines()]
    assert head == ["loss", "loss", "lr", "accuracy", "accuracy"]
    assert splits == ["run", "state", "step", "done", "time", "train", "valid", "train", "train", "valid"]
    assert sorted(rows) == [
        ["deep/second", "going", "170", "40%", "1.8", "s", "1.319", "1.878", "0.03704", "0.9", "0.7433"],
        ["first", "done", "400", "100%", "4.4", "s", "0.2892", "0.3892", "0.02", "0.9", "0.9653"],
    ]
    assert flambeau("runs", tmp_path, "--name", "eco").stdout.count("done") == 1  # the head's
    (row,) = json.loads(flambeau("runs", tmp_path, "--name", "first", "--json").stdout)
    assert row["directory"] == str(tmp_path / "first") and row["config"] == {"lr": 0.1, "batch_size": 64}
    assert (row["state"], row["step"], row["epochs"], row["done"]) == ("done", 400, 4, 1.0)
    assert row["metrics"]["valid/loss"] == played.loss(400) + 0.1
    assert [step for step, _ in row["curves"]["valid/accuracy"]] == [100, 200, 300, 400]


def test_a_narrow_terminal_shows_whole_columns(tmp_path):
    logged(tmp_path / "first", played.run("first"))
    done = CliRunner().invoke(main, ["runs", str(tmp_path)], env={"COLUMNS": "60"})
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 60 and "…" not in done.stdout
    assert lines[0].split() == ["loss", "loss", "accuracy"] and lines[1].split()[5:] == [
        "train",
        "valid",
        "valid",
    ]
    assert lines[3] == "2 more columns do not fit: use a wider terminal or --json"
    done = CliRunner().invoke(main, ["runs", str(tmp_path)], env={"COLUMNS": "36"})
    assert "5 more columns do not fit" in done.stdout and "loss" not in done.stdout


def test_folders_without_runs(tmp_path):
    for more, which in (((), "no run"), (("--name", "x"), "no run with 'x' in its name")):
        done = flambeau("runs", tmp_path, *more)
        assert done.exit_code == 1 and done.stdout == ""
        rule = f"{which} in this folder: the folder of a run holds events.jsonl"
        assert done.stderr == f"flambeau: runs({str(tmp_path)!r}): {rule}\n"
