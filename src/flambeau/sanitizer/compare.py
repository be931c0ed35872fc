"""Values of a device beside the reference's: the worst element."""

from typing import Any, NamedTuple

import numpy as np

from ..core.node import Node
from ..selftest.bounds import Known
from ..selftest.compare import Right, differing


class Apart(NamedTuple):
    """Where a value differs most: the place, both numbers, the bound, how many elements differ, of how
    many."""

    at: tuple[int, ...]
    got: Any
    want: Any
    bound: float
    count: int
    of: int

    def __str__(self) -> str:
        place = f"[{', '.join(map(str, self.at))}]"
        how = f"{self.got!r} at {place}, not {self.want!r} within {self.bound:.1e}"
        return f"{how} ({self.count:,} of {self.of:,} elements)"


def apart(got: Any, right: Known, node: Node) -> Apart | None:
    """The worst element of a value that is not within its bounds."""
    value = np.broadcast_to(right.value, got.shape)
    error = np.zeros(got.shape) if right.error is None else np.broadcast_to(right.error, got.shape)
    if got.dtype.kind == "c":
        parts = [(f(got), f(value)) for f in (np.real, np.imag)]
        found = [apart(a, Known(b, error), node) for a, b in parts]
        return next((x for x in found if x is not None), None)
    bad, _ = differing(got, Right("", node.dtype, value, error))
    if not bad.any():
        return None
    with np.errstate(all="ignore"):
        off = np.abs(got.astype("f8") - value.astype("f8"))
    off = np.where(bad, np.where(np.isfinite(off), off, np.inf), -1.0)
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(off)), off.shape))
    numbers = got[at].item(), value[at].item(), float(error[at])
    return Apart(at, *numbers, int(bad.sum()), bad.size)
