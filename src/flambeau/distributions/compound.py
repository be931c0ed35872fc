"""Distributions made of others: of events of more dims, mixtures, and maps of draws."""

from math import log
from typing import Any

from ..core.modes import no_grad
from ..core.op import COMPOSED
from ..core.shape import broadcast
from ..ops.random import gumbel_bits, open_bits
from ..tensor import Tensor
from . import constraints
from .constraints import dependent_property
from .continuous import Normal
from .discrete import Categorical, OneHotCategorical, odds
from .distribution import Distribution, one_of
from .transforms import (
    ComposeTransform,
    ExpTransform,
    SigmoidTransform,
    StickBreakingTransform,
    sum_last,
)

positive, unit = constraints.positive, constraints.unit_interval


class _Wrapping(Distribution):
    """What holds other distributions: they are expanded with it."""

    def _reshape(self, batch_shape: tuple[int, ...]) -> None:
        raise NotImplementedError

    def expand(self, batch_shape: Any):
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        new.batch_shape = tuple(batch_shape)
        new._reshape(new.batch_shape)
        return new


class Independent(_Wrapping):
    """The last dims of a batch as one event.

    base_distribution: the distribution. reinterpreted_batch_ndims: how many dims of its batch become event;
    ValueError where it has fewer.
    validate_args: check parameters and values by reading them: ValueError outside of their sets
    """

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ):
        base, n = base_distribution, reinterpreted_batch_ndims
        if n > len(base.batch_shape):
            told = f"{n} dims of a batch of shape {list(base.batch_shape)}"
            raise ValueError(f"Independent(...): {told}: give at most {len(base.batch_shape)}")
        self.base_dist, self.reinterpreted_batch_ndims = base, n
        whole = (*base.batch_shape, *base.event_shape)
        cut = len(base.batch_shape) - n
        self.batch_shape, self.event_shape = whole[:cut], whole[cut:]
        if validate_args is not None:
            self._validates = validate_args

    def _reshape(self, batch_shape):
        lead = self.event_shape[: self.reinterpreted_batch_ndims]
        self.base_dist = self.base_dist.expand((*batch_shape, *lead))

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    @dependent_property
    def support(self):
        n, base = self.reinterpreted_batch_ndims, self.base_dist.support
        return constraints.independent(base, n) if n else base

    @property
    def mean(self):
        return self.base_dist.mean

    @property
    def mode(self):
        return self.base_dist.mode

    @property
    def variance(self):
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True):
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Independent.enumerate_support: lists no events of several values")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(_Wrapping):
    """One of several components, which are the last dim of a batch.

    mixture_distribution: a Categorical that says which. component_distribution: the components.
    ValueError where the mixture is none, or has another number of weights.
    validate_args: check parameters and values by reading them: ValueError outside of their sets
    """

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ):
        mix, parts = mixture_distribution, component_distribution
        if not isinstance(mix, Categorical):
            raise ValueError(f"MixtureSameFamily({mix!r}, ...): the mixture must be a Categorical")
        *lead, n = parts.batch_shape or (0,)
        if mix._num_events != n:
            raise ValueError(f"MixtureSameFamily(...): {mix._num_events} weights for {n} components")
        shape = broadcast(mix.batch_shape, tuple(lead))
        self.mixture_distribution, self.component_distribution = mix, parts
        self.batch_shape, self.event_shape = shape, parts.event_shape
        self._reshape(shape)
        if validate_args is not None:
            self._validates = validate_args

    def _reshape(self, batch_shape):
        n = self.mixture_distribution._num_events
        self.mixture_distribution = self.mixture_distribution.expand(batch_shape)
        self.component_distribution = self.component_distribution.expand((*batch_shape, n))

    @dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self.component_distribution.support)

    def _weights(self):
        """Probabilities that broadcast with components' means. [..., n, 1...]"""
        p = self.mixture_distribution.probs
        return p.reshape(*p.shape, *(1,) * len(self.event_shape))

    def _mixed(self, x: Any):
        return (self._weights() * x).sum(-1 - len(self.event_shape))

    @property
    def mean(self):
        return self._mixed(self.component_distribution.mean)

    @property
    def variance(self):
        parts, dim = self.component_distribution, -1 - len(self.event_shape)
        between = (parts.mean - self.mean.unsqueeze(dim)).square()
        return self._mixed(parts.variance) + self._mixed(between)

    def _padded(self, value: Any):
        return value.unsqueeze(value.ndim - len(self.event_shape))

    def _draw(self, sample_shape: Any):
        which = self.mixture_distribution.sample(sample_shape)
        drawn = self.component_distribution.sample(sample_shape)
        event = self.event_shape
        places = which.reshape(*which.shape, 1, *(1,) * len(event)).expand(*which.shape, 1, *event)
        dim = drawn.ndim - len(event) - 1
        return drawn.gather(dim, places).squeeze(dim)

    def log_prob(self, value):
        self._validate_sample(value)
        each = self.component_distribution.log_prob(self._padded(value))
        return (each + self.mixture_distribution.logits).logsumexp(-1)

    def cdf(self, value):
        return (self.component_distribution.cdf(self._padded(value)) * self.mixture_distribution.probs).sum(
            -1
        )

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self.mixture_distribution!r}, {self.component_distribution!r})"


