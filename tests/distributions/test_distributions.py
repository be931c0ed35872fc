"""Distributions: densities, moments, entropies and cdfs beside torch's; draws by moments and by their cdf."""

from contextlib import suppress

import numpy as np
import pytest

import flambeau as fb

d = fb.distributions
RNG = np.random.default_rng(3)
SPD = (lambda a: (a @ a.T + 2 * np.eye(3)).astype("f4"))(RNG.normal(size=(3, 3)))
TRIL = np.linalg.cholesky(SPD).astype("f4")
P = np.array([0.2, 0.7, 0.5], "f4")
SHARES = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]], "f4")
LOC, SCALE = np.array([-0.5, 0.2, 1.5], "f4"), np.array([0.5, 1.0, 2.0], "f4")
A, B = np.array([0.6, 2.5, 12.0], "f4"), np.array([1.5, 0.8, 3.0], "f4")
IN01 = np.array([0.1, 0.45, 0.8], "f4")
POSITIVE = np.array([0.3, 1.0, 4.0], "f4")
COUNTS = np.array([0.0, 2.0, 5.0], "f4")
CORR = np.linalg.cholesky(np.array([[1, 0.5, 0.2], [0.5, 1, -0.3], [0.2, -0.3, 1]])).astype("f4")


def case(value, *args, name=None, **kw):
    return name, args, kw, value


# label: (class, arguments, keywords, values of the support)
CASES = {
    "Normal": case(LOC + 1, LOC, SCALE),
    "Laplace": case(LOC + 1, LOC, SCALE),
    "Cauchy": case(LOC + 1, LOC, SCALE),
    "Gumbel": case(LOC + 1, LOC, SCALE),
    "Uniform": case(LOC + 0.3 * SCALE, LOC, LOC + SCALE),
    "Exponential": case(POSITIVE, SCALE),
    "HalfNormal": case(POSITIVE, SCALE),
    "HalfCauchy": case(POSITIVE, SCALE),
    "Weibull": case(POSITIVE, SCALE, A),
    "Pareto": case(POSITIVE + 2, SCALE, B),
    "GeneralizedPareto": case(LOC + 0.3, LOC, SCALE, np.array([0.2, -0.3, 0.0], "f4")),
    "Kumaraswamy": case(IN01, A, B),
    "VonMises": case(LOC, LOC, A),
    "Gamma": case(POSITIVE, A, B),
    "Chi2": case(POSITIVE, A),
    "InverseGamma": case(POSITIVE, A, B),
    "Beta": case(IN01, A, B),
    "Dirichlet": case(SHARES, np.array([[0.6, 2.0, 3.0], [5.0, 0.3, 1.0]], "f4")),
    "FisherSnedecor": case(POSITIVE, np.array([1.0, 5.0, 9.0], "f4"), np.array([3.0, 7.0, 10.0], "f4")),
    "StudentT": case(LOC, np.array([0.9, 1.8, 6.0], "f4"), LOC, SCALE),
    "Bernoulli": case(np.array([0.0, 1.0, 1.0], "f4"), P),
    "Bernoulli of logits": case(np.array([0.0, 1.0, 1.0], "f4"), name="Bernoulli", logits=LOC),
    "Geometric": case(COUNTS, P),
    "Poisson": case(COUNTS, A),
    "Binomial": case(COUNTS, 6, P),
    "Binomial of logits": case(COUNTS, 6, name="Binomial", logits=LOC),
    "NegativeBinomial": case(COUNTS, A, P),
    "Categorical": case(np.array([2, 0]), SHARES),
    "Categorical of logits": case(np.array([2, 0]), name="Categorical", logits=np.log(SHARES) + 1),
    "OneHotCategorical": case(np.eye(3, dtype="f4")[[2, 0]], SHARES),
    "OneHotCategoricalStraightThrough": case(np.eye(3, dtype="f4")[[2, 0]], SHARES),
    "Multinomial": case(np.array([[1.0, 2, 4], [3, 3, 1]], "f4"), 7, SHARES),
    "ContinuousBernoulli": case(IN01, np.array([0.2, 0.4995, 0.9], "f4")),
    "MultivariateNormal": case(LOC + 1, LOC, SPD),
    "MultivariateNormal by factor": case(
        np.stack([LOC, SCALE]), LOC, name="MultivariateNormal", scale_tril=TRIL
    ),
    "MultivariateNormal by precision": case(LOC, LOC, name="MultivariateNormal", precision_matrix=SPD),
    "LowRankMultivariateNormal": case(LOC + 1, LOC, np.stack([LOC, SCALE], -1), SCALE),
    "Wishart": case(SPD * 3, np.array(5.0, "f4"), SPD),
    "LKJCholesky": case(CORR, 3, np.array([0.5, 1.0, 3.0], "f4")),
    "LogNormal": case(POSITIVE, LOC, SCALE),
    "LogisticNormal": case(np.array([0.1, 0.2, 0.3, 0.4], "f4"), LOC, SCALE),
    "RelaxedBernoulli": case(IN01, np.array(0.7, "f4"), P),
    "RelaxedOneHotCategorical": case(SHARES, np.array(0.7, "f4"), SHARES),
}
NAMED = {label: label if name is None else name for label, (name, *_) in CASES.items()}


