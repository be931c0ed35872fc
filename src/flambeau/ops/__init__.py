"""The op table: one entry an op, grouped in families, each family a mixin of Tensor.

A module's FUNCTIONS are the composed ops that are functions of the package, its NN those of nn.functional,
its SPECIAL those of special alone.
"""

from . import (
    activation,
    contract,
    creation,
    ctc,
    distribution,
    einsum,
    elementwise,
    join,
    loss,
    movement,
    norm,
    numeric,
    polynomials,
    quantized,
    random,
    rearrange,
    reduce,
    softmax,
    special,
    statistics,
)
from .attention import attention, kv_cache
from .attention.attention import Attention
from .attention.kv_cache import Cache
from .contract import Contract
from .conv import adaptive, conv, grid_sample, pool, resize
from .conv.pool import Pool
from .creation import Creation
from .ctc import Ctc
from .distribution import Distribution
from .einsum import Products
from .elementwise import Elementwise
from .fft import fft, signal
from .index import embedding, index, indices, scatter, scatter_rows, select
from .index.index import Index
from .index.indices import Places
from .index.scatter import Scatter
from .index.scatter_rows import Rows
from .index.select import Select
from .join import Join
from .linalg import lu, products
from .linalg.products import Linalg
from .movement import Movement
from .numeric import Numeric
from .quantized import Quantization
from .random import Random
from .rearrange import Rearrange
from .reduce import Reduce
from .softmax import Composed
from .sort import histogram, quantile, scan, sort
from .sort.histogram import Histogram
from .sort.quantile import Order
from .sort.scan import Scan
from .sort.sort import Sort
from .special import Special
from .statistics import Statistics

# fmt: off
MODULES = (
    activation,
    adaptive,
    attention,
    kv_cache,
    softmax,
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
    lu,
    products,
    loss,
    movement,
    norm,
    numeric,
    quantile,
    polynomials,
    indices,
    pool,
    quantized,
    random,
    rearrange,
    reduce,
    resize,
    scatter_rows,
    grid_sample,
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
