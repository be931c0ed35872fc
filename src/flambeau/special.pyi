"""Special functions under the names of torch.special: entries of the op table, nothing of its own.

Made by `python scripts/write_stubs.py`."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from .core.dtype import DType
from .tensor import HostScalar, Tensor

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]

def airy_ai(input: Tensor) -> Tensor:
    """Airy's function Ai. [...] -> [...]"""

def bessel_j0(input: Tensor) -> Tensor:
    """Bessel function of the first kind, order 0. [...] -> [...]"""

def bessel_j1(input: Tensor) -> Tensor:
    """Bessel function of the first kind, order 1. [...] -> [...]"""

def bessel_y0(input: Tensor) -> Tensor:
    """Bessel function of the second kind, order 0: -inf at 0, NaN below. [...] -> [...]"""

def bessel_y1(input: Tensor) -> Tensor:
    """Bessel function of the second kind, order 1: -inf at 0, NaN below. [...] -> [...]"""

def chebyshev_polynomial_t(input: Tensor | _float, n: _int | Tensor) -> Tensor:
    """Chebyshev's T polynomial of degree n at x. [...] -> [...]

    n: a number, or a tensor of one for each element, of which the highest is read."""

def chebyshev_polynomial_u(input: Tensor | _float, n: _int | Tensor) -> Tensor:
    """Chebyshev's U polynomial of degree n at x. [...] -> [...]

    n: a number, or a tensor of one for each element, of which the highest is read."""

def chebyshev_polynomial_v(input: Tensor | _float, n: _int | Tensor) -> Tensor:
    """Chebyshev's V polynomial of degree n at x. [...] -> [...]

    n: a number, or a tensor of one for each element, of which the highest is read."""

def chebyshev_polynomial_w(input: Tensor | _float, n: _int | Tensor) -> Tensor:
    """Chebyshev's W polynomial of degree n at x. [...] -> [...]

    n: a number, or a tensor of one for each element, of which the highest is read."""

def digamma(input: Tensor) -> Tensor:
    """slope of lgamma. [...] -> [...]"""

def entr(input: Tensor) -> Tensor:
    """-x * log(x), 0 at 0 and -inf below. [...] -> [...]"""

def erf(input: Tensor) -> Tensor:
    """error function. [...] -> [...]"""

def erfc(input: Tensor) -> Tensor:
    """1 - erf(x), exact far out. [...] -> [...]"""

def erfcx(input: Tensor) -> Tensor:
    """exp(x * x) * erfc(x). [...] -> [...]"""

def erfinv(input: Tensor) -> Tensor:
    """inverse of erf. [...] -> [...]"""

def exp2(input: Tensor) -> Tensor:
    """2 to the power x. [...] -> [...]"""

def expit(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)). [...] -> [...]"""

def expm1(input: Tensor) -> Tensor:
    """exp(x) - 1, exact near 0. [...] -> [...]"""

def gammainc(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """the share of the gamma function's integral of x up to y, for x and y from 0 on; no slope by x. [...], [...] -> [...]"""

