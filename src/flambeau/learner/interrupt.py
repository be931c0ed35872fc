"""Handles Ctrl-C and SIGTERM: the first ends the run after the step, the second ends the process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

SIGNALS = {"SIGINT": "Ctrl-C", "SIGTERM": "SIGTERM"}  # signals that end a process, with their text for users


class Signals:
    """A context in which the first signal calls `ask`; later signals have their previous effect.

    `ask` must not print, because the interrupted code may be printing. Python runs handlers only in the main
    thread; in other threads this context does nothing.
    """

    def __init__(self, ask: Callable[[], Any]):
        self.ask, self.received = ask, 0  # the signal's number; 0 before one
        self._previous_handlers: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]:
                if signal.getsignal(number) is not signal.SIG_IGN:  # a job in the background ignores Ctrl-C
                    self._previous_handlers[number] = signal.signal(number, self._note_first)
        return self

    def _note_first(self, number: int, _: Any) -> None:
        self.received = number
        self._restore()
        self.ask()

    @property
    def name(self) -> str:
        """The name of the received signal for users; "" before one."""
        return SIGNALS[signal.Signals(self.received).name] if self.received else ""

    def _restore(self) -> None:
        before, self._previous_handlers = self._previous_handlers, {}
        for number, handler in before.items():
            # getsignal returns None for a handler that was not installed from Python.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def __exit__(self, *_: object) -> None:
        self._restore()

    def act(self) -> None:
        """Raise KeyboardInterrupt, or SystemExit(143) after SIGTERM."""
        if self.received == signal.SIGINT:
            raise KeyboardInterrupt
        if self.received:
            # the shell's exit status of a process that a signal ended
            raise SystemExit(128 + self.received)
