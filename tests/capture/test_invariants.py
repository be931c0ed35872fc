"""Recorded calls compute what their inputs can't change once, and read values of leaves without copies."""

import functools

import numpy as np
import pytest

import flambeau as fb
from flambeau.capture import invariants


def program_of(call):
    """The only recording of a function."""
    ((program,),) = call.programs.values()
    return program


def resized(x):
    return fb.nn.functional.interpolate(x, size=(5, 7), mode="bilinear")


def test_positions_and_weights_are_computed_once(gpu):
    call = fb.jit(resized, check="always")
    rng = np.random.default_rng(0)
    for _ in range(4):
        x = rng.standard_normal((2, 3, 4, 6), np.float32)
        assert np.array_equal(
            call(fb.tensor(x, device=gpu)).numpy(), resized(fb.tensor(x, device=gpu)).numpy()
        )
    assert len(program_of(call)) == 2  # one for each dim


def test_what_would_take_much_memory_is_computed_at_each_call(gpu, monkeypatch):
    monkeypatch.setattr(invariants, "KEPT_BYTES", 0)
    call, x = fb.jit(resized), fb.randn(2, 3, 4, 6, device=gpu)
    assert np.array_equal(call(x).numpy(), resized(x).numpy())
    assert len(program_of(call)) > 2


@pytest.mark.parametrize("check", ["always", "never"])
def test_draws_numbers_and_state_are_no_invariants(gpu, check):
    rate, count = fb.HostScalar(1.0), fb.tensor([0.0], device=gpu)
    places = fb.arange(6, device=gpu).realize()

    @functools.partial(fb.jit, check=check)
    def call(x):
        count.add_(1)
        steps = (fb.arange(6, device=gpu).float() * rate).sin().cumsum(0)
        noise = fb.rand(6, device=gpu).sort()[0]
        late = (places.float() * count).cumsum(0)
        return x + steps.flip(0), x + noise.flip(0), x + late.flip(0)

    x, seen = fb.zeros(6, device=gpu), []
    for i in range(4):
        rate.value = 1.0 + i
        steps, noise, late = (y.numpy() for y in call(x))
        expected = np.sin(np.arange(6, dtype="f4") * (1 + i)).cumsum()[::-1]
        np.testing.assert_allclose(steps, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(late, (np.arange(6) * (i + 1.0)).cumsum()[::-1])
        seen.append(tuple(noise))
    assert len(set(seen)) == 4


def test_a_constant_that_is_returned_belongs_to_the_caller(gpu):
    @fb.jit
    def call(x):
        weights = fb.arange(6, device=gpu).float().sin().cumsum(0)
        return weights, x * weights.flip(0)

    expected = np.sin(np.arange(6, dtype="f4")).cumsum()
    for _ in range(3):
        weights, y = call(fb.ones(6, device=gpu))
        np.testing.assert_allclose(weights.numpy(), expected, rtol=1e-4)
        np.testing.assert_allclose(y.numpy(), expected[::-1], rtol=1e-4)
        weights.zero_()
        weights.realize()


def test_leaves_that_gradients_are_asked_by_are_not_copied(gpu):
    def slopes(a, b, slope):
        a, b = a.detach().requires_grad_(), b.detach().requires_grad_()
        y = a @ b
        return y.detach(), *fb.autograd.grad(y, [a, b], slope)

    call, rng = fb.jit(slopes), np.random.default_rng(0)
    a, b, slope = (rng.standard_normal(s, np.float32) for s in ((5, 8), (8, 3), (5, 3)))
    for _ in range(3):
        with fb.profile() as profile:
            results = call(*(fb.tensor(v, device=gpu) for v in (a, b, slope)))
        for found, expected in zip(results, (a @ b, slope @ b.T, a.T @ slope), strict=True):
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)
    # a GPU runs the three products as one kernel
    assert len(program_of(call)) in (1, 3)
    kernels = [span.work for span in profile.kernels if span.work.template]
    assert sum(work.writes for work in kernels) == sum(result.nbytes for result in results)


@pytest.mark.parametrize("recorded", [False, True])
def test_a_leaf_s_former_value_outlives_what_is_written_over_it(gpu, recorded):
    weight = fb.tensor([1.0, 2.0, 3.0], device=gpu)

    def step(x):
        before = weight.detach().requires_grad_()
        kept = before * 1.0
        slope = (before * before * x).sum().backward()[before]
        weight.sub_(0.5 * slope)
        return kept, weight * 1.0

    call, expected = fb.jit(step) if recorded else step, np.array([1.0, 2.0, 3.0], "f4")
    x = fb.tensor([0.5, 0.25, 0.125], device=gpu)
    for _ in range(4):
        before, after = call(x)
        np.testing.assert_allclose(before.numpy(), expected)
        expected = expected - expected * [0.5, 0.25, 0.125]
        np.testing.assert_allclose(after.numpy(), expected, rtol=1e-6)
        np.testing.assert_allclose(weight.numpy(), expected, rtol=1e-6)
