"""Functions of torch.special alone: orthogonal polynomials, each made from the two before it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi

from ..core.declare import composed
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


def _value(rule: Recurrence, x, n: int):
    if not isinstance(n, int):
        raise TypeError(f"n={n!r} is not a whole number: give the degree as a Python int")
    if n < 0:
        return x * 0.0
    before, now = x * 0.0 + 1.0, rule.first(x)
    for k in range(1, n):
        before, now = now, rule.rise(k, x) * now - before * rule.fall(k)
    return now if n else before


def _declare(name: str, meaning: str, rule: Recurrence, shifted: bool):
    def polynomial(input, n: int):
        x, dtype = in_float32(input)
        return _value(rule, x * 2 - 1 if shifted else x, n).to(dtype)

    polynomial.__name__ = polynomial.__qualname__ = name
    of = "2 x - 1" if shifted else "x"
    polynomial.__doc__ = (
        f"{meaning} polynomial of degree n at {of}; TypeError where n is no int. [...] -> [...]"
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
