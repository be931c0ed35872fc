"""The op table: one entry an op, grouped in families, each family a mixin of Tensor."""

from .composed import Composed
from .contract import Contract
from .elementwise import Elementwise
from .index import Index
from .movement import Movement
from .pool import Pool
from .random import Random
from .reduce import Reduce

__all__ = ["Composed", "Contract", "Elementwise", "Index", "Movement", "Pool", "Random", "Reduce"]