class TransformedDistribution(_Wrapping):
    """What draws of a distribution are mapped to. base_distribution: its draws; transforms: the maps.

    ValueError where a map takes events of more dims than the draws have.

    validate_args: check parameters and values by reading them: ValueError outside of their sets
    """

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None):
        self.transforms = list(transforms) if isinstance(transforms, list | tuple) else [transforms]
        base, whole = base_distribution, ComposeTransform(self.transforms)
        shape = (*base.batch_shape, *base.event_shape)
        if len(shape) < whole.domain.event_dim:
            told = f"{whole!r} maps events of {whole.domain.event_dim} dims"
            raise ValueError(f"TransformedDistribution({base!r}, ...): {told}: give a base of that many")
        forward = whole.forward_shape(shape)
        base = base.expand(whole.inverse_shape(forward)[: len(shape) - len(base.event_shape)])
        more = whole.domain.event_dim - len(base.event_shape)
        self.base_dist = Independent(base, more) if more > 0 else base
        event = whole.codomain.event_dim + max(len(base.event_shape) - whole.domain.event_dim, 0)
        self.batch_shape, self.event_shape = forward[: len(forward) - event], forward[len(forward) - event :]
        if validate_args is not None:
            self._validates = validate_args

    def _reshape(self, batch_shape):
        whole = ComposeTransform(self.transforms)
        shape = whole.inverse_shape((*batch_shape, *self.event_shape))
        self.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    @dependent_property
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        own = self.transforms[-1].codomain
        more = len(self.event_shape) - own.event_dim
        return constraints.independent(own, more) if more > 0 else own

    def _mapped(self, x: Any):
        for t in self.transforms:
            x = t(x)
        return x

    def sample(self, sample_shape: Any = ()):
        with no_grad():
            return self._mapped(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()):
        return self._mapped(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        self._validate_sample(value)
        dims, y, total = len(self.event_shape), value, 0.0
        for t in reversed(self.transforms):
            x = t.back(y)
            dims += t.domain.event_dim - t.codomain.event_dim
            total = total - sum_last(t.log_abs_det_jacobian(x, y), dims - t.domain.event_dim)
            y = x
        return total + sum_last(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def _monotone(self, p: Any):
        """Probabilities, the other way round where the maps fall."""
        sign: Any = 1
        for t in self.transforms:
            sign = sign * t.sign
        return p if isinstance(sign, int) and sign == 1 else sign * (p - 0.5) + 0.5

    def cdf(self, value):
        for t in reversed(self.transforms):
            value = t.back(value)
        return self._monotone(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._mapped(self.base_dist.icdf(self._monotone(value)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist!r}, {self.transforms})"


class LogNormal(TransformedDistribution):
    """e to the power of a normal number. loc, scale: of that number.

    validate_args: check parameters and values by reading them: ValueError outside of their sets
    """

    arg_constraints = {"loc": constraints.real, "scale": positive}
    support, has_rsample = positive, True  # type: ignore[override]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    @property
    def loc(self):
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self):
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self):
        return (self.loc + self.scale.square() / 2).exp()

    @property
    def mode(self):
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self):
        s = self.scale.square()
        return s.expm1() * (2 * self.loc + s).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Shares of a stick broken by normal numbers. loc, scale: of those. [..., n] -> [..., n + 1]

    validate_args: check parameters and values by reading them: ValueError outside of their sets
    """

    arg_constraints = {"loc": constraints.real, "scale": positive}
    support, has_rsample = constraints.simplex, True  # type: ignore[override]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        base = Normal(loc, scale, validate_args)
        base = base if base.batch_shape else base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args)

    @property
    def loc(self):
        """The means of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self):
        """The standard deviations of the normal numbers."""
        return self.base_dist.base_dist.scale


