"""Finds the runs in a folder and reads their events from the JSONL files that a logger wrote."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..errors import FlambeauError
from .events import Event
from .run_view import RunState

EVENTS = "events.jsonl"  # of each run's folder


def read_events(path: str | Path) -> Iterator[Event]:
    """The events of the JSONL file `path`, in order; lines that are none, or were cut, are left out."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                yield Event.from_dict(json.loads(line))
            except (ValueError, AttributeError):  # not JSON, of no known kind, or no dict
                continue


def read_run(path: str | Path) -> RunState:
    """What is known of a run. path: its folder, or its JSONL file. FlambeauError if there is none."""
    file = Path(path) / EVENTS if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise FlambeauError(f"read_run({str(path)!r}): there is no run: {file} does not exist")
    return RunState().take_all(read_events(file))


def modified_at(path: Path) -> float:
    """When a file was last written; 0 where it is gone."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def find_runs(folder: str | Path) -> list[Path]:
    """The folders of runs in a folder and below, the newest first; the folder itself may be one."""
    files = sorted(Path(folder).rglob(EVENTS), key=modified_at, reverse=True)
    return [file.parent for file in files]


def beside(directory: str | Path, most: int = 4) -> list[RunState]:
    """The newest runs in the folders beside a run's own, at most so many. most: how many."""
    own = Path(directory).resolve()
    files = [p for p in own.parent.glob(f"*/{EVENTS}") if p.parent != own]
    newest = sorted(files, key=modified_at, reverse=True)[:most]
    states: list[RunState] = []
    for path in newest:
        with suppress(FlambeauError, OSError):  # somebody else's, who may be removing it
            states.append(read_run(path))
    return [state for state in states if state.started]
