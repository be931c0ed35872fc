"""Debugging: from a value that is not finite back to the op that made the first such value."""

from typing import Any

from . import run
from .node import describe, toposort
from .op import Tensor


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
