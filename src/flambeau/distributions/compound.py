"""Distributions built on others: independent events, mixtures and transformed draws."""

from collections.abc import Sequence
from math import log, prod
from typing import Any, Self

from ..core.modes import no_grad
from ..core.op import COMPOSED
from ..core.shape import broadcast
from ..ops.random import gumbel_bits, open_bits
from ..tensor import Tensor
from . import constraints
from .constraints import dependent_property
from .continuous import Normal
from .discrete import Categorical, OneHotCategorical, log_odds
from .distribution import Distribution, one_of
from .transforms import (
    ComposeTransform,
    ExpTransform,
    SigmoidTransform,
    StickBreakingTransform,
    Transform,
    sum_last,
)

positive, unit = constraints.positive, constraints.unit_interval


class _Wrapper(Distribution):
    """The base of distributions that hold others, which `expand` expands too."""

    def _reshape(self, batch_shape: tuple[int, ...]) -> None:
        raise NotImplementedError

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._copy(_instance)
        new.batch_shape = tuple(batch_shape)
        new._reshape(new.batch_shape)
        return new


class Independent(_Wrapper):
    """Reinterprets the last dims of a batch as dims of the event.

    base_distribution: the distribution. reinterpreted_batch_ndims: how many batch dims become event dims.
    Raises ValueError if the batch has fewer.
    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ):
        base, n = base_distribution, reinterpreted_batch_ndims
        if n > len(base.batch_shape):
            dims = f"{n} dims of a batch of shape {list(base.batch_shape)}"
            raise ValueError(f"Independent(...): {dims}: pass at most {len(base.batch_shape)}")
        self.base_dist, self.reinterpreted_batch_ndims = base, n
        shape = (*base.batch_shape, *base.event_shape)
        # [*batch, *event] stays; only the boundary moves by n dims to the left
        cut = len(base.batch_shape) - n
        self.batch_shape, self.event_shape = shape[:cut], shape[cut:]
        if validate_args is not None:
            self._validates = validate_args

    def _reshape(self, batch_shape: tuple[int, ...]) -> None:
        # to the base these dims are still batch dims
        lead = self.event_shape[: self.reinterpreted_batch_ndims]
        self.base_dist = self.base_dist.expand((*batch_shape, *lead))

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    @dependent_property
    def support(self) -> constraints.Constraint:
        n, base = self.reinterpreted_batch_ndims, self.base_dist.support
        return constraints.independent(base, n) if n else base

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Independent.enumerate_support: an event has several values")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(_Wrapper):
    """A mixture of components of one family, along the last batch dim.

    mixture_distribution: a Categorical over the components. component_distribution: the components.
    Raises ValueError if the mixture is not a Categorical or has another number of weights.
    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    def __init__(
        self,
        mixture_distribution: Distribution,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ):
        mix, parts = mixture_distribution, component_distribution
        if not isinstance(mix, Categorical):
            raise ValueError(f"MixtureSameFamily({mix!r}, ...): the mixture must be a Categorical")
        # components are the last batch dim: [*batch, n]
        *lead, n = parts.batch_shape or (0,)
        if mix.num_events != n:
            raise ValueError(f"MixtureSameFamily(...): {mix.num_events} weights for {n} components")
        shape = broadcast(mix.batch_shape, tuple(lead))
        self.mixture_distribution, self.component_distribution = mix, parts
        self.batch_shape, self.event_shape = shape, parts.event_shape
        self._reshape(shape)
        if validate_args is not None:
            self._validates = validate_args

    def _reshape(self, batch_shape: tuple[int, ...]) -> None:
        n = self.mixture_distribution.num_events
        self.mixture_distribution = self.mixture_distribution.expand(batch_shape)
        self.component_distribution = self.component_distribution.expand((*batch_shape, n))

    @dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self.component_distribution.support)

    def _weights(self) -> Tensor:
        """Probabilities in a shape that broadcasts with the components' means. [..., n, 1...]"""
        p = self.mixture_distribution.probs
        return p.reshape(*p.shape, *(1,) * len(self.event_shape))

    def _average(self, x: Tensor) -> Tensor:
        return (self._weights() * x).sum(-1 - len(self.event_shape))

    @property
    def mean(self) -> Tensor:
        return self._average(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        parts, dim = self.component_distribution, -1 - len(self.event_shape)
        # law of total variance: the mean of the variances, plus the variance of the means
        between = (parts.mean - self.mean.unsqueeze(dim)).square()
        return self._average(parts.variance) + self._average(between)

    def _add_component_dim(self, value: Tensor) -> Tensor:
        return value.unsqueeze(value.ndim - len(self.event_shape))

    def _draw(self, sample_shape: int | Sequence[int]) -> Tensor:
        component = self.mixture_distribution.sample(sample_shape)
        # Draw every component, and select one. Unlike a draw of the selected one, this needs no value of
        # `component`.
        drawn = self.component_distribution.sample(sample_shape)
        event = self.event_shape
        ones = (1,) * len(event)
        index = component.reshape(*component.shape, 1, *ones).expand(*component.shape, 1, *event)
        dim = drawn.ndim - len(event) - 1
        return drawn.gather(dim, index).squeeze(dim)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        each = self.component_distribution.log_prob(self._add_component_dim(value))
        return (each + self.mixture_distribution.logits).logsumexp(-1)  # the logits are normalised

    def cdf(self, value: Tensor) -> Tensor:
        each = self.component_distribution.cdf(self._add_component_dim(value))
        return (each * self.mixture_distribution.probs).sum(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self.mixture_distribution!r}, {self.component_distribution!r})"


