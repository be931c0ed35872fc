"""Draws: by their cdf (Kolmogorov and Smirnov), by their moments, and by how means move with parameters."""

import numpy as np
import pytest

import flambeau as fb

d = fb.distributions
N = 10000


def t(*values):
    return fb.tensor(np.array(values, "f4"), device="cpu")


@pytest.fixture(autouse=True)
def seeded():
    fb.manual_seed(11)


@pytest.mark.parametrize("size", [3, np.int64(3), fb.tensor(3, device="cpu"), [3], (np.int64(3),)])
def test_an_integer_of_any_kind_is_a_sample_shape(size):
    for drawn in (
        d.Normal(t(0.0), t(1.0)).sample(size),
        d.Categorical(t(0.5, 0.5)).sample(size).unsqueeze(-1),
        d.Multinomial(2, t(1.0)).sample(size),
        d.LKJCholesky(2, t(1.0)).sample(size)[..., 0, :1, 0],
    ):
        assert drawn.shape == (3, 1)
    with pytest.raises(TypeError, match="sample_shape must be an integer, not 1.5"):
        d.Normal(t(0.0), t(1.0)).sample(1.5)


BY_CDF = {
    "Normal": lambda: d.Normal(t(0.5), t(2.0)),
    "Laplace": lambda: d.Laplace(t(0.5), t(2.0)),
    "Cauchy": lambda: d.Cauchy(t(0.5), t(2.0)),
    "Gumbel": lambda: d.Gumbel(t(0.5), t(2.0)),
    "Uniform": lambda: d.Uniform(t(-1.0), t(2.0)),
    "Exponential": lambda: d.Exponential(t(2.0)),
    "HalfNormal": lambda: d.HalfNormal(t(2.0)),
    "HalfCauchy": lambda: d.HalfCauchy(t(2.0)),
    "Weibull": lambda: d.Weibull(t(2.0), t(1.5)),
    "Pareto": lambda: d.Pareto(t(2.0), t(1.5)),
    "GeneralizedPareto": lambda: d.GeneralizedPareto(t(1.0), t(2.0), t(-0.3)),
    "Kumaraswamy": lambda: d.Kumaraswamy(t(2.0), t(1.5)),
    "ContinuousBernoulli": lambda: d.ContinuousBernoulli(t(0.2)),
    "small Gamma": lambda: d.Gamma(t(0.2), t(1.5)),
    "Gamma": lambda: d.Gamma(t(7.0), t(1.5)),
    "Chi2": lambda: d.Chi2(t(3.0)),
    "InverseGamma": lambda: d.InverseGamma(t(3.0), t(1.5)),
    "LogNormal": lambda: d.LogNormal(t(0.5), t(0.7)),
    "mixture": lambda: d.MixtureSameFamily(
        d.Categorical(t(0.3, 0.7)), d.Normal(t(-1.0, 2.0), t(0.5, 1.0))
    ).expand((1,)),
}


@pytest.mark.parametrize("name", BY_CDF)
def test_draws_follow_the_cdf(name):
    """The largest distance of the empirical cdf from it is below 1.95 / sqrt(n) but once in a thousand."""
    one = BY_CDF[name]()
    u = np.sort(one.cdf(one.sample((N,))).numpy().reshape(-1))
    steps = np.arange(1, N + 1) / N
    assert np.maximum(abs(u - steps), abs(u - steps + 1 / N)).max() < 1.95 / np.sqrt(N)


