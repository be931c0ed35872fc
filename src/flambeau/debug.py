"""Debugging: from a value that is not finite back to the op that made the first such value."""

from typing import Any

from . import run
from .node import describe, toposort
from .op import Tensor


def first_bad(tensor: Any) -> str | None:
    """Describe the first op behind a not yet computed tensor whose result is not finite; None without one.

    Every value of the graph is computed by itself, in order: slow, and only for looking into a failure.
    """
    for node in toposort([tensor.node]):
        value = Tensor(node)
        if not node.dtype.is_float or node.op.name == "constant":
            continue
        inputs = ", ".join(describe(i) for i in node.inputs)
        run.realize(value)
        if not value.isfinite().all().item():
            name = node.attrs.get("label", node.op.name)
            if node.op.name == "buffer":
                return f"a value that was given is not finite: {describe(node)}"
            return f"{name}({inputs}) made the first value that is not finite: {describe(node)}"
    return None
