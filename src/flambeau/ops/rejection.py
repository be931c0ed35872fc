"""Random numbers by rejection sampling: Poisson, binomial and gamma.

A graph has no loops that depend on values: the proposals are a leading dim, and the first accepted one is
used. There are enough proposals that at least one is accepted almost surely (see TRIES).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, pi
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core import op as _op
from ..core.declare import composed
from ..core.op import only_real
from ..core.refused_gradient import refuse_gradients
from ..core.shape import broadcast
from .elementwise import with_zero_gradient
from .index.indices import valid
from .random import normal_bits, open_bits

if TYPE_CHECKING:
    from ..ops.random import Generator
    from ..tensor import Tensor

FEW = 10  # below this mean, draws invert the cumulative probabilities instead
TRIES = 12  # proposals: all are rejected with a probability of at most 1e-7
WALK = 40  # the largest number by inversion: a Poisson number of mean 10 exceeds it with probability 1e-13


def first_accepted(value: Tensor, accepted: Tensor) -> Tensor:
    """The first accepted proposal of each element. [tries, ...], [tries, ...] -> [...]"""
    return value.gather(0, accepted.int().argmax(0, True)).squeeze(0)


def tail(k: Tensor) -> Tensor:
    """The correction of Stirling's formula: log k! - ((k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2)."""
    m = k + 1
    square = m * m
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / m


def invert(u: Tensor, log_mass: Callable[[Any], Any]) -> Tensor:
    """The number whose cumulative probability reaches u; log_mass gives log-probabilities of 0, 1, ..."""
    k = type(u).arange(WALK, dtype=dt.int32, device=u.device).float().reshape(WALK, *(1,) * u.ndim)
    # how many cumulative probabilities are below u
    return (u > log_mass(k).exp().cumsum(0)).to(u.dtype).sum(0)


def hat(u: Tensor, a: Tensor, b: Tensor, centre: Tensor) -> tuple[Tensor, Tensor]:
    """A proposal of transformed rejection, and the distance of u from 0 or 1 (Hormann, 1993)."""
    centred = u - 0.5
    end = 0.5 - centred.abs()
    return ((2 * a / end + b) * centred + centre).floor(), end


