"""The op test table: one row for each entry of the op table, family by family."""

from .activation import ACTIVATION, SHAPED
from .attention import ATTENTION
from .contract import CONTRACT
from .creation import CREATION
from .elementwise import ELEMENTWISE as BASIC
from .index import INDEX
from .join import JOIN
from .loss import LOSS
from .movement import MOVEMENT
from .numeric import NUMERIC
from .random import RANDOM
from .reduce import REDUCE
from .row import In, Row, binary, unary
from .scan import SCAN
from .sort import SORT
from .source import SOURCE
from .special import SPECIAL

# fmt: off
ELEMENTWISE: dict[str, Row] = {
    **BASIC,
    **ACTIVATION,
    **NUMERIC,
    **SPECIAL,
}
ROWS: dict[str, Row] = {
    **ELEMENTWISE,
    **ATTENTION,
    **CONTRACT,
    **CREATION,
    **INDEX,
    **JOIN,
    **LOSS,
    **MOVEMENT,
    **RANDOM,
    **REDUCE,
    **SCAN,
    **SHAPED,
    **SORT,
    **SOURCE,
}
# fmt: on

FREE = [*CREATION, *RANDOM, *SOURCE]  # the dtype of their results is not that of an input

__all__ = ["ELEMENTWISE", "FREE", "ROWS", "SOURCE", "In", "Row", "binary", "unary"]
