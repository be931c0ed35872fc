"""Delay Ctrl-C until a section that must not be interrupted has ended."""

import signal
import threading
from typing import Any

SIGINT = int(signal.SIGINT)
_c: Any = getattr(signal, "_signal", signal)  # the C module converts no enums: a tenth of the time


class uninterrupted:
    """Inside this context, the first SIGINT waits for the end and then calls the previous handler. A second
    SIGINT calls it at once.

    Python calls handlers only in the main thread: in other threads this does nothing.
    """

    def __enter__(self) -> None:
        self.handler: Any = None
        self.pending: tuple[Any, ...] | None = None
        if threading.current_thread() is not threading.main_thread():
            return
        handler = _c.getsignal(SIGINT)
        if callable(handler):  # else SIGINT is ignored, ends the process, or has a handler outside Python
            try:
                _c.signal(SIGINT, self._wait)
            except ValueError:  # a subinterpreter has no handlers
                return
            self.handler = handler

    def _wait(self, *arguments: Any) -> None:
        if self.pending is not None:
            self.handler(*arguments)
        self.pending = arguments

    def __exit__(self, *_: object) -> None:
        if self.handler is not None:
            _c.signal(SIGINT, self.handler)
            if self.pending is not None:
                self.handler(*self.pending)
