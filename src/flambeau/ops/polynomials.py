"""Functions of torch.special alone: orthogonal polynomials, each made from the two before it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi
from typing import Any

from ..core.declare import composed
from ..core.dtype import float32
from .index.select import known
from .reduce import in_float32


@dataclass(frozen=True)
class Recurrence:
    """p(0) = 1, p(1) = first(x), p(k + 1) = rise(k, x) * p(k) - fall(k) * p(k - 1)."""

    first: Callable
    rise: Callable
    fall: Callable


def _chebyshev(first: Callable) -> Recurrence:
    return Recurrence(first, lambda k, x: x * 2, lambda k: 1)


FAMILIES = {
    "chebyshev_polynomial_t": ("Chebyshev's T", _chebyshev(lambda x: x)),
    "chebyshev_polynomial_u": ("Chebyshev's U", _chebyshev(lambda x: x * 2)),
    "chebyshev_polynomial_v": ("Chebyshev's V", _chebyshev(lambda x: x * 2 - 1)),
    "chebyshev_polynomial_w": ("Chebyshev's W", _chebyshev(lambda x: x * 2 + 1)),
    "hermite_polynomial_h": ("Hermite's H", Recurrence(lambda x: x * 2, lambda k, x: x * 2, lambda k: 2 * k)),
    "hermite_polynomial_he": ("Hermite's He", Recurrence(lambda x: x, lambda k, x: x, lambda k: k)),
    "laguerre_polynomial_l": (
        "Laguerre's L",
        Recurrence(lambda x: 1 - x, lambda k, x: (2 * k + 1 - x) * (1 / (k + 1)), lambda k: k / (k + 1)),
    ),
    "legendre_polynomial_p": (
        "Legendre's P",
        Recurrence(lambda x: x, lambda k, x: x * ((2 * k + 1) / (k + 1)), lambda k: k / (k + 1)),
    ),
}


def _values(rule: Recurrence, x, most: int):
    """The polynomials of degree 0, 1, ... up to the highest asked for."""
    before, now = x * 0.0 + 1.0, rule.first(x)
    yield before
    for k in range(1, most + 1):
        yield now
        before, now = now, rule.rise(k, x) * now - before * rule.fall(k)


def _value(rule: Recurrence, x, n: Any):
    """That of degree n, 0 for n below 0; of a tensor's degrees each element's own."""
    if not hasattr(n, "node"):
        *_, last = _values(rule, x, int(n)) if n >= 0 else [x * 0.0]
        return last
    n = n.int()
    made = n * 0 + x * 0.0
    for k, value in enumerate(_values(rule, x, known(n.amax())[0] if n.numel() else -1)):
        made = (n == k).where(value, made)
    return made


def _declare(name: str, meaning: str, rule: Recurrence, shifted: bool):
    def polynomial(input, n):
        x, dtype = in_float32(input if hasattr(input, "node") else n.new_tensor(float(input), dtype=float32))
        return _value(rule, x * 2 - 1 if shifted else x, n).to(dtype)

    polynomial.__name__ = polynomial.__qualname__ = name
    of = "2 x - 1" if shifted else "x"
    polynomial.__doc__ = (
        f"{meaning} polynomial of degree n at {of}. [...] -> [...]\n\n"
        "n: a number, or a tensor of one for each element, of which the highest is read."
    )
    return composed(polynomial)


NAMED = {name: _declare(name, *row, False) for name, row in FAMILIES.items()}
NAMED |= {
    f"shifted_{name}": _declare(f"shifted_{name}", *row, True)
    for name, row in FAMILIES.items()
    if name.startswith("chebyshev")
}


@composed
def spherical_bessel_j0(x):
    """sin(x) / x, 1 at 0. [...] -> [...]"""
    return (x * (1 / pi)).sinc()


SPECIAL = (*NAMED, "spherical_bessel_j0")
