"""Orthogonal polynomials of torch.special, each computed from the two before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core.declare import composed
from ..core.dtype import float32
from ..core.node import is_tensor
from .elementwise import depend_on
from .index.select import read_scalars
from .reduce import in_float32

if TYPE_CHECKING:
    from ..tensor import Tensor


@dataclass(frozen=True)
class Recurrence:
    """p(0) = 1, p(1) = first(x), p(k + 1) = rise(k, x) * p(k) - fall(k) * p(k - 1)."""

    first: Callable[[Tensor], Tensor]
    rise: Callable[[int, Tensor], Tensor]
    fall: Callable[[int], float]


def _chebyshev(first: Callable[[Tensor], Tensor]) -> Recurrence:
    return Recurrence(first, lambda k, x: x * 2, lambda k: 1)


CHEBYSHEV_T = _chebyshev(lambda x: x)
CHEBYSHEV_U = _chebyshev(lambda x: x * 2)
CHEBYSHEV_V = _chebyshev(lambda x: x * 2 - 1)
CHEBYSHEV_W = _chebyshev(lambda x: x * 2 + 1)
HERMITE_H = Recurrence(lambda x: x * 2, lambda k, x: x * 2, lambda k: 2 * k)
HERMITE_HE = Recurrence(lambda x: x, lambda k, x: x, lambda k: k)
LAGUERRE = Recurrence(lambda x: 1 - x, lambda k, x: (2 * k + 1 - x) * (1 / (k + 1)), lambda k: k / (k + 1))
LEGENDRE = Recurrence(lambda x: x, lambda k, x: x * ((2 * k + 1) / (k + 1)), lambda k: k / (k + 1))


def _values(rule: Recurrence, x: Tensor, most: int) -> Iterator[Tensor]:
    """The polynomials of degree 0, 1, ... `most` at x."""
    before, now = _constant(x, 1.0), rule.first(x)
    yield before
    for k in range(1, most + 1):
        yield now
        before, now = now, rule.rise(k, x) * now - before * rule.fall(k)


def _constant(x: Tensor, value: float) -> Tensor:
    """A value in x's shape and dtype, with gradient 0. x * 0.0 would be NaN for infinities."""
    return depend_on(x.full(x.shape, value, dtype=x.dtype, device=x.device), x)


def _value(rule: Recurrence, x: Tensor, n: Any) -> Tensor:
    """The polynomial of degree n, 0 for n below 0. A tensor n gives each element its own degree."""
    if not is_tensor(n):
        *_, last = _values(rule, x, int(n)) if n >= 0 else [_constant(x, 0.0)]
        return last
    n = n.int()
    result = n * 0 + _constant(x, 0.0)  # 0 for degrees below 0, in the shape to which both broadcast
    for k, value in enumerate(_values(rule, x, read_scalars(n.amax())[0] if n.numel() else -1)):
        result = (n == k).where(value, result)
    return result


def _evaluate(rule: Recurrence, input: Tensor, n: Any, shifted: bool = False) -> Tensor:
    x, dtype = in_float32(input if is_tensor(input) else n.new_tensor(float(input), dtype=float32))
    return _value(rule, x * 2 - 1 if shifted else x, n).to(dtype)


@composed
def chebyshev_polynomial_t(input: Tensor, n: Tensor | float) -> Tensor:
    """Chebyshev's T polynomial of degree n at input. [...] -> [...]

    n: a number, or a tensor with a degree for each element; its maximum is read.
    """
    return _evaluate(CHEBYSHEV_T, input, n)


@composed
def chebyshev_polynomial_u(input: Tensor, n: Tensor | float) -> Tensor:
    """Chebyshev's U polynomial of degree n at input. [...] -> [...]

    n: a number, or a tensor with a degree for each element; its maximum is read.
    """
    return _evaluate(CHEBYSHEV_U, input, n)


