"""What a thread is doing and what all threads share: who records, who measures, what waits for its value."""

import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from typing import Any, Protocol

from ..core.node import Node


class CallRecorder(Protocol):
    """What listens to the calls of a thread in place of running them.

    made: what is made of the host's numbers meanwhile, by what it holds. numbers: HostScalars whose values
    are taken as Python numbers. start: nodes from before have smaller serial numbers.
    """

    start: int
    made: Any
    numbers: Any

    def defer(self, tensors: Any) -> None:
        """These are asked for now."""

    def note(self, t: Any, old: Node) -> None:
        """A tensor is assigned to; `old` is what it was."""

    def spoil(self, why: str) -> None:
        """What happens now can't be recorded."""


class _Thread(threading.local):
    """Of one thread; defaults of the class, since looking for what is not there takes longest."""

    recorder: Any = None  # a CallRecorder, while it listens
    computing: Any = None  # what computes a GPU's nodes in place of their plan, while it looks at them

    def __init__(self):
        self.pending: dict[int, Any] = {}  # tensors it assigned to, not computed yet: they join its next run


class _Shared:
    """Of all threads."""

    tuner: Callable[..., None] | None = None  # what measures variants before a graph is planned
    recorder: Any = None  # of the call that is being recorded, by whichever thread: there is one
    marks = 0  # changes whenever a tensor is told whether gradients are taken by it


thread = _Thread()
_marks = count(1)
taken_by: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()  # key of a parameter: tensor
shared = _Shared()


@contextmanager
def record_with(recorder: CallRecorder | None) -> Generator[None]:
    """Have a recorder listen to this thread; it may stop before (`stop_recording`)."""
    before, thread.recorder = thread.recorder, recorder
    try:
        yield
    finally:
        thread.recorder = before


@contextmanager
def compute_with(computing: Callable[[Any, list[Node]], None]) -> Generator[None]:
    """Have this thread's nodes on GPUs computed by `computing(device, roots)`; nothing is recorded meanwhile.

    The device's lock is held while it is called.
    """
    before, thread.computing = thread.computing, computing
    try:
        yield
    finally:
        thread.computing = before


def stop_recording() -> None:
    """Have the rest of a recorded call run as it is."""
    thread.recorder = None


@contextmanager
def overheard() -> Generator[None]:
    """Inside, `overhear_with` may name a recorder that is told what other threads assign to."""
    before = shared.recorder
    try:
        yield
    finally:
        shared.recorder = before


def overhear_with(recorder: Any) -> None:
    """Tell a recorder what other threads assign to, until `overheard` ends."""
    shared.recorder = recorder


def tune_with(tuner: Callable[..., None] | None) -> Callable[..., None] | None:
    """Call `tuner` before a graph is planned; the one before."""
    before, shared.tuner = shared.tuner, tuner
    return before


def mark() -> None:
    """Remember that a tensor was told whether gradients are taken by it, or got or lost a hook."""
    shared.marks = next(_marks)


def assigned(tensor: Any, old: Node) -> None:
    """Remember that a tensor was assigned to: it gets its value with the thread's next run."""
    key, pending, mine, other = id(tensor), thread.pending, thread.recorder, shared.recorder
    if mine is not None:
        mine.note(tensor, old)
    if other is not None and other is not mine:
        other.overhear(tensor, old)
    pending[key] = weakref.ref(tensor, lambda _: pending.pop(key, None))


def with_next_run(tensor: Any) -> None:
    """Compute a first value with the thread's next run: all layers of a model in one submit, and none of it
    in a step."""
    if tensor.node.buffer is None:
        assigned(tensor, tensor.node)


def unassigned(tensor: Any) -> None:
    """A tensor has again what it had before: nothing of it waits."""
    thread.pending.pop(id(tensor), None)