BY_MOMENTS = {
    "Bernoulli": lambda: d.Bernoulli(t(0.3)),
    "Geometric": lambda: d.Geometric(t(0.3)),
    "Poisson": lambda: d.Poisson(t(0.4, 7.0, 60.0)),
    "Binomial": lambda: d.Binomial(t(5.0, 60.0, 60.0), t(0.3, 0.5, 0.98)),
    "NegativeBinomial": lambda: d.NegativeBinomial(t(5.0), t(0.4)),
    "OneHotCategorical": lambda: d.OneHotCategorical(t(0.2, 0.5, 0.3)),
    "Multinomial": lambda: d.Multinomial(5, t(0.2, 0.5, 0.3)),
    "Beta": lambda: d.Beta(t(0.5, 3.0), t(2.0, 5.0)),
    "Dirichlet": lambda: d.Dirichlet(t(0.2, 3.0, 1.0)),
    "FisherSnedecor": lambda: d.FisherSnedecor(t(5.0), t(30.0)),
    "StudentT": lambda: d.StudentT(t(9.0), t(1.0), t(2.0)),
    "MultivariateNormal": lambda: d.MultivariateNormal(t(1.0, 2.0), t([2.0, 0.5], [0.5, 1.0])),
    "LowRankMultivariateNormal": lambda: d.LowRankMultivariateNormal(t(1, 2), t([1.0], [0.5]), t(1.0, 2.0)),
    "Wishart": lambda: d.Wishart(t(5.0), t([2.0, 0.5], [0.5, 1.0])),
}


@pytest.mark.parametrize("name", BY_MOMENTS)
def test_draws_have_the_mean_and_the_variance(name):
    one = BY_MOMENTS[name]()
    x = one.sample((N,)).numpy().astype("f8")
    mean, spread = one.mean.numpy(), one.stddev.numpy()
    assert x.shape[1:] == (*one.batch_shape, *one.event_shape)
    assert (abs(x.mean(0) - mean) < 4.5 * spread / np.sqrt(N)).all()
    assert np.allclose(x.var(0), one.variance.numpy(), rtol=0.15, atol=1e-3)
    assert one.support.check(fb.tensor(x[:50].astype("f4"), device="cpu")).all().item()


def test_probabilities_of_whole_numbers():
    """Each value as often as log_prob says, on both sides of where the way of drawing changes."""
    for one, top in (
        (d.Poisson(t(3.0)), 12), (d.Poisson(t(12.0)), 30), (d.Binomial(t(9.0), t(0.6)), 10),
        (d.Binomial(t(80.0), t(0.3)), 50), (d.Geometric(t(0.4)), 12),
        (d.NegativeBinomial(t(3.0), t(0.5)), 15),
    ):  # fmt: skip
        x = one.sample((N,)).numpy().reshape(-1).astype(int)
        p = one.log_prob(fb.arange(top, device="cpu").float().unsqueeze(-1)).exp().numpy().reshape(-1)
        seen = np.bincount(x, minlength=top)[:top] / N
        assert (abs(seen - p) < 5 * np.sqrt(p * (1 - p) / N) + 2e-4).all(), one


def test_classes_and_angles_and_correlations():
    x = d.Categorical(t([0.1, 0.9], [0.5, 0.5])).sample((N,)).numpy()
    assert x.shape == (N, 2) and np.allclose(x.mean(0), [0.9, 0.5], atol=0.02)
    angles = d.VonMises(t(1.0), t(4.0)).sample((N,)).numpy()
    turned = np.exp(1j * angles).mean()
    assert np.isclose(abs(turned), 0.8635, atol=0.01) and np.isclose(np.angle(turned), 1, atol=0.02)
    for concentration in (0.7, 2.5):
        factor = d.LKJCholesky(3, t(concentration)).sample((N,)).numpy()[:, 0]
        r = (factor @ factor.transpose(0, 2, 1))[:, 0, 2]
        # an entry of an n by n matrix is 2 Beta(a, a) - 1, a = concentration - 1 + n / 2
        assert np.isclose(r.var(), 1 / (2 * (concentration + 0.5) + 1), rtol=0.06) and abs(r.mean()) < 0.02
    hard = d.RelaxedBernoulli(t(0.05), t(0.3)).sample((N,)).numpy()
    assert np.isclose((hard > 0.5).mean(), 0.3, atol=0.02)
    shares = d.RelaxedOneHotCategorical(t(0.05), t(0.2, 0.8)).sample((N,)).numpy().reshape(N, 2)
    assert np.allclose(shares.sum(-1), 1, atol=1e-4) and np.isclose(
        (shares[:, 0] > 0.5).mean(), 0.2, atol=0.02
    )