class TransformedDistribution(_Wrapper):
    """The distribution of transformed draws. base_distribution: the distribution; transforms: a map or a
    list.

    Raises ValueError if a map takes events of more dims than the draws have.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ):
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        base, composed = base_distribution, ComposeTransform(self.transforms)
        shape = (*base.batch_shape, *base.event_shape)
        if len(shape) < composed.domain.event_dim:
            events = f"{composed!r} maps events of {composed.domain.event_dim} dims"
            raise ValueError(f"TransformedDistribution({base!r}, ...): {events}: pass a base of that many")
        # A map may broadcast (a loc with more dims): expand the base to the shape that its inverse gives.
        forward = composed.forward_shape(shape)
        base = base.expand(composed.inverse_shape(forward)[: len(shape) - len(base.event_shape)])
        # A map of vectors on scalar draws: the last batch dims become the event.
        more = composed.domain.event_dim - len(base.event_shape)
        self.base_dist = Independent(base, more) if more > 0 else base
        event = composed.codomain.event_dim + max(len(base.event_shape) - composed.domain.event_dim, 0)
        self.batch_shape, self.event_shape = forward[: len(forward) - event], forward[len(forward) - event :]
        if validate_args is not None:
            self._validates = validate_args

    def _reshape(self, batch_shape: tuple[int, ...]) -> None:
        composed = ComposeTransform(self.transforms)
        shape = composed.inverse_shape((*batch_shape, *self.event_shape))
        self.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    @dependent_property
    def support(self) -> constraints.Constraint:
        if not self.transforms:
            return self.base_dist.support
        own = self.transforms[-1].codomain
        more = len(self.event_shape) - own.event_dim
        return constraints.independent(own, more) if more > 0 else own

    def _map(self, x: Tensor) -> Tensor:
        for t in self.transforms:
            x = t(x)
        return x

    def sample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        with no_grad():
            return self._map(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        return self._map(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        # Change of variables: log p(x) minus the sum of log |dy / dx|. `dims` counts the event dims of y at
        # each map, over which its Jacobian is summed.
        dims, y, total = len(self.event_shape), value, 0.0
        for t in reversed(self.transforms):
            x = t.back(y)
            dims += t.domain.event_dim - t.codomain.event_dim
            total = total - sum_last(t.log_abs_det_jacobian(x, y), dims - t.domain.event_dim)
            y = x
        return total + sum_last(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def _orient(self, p: Tensor) -> Tensor:
        """Return p, or 1 - p if the composed map decreases."""
        # a sign may be a tensor, as that of AffineTransform's scale: 1 gives p, -1 gives 1 - p
        sign: Any = prod(t.sign for t in self.transforms)
        return p if isinstance(sign, int) and sign == 1 else sign * (p - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for t in reversed(self.transforms):
            value = t.back(value)
        return self._orient(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._map(self.base_dist.icdf(self._orient(value)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist!r}, {self.transforms})"


class LogNormal(TransformedDistribution):
    """The exponential of a normal variable. loc, scale: the mean and standard deviation of the logarithm.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"loc": constraints.real, "scale": positive}
    support, has_rsample = positive, True  # type: ignore[override]

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None):
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.square() / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        s = self.scale.square()
        # (exp(s) - 1) exp(2 loc + s): expm1 for small variances
        return s.expm1() * (2 * self.loc + s).exp()

    def entropy(self) -> Tensor:
        # H(exp(x)) = H(x) + E[log |d exp(x) / dx|] = H(x) + E[x]
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """The logistic normal: stick breaking of normal variables. loc, scale: of these. [..., n] -> [..., n + 1]

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"loc": constraints.real, "scale": positive}
    support, has_rsample = constraints.simplex, True  # type: ignore[override]

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None):
        base = Normal(loc, scale, validate_args)
        # stick breaking takes vectors
        base = base if base.batch_shape else base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal variables."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal variables."""
        return self.base_dist.base_dist.scale


