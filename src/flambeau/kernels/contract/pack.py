"""Copies an operand into the order in which a kernel reads it."""

from math import prod

from ...core.shape import Affine, View, contiguous_strides
from ..ir import Kernel
from ..map import copy_kernel
from .product import Operand, Product


def packed_operand(product: Product, o: Operand, groups: tuple[int, ...]) -> tuple[Operand, Kernel]:
    """A stored operand with its dims in the order of these groups, and the kernel that copies it there."""
    domain, load, view = product.domain, o.load, o.view
    # Without the dims along which the operand repeats: the copy has each element once.
    order = [d for g in groups for d in domain.order if domain.groups[d] == g and d in o.walked]
    shape = tuple([view.shape[d] for d in order])
    value = product.plan.temporary(prod(shape), load.dtype.itemsize)
    strides = dict(zip(order, contiguous_strides(shape), strict=True))
    places = Affine(tuple([strides.get(d, 0) for d in range(len(view.shape))]), 0)
    source = view.map(shape, lambda a: Affine(tuple([a.strides[d] for d in order]), a.offset))
    copy = copy_kernel(product.plan, load.node, load.value, source, value)
    return o.read_from(value, View(view.shape, places)), copy
