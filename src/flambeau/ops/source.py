"""Sources: nodes without inputs, of which a buffer, a host number or the element's own index is the value."""

from ..core import dtype as dt
from ..core.op import Op


def _constant(xp, value, bits=64):
    """bits: how many a number of 64 bits needs at most, besides its sign: the planner's to know."""
    return xp.asarray(getattr(value, "held", value))


class Source:
    buffer = Op(
        "leaf",
        xp=lambda xp, x: x,
        shape=lambda shape, dtype: shape,
        dtype=lambda shape, dtype: dtype,
        doc="a value that is there",
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
