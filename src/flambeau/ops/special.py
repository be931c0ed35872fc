"""Special functions: gamma, error and Bessel functions, with the references of the CPU device."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import log, pi, sqrt
from typing import TYPE_CHECKING, Any

from ..core.declare import composed, composite
from ..core.node import is_tensor
from ..core.refused_gradient import refused
from ..core.sizes import integers
from . import normal_quantile
from .elementwise import elementwise, float_dtype
from .reduce import in_float32

if TYPE_CHECKING:
    from ..tensor import Tensor, TensorLike


def each(f: Callable[[float], float]) -> Callable[..., Any]:
    """A function of one Python float for arrays: NumPy lacks these functions, and SciPy is not a
    dependency."""

    def reference(xp: Any, x: Any) -> Any:
        return xp.asarray([f(float(v)) for v in x.reshape(-1)], dtype=x.dtype).reshape(x.shape)

    return reference


def pairs(f: Callable[[float, float], float]) -> Callable[..., Any]:
    """A function of two Python floats for arrays."""

    def reference(xp: Any, a: Any, b: Any) -> Any:
        a, b = xp.broadcast_arrays(a, b)
        values = [f(float(u), float(v)) for u, v in zip(a.reshape(-1), b.reshape(-1), strict=True)]
        return xp.asarray(values, dtype=a.dtype).reshape(a.shape)

    return reference


def _incomplete_gamma(a: float, x: float) -> tuple[float, float]:
    """The regularised (lower, upper) functions: a series below a + 1, a continued fraction above (Lentz)."""
    # The limits of the definition; NaN where it has none.
    if not (a >= 0 and x >= 0) or (a == 0 and x == 0) or (math.isinf(a) and math.isinf(x)):
        return math.nan, math.nan
    if x == 0 or math.isinf(a):
        return 0.0, 1.0
    if a == 0 or math.isinf(x):
        return 1.0, 0.0
    if a >= 1e5 and abs(x - a) <= a / 10:
        return _wide_gamma(a, x)
    # x^a e^-x / Gamma(a + 1), by logarithms since each factor may overflow
    scale = math.exp(a * math.log(x) - x - math.lgamma(a + 1))
    # P = scale * the sum over n of x^n / ((a + 1) ... (a + n)) (DLMF 8.11.4)
    if x < a + 1:
        term = total = 1.0
        for n in range(1, 5000):
            term *= x / (a + n)
            total += term
            if term < 1e-17 * total:
                break
        return scale * total, 1 - scale * total
    # Q by a continued fraction, in modified Lentz form (Numerical Recipes, 6.2)
    b, c, d = x + 1 - a, 1e300, 1 / (x + 1 - a)
    h = d
    for i in range(1, 5000):
        b += 2
        d = 1 / (i * (a - i) * d + b)
        c = b + i * (a - i) / c
        h *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return 1 - scale * a * h, scale * a * h


def _wide_gamma(a: float, x: float) -> tuple[float, float]:
    """The incomplete gamma functions for large a and x near a, by Temme's uniform expansion (DLMF 8.12)."""
    # eta^2 / 2 = m - log(1 + m) with m = (x - a) / a, by its power series where the difference cancels.
    m = (x - a) / a
    near = m * (1 - m * (1 / 3 - m * (7 / 36 - m * (73 / 540 - m * 1331 / 12960))))
    eta = near if abs(m) < 0.01 else math.copysign(sqrt(2 * (m - math.log1p(m))), m)
    s = eta * sqrt(a / 2)
    # the Taylor series of Temme's c_0(eta)
    rest = math.exp(-s * s) / sqrt(2 * pi * a) * (eta * (eta * (eta / 864 - 2 / 135) + 1 / 12) - 1 / 3)
    return math.erfc(-s) / 2 - rest, math.erfc(s) / 2 + rest


def _lgamma(x: float) -> float:
    if math.isnan(x):
        return x
    return math.inf if math.isinf(x) or (x <= 0 and x == math.floor(x)) else math.lgamma(x)


def _digamma(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, -x)
    if x < 0:
        # Reflection: psi(x) = psi(1 - x) - pi / tan(pi x). tan has period pi, which is subtracted exactly.
        turn = pi * (x - round(x)) if math.isfinite(x) else 0.0
        return math.nan if turn == 0 else _digamma(1 - x) - pi / math.tan(turn)
    # psi(x) = psi(x + 10) - the sum of 1 / (x + k), then the asymptotic series (Abramowitz and Stegun,
    # 6.3.18)
    shift = sum(1 / (x + k) for k in range(10))
    r = 1 / (x + 10)
    s = r * r
    return math.log(x + 10) - r / 2 - s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s / 240))) - shift


