"""A device's matrix units and the sizes of float16 attention into the work of a workgroup on them."""

from typing import Any, NamedTuple

from .. import dtype as dt

BESIDE = 128  # bytes of workgroup memory for what else a kernel shares


class Units(NamedTuple):
    """A workgroup of `subgroups` on matrix units: `rows` queries each, a lane a row, `keys` at a time."""

    unit: Any  # a matrix.Unit
    subgroups: int
    d: int
    e: int
    rows: int = 32
    keys: int = 16
    pad: int = 8  # elements behind each row of 2-byte elements, so that rows start in other banks
    pitch: int = 20  # places of a row of scores: reads of a lane's row as vec4s meet no bank twice
    growth: str = "10.0"  # powers of two by which weights may pass 1: float16 holds 15 of them
    turns: int = 1  # blocks of keys in one turn of the loop
    ahead: bool = False  # a block's scores are made beside the softmax of the one before, whose values follow
    lines: bool = False  # neighbouring lanes write a row of the result, in place of a lane a row
    near: bool = False  # keys and values are fetched when they are staged, and in no registers before
    late: bool = False  # of `ahead`: the next scores are made behind the softmax: fewer registers at once
    sides: int = 1  # how many a subgroup has as fragments: gradients need two
    both: bool = False  # gradients by keys and by values are made at once, in twice the registers
    bare: bool = False  # that a row has grown is read behind a plain barrier, unproven to be uniform

    @property
    def template(self) -> str:
        return "attention_ahead.wgsl" if self.ahead else "attention_units.wgsl"

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
    def copies(self) -> int:
        """Where plain units, which have no fragments, keep weights that `ahead` needs after their strip."""
        return self.apart + self.height * (64 + self.pad)

    @property
    def elements(self) -> int:
        """Of 2 bytes, in workgroup memory; plain units keep the queries there too."""
        kept = self.height * ((64 + self.pad) * self.sides + (self.keys if self.ahead else 0))
        return self.apart + (kept if self.unit.kind == "plain" else 0)

    def fits(self, limits) -> bool:
        """Whether a device can run it: threads stage whole rows, 16 bytes tell whether one has grown."""
        fours = (self.d // 4, self.e // 4)
        whole = all(self.keys * n % self.threads == 0 == self.threads % n for n in fours)
        return (
            whole
            and self.threads <= limits.invocations
            and 2 * self.elements + BESIDE <= limits.workgroup_memory
        )


# Ways to write the kernel.
AHEAD = {"ahead": True, "lines": True}
FORMS: dict[str, dict[str, Any]] = {
    "units": {},
    "ahead": AHEAD,
    "ahead/bare": AHEAD | {"bare": True},
    "ahead/2": AHEAD | {"turns": 2},
    "ahead/late": AHEAD | {"late": True},
    "ahead/bare/2": AHEAD | {"bare": True, "turns": 2},
    "ahead/late/bare/2": AHEAD | {"late": True, "bare": True, "turns": 2},
    "ahead/near": AHEAD | {"near": True},
    "ahead/near/bare/2": AHEAD | {"near": True, "bare": True, "turns": 2},
    "units/2": {"turns": 2},
    "units/lines": {"lines": True},
}
# Of gradients: scores and their slopes lie side by side.
SLOPES: dict[str, dict[str, Any]] = {
    "units": {"pitch": 36, "sides": 2},
    "units/both": {"pitch": 36, "sides": 2, "both": True},
}

# The form of each kind for rows of up to so many features, where none was tuned or is forced; else tiles.
TAKEN: dict[str, dict[int, str]] = {"forward": {64: "units", 128: "units"}, "queries": {}, "keys": {}}


def taken(kind: str, *features: int) -> str:
    """The form that readings of an H200 speak for, or an empty string."""
    return next((form for most, form in TAKEN[kind].items() if max(features) <= most), "")


def _unit(limits, q, v):
    """The matrix units of a device, where they fit float16 rows of q's and v's features."""
    d, e = q.shape[2], v.shape[2]
    if q.dtype != dt.float16 or d % 32 or e % 32 or max(d, e) > 128:
        return None
    unit = next((u for u in limits.matrix if (u.m, u.n, u.k, u.lanes) == (16, 16, 16, 32)), None)
    if unit is None or (unit.kind == "plain" and d > 64):
        return None
    return unit._replace(kind="view") if unit.kind == "subgroup" else unit


def variants(limits, q, v, forms=FORMS) -> dict[str, Units]:
    """The forms that a device with matrix units can run for rows of q's and v's, by name."""
    unit = _unit(limits, q, v)
    found = {}
    for name, form in forms.items() if unit is not None else ():
        made = (Units(unit, n, q.shape[2], v.shape[2], **form) for n in (4, 2))
        if fit := next((u for u in made if u.fits(limits)), None):
            found[name] = fit
    return found
