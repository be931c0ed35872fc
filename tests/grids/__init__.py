"""Grids of arguments: for each public op how its arguments are drawn, to be compared with torch's."""

from . import (
    contract,
    conv,
    creation,
    elementwise,
    fourier,
    index,
    linalg,
    loss,
    movement,
    norm,
    order,
    pool,
    reduce,
    resize,
    special,
)
from .compare import Case
from .grid import Grid

FAMILIES = (
    contract, conv, creation, elementwise, fourier, index, linalg, loss, movement, norm, order, pool, reduce,
    resize, special,
)  # fmt: skip
GRIDS: dict[str, Grid] = {name: row for family in FAMILIES for name, row in family.GRIDS.items()}
# public op: why no grid compares it
WITHOUT = {name: why for family in FAMILIES for name, why in getattr(family, "WITHOUT", {}).items()}

__all__ = ["GRIDS", "WITHOUT", "Case", "Grid"]
