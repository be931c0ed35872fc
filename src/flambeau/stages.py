"""The stages of a run, told to the profile that listens; while none does, a stage costs a comparison."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

listener: Any = None  # a profiling.Profile, while its `with` block runs
_SILENT = nullcontext()


def stage(name: str) -> AbstractContextManager:
    """What encloses a stage of a run: graph, backward, key, plan, render, compile, write, encode, read."""
    return _SILENT if listener is None else listener.stage(name)


def submit(device: Any, kernels: tuple, *parts: Any) -> None:
    """`device.submit(*parts)`; `kernels` are the works of what the parts dispatch, in order."""
    if listener is None:
        device.submit(*parts)
    else:
        listener.submit(device, kernels, parts)
