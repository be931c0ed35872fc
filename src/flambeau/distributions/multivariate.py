"""Distributions of vectors and matrices."""

from collections.abc import Callable, Sequence
from math import log, pi

from ..core import dtype as dt
from ..core.op import COMPOSED
from ..core.shape import broadcast
from ..ops.random import normal_bits
from ..tensor import Tensor, tensor
from . import constraints
from .distribution import Distribution, ExponentialFamily, one_of, sample_dims, tensors_of
from .gamma import Beta, log_gamma_draw

cholesky, triangular = COMPOSED["linalg_cholesky"], COMPOSED["linalg_solve_triangular"]
real_vector = constraints.real_vector


def log_det(factor: Tensor) -> Tensor:
    """Return the logarithm of the determinant of a lower triangular matrix. [..., n, n] -> [...]"""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def inverse_of(factor: Tensor) -> Tensor:
    """Return the inverse of a lower triangular matrix."""
    identity = COMPOSED["eye"](factor.shape[-1], device=factor.device)
    return triangular(factor, identity.expand(*factor.shape), upper=False)


def factor_of_precision(precision: Tensor) -> Tensor:
    """Return the Cholesky factor of the inverse of a positive definite matrix."""
    return cholesky(COMPOSED["linalg_inv"](precision))


def squared_distance(factor: Tensor, d: Tensor) -> Tensor:
    """d^T (L L^T)^-1 d. [..., n, n], [..., n] -> [...]"""
    shape = broadcast(factor.shape[:-1], d.shape)
    # |L^-1 d|^2 by forward substitution: no inverse, and half the work of a solve with the covariance
    columns = d.expand(*shape).unsqueeze(-1)
    return triangular(factor.expand(*shape, shape[-1]), columns, upper=False).squeeze(-1).square().sum(-1)


# from each parameter of a covariance to its Cholesky factor
FACTORS: dict[str, Callable[[Tensor], Tensor]] = {
    "covariance_matrix": cholesky,
    "precision_matrix": factor_of_precision,
    "scale_tril": lambda factor: factor,
}


class _CovarianceFactor(Distribution):
    """Holds the Cholesky factor of a covariance. [..., n, n]"""

    _factor: Tensor

    def _finish_expand(self) -> None:
        self._factor = self._factor.expand(*self.batch_shape, *self._factor.shape[-2:])

    @property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._factor

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self._factor @ self._factor.mT

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        inverse = inverse_of(self._factor)
        return inverse.mT @ inverse


