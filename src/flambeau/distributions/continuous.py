"""Distributions of real numbers whose draws are functions of uniform or normal draws."""

from collections.abc import Sequence
from math import inf, log, nan, pi, sqrt

from ..core.op import COMPOSED
from ..ops.random import exponential_bits, normal_bits, open_bits
from ..ops.rejection import first_accepted
from ..tensor import Tensor
from . import constraints
from .constraints import dependent_property
from .distribution import Distribution, ExponentialFamily

EULER = 0.57721566490153286060  # the Euler-Mascheroni constant
real, positive, unit = constraints.real, constraints.positive, constraints.unit_interval


class Normal(ExponentialFamily):
    """Normal (Gaussian). loc: the mean; scale: the standard deviation.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"loc": real, "scale": positive}
    support, has_rsample = real, True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale.square()

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        return self.loc + normal_bits(self._shape(sample_shape), self.loc.device) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return -0.5 * z * z - self.scale.log() - 0.5 * log(2 * pi)

    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.loc) / self.scale).ndtr()

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * value.ndtri()

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * log(2 * pi) + self.scale.log()


class Laplace(Distribution):
    """The Laplace distribution. loc: the mean; scale: the mean distance from it.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"loc": real, "scale": positive}
    support, has_rsample = real, True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return sqrt(2) * self.scale

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.square()

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        # by the inverse cdf; open_bits draws from (0, 1) without the ends, where the log is infinite
        u = open_bits(self._shape(sample_shape), self.loc.device) - 0.5
        return self.loc - self.scale * u.sign() * (u.abs() * -2).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return -(value - self.loc).abs() / self.scale - (2 * self.scale).log()

    def cdf(self, value: Tensor) -> Tensor:
        # both sides in one formula: expm1 keeps the accuracy near the median
        d = value - self.loc
        return 0.5 - 0.5 * d.sign() * (-d.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        u = value - 0.5
        return self.loc - self.scale * u.sign() * (u.abs() * -2).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()


class Cauchy(Distribution):
    """The Cauchy distribution. loc: the median; scale: the half width at half maximum.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"loc": real, "scale": positive}
    support, has_rsample = real, True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        # the integral of the mean does not converge
        return self.loc * nan

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.loc * 0 + inf

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        return self.icdf(open_bits(self._shape(sample_shape), self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return -log(pi) - self.scale.log() - ((value - self.loc) / self.scale).square().log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.loc) / self.scale).atan() / pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return log(4 * pi) + self.scale.log()


class Gumbel(Distribution):
    """The Gumbel distribution of extremes. loc: the mode; scale: the width.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"loc": real, "scale": positive}
    support, has_rsample = real, True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return pi / sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.square()

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        # -log of a standard exponential variable is a standard Gumbel variable
        time = exponential_bits(self._shape(sample_shape), self.loc.device)
        return self.loc - self.scale * time.log()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        # density exp(z - exp(z)) / scale
        z = (self.loc - value) / self.scale
        return z - z.exp() - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)


