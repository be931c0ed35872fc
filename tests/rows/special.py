"""Rows of the special functions."""

from math import erfc

import numpy as np
from references.special import (
    bessel,
    each,
    hurwitz,
    inverse_erf,
    log_gamma,
    normal_quantile,
    polygamma,
    psi,
    scaled_erfc,
)

from .row import In, Row, binary, unary


def xlogy(x, y, log=np.log):
    return np.where((x == 0) & ~np.isnan(y), 0, x * log(y))


def below(x):
    return each(erfc)(-x / np.sqrt(2)) / 2


def lower_gamma(a, x):
    """By Gauss and Legendre, of a variable whose tenth power runs from 0 to x."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    v = (nodes + 1) / 2
    parts = weights / 2 * 10 * v ** (10 * a[..., None] - 1) * np.exp(-x[..., None] * v**10)
    return parts.sum(-1) * x**a / np.exp(each(log_gamma)(a))


def entropy(x):
    return np.where(x == 0, 0, np.where(x < 0, -np.inf, -x * np.log(x)))


SPECIAL: dict[str, Row] = {
    "lgamma": unary(log_gamma, 0.1, 9, tol=3e-6),
    "digamma": unary(psi, 0.2, 9, tol=3e-6),
    "polygamma": unary(lambda x, n: polygamma(n, x), 0.4, 9, attrs={"n": 2}, tol=2e-5, special=False),
    "zeta": Row(hurwitz, (In((3, 5), 2, 5), In((3, 5), 0.7, 5)), grads=0, tol=1e-5, special=False),
    "igamma": Row(lower_gamma, (In((3, 5), 0.6, 9), In((3, 5), 0.1, 12)), grads=0, tol=5e-6, special=False),
    "igammac": Row(
        lambda a, x: 1 - lower_gamma(a, x),
        (In((3, 5), 0.6, 9), In((3, 5), 0.1, 12)),
        grads=0,
        tol=5e-6,
        special=False,
    ),
    "erfc": unary(each(erfc), -3, 3),
    "erfcx": unary(scaled_erfc, -2, 5),
    "erfinv": unary(inverse_erf, -0.95, 0.95),
    "ndtri": unary(normal_quantile, 0.05, 0.95, tol=3e-6),
    "ndtr": unary(below, -3, 3),
    "log_ndtr": unary(lambda x: np.log(below(x)), -5, 3, tol=3e-6, special=False),
    "i0e": unary(bessel(0), -20, 20),
    "i1e": unary(bessel(1), -20, 20),
    "i0": unary(lambda x: bessel(0)(x) * np.exp(np.abs(x)), -4, 4, tol=4e-6, special=False),
    "i1": unary(lambda x: bessel(1)(x) * np.exp(np.abs(x)), -4, 4, tol=4e-6, special=False),
    "xlogy": binary(xlogy, -2, 2, 0.2, 3),
    "xlog1py": binary(lambda x, y: xlogy(x, y, np.log1p), -2, 2, -0.7, 3),
    "logit": unary(lambda x: np.log(x / (1 - x)), 0.05, 0.95, tol=4e-6),
    "sinc": unary(np.sinc, -4, 4, special=False),
    "entr": unary(entropy, 0.1, 3),
    "mvlgamma": unary(
        lambda x, p: np.log(np.pi) * 1.5 + log_gamma(x) + log_gamma(x - 0.5) + log_gamma(x - 1),
        1.5, 9, attrs={"p": 3}, tol=4e-6, special=False,
    ),
}  # fmt: skip
for name in ("polygamma", "log_ndtr", "i0", "i1", "logit", "entr"):
    SPECIAL[f"_{name}"] = SPECIAL[name]