class _LogitRelaxed(Distribution):
    """Logits of RelaxedBernoulli's draws.

    validate_args: check parameters and values by reading them: ValueError outside of their sets
    """

    arg_constraints = {"probs": unit, "logits": constraints.real}
    support, has_rsample = constraints.real, True

    def __init__(self, temperature: Any, given: dict[str, Any], validate_args: bool | None):
        self.temperature = temperature
        self._set(validate_args, **given)

    @property
    def probs(self):
        return self._probs if "probs" in self._params else self._logits.sigmoid()

    @property
    def logits(self):
        return self._logits if "logits" in self._params else odds(self._probs)

    def rsample(self, sample_shape: Any = ()):
        u = open_bits(self._shape(sample_shape), self.logits.device)
        return (u.log() - (-u).log1p() + self.logits) / self.temperature

    def log_prob(self, value):
        self._validate_sample(value)
        d = self.logits - value * self.temperature
        slope = self.temperature.log() if isinstance(self.temperature, Tensor) else log(self.temperature)
        return slope + d - 2 * COMPOSED["softplus"](d)


class RelaxedBernoulli(TransformedDistribution):
    """A number near 0 or 1 (Maddison et al., 2017). temperature: how near; probs or logits: of 1.

    validate_args: check parameters and values by reading them: ValueError outside of their sets
    """

    arg_constraints = {"probs": unit, "logits": constraints.real}
    support, has_rsample = unit, True  # type: ignore[override]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ):
        given = one_of("RelaxedBernoulli", probs=probs, logits=logits)
        base = _LogitRelaxed(temperature, given, validate_args)
        super().__init__(base, SigmoidTransform(), validate_args)

    @property
    def temperature(self):
        """How near to 0 and 1 draws are: the less the nearer."""
        return self.base_dist.temperature

    @property
    def probs(self):
        """The probabilities of 1."""
        return self.base_dist.probs

    @property
    def logits(self):
        """The log-odds of 1."""
        return self.base_dist.logits


class _ExpRelaxed(OneHotCategorical):
    """Logarithms of RelaxedOneHotCategorical's draws.

    validate_args: check parameters and values by reading them: ValueError outside of their sets
    """

    support, has_rsample, has_enumerate_support = constraints.real_vector, True, False

    def __init__(self, temperature: Any, probs: Any, logits: Any, validate_args: bool | None):
        super().__init__(probs, logits, validate_args)
        self.temperature = temperature

    def rsample(self, sample_shape: Any = ()):
        noise = gumbel_bits(self._shape(sample_shape), self.logits.device)
        return ((self.logits + noise) / self.temperature).log_softmax(-1)

    def log_prob(self, value):
        self._validate_sample(value)
        n, t = self._num_events, self.temperature
        heat = t.log() if isinstance(t, Tensor) else log(t)
        score = (self.logits - value * t).log_softmax(-1).sum(-1)
        factorial = sum(log(i) for i in range(1, n))
        return score + factorial + (n - 1) * heat


class RelaxedOneHotCategorical(TransformedDistribution):
    """Shares near one class (Maddison et al., 2017). temperature: how near; probs or logits: of classes.

    validate_args: check parameters and values by reading them: ValueError outside of their sets
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support, has_rsample = constraints.simplex, True  # type: ignore[override]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ):
        base = _ExpRelaxed(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    @property
    def temperature(self):
        """How near to one class draws are: the less the nearer."""
        return self.base_dist.temperature

    @property
    def probs(self):
        """The probabilities of the classes."""
        return self.base_dist.probs

    @property
    def logits(self):
        """The logarithms of the probabilities."""
        return self.base_dist.logits
