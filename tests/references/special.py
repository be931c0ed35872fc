"""What special functions should compute, in float64, by sums and integrals that the package does not use."""

from math import erf, erfc, exp, inf, isinf, isnan, lgamma, log, nan, pi, sqrt

import numpy as np


def each(f):
    return np.vectorize(f, otypes=[float])


@each
def log_gamma(x):
    return nan if isnan(x) else inf if isinf(x) or (x <= 0 and x == int(x)) else lgamma(x)


@each
def psi(x):
    """By the recurrence up to 1e3 and two terms of the asymptotic series."""
    if isnan(x) or x == -inf or (x < 0 and x == int(x)):
        return nan
    if isinf(x) or x == 0:
        return inf if x == inf or np.signbit(x) else -inf
    k = np.arange(int(max(0, 1e3 - x)))
    top = x + len(k)
    return float(log(top) - 1 / (2 * top) - 1 / (12 * top * top) - (1 / (x + k)).sum())


@each
def hurwitz(s, q):
    """4,000 terms, and the integral of the rest with its end's half."""
    n = q + 4000
    return float(
        ((q + np.arange(4000)) ** -s).sum() + n ** (1 - s) / (s - 1) + n**-s / 2 + s * n ** (-s - 1) / 12
    )


def polygamma(n, x):
    """By the sum of n! (-1)**(n+1) / (x + k)**(n+1) over k, for any x that is no pole."""
    k = np.arange(2000)
    terms = (x[..., None] + k) ** -(n + 1.0)
    top = x + 2000
    rest = top**-n / n + top ** -(n + 1.0) / 2 + (n + 1) * top ** -(n + 2.0) / 12
    from math import factorial

    return (-1) ** (n + 1) * factorial(n) * (terms.sum(-1) + rest)


@each
def scaled_erfc(x):
    """Of the integral exp(-t**2 - 2 x t) over t from 0: Simpson's rule."""
    if x < -5:
        return exp(x * x) * erfc(x) if x > -26 else inf
    if isnan(x):
        return nan
    t = np.linspace(0, 8, 40001)
    y = np.exp(-t * t - 2 * np.minimum(x, 1e4) * t)
    weights = np.where(np.arange(len(t)) % 2, 4, 2)
    weights[[0, -1]] = 1
    return float((y * weights).sum() * (t[1] - t[0]) / 3 * 2 / sqrt(pi))


@each
def inverse_erf(y):
    """By halving the interval; erfc's, where erf is too near 1."""
    if isnan(y) or abs(y) > 1:
        return nan
    if abs(y) == 1:
        return y * inf
    low, high = 0.0, 6.0
    for _ in range(80):
        mid = (low + high) / 2
        low, high = (mid, high) if erf(mid) < abs(y) else (low, mid)
    return float(np.copysign(low, y))


def normal_quantile(p):
    low = np.full(np.shape(p), -40.0)
    high = -low
    for _ in range(80):
        mid = (low + high) / 2
        less = each(erfc)(-mid / sqrt(2)) / 2 < p
        low, high = np.where(less, mid, low), np.where(less, high, mid)
    edge = np.where(p == 0, -inf, np.where(p == 1, inf, nan))
    return np.where((p > 0) & (p < 1), low, edge)


def bessel(order):
    """exp(-|x|) I(x) by the mean of exp(|x| (cos t - 1)) cos(order t) over the circle."""

    @each
    def value(x):
        if isnan(x) or isinf(x):
            return 0.0 * (x if isnan(x) else 1)
        t = (np.arange(4000) + 0.5) * (2 * pi / 4000)
        y = float((np.exp(abs(x) * (np.cos(t) - 1)) * np.cos(order * t)).mean())
        return -y if order and x < 0 else y

    return value
