"""`flambeau runs`: lists the runs of a folder with their last metrics."""

import json
from pathlib import Path
from typing import Any

import click

from ..errors import FlambeauError
from ..learner.run_view import RunState
from ..learner.runs import find_runs, read_run
from ..learner.text import duration, value

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

    columns = columns_of([state for _, state in entries])
    table = Table(box=None, header_style="bold")
    for head in ("run", "state", "step", "done", "time"):
        table.add_column(head, justify="left" if head in ("run", "state") else "right", no_wrap=head == "run")
    for name, split in columns:
        table.add_column(f"{name}\n{split}", justify="right")
    for path, s in entries:
        shown_path = path.relative_to(folder) if path.is_relative_to(folder) and path != folder else path
        state = s.ended.reason if s.ended else RUNNING
        shown = [value(s.last(name, split)) for name, split in columns]
        table.add_row(str(shown_path), state, f"{s.step:,}", f"{s.done:.0%}", duration(s.elapsed), *shown)
    Console().print(table)


def columns_of(states: list[RunState]) -> list[tuple[str, str]]:
    """Return the (metric, split) pairs that any run has, sorted by metric."""
    series = dict.fromkeys(key for s in states for key in [*s.epochs, *s.curves])
    # `names` of a state has losses first; dict.fromkeys keeps this order.
    names = dict.fromkeys(name for s in states for name in s.names)
    return [(n, split) for n in names for split in ("train", "valid", "test") if (n, split) in series]