class Uniform(Distribution):
    """Uniform in [low, high). low, high: the ends. Raises ValueError if low is not below high.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"low": constraints.dependent, "high": constraints.dependent}
    has_rsample = True

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None):
        self._set(validate_args, low=low, high=high)
        if self._checks(self.low) and not (self.low < self.high).all().item():
            raise ValueError(f"{self!r}: low must be below high: pass other values, or validate_args=False")

    @dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        # every value in [low, high) has the same density
        return self.high * nan

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).square() / 12

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        u = COMPOSED["rand"](self._shape(sample_shape), device=self.low.device)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        # without checks a value outside has density 0, as in torch
        inside = (value >= self.low) & (value < self.high)
        return inside.where(-(self.high - self.low).log(), -inf)

    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class Exponential(ExponentialFamily):
    """The exponential distribution: the time until an event. rate: events per unit of time.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"rate": positive}
    support, has_rsample = constraints.nonnegative, True

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None):
        self._set(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return 1 / self.rate

    @property
    def stddev(self) -> Tensor:
        return 1 / self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate * 0

    @property
    def variance(self) -> Tensor:
        return 1 / self.rate.square()

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        return exponential_bits(self._shape(sample_shape), self.rate.device) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        # 1 - exp(-rate x), accurate for small x
        return -(-self.rate * value).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()


class HalfNormal(Distribution):
    """The absolute value of a normal variable with mean 0. scale: its standard deviation.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"scale": positive}
    support, has_rsample = constraints.nonnegative, True

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None):
        self._set(validate_args, scale=scale)

    @property
    def mean(self) -> Tensor:
        return self.scale * sqrt(2 / pi)

    @property
    def mode(self) -> Tensor:
        return self.scale * 0

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (1 - 2 / pi)

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        return normal_bits(self._shape(sample_shape), self.scale.device).abs() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        z = value / self.scale
        density = 0.5 * log(2 / pi) - self.scale.log() - 0.5 * z * z
        return (value >= 0).where(density, -inf)

    def cdf(self, value: Tensor) -> Tensor:
        return (value / (self.scale * sqrt(2))).erf()

    def icdf(self, value: Tensor) -> Tensor:
        # |z| <= x has the probability 2 Phi(x) - 1
        return self.scale * ((value + 1) / 2).ndtri()

    def entropy(self) -> Tensor:
        return self.scale.log() + 0.5 * log(pi / 2) + 0.5


class HalfCauchy(Distribution):
    """The absolute value of a Cauchy variable around 0. scale: its width.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"scale": positive}
    support, has_rsample = constraints.nonnegative, True

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None):
        self._set(validate_args, scale=scale)

    @property
    def mean(self) -> Tensor:
        return self.scale * 0 + inf

    @property
    def mode(self) -> Tensor:
        return self.scale * 0

    @property
    def variance(self) -> Tensor:
        return self.scale * 0 + inf

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        return self.icdf(open_bits(self._shape(sample_shape), self.scale.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        density = log(2 / pi) - self.scale.log() - (value / self.scale).square().log1p()
        return (value >= 0).where(density, -inf)

    def cdf(self, value: Tensor) -> Tensor:
        return (value / self.scale).atan() * (2 / pi)

    def icdf(self, value: Tensor) -> Tensor:
        return (value * (pi / 2)).tan() * self.scale

    def entropy(self) -> Tensor:
        return self.scale.log() + log(2 * pi)


class Weibull(Distribution):
    """The Weibull distribution: scale * e^(1 / concentration) with a standard exponential variable e.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"scale": positive, "concentration": positive}
    support, has_rsample = positive, True

    def __init__(
        self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None
    ):
        self._set(validate_args, scale=scale, concentration=concentration)

    @property
    def mean(self) -> Tensor:
        return self.scale * (1 + 1 / self.concentration).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        # for k <= 1 the density falls from 0 on
        return self.scale * ((k - 1) / k).clamp(min=0.0) ** (1 / k)

    @property
    def variance(self) -> Tensor:
        k = self.concentration
        # Gamma(1 + 2/k) - Gamma(1 + 1/k)^2 through lgamma: the gamma function itself overflows float32
        # above 35
        first = (1 + 1 / k).lgamma()
        return self.scale.square() * ((1 + 2 / k).lgamma().exp() - (2 * first).exp())

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        time = exponential_bits(self._shape(sample_shape), self.scale.device)
        return self.scale * time ** (1 / self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        # log density = log(k / scale) + (k - 1) z - exp(k z) with z = log(x / scale)
        k, z = self.concentration, (value / self.scale).log()
        return (k / self.scale).log() + (k - 1) * z - (k * z).exp()

    def cdf(self, value: Tensor) -> Tensor:
        return -(-((value / self.scale) ** self.concentration)).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-(-value).log1p()) ** (1 / self.concentration)

    def entropy(self) -> Tensor:
        k = self.concentration
        return EULER * (1 - 1 / k) + (self.scale / k).log() + 1


class Pareto(Distribution):
    """The Pareto distribution: scale * u^(-1 / alpha) with a uniform u. scale: the least value; alpha:
    the tail exponent.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"scale": positive, "alpha": positive}
    has_rsample = True

    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None):
        self._set(validate_args, scale=scale, alpha=alpha)

    @dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        # a / (a - 1) is infinite for alpha <= 1, which the clamp gives by division by 0
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.square() * a / ((a - 1).square() * (a - 2))

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        time = exponential_bits(self._shape(sample_shape), self.scale.device)
        # the logarithm of a Pareto variable is a shifted exponential one of rate alpha
        return self.scale * (time / self.alpha).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def cdf(self, value: Tensor) -> Tensor:
        return 1 - (self.scale / value) ** self.alpha

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (1 - value) ** (-1 / self.alpha)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + 1 + 1 / self.alpha


