"""Rewrites differences that drivers fold to zero although infinities and NaN have other results."""

from collections.abc import Sequence

from .ir import WgslStep

EXACT = {"neg": "exact_neg", "sub": "exact_sub"}  # the macros that turn a sign by its bit
CONSTANT = ("iota", "scalar")  # steps that read no element of a buffer


def exact(steps: Sequence[WgslStep]) -> tuple[WgslStep, ...]:
    """The steps of a function, with exact operations for signs where both operands of a sum or difference
    depend on the same element.

    WGSL lets a driver compute as if there were neither infinities nor NaN. Mesa takes `x - x`, `x + -x`,
    `(x + y) - x` and `(x - y) + y` for 0 or y, NVIDIA's driver some of these; no driver was seen to do it
    where the sign is turned by its bit. Other sums and differences stay as they are.
    """
    below: dict[str, frozenset[str]] = {}  # the steps that a value depends on, itself too
    elements: dict[str, frozenset[WgslStep]] = {}  # the reads of elements among these
    changed: set[str] = set()
    for s in steps:
        below[s.var] = frozenset([s.var]).union(*[below.get(a, frozenset[str]()) for a in s.args])
        read = [s._replace(var="")] if s.kind != "op" and s.kind not in CONSTANT else []
        elements[s.var] = frozenset(read).union(*[elements.get(a, frozenset[WgslStep]()) for a in s.args])
        if s.kind == "op" and s.name in ("add", "sub") and s.dtype.startswith(("f", "bf")):
            first, second = (elements.get(a, frozenset[WgslStep]()) for a in s.args)
            if s.args[0] == s.args[1] or not first.isdisjoint(second):
                changed |= below[s.var]
    return tuple([_exact(s) if s.var in changed else s for s in steps])


def _exact(s: WgslStep) -> WgslStep:
    is_float = s.kind == "op" and s.dtype.startswith(("f", "bf"))
    return s._replace(name=EXACT.get(s.name, s.name)) if is_float else s
