"""Rows of statistics, of pieces of them, and of the polynomials of special."""

from functools import cache
from itertools import combinations

import numpy as np

from .row import COMPOSED, In, Row, pieces, unary

X = In((3, 6))
CUBE = In((2, 3, 4))


def gap(x, p):
    return np.array([(np.abs(x[i] - x[j]) ** p).sum() ** (1 / p) for i, j in combinations(range(len(x)), 2)])


def both(first, second):
    """Two reductions of dim 1 as the row tests see them: one behind the other."""
    return lambda x, dim: np.concatenate([first(x, dim).ravel(), second(x, dim).ravel()])


def spread(x, dim):
    return x.var(dim, ddof=1)


def shrunk(x, p, dim, maxnorm):
    axes = tuple(d for d in range(x.ndim) if d != dim)
    size = (np.abs(x) ** p).sum(axes, keepdims=True) ** (1 / p)
    return x * np.where(size > maxnorm, maxnorm / (size + 1e-7), 1)


def on_diagonal(x, src, offset):
    y = x.copy()
    for i, v in enumerate(src):
        y[i + max(-offset, 0), i + max(offset, 0)] = v
    return y


def slopes(x, spacing):
    return np.concatenate([g.ravel() for g in np.gradient(x, *spacing)])


STATISTICS: dict[str, Row] = {
    "cov": Row(np.cov, (X,), tol=4e-6),
    "corrcoef": Row(np.corrcoef, (X,), tol=4e-6, grads=1),
    "pdist": Row(gap, (In((4, 3)),), {"p": 3.0}, tol=4e-6),
    "combinations": Row(lambda x: np.array(list(combinations(x, 3))), (In((5,)),),
                        call=lambda x: COMPOSED["combinations"](x, 3)),
    "unravel_index": Row(
        lambda i: np.stack(np.unravel_index(i, (3, 4, 2))).astype("i4"), (In((5,), 0, 23, "i"),), grads=0,
        call=lambda i: COMPOSED["stack"](COMPOSED["unravel_index"](i, (3, 4, 2)))),
    "gradient": Row(slopes, (In((3, 5)),), {"spacing": (0.5, 2.0)}, call=pieces("gradient")),
    "var_mean": Row(both(spread, np.mean), (CUBE,), {"dim": 1}, call=pieces("var_mean")),
    "std_mean": Row(both(lambda x, d: spread(x, d) ** 0.5, np.mean), (CUBE,), {"dim": 1},
                    call=pieces("std_mean")),
    "aminmax": Row(both(np.min, np.max), (CUBE,), {"dim": 1}, call=pieces("aminmax"), kinds="iu"),
    "nansum": Row(lambda x, dim: np.nansum(np.where(x > 1, np.nan, x), dim), (CUBE,), {"dim": 1},
                  call=lambda x, dim: (x > 1).where(float("nan"), x).nansum(dim)),
    "nanmean": Row(lambda x, dim: np.nanmean(np.where(x > 1.5, np.nan, x), dim), (In((2, 9, 4)),), {"dim": 1},
                   call=lambda x, dim: (x > 1.5).where(float("nan"), x).nanmean(dim)),
    "dist": Row(lambda x, y, p: (np.abs(x - y) ** p).sum() ** (1 / p), (X, X), {"p": 3.0}, tol=4e-6),
    "renorm": Row(shrunk, (CUBE,), {"p": 2.0, "dim": 1, "maxnorm": 3.0}, tol=4e-6),
    "diagonal_scatter": Row(on_diagonal, (In((4, 3)), In((2,))), {"offset": 1}),
    "nonzero_static": Row(
        lambda x, size, fill_value: np.concatenate([np.argwhere(x), [[-7, -7]] * 20])[:size].astype("i4"),
        (In((3, 4), -1, 1, "i"),), {"size": 13, "fill_value": -7}, grads=0, kinds="b"),
    "clone": Row(lambda x: x, (X,), kinds="iub"),
    "sum_to_size": Row(lambda x: x.sum((0, 2), keepdims=True)[0], (CUBE,), call=lambda x: x.sum_to_size(3, 1),
                       kinds="i"),
    "channel_shuffle": Row(lambda x: x[:, [0, 3, 1, 4, 2, 5]], (In((2, 6, 4)),),
                           call=lambda x: COMPOSED["channel_shuffle"](x, 2)),
    "addr": Row(lambda x, a, b, beta, alpha: beta * x + alpha * np.outer(a, b),
                (In((3, 4)), In((3,)), In((4,))), {"beta": 0.5, "alpha": 2.0}),
    "linalg_matmul": Row(np.matmul, (In((2, 3, 4)), In((4, 5)))),
    "linalg_vander": Row(lambda x, N: np.vander(x, N, increasing=True), (In((4,), 0.5, 2),), {"N": 3},
                         tol=4e-6),
}  # fmt: skip


