"""Events of a run: stages go to a profile, single events to a block of the same thread that subscribed.

Without a listener each event costs a comparison.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import get_ident
from typing import Any

# A profiling.Profile, while its `with` block runs: it encloses what it is told of, of all threads.
listener: Any = None
_SILENT = nullcontext()
ALONE = 1000  # runs in a row by one thread, after which no other is expected
_thread, _in_a_row = get_ident(), ALONE  # who runs things
DEEP, RUN = 4096, 64  # nodes that wait one behind the other, at most; how many of them a run counts for
fresh, deep = (
    0,
    DEEP,
)  # depth of a node whose inputs have their values, and the largest of all: see `op.apply`


def stage(name: str) -> AbstractContextManager[Any]:
    """What encloses a stage of a run: graph, backward, key, plan, render, compile, write, encode, read."""
    now = listener  # another thread may end its profile meanwhile
    return _SILENT if now is None else now.stage(name)


class _Listeners(threading.local):
    """Those of this thread, by event."""

    def __init__(self) -> None:
        self.of: dict[str, Callable[..., None]] = {}


_listeners = _Listeners()


@contextmanager
def subscribe(event: str, handler: Callable[..., None]) -> Generator[None]:
    """Call `handler` at each event of this thread in the block, in place of the handler before.

    "choice" (family, bucket, names, default): planning asks for one of a kernel's variants. "pipeline" (done,
    of, name): a pipeline of a plan is compiled. "rendered" (shader, text): a text was made. "tuned" (done,
    of, Choice or None): the variants of one of a graph's choices were measured. "emitted" (steps, nodes):
    lowering made steps of a function, of a node each. "planned" (plan, nodes): a graph was planned; nodes by
    value. "plan" (compiled, roots, order, dying, known): a graph is to be run by a plan, new or from the
    cache; known: the shaders that had pipelines before. "gradient" (node): what is made next is of the
    gradient of this node. "step" (step, arguments, {}): a Learner is about to make a step. "saved" (device,
    steps, commands, params): who hears it is to run a saved program's commands.
    """
    before = _listeners.of
    _listeners.of = before | {event: handler}
    try:
        yield
    finally:
        _listeners.of = before


def has_listener(event: str) -> bool:
    """Whether this thread has a handler of an event."""
    return event in _listeners.of


def emit(event: str, *values: Any) -> None:
    """Call the handler of an event, if this thread has one."""
    if (handler := _listeners.of.get(event)) is not None:
        handler(*values)


def has_run() -> None:
    """Have all nodes that wait for their values wait for one run longer.

    Where several threads run things it counts for less: what one of them puts together is not to be cut
    where another's runs happen to fall.
    """
    global fresh, deep, _thread, _in_a_row
    if get_ident() == _thread:
        _in_a_row += 1
    else:
        _thread, _in_a_row = get_ident(), 0
    fresh -= RUN if _in_a_row >= ALONE else 1
    deep = fresh + DEEP


def is_shared() -> bool:
    """Whether several threads have run something lately."""
    return _in_a_row < ALONE


def submit(device: Any, kernels: tuple[Any, ...], *parts: Any) -> None:
    """`device.submit(*parts)`; `kernels` are the works of what the parts dispatch, in order."""
    has_run()
    now = listener
    if now is None:
        device.submit(*parts)
    else:
        now.submit(device, kernels, parts)
