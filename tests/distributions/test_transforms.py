"""Maps and constraints beside torch's, their inverses and volumes by differences; what errors say."""

import numpy as np
import pytest

import flambeau as fb

d = fb.distributions
X = np.array([[-0.7, 0.2, 1.1], [0.4, -0.3, 0.5]], "f4")
Y = abs(X) + 0.1

MAPS = {
    "exp": (lambda m, t: t.ExpTransform(), X),
    "power": (lambda m, t: t.PowerTransform(m.tensor([2.0, 0.5, -1.0])), Y),
    "sigmoid": (lambda m, t: t.SigmoidTransform(), X),
    "softplus": (lambda m, t: t.SoftplusTransform(), X),
    "tanh": (lambda m, t: t.TanhTransform(), X),
    "affine": (lambda m, t: t.AffineTransform(m.tensor([1.0, 2.0, 3.0]), -2.0), X),
    "affine event": (lambda m, t: t.AffineTransform(1.0, m.tensor([1.0, 2.0, 3.0]), event_dim=1), X),
    "stick": (lambda m, t: t.StickBreakingTransform(), X),
    "cholesky": (lambda m, t: t.CorrCholeskyTransform(), X),
    "composed": (lambda m, t: t.ComposeTransform([t.ExpTransform(), t.AffineTransform(1.0, 2.0)]), X),
    "mixed": (lambda m, t: t.ComposeTransform([t.TanhTransform(), t.StickBreakingTransform()]), X),
    "reshape": (lambda m, t: t.ReshapeTransform((3,), (3, 1)), X),
    "independent": (lambda m, t: t.IndependentTransform(t.ExpTransform(), 1), X),
    "inverse": (lambda m, t: t.ExpTransform().inv, Y),
    "cat": (lambda m, t: t.CatTransform([t.ExpTransform(), t.TanhTransform()], 1, [1, 2]), X),
    "stack": (lambda m, t: t.StackTransform([t.ExpTransform(), t.TanhTransform()], 0), X),
    "cdf": (lambda m, t: t.CumulativeDistributionTransform(m.distributions.Normal(m.tensor(0.5), 2.0)), X),
}  # fmt: skip


def mapped(m, name, x):
    make, _ = MAPS[name]
    t = make(m, m.distributions.transforms)
    y = t(x)
    return [y, t.inv(y), t.log_abs_det_jacobian(x, y)], t


@pytest.mark.parametrize("name", MAPS)
def test_as_torch(torch, name):
    x = MAPS[name][1]
    ours, one = mapped(fb, name, fb.tensor(x))
    theirs, other = mapped(torch, name, torch.tensor(x))
    for got, want in zip(ours, theirs):
        assert got.shape == tuple(want.shape)
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-5)
    assert one.forward_shape(x.shape) == tuple(other.forward_shape(x.shape))
    assert one.domain.event_dim == other.domain.event_dim
    assert one.codomain.event_dim == other.codomain.event_dim


def test_volumes_are_slopes():
    """log_abs_det_jacobian beside the determinant of the Jacobian."""
    t, x = d.transforms.StickBreakingTransform(), fb.tensor(X[0], device="cpu")
    slopes = fb.jacrev(lambda x: t(x)[:-1])(x)
    want = np.log(abs(np.linalg.det(slopes.numpy())))
    assert np.isclose(t.log_abs_det_jacobian(x, t(x)).item(), want, atol=1e-5)
    assert np.allclose(t.inv(t(x)).numpy(), X[0], atol=1e-5)
    kept = d.transforms.ExpTransform(cache_size=1)
    y = kept(x)
    assert kept.inv(y) is x and kept(x) is y
    assert d.transforms.ExpTransform() == d.transforms.ExpTransform() != d.transforms.TanhTransform()


CONSTRAINTS = {
    "boolean": [0.0, 1.0, 0.5], "nonnegative_integer": [0.0, 2.0, -1.0], "positive_integer": [0.0, 1.0, 1.5],
    "positive": [0.0, 0.1, -1.0], "nonnegative": [0.0, 0.1, -1.0], "unit_interval": [0.0, 1.0, 1.1],
    "real": [0.0, np.inf, np.nan], "simplex": [0.2, 0.3, 0.5],
    "one_hot": [0.0, 1.0, 0.0],
    "real_vector": [1.0, 2, 3],
    "lower_triangular": [[1.0, 0], [2, 1]], "lower_cholesky": [[1.0, 0], [2, -1]],
    "square": [[1.0, 2], [3, 4]],
    "symmetric": [[1.0, 2], [2, 4]], "positive_definite": [[1.0, 2], [2, 3]],
    "corr_cholesky": [[1.0, 0], [0.6, 0.8]],
    "positive_semidefinite": [[1.0, 0], [0, 3]],
}  # fmt: skip


