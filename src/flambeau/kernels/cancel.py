"""Differences, quotients and squared roots that a driver would simplify: steps that it must compute."""

from collections.abc import Sequence
from typing import NamedTuple

from .ir import WgslStep

# The macros that flip a sign bit, which no known driver simplifies.
DIFFERENCES = {"neg": "exact_neg", "sub": "exact_sub"}
QUOTIENTS = {"div": "exact_div", "reciprocal": "exact_reciprocal"}
PRODUCTS = {"mul": "exact_mul", "square": "exact_square"}
ROOTS = ("sqrt", "rsqrt")
# Steps of integers and comparisons that a driver folds to a constant if both operands are the same element.
FOLDED = frozenset({"add", "sub", "bitwise_xor", "lt", "gt", "ne", "remainder", "fmod"})
CONSTANT = ("iota", "scalar")  # steps that read no element of a buffer
NOTHING: frozenset[str] = frozenset()
Elements = dict[str, frozenset[WgslStep]]


def hide_zeros(steps: Sequence[WgslStep]) -> Sequence[WgslStep]:
    """The steps of a function, with a hidden operand if a float is a cast of a value that a driver folds to
    0.

    Mesa takes the integer `i - i` for 0, and then `(i - i) / i` and `(i - i) * x` too, also where i is 0 or x
    is not finite.
    """
    below, elements = _dependencies(steps)
    folded: set[str] = set()
    changed: set[str] = set()
    for s in steps:
        if s.kind != "op":
            continue
        if s.name in FOLDED and not _is_float_op(s) and _share_an_element(s, elements):
            folded.add(s.var)
        if folded and s.name == "cast" and _is_float_op(s):
            changed |= below[s.var] & folded
    if not changed:
        return steps
    hidden: list[WgslStep] = []
    dtypes = {s.var: s.dtype for s in steps}
    for s in steps:
        dtype = dtypes.get(s.args[0], "bool") if s.var in changed else "bool"
        if dtype != "bool":
            var = f"{s.var}_hidden"
            hidden.append(WgslStep("op", var, dtype, "exact_hidden", s.args[:1]))
            s = s._replace(args=(var, *s.args[1:]))
        hidden.append(s)
    return hidden


def exact_rests(steps: Sequence[WgslStep]) -> Sequence[WgslStep]:
    """The steps of a function, with a hidden operand where a value is subtracted from a difference.

    NVIDIA's driver computes (x - mean) - error as x - (mean + error), which loses the error.
    """
    differences = {s.var for s in steps if s.name == "sub" and _is_float_op(s)}
    rests = {s.var for s in steps if s.var in differences and s.args[0] in differences}
    return _rename_ops(steps, rests, {"sub": "exact_rest"}) if rests else steps


def exact_differences(steps: Sequence[WgslStep]) -> tuple[WgslStep, ...]:
    """The steps of a function, with exact operations for signs where both operands of a sum or difference
    depend on the same element.

    WGSL lets a driver compute as if there were neither infinities nor NaN. Mesa folds `x - x`, `x + -x`, `(x
    + y) - x` and `(x - y) + y` to 0 or y, NVIDIA's driver some of these.
    """
    below, elements = _dependencies(steps)
    changed: set[str] = set()
    for s in steps:
        if s.name in ("add", "sub", "exact_rest") and _is_float_op(s) and _share_an_element(s, elements):
            changed |= below[s.var]
    return _rename_ops(steps, changed, DIFFERENCES)


class Factors(NamedTuple):
    """A value as a quotient of products: the values that it is multiplied with and divided by, and the
    quotients among its steps."""

    over: frozenset[str | WgslStep]
    under: frozenset[str | WgslStep] = frozenset()
    quotients: frozenset[str] = frozenset()

    def times(self, other: "Factors") -> "Factors":
        return Factors(self.over | other.over, self.under | other.under, self.quotients | other.quotients)

    def inverted(self) -> "Factors":
        return Factors(self.under, self.over, self.quotients)


def exact_quotients(steps: Sequence[WgslStep]) -> tuple[WgslStep, ...]:
    """The steps of a function, with exact divisions where a value is divided by its own factor, and exact
    products where a root is squared.

    NVIDIA's driver folds `x / x` and `x * (1 / x)` to 1, `x * y / x` to y, and `sqrt(x) * sqrt(x)` to x, even
    if x is 0, infinite, NaN or negative.
    """
    factors: dict[str, Factors] = {}
    roots: set[str] = set()
    changed: set[str] = set()
    for s in steps:
        # The same element may be read by several steps.
        factors[s.var] = Factors(frozenset([s.var if s.kind == "op" else s._replace(var="")]))
        if not _is_float_op(s):
            continue
        if s.name in ROOTS:
            roots.add(s.var)
        if s.name != "neg" and s.name not in QUOTIENTS and s.name not in PRODUCTS:
            continue
        parts = [factors.get(a, Factors(frozenset([a]))) for a in s.args]
        if s.name == "square":
            parts *= 2
        if s.name in QUOTIENTS:
            parts[-1] = parts[-1].inverted()._replace(quotients=parts[-1].quotients | {s.var})
        product = parts[0] if len(parts) == 1 else parts[0].times(parts[1])
        if len(parts) == 2:
            first, second = parts
            if first.over & second.under or first.under & second.over:
                changed |= product.quotients
            if roots and (first.over & second.over | first.under & second.under) & roots:
                changed.add(s.var)
        factors[s.var] = product
    return _rename_ops(steps, changed, QUOTIENTS | PRODUCTS)


def _dependencies(steps: Sequence[WgslStep]) -> tuple[dict[str, frozenset[str]], Elements]:
    """For each value the steps that it depends on, itself too, and the reads of elements among these."""
    below: dict[str, frozenset[str]] = {}
    elements: Elements = {}
    for s in steps:
        below[s.var] = frozenset([s.var]).union(*[below.get(a, NOTHING) for a in s.args])
        read = [s._replace(var="")] if s.kind != "op" and s.kind not in CONSTANT else []
        elements[s.var] = frozenset(read).union(*[elements.get(a, frozenset[WgslStep]()) for a in s.args])
    return below, elements


def _share_an_element(s: WgslStep, elements: Elements) -> bool:
    """Whether both operands of a step depend on the same element, or are the same value."""
    first, second = (elements.get(a, frozenset[WgslStep]()) for a in s.args)
    return s.args[0] == s.args[1] or not first.isdisjoint(second)


def _is_float_op(s: WgslStep) -> bool:
    return s.kind == "op" and s.dtype.startswith(("f", "bf"))


def _rename_ops(steps: Sequence[WgslStep], changed: set[str], names: dict[str, str]) -> tuple[WgslStep, ...]:
    """The steps, with other operations for those in `changed`."""
    return tuple(
        [
            s._replace(name=names.get(s.name, s.name)) if s.var in changed and _is_float_op(s) else s
            for s in steps
        ]
    )