def gammaincc(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """the share of the gamma function's integral of x from y on, for x and y from 0 on; no slope by x. [...], [...] -> [...]"""

def gammaln(input: Tensor) -> Tensor:
    """logarithm of |gamma(x)|. [...] -> [...]"""

def hermite_polynomial_h(input: Tensor | _float, n: _int | Tensor) -> Tensor:
    """Hermite's H polynomial of degree n at x. [...] -> [...]

    n: a number, or a tensor of one for each element, of which the highest is read."""

def hermite_polynomial_he(input: Tensor | _float, n: _int | Tensor) -> Tensor:
    """Hermite's He polynomial of degree n at x. [...] -> [...]

    n: a number, or a tensor of one for each element, of which the highest is read."""

def i0(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 0. [...] -> [...]"""

def i0e(input: Tensor) -> Tensor:
    """exp(-|x|) * i0(x). [...] -> [...]"""

def i1(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 1. [...] -> [...]"""

def i1e(input: Tensor) -> Tensor:
    """exp(-|x|) * i1(x). [...] -> [...]"""

def laguerre_polynomial_l(input: Tensor | _float, n: _int | Tensor) -> Tensor:
    """Laguerre's L polynomial of degree n at x. [...] -> [...]

    n: a number, or a tensor of one for each element, of which the highest is read."""

def legendre_polynomial_p(input: Tensor | _float, n: _int | Tensor) -> Tensor:
    """Legendre's P polynomial of degree n at x. [...] -> [...]

    n: a number, or a tensor of one for each element, of which the highest is read."""

def log1p(input: Tensor) -> Tensor:
    """log(1 + x), exact near 0. [...] -> [...]"""

def log_ndtr(input: Tensor) -> Tensor:
    """Logarithm of the normal distribution's mass below x, exact far out. [...] -> [...]"""

def log_softmax(input: Tensor, dim: _int = -1, dtype: DType | type[Any] | str | None = None) -> Tensor:
    """Logarithm of softmax along a dim, safe for large values. [..., n, ...] -> [..., n, ...]"""

def logit(input: Tensor, eps: _float | None = None) -> Tensor:
    """log(x / (1 - x)), x first held inside [eps, 1 - eps] where eps is given. [...] -> [...]"""

def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False) -> Tensor:
    """log(sum(exp(x))), shifted so that nothing overflows. [..., n, ...] -> [...]"""

def modified_bessel_i0(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 0. [...] -> [...]"""

def modified_bessel_i1(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 1. [...] -> [...]"""

def modified_bessel_k0(input: Tensor) -> Tensor:
    """Modified Bessel function of the second kind, order 0: inf at 0, NaN below. [...] -> [...]"""

def modified_bessel_k1(input: Tensor) -> Tensor:
    """Modified Bessel function of the second kind, order 1: inf at 0, NaN below. [...] -> [...]"""

def multigammaln(input: Tensor, p: _int) -> Tensor:
    """Logarithm of the gamma function of p dims, x above (p - 1) / 2. [...] -> [...]

    Raises ValueError where p is no whole number above 0."""

def ndtr(input: Tensor) -> Tensor:
    """The mass of the normal distribution below x. [...] -> [...]"""

def ndtri(input: Tensor) -> Tensor:
    """x of a normal distribution with this mass below it. [...] -> [...]"""

def polygamma(input: Tensor, n: _int | Tensor | None = None) -> Tensor:
    """The nth derivative of digamma; polygamma(n, x), or x.polygamma(n) as a method. [...] -> [...]

    Raises ValueError where n is no whole number from 0."""

def psi(input: Tensor) -> Tensor:
    """slope of lgamma. [...] -> [...]"""

def round(input: Tensor, *, decimals: _int = 0) -> Tensor:
    """The nearest whole number (or multiple of 10**-decimals), halves to even. [...] -> [...]"""

def scaled_modified_bessel_k0(input: Tensor) -> Tensor:
    """exp(x) times modified_bessel_k0: inf at 0, NaN below. [...] -> [...]"""

def scaled_modified_bessel_k1(input: Tensor) -> Tensor:
    """exp(x) times modified_bessel_k1: inf at 0, NaN below. [...] -> [...]"""

def shifted_chebyshev_polynomial_t(input: Tensor | _float, n: _int | Tensor) -> Tensor:
    """Chebyshev's T polynomial of degree n at 2 x - 1. [...] -> [...]

    n: a number, or a tensor of one for each element, of which the highest is read."""

def shifted_chebyshev_polynomial_u(input: Tensor | _float, n: _int | Tensor) -> Tensor:
    """Chebyshev's U polynomial of degree n at 2 x - 1. [...] -> [...]

    n: a number, or a tensor of one for each element, of which the highest is read."""

def shifted_chebyshev_polynomial_v(input: Tensor | _float, n: _int | Tensor) -> Tensor:
    """Chebyshev's V polynomial of degree n at 2 x - 1. [...] -> [...]

    n: a number, or a tensor of one for each element, of which the highest is read."""

def shifted_chebyshev_polynomial_w(input: Tensor | _float, n: _int | Tensor) -> Tensor:
    """Chebyshev's W polynomial of degree n at 2 x - 1. [...] -> [...]

    n: a number, or a tensor of one for each element, of which the highest is read."""

def sinc(input: Tensor) -> Tensor:
    """sin(pi * x) / (pi * x), 1 at 0. [...] -> [...]"""

def softmax(input: Tensor, dim: _int = -1, dtype: DType | type[Any] | str | None = None) -> Tensor:
    """exp(x) normalised to sum to 1 along a dim. [..., n, ...] -> [..., n, ...]"""

def spherical_bessel_j0(x: Tensor) -> Tensor:
    """sin(x) / x, 1 at 0. [...] -> [...]"""

def xlog1py(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """x * log(1 + y); 0 where x is, whatever y is. [...], [...] -> [...]"""

def xlogy(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """x * log(y); 0 where x is, whatever y is. [...], [...] -> [...]"""

def zeta(input: Tensor | _float | HostScalar, other: Tensor | _float | HostScalar) -> Tensor:
    """Hurwitz' zeta: the sum of (y + k)**-x over k >= 0, for x > 1 and y > 0; no slope by x. [...], [...] -> [...]"""
