"""The stages of a run, told to the profile that listens; while none does, a stage costs a comparison."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

listener: Any = None  # a profiling.Profile, while its `with` block runs
_SILENT = nullcontext()
DEEP, RUN = 4096, 64  # nodes that wait one behind the other, at most; how many of them a run counts for
fresh, deep = (
    0,
    DEEP,
)  # depth of a node whose inputs have their values, and the largest of all: see `op.apply`


def stage(name: str) -> AbstractContextManager:
    """What encloses a stage of a run: graph, backward, key, plan, render, compile, write, encode, read."""
    return _SILENT if listener is None else listener.stage(name)


def has_run() -> None:
    """Have all nodes that wait for their values wait for one run longer."""
    global fresh, deep
    fresh -= RUN
    deep = fresh + DEEP


def submit(device: Any, kernels: tuple, *parts: Any) -> None:
    """`device.submit(*parts)`; `kernels` are the works of what the parts dispatch, in order."""
    has_run()
    if listener is None:
        device.submit(*parts)
    else:
        listener.submit(device, kernels, parts)