@composed
def chebyshev_polynomial_v(input: Tensor, n: Tensor | float) -> Tensor:
    """Chebyshev's V polynomial of degree n at input. [...] -> [...]

    n: a number, or a tensor with a degree for each element; its maximum is read.
    """
    return _evaluate(CHEBYSHEV_V, input, n)


@composed
def chebyshev_polynomial_w(input: Tensor, n: Tensor | float) -> Tensor:
    """Chebyshev's W polynomial of degree n at input. [...] -> [...]

    n: a number, or a tensor with a degree for each element; its maximum is read.
    """
    return _evaluate(CHEBYSHEV_W, input, n)


@composed
def hermite_polynomial_h(input: Tensor, n: Tensor | float) -> Tensor:
    """Hermite's H polynomial of degree n at input. [...] -> [...]

    n: a number, or a tensor with a degree for each element; its maximum is read.
    """
    return _evaluate(HERMITE_H, input, n)


@composed
def hermite_polynomial_he(input: Tensor, n: Tensor | float) -> Tensor:
    """Hermite's He polynomial of degree n at input. [...] -> [...]

    n: a number, or a tensor with a degree for each element; its maximum is read.
    """
    return _evaluate(HERMITE_HE, input, n)


@composed
def laguerre_polynomial_l(input: Tensor, n: Tensor | float) -> Tensor:
    """Laguerre's L polynomial of degree n at input. [...] -> [...]

    n: a number, or a tensor with a degree for each element; its maximum is read.
    """
    return _evaluate(LAGUERRE, input, n)


@composed
def legendre_polynomial_p(input: Tensor, n: Tensor | float) -> Tensor:
    """Legendre's P polynomial of degree n at input. [...] -> [...]

    n: a number, or a tensor with a degree for each element; its maximum is read.
    """
    return _evaluate(LEGENDRE, input, n)


@composed
def shifted_chebyshev_polynomial_t(input: Tensor, n: Tensor | float) -> Tensor:
    """Chebyshev's T polynomial of degree n at 2 input - 1. [...] -> [...]

    n: a number, or a tensor with a degree for each element; its maximum is read.
    """
    return _evaluate(CHEBYSHEV_T, input, n, shifted=True)


@composed
def shifted_chebyshev_polynomial_u(input: Tensor, n: Tensor | float) -> Tensor:
    """Chebyshev's U polynomial of degree n at 2 input - 1. [...] -> [...]

    n: a number, or a tensor with a degree for each element; its maximum is read.
    """
    return _evaluate(CHEBYSHEV_U, input, n, shifted=True)


@composed
def shifted_chebyshev_polynomial_v(input: Tensor, n: Tensor | float) -> Tensor:
    """Chebyshev's V polynomial of degree n at 2 input - 1. [...] -> [...]

    n: a number, or a tensor with a degree for each element; its maximum is read.
    """
    return _evaluate(CHEBYSHEV_V, input, n, shifted=True)


@composed
def shifted_chebyshev_polynomial_w(input: Tensor, n: Tensor | float) -> Tensor:
    """Chebyshev's W polynomial of degree n at 2 input - 1. [...] -> [...]

    n: a number, or a tensor with a degree for each element; its maximum is read.
    """
    return _evaluate(CHEBYSHEV_W, input, n, shifted=True)


@composed
def spherical_bessel_j0(x: Tensor) -> Tensor:
    """sin(x) / x, 1 at 0 and 0 at infinities. [...] -> [...]"""
    x, dtype = in_float32(x)
    near, is_infinite = x.abs() < 0.5, x.isinf()
    # Below 0.5 the Taylor series: the quotient is 0 / 0 at 0. Each branch gets safe values where the other
    # one is selected, so that no gradient is NaN.
    s = near.where(x, 0.0).square()
    series = 1 - s / 6 * (1 - s / 20 * (1 - s / 42 * (1 - s / 72 * (1 - s / 110 * (1 - s / 156)))))
    far = (near | is_infinite).where(1.0, x)
    return near.where(series, is_infinite.where(0.0, far.sin() / far)).to(dtype)
