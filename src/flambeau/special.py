"""Special functions under the names of torch.special; all are entries of the op table."""

# fmt: off
# isort: off
from .ops.bessel import (
    airy_ai, bessel_j0, bessel_j1, bessel_y0, bessel_y1, modified_bessel_k0, modified_bessel_k1,
    scaled_modified_bessel_k0, scaled_modified_bessel_k1,
)
from .ops.elementwise import erf, exp2, expm1, log1p, round, sigmoid as expit
from .ops.polynomials import (
    chebyshev_polynomial_t, chebyshev_polynomial_u, chebyshev_polynomial_v, chebyshev_polynomial_w,
    hermite_polynomial_h, hermite_polynomial_he, laguerre_polynomial_l, legendre_polynomial_p,
    shifted_chebyshev_polynomial_t, shifted_chebyshev_polynomial_u, shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w, spherical_bessel_j0,
)
from .ops.reduce import logsumexp
from .ops.softmax import log_softmax, softmax
from .ops.special import (
    digamma, digamma as psi, entr, erfc, erfcx, erfinv, i0, i0 as modified_bessel_i0, i0e, i1,
    i1 as modified_bessel_i1, i1e, igamma as gammainc, igammac as gammaincc, lgamma as gammaln, log_ndtr,
    logit, mvlgamma as multigammaln, ndtr, ndtri, polygamma, sinc, xlog1py, xlogy, zeta,
)
# isort: on
# fmt: on

# fmt: off
__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr", "erf",
    "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln",
    "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e", "laguerre_polynomial_l",
    "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp", "modified_bessel_i0",
    "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "multigammaln", "ndtr", "ndtri",
    "polygamma", "psi", "round", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "sinc", "softmax", "spherical_bessel_j0", "xlog1py", "xlogy", "zeta",
]
# fmt: on
