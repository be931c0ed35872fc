"""The op table: one entry an op, grouped in families, each family a mixin of Tensor.

A module's FUNCTIONS are the composed ops that are functions of the package, its NN those of nn.functional,
its SPECIAL those of special alone.
"""

from . import (
    activation,
    adaptive,
    attention,
    cache,
    composed,
    contract,
    conv,
    creation,
    ctc,
    distribution,
    einsum,
    elementwise,
    embedding,
    fft,
    histogram,
    index,
    join,
    linalg_lu,
    linalg_products,
    loss,
    movement,
    norm,
    numeric,
    order,
    places,
    polynomials,
    pool,
    quantized,
    random,
    rearrange,
    reduce,
    resize,
    rows,
    sample,
    scan,
    scatter,
    select,
    signal,
    sort,
    special,
    statistics,
)
from .attention import Attention
from .cache import Cache
from .composed import Composed
from .contract import Contract
from .creation import Creation
from .ctc import Ctc
from .distribution import Distribution
from .einsum import Products
from .elementwise import Elementwise
from .histogram import Histogram
from .index import Index
from .join import Join
from .linalg_products import Linalg
from .movement import Movement
from .numeric import Numeric
from .order import Order
from .places import Places
from .pool import Pool
from .quantized import Quantization
from .random import Random
from .rearrange import Rearrange
from .reduce import Reduce
from .rows import Rows
from .scan import Scan
from .scatter import Scatter
from .select import Select
from .sort import Sort
from .special import Special
from .statistics import Statistics

# fmt: off
MODULES = (
    activation,
    adaptive,
    attention,
    cache,
    composed,
    contract,
    conv,
    creation,
    ctc,
    distribution,
    einsum,
    elementwise,
    embedding,
    fft,
    histogram,
    index,
    join,
    linalg_lu,
    linalg_products,
    loss,
    movement,
    norm,
    numeric,
    order,
    polynomials,
    places,
    pool,
    quantized,
    random,
    rearrange,
    reduce,
    resize,
    rows,
    sample,
    scan,
    scatter,
    select,
    signal,
    sort,
    special,
    statistics,
)
# fmt: on


class Table(
    Attention,
    Cache,
    Composed,
    Contract,
    Creation,
    Ctc,
    Distribution,
    Elementwise,
    Histogram,
    Index,
    Join,
    Linalg,
    Movement,
    Numeric,
    Order,
    Places,
    Pool,
    Products,
    Quantization,
    Random,
    Rearrange,
    Reduce,
    Rows,
    Scan,
    Scatter,
    Select,
    Sort,
    Special,
    Statistics,
):
    """All families in one."""


FAMILIES = Table.__bases__


def names(kind: str) -> list[str]:
    """The names that the modules list as FUNCTIONS or NN."""
    return sorted(name for module in MODULES for name in getattr(module, kind, ()))


__all__ = [*(family.__name__ for family in FAMILIES), "FAMILIES", "MODULES", "Table", "names"]
