"""Kullback-Leibler divergences: a table of formulas by the classes of the two distributions."""

from collections.abc import Callable
from inspect import isclass
from math import inf, log, pi
from typing import Any, TypeVar

from ..core.op import COMPOSED
from ..tensor import Tensor
from .compound import Independent, TransformedDistribution
from .continuous import EULER, Cauchy, Exponential, Gumbel, HalfNormal, Laplace, Normal, Pareto, Uniform
from .discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    ContinuousBernoulli,
    Geometric,
    OneHotCategorical,
    Poisson,
)
from .distribution import Distribution
from .gamma import Beta, Dirichlet, Gamma
from .multivariate import LowRankMultivariateNormal, MultivariateNormal, log_det, squared_distance, triangular
from .transforms import sum_last

__all__ = ["kl_divergence", "register_kl"]
Formula = TypeVar("Formula", bound=Callable[[Any, Any], Tensor])
FORMULAS: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}
softplus = COMPOSED["softplus"]


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Declare the formula for the divergence between two classes of distributions and their subclasses.

    type_p: the class of the first; type_q: of the second. Raises TypeError if one is not such a class.
    """
    for cls in (type_p, type_q):
        if not (isclass(cls) and issubclass(cls, Distribution)):
            raise TypeError(f"register_kl({cls!r}): takes classes of distributions")

    def declare(formula: Formula) -> Formula:
        FORMULAS[type_p, type_q] = formula
        return formula

    return declare


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the Kullback-Leibler divergence, the mean of log p - log q under p, by a closed formula.

    p, q: distributions. Raises NotImplementedError if no formula is registered. -> [*batch_shape]
    """
    # the nearest pair of base classes, p's first: Chi2 uses the formula of Gamma
    for a in type(p).__mro__:
        for b in type(q).__mro__:
            if (a, b) in FORMULAS:
                return FORMULAS[a, b](p, q)
    rule = "no formula is registered: use register_kl, or average log_prob over draws"
    raise NotImplementedError(f"kl_divergence({type(p).__name__}, {type(q).__name__}): {rule}")


def _infinite(p: Distribution, q: Distribution) -> Tensor:
    """Return infinity: p has values outside the support of q."""
    return p.first_parameter() * 0 + inf


for _a, _others in (
    (Beta, (Pareto,)),
    (ContinuousBernoulli, (Pareto,)),
    (Exponential, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gumbel, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Laplace, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Pareto, (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, (Bernoulli, Binomial)),
):
    for _b in _others:
        FORMULAS[_a, _b] = _infinite


# --- of the same class ---


@register_kl(Bernoulli, Bernoulli)
def _(p: Bernoulli, q: Bernoulli) -> Tensor:
    a, b = p.logits, q.logits
    # log p = -softplus(-logits) and log(1 - p) = -softplus(logits); 0 log 0 counts as 0.
    t1 = (p.probs == 0).where(0.0, p.probs * (softplus(-b) - softplus(-a)))
    t2 = (p.probs == 1).where(0.0, (1 - p.probs) * (softplus(b) - softplus(a)))
    return t1 + t2


@register_kl(Binomial, Binomial)
def _(p: Binomial, q: Binomial) -> Tensor:
    # of equal totals: n times the divergence of one trial
    divergence = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return (p.total_count > q.total_count).where(inf, divergence)  # counts above q's total have probability 0


@register_kl(Categorical, Categorical)
def _(p: Categorical, q: Categorical) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    # probs are unclamped: an impossible class of q is infinite, unless p never draws it
    each = (q.probs == 0).where(inf, each)
    return (p.probs == 0).where(0.0, each).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return FORMULAS[Categorical, Categorical](p, q)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    first = p.mean * (p.logits - q.logits)
    return first + p.log_norm() + (-p.probs).log1p() - q.log_norm() - (-q.probs).log1p()


@register_kl(Geometric, Geometric)
def _(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Beta, Beta)
def _(p: Beta, q: Beta) -> Tensor:
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    # log B(c, d) - log B(a, b), then the means of log x and log(1 - x), which are digamma differences
    sums = c.lgamma() + d.lgamma() + (a + b).lgamma() - a.lgamma() - b.lgamma() - (c + d).lgamma()
    return sums + (a - c) * a.digamma() + (b - d) * b.digamma() + (c + d - a - b) * (a + b).digamma()


@register_kl(Dirichlet, Dirichlet)
def _(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    first = total.lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma()).sum(-1)
    return first + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Gamma, Gamma)
def _(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    # E[log x] = digamma(a) - log rate, E[x] = a / rate
    first = b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma()
    return first + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Exponential, Exponential)