class MultivariateNormal(_CovarianceFactor):
    """Normal vectors. loc: the mean. Pass one of covariance_matrix, precision_matrix and scale_tril (the
    lower Cholesky factor of the covariance).

    Raises ValueError for none or several of these, for a 0-d loc and for a matrix below 2-d.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {
        "loc": real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support, has_rsample = real_vector, True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        matrix = one_of(
            "MultivariateNormal",
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        parameters = tensors_of({"loc": loc, **matrix})
        (name,) = matrix
        if parameters["loc"].ndim < 1 or parameters[name].ndim < 2:
            raise ValueError(f"MultivariateNormal(...): loc must be a vector and {name} a matrix")
        self._set(validate_args, **parameters)
        self.event_shape = self.loc.shape[-1:]
        self._factor = FACTORS[name](getattr(self, f"_{name}"))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        # the diagonal of L L^T
        return self._factor.square().sum(-1).expand(*self.batch_shape, *self.event_shape)

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        # L z has the covariance L L^T
        noise = normal_bits(self._shape(sample_shape), self.loc.device)
        return self.loc + (self._factor @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        m = squared_distance(self._factor, value - self.loc)
        # log_det is that of the factor: half of the covariance's.
        return -0.5 * (self.event_shape[0] * log(2 * pi) + m) - log_det(self._factor)

    def entropy(self) -> Tensor:
        entropy = 0.5 * self.event_shape[0] * (1 + log(2 * pi)) + log_det(self._factor)
        return entropy.expand(*self.batch_shape)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with the covariance cov_factor cov_factor^T + diag(cov_diag). loc: the mean.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {
        "loc": real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support, has_rsample = real_vector, True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, cov_factor=cov_factor, cov_diag=cov_diag)
        self.event_shape = self.loc.shape[-1:]

    @property
    def _inner(self) -> Tensor:
        """The Cholesky factor of I + W^T D^-1 W. [..., rank, rank]"""
        # [rank, rank] instead of [n, n]: the "capacitance" matrix of torch
        w = self.cov_factor
        identity = COMPOSED["eye"](w.shape[-1], device=w.device)
        return cholesky(w.mT @ (w / self.cov_diag.unsqueeze(-1)) + identity)

    @property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return cholesky(self.covariance_matrix)

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self.cov_factor @ self.cov_factor.mT + COMPOSED["diag_embed"](self.cov_diag)

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        # Woodbury: D^-1 - D^-1 W (I + W^T D^-1 W)^-1 W^T D^-1
        part = triangular(self._inner, (self.cov_factor / self.cov_diag.unsqueeze(-1)).mT, upper=False)
        return COMPOSED["diag_embed"](1 / self.cov_diag) - part.mT @ part

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.cov_factor.square().sum(-1) + self.cov_diag

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        shape, device = self._shape(sample_shape), self.loc.device
        # W z1 + sqrt(D) z2 has the covariance W W^T + D.
        shared = normal_bits((*shape[:-1], self.cov_factor.shape[-1]), device)
        own = normal_bits(shape, device) * self.cov_diag.sqrt()
        return self.loc + (self.cov_factor @ shared.unsqueeze(-1)).squeeze(-1) + own

    def log_det_covariance(self) -> Tensor:
        """Return the logarithm of the covariance's determinant, by the matrix determinant lemma."""
        # det(D + W W^T) = det(I + W^T D^-1 W) det D
        return 2 * log_det(self._inner) + self.cov_diag.log().sum(-1)

    def distance(self, d: Tensor) -> Tensor:
        """Return d^T covariance^-1 d, by Woodbury's formula. [..., n] -> [...]"""
        scaled = d / self.cov_diag
        part = (self.cov_factor.mT @ scaled.unsqueeze(-1)).squeeze(-1)
        return (d * scaled).sum(-1) - squared_distance(self._inner, part)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        m = self.distance(value - self.loc)
        return -0.5 * (self.event_shape[0] * log(2 * pi) + self.log_det_covariance() + m)

    def entropy(self) -> Tensor:
        return 0.5 * (self.event_shape[0] * (1 + log(2 * pi)) + self.log_det_covariance())


