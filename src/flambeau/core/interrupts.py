"""Interrupts: a Ctrl-C that comes while state is put together waits until it is whole."""

import signal
import threading
from typing import Any

SIGINT = int(signal.SIGINT)
_c: Any = getattr(signal, "_signal", signal)  # what makes no enums of numbers takes a tenth of the time


class uninterrupted:
    """Inside this context the first SIGINT waits for the end, where the handler that it found is called; the
    second calls it at once.

    Python calls handlers in the main thread alone: in others there is nothing to do.
    """

    def __enter__(self) -> None:
        self.handler: Any = None
        self.came: tuple | None = None
        if threading.current_thread() is not threading.main_thread():
            return
        handler = _c.getsignal(SIGINT)
        if callable(handler):  # neither ignored, nor the end of the process, nor another language's
            try:
                _c.signal(SIGINT, self._wait)
            except ValueError:  # a subinterpreter has no handlers
                return
            self.handler = handler

    def _wait(self, *given: Any) -> None:
        if self.came is not None:
            self.handler(*given)
        self.came = given

    def __exit__(self, *_: object) -> None:
        if self.handler is not None:
            _c.signal(SIGINT, self.handler)
            if self.came is not None:
                self.handler(*self.came)