def _zeta(s: float, q: float) -> float:
    if math.isnan(s) or math.isnan(q) or s < 1:
        return math.nan
    if s == 1 or (-math.inf < q <= 0 and q == math.floor(q)):
        return math.inf
    if q < 0 or math.isinf(q) or math.isinf(s):
        return math.nan if q < 0 else 0.0 if math.isinf(q) or q > 1 else 1.0 if q == 1 else math.inf
    # Euler-Maclaurin summation: 12 terms, the integral of the rest, and corrections with Bernoulli numbers
    a = q + 12
    series = 0.5 + s / a * (1 / 12 - (s + 1) * (s + 2) / a**2 * (1 / 720 - (s + 3) * (s + 4) / a**2 / 30240))
    return sum(_inverse_power(q + k, s) for k in range(12)) + a**-s * (a / (s - 1) + series)


def _inverse_power(x: float, s: float) -> float:
    try:
        return x**-s
    except OverflowError:
        return math.inf


def _zetas(xp: Any, s: Any, q: Any) -> Any:
    s, q = xp.broadcast_arrays(s, q)
    pairs = zip(s.reshape(-1).tolist(), q.reshape(-1).tolist(), strict=True)
    return xp.asarray([_zeta(*pair) for pair in pairs], dtype=s.dtype).reshape(s.shape)


def _erfcx(x: float) -> float:
    if x < 10:
        # exp(x * x) overflows float64; erfc(x) is near 2
        return math.inf if x < -26.64 else math.exp(x * x) * math.erfc(x)
    # the asymptotic series (DLMF 7.12.1)
    r = 1 / (2 * x * x)
    return (1 - r * (1 - 3 * r * (1 - 5 * r))) / (x * sqrt(pi))


def _bessel(order: int) -> Callable[[float], float]:
    """exp(-|x|) I(x): a power series up to 20, above it the asymptotic one (Abramowitz and Stegun, 9.7.1)."""

    def scaled(x: float) -> float:
        # 60 terms of (x / 2)^(2 k + order) / (k! (k + order)!) suffice below 20.
        a = abs(x)
        if a < 20:
            terms = (
                (a / 2) ** (2 * k + order) / math.factorial(k) / math.factorial(k + order) for k in range(60)
            )
            y = math.exp(-a) * sum(terms)
        else:
            y = term = 1.0
            for k in range(1, 12):
                term *= -(4 * order * order - (2 * k - 1) ** 2) / (8 * a * k)
                y += term
            y /= sqrt(2 * pi * a)
        return math.copysign(y, x) if order else y

    return scaled


@elementwise(lambda g, y, x: [g * x.digamma()], each(_lgamma), dtype=float_dtype, cost=40)
def lgamma(input: Tensor) -> Tensor:
    """Logarithm of |gamma(input)|. [...] -> [...]"""
    ...


@elementwise(lambda g, y, x: [g * x.polygamma(1)], each(_digamma), dtype=float_dtype, cost=40)
def digamma(input: Tensor) -> Tensor:
    """The derivative of lgamma. [...] -> [...]"""
    ...


# d/dq zeta(s, q) = -s zeta(s + 1, q)
@elementwise(
    lambda g, z, s, q: [refused("zeta", "input"), -g * s * (s + 1).zeta(q)],
    _zetas,
    dtype=float_dtype,
    cost=80,
)
def zeta(input: Tensor, other: TensorLike) -> Tensor:
    """Hurwitz' zeta: the sum of (other + k)**-input over k >= 0, for input > 1 and other > 0; TypeError if a
    gradient by input is computed. [...], [...] -> [...]
    """
    ...


@elementwise(
    # d/dx P(a, x) = x^(a - 1) exp(-x) / Gamma(a), by logarithms since Gamma overflows.
    lambda g, y, a, x: [refused("igamma", "input"), g * ((a - 1).xlogy(x) - x - a.lgamma()).exp()],
    pairs(lambda a, x: _incomplete_gamma(a, x)[0]),
    dtype=float_dtype,
    cost=400,
)
def igamma(input: Tensor, other: TensorLike) -> Tensor:
    """The regularised lower incomplete gamma function of input at other, both at least 0; TypeError if a
    gradient by input is computed. [...], [...] -> [...]
    """
    ...


@elementwise(
    lambda g, y, a, x: [refused("igammac", "input"), -g * ((a - 1).xlogy(x) - x - a.lgamma()).exp()],
    pairs(lambda a, x: _incomplete_gamma(a, x)[1]),
    dtype=float_dtype,
    cost=400,
)
def igammac(input: Tensor, other: TensorLike) -> Tensor:
    """The regularised upper incomplete gamma function of input at other, both at least 0; TypeError if a
    gradient by input is computed. [...], [...] -> [...]
    """
    ...


@elementwise(
    lambda g, y, x: [g * (-x * x).exp() * (-2 / sqrt(pi))], each(math.erfc), dtype=float_dtype, cost=12
)
def erfc(input: Tensor) -> Tensor:
    """1 - erf(input), accurate for large input. [...] -> [...]"""
    ...


