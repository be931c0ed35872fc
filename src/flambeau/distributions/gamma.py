"""Gamma and related distributions, and the gradient of gamma draws with respect to their shape."""

from collections.abc import Sequence
from math import inf, log, nan, pi
from typing import Any

from ..autograd import Function
from ..core.op import COMPOSED
from ..ops.random import normal_bits, open_bits
from ..ops.rejection import gamma_above_one
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution, ExponentialFamily

real, positive, unit = constraints.real, constraints.positive, constraints.unit_interval
TINY = 1.1754944e-38  # the least normal float32


class _StandardGamma(Function):
    """Gamma draws of shapes >= 1, with implicit gradients (Figurnov et al., 2018)."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        x = gamma_above_one(a)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g * gamma_slope(*ctx.saved_tensors)


def gamma_slope(a: Tensor, x: Tensor) -> Tensor:
    """Return dx / da of a gamma draw x of shape a >= 1 at a constant cdf F: -(dF / da) / density. [...]
    -> [...]"""
    # where() computes all three: clamp each argument to the range of its formula, so that none gives NaN
    small, large = _slope_of_small(a, x.clamp(max=0.8)), _slope_of_large(a.clamp(min=8.0), x)
    return (x < 0.8).where(small, (a > 8).where(large, _slope_between(a.clamp(max=8.0), x)))


def _slope_of_small(a: Tensor, x: Tensor) -> Tensor:
    """Compute the slope for x < 0.8, by the power series of the cdf around 0."""
    # P(a, x) Gamma(a) / x^a = sum of (-x)^i / (i! (a + i)); sum2 is minus its derivative by a
    term, sum1, sum2 = 1.0, 1 / a, 1 / (a * a)
    for i in range(1, 6):
        term = term * (-x / i)
        sum1, sum2 = sum1 + term / (a + i), sum2 + term / ((a + i) * (a + i))
    return x * x.exp() * (sum2 - (x.log() - a.digamma()) * sum1)


def _slope_of_large(a: Tensor, x: Tensor) -> Tensor:
    """Compute the slope for a > 8 by Rice's saddle-point expansion; near the mean, where that divides by 0,
    by a Taylor series."""
    # as PyTorch's _standard_gamma_grad
    near = (x - a).abs() <= 0.1 * a
    z = x / a  # ratios, because powers of a overflow
    series = (1 + 24 * a * (1 + 12 * a)) / (288 * a * a)
    bracket = (1440 + 3600 * z - 720 * z * z + (107 + 318 * z - 65 * z * z) / a) / 4320
    x_or_half = near.where(0.5 * a, x)
    ratio = (x_or_half / a).log()
    rise = (8 * a).sqrt()
    power = (x_or_half - a - a * ratio) ** -1.5
    poles = rise / (a - x_or_half) + (x_or_half < a).where(-power, power)
    inner = ratio * poles - (2 / a).sqrt() * (a + x_or_half) / (a - x_or_half).square()
    # Gamma(a) relative to its leading Stirling term
    stirling = 1 + (1 + 1 / (24 * a)) / (12 * a)
    return near.where(series * bracket, -stirling * x_or_half * inner / rise)


# coefficients of a rational function of log(x / a) and log(a), fitted to log(dx / da): PyTorch's (BSD)
FITTED = (
    (0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089, 0.0014179084),
    (0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915,
     -0.00058392623),
    (0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326, 0.00085092367,
     -1.5247877e-07),
)  # fmt: skip


def _slope_between(a: Tensor, x: Tensor) -> Tensor:
    """Compute the slope elsewhere, by a fitted rational function."""
    # a polynomial of degree 2 in u gives the 8 coefficients of a cubic fraction in v
    u, v = (x / a).log(), a.log()
    c = [p + u * (q + u * r) for p, q, r in zip(*FITTED, strict=True)]
    top = c[0] + v * (c[1] + v * (c[2] + v * c[3]))
    return (top / (c[4] + v * (c[5] + v * (c[6] + v * c[7])))).exp()


def log_gamma_draw(a: Tensor) -> Tensor:
    """Draw logarithms of gamma variables, because draws of small shapes underflow. [...] -> [...]

    A draw of shape a + 1, times u^(1/a) with a uniform u, has shape a (Marsaglia and Tsang, 2000).
    """
    is_small = a < 1
    u = open_bits(a.shape, a.device)
    shift = is_small.where(u.log() / is_small.where(a, 1.0), 0.0)
    return _StandardGamma.apply(is_small.where(a + 1, a)).log() + shift


class Gamma(ExponentialFamily):
    """The gamma distribution: the time until several events. concentration: their number; rate: events
    per unit of time.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"concentration": positive, "rate": positive}
    support, has_rsample = constraints.nonnegative, True

    def __init__(
        self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None
    ):
        self._set(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.square()

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        shape = self._shape(sample_shape)
        # a draw of a small shape underflows to 0, where log_prob is infinite: at least the smallest normal
        # number
        return log_gamma_draw(self.concentration.expand(*shape)).exp().clamp(min=TINY) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a, b = self.concentration, self.rate
        # xlogy: shape 1 at value 0 has density rate
        return a * b.log() + (a - 1).xlogy(value) - b * value - a.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        # the regularised lower incomplete gamma function
        return self.concentration.igamma(self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()


class Chi2(Gamma):
    """The chi-square distribution: the sum of squares of standard normal variables. df: their number.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"df": positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None):
        self._set(validate_args, df=df)
        self._derive_parameters()

    def _derive_parameters(self) -> None:
        # derived attributes: _params holds df alone, so `expand` recomputes these
        self.concentration, self.rate = self.df * 0.5, self.df * 0 + 0.5

    _finish_expand = _derive_parameters


class InverseGamma(Distribution):
    """The reciprocal of a gamma variable. concentration, rate: of that variable.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"concentration": positive, "rate": positive}
    support, has_rsample = positive, True

    def __init__(
        self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None
    ):
        self._set(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        a = self.concentration
        # the tail is x^(-a - 1): the mean needs a > 1, the variance a > 2
        return (a > 1).where(self.rate / (a - 1), inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return (a > 2).where(self.rate.square() / ((a - 1).square() * (a - 2)), inf)

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        shape = self._shape(sample_shape)
        return self.rate * (-log_gamma_draw(self.concentration.expand(*shape))).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a, b = self.concentration, self.rate
        return a * b.log() - (a + 1) * value.log() - b / value - a.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        return self.concentration.igammac(self.rate / value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of n shares with sum 1. concentration: of each share, [..., n].
    ValueError if it is 0-d.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"concentration": constraints.independent(positive, 1)}
    support, has_rsample = constraints.simplex, True

    def __init__(self, concentration: Tensor | float, validate_args: bool | None = None):
        if getattr(concentration, "ndim", 1) < 1:
            raise ValueError(
                "Dirichlet(...): concentration needs at least 1 dim: pass one value for each share"
            )
        self._set(validate_args, concentration=concentration)
        self.event_shape = self.concentration.shape[-1:]

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        rest = (self.concentration - 1).clamp(min=0.0)
        largest = COMPOSED["one_hot"](self.concentration.argmax(-1), self.event_shape[0]).to(rest.dtype)
        # Below 1 the density is unbounded at the corners: the mode is that of the largest concentration.
        is_flat = (self.concentration < 1).all(-1, True)
        return is_flat.where(largest, rest / rest.sum(-1, True))

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.square() * (total + 1))

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        a = self.concentration.expand(*self._shape(sample_shape))
        return log_gamma_draw(a).softmax(-1)  # normalised gamma draws; in logs, small ones do not underflow

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a = self.concentration
        return (a - 1).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        # log B(a) + (a0 - n) digamma(a0) - sum of (a - 1) digamma(a), with a0 the total
        a, n = self.concentration, self.event_shape[0]
        total = a.sum(-1)
        rest = (n - total) * total.digamma() + ((a - 1) * a.digamma()).sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - rest


class Beta(ExponentialFamily):
    """The beta distribution: x / (x + y) of two gamma variables. concentration1, concentration0: their
    shapes.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"concentration1": positive, "concentration0": positive}
    support, has_rsample = unit, True

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ):
        self._set(validate_args, concentration1=concentration1, concentration0=concentration0)

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        a, b = (self.concentration1 - 1).clamp(min=0.0), (self.concentration0 - 1).clamp(min=0.0)
        is_flat = (self.concentration1 < 1) & (self.concentration0 < 1)
        return is_flat.where((self.concentration1 >= self.concentration0).to(a.dtype), a / (a + b))

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.square() * (total + 1))

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        shape = self._shape(sample_shape)
        logs = [log_gamma_draw(a.expand(*shape)) for a in (self.concentration1, self.concentration0)]
        return (logs[0] - logs[1]).sigmoid()  # x / (x + y), from the logarithms of x and y

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        logs = (a - 1).xlogy(value) + (b - 1).xlog1py(-value)
        return logs + (a + b).lgamma() - a.lgamma() - b.lgamma()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        rest = (a - 1) * a.digamma() + (b - 1) * b.digamma() - (a + b - 2) * (a + b).digamma()
        return a.lgamma() + b.lgamma() - (a + b).lgamma() - rest


class FisherSnedecor(Distribution):
    """The ratio of two chi-square variables, each divided by its degrees of freedom, df1 and df2.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"df1": positive, "df2": positive}
    support, has_rsample = positive, True

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None):
        self._set(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Tensor:
        # NaN below, as in torch and SciPy's definition of the moments
        return (self.df2 > 2).where(self.df2 / (self.df2 - 2), nan)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return (self.df1 > 2).where(mode, nan)

    @property
    def variance(self) -> Tensor:
        a, b = self.df1, self.df2
        variance = 2 * b.square() * (a + b - 2) / (a * (b - 2).square() * (b - 4))
        return (b > 4).where(variance, nan)

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        shape = self._shape(sample_shape)
        logs = [log_gamma_draw((d * 0.5).expand(*shape)) for d in (self.df1, self.df2)]
        # A chi-square of d degrees is twice a gamma draw of shape d / 2; the factors 2 cancel.
        return (logs[0] - logs[1]).exp() * (self.df2 / self.df1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a, b = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        norm = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return norm + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()


class StudentT(Distribution):
    """loc + scale * z / sqrt(c / df), with a normal z and a chi-square c of df degrees of freedom.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"df": positive, "loc": real, "scale": positive}
    support, has_rsample = real, True

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ):
        self._set(validate_args, df=df, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return (self.df > 1).where(self.loc, nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        d = self.df
        # infinite for 1 < df <= 2, undefined below
        wide = (d > 2).where(self.scale.square() * d / (d - 2), inf)
        return (d > 1).where(wide, nan)

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        shape = self._shape(sample_shape)
        half = (self.df * 0.5).expand(*shape)
        # sqrt(df / c) with c = 2 gamma(df / 2): exp((log(df / 2) - log gamma) / 2)
        spread = (0.5 * (half.log() - log_gamma_draw(half))).exp()
        return self.loc + self.scale * normal_bits(shape, self.df.device) * spread

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        d, z = self.df, (value - self.loc) / self.scale
        norm = (
            self.scale.log() + 0.5 * d.log() + 0.5 * log(pi) + (0.5 * d).lgamma() - (0.5 * (d + 1)).lgamma()
        )
        return -0.5 * (d + 1) * (z * z / d).log1p() - norm

    def entropy(self) -> Tensor:
        d = self.df
        beta = 0.5 * log(pi) + (0.5 * d).lgamma() - (0.5 * (1 + d)).lgamma()
        slopes = 0.5 * (d + 1) * ((0.5 * (1 + d)).digamma() - (0.5 * d).digamma())
        return self.scale.log() + slopes + 0.5 * d.log() + beta
