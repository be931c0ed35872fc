"""Sources: nodes without inputs, whose value is a buffer, a host number or each element's index."""

from typing import Any

from ..core import dtype as dt
from ..core.op import Op


def _constant(xp: Any, value: Any, bits: int = 64) -> Any:
    """bits: an upper bound of the bits that a 64-bit number needs besides its sign; the planner reads it."""
    return xp.asarray(getattr(value, "held", value))


class Source:
    buffer = Op(
        "leaf",
        xp=lambda xp, x: x,
        shape=lambda shape, dtype: shape,
        dtype=lambda shape, dtype: dtype,
        doc="a value that is in a buffer",
    )
    constant = Op("source", xp=_constant, doc="one host number", cost=0)
    iota = Op(
        "source",
        xp=lambda xp, n: xp.arange(n, dtype="int32"),
        shape=lambda n: (n,),
        dtype=lambda n: dt.int32,
        doc="0, 1, ... n - 1",
        cost=0,
    )