# d/dx exp(x^2) erfc(x) = 2 x erfcx(x) - 2 / sqrt(pi)
@elementwise(lambda g, y, x: [g * (x * y * 2 - 2 / sqrt(pi))], each(_erfcx), dtype=float_dtype, cost=12)
def erfcx(input: Tensor) -> Tensor:
    """exp(input * input) * erfc(input). [...] -> [...]"""
    ...


@elementwise(
    # The inverse function's derivative: 1 / phi(y).
    lambda g, y, x: [g * (y * y * 0.5).exp() * sqrt(2 * pi)],
    normal_quantile.ndtri,
    dtype=float_dtype,
    cost=12,
)
def ndtri(input: Tensor) -> Tensor:
    """The inverse of ndtr. [...] -> [...]"""
    ...


@elementwise(
    lambda g, y, x: [g * (y * y).exp() * (sqrt(pi) / 2)], normal_quantile.erfinv, dtype=float_dtype, cost=12
)
def erfinv(input: Tensor) -> Tensor:
    """The inverse of erf. [...] -> [...]"""
    ...


# I0' = I1, and the factor exp(-|x|) adds -sign(x) y.
@elementwise(lambda g, y, x: [g * (x.i1e() - y * x.sign())], each(_bessel(0)), dtype=float_dtype, cost=40)
def i0e(input: Tensor) -> Tensor:
    """exp(-|input|) * i0(input). [...] -> [...]"""
    ...


@elementwise(
    # I1' = I0 - I1 / x
    lambda g, y, x: [g * (x.i0e() - y * x.sign() - _divide_by_x(y, x))],
    each(_bessel(1)),
    dtype=float_dtype,
    cost=40,
)
def i1e(input: Tensor) -> Tensor:
    """exp(-|input|) * i1(input). [...] -> [...]"""
    ...


@elementwise(
    # As in PyTorch, x has no gradient where it is 0 and log(y) is not finite or y is negative.
    lambda g, z, x, y: [g * ((x == 0) & (y <= 0)).where(0.0, y.log()), g * x / y],
    lambda xp, x, y: xp.where((x == 0) & ~xp.isnan(y), 0, x * xp.log(y)),
    dtype=float_dtype,
    cost=5,
)
def xlogy(input: Tensor, other: TensorLike) -> Tensor:
    """input * log(other); 0 where input is 0, unless other is NaN. [...], [...] -> [...]"""
    ...


@elementwise(
    lambda g, z, x, y: [g * ((x == 0) & (y <= -1)).where(0.0, y.log1p()), g * x / (y + 1)],
    lambda xp, x, y: xp.where((x == 0) & ~xp.isnan(y), 0, x * xp.log1p(y)),
    dtype=float_dtype,
    cost=9,
)
def xlog1py(input: Tensor, other: TensorLike) -> Tensor:
    """input * log(1 + other); 0 where input is 0, unless other is NaN. [...], [...] -> [...]"""
    ...


@composed
def i0(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 0. [...] -> [...]"""
    x, dtype = in_float32(input)
    return _i0(x).to(dtype)


@composed
def i1(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 1. [...] -> [...]"""
    x, dtype = in_float32(input)
    return _i1(x).to(dtype)


@composed
def polygamma(input: Tensor, n: Any = None) -> Tensor:
    """The nth derivative of digamma; polygamma(n, x), or x.polygamma(n) as a method. [...] -> [...]

    Raises ValueError if n is not an integer of at least 0.
    """
    # PyTorch has both polygamma(n, x) and x.polygamma(n).
    if not is_tensor(input) or (is_tensor(n) and not input.ndim and input.dtype.kind in "iu"):
        input, n = n, input  # the call polygamma(n, x), whose n may be a 0-d tensor
    n = integers(n, "n", may_be_several=False)
    if n is None or n < 0:
        raise ValueError(f"n={n!r} is not an integer of at least 0: pass the number of derivatives")
    x, dtype = in_float32(input)
    return (x.digamma() if n == 0 else _polygamma(x, n=n)).to(dtype)


@composed
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)); with eps, x is first clamped to [eps, 1 - eps]. [...] -> [...]"""
    x, dtype = in_float32(input)
    x = x if eps is None else x.clamp(eps, 1 - eps)  # 0 and 1 would give infinities
    return _logit(x).to(dtype)


@composed
def sinc(input: Tensor) -> Tensor:
    """sin(pi * x) / (pi * x), 1 at 0. [...] -> [...]"""
    turns, dtype = in_float32(input)
    real = turns.real if dtype.is_complex else turns
    x = turns * pi
    near = x.abs() < 0.8
    # Below 0.8 the Taylor series of sin(x) / x: the quotient is 0 / 0 at 0.
    s = near.where(x, 0.0).square()
    series = 1 - s / 6 * (1 - s / 20 * (1 - s / 42 * (1 - s / 72 * (1 - s / 110))))
    # The nearest even integer is a multiple of the period. It is subtracted before the product with pi, which
    # would round it.
    wave = ((turns - (real * 0.5).round() * 2) * pi).sin()
    return near.where(series, wave / near.where(1.0, x)).to(dtype)


@composed
def entr(input: Tensor) -> Tensor:
    """-x * log(x); 0 at 0, -inf below 0. [...] -> [...]"""
    x, dtype = in_float32(input)
    return _entr(x).to(dtype)


@composed
def ndtr(input: Tensor) -> Tensor:
    """The cumulative distribution function of the standard normal. [...] -> [...]"""
    return (input * -sqrt(0.5)).erfc() * 0.5


@composed
def log_ndtr(input: Tensor) -> Tensor:
    """The logarithm of ndtr, accurate for large negative x. [...] -> [...]"""
    x, dtype = in_float32(input)
    return _log_ndtr(x).to(dtype)


@composed
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension p, for x above (p - 1) / 2. [...] -> [...]

    Raises ValueError if p is not a positive integer.
    """
    if not isinstance(p, int) or p < 1:  # pyright: ignore[reportUnnecessaryIsInstance]: users may pass anything
        raise ValueError(f"p={p!r} is not a positive integer: pass the dimension")
    parts = [(input - k / 2).lgamma() for k in range(p)]
    return sum(parts[1:], parts[0]) + p * (p - 1) / 4 * log(pi)


