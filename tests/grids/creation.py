"""Grids of what is made of numbers alone, and why random draws have none."""

from .grid import Table, call

GRIDS = Table()
RANDOM = """
alpha_dropout bernoulli cauchy dropout dropout1d dropout2d dropout3d exponential feature_alpha_dropout
binomial poisson geometric gumbel gumbel_softmax laplace log_normal multinomial normal rand rand_like randint
randint_like randn randn_like random_bits randperm uniform
"""
FILLED = "full_like new_full new_ones new_zeros ones ones_like zeros zeros_like"
WITHOUT = (
    dict.fromkeys(RANDOM.split(), "draws: tests/ops/test_random.py compares their distributions")
    | dict.fromkeys(("empty", "empty_like", "new_empty"), "its values are not said")
    | dict.fromkeys(FILLED.split(), "takes a dtype of its library: tests/core/test_dtype.py")
)


@GRIDS("arange", slopes=False)
def arange(d):
    if d.maybe():
        return call(d.int(-50, 50), d.int(51, 70_100), d.one(1, 2, 7))
    return call(d.int(-4, 4) * 0.5, d.int(10, 90) * 0.25, d.one(0.25, 0.5, 1.0))


@GRIDS("linspace", slopes=False)
def linspace(d):
    return call(d.float(-3, 3), d.float(-3, 3), steps=d.one(0, 1, 2, 7, 100, 70_001))


@GRIDS("logspace", slopes=False, tol=1e-4)  # the exponent's rounding times the base's logarithm
def logspace(d):
    return call(d.float(-2, 2), d.float(-2, 2), steps=d.one(1, 2, 7, 100), base=d.one(2.0, 10.0))


@GRIDS("eye", slopes=False)
def eye(d):
    return call(d.size(), d.size())


@GRIDS("full", slopes=False)
def full(d):
    return call(d.shape(), d.float(-9, 9))


@GRIDS("tril_indices", "triu_indices", slopes=False)
def triangle(d):
    return call(d.size(), d.size(), d.int(-9, 9))


@GRIDS("vander", "linalg_vander", half=False, slopes=False)  # torch fails in the gradient of some
def vander(d, name):
    n = d.one(1, 2, 5)
    if name == "vander":
        return call(d.array((d.size(),)), n, increasing=d.maybe())
    return call(d.array((*d.shape(0, 2, empty=False, large=False), d.size(9))), N=n + 1)
