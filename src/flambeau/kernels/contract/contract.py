"""Chooses the kernels that compute a contraction fastest on a device."""

from ...core.choose import choose
from ...core.node import Node
from ..ir import Kernel
from ..lower import PlanContext, check_size
from . import subgroup_matrix, winograd, winograd_weight
from .build import product_kernels
from .cost_model import candidates, rank
from .im2col import lay_out_windows
from .product import product_of
from .registers import register_kernels
from .skinny import fused_kernel
from .variant import REGISTERS

LIKELY = 6  # variants on matrix units that tuning tries before those without


def contract_kernel(plan: PlanContext, head: Node, tail: Node) -> list[Kernel]:
    """The kernels of a contraction: tiles in workgroup memory on a GPU, register tiles on a software adapter
    and where results are few and sums short."""
    check_size(head.shape)
    original = product_of(plan, head, tail)
    if plan.limits.software:
        return register_kernels(original)
    if original.a.stats or original.b.stats or original.beside is not None:
        return [fused_kernel(original, rank(original, candidates(original))[0])]
    is_coded = original.a.is_coded or original.b.is_coded  # the kernels of windows read floats
    if not is_coded and (shape := winograd.choose_tile(original)) is not None:
        return winograd.product_kernels(original, shape)
    if not is_coded and (of_weight := winograd_weight.choose_tile(original)) is not None:
        return winograd_weight.product_kernels(*of_weight)
    # Before variants are listed: a copied side is read as vec4s, which changes the fitting variants and the
    # estimates.
    product, copies = lay_out_windows(original)
    on_units, variants = subgroup_matrix.candidates(product), rank(product, candidates(product))
    default = subgroup_matrix.by_rule(product, on_units) or variants[0]
    bucket = subgroup_matrix.bucket_of(product)
    # Only tuning uses the order: it tries the first few of the list.
    likely = [*on_units[:LIKELY], *variants, *on_units[LIKELY:]]
    chosen = choose(plan.limits, "contract", bucket, likely, default)
    if chosen == REGISTERS:
        # Register tiles read windows in place: the copies are not run.
        return register_kernels(original.in_memory_order())
    make = subgroup_matrix.product_kernels if chosen in on_units else product_kernels
    return [*copies, *make(product, chosen)]
