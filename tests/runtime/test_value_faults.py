"""Values of tensors that an op can't take (weights, probabilities) raise at the next read, as in PyTorch."""

import numpy as np
import pytest

import flambeau as fb
from flambeau import debug
from flambeau.core.faults import ADVICE, VALUES
from flambeau.errors import ValueFault
from flambeau.nn import functional as F

NAN, INF = float("nan"), float("inf")
ROWS = [[1.0, 2.0, 3.0], [0.5, 1.0, 2.0]]


def rows(x):
    return fb.tensor(ROWS, device=x.device)


def half(x):
    return fb.full_like(x, 0.5)


# the fault: (call, dtype, values that are taken, values that are not ...)
CASES = {
    "multinomial": (lambda x: x.multinomial(2), "f4", [1, 2, 0], [1, -1, 1], [1, NAN, 1], [1, INF, 1]),
    "multinomial sum": (lambda x: x.multinomial(5, True), "f4", [0, 0, 1], [0, 0, 0], [-0.0, 0, 0]),
    "multinomial few": (lambda x: x.multinomial(2), "f4", [0, 2, 1], [0, 0, 1]),
    "bernoulli": (lambda x: x.bernoulli(), "f4", [0, 1, 0.5], [0, 1, 1.5], [0, -0.1, 1], [0, NAN, 1]),
    "normal": (lambda x: fb.normal(half(x), x), "f4", [0, 1, 0.5], [0, -1, 1], [0, NAN, 1]),
    "poisson": (lambda x: fb.poisson(x), "f4", [0, 1, 30], [0, -1, 1], [0, NAN, 1]),
    "binary_cross_entropy input": (
        lambda x: F.binary_cross_entropy(x, half(x)), "f4", [0, 1, 0.5], [0, 1.5, 1], [-1, 1, 1], [0, NAN, 1]
    ),
    "binary_cross_entropy target": (
        lambda x: F.binary_cross_entropy(half(x), x), "f4", [0, 1, 0.5], [0, 1.5, 1], [-1, 1, 1]
    ),
    "gaussian_nll_loss": (lambda x: F.gaussian_nll_loss(x * 0, x * 0, x), "f4", [0, 1, 2], [0, -1, 2]),
    "histc": (lambda x: x.histc(4), "f4", [0, 1, 2], [0, NAN, 2], [0, INF, 2]),
    "quantile": (lambda x: rows(x).quantile(x), "f4", [0, 1, 0.5], [0, 1.5, 1], [-0.5, 0, 1], [NAN, 1, 1]),
    "repeat_interleave": (
        lambda x: x.repeat_interleave(x, output_size=3), "i4", [1, 0, 2], [-1, 2, 2], [1, 1, -1]
    ),
    "masked_scatter": (lambda x: (x * 0).masked_scatter(x > 0, x[:0]), "f4", [0, 0, 0], [0, 1, 0]),
    "cov fweights": (lambda x: rows(x).cov(fweights=x), "i4", [1, 0, 2], [1, -1, 2]),
    "cov aweights": (lambda x: rows(x).cov(aweights=x), "f4", [1, 0.5, 2], [1, -1, 2], [NAN, 1, 1]),
    "cov sum": (lambda x: rows(x).cov(aweights=x), "f4", [1, 0.5, 2], [0, 0, 0]),
}  # fmt: skip


def given(values, device, dtype="f4"):
    return fb.tensor(np.array(values, dtype), device=device).realize()


def raises(call, name):
    with pytest.raises(ValueError) as e:
        call()
    assert isinstance(e.value, ValueFault) and isinstance(e.value, RuntimeError)
    assert str(e.value) == f"{VALUES[name]}: {ADVICE}"


def test_every_fault_has_a_case():
    assert set(CASES) == set(VALUES)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.share(5)
def test_at_every_read_and_the_edges_do_not(name, kernels):
    call, dtype, right, *wrong = CASES[name]
    assert np.isfinite(call(given(right, kernels, dtype)).numpy()).all()
    for values in wrong:
        y = call(given(values, kernels, dtype)).realize()
        raises(y.tolist, name)
        raises((y + 1).tolist, name)
    assert np.isfinite(call(given(right, kernels, dtype)).numpy()).all()


@pytest.mark.parametrize("name", ["multinomial few", "binary_cross_entropy target"])
def test_a_replay_raises_too(name, kernels):
    call, dtype, right, wrong, *_ = CASES[name]
    replayed = fb.jit(call)
    for _ in range(3):
        assert np.isfinite(replayed(given(right, kernels, dtype)).numpy()).all()
        raises(replayed(given(wrong, kernels, dtype)).tolist, name)


def test_a_gradient_alone_raises(kernels):
    x = fb.full((3,), 0.5, device=kernels, requires_grad=True)
    for target, is_right in (([0, 1, 0.5], True), ([0, 1, 2], False)):
        grad = F.binary_cross_entropy(x, given(target, kernels)).backward()[x]
        if is_right:
            np.testing.assert_allclose(grad.numpy(), [2 / 3, -2 / 3, 0], atol=1e-6)
        else:
            raises(grad.tolist, "binary_cross_entropy target")


def test_a_row_alone_is_enough(kernels):
    w = given([[1, 1, 0], [0, 0, 0], [2, 0, 0]], kernels)
    raises(w.multinomial(1).tolist, "multinomial sum")
    raises(w[::2].multinomial(2).tolist, "multinomial few")
    assert w[::2].multinomial(3, True).shape == (2, 3)


def test_in_the_very_call_on_demand(device):
    with debug.check_indices():
        assert given([0.5, 1], device).bernoulli().shape == (2,)
        with pytest.raises(ValueFault) as e:
            given([0.5, 2], device).bernoulli()
        assert str(e.value) == VALUES["bernoulli"]
        with pytest.raises(ValueFault):
            given([0.5, 2], device).bernoulli_(given([3.0], device))


def test_a_saved_program_raises(gpu, tmp_path):
    saved = fb.save_program(lambda x: F.binary_cross_entropy(half(x), x), {"x": "f32[N]"}, tmp_path, 3)
    program = fb.load_program(saved)
    assert np.isfinite(program(given([0.5, 1], program.device)).item())
    raises(program(given([0.5, 1.5], program.device)).tolist, "binary_cross_entropy target")
