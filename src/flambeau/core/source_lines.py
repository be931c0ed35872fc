"""The lines of the user's program that made nodes. Only `record_lines` records them: nodes created outside of
it have no line and cost nothing extra."""

import linecache
import sys
import sysconfig
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType
from typing import NamedTuple
from weakref import WeakKeyDictionary

from .files import CODE, HERE
from .node import Node, watch_serials

MODELS = str(Path(CODE, "models"))  # counts as the user's code
LIBRARY = tuple(dict.fromkeys(sysconfig.get_path(name) for name in ("stdlib", "platstdlib")))
NEW_NODE: CodeType = Node.__init__.__code__


class SourceLine(NamedTuple):
    """A line of the user's program; as text `train.py:12: y = x.relu()`."""

    file: str
    number: int

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.number).strip()
        return f"{shown_path(self.file)}:{self.number}" + (f": {text}" if text else "")


_lines: WeakKeyDictionary[Node, SourceLine] = WeakKeyDictionary()


def line_of(node: Node) -> SourceLine | None:
    """The line that created a node; None if it was not recorded."""
    return _lines.get(node)


@contextmanager
def record_lines() -> Generator[None]:
    """Record the line of each node that is made in this block, by any thread. Calls are slower in it."""
    with watch_serials(_note):
        yield


def is_ours(file: str) -> bool:
    """Whether a file is of this package, models aside: those are read like a user's code."""
    return file.startswith(CODE) and not file.startswith(MODELS)


def is_library(file: str) -> bool:
    """Whether a file is of Python's own library, and of no installed package."""
    return file.startswith("<frozen") or (file.startswith(LIBRARY) and "site-packages" not in file)


def shown_path(file: str) -> str:
    """A file's path without private folders: relative to the current folder or to the package."""
    path = Path(file)
    for above in (Path.cwd(), HERE.parent):
        if path.is_absolute() and path.is_relative_to(above):
            return path.relative_to(above).as_posix()
    return file


def user_line() -> str:
    """Return the nearest line of the user's code that runs, as "file.py:12"; "" if there is none."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and not _is_user(frame.f_code.co_filename):
        frame = frame.f_back
    return "" if frame is None else f"{shown_path(frame.f_code.co_filename)}:{frame.f_lineno}"


@cache
def _is_user(file: str) -> bool:
    return not is_ours(file) and not is_library(file)


def _note(serial: int) -> None:
    """Record the nearest line of the user's code for the node that draws a serial number."""
    node: Node | None = None
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if node is None and frame.f_code is NEW_NODE:
            node = frame.f_locals["self"]
        if _is_user(frame.f_code.co_filename):
            if node is not None:  # a serial number may also be drawn without a node
                _lines[node] = SourceLine(frame.f_code.co_filename, frame.f_lineno)
            return
        frame = frame.f_back
