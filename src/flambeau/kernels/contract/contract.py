"""A contraction into the kernels that compute it fastest here."""

from ...core.choose import choose
from ...core.node import Node
from ...core.shape import broadcast
from ..ir import Kernel, Stored
from ..lower import check_size
from . import subgroup_matrix, winograd
from .build import product_kernels
from .cost_model import candidates, ranked
from .im2col import laid_out
from .product import product_of
from .registers import register_kernels
from .variant import REGISTERS

LIKELY = 6  # variants on matrix units that tuning tries before those without


def contract_kernel(planner: Stored, head: Node, tail: Node) -> list[Kernel]:
    """Tiles in workgroup memory on a GPU; tiles of registers on a software adapter, and where results are
    few and sums short."""
    check_size(head.shape)
    full = broadcast(*(i.shape for i in head.inputs))
    if planner.limits.software:
        return register_kernels(planner, head, tail, full)
    product = product_of(planner, head, tail)
    if (shape := winograd.chosen(product)) is not None:
        return winograd.product_kernels(product, shape)
    product, copies = laid_out(product)
    on_units, variants = subgroup_matrix.candidates(product), ranked(product, candidates(product))
    default = subgroup_matrix.by_rule(product, on_units) or variants[0]
    bucket = subgroup_matrix.bucket_of(product)
    likely = [*on_units[:LIKELY], *variants, *on_units[LIKELY:]]
    chosen = choose(planner.limits, "contract", bucket, likely, default)
    if chosen == REGISTERS:
        return register_kernels(planner, head, tail, full)
    make = subgroup_matrix.product_kernels if chosen in on_units else product_kernels
    return [*copies, *make(product, chosen)]