def _(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Cauchy, Cauchy)
def _(p: Cauchy, q: Cauchy) -> Tensor:
    # Chyzak and Nielsen (2019)
    sums = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return sums.log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _(p: Gumbel, q: Gumbel) -> Tensor:
    # E[exp(-x / s)] of a Gumbel variable is exp(-loc / s) Gamma(1 + scale / s)
    ratio, scaled_loc = p.scale / q.scale, q.loc / q.scale
    centre = p.loc / q.scale
    tail = (scaled_loc + (1 + ratio).lgamma() - centre).exp()
    return -ratio.log() - scaled_loc + centre + ratio * EULER + tail - (1 + EULER)


@register_kl(HalfNormal, HalfNormal)
def _(p: HalfNormal, q: HalfNormal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio - 1 - ratio.log())


@register_kl(Normal, Normal)
def _(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def _(p: Laplace, q: Laplace) -> Tensor:
    # E|x - q.loc| = d + p.scale exp(-d / p.scale)
    ratio, d = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + d / q.scale + ratio * (-d / p.scale).exp() - 1


@register_kl(Pareto, Pareto)
def _(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    divergence = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return (p.scale < q.scale).where(inf, divergence)


@register_kl(Uniform, Uniform)
def _(p: Uniform, q: Uniform) -> Tensor:
    divergence = ((q.high - q.low) / (p.high - p.low)).log()
    return ((q.low > p.low) | (q.high < p.high)).where(inf, divergence)


@register_kl(MultivariateNormal, MultivariateNormal)
def _(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    """Traces and distances through the Cholesky factor of q. [..., n, n] -> [...]"""
    n = p.event_shape[0]
    shape = (*(p.loc - q.loc).shape[:-1], n, n)
    # tr(S_q^-1 S_p) is the squared norm of L_q^-1 L_p
    ratio = triangular(q.scale_tril.expand(*shape), p.scale_tril.expand(*shape), upper=False)
    distance = squared_distance(q.scale_tril, q.loc - p.loc)
    return log_det(q.scale_tril) - log_det(p.scale_tril) + 0.5 * (ratio.square().sum((-2, -1)) + distance - n)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    return FORMULAS[MultivariateNormal, MultivariateNormal](p, q)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    return FORMULAS[MultivariateNormal, MultivariateNormal](p, q)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    return FORMULAS[MultivariateNormal, MultivariateNormal](p, q)


@register_kl(Independent, Independent)
def _(p: Independent, q: Independent) -> Tensor:
    n = p.reinterpreted_batch_ndims
    if n != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence(Independent, Independent): reinterpreted_batch_ndims differ")
    return sum_last(kl_divergence(p.base_dist, q.base_dist), n)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "kl_divergence(TransformedDistribution, ...): transforms or event shapes differ"
        )
    return kl_divergence(p.base_dist, q.base_dist)


# --- of two classes: minus the entropy of p, minus the mean of q.log_prob under p ---


@register_kl(Bernoulli, Poisson)
def _(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _(p: Beta, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q.log_norm()


@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Beta, Exponential)
@register_kl(Gamma, Exponential)
@register_kl(Pareto, Exponential)
def _(p: ContinuousBernoulli | Beta | Gamma | Pareto, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Uniform, Exponential)
def _(p: Uniform, q: Exponential) -> Tensor:
    # the general formula needs only p.entropy() and p.mean
    return (p.low < 0).where(inf, FORMULAS[Pareto, Exponential](p, q))


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Pareto, Normal)
@register_kl(Uniform, Normal)
def _(
    p: Beta | ContinuousBernoulli | Exponential | Gamma | Gumbel | Laplace | Pareto | Uniform, q: Normal
) -> Tensor:
    # E[(x - loc)^2] = variance + (mean - loc)^2
    spread = q.scale.square()
    divergence = (
        0.5 * (2 * pi * spread).log() + 0.5 * (p.variance + (p.mean - q.loc).square()) / spread - p.entropy()
    )
    # a Pareto variable of alpha <= 2 has no variance
    return (p.alpha <= 2).where(inf, divergence) if isinstance(p, Pareto) else divergence


@register_kl(Beta, Uniform)
def _(p: Beta, q: Uniform) -> Tensor:
    divergence = -p.entropy() + (q.high - q.low).log()
    return ((q.low > 0) | (q.high < 1)).where(inf, divergence)


@register_kl(ContinuousBernoulli, Uniform)
def _(p: ContinuousBernoulli, q: Uniform) -> Tensor:
    divergence = -p.entropy() + (q.high - q.low).log()
    return ((q.low > 0) | (q.high < 1)).where(inf, divergence)


def _gamma_terms(q: Gamma) -> Tensor:
    return q.concentration.lgamma() - q.concentration * q.rate.log()


@register_kl(Beta, Gamma)
def _(p: Beta, q: Gamma) -> Tensor:
    a, b = p.concentration1, p.concentration0
    logs = a.digamma() - (a + b).digamma()
    return -p.entropy() + _gamma_terms(q) - (q.concentration - 1) * logs + q.rate * p.mean


@register_kl(Exponential, Gamma)
def _(p: Exponential, q: Gamma) -> Tensor:
    # E[log x] of an exponential variable
    logs = -EULER - p.rate.log()
    return -p.entropy() + _gamma_terms(q) - (q.concentration - 1) * logs + q.rate * p.mean


@register_kl(Pareto, Gamma)
def _(p: Pareto, q: Gamma) -> Tensor:
    # E[log x]: log(x / scale) is exponential of rate alpha
    logs = p.scale.log() + 1 / p.alpha
    divergence = -p.entropy() + _gamma_terms(q) - (q.concentration - 1) * logs + q.rate * p.mean
    return (p.alpha <= 1).where(inf, divergence)


@register_kl(Uniform, Gamma)
def _(p: Uniform, q: Gamma) -> Tensor:
    width = p.high - p.low
    # E[log x] = (b log b - a log a) / (b - a) - 1
    logs = (p.high.xlogy(p.high) - p.low.xlogy(p.low)) / width - 1
    divergence = -p.entropy() + _gamma_terms(q) - (q.concentration - 1) * logs + q.rate * p.mean
    return (p.low < 0).where(inf, divergence)


@register_kl(Exponential, Gumbel)
def _(p: Exponential, q: Gumbel) -> Tensor:
    # E[exp(-x / s)] = rate / (rate + 1 / s)
    rate_scale, ratio = p.rate * q.scale, q.loc / q.scale
    return rate_scale.log() - 1 + ratio.exp() * rate_scale / (rate_scale + 1) - ratio + 1 / rate_scale


@register_kl(Gamma, Gumbel)
def _(p: Gamma, q: Gumbel) -> Tensor:
    b, ratio = p.rate * q.scale, q.loc / q.scale
    a = p.concentration
    first = (a - 1) * a.digamma() - a.lgamma() - a
    return first + b.log() + ratio.exp() * (1 + 1 / b) ** -a - ratio + a / b


@register_kl(Normal, Gumbel)
def _(p: Normal, q: Gumbel) -> Tensor:
    centre, spread, ratio = p.loc / q.scale, (p.scale / q.scale).square(), q.loc / q.scale
    return -0.5 * (1 + spread.log() + log(2 * pi)) + (ratio - centre + 0.5 * spread).exp() - ratio + centre


@register_kl(Uniform, Gumbel)
def _(p: Uniform, q: Gumbel) -> Tensor:
    rise = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return rise.log() + 0.5 * (high + low) - rise * ((-high).exp() - (-low).exp())


@register_kl(Normal, Laplace)
def _(p: Normal, q: Laplace) -> Tensor:
    d = p.loc - q.loc
    ratio = d / p.scale
    # E|x - loc| of a normal variable (folded normal)
    distance = (2 / pi) ** 0.5 * p.scale * (-0.5 * ratio.square()).exp() + d * (ratio * 0.5**0.5).erf()
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@register_kl(Uniform, Beta)
def _(p: Uniform, q: Beta) -> Tensor:
    width = p.high - p.low

    def mean_log(high: Tensor, low: Tensor) -> Tensor:
        return (high.xlogy(high) - low.xlogy(low)) / width - 1

    a, b = q.concentration1, q.concentration0
    norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    logs = (a - 1) * mean_log(p.high, p.low) + (b - 1) * mean_log(1 - p.low, 1 - p.high)
    return ((p.high > 1) | (p.low < 0)).where(inf, -p.entropy() + norm - logs)


@register_kl(Uniform, ContinuousBernoulli)
def _(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    divergence = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q.log_norm()
    return ((p.high > 1) | (p.low < 0)).where(inf, divergence)


@register_kl(Uniform, Pareto)
def _(p: Uniform, q: Pareto) -> Tensor:
    width = p.high - p.low
    logs = (p.high.xlogy(p.high) - p.low.xlogy(p.low)) / width - 1
    divergence = -p.entropy() - q.alpha.log() - q.alpha * q.scale.log() + (q.alpha + 1) * logs
    return (p.low < q.scale).where(inf, divergence)
