"""Instrumentation: stages and submits for a profile, and named events for blocks of the same thread.

Without a listener each of them costs one comparison or lookup.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from typing import Any

from .node import has_run

listener: Any = None  # the profiling.Profile whose `with` block runs, for all threads
_SILENT = nullcontext()
# Seconds of calls of `jit` on GPUs that were not replays, in all threads: "record" for those that were
# recorded, with the compilation of their kernels, "plain" for those that can't be recorded.
UNREPLAYED = {"record": 0.0, "plain": 0.0}


def stage(name: str) -> AbstractContextManager[Any]:
    """Encloses a stage of a run: graph, backward, key, plan, render, compile, write, encode, read."""
    now = listener  # another thread may end its profile meanwhile
    return _SILENT if now is None else now.stage(name)


def submit(device: Any, kernels: tuple[Any, ...], *parts: Any) -> None:
    """`device.submit(*parts)`. kernels: the costs of the kernels that the parts dispatch, in order."""
    has_run()
    now = listener
    if now is None:
        device.submit(*parts)
    else:
        now.submit(device, kernels, parts)


def enqueue(device: Any, kernels: tuple[Any, ...], seconds: float, *parts: Any) -> None:
    """`device.enqueue(seconds, *parts)`; other arguments as of `submit`."""
    has_run()
    now = listener
    if now is None:
        device.enqueue(seconds, *parts)
    else:
        now.submit(device, kernels, parts)


@contextmanager
def counted(cause: str) -> Generator[None]:
    """Add the seconds of this block to a cause of UNREPLAYED."""
    begin = perf_counter()
    try:
        yield
    finally:
        UNREPLAYED[cause] += perf_counter() - begin


class BlockEnd(BaseException):
    """Ends the block of `subscribe` from a handler. Not an Exception, so that no code between catches it."""


class _Handlers(threading.local):
    """The handlers of this thread, by event."""

    def __init__(self) -> None:
        self.of: dict[str, Callable[..., None]] = {}


_handlers = _Handlers()


@contextmanager
def subscribe(event: str, handler: Callable[..., None]) -> Generator[None]:
    """Call `handler` at each event of this thread inside the block. It replaces the previous handler.

    "choice" (family, bucket, names, default): planning asks for a variant of a kernel. "pipeline" (done,
    count, name): a pipeline of a plan was compiled. "rendered" (shader, text): a text was rendered. "tuned"
    (done, count, Choice or None): the variants of one choice of a graph were measured. "emitted" (steps,
    nodes): lowering emitted steps of a function, one node each. "planned" (plan, nodes): a graph was planned;
    nodes by value. "plan" (compiled, roots, order, dying, known): a plan, new or cached, is about to compute
    a graph; known: the shaders that had pipelines before. "gradient" (node): the following nodes belong to
    the gradient of this one. "step" (step, arguments, {}): a Learner is about to run a step. "saved" (device,
    steps, commands, params): a saved program is about to run; the handler runs its commands instead.
    "transfer" (source, target, nbytes): a value was moved between two devices.
    """
    before = _handlers.of
    _handlers.of = before | {event: handler}
    try:
        yield
    finally:
        _handlers.of = before


def has_listener(event: str) -> bool:
    """Whether this thread has a handler for an event."""
    return event in _handlers.of


def emit(event: str, *values: Any) -> None:
    """Call the handler of an event, if this thread has one."""
    if (handler := _handlers.of.get(event)) is not None:
        handler(*values)
