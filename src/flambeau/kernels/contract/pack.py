"""A buffer that a product reads in another order than it lies in, into a copy that lies so."""

from math import prod

from ...core.node import Node
from ...core.shape import Affine, View, contiguous_strides
from ..ir import Kernel, Stored
from ..map import copy_kernel


def packed_copy(
    planner: Stored, node: Node, value: int, view: View, order: list[int]
) -> tuple[int, View, Kernel]:
    """The copy's value, how the view shows it, and the kernel that makes it.

    value: of the buffer that `view` shows. order: the dims along which its elements differ, outermost first.
    """
    shape = tuple(view.shape[d] for d in order)
    out = planner.temporary(prod(shape), node.dtype.itemsize)
    strides = dict(zip(order, contiguous_strides(shape), strict=True))
    places = Affine(tuple(strides.get(d, 0) for d in range(len(view.shape))), 0)
    seen = view.map(shape, lambda a: Affine(tuple(a.strides[d] for d in order), a.offset))
    return out, View(view.shape, places), copy_kernel(planner, node, value, seen, out)