def made(m, label):
    """The distribution of a case, by flambeau on NumPy or by torch."""
    _, args, kw, _ = CASES[label]

    def of(a):
        if not isinstance(a, np.ndarray):
            return a
        return fb.tensor(a, device="cpu") if m is fb else m.tensor(a)

    return getattr(m.distributions, NAMED[label])(*map(of, args), **{k: of(v) for k, v in kw.items()})


def tensor(m, a):
    return fb.tensor(a, device="cpu") if m is fb else m.tensor(a)


def facts(m, label):
    """name: value of all that a distribution knows; what it does not know is left out."""
    one, value = made(m, label), tensor(m, CASES[label][3])
    asked = {
        "log_prob": lambda: one.log_prob(value),
        "cdf": lambda: one.cdf(value),
        "icdf": lambda: one.icdf(tensor(m, IN01)),
        "entropy": lambda: one.entropy(),
        "mean": lambda: one.mean,
        "variance": lambda: one.variance,
        "stddev": lambda: one.stddev,
        "mode": lambda: one.mode,
        "support": lambda: one.enumerate_support(),
        "more": lambda: one.expand((2, *one.batch_shape)).log_prob(value),
        **{
            name: lambda name=name: getattr(one, name)
            for name in ("probs", "logits", "covariance_matrix", "precision_matrix", "scale_tril")
        },
    }
    found = {}
    for name, ask in asked.items():
        with suppress(NotImplementedError, AttributeError):
            found[name] = ask()
    return found, one


# what torch gives and is not compared
ELSEWHERE = {
    ("Kumaraswamy", "mode"): "torch takes the logarithm of a negative number: NaN",
    ("Weibull", "mode"): "torch gives NaN below 1, where the density is highest at 0",
}


@pytest.mark.parametrize("label", CASES)
def test_as_torch(torch, label):
    ours, one = facts(fb, label)
    theirs, other = facts(torch, label)
    assert one.batch_shape == tuple(other.batch_shape) and one.event_shape == tuple(other.event_shape)
    assert one.has_rsample == other.has_rsample
    missing = theirs.keys() - ours.keys()
    assert not missing
    for name, want in theirs.items():
        if (label, name) not in ELSEWHERE:
            got = ours[name]
            assert got.shape == tuple(want.shape), name
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=2e-4, atol=2e-5, err_msg=name)


