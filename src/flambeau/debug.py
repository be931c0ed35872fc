"""Debugging: a value that is not finite into the first op that made one; indices outside into their line."""

import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from .core.faults import ADVICE
from .core.node import Node, describe, toposort
from .errors import IndexFault
from .ops.index.indices import watched
from .runtime import readback, run, state
from .tensor import Tensor

HERE = f"{Path(__file__).parent}/"
INSIDE = tuple(f"{HERE}{name}" for name in ("nn/", "models/"))  # whose lines say something to a user


MAKES: CodeType = Node.__init__.__code__


class made_at:
    """Inside this context each node that this thread makes is given the Python line that made it, and the
    layer of `model` that it is in: `lines[node]`. Calls are slower meanwhile."""

    def __init__(self, model: Any = None):
        modules = () if model is None else model.named_modules()
        self._names = {id(m): name for name, m in modules if name}
        self._lines: dict[Node, str] = {}

    def __enter__(self) -> "made_at":
        self._before = sys.getprofile()
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is MAKES:
            self._lines[frame.f_locals["self"]] = self._where(frame)

    def _where(self, frame: FrameType | None) -> str:
        """The nearest line of the user's code, or of a layer, and the layer."""
        line = layer = ""
        while frame is not None:
            file = frame.f_code.co_filename
            if not line and (not file.startswith(HERE) or file.startswith(INSIDE)):
                line = f"{file}:{frame.f_lineno}"
            layer = layer or self._names.get(id(frame.f_locals.get("self")), "")
            frame = frame.f_back
        return line + (f" (layer {layer!r})" if layer else "")

    def get(self, node: Node) -> str:
        """Where a node was made; "" where that is not known."""
        return self._lines.get(node, "")


def first_bad(*tensors: Any, lines: made_at | None = None) -> str | None:
    """Describe the first op behind not yet computed tensors whose result is not finite; None without one.

    Every value of the graph is computed by itself, in order: slow, and only for looking into a failure.
    lines: a `made_at` that the tensors were made in, for the Python line of the op.
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
            there = lines.get(node) if lines is not None else ""
            told = f"{name}({inputs}) made the first value that is not finite: {describe(node)}"
            return f"{told}, at {there}" if there else told
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