class _LogitRelaxed(Distribution):
    """Logits of RelaxedBernoulli's draws."""

    arg_constraints = {"probs": unit, "logits": constraints.real}
    support, has_rsample = constraints.real, True

    def __init__(self, temperature: Tensor | float, parameter: dict[str, Any], validate_args: bool | None):
        self.temperature = temperature
        self._set(validate_args, **parameter)

    @property
    def probs(self) -> Tensor:
        return self._probs if "probs" in self._params else self._logits.sigmoid()

    @property
    def logits(self) -> Tensor:
        return self._logits if "logits" in self._params else log_odds(self._probs)

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        u = open_bits(self._shape(sample_shape), self.logits.device)
        return (u.log() - (-u).log1p() + self.logits) / self.temperature  # logits plus logistic noise

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        # the density of a logistic variable with location logits / t and scale 1 / t (Maddison et al.,
        # 2017)
        d = self.logits - value * self.temperature
        slope = self.temperature.log() if isinstance(self.temperature, Tensor) else log(self.temperature)
        return slope + d - 2 * COMPOSED["softplus"](d)


class RelaxedBernoulli(TransformedDistribution):
    """A continuous relaxation of Bernoulli (Maddison et al., 2017). temperature: lower is nearer to it;
    probs or logits: of 1.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"probs": unit, "logits": constraints.real}
    support, has_rsample = unit, True  # type: ignore[override]

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ):
        parameter = one_of("RelaxedBernoulli", probs=probs, logits=logits)
        base = _LogitRelaxed(temperature, parameter, validate_args)
        super().__init__(base, SigmoidTransform(), validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature. Lower values bring draws nearer to 0 and 1."""
        return self.base_dist.temperature

    @property
    def probs(self) -> Tensor:
        """The probabilities of 1."""
        return self.base_dist.probs

    @property
    def logits(self) -> Tensor:
        """The log-odds of 1."""
        return self.base_dist.logits


class _ExpRelaxed(OneHotCategorical):
    """Logarithms of RelaxedOneHotCategorical's draws."""

    support, has_rsample, has_enumerate_support = constraints.real_vector, True, False

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None,
        logits: Tensor | float | None,
        validate_args: bool | None,
    ):
        super().__init__(probs, logits, validate_args)
        self.temperature = temperature

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        noise = gumbel_bits(self._shape(sample_shape), self.logits.device)
        return ((self.logits + noise) / self.temperature).log_softmax(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n, t = self.num_events, self.temperature
        log_t = t.log() if isinstance(t, Tensor) else log(t)
        score = (self.logits - value * t).log_softmax(-1).sum(-1)
        factorial = sum(log(i) for i in range(1, n))  # log((n - 1)!)
        return score + factorial + (n - 1) * log_t


class RelaxedOneHotCategorical(TransformedDistribution):
    """A continuous relaxation of OneHotCategorical (Maddison et al., 2017). temperature: lower is nearer
    to it; probs, logits: of classes.

    validate_args: read and check parameters and values. Raises ValueError if one violates its constraint.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support, has_rsample = constraints.simplex, True  # type: ignore[override]

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ):
        base = _ExpRelaxed(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature. Lower values bring draws nearer to one class."""
        return self.base_dist.temperature

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self.base_dist.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self.base_dist.logits
