"""Rows of the random family: what Philox's words become, drawn with seed 7."""

from math import comb, factorial

import numpy as np
from references.base import philox

from .row import COMPOSED, In, Row

X = In((3, 5))
N = 15


def uniform(n=N, skip=0):
    return (words(n, skip) >> 8) * 2.0**-24


def open_uniform(n=N):
    return ((words(n) >> 9) + 0.5) * 2.0**-23


def words(n, skip=0):
    return philox(7, n + skip)[skip:]


def normal(n=N):
    """Box and Muller: lengths from one draw, angles from the next, which starts at a new block of four."""
    u, v = uniform(n), uniform(n, 4 * -(-n // 4))
    return np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)


def drawn(name, want, *args, tol=2e-6, **kw) -> Row:
    return Row(lambda x: want().reshape(3, 5), (X,), grads=0, tol=tol,
               call=lambda x: seeded(name, *args, device=x.device, **kw))  # fmt: skip


def like(name, want, *args, tol=2e-6, **kw) -> Row:
    return Row(lambda x: want(x).reshape(x.shape), (X,), grads=0, tol=tol,
               call=lambda x: seeded(name, x, *args, **kw))  # fmt: skip


def seeded(name, *args, **kw):
    from flambeau import Generator

    return COMPOSED[name](*args, generator=Generator(7), **kw)


def gumbel(n=N):
    return -np.log(-np.log1p(-open_uniform(n)))


def laplace():
    u = open_uniform() - 0.5
    return -np.sign(u) * np.log(1 - 2 * np.abs(u))


def walked(u, chances):
    """How many of the sums of chances lie below u. [n], [k, n] -> [n]"""
    return (u > np.cumsum(chances, 0)).sum(0).astype("f8")


def poisson_chances(x):
    means, k = x.reshape(-1), np.arange(40)[:, None]
    return np.exp(-means) * means**k / np.array([[float(factorial(i))] for i in range(40)])


def successes(u, p):
    """Of 6 tries; for chances above 1/2 the failures are counted."""
    q, k = np.minimum(p, 1 - p), np.arange(7)[:, None]
    found = walked(u, np.array([[comb(6, i)] for i in range(7)]) * q**k * (1 - q) ** (6 - k))
    return np.where(p > 0.5, 6 - found, found)


def counts():
    return np.ceil(np.log1p(-open_uniform()) / np.log(0.7))


def choice(w, num_samples, replacement):
    noise = gumbel(num_samples * w.size).reshape(*w.shape[:-1], num_samples, w.shape[-1])
    return (np.log(w)[..., None, :] + noise).argmax(-1).astype("i4")


RANDOM: dict[str, Row] = {
    "rand": drawn("rand", uniform, 3, 5, tol=0),
    "randn": drawn("randn", normal, (3, 5), tol=5e-6),
    "randint": drawn("randint", lambda: (words(N) % 9).astype("i4") - 2, -2, 7, (3, 5)),
    "rand_like": like("rand_like", lambda x: uniform(), tol=0),
    "randn_like": like("randn_like", lambda x: normal(), tol=5e-6),
    "randint_like": like("randint_like", lambda x: (words(N) % 9).astype("f8"), 9),
    "uniform": drawn("uniform", lambda: uniform() * 3 - 1, (3, 5), -1.0, 2.0),
    "normal": Row(lambda m, s: m + s * normal().reshape(3, 5), (X, In((3, 5), 0.1, 3)), tol=1e-5,
                  call=lambda m, s: seeded("normal", m, s)),
    "bernoulli": Row(lambda x: (uniform() < x.reshape(-1)).astype("f8").reshape(x.shape), (In((3, 5), 0, 1),),
                     grads=0, special=False, call=lambda x: seeded("bernoulli", x)),
    "exponential": drawn("exponential", lambda: -np.log1p(-open_uniform()) / 2, (3, 5), 2.0, tol=4e-6),
    "gumbel": drawn("gumbel", gumbel, (3, 5), tol=5e-6),
    "laplace": drawn("laplace", laplace, (3, 5), tol=5e-6),
    "log_normal": drawn("log_normal", lambda: np.exp(normal() * 0.5 + 1), (3, 5), 1.0, 0.5, tol=1e-5),
    "poisson": Row(lambda x: walked(open_uniform(), poisson_chances(x)).reshape(x.shape),
                   (In((3, 5), 0.1, 8),),
                   grads=0, special=False, call=lambda x: seeded("poisson", x)),
    "binomial": Row(lambda x: successes(open_uniform(), x.reshape(-1)).reshape(x.shape),
                    (In((3, 5), 0.05, 0.95),),
                    grads=0, special=False, call=lambda x: seeded("binomial", x * 0 + 6, x)),
    "cauchy": drawn("cauchy", lambda: np.tan(np.pi * (open_uniform() - 0.5)), (3, 5), tol=2e-5),
    "geometric": drawn("geometric", counts, (3, 5), 0.3),
    "randperm": Row(lambda x: np.argsort(words(11)).astype("i4"), (In((1,)),), grads=0,
                    call=lambda x: seeded("randperm", 11, device=x.device)),
    "multinomial": Row(choice, (In((2, 4), 0.1, 3),), {"num_samples": 3, "replacement": True}, grads=0,
                       call=lambda w, **kw: seeded("multinomial", w, **kw)),
}  # fmt: skip
