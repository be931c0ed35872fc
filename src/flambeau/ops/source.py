"""Sources: nodes without inputs, whose value is a buffer, a host number or each element's index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.op import Op

if TYPE_CHECKING:
    from ..core.shape import Shape


def _constant(xp: Any, value: Any, bits: int = 64) -> Any:
    """bits: an upper bound of the bits that a 64-bit number needs besides its sign; the planner reads it."""
    return xp.asarray(getattr(value, "held", value))


def _buffer(xp: Any, x: Any) -> Any:
    return x


def _buffer_shape(shape: Shape, dtype: dt.DType) -> Shape:
    return shape


def _buffer_dtype(shape: Shape, dtype: dt.DType) -> dt.DType:
    return dtype


def _iota(xp: Any, n: int) -> Any:
    return xp.arange(n, dtype="int32")


def _iota_shape(n: int) -> Shape:
    return (n,)


def _iota_dtype(n: int) -> dt.DType:
    return dt.int32


class Source:
    buffer = Op(
        "leaf",
        xp=_buffer,
        shape=_buffer_shape,
        dtype=_buffer_dtype,
        doc="a value that is in a buffer",
    )
    constant = Op("source", xp=_constant, doc="one host number", cost=0)
    iota = Op(
        "source",
        xp=_iota,
        shape=_iota_shape,
        dtype=_iota_dtype,
        doc="0, 1, ... n - 1",
        cost=0,
    )