SINGLE = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Cauchy",
    "ContinuousBernoulli",
    "Exponential",
    "Gamma",
    "Geometric",
]
SINGLE += ["Gumbel", "HalfNormal", "Laplace", "Normal", "Pareto", "Poisson", "Uniform"]
PAIRS = [(p, q) for p in [*SINGLE, "Chi2"] for q in SINGLE]
ALIKE = ("Categorical", "Dirichlet", "OneHotCategorical", "LowRankMultivariateNormal", "LogNormal")
PAIRS += [(name, name) for name in ALIKE]
PAIRS += [("MultivariateNormal", "LowRankMultivariateNormal")]
PAIRS += [("LowRankMultivariateNormal", "MultivariateNormal")]
PAIRS += [("MultivariateNormal", "MultivariateNormal by precision")]
MOVED = {
    "Uniform": (LOC - 1, LOC + 2 * SCALE), "Normal": (LOC + 1, SCALE * 1.5),
    "Laplace": (LOC + 1, SCALE * 1.5),
    "Gumbel": (LOC + 1, SCALE * 1.5), "Beta": (B, A), "Gamma": (B, A), "Pareto": (SCALE * 0.5, A),
    "Exponential": (B,), "HalfNormal": (B,), "Poisson": (B,), "Cauchy": (LOC + 1, B), "Bernoulli": (IN01,),
    "Geometric": (IN01,), "Binomial": (7, IN01), "ContinuousBernoulli": (IN01,),
}  # fmt: skip


def moved(m, label):
    """A second distribution of a class, with other parameters where the table has some."""
    one = made(m, label)
    args = [tensor(m, a) if isinstance(a, np.ndarray) else a for a in MOVED.get(label, ())]
    return type(one)(*args) if args else one


def divergence(m, p, q):
    """kl_divergence, None where there is no formula."""
    try:
        return m.distributions.kl_divergence(made(m, p), moved(m, q))
    except NotImplementedError:
        return None


def test_divergences_are_torchs(torch):
    wrong, compared = [], 0
    for p, q in PAIRS:
        theirs, ours = divergence(torch, p, q), divergence(fb, p, q)
        if theirs is None:
            continue
        compared += 1
        if ours is None:
            wrong.append((p, q, "none"))
        elif not np.allclose(ours.numpy(), theirs.numpy(), rtol=3e-4, atol=3e-5, equal_nan=True):
            wrong.append((p, q, ours.tolist(), theirs.tolist()))
    assert not wrong and compared > 70


class Shifted(fb.distributions.Distribution):
    """A distribution as PyTorch's users write them: attributes, then the shapes."""

    arg_constraints = {"scale": fb.distributions.constraints.positive}
    has_rsample = True

    def __init__(self, scale, validate_args=None):
        self.scale = scale
        super().__init__(scale.shape, validate_args=validate_args)

    def rsample(self, sample_shape=()):
        return fb.zeros(self._extended_shape(sample_shape), device="cpu") + self.scale

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Shifted, _instance)
        new.scale = self.scale.expand(batch_shape)
        super(Shifted, new).__init__(batch_shape, validate_args=False)
        return new


def test_own_distributions():
    own = Shifted(fb.ones(3, device="cpu"))
    assert own.batch_shape == own._batch_shape == (3,) and own.event_shape == ()
    assert own.sample((2,)).shape == (2, 3) and own.expand((4, 3)).batch_shape == (4, 3)
    more = type("More", (fb.distributions.Independent,), {})(fb.distributions.Normal(fb.zeros(2, 3), 1.0), 1)
    begun = more._get_checked_instance(type(more))
    begun.note = "kept"
    grown = more.expand((4, 2), _instance=begun)
    assert grown is begun and grown.note == "kept" and grown.batch_shape == (4, 2)
    own._batch_shape = (1, 3)
    assert own.sample().shape == (1, 3)
    fixed = type("Fixed", (Shifted,), {"batch_shape": property(lambda self: (7,))})(fb.ones(3, device="cpu"))
    assert fixed.batch_shape == (7,) and fixed._batch_shape == (3,)
    with pytest.raises(ValueError, match=r"Shifted\(scale=.*values are not in"):
        Shifted(fb.tensor([-1.0], device="cpu"))
    assert Shifted(fb.tensor([-1.0], device="cpu"), validate_args=False).batch_shape == (1,)


def test_own_distributions_without_expand_say_so():
    own = type("Plain", (fb.distributions.Distribution,), {"__init__": Shifted.__init__})
    with pytest.raises(NotImplementedError) as e:
        own.expand(object.__new__(own), (2, 3))
    assert str(e.value) == "Plain.expand: its parameters are not known: define expand in the subclass"
