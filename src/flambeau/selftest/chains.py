"""Bounds chains of sums and products, which a driver may reorder.

WGSL lets a compiler reorder sums and factor products; Mesa's does. The rounding error then follows from the
magnitudes of all terms, not from the sums that a kernel writes down. A chain is exact in every order only if
float32 can hold all terms in one common step.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = Any
EXACT = 2.0**24  # steps that float32 counts exactly
LONGEST = 16  # the most operations of a chain; kernels cut longer ones


class Chain(NamedTuple):
    """For each element: the sum of the magnitudes of all terms; the step that divides them (0 if none,
    infinite for 0); the number of operations."""

    mass: Array
    step: Array
    length: int

    @property
    def exact(self) -> Array:
        """Whether each element is exact in every order of the operations."""
        return self.mass < EXACT * self.step


def steps(x: Array) -> Array:
    """The largest power of two that divides each value."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    bits = np.abs(mantissa * 2.0**53).astype("i8")
    # 0 is a multiple of every step.
    return np.where(x == 0, np.inf, (bits & -bits).astype("f8") * np.exp2(exponent - 53.0))


def chain_of(value: Array) -> Chain:
    value = np.asarray(value, "f8")
    return Chain(np.abs(value), steps(value), 0)


def join_chains(name: str, parts: list[Chain]) -> Chain | None:
    """The chain of an op on chains; None if the op starts a new one."""
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
    return mass, np.zeros_like(mass)  # a quotient is a multiple of no power of two in general


RULES: dict[str, Callable[..., tuple[Array, Array]]] = {
    "add": _sum,
    "sub": _sum,
    "mul": _product,
    "square": lambda *a: _product(*a, *a),
    "neg": lambda *a: a[0][:2],
    "div": _ratio,
}