def of_degree(basis, n=4):
    return lambda x, n=n: basis(x, [0] * n + [1])


def third(x):
    """Chebyshev's V by its meaning: cos((n + 1/2) t) / cos(t / 2) for x = cos(t)."""
    t = np.arccos(x)
    return np.cos(4.5 * t) / np.cos(t / 2)


def fourth(x):
    t = np.arccos(x)
    return np.sin(4.5 * t) / np.sin(t / 2)


def second(x):
    t = np.arccos(x)
    return np.sin(5 * t) / np.sin(t)


FOUR = {
    "t": lambda x: np.polynomial.chebyshev.chebval(x, [0] * 4 + [1]), "u": second, "v": third, "w": fourth,
}  # fmt: skip


def polynomial(name, want, low=-0.9, high=0.9) -> Row:
    return unary(want, low, high, tol=1e-5, special=False, call=lambda x: COMPOSED[name](x, 4))


POLYNOMIALS: dict[str, Row] = {
    **{name: polynomial(name, f) for k, f in FOUR.items() for name in [f"chebyshev_polynomial_{k}"]},
    **{
        name: polynomial(name, lambda x, f=f: f(2 * x - 1), 0.1, 0.9)
        for k, f in FOUR.items()
        for name in [f"shifted_chebyshev_polynomial_{k}"]
    },
    "hermite_polynomial_h": polynomial("hermite_polynomial_h", of_degree(np.polynomial.hermite.hermval)),
    "hermite_polynomial_he": polynomial("hermite_polynomial_he", of_degree(np.polynomial.hermite_e.hermeval)),
    "laguerre_polynomial_l": polynomial("laguerre_polynomial_l", of_degree(np.polynomial.laguerre.lagval)),
    "legendre_polynomial_p": polynomial("legendre_polynomial_p", of_degree(np.polynomial.legendre.legval)),
    "spherical_bessel_j0": unary(lambda x: np.sinc(x / np.pi), -9, 9, tol=4e-6, special=False),
}


@cache
def legendre():
    """Nodes and weights of Gauss and Legendre: a page that lists rows has not got them."""
    return np.polynomial.legendre.leggauss(300)


def integral(f, low, high):
    """Of f over a range, for every x in its first argument's place."""

    def call(x):
        nodes, weights = legendre()
        t = (nodes + 1) / 2 * (high - low) + low
        return (f(np.asarray(x, "f8")[..., None], t) * weights).sum(-1) * ((high - low) / 2)

    return call


def first_kind(n):
    return integral(lambda x, t: np.cos(n * t - x * np.sin(t)) / np.pi, 0, np.pi)


def second_kind(n):
    waves = integral(lambda x, t: np.sin(x * np.sin(t) - n * t) / np.pi, 0, np.pi)
    rest = integral(lambda x, t: (np.exp(n * t) + (-1) ** n * np.exp(-n * t)) * np.exp(-x * np.sinh(t)), 0, 6)
    return lambda x: waves(x) - rest(x) / np.pi


def modified(n, scaled=False):
    return integral(lambda x, t: np.exp(x * (scaled - np.cosh(t))) * np.cosh(n * t), 0, 6)


def airy(x):
    """Ai by its power series, which is exact enough where numbers are small."""
    f, g, a, b = 0.3550280538878172, 0.2588194037928068, np.ones_like(x), x
    total = f * a - g * b
    for k in range(1, 40):
        a, b = a * x**3 / ((3 * k - 1) * 3 * k), b * x**3 / (3 * k * (3 * k + 1))
        total = total + f * a - g * b
    return total


BESSEL: dict[str, Row] = {
    "airy_ai": unary(airy, -5.5, 3.0, tol=2e-6, special=False, grads=1),
} | {
    name: unary(want, low, 20, tol=1e-5, special=False)
    for name, want, low in (
        *((f"{name}{n}", first_kind(n), -20) for name in ("bessel_j", "_j") for n in (0, 1)),
        *((f"{name}{n}", second_kind(n), 0.3) for name in ("bessel_y", "_y") for n in (0, 1)),
        *((f"_k{n}e", modified(n, True), 0.3) for n in (0, 1)),
        *((f"modified_bessel_k{n}", modified(n), 0.3) for n in (0, 1)),
        *((f"scaled_modified_bessel_k{n}", modified(n, True), 0.3) for n in (0, 1)),
    )
}
