"""Distributions of integers and of classes."""

from collections.abc import Sequence
from math import inf, log, nan, prod
from typing import Any, Self

from ..core import dtype as dt
from ..core.op import COMPOSED
from ..ops.random import exponential_bits, gumbel_bits, host_draws, open_bits
from ..tensor import Tensor
from . import constraints
from .constraints import dependent_property
from .distribution import Distribution, ExponentialFamily, one_of, sample_dims, tensors_of
from .gamma import log_gamma_draw

real, positive, unit = constraints.real, constraints.positive, constraints.unit_interval
real_vector, simplex = constraints.real_vector, constraints.simplex
EPS = 1.1920929e-7  # of float32: the least distance of a probability from 0 and 1


def clamp_probs(probs: Tensor) -> Tensor:
    """Keep probabilities away from 0 and 1, where log-odds are infinite."""
    return probs.clamp(EPS, 1 - EPS)


def log_odds(probs: Tensor) -> Tensor:
    """Return the log-odds of probabilities. [...] -> [...]"""
    p = clamp_probs(probs)
    return p.log() - (-p).log1p()


class _ProbsOrLogits(Distribution):
    """The parameter is either a probability or its log-odds."""

    arg_constraints = {"probs": unit, "logits": real}

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._probs if "probs" in self._params else self._logits.sigmoid()

    @property
    def logits(self) -> Tensor:
        """The log-odds."""
        return self._logits if "logits" in self._params else log_odds(self._probs)

    @property
    def param_shape(self) -> tuple[int, ...]:
        """The shape of the parameters."""
        return self.probs.shape


