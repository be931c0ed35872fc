"""`flambeau runs`: lists the runs of a folder with their last metrics."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..errors import FlambeauError
from ..learner.run_view import RunState
from ..learner.runs import find_runs, read_run
from ..learner.text import duration, value

FACTS = ("run", "state", "step", "done", "time")
RUNNING = "going"  # running or killed: the file does not show which


@click.command(short_help="List the runs of a folder with their last metrics.")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with per-epoch curves.")
@click.option("--name", default="", help="Only runs whose folder name contains this.")
def runs(folder: Path, as_json: bool, name: str):
    """List the runs in FOLDER and its subfolders, newest first, with the last value of each metric.

    Example: flambeau runs experiments --name mnist
    """
    runs_read = [(path, read_run(path)) for path in find_runs(folder) if name in path.name]
    # A file whose first event is incomplete has no name or device yet.
    runs_read = [(path, state) for path, state in runs_read if state.started]
    if not runs_read:
        which = f"no run with {name!r} in its name" if name else "no run"
        rule = f"{which} in this folder: the folder of a run holds events.jsonl"
        raise FlambeauError(f"runs({str(folder)!r}): {rule}")
    if as_json:
        click.echo(json.dumps([row_of(path, state) for path, state in runs_read], indent=2))
    else:
        show(folder, runs_read)


def row_of(path: Path, state: RunState) -> dict[str, Any]:
    """Return the facts of a run as plain values."""
    assert state.started is not None
    shown = {f"{s}/{name}": state.last(name, s) for s in state.splits for name in state.names}
    return {
        "directory": str(path),
        "run": state.name,
        "state": state.ended.reason if state.ended else RUNNING,
        "step": state.step,
        "epochs": state.started.epochs,
        "done": state.done,
        "seconds": state.elapsed,
        "device": state.started.device,
        "parameters": state.started.parameters,
        "config": state.started.config,
        "metrics": {name: x for name, x in shown.items() if x is not None},
        "curves": {f"{split}/{name}": c.all_points() for (name, split), c in state.epochs.items()},
    }


def show(folder: Path, entries: list[tuple[Path, RunState]]) -> None:
    """Print a table with a row per run and a column per metric and split."""
    from rich.console import Console
    from rich.table import Table

    console, rows = Console(), [row_texts(folder, path, state) for path, state in entries]
    columns = columns_of([state for _, state in entries])
    metrics = [
        [f"{name}\n{split}", *(value(s.last(name, split)) for _, s in entries)] for name, split in columns
    ]
    facts = [[head, *texts] for head, texts in zip(FACTS, zip(*rows, strict=True), strict=True)]
    shown = facts + fitting(metrics, console.width - sum(map(width_of, facts)))
    table = Table(box=None, header_style="bold")
    for i, (head, *_) in enumerate(shown):
        table.add_column(head, justify="left" if i < 2 else "right", no_wrap=True)
    for row in zip(*(texts[1:] for texts in shown), strict=True):
        table.add_row(*row)
    console.print(table)
    if left_out := len(facts) + len(metrics) - len(shown):
        noun = "column does" if left_out == 1 else "columns do"
        console.print(f"{left_out} more {noun} not fit: use a wider terminal or --json", style="dim")


def row_texts(folder: Path, path: Path, s: RunState) -> tuple[str, ...]:
    """Return the texts of FACTS for a run."""
    shown_path = path.relative_to(folder) if path.is_relative_to(folder) and path != folder else path
    state = s.ended.reason if s.ended else RUNNING
    return str(shown_path), state, f"{s.step:,}", f"{s.done:.0%}", duration(s.elapsed)


def width_of(texts: Sequence[str]) -> int:
    """Return the width of a column with its margins."""
    return max(len(line) for text in texts for line in text.split("\n")) + 2


def fitting(columns: list[list[str]], room: int) -> list[list[str]]:
    """Return the columns that fit into a width, those of validations first, in their order."""
    ranked = sorted(columns, key=lambda texts: not texts[0].endswith("valid"))
    chosen: list[list[str]] = []
    for texts in ranked:
        if width_of(texts) > room:
            break
        room -= width_of(texts)
        chosen.append(texts)
    return [texts for texts in columns if texts in chosen]


def columns_of(states: list[RunState]) -> list[tuple[str, str]]:
    """Return the (metric, split) pairs that any run has, sorted by metric."""
    series = dict.fromkeys(key for s in states for key in [*s.epochs, *s.curves])
    # `names` of a state has losses first; dict.fromkeys keeps this order.
    names = dict.fromkeys(name for s in states for name in s.names)
    return [(n, split) for n in names for split in ("train", "valid", "test") if (n, split) in series]
