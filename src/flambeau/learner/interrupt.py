"""Handles Ctrl-C and SIGTERM: the first waits for the end of the step, the second stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

SIGNALS = {"SIGINT": "Ctrl-C", "SIGTERM": "SIGTERM"}  # signals that end a process, and their names for users


class Signals:
    """Inside this context the first signal calls `ask`, which must not print, because the interrupted
    code may be printing. Later signals have their previous effect. Python delivers signals only to the
    main thread; in other threads this context does nothing."""

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
        """The name of the received signal for users; "" before one."""
        return SIGNALS[signal.Signals(self.came).name] if self.came else ""

    def _restore(self) -> None:
        before, self._before = self._before, {}
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def __exit__(self, *_: object) -> None:
        self._restore()

    def act(self) -> None:
        """Raise KeyboardInterrupt, or SystemExit(143) after SIGTERM."""
        if self.came == signal.SIGINT:
            raise KeyboardInterrupt
        if self.came:
            raise SystemExit(128 + self.came)