def _divide_by_x(y: Tensor, x: Tensor) -> Tensor:
    """y / x, whose limit at 0 is 1/2."""
    zero = x == 0
    return zero.where(0.5, y / zero.where(1.0, x))


# NaN outside [0, 1], as in PyTorch.
@composite(grad=lambda g, y, x: [g * ((x >= 0) & (x <= 1)).where(1 / (x * (1 - x)), math.nan)])
def _logit(x: Tensor) -> Tensor:
    return (x / (1 - x)).log()


@composite(grad=lambda g, y, x: [-g * (x.log() + 1)])
def _entr(x: Tensor) -> Tensor:
    return (x < 0).where(-float("inf"), (x == 0).where(0.0, -x * x.log()))


@composite(grad=lambda g, y, x: [g * x.i1()])
def _i0(x: Tensor) -> Tensor:
    return x.i0e() * x.abs().exp()


# I1'(x) = I0(x) - I1(x) / x
@composite(grad=lambda g, y, x: [g * (x.i0() - _divide_by_x(y, x))])
def _i1(x: Tensor) -> Tensor:
    return x.i1e() * x.abs().exp()


# phi(x) / Phi(x), whose factors exp(-x^2 / 2) cancel
@composite(grad=lambda g, y, x: [g * sqrt(2 / pi) / (x * -sqrt(0.5)).erfcx()])
def _log_ndtr(x: Tensor) -> Tensor:
    # Below -1 by erfcx: Phi(x) = erfcx(-x / sqrt(2)) exp(-x^2 / 2) / 2, of which no factor underflows
    # before its logarithm.
    below = (x.minimum(-1) * -sqrt(0.5)).erfcx().log() - x * x * 0.5 - log(2)
    return (x < -1).where(below, ((x * sqrt(0.5)).erfc() * -0.5).log1p())


@composite(grad=lambda g, y, x, n: [g * x.polygamma(n + 1)])
def _polygamma(x: Tensor, *, n: int) -> Tensor:
    """(-1)**(n+1) n! zeta(n + 1, x); below 0.5 by the nth derivative of pi cot(pi x), a polynomial of cot."""
    mirrored = x < 0.5
    sign = (-1) ** (n + 1)
    # zeta(n + 1, x) for x of 0.5 or more; reflected (1 - x) below.
    right = x.full((), float(n + 1), device=x.device).zeta(mirrored.where(1 - x, x)) * math.factorial(n)
    turn = mirrored.where(x - x.round(), 0.25) * pi
    cot, slope = turn.cos() / turn.sin(), _cotangent_slope(n)
    polynomial = slope[-1]  # Horner's scheme
    for c in slope[-2::-1]:
        polynomial = polynomial * cot + c
    return mirrored.where(-right - polynomial * pi ** (n + 1), right * sign)


def _cotangent_slope(n: int) -> list[float]:
    """The nth derivative of cot as a polynomial of cot, constant first: p becomes -(1 + c**2) p'."""
    p = [0.0, 1.0]
    for _ in range(n):
        d = [k * c for k, c in enumerate(p)][1:]
        p = [-a - b for a, b in zip([*d, 0.0, 0.0], [0.0, 0.0, *d], strict=True)]
    return p
