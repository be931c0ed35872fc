"""Handles Ctrl-C and SIGTERM: the first waits for the end of the step, the second stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

SIGNALS = {"SIGINT": "Ctrl-C", "SIGTERM": "SIGTERM"}  # those that end a process, and what a user calls them


class Signals:
    """Inside this context the first signal calls `ask`, which may print nothing: what it interrupts may be
    printing. The ones after it do what they did before. Only the main thread is told of signals: elsewhere
    there is nothing to do."""

    def __init__(self, ask: Callable[[], Any]):
        self.ask, self.came = ask, 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]:
                if signal.getsignal(number) is not signal.SIG_IGN:  # a job in the background ignores Ctrl-C
                    self._before[number] = signal.signal(number, self._first)
        return self

    def _first(self, number: int, _: Any) -> None:
        self.came = number
        self._restore()
        self.ask()

    @property
    def name(self) -> str:
        """What a user calls the signal that came; "" before."""
        return SIGNALS[signal.Signals(self.came).name] if self.came else ""

    def _restore(self) -> None:
        before, self._before = self._before, {}
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def __exit__(self, *_: object) -> None:
        self._restore()

    def act(self) -> None:
        """Do what the signal asked for: KeyboardInterrupt, or an exit with 143 as after SIGTERM."""
        if self.came == signal.SIGINT:
            raise KeyboardInterrupt
        if self.came:
            raise SystemExit(128 + self.came)
