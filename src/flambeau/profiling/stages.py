"""Records the host's stages: when each began and ended, and its time without inner stages."""

import threading
from contextlib import contextmanager
from time import perf_counter_ns
from typing import NamedTuple


class Stage(NamedTuple):
    """A stage of the host's work, in ns of the host's clock; `own` is without the stages inside it."""

    name: str
    thread: int
    begin: int
    end: int
    own: int


class _OfThread(threading.local):
    """The stages that a thread is in: for each, the ns of those inside it so far."""

    def __init__(self) -> None:
        self.inside: list[int] = []


class Stages:
    """Stages as they end; `rows` has them."""

    def __init__(self) -> None:
        self.rows: list[Stage] = []
        self._of_thread = _OfThread()

    @contextmanager
    def stage(self, name: str):
        """Enclose a stage of this thread's work."""
        stack = self._of_thread.inside
        stack.append(0)
        begin = perf_counter_ns()
        try:
            yield
        finally:
            end = perf_counter_ns()
            inside = stack.pop()
            if stack:
                stack[-1] += end - begin
            self.rows.append(Stage(name, threading.get_ident(), begin, end, end - begin - inside))
