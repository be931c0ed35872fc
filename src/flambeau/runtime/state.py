"""State of a thread and of all threads: recorders, the tuner, and tensors with pending values."""

import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from typing import Any, Protocol

from ..core.node import Node


class CallRecorder(Protocol):
    """Records the calls of a thread instead of running them.

    host_data: leaves created from host data during the call, with a key of the data. numbers: HostScalars
    whose values were read as Python numbers. start: earlier nodes have smaller serial numbers.
    """

    start: int
    host_data: Any
    numbers: Any

    def defer(self, tensors: Any) -> None:
        """These tensors are to be computed."""

    def note(self, t: Any, old: Node) -> None:
        """A tensor was assigned to; `old` is its previous node."""

    def spoil(self, why: str) -> None:
        """This call can't be recorded. why: the reason."""


class _Thread(threading.local):
    """State of one thread. Defaults are class attributes: a failing lookup is slower."""

    recorder: Any = None  # the active CallRecorder
    gpu: Any = None  # the GPU that computed last
    computing: Any = None  # a function that computes a GPU's nodes instead of their plan
    last_root = -1  # the largest serial number of a run's last root

    def __init__(self) -> None:
        self.pending: dict[int, Any] = {}  # assigned and not yet computed tensors: the next run computes them


class _Shared:
    """State of all threads."""

    tuner: Callable[..., None] | None = None  # measures variants before a graph is planned
    recorder: Any = None  # the recorder of the call that is being recorded, the only one of all threads
    marks = 0  # changes whenever requires_grad or the hooks of a tensor change


thread = _Thread()
_marks = count(1)
# key of a parameter -> its tensor
taken_by: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()
shared = _Shared()


@contextmanager
def record_with(recorder: CallRecorder | None) -> Generator[None]:
    """Record this thread's calls in the block, or until `stop_recording`."""
    before, thread.recorder = thread.recorder, recorder
    try:
        yield
    finally:
        thread.recorder = before


@contextmanager
def compute_with(computing: Callable[[Any, list[Node]], None]) -> Generator[None]:
    """Compute this thread's nodes on GPUs by `computing(device, roots)` in the block, without recording.

    It is called with the device's lock held.
    """
    before, thread.computing = thread.computing, computing
    try:
        yield
    finally:
        thread.computing = before


def stop_recording() -> None:
    """Run the rest of a recorded call without recording it."""
    thread.recorder = None


@contextmanager
def overhear() -> Generator[None]:
    """Inside this block, `overhear_with` may set a recorder that hears the assignments of other threads."""
    before = shared.recorder
    try:
        yield
    finally:
        shared.recorder = before


def overhear_with(recorder: Any) -> None:
    """Report the assignments of other threads to a recorder, until `overhearing` ends."""
    shared.recorder = recorder


def tune_with(tuner: Callable[..., None] | None) -> Callable[..., None] | None:
    """Call `tuner` before a graph is planned. Returns the previous tuner."""
    before, shared.tuner = shared.tuner, tuner
    return before


def mark() -> None:
    """Record that requires_grad or the hooks of a tensor changed."""
    shared.marks = next(_marks)


def note_assignment(tensor: Any, old: Node) -> None:
    """Record that a tensor was assigned to. The thread's next run computes its value."""
    key, pending, own_recorder, other = id(tensor), thread.pending, thread.recorder, shared.recorder
    if own_recorder is not None:
        own_recorder.note(tensor, old)
    if other is not None and other is not own_recorder:
        other.overhear(tensor, old)
    pending[key] = weakref.ref(tensor, lambda _: pending.pop(key, None))


def with_next_run(tensor: Any) -> None:
    """Compute an initial value in the thread's next run: all layers of a model in one submit, before any
    training step."""
    if tensor.node.buffer is None:
        note_assignment(tensor, tensor.node)


def forget_assignment(tensor: Any) -> None:
    """Record that a tensor has its previous node again: it is not pending."""
    thread.pending.pop(id(tensor), None)