class GeneralizedPareto(Distribution):
    """The generalised Pareto distribution of excesses. loc: the threshold; scale: the width;
    concentration: the tail index.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"loc": real, "scale": positive, "concentration": real}
    has_rsample = True

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ):
        self._set(validate_args, loc=loc, scale=scale, concentration=concentration)

    @dependent_property
    def support(self) -> constraints.Constraint:
        # a negative tail index bounds the values above
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, (self.concentration < 0).where(end, inf))

    def _parts(self) -> tuple[Tensor, Tensor]:
        """Return (whether the tail is exponential, the concentration, replaced by 1 there to avoid a
        division by 0)."""
        flat = self.concentration.abs() < 1e-6
        # where() computes both sides: the unused one must not divide by 0, since its gradient would be NaN
        return flat, flat.where(1.0, self.concentration)

    @property
    def mean(self) -> Tensor:
        k = self.concentration
        return (k < 1).where(self.loc + self.scale / (1 - k), inf)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        k = self.concentration
        return (k < 0.5).where(self.scale.square() / ((1 - k).square() * (1 - 2 * k)), inf)

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        return self.icdf(open_bits(self._shape(sample_shape), self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        z, (flat, k) = (value - self.loc) / self.scale, self._parts()
        density = flat.where(-z, -(1 / k + 1) * (k * z).log1p())
        return ((z >= 0) & (1 + k * z > 0) | flat & (z >= 0)).where(density - self.scale.log(), -inf)

    def cdf(self, value: Tensor) -> Tensor:
        z, (flat, k) = (value - self.loc) / self.scale, self._parts()
        rest = flat.where((-z).exp(), (1 + k * z).clamp(min=0.0) ** (-1 / k))
        return 1 - rest

    def icdf(self, value: Tensor) -> Tensor:
        flat, k = self._parts()
        time = -(-value).log1p()  # of a standard exponential
        return self.loc + self.scale * flat.where(time, (k * time).expm1() / k)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1


class Kumaraswamy(Distribution):
    """The Kumaraswamy distribution, similar to Beta with a closed cdf. concentration1, concentration0:
    its exponents.

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

    def _moment(self, n: int):
        a, b = self.concentration1, self.concentration0
        power = 1 + n / a  # the n-th moment is b B(1 + n / a, b)
        return (power.lgamma() + b.log() + b.lgamma() - (power + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        # below 1 the density is unbounded at an end
        return ((a < 1) | (b < 1)).where(nan, ((a - 1) / (a * b - 1)) ** (1 / a))

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).square()

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        return self.icdf(open_bits(self._shape(sample_shape), self.concentration1.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        return a.log() + b.log() + (a - 1) * value.log() + (b - 1) * (-(value**a)).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return -(self.concentration0 * (-(value**self.concentration1)).log1p()).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        # (1 - (1 - u)^(1/b))^(1/a), by log1p and expm1 for u near 0
        rest = (-value).log1p() / self.concentration0
        return (-rest.expm1()) ** (1 / self.concentration1)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (1 - 1 / b) + (1 - 1 / a) * ((b + 1).digamma() + EULER) - a.log() - b.log()


class VonMises(Distribution):
    """The von Mises distribution of angles. loc: the mean, in radians; concentration: the inverse of its
    spread.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"loc": real, "concentration": positive}
    support = real

    def __init__(self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, concentration=concentration)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance, 1 - I1 / I0."""
        return 1 - self.concentration.i1e() / self.concentration.i0e()

    def _draw(self, sample_shape: int | Sequence[int]) -> Tensor:
        """Draw by rejection from a wrapped Cauchy (Best and Fisher, 1979): 24 tries, each accepted 2
        times in 3."""
        shape, k = (24, *self._shape(sample_shape)), self.concentration
        # tau, rho and r as in the paper
        tau = 1 + (1 + 4 * k * k).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        # For small k the difference in rho cancels: use the expansion 1 / k + k.
        wide = 1 / k.clamp(max=1e-4) + k.clamp(max=1e-4)
        r = (k > 1e-4).where((1 + rho * rho) / (2 * rho), wide)

        # All tries at once: a loop until acceptance would read the device. (1/3)^24 = 4e-12 draws find
        # none.
        u, v, w = (open_bits(shape, k.device) for _ in range(3))
        z = (pi * u).cos()
        f = (1 + r * z) / (r + z)
        c = k * (r - f)
        accepted = (c * (2 - c) - v > 0) | ((c / v).log() + 1 - c >= 0)
        angle = first_accepted((w - 0.5).sign() * f.clamp(-1, 1).acos(), accepted) + self.loc
        # to [-pi, pi)
        return (angle + pi).remainder(2 * pi) - pi

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        k = self.concentration
        # exp(k cos) / (2 pi I0(k)) with the scaled i0e(k) = exp(-k) I0(k), so that nothing overflows
        return k * ((value - self.loc).cos() - 1) - log(2 * pi) - k.i0e().log()