def test_constraints_are_torchs(torch):
    for name, value in CONSTRAINTS.items():
        ours = getattr(d.constraints, name).check(fb.tensor(value, device="cpu"))
        theirs = getattr(torch.distributions.constraints, name).check(torch.tensor(value))
        assert ours.tolist() == theirs.tolist(), name
        assert (
            getattr(d.constraints, name).event_dim == getattr(torch.distributions.constraints, name).event_dim
        )


def test_maps_onto_constraints():
    c, x = d.constraints, fb.tensor(X, device="cpu")
    for rule in (c.real, c.positive, c.greater_than(2.0), c.less_than(-1.0), c.interval(1.0, 3.0), c.simplex,
                 c.independent(c.positive, 1), c.corr_cholesky):  # fmt: skip
        for registry in (d.biject_to, d.transform_to):
            made = registry(rule)(x)
            assert rule.check(made).all().item(), rule
    whole = fb.tensor(np.ones((2, 2), "f4"), device="cpu")
    assert c.positive_definite.check(d.transform_to(c.positive_definite)(whole)).item()


def told(call, text, *kinds):
    with pytest.raises(kinds or ValueError) as caught:
        call()
    assert str(caught.value) == text


def test_errors():
    one = fb.tensor(1.0, device="cpu")
    told(
        lambda: d.Normal(one, one * -1),
        "Normal(scale=f32[]): values are not in greater_than(0.0): pass other values, or validate_args=False",
    )
    told(
        lambda: d.Exponential(one).log_prob(one * -1),
        "Exponential.log_prob(f32[]): values are not in greater_than_eq(0.0): pass other values, or vali"
        "date_args=False",
    )
    told(
        lambda: d.Normal(fb.zeros(3, device="cpu"), one).log_prob(fb.zeros(2, device="cpu")),
        "Normal.log_prob(f32[2]): does not broadcast with the batch and event shape [3]",
    )
    told(lambda: d.Normal(one, one).log_prob(1.0), "Normal.log_prob(1.0): takes a tensor")
    told(lambda: d.Bernoulli(), "Bernoulli(...): takes one of probs and logits, not 0: pass one")
    told(
        lambda: d.Uniform(one, one),
        "Uniform(low: f32[], high: f32[]): low must be below high: pass other values, or validate_args=False",
    )
    told(
        lambda: d.Independent(d.Normal(one, one), 1),
        "Independent(...): 1 dims of a batch of shape []: pass at most 0",
    )
    told(lambda: d.LKJCholesky(1), "LKJCholesky(dim=1): needs at least 2 rows")
    told(
        lambda: d.VonMises(one, one).rsample(),
        "VonMises.rsample: has no gradient: use sample and log_prob",
        NotImplementedError,
    )
    told(
        lambda: d.kl_divergence(d.Cauchy(one, one), d.Normal(one, one)),
        "kl_divergence(Cauchy, Normal): no formula is registered: use register_kl, or average log_"
        "prob over draws",
        NotImplementedError,
    )
    told(
        lambda: d.register_kl(int, d.Normal),
        "register_kl(<class 'int'>): takes classes of distributions",
        TypeError,
    )
    told(
        lambda: d.constraints.dependent.check(one),
        "check(...): dependent depends on parameters: use the distribution's support",
    )
    told(
        lambda: d.transforms.ExpTransform(cache_size=2),
        ("ExpTransform(cache_size=2): the size must be 0 or 1"),
    )
    told(
        lambda: d.biject_to(d.constraints.boolean),
        "biject_to(boolean): no map is registered: use register",
        NotImplementedError,
    )
    assert d.Normal(one, one * -1, validate_args=False).scale.item() == -1


def test_formulas_of_ones_own():
    class Mine(d.Normal):
        pass

    one = fb.tensor(1.0, device="cpu")
    assert d.kl_divergence(Mine(one, one), Mine(one * 2, one)).item() == 0.5
    d.register_kl(Mine, Mine)(lambda p, q: "mine")
    assert d.kl_divergence(Mine(one, one), Mine(one, one)) == "mine"


def test_inside_jit_nothing_is_read():
    """Checks read values: a recorded call leaves them out."""

    @fb.jit
    def step(x):
        return d.Normal(x, x.abs() + 1).log_prob(x * 2)

    x = fb.tensor([0.5, -1.0], device="cpu")
    want = (
        -0.5 * (x.numpy() / (abs(x.numpy()) + 1)) ** 2 - np.log(abs(x.numpy()) + 1) - 0.5 * np.log(2 * np.pi)
    )
    for _ in range(3):
        assert np.allclose(step(x).numpy(), want, atol=1e-5)
