"""Sums and products behind each other, which a driver may take in another order.

WGSL lets a compiler change the order of sums, and take out what two products share; Mesa's does. What
roundings then come to is told by the magnitudes of all terms, not by those of the sums that a kernel writes
down. And only where all terms count in steps that float32 can hold together is a chain exact in every order.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = Any
EXACT = 2.0**24  # steps that float32 counts
LONGEST = 16  # operations of a chain that are counted: longer ones are cut by kernels


class Chain(NamedTuple):
    """Of each element: what the magnitudes of all terms come to, the step that they are multiples of (0 of
    none, infinite of 0), and how many operations there are."""

    mass: Array
    step: Array
    length: int

    @property
    def exact(self) -> Array:
        """Where no order of the operations rounds."""
        return self.mass < EXACT * self.step


def steps(x: Array) -> Array:
    """The largest power of two that each value is a multiple of."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    bits = np.abs(mantissa * 2.0**53).astype("i8")
    return np.where(x == 0, np.inf, (bits & -bits).astype("f8") * np.exp2(exponent - 53.0))


def begun(value: Array) -> Chain:
    value = np.asarray(value, "f8")
    return Chain(np.abs(value), steps(value), 0)


def joined(name: str, parts: list[Chain]) -> Chain | None:
    """The chain of an op of chains; None where it begins another."""
    rule = RULES.get(name)
    if rule is None:
        return None
    mass, step = rule(*parts)
    count = min(sum(p.length for p in parts) + (name != "neg"), LONGEST)
    return Chain(mass, step, count * 2 if name == "square" else count)


def _sum(a: Chain, b: Chain) -> tuple[Array, Array]:
    return a.mass + b.mass, np.minimum(a.step, b.step)


def _product(a: Chain, b: Chain) -> tuple[Array, Array]:
    return a.mass * b.mass, a.step * b.step


def _ratio(a: Chain, b: Chain) -> tuple[Array, Array]:
    mass = a.mass / np.maximum(b.mass, 1e-300)
    return mass, np.zeros_like(mass)


RULES: dict[str, Callable[..., tuple[Array, Array]]] = {
    "add": _sum,
    "sub": _sum,
    "mul": _product,
    "square": lambda *a: _product(*a, *a),
    "neg": lambda *a: a[0][:2],
    "div": _ratio,
}
