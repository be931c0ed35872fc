"""Computes values that no argument, state or draw of a recorded call can change once, instead of at each
replay."""

from ..core.node import Node, toposort
from ..device.protocol import Gpu
from ..fusion.planner import plan
from ..runtime import run

KEPT_BYTES = 1 << 22  # the most bytes of such values that a recording keeps
NO_KERNEL = ("source", "movement", "composite", "leaf")  # kinds of ops that a kernel computes for its readers
CHANGING = ("source", "value", "words")  # attributes of draws and host numbers


def compute_invariants(device: Gpu, roots: list[Node], start: int) -> None:
    """Compute the values for which a plan of the roots has kernels that read no leaf, so that they are leaves
    of the next plan: positions and weights of an interpolation, a mask. start: only nodes with serial numbers
    from here on belong to the call."""
    order = toposort(roots)
    fixed = _find_fixed(order, start)
    if all(n.op.kind in NO_KERNEL for n in fixed):
        return
    values = _values_between(order, fixed, set(roots), device)
    if values:
        run.compute(device, values)


def _find_fixed(order: list[Node], start: int) -> set[Node]:
    """Find the nodes that are computed of constants alone."""
    fixed: set[Node] = set()
    for n in order:
        is_plain = n.buffer is None and n.serial >= start and not (n.after or n.requires_grad or n.param)
        changes = any(hasattr(s, name) for s in n.scalars for name in CHANGING)
        if is_plain and not changes and all(i in fixed for i in n.inputs):
            fixed.add(n)
    return fixed


def _values_between(order: list[Node], fixed: set[Node], roots: set[Node], device: Gpu) -> list[Node]:
    """Find the fixed values, the smallest first, that a plan stores for kernels which read others too."""
    kernels, count = plan(list(roots), device.limits, order).kernels, len(order)
    computed = {v for v, n in enumerate(order) if n in fixed}  # and temporaries of kernels of fixed values
    rest: set[int] = set()  # values that other kernels read
    stored: set[int] = set()
    for k in kernels:
        if computed.issuperset(k.reads) and all(v >= count or v in computed for v in k.outputs):
            computed.update(k.outputs)
            stored.update(v for v in k.outputs if v < count)
        else:
            rest.update(k.reads)
    values: list[Node] = []
    room = KEPT_BYTES
    for n in sorted((order[v] for v in stored & rest), key=lambda n: n.nbytes):
        room -= n.nbytes
        if room >= 0 and n not in roots:
            values.append(n)
    return values
