"""Finds rows, such as those of a norm, that skinny products can compute where they read them."""

from ..core.node import Node
from ..kernels.contract.cost_model import ONE_PASS_SUMMED
from ..kernels.contract.skinny import FEW_ROWS
from .group import FusedGroup
from .materialize import Materialization
from .row_groups import MOST_VIEWS, RowGroup

MOST_SUMS = 2  # over a row: each costs every workgroup of a product a pass over the row


def is_for_products(values: Materialization, group: FusedGroup) -> bool:
    """Whether a group is a few short rows that only products read, computed from sums over these rows."""
    if values.limits.software or not isinstance(group, RowGroup) or len(group.outputs) != 1:
        return False
    (rows,), (count, length) = group.outputs, group.key
    if rows in values.required or count > FEW_ROWS or length > ONE_PASS_SUMMED or len(rows.shape) < 2:
        return False
    sums = [n.op.monoid == "sum" for n in group.reduces]
    return all(sums) and len(sums) <= MOST_SUMS and _are_products(values, rows, 0)


def _are_products(values: Materialization, node: Node, depth: int) -> bool:
    """Whether only products read a node, also through views."""
    users = values.users[id(node)]
    return bool(users) and all(
        u.op.kind == "contract"
        or (
            u.op.kind in ("movement", "composite")
            and u not in values.stored
            and depth < MOST_VIEWS
            and _are_products(values, u, depth + 1)
        )
        for u in users
    )
