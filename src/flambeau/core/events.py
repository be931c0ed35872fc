"""The stages of a run, told to the profile that listens; while none does, a stage costs a comparison."""

from contextlib import AbstractContextManager, nullcontext
from threading import get_ident
from typing import Any

listener: Any = None  # a profiling.Profile, while its `with` block runs
_SILENT = nullcontext()
ALONE = 1000  # runs in a row by one thread, after which no other is expected
_thread, _in_a_row = get_ident(), ALONE  # who runs things
DEEP, RUN = 4096, 64  # nodes that wait one behind the other, at most; how many of them a run counts for
fresh, deep = (
    0,
    DEEP,
)  # depth of a node whose inputs have their values, and the largest of all: see `op.apply`


def stage(name: str) -> AbstractContextManager:
    """What encloses a stage of a run: graph, backward, key, plan, render, compile, write, encode, read."""
    now = listener  # another thread may end its profile meanwhile
    return _SILENT if now is None else now.stage(name)


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


def submit(device: Any, kernels: tuple, *parts: Any) -> None:
    """`device.submit(*parts)`; `kernels` are the works of what the parts dispatch, in order."""
    has_run()
    now = listener
    if now is None:
        device.submit(*parts)
    else:
        now.submit(device, kernels, parts)