class Wishart(_CovarianceFactor, ExponentialFamily):
    """The sum of x x^T over df normal vectors x. Pass one of covariance_matrix, precision_matrix and
    scale_tril (the lower Cholesky factor of the covariance) of these vectors.

    Raises ValueError for none or several of these, or if df is not above the size less 1.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {
        "df": constraints.positive,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support, has_rsample = constraints.positive_definite, True

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        matrix = one_of(
            "Wishart",
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        self._set(validate_args, df=df, **matrix)
        (name,) = matrix
        value = getattr(self, f"_{name}")
        self.event_shape = value.shape[-2:]
        if self._checks(self.df) and not (self.df > self.event_shape[-1] - 1).all().item():
            raise ValueError(f"{self!r}: df must be above {self.event_shape[-1] - 1}, the size less 1")
        self._factor = FACTORS[name](value)

    def _df(self) -> Tensor:
        return self.df.unsqueeze(-1).unsqueeze(-1)

    @property
    def mean(self) -> Tensor:
        return self._df() * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        n, p = self._df(), self.event_shape[-1]
        return (n < p + 1).where(float("nan"), (n - p - 1) * self.covariance_matrix)

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self._df() * (v.square() + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        """Draw by Bartlett's decomposition: roots of chi-square variables on the diagonal, normal ones
        below."""
        shape, p, device = self._shape(sample_shape), self.event_shape[-1], self.df.device
        halves = 0.5 * (self.df.unsqueeze(-1) - Tensor.arange(p, dtype=dt.int32, device=device).float())
        # A chi-square of df - i degrees of freedom is twice a gamma draw of shape (df - i) / 2.
        roots = (0.5 * (log_gamma_draw(halves.expand(*shape[:-1])) + log(2.0))).exp()
        factor = self._factor @ (normal_bits(shape, device).tril(-1) + COMPOSED["diag_embed"](roots))
        return factor @ factor.mT

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n, p = self.df, self.event_shape[-1]
        shape = broadcast(self._factor.shape, value.shape)
        inner = triangular(self._factor.expand(*shape), cholesky(value).expand(*shape), upper=False)
        trace = inner.square().sum((-2, -1))  # of covariance^-1 value
        # log of 2^(n p / 2) |S|^(n / 2) Gamma_p(n / 2), with |S|^(1/2) = det L
        norm = n * (p * log(2) / 2 + log_det(self._factor)) + (n / 2).mvlgamma(p)
        return (n - p - 1) * log_det(cholesky(value)) - trace / 2 - norm

    def entropy(self) -> Tensor:
        n, p = self.df, self.event_shape[-1]
        halves = 0.5 * (n.unsqueeze(-1) - Tensor.arange(p, dtype=dt.int32, device=n.device).float())
        # the multivariate digamma function of n / 2
        slopes = halves.digamma().sum(-1)
        size = (p + 1) * (log_det(self._factor) + p * log(2) / 2)
        return size + (n / 2).mvlgamma(p) - (n - p - 1) / 2 * slopes + n * p / 2


class LKJCholesky(Distribution):
    """Cholesky factors of random correlation matrices (Lewandowski et al., 2009).

    dim: the number of rows. concentration: 1 for a uniform density; higher values prefer the identity.
    Raises ValueError if dim is below 2.
    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None):
        if dim < 2:
            raise ValueError(f"LKJCholesky(dim={dim}): needs at least 2 rows")
        self.dim = dim
        self._set(validate_args, concentration=concentration)
        self.event_shape = (dim, dim)

    def _draw(self, sample_shape: int | Sequence[int]) -> Tensor:
        """Draw by the onion method: each row has a random length and a random direction."""
        n = sample_dims(sample_shape)
        p, device = self.dim, self.concentration.device
        step = Tensor.arange(p - 1, dtype=dt.int32, device=device).float()
        # row i + 1 has i + 1 free elements: its squared length is Beta(a, b), its direction uniform on a
        # sphere
        a, b = 0.5 * (step + 1), self.concentration.unsqueeze(-1) + 0.5 * (p - 2) - 0.5 * step
        lengths = Beta(a.expand(*b.shape), b, validate_args=False).sample(n).unsqueeze(-1)
        noise = normal_bits(self._shape(n), device).tril(-1)
        rows = noise.narrow(-2, 1, p - 1)
        lower = lengths.sqrt() * rows / rows.square().sum(-1, True).sqrt()
        lower = COMPOSED["cat"]([noise.narrow(-2, 0, 1), lower], -2)
        # Rows have norm 1. The clamp, at the least normal float32, keeps the diagonal positive.
        rest = (1 - lower.square().sum(-1)).clamp(min=1.1754944e-38).sqrt()
        return lower + COMPOSED["diag_embed"](rest)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        p, c = self.dim, self.concentration
        diagonal = value.diagonal(dim1=-2, dim2=-1).narrow(-1, 1, p - 1)
        # Diagonal element i has the power 2 (c - 1) + p - i; `total` is the log of the normalising constant
        # (Lewandowski et al., 2009), as in torch.
        powers = 2 * (c - 1).unsqueeze(-1) + tensor([float(p - i) for i in range(2, p + 1)], device=c.device)
        alpha = c + 0.5 * (p - 1)
        total = (alpha - 0.5).mvlgamma(p - 1) - alpha.lgamma() * (p - 1) + 0.5 * (p - 1) * log(pi)
        return (powers * diagonal.log()).sum(-1) - total