@composed
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson numbers whose means are the elements, in their dtype (Hormann, 1993). [...] -> [...]

    TypeError for complex numbers; ValueError, at the next read, for a negative or NaN mean. An infinite mean
    gives NaN.
    """
    only_real(input)
    means, device = input.detach().float(), input.device
    means = valid(means, (means < 0) | means.isnan(), "poisson")

    def draw(*tries: int) -> Tensor:
        return open_bits((*tries, *input.shape), device, generator)

    low = means.clamp(1e-30, float(FEW))
    small = invert(draw(), lambda k: k * low.log() - low - (k + 1).lgamma())
    high = means.clamp(min=float(FEW))
    # the constants of algorithm PTRS
    b = 0.931 + 2.53 * high.sqrt()
    a = -0.059 + 0.02483 * b
    bound, quick = (1.1239 + 1.1328 / (b - 3.4)).log(), 0.9277 - 3.6224 / (b - 2)
    k, end = hat(draw(TRIES), a, b, high + 0.43)
    v, from_0 = draw(TRIES), k.clamp(min=0.0)
    excess = (from_0 + 1 - high) / high
    # log of the mean's probability mass at k, by Stirling's formula; log1p keeps digits for k near the mean.
    mass = high * excess - (from_0 + 0.5) * excess.log1p() - 0.5 * (high.log() + log(2 * pi))
    inside = v.log() + bound - (a / (end * end) + b).log() <= mass - tail(from_0)
    # Quick acceptance (a squeeze), quick rejection near both ends, else the exact test.
    accepted = (k >= 0) & (((end >= 0.07) & (v <= quick)) | (((end >= 0.013) | (v <= end)) & inside))
    drawn = (means < FEW).where(small, first_accepted(k, accepted))
    drawn = means.isfinite().where(drawn, float("nan")).to(input.dtype)
    return with_zero_gradient(drawn, input) if input.requires_grad else drawn


@composed
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """The number of successes of `count` trials with probability `prob` (Hormann, 1993). [...], [...] ->
    [...]

    count: integers, as floats. prob: from 0 to 1; others give NaN.
    There is no gradient: computing one raises TypeError.
    Raises ValueError if shapes do not broadcast.
    """
    only_real(count, prob)
    shape = broadcast(count.shape, prob.shape)
    n, chance, device = (
        count.detach().float().expand(*shape),
        prob.detach().float().expand(*shape),
        count.device,
    )

    def draw(*tries: int) -> Tensor:
        return open_bits((*tries, *shape), device, generator)

    # For p > 1/2 count the failures instead. Each algorithm gets harmless parameters where the other one is
    # used.
    p = chance.minimum(1 - chance).clamp(0.0, 0.5)
    is_low = n * p < FEW
    rate = is_low.where(p, 0.25).clamp(min=1e-30)
    trials = is_low.where(n, 0.0)
    small = invert(draw(), lambda k: _log_probabilities(k, trials, rate)).minimum(trials)
    size, chances = is_low.where(40.0, n), is_low.where(0.5, p)
    drawn = is_low.where(small, _by_rejection(size, chances, draw))
    successes = (chance > 0.5).where(n - drawn, drawn)
    is_valid = (chance >= 0) & (chance <= 1) & (n >= 0)
    successes = is_valid.where(successes, float("nan"))
    successes = successes.to(_op.result_of([count.node, prob.node]) or count.dtype)
    return refuse_gradients("binomial", successes, count=count, prob=prob)


def _by_rejection(n: Tensor, p: Tensor, draw: Callable[..., Tensor]) -> Tensor:
    """Binomial numbers of mean 10 or more, for probabilities up to 1/2."""
    odds, spread = p / (1 - p), (n * p * (1 - p)).sqrt()
    # the constants of algorithm BTRS
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    quick, alpha = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread
    m = ((n + 1) * p).floor()
    top = (m + 0.5) * ((m + 1) / (odds * (n - m + 1))).log() + tail(m) + tail(n - m)

    drawn, end = hat(draw(TRIES), a, b, n * p + 0.5)
    # clamped where it is rejected anyway: logarithms stay finite
    v, k = draw(TRIES), drawn.clamp(min=0.0).minimum(n)
    rest = (n + 1) * ((n - m + 1) / (n - k + 1)).log()
    mass = top + rest + (k + 0.5) * (odds * (n - k + 1) / (k + 1)).log() - tail(k) - tail(n - k)
    inside = (v * alpha / (a / (end * end) + b)).log() <= mass
    return first_accepted(k, (drawn == k) & (((end >= 0.07) & (v <= quick)) | inside))


def _log_probabilities(k: Tensor, n: Tensor, p: Tensor) -> Tensor:
    """Log-probabilities of k successes in n trials; -inf above n."""
    ways = (n + 1).lgamma() - (k + 1).lgamma() - (n - k).clamp(min=0.0).add(1).lgamma()
    return (k <= n).where(ways + k * p.log() + (n - k) * (-p).log1p(), -inf)


def gamma_above_one(a: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma numbers for shapes of at least 1 (Marsaglia and Tsang, 2000). [...] -> [...]"""
    d = a - 1 / 3
    c = (9 * d).rsqrt()

    shape = (8, *a.shape)  # 8 proposals: each is rejected with a probability below 5 %
    x, u = normal_bits(shape, a.device, generator), open_bits(shape, a.device, generator)
    # d (1 + c x)^3 for a normal x is nearly a gamma number; it is accepted by the ratio of the densities
    root = 1 + c * x
    v = root * root * root
    low = v.clamp(min=1e-30)
    return first_accepted(d * low, (root > 0) & (u.log() < 0.5 * x * x + d - d * v + d * low.log()))
