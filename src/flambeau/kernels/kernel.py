"""What kernels of all kinds share: grids, labels, and the expressions fused before and after a head."""

from collections.abc import Callable
from typing import TypeVar

from ..core.node import Node
from ..core.shape import Shape
from .ir import Bindings, Quantities, Stored, WgslFunction
from .lower import Move, NeedStore, Trace, collapse_domain, view_through

WORKGROUP = 64
GPU_WORKGROUP = 128  # of a map on a GPU: with 64 a copy reaches 0.79 of the bandwidth that it has with 128


Built = TypeVar("Built")


class BoundTwice(Exception):
    """A kernel binds more buffers than it may: one that is read both in fours and singly counts twice."""


def check_bindings(b: Bindings, most: int) -> None:
    """BoundTwice where a kernel reads more than so many buffers."""
    if len(b.values) > most:
        raise BoundTwice


def fitting(build: Callable[[bool], Built]) -> Built:
    """What build(narrow=False) makes, whose threads read four neighbours at once where they can; where that
    has no room for its buffers, what build(narrow=True) makes, whose threads read one."""
    try:
        return build(False)
    except BoundTwice:
        return build(True)


def is_whole(shape, chain: tuple[Move, ...]) -> bool:
    """Whether the moves leave a buffer as it lies."""
    try:
        return view_through(shape, chain).is_contiguous
    except NeedStore:
        return False


def spread_grid(groups: int, limit: int) -> tuple[int, int, int]:
    """Fold a line of workgroups into two dims where it is longer than a device allows."""
    if groups <= limit:
        return max(groups, 1), 1, 1
    y = -(-groups // limit)
    return -(-groups // y), y, 1


def label(head: str, *traces) -> str:
    """`matmul+add+relu`: the head and the ops fused with it, in order."""
    names = [s.name for t in traces if t for s in t.steps if s.kind == "op"]
    if len(names) > 6:
        names = [*names[:5], f"{len(names) - 5} more"]
    return "+".join([head, *names] if head else names or ["copy"])


def epilogue(
    planner: Stored, head: Node, tail: Node, shape, trace_reads=(), checks: bool | None = None
) -> tuple[Trace, int] | None:
    """The expression from the head's result to the tail, over the head's shape; None when they are one.

    checks: whether the kernel checks indices before; None where it can't.
    """
    if head is tail:
        return None
    trace = Trace(planner, shape, head, can_check=checks is not None)
    trace.reads |= set(trace_reads)
    if checks:
        trace.begin_checks(tail)
    back = () if tail.shape == tuple(shape) else (Move("reshape", (tuple(shape),), tail),)
    return trace, trace.value(tail, back)


def before_packed(planner: Stored, head: Node) -> Node:
    """The last node of a head's epilogue that is written element by element: packed ones come in fours."""
    nodes = planner.epilogues[head]
    return nodes[next(i for i, n in enumerate(nodes) if n.dtype.is_packed) - 1]


def finish_function(
    trace_root: tuple[Trace, int] | None, shape: Shape, b: Bindings, q: Quantities
) -> tuple[WgslFunction | None, list[int]]:
    """An epilogue, and the sizes of the coordinates that a place of the head's shape is taken apart into."""
    if trace_root is None:
        return None, []
    trace, root = trace_root
    runs, sizes = collapse_domain(shape, trace.affines(), (0,) * len(shape))
    coords = [f"e{i}" for i in range(len(runs))]
    return trace.function(runs, coords, b, q, root, 1), sizes
