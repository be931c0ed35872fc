"""The op table: one entry an op, grouped in families, each family a mixin of Tensor.

A module's FUNCTIONS are the composed ops that are functions of the package, its NN those of nn.functional.
"""

from . import (
    activation,
    attention,
    composed,
    contract,
    creation,
    distribution,
    elementwise,
    index,
    loss,
    movement,
    norm,
    numeric,
    pool,
    random,
    reduce,
    scan,
    sort,
    special,
)
from .attention import Attention
from .composed import Composed
from .contract import Contract
from .creation import Creation
from .distribution import Distribution
from .elementwise import Elementwise
from .index import Index
from .movement import Movement
from .numeric import Numeric
from .pool import Pool
from .random import Random
from .reduce import Reduce
from .scan import Scan
from .sort import Sort
from .special import Special

# fmt: off
MODULES = (
    activation,
    attention,
    composed,
    contract,
    creation,
    distribution,
    elementwise,
    index,
    loss,
    movement,
    norm,
    numeric,
    pool,
    random,
    reduce,
    scan,
    sort,
    special,
)
# fmt: on


class Table(
    Attention,
    Composed,
    Contract,
    Creation,
    Distribution,
    Elementwise,
    Index,
    Movement,
    Numeric,
    Pool,
    Random,
    Reduce,
    Scan,
    Sort,
    Special,
):
    """All families in one."""


FAMILIES = Table.__bases__


def names(kind: str) -> list[str]:
    """The names that the modules list as FUNCTIONS or NN."""
    return sorted(name for module in MODULES for name in getattr(module, kind, ()))


__all__ = [*(family.__name__ for family in FAMILIES), "FAMILIES", "MODULES", "Table", "names"]
