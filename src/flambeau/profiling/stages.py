"""Records the start and end of the host's stages, and their time without inner stages."""

import threading
from contextlib import contextmanager
from time import perf_counter_ns
from typing import NamedTuple


class Stage(NamedTuple):
    """A stage of the host's work, in ns of the host's clock; `own` is its time without inner stages."""

    name: str
    thread: int
    begin: int
    end: int
    own: int


class _OfThread(threading.local):
    """The ns that inner stages have taken so far, for each active stage of a thread."""

    def __init__(self) -> None:
        self.inside: list[int] = []


class Stages:
    """Collects stages in `rows` as they end."""

    def __init__(self) -> None:
        self.rows: list[Stage] = []
        self._of_thread = _OfThread()

    @contextmanager
    def stage(self, name: str):
        """Time a stage of this thread's work as a context manager."""
        stack = self._of_thread.inside
        stack.append(0)
        begin = perf_counter_ns()
        try:
            yield
        finally:
            end = perf_counter_ns()
            inside = stack.pop()
            # All of this stage is an inner part of the stage around it.
            if stack:
                stack[-1] += end - begin
            self.rows.append(Stage(name, threading.get_ident(), begin, end, end - begin - inside))
