"""Lets child processes of multiprocessing have `flambeau.torch` as torch before they import the script.

A forked child has what its parent has; those of the methods "spawn" and "forkserver" begin anew.
"""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .module_tree import on_install

SOURCES = str(Path(__file__).parents[2])
FIRST = f"{__package__}.installed"


class _PlainCommand:
    """multiprocessing's own function, while it is replaced."""

    command: Callable[..., list[str]] | None = None


def _command(**arguments: Any) -> list[str]:
    """The command line of a child of method "spawn"."""
    assert _PlainCommand.command is not None
    command = list(_PlainCommand.command(**arguments))
    if "-c" in command:  # else the program is frozen
        # At the end of sys.path, for the import alone: the child gets its parent's paths later.
        before = f"import sys; sys.path.append({SOURCES!r}); import {FIRST}; sys.path.pop(); "
        place = command.index("-c") + 1
        command[place] = before + command[place]
    return command


def _begin() -> None:
    """Children that start from now on have it."""
    spawn: Any = importlib.import_module("multiprocessing.spawn")
    if _PlainCommand.command is None:
        _PlainCommand.command, spawn.get_command_line = spawn.get_command_line, _command
        importlib.import_module("multiprocessing").set_forkserver_preload([FIRST, "__main__"])


def _end() -> None:
    """Children that start from now on are plain ones."""
    spawn: Any = importlib.import_module("multiprocessing.spawn")
    if _PlainCommand.command is not None:
        spawn.get_command_line, _PlainCommand.command = _PlainCommand.command, None
        importlib.import_module("multiprocessing").set_forkserver_preload(["__main__"])


if sys.platform != "emscripten":  # a page starts no processes
    on_install.append((_begin, _end))
