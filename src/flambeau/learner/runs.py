"""Finds the runs in a folder and reads their events from the JSONL files that a logger wrote."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..errors import FlambeauError
from .events import Event
from .run_view import RunState

EVENTS = "events.jsonl"  # the file of events in a run's folder


def read_events(path: str | Path) -> Iterator[Event]:
    """Read the events of the JSONL file `path`, in order. Invalid and incomplete lines are skipped."""
    # A run may be writing the file, so it can end inside a character or a line.
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                yield Event.from_dict(json.loads(line))
            except (ValueError, AttributeError):  # not JSON, an unknown kind, or not a dict
                continue


def read_run(path: str | Path) -> RunState:
    """Read the state of a run. path: its folder, or its JSONL file. FlambeauError if the file is missing."""
    file = Path(path) / EVENTS if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise FlambeauError(f"read_run({str(path)!r}): no run there: {file} does not exist")
    return RunState().take_all(read_events(file))


def modified_at(path: Path) -> float:
    """Return the time of a file's last change; 0 if it no longer exists."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def find_runs(folder: str | Path) -> list[Path]:
    """List the folders of runs at and below a folder, newest first."""
    files = sorted(Path(folder).rglob(EVENTS), key=modified_at, reverse=True)
    return [file.parent for file in files]


def sibling_runs(directory: str | Path, most: int = 4) -> list[RunState]:
    """Read the newest runs in the sibling folders of a run's folder, at most `most`."""
    folder = Path(directory).resolve()
    files = [p for p in folder.parent.glob(f"*/{EVENTS}") if p.parent != folder]
    newest = sorted(files, key=modified_at, reverse=True)[:most]
    states: list[RunState] = []
    for path in newest:
        with suppress(FlambeauError, OSError):  # another process may remove it now
            states.append(read_run(path))
    return [state for state in states if state.started]
