"""Debugging: a value that is not finite into the op that made the first; indices outside into an error."""

from typing import Any

from . import run
from .node import describe, toposort
from .op import Tensor
from .ops.places import watched


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
    """Inside this context, indices on a device that are outside their dim raise IndexError at the next read.

    Without it they are clamped, silently. What is called inside the context is checked, by one reduction
    more an index tensor; a recorded program (jit) is checked while it is recorded, not when it is replayed.
    """

    def __enter__(self):
        self._before = getattr(watched, "found", None), run.watch(self._raise)
        watched.found = []
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self._raise()
        finally:
            watched.found, before = self._before
            run.watch(before)

    def _raise(self) -> None:
        found, watched.found = watched.found, []
        if not found:
            return
        before = run.watch(None)
        try:
            counts = [t.item() for _, t in found]
        finally:
            run.watch(before)
        told = [text.format(n) for (text, _), n in zip(found, counts, strict=True) if n]
        if told:
            raise IndexError("; ".join(told))
