"""Plans the work of a workgroup for float16 attention on a device's matrix units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import dtype as dt

if TYPE_CHECKING:
    from ...core.limits import Limits, Unit
    from ...core.node import Node

PITCH = 20  # elements per row of scores: reads of pairs in transposed order have no bank conflicts
BESIDE = 192  # bytes of workgroup memory for other shared variables
PIECE = 64  # features of a workgroup's own rows that it loads into workgroup memory at a time


class Units(NamedTuple):
    """A workgroup of `subgroups`, each with `rows` queries, one per lane, and `keys` keys at a time."""

    unit: Any  # a limits.Unit
    subgroups: int
    d: int
    e: int
    rows: int = 32
    keys: int = 16
    pad: int = 8  # elements after each row of 2-byte elements, so that rows start in different banks
    pitch: int = PITCH
    growth: str = "10.0"  # log2 of the largest weight: that of float16's largest number is below 16
    sides: int = 1  # operands that a subgroup holds as fragments: gradients need two

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
        """Elements of 2 bytes in workgroup memory; units of kind "plain" store their rows there too."""
        stored = self.height * (PIECE + self.pad) * self.sides
        return self.apart + (stored if self.unit.kind == "plain" else 0)

    # --- ranges that the templates' loops run over ---

    @property
    def fragments(self) -> range:
        """The numbers of the fragments that hold a subgroup's own rows."""
        return range(self.rows // self.unit.m)

    def loads(self, width: int) -> range:
        """The vec4s that a thread loads of a block of keys with `width` vec4s a row."""
        return range(self.keys * width // self.threads)

    def pieces(self, width: int) -> list[tuple[int, int, int]]:
        """The parts of the subgroup's own rows of `width` features: fragment, first feature, features."""
        return [(i, c, min(PIECE, width - c)) for i in self.fragments for c in range(0, width, PIECE)]

    def fours_of(self, wide: int) -> list[tuple[int, int]]:
        """The vec4s that a lane has of a part of `wide` features: number, and distance from the first."""
        lanes = self.unit.lanes
        return [(n, n * lanes) for n in range(self.unit.m * wide // 4 // lanes)]

    def fours(self, width: int) -> list[tuple[int, int, int, int, int]]:
        """`pieces`, with each of their `fours_of`."""
        return [(*piece, *four) for piece in self.pieces(width) for four in self.fours_of(piece[2])]

    def deep(self, wide: int) -> range:
        """The first features of a part's fragments."""
        return range(0, wide, self.unit.k)

    def left_from(self, name: str) -> int:
        """The first element of a side's own rows, which units of kind "plain" keep."""
        return self.apart + (self.height * (PIECE + self.pad) if name == "g" else 0)

    def fits(self, limits: Limits) -> bool:
        """Whether a device can run it, and whether the threads divide the rows evenly."""
        fours = (self.d // 4, self.e // 4)
        is_even = all(self.keys * n % self.threads == 0 == self.threads % n for n in fours)
        return (
            is_even
            and self.threads <= limits.invocations
            and 2 * self.elements + BESIDE <= limits.workgroup_memory
        )


SLOPES = {"pitch": PITCH + 16, "sides": 2}  # gradient kernels have scores and their gradients side by side
# Rows of up to this many features use matrix units unless another variant was tuned or forced (measured on an
# H200).
MOST = {"forward": 128, "queries": 64, "keys": 64}


def _unit(limits: Limits, q: Node, v: Node) -> Unit | None:
    """The matrix units of a device for float16 rows of q's and v's features, or None."""
    d, e = q.shape[2], v.shape[2]
    if q.dtype != dt.float16 or d % 32 or e % 32 or max(d, e) > 128:
        return None
    unit = next((u for u in limits.matrix if (u.m, u.n, u.k, u.lanes) == (16, 16, 16, 32)), None)
    if unit is None or (unit.kind == "plain" and d > 64):
        return None
    return unit._replace(kind="view") if unit.kind == "subgroup" else unit


def largest_workgroup(limits: Limits, q: Node, v: Node, **form: Any) -> Units | None:
    """The largest workgroup that a device can run on rows of q's and v's features, or None."""
    unit = _unit(limits, q, v)
    candidates = (Units(unit, n, q.shape[2], v.shape[2], **form) for n in (4, 2) if unit)
    return next((u for u in candidates if u.fits(limits)), None)
