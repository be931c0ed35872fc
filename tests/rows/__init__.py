"""The op test table: one row for each entry of the op table, family by family."""

from .attention import ATTENTION
from .contract import CONTRACT
from .elementwise import ELEMENTWISE
from .index import INDEX
from .movement import MOVEMENT
from .reduce import REDUCE
from .row import In, Row, binary, unary
from .scan import SCAN
from .sort import SORT
from .source import SOURCE

ROWS: dict[str, Row] = {
    **ATTENTION, **ELEMENTWISE, **MOVEMENT, **REDUCE, **CONTRACT, **INDEX, **SCAN, **SORT, **SOURCE,
}  # fmt: skip

__all__ = ["ELEMENTWISE", "ROWS", "SOURCE", "In", "Row", "binary", "unary"]