class Bernoulli(_ProbsOrLogits, ExponentialFamily):
    """1 with probability p, else 0. probs or logits: of 1.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    support, has_enumerate_support = constraints.boolean, True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ):
        self._set(validate_args, **one_of("Bernoulli", probs=probs, logits=logits))

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        p = self.probs
        # both values are equally likely at 1/2: NaN, as in torch
        return (p == 0.5).where(nan, (p >= 0.5).to(p.dtype))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _draw(self, sample_shape: int | Sequence[int]) -> Tensor:
        p = self.probs
        return (COMPOSED["rand"](self._shape(sample_shape), device=p.device) < p).to(p.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        x = self.logits
        # value log p + (1 - value) log(1 - p) in log-odds: finite for p that rounds to 0 or 1
        return value * x - COMPOSED["softplus"](x)

    def entropy(self) -> Tensor:
        return COMPOSED["softplus"](self.logits) - self.probs * self.logits

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._insert_batch(
            Tensor.arange(2, dtype=dt.int32, device=self.probs.device).to(self.probs.dtype), expand
        )


class Geometric(_ProbsOrLogits):
    """The number of failures before the first success. probs or logits: of a success.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ):
        self._set(validate_args, **one_of("Geometric", probs=probs, logits=logits))
        if "probs" in self._params and self._checks(self.probs) and not (self.probs > 0).all().item():
            raise ValueError(f"{self!r}: probs must be above 0: pass other values, or validate_args=False")

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return self.probs * 0

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def _draw(self, sample_shape: int | Sequence[int]) -> Tensor:
        # floor of an exponential time with rate -log(1 - p) is geometric
        time = exponential_bits(self._shape(sample_shape), self.probs.device)
        return (time / -(-clamp_probs(self.probs)).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        p = self.probs
        p = ((p == 1) & (value == 0)).where(0.0, p)  # 0 * log(0) counts as 0
        return value * (-p).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        # the entropy of one trial times the mean number of trials, 1 / p
        loss = COMPOSED["binary_cross_entropy_with_logits"](self.logits, self.probs, reduction="none")
        return loss / self.probs


class Poisson(ExponentialFamily):
    """The number of events in a unit of time. rate: the mean.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None):
        self._set(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def variance(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    def _draw(self, sample_shape: int | Sequence[int]) -> Tensor:
        return COMPOSED["poisson"](self.rate.expand(*self._shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        # xlogy: rate 0 with value 0 has log-probability 0; lgamma(k + 1) = log k!
        return value.xlogy(self.rate) - self.rate - (value + 1).lgamma()


class _Counts(_ProbsOrLogits):
    """A number of trials and a probability."""

    arg_constraints = {**_ProbsOrLogits.arg_constraints, "total_count": constraints.nonnegative_integer}


class Binomial(_Counts):
    """The number of successes in total_count trials. probs or logits: of a success.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    has_enumerate_support = True

    def __init__(
        self,
        total_count: Tensor | float = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ):
        self._set(validate_args, total_count=total_count, **one_of("Binomial", probs=probs, logits=logits))

    @dependent_property(is_discrete=True)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def _draw(self, sample_shape: int | Sequence[int]) -> Tensor:
        shape = self._shape(sample_shape)
        return COMPOSED["binomial"](self.total_count.expand(*shape), self.probs.expand(*shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n, x = self.total_count, self.logits
        # log of n over k
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * x - n * COMPOSED["softplus"](x)

    def _single_count(self, call: str) -> int:
        """Return the common number of trials of the batch, which determines the number of values."""
        # reads the device: the shape of the result depends on the count
        counts = set(self.total_count.reshape(-1).tolist())
        if len(counts) > 1:
            raise NotImplementedError(
                f"Binomial.{call}: total_count differs within the batch: pass one value for all"
            )
        return int(counts.pop())

    def entropy(self) -> Tensor:
        self._single_count("entropy")
        logs = self.log_prob(self.enumerate_support(False))
        return -(logs.exp() * logs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._single_count("enumerate_support")
        return self._insert_batch(
            Tensor.arange(n + 1, dtype=dt.int32, device=self.probs.device).to(self.probs.dtype), expand
        )


class NegativeBinomial(_Counts):
    """The number of successes before total_count failures. probs or logits: of a success.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": real,
        "total_count": constraints.greater_than_eq(0.0),
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ):
        parameter = one_of("NegativeBinomial", probs=probs, logits=logits)
        self._set(validate_args, total_count=total_count, **parameter)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    def _draw(self, sample_shape: int | Sequence[int]) -> Tensor:
        n = self.total_count.expand(*self._shape(sample_shape))
        # a gamma mixture of Poisson variables, with rates gamma(n) * p / (1 - p)
        return COMPOSED["poisson"]((log_gamma_draw(n) + self.logits).exp())

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n, x = self.total_count, self.logits
        # log of (1 - p)^n p^k; torch's `probs` is that of the events counted by k
        chances = n * COMPOSED["logsigmoid"](-x) + value * COMPOSED["logsigmoid"](x)
        ways = (n + value).lgamma() - (value + 1).lgamma() - n.lgamma()
        # n = 0 fails at once: lgamma(0) is infinite, but the count is 0 with certainty
        return chances + ((n + value) == 0).where(0.0, ways)


class _Classes(Distribution):
    """Probabilities of classes along the last dim, normalised."""

    arg_constraints = {"probs": simplex, "logits": real_vector}

    def _set_classes(
        self,
        call: str,
        validate_args: bool | None,
        probs: Tensor | float | None,
        logits: Tensor | float | None,
    ) -> None:
        ((name, value),) = tensors_of(one_of(call, probs=probs, logits=logits)).items()
        if value.ndim < 1:
            raise ValueError(f"{call}(...): {name} needs at least 1 dim: pass one value for each class")
        # Stored normalised, so log_prob needs no softmax.
        total = value.sum(-1, True) if name == "probs" else value.logsumexp(-1, True)
        self._set(validate_args, **{name: value / total if name == "probs" else value - total})

    @property
    def probs(self) -> Tensor:
        """The probabilities, which add up to 1."""
        return self._probs if "probs" in self._params else self._logits.softmax(-1)

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        # clamped, as in torch: a probability of 0 has the logit log(1.19e-7), so gradients stay finite
        return self._logits if "logits" in self._params else clamp_probs(self._probs).log()

    @property
    def param_shape(self) -> tuple[int, ...]:
        """The shape of the parameters."""
        return self.probs.shape

    @property
    def num_events(self) -> int:
        """The number of classes."""
        return self.probs.shape[-1]

    def _entropy(self) -> Tensor:
        x = self.logits.clamp(min=-3.4e38)  # 0 * -inf would be NaN
        return -(self.probs * x).sum(-1)

    def _draw_indices(self, sample_shape: int | Sequence[int]) -> Tensor:
        """Draw indices of classes by the Gumbel-max trick: the largest log-probability plus Gumbel noise."""
        n = sample_dims(sample_shape)
        shape = (*n, *self.batch_shape, self.num_events)
        if (host := host_draws(self.probs.device)) is not None:  # PyTorch's order: by row, then by sample
            rows = host.choose(self.probs.reshape(-1, self.num_events), prod(n), True)
            return rows.mT.reshape(*shape[:-1])
        # unclamped: a class of probability 0 has -inf and is never drawn
        logs = self._logits if "logits" in self._params else self._probs.log()
        return (logs + gumbel_bits(shape, logs.device)).argmax(-1)


class Categorical(_Classes):
    """The index of a class. probs or logits: of each class. [..., n]

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ):
        self._set_classes("Categorical", validate_args, probs, logits)

    @dependent_property(is_discrete=True)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.num_events - 1)

    @property
    def mean(self) -> Tensor:
        # an index has no mean; NaN in the batch shape, as in torch
        return self.probs.sum(-1) * nan

    @property
    def variance(self) -> Tensor:
        return self.probs.sum(-1) * nan

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    def _draw(self, sample_shape: int | Sequence[int]) -> Tensor:
        return self._draw_indices(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        # [..., n] both; then pick one of the n
        value, logs = COMPOSED["broadcast_tensors"](value.int().unsqueeze(-1), self.logits)
        return logs.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        return self._entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._insert_batch(Tensor.arange(self.num_events, device=self.probs.device), expand)


class OneHotCategorical(_Classes):
    """The one-hot vector of a class. probs or logits: of each class. [..., n]

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    support, has_enumerate_support = constraints.one_hot, True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ):
        self._set_classes("OneHotCategorical", validate_args, probs, logits)
        self.event_shape = self.probs.shape[-1:]

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._one_hot(self.probs.argmax(-1))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _one_hot(self, index: Tensor) -> Tensor:
        return COMPOSED["one_hot"](index, self.num_events).to(self.probs.dtype)

    def _draw(self, sample_shape: int | Sequence[int]) -> Tensor:
        return self._one_hot(self._draw_indices(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return (self.logits * value).sum(-1)

    def entropy(self) -> Tensor:
        return self._entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._insert_batch(COMPOSED["eye"](self.num_events, device=self.probs.device), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical with the probabilities' gradient in its draws (Bengio et al., 2013).

    probs or logits: of each class. [..., n]

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    has_rsample = True

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        p = self.probs
        # the value is the draw (p - p is 0), the gradient that of p
        return self._draw(sample_shape).detach() + (p - p.detach())


class Multinomial(Distribution):
    """The count of each class in total_count draws. probs or logits: of each class. [..., n]

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"probs": simplex, "logits": real_vector}

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ):
        # torch takes tensors elsewhere
        if not isinstance(total_count, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise NotImplementedError("Multinomial(...): total_count must be one integer for the batch")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits, validate_args)
        self._validates = self._categorical._validates
        self._params = self._categorical._params
        self.batch_shape, self.event_shape = self._categorical.batch_shape, self.probs.shape[-1:]

    @property
    def probs(self) -> Tensor:
        """The probabilities, which add up to 1."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> tuple[int, ...]:
        """The shape of the parameters."""
        return self.probs.shape

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._copy(_instance)
        new._categorical = self._categorical.expand(batch_shape)
        new.batch_shape = new._categorical.batch_shape
        return new

    def __repr__(self) -> str:
        return f"Multinomial(total_count: {self.total_count}, {self._categorical!r})"

    @dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def _draw(self, sample_shape: int | Sequence[int]) -> Tensor:
        n = sample_dims(sample_shape)
        # [total, ...] draws, counted by a sum of one-hot vectors [..., n]
        index = self._categorical.sample((self.total_count, *n))
        return COMPOSED["one_hot"](index, self.event_shape[0]).sum(0).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        # a class of probability 0 that was not drawn contributes 0, not 0 * -inf
        logs = ((value == 0) & (self.logits == -inf)).where(0.0, self.logits)
        return ways + (logs * value).sum(-1)

    def entropy(self) -> Tensor:
        n = float(self.total_count)
        # The count of each class is binomial, so the mean of log(count!) is a sum over its values.
        marginal = Binomial(self.total_count, probs=self.probs)
        counts = marginal.enumerate_support(False)[1:]
        weights = (marginal.log_prob(counts).exp() * (counts + 1).lgamma()).sum((0, -1))
        total = Tensor.full((), n + 1, device=self.probs.device).lgamma()
        return n * self._categorical.entropy() - total + weights


class ContinuousBernoulli(_ProbsOrLogits):
    """The density p^x (1 - p)^(1 - x) on [0, 1], normalised. probs or logits: of p.

    lims: between these probabilities a Taylor series replaces the formulas, which divide by 0 at 1/2.
    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    support, has_rsample = unit, True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ):
        self.lims = lims
        self._set(validate_args, **one_of("ContinuousBernoulli", probs=probs, logits=logits))

    def _parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return (whether p is outside lims, p, p with values inside lims replaced by lims[0])."""
        p = clamp_probs(self.probs)
        is_outside = (p <= self.lims[0]) | (p > self.lims[1])
        return is_outside, p, is_outside.where(p, self.lims[0])

    def log_norm(self) -> Tensor:
        """Return the logarithm of the density's normalising factor."""
        is_outside, p, q = self._parts()
        # log(2 artanh(1 - 2 q) / (1 - 2 q)), with the denominator's log taken on each side of 1/2
        low, high = (q <= 0.5).where(q, 0.0), (q >= 0.5).where(q, 1.0)
        under = (q <= 0.5).where((-2 * low).log1p(), (2 * high - 1).log())
        norm = ((-q).log1p() - q.log()).abs().log() - under
        x = (p - 0.5).square()
        return is_outside.where(norm, log(2.0) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Tensor:
        is_outside, p, q = self._parts()
        x = p - 0.5
        # Loaiza-Ganem and Cunningham (2019)
        exact = q / (2 * q - 1) + 1 / ((-q).log1p() - q.log())
        return is_outside.where(exact, 0.5 + (1 / 3 + 16 / 45 * x.square()) * x)

    @property
    def variance(self) -> Tensor:
        is_outside, p, q = self._parts()
        x = (p - 0.5).square()
        exact = q * (q - 1) / (1 - 2 * q).square() + 1 / ((-q).log1p() - q.log()).square()
        return is_outside.where(exact, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        return self.icdf(open_bits(self._shape(sample_shape), self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        x = self.logits
        return value * x - COMPOSED["softplus"](x) + self.log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        is_outside, _, q = self._parts()
        # at p = 1/2 the distribution is uniform: cdf and icdf are the identity
        exact = (q**value * (1 - q) ** (1 - value) + q - 1) / (2 * q - 1)
        inside = is_outside.where(exact, value)
        return (value <= 0).where(0.0, (value >= 1).where(1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        is_outside, _, q = self._parts()
        exact = ((-q + value * (2 * q - 1)).log1p() - (-q).log1p()) / (q.log() - (-q).log1p())
        return is_outside.where(exact, value)

    def entropy(self) -> Tensor:
        low, high = (-self.probs).log1p(), self.probs.log()
        return self.mean * (low - high) - self.log_norm() - low
