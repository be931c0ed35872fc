"""Elementwise values that share what they read: one kernel with several outputs, with the values of NumPy."""

import numpy as np
import pytest
from helpers.kernels import planned_for
from helpers.plans import kernels_of, kinds_of, leaf, the_kernel_of

import flambeau as fb
from flambeau.optim import AdamW


def is_one_kernel(*tensors, writes: int) -> bool:
    k = the_kernel_of(*tensors)
    return k.kind == "map_multi" and k.writes == writes


def are_apart(*tensors) -> bool:
    found = kernels_of(*tensors)
    return [k.kind for k in found] == ["map"] * len(tensors) and all(k.writes == 1 for k in found)


X, Y = leaf(12, 8), leaf(12, 8, seed=1)


def test_values_that_share_a_buffer_are_one_kernel():
    assert is_one_kernel(X * Y, X + Y, X.exp(), writes=3)
    moved = X * 0.9 + Y
    assert is_one_kernel(moved, X - moved * 0.1, writes=2)


def test_values_that_share_nothing_are_apart():
    assert are_apart(X.exp(), Y.exp())
    assert are_apart(X.exp(), X[:6] * 2)
    assert are_apart(X.exp(), X.t() * 2)


def test_nothing_waits_for_itself():
    first = X.exp()
    later = X * first.sum(0)  # made of a sum of the other: no kernel could be both
    assert kinds_of(first, later) == ["map", "tree", "map"]


def test_buffers_are_counted():
    many = [leaf(12, 8, seed=i) for i in range(8)]
    found = kernels_of(*(X * m for m in many))
    assert all(k.reads + k.writes <= 8 for k in found) and len(found) < 8


def test_an_optimisers_step_is_a_kernel_for_each_parameter():
    p, g = fb.zeros(12, 8).requires_grad_(), X
    opt = AdamW([p], lr=0.01)
    with fb.no_grad():
        state = opt.state[p]
        state["step"].assign_(leaf())
        new = opt.update(p, g, state, opt.param_groups[0].rule())
    state = {name: t for name, t in state.items() if name != "step"}
    assert is_one_kernel(new, *state.values(), writes=3)


@pytest.mark.parametrize("shape", ((12, 8), (7,), (3,), (), (5, 3, 2)))
@pytest.mark.parametrize("dtype", (fb.float32, fb.float16, fb.int8))
def test_values(gpu, shape, dtype):
    x = np.random.default_rng(3).integers(-9, 9, shape).astype("f4")
    a = fb.tensor(x, device=gpu).to(dtype).realize()
    results = (a + 1, a * 2, (a > 0), a.flip(0) if shape else a - 1)
    fb.realize(*results)
    wanted = (x + 1, x * 2, x > 0, x[::-1] if shape else x - 1)
    for got, want in zip(results, wanted, strict=True):
        assert np.array_equal(got.numpy().astype("f4"), np.asarray(want, "f4"))


def test_they_can_be_kept_apart(force):
    force("maps=apart")
    assert are_apart(X * Y, X + Y)


def test_states_that_change_places_in_a_recorded_step(gpu):
    """Each new value may lie where the other's old one was: the copies at the end take care."""
    a, b, c = (fb.tensor([float(i)] * 8, device=gpu).realize() for i in range(3))

    @fb.jit
    def turn(x):
        old = a + 0, b + 0, c + 0
        a.assign_(old[1] * 1)
        b.assign_(old[2] * 1)
        c.assign_(old[0] * 1)
        return x + 1

    for i in range(1, 6):
        turn(X)
        assert [t.numpy()[0] for t in (a, b, c)] == [i % 3, (i + 1) % 3, (i + 2) % 3]


def test_what_the_group_alone_reads_is_not_stored():
    expensive = (X * Y).exp()  # both read it, and it is expensive
    assert is_one_kernel(expensive * 2 + X, expensive * X, writes=2)
    assert is_one_kernel(expensive * 2 + X, expensive * X, expensive, writes=3)
    group = kernels_of(expensive * 2 + X, expensive * X, expensive.sum(0))[0]
    assert group.kind == "map_multi" and group.writes == 3  # the sum reads it
    group = kernels_of(expensive * 2 + X, (expensive * X).t().relu() @ X)[0]
    assert group.kind == "map_multi" and group.writes == 2


def test_what_is_not_stored_is_where_the_group_is_kept_apart(force):
    force("maps=apart")
    expensive = (X * Y).exp()
    assert kinds_of(expensive * 2 + X, expensive * X) == ["map"] * 3  # it, and each of its readers


def test_a_gelus_gradient_stores_what_products_read(gpu):
    """Its gradient, and itself anew: no part of the formula."""
    x, w, v = leaf(40, 24), leaf(24, 32, seed=1).requires_grad_(), leaf(32, 24, seed=2).requires_grad_()
    with planned_for(gpu, software=False):
        h = x @ w
        loss = (fb.nn.functional.gelu(h, approximate="tanh") @ v).square().sum()
        grads = loss.backward()
        most = max(k.writes for k in kernels_of(loss, grads[w], grads[v], limits=gpu.limits))
        got = grads[w].numpy(), grads[v].numpy()
    assert most <= 3
    x, w, v = (t.detach().numpy().astype("f8") for t in (x, w, v))
    h = x @ w
    u = np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3))
    y = 0.5 * h * (1 + u)
    slope = 0.5 * (1 + u) + 0.5 * h * (1 - u * u) * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * h * h)
    g = 2 * y @ v
    assert np.allclose(got[0], x.T @ (g @ v.T * slope), rtol=1e-4, atol=1e-2)
    assert np.allclose(got[1], y.T @ g, rtol=1e-4, atol=1e-2)
