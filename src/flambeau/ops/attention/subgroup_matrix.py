"""A device's matrix units and the sizes of float16 attention into the work of a workgroup on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import dtype as dt

if TYPE_CHECKING:
    from ...core.limits import Limits, Unit
    from ...core.node import Node

PITCH = 20  # places of a row of scores: reads of pairs, in turned order, meet no bank twice
BESIDE = 192  # bytes of workgroup memory for what else a kernel shares


class Units(NamedTuple):
    """A workgroup of `subgroups` on matrix units: `rows` queries each, a lane a row, `keys` at a time."""

    unit: Any  # a limits.Unit
    subgroups: int
    d: int
    e: int
    rows: int = 32
    keys: int = 16
    pad: int = 8  # elements behind each row of 2-byte elements, so that rows start in other banks
    pitch: int = PITCH
    growth: str = "10.0"  # powers of two by which weights may pass 1: float16 holds 15 of them
    sides: int = 1  # how many a subgroup has as fragments: gradients need two

    @property
    def threads(self) -> int:
        return self.subgroups * self.unit.lanes

    @property
    def height(self) -> int:
        return self.subgroups * self.rows

    @property
    def values(self) -> int:
        return self.keys * (self.d + self.pad)

    @property
    def strips(self) -> int:
        return self.values + self.keys * (self.e + self.pad)

    @property
    def apart(self) -> int:
        return self.strips + 2 * self.height * self.pitch

    @property
    def elements(self) -> int:
        """Of 2 bytes, in workgroup memory; plain units keep own rows there too."""
        kept = self.height * (64 + self.pad) * self.sides
        return self.apart + (kept if self.unit.kind == "plain" else 0)

    def fits(self, limits: Limits) -> bool:
        """Whether a device can run it: threads stage whole rows, 16 bytes tell whether one has grown."""
        fours = (self.d // 4, self.e // 4)
        whole = all(self.keys * n % self.threads == 0 == self.threads % n for n in fours)
        return (
            whole
            and self.threads <= limits.invocations
            and 2 * self.elements + BESIDE <= limits.workgroup_memory
        )


SLOPES = {"pitch": PITCH + 16, "sides": 2}  # of gradients: scores and their slopes lie side by side
# Rows of up to so many features take matrix units, by readings of an H200, where nothing was tuned or forced.
MOST = {"forward": 128, "queries": 64, "keys": 64}


def _unit(limits: Limits, q: Node, v: Node) -> Unit | None:
    """The matrix units of a device, where they fit float16 rows of q's and v's features."""
    d, e = q.shape[2], v.shape[2]
    if q.dtype != dt.float16 or d % 32 or e % 32 or max(d, e) > 128:
        return None
    unit = next((u for u in limits.matrix if (u.m, u.n, u.k, u.lanes) == (16, 16, 16, 32)), None)
    if unit is None or (unit.kind == "plain" and d > 64):
        return None
    return unit._replace(kind="view") if unit.kind == "subgroup" else unit


def fitting(limits: Limits, q: Node, v: Node, **form: Any) -> Units | None:
    """The work of a device with matrix units on rows of q's and v's, where there is one."""
    unit = _unit(limits, q, v)
    made = (Units(unit, n, q.shape[2], v.shape[2], **form) for n in (4, 2) if unit)
    return next((u for u in made if u.fits(limits)), None)
