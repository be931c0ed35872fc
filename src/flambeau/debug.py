"""Debugging: a value that is not finite into the first op that made one; indices outside into their line."""

from typing import Any

from .core.faults import ADVICE
from .core.node import describe, toposort
from .errors import IndexFault
from .ops.index.indices import watched
from .runtime import readback, run, state
from .tensor import Tensor


def first_bad(*tensors: Any) -> str | None:
    """Describe the first op behind not yet computed tensors whose result is not finite; None without one.

    Every value of the graph is computed by itself, in order: slow, and only for looking into a failure.
    """
    for node in toposort([t.node for t in tensors]):
        # movements and composites have no values of their own, and windows of an image are large
        if not node.dtype.is_float or node.op.kind in ("source", "movement", "composite"):
            continue
        inputs, value = ", ".join(describe(i) for i in node.inputs), Tensor(node)
        run.realize(value)
        if not value.isfinite().all().item():
            if node.op.kind == "leaf":
                return f"a value that was given is not finite: {describe(node)}"
            name = node.attrs.get("label", node.op.name).lstrip("_")
            return f"{name}({inputs}) made the first value that is not finite: {describe(node)}"
    return None


class check_indices:
    """Inside this context an index from a device that is outside its dim raises IndexError in the very call.

    Without it that is raised at the next read. Each call inside it waits for its indices; while a function
    is recorded (jit) they are not looked at.
    """

    def __enter__(self):
        self._before, watched.check = watched.check, _check
        return self

    def __exit__(self, *_):
        watched.check = self._before


def _check(places: Any) -> None:
    if state.thread.recorder is None:
        try:
            readback.read([places])
        except IndexFault as e:
            told = str(e).removesuffix(f": {ADVICE}")
            raise IndexFault(f"{told}: use indices that are inside") from None
