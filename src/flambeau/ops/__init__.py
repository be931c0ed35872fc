"""The op table: one entry an op, grouped in families, each family a mixin of Tensor.

A module's FUNCTIONS are the composed ops that are functions of the package, its NN those of nn.functional.
"""

from . import (
    activation,
    attention,
    composed,
    contract,
    elementwise,
    index,
    loss,
    movement,
    pool,
    random,
    reduce,
    scan,
    sort,
)
from .attention import Attention
from .composed import Composed
from .contract import Contract
from .elementwise import Elementwise
from .index import Index
from .movement import Movement
from .pool import Pool
from .random import Random
from .reduce import Reduce
from .scan import Scan
from .sort import Sort

MODULES = (
    activation,
    attention,
    composed,
    contract,
    elementwise,
    index,
    loss,
    movement,
    pool,
    random,
    reduce,
    scan,
    sort,
)
FAMILIES = (Attention, Composed, Contract, Elementwise, Index, Movement, Pool, Random, Reduce, Scan, Sort)


def names(kind: str) -> list[str]:
    """The names that the modules list as FUNCTIONS or NN."""
    return sorted(name for module in MODULES for name in getattr(module, kind, ()))


__all__ = [*(family.__name__ for family in FAMILIES), "FAMILIES", "MODULES", "names"]
