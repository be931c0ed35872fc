"""Grids of special functions, in the ranges of tests/rows."""

from .elementwise import drawn
from .grid import Table, call

GRIDS = Table()


PLAIN = "entr erfcx i0e i1 i1e log_ndtr ndtr ndtri xlog1py"


@GRIDS(*PLAIN.split(), fixed=1, half=False, tol=2e-5)
def plain(d, name):
    return call(*drawn(d, name))


BESSEL = [f"bessel_{kind}{n}" for kind in "jy" for n in (0, 1)]
BESSEL += [f"{scaled}modified_bessel_k{n}" for scaled in ("", "scaled_") for n in (0, 1)]


@GRIDS(
    *BESSEL,
    "airy_ai",
    "zeta",
    "spherical_bessel_j0",
    "igamma",
    "igammac",
    fixed=1,
    half=False,
    slopes=False,
    tol=2e-5,
)  # torch has no gradients of them
def without_gradient(d, name):
    return call(*drawn(d, name))


@GRIDS("logit")
def logit(d):
    return call(d.array(d.shape(), 0.1, 0.9), **({"eps": 0.01} if d.maybe() else {}))


@GRIDS("mvlgamma", half=False)
def mvlgamma(d):
    return call(d.array(d.shape(), 3, 9), d.int(1, 5))


@GRIDS("polygamma", half=False, tol=2e-5, theirs=lambda torch, n, x: torch.polygamma(n, x))
def polygamma(d):
    return call(d.int(0, 3), d.array(d.shape(), 0.6, 8))


POLYNOMIALS = (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
)  # fmt: skip


@GRIDS(
    *POLYNOMIALS, fixed=1, half=False, slopes=False, tol=1e-4
)  # a recurrence of n steps; torch has no gradients
def polynomial(d, name):
    low = 0.0 if name.startswith("shifted") else -1.0
    return call(d.array(d.shape(), low + 0.05, 0.95), d.int(0, 8))