# how the mean of f(draws) moves with a parameter: (distribution of it, f, the slope of the mean)
MOVES = {
    "Normal": (lambda a: d.Normal(0.3 * a, a), lambda x: x * x, 1.3, lambda a: 2 * a * 1.09),
    "Gamma": (lambda a: d.Gamma(a, t(2.0)), lambda x: x * x, 3.0, lambda a: (2 * a + 1) / 4),
    "small Gamma": (lambda a: d.Gamma(a, t(1.0)), lambda x: x * x, 0.4, lambda a: 2 * a + 1),
    "large Gamma": (lambda a: d.Gamma(a, t(1.0)), lambda x: x * x, 40.0, lambda a: 2 * a + 1),
    "Beta": (lambda a: d.Beta(a, t(2.0)), lambda x: x, 3.0, lambda a: 2 / (a + 2) ** 2),
    "Dirichlet": (
        lambda a: d.Dirichlet(fb.cat([a, t(1.0, 2.0)])), lambda x: x[..., 0], 2.0, lambda a: 3 / (a + 3) ** 2
    ),
    "StudentT": (lambda a: d.StudentT(a), lambda x: x * x, 12.0, lambda a: -2 / (a - 2) ** 2),
    "Weibull": (lambda a: d.Weibull(a, t(2.0)), lambda x: x * x, 1.5, lambda a: 2 * a),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_gradients_of_draws(name):
    """The mean of many gradients is the slope of the mean, within its own error."""
    make, f, at, slope = MOVES[name]
    a = fb.tensor([at], device="cpu", requires_grad=True)
    parts = []
    for _ in range(16):
        y = f(make(a).rsample((2000,))).mean()
        parts.append(y.backward()[a].item())
    error = np.std(parts) / np.sqrt(len(parts))
    assert abs(np.mean(parts) - slope(at)) < 4.5 * error and error < 0.2 * abs(slope(at))


def test_slopes_of_gammas_are_torchs(torch):
    from flambeau.distributions.gamma import gamma_slope

    rng = np.random.default_rng(0)
    a = np.exp(rng.uniform(0, 8, 4000)).astype("f4")
    x = (a * np.exp(rng.normal(size=4000) * np.minimum(1, 3 / np.sqrt(a)))).astype("f4")
    got = gamma_slope(t(*a), t(*x)).numpy()
    want = torch._standard_gamma_grad(torch.tensor(a).double(), torch.tensor(x).double()).numpy()
    assert np.quantile(abs(got / want - 1), 0.99) < 2e-3 and np.median(abs(got / want - 1)) < 1e-4


def test_straight_through():
    p = fb.tensor([0.2, 0.8], device="cpu", requires_grad=True)
    x = d.OneHotCategoricalStraightThrough(p / p.sum()).rsample()
    assert sorted(x.tolist()) == [0, 1]
    assert (x * t(1.0, 3.0)).sum().backward()[p] is not None


@pytest.mark.share(5)
def test_by_kernels(gpu):
    """One pass of draws and densities on the adapter: moments are those of NumPy's device."""

    def g(*v):
        return fb.tensor(np.array(v, "f4"), device=gpu)

    for one in (
        d.Gamma(g(0.3, 4.0), g(2.0), validate_args=False),
        d.Poisson(g(3.0, 40.0), validate_args=False),
    ):
        x = one.sample((4000,))
        mean, logs = x.numpy().mean(0), one.log_prob(x[:5])
        wanted, spread = (b.numpy() for b in (one.mean, one.variance))
        assert (abs(mean - wanted) < 4.5 * np.sqrt(spread / 4000)).all() and np.isfinite(logs.numpy()).all()


def test_a_cdf_has_the_density_as_its_slope():
    x = fb.tensor([0.3, 2.0, 9.0], device="cpu", requires_grad=True)
    for one in (d.Gamma(t(2.5), t(1.2)), d.InverseGamma(t(2.5), t(1.2)), d.Chi2(t(3.0))):
        slope = one.cdf(x).sum().backward()[x]
        assert np.allclose(slope.numpy(), one.log_prob(x).exp().numpy(), rtol=1e-4)
