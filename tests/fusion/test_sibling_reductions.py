"""Reductions over the same dims that read the same buffers: one kernel, with the values of NumPy."""

import numpy as np
import pytest
from helpers.kernels import planned_for
from helpers.plans import GPU, SOFTWARE, kernels_of, kinds_of, leaf, the_kernel_of

import flambeau as fb
from flambeau.nn import functional as F


def is_one_kernel(*tensors) -> bool:
    k = the_kernel_of(*tensors)
    return k.kind == "tree" and k.writes == len(tensors)


def are_apart(*tensors, kind="tree", limits=GPU) -> bool:
    found = kernels_of(*tensors, limits=limits)
    return [k.kind for k in found] == [kind] * len(tensors) and all(k.writes == 1 for k in found)


def writes_of_sums(*tensors, limits=GPU) -> list[int]:
    """How many sums each kernel of sums computes."""
    return [k.writes for k in kernels_of(*tensors, limits=limits) if k.kind == "tree"]


X, Y, ROWS = leaf(60, 48), leaf(60, 48, seed=1), leaf(60, 1, seed=2)


@pytest.fixture(autouse=True)
def together(force):
    force("sums=together")


def test_sums_that_share_a_buffer_are_one_kernel():
    assert is_one_kernel(X.sum(0), (X * Y).sum(0))
    assert is_one_kernel(X.sum(0), X.amax(0), X.square().mean(0))
    assert is_one_kernel(X.sum(0), X.abs().sum(0) * 2 + 1)


def test_dims_of_one_are_no_dims():
    x, y, rows = X.reshape(1, 60, 48).realize(), Y.reshape(1, 60, 48).realize(), ROWS.reshape(1, 60, 1)
    assert is_one_kernel(x.sum((0, 1)), (x * y * rows).sum((0, 1)))


def test_they_can_be_kept_apart(force):
    force("sums=apart")
    assert are_apart(X.sum(0), (X * Y).sum(0))


def test_others_are_apart():
    assert are_apart(X.sum(0), Y.sum(0))
    assert are_apart(X.sum(0), (X * ROWS).sum((0, 1)))
    turned = leaf(48, 60).t()  # read in another order
    assert are_apart((X * 2).sum(0), (turned + X).sum(0))
    assert are_apart(X.sum(0), (X * Y).sum(0), kind="serial", limits=SOFTWARE)


def test_a_sum_that_needs_another_waits_for_it():
    mean = X.mean(0)
    assert kinds_of(mean, (X - mean).square().sum(0)) == ["tree", "tree"]
    first = X.sum(0)
    second = (X * Y).sum(0)
    assert kinds_of(first * second, second)[0] == "tree"  # an epilogue reads the other's result


@pytest.mark.share(3)
def test_a_norms_gradients_by_weight_and_bias_are_one_kernel(gpu):
    w, b, m = leaf(48, seed=3).requires_grad_(), leaf(48, seed=4).requires_grad_(), leaf(48, 5, seed=6)
    with planned_for(gpu, software=False):
        loss = (F.layer_norm(X, (48,), w, b) @ m).square().sum()
        grads = loss.backward()
        assert 2 in writes_of_sums(loss, grads[w], grads[b], limits=gpu.limits)
        found = grads[w].numpy(), grads[b].numpy()
    x, w, b, m = (t.detach().numpy().astype("f8") for t in (X, w, b, m))
    away = x - x.mean(1, keepdims=True)
    unit = away / np.sqrt((away**2).mean(1, keepdims=True) + 1e-5)
    g = 2 * (unit * w + b) @ m @ m.T
    assert np.allclose(found[0], (g * unit).sum(0), rtol=1e-4, atol=1e-3)
    assert np.allclose(found[1], g.sum(0), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("shape", ((5000, 48), (70, 33), (9, 3), (4096, 768), (1, 7)))
@pytest.mark.parametrize("dtype", (fb.float32, fb.float16, fb.int32))
@pytest.mark.share(5)
def test_values(gpu, shape, dtype):
    """Few rows in one kernel, many in pieces; sums of other types beside each other, with epilogues."""
    x = np.random.default_rng(5).integers(-9, 9, shape).astype("f4")
    with planned_for(gpu, software=False):
        t = fb.tensor(x, device=gpu).to(dtype).realize()
        results = t.float().sum(0) * 0.5 + 1, t.float().square().sum(0).sqrt(), t.amax(0), (t > 0).sum(0)
        fb.realize(*results)
        found = [r.numpy().astype("f8") for r in results]
    wanted = x.sum(0) * 0.5 + 1, np.sqrt((x.astype("f8") ** 2).sum(0)), x.max(0), (x > 0).sum(0)
    for got, want in zip(found, wanted, strict=True):
        assert np.allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("dims", ((0, 2, 3), (1,), (0, 1), (2, 3), (0,)))
def test_dims(gpu, dims):
    x, y = (np.random.default_rng(s).normal(size=(6, 8, 7, 12)).astype("f4") for s in (1, 2))
    with planned_for(gpu, software=False):
        a, b = fb.tensor(x, device=gpu).realize(), fb.tensor(y, device=gpu).realize()
        results = (a * b).sum(dims), a.sum(dims), (a - 1).amax(dims)
        fb.realize(*results)
        found = [r.numpy() for r in results]
    wanted = (x * y).sum(dims), x.sum(dims), x.max(dims) - 1
    for got, want in zip(found, wanted, strict=True):
        assert np.allclose(got, want, atol=1e-4)


def test_a_batch_norms_gradients_are_two_kernels(gpu):
    """One for two sums by channel, in pieces or not, and one for what they are needed for."""
    x = leaf(4, 8, 6, 6).requires_grad_()
    w, b = leaf(8, seed=1).requires_grad_(), leaf(8, seed=2).requires_grad_()
    y = F.batch_norm(x, None, None, w, b, training=True)
    mean, var = x.detach().mean((0, 2, 3)), x.detach().var((0, 2, 3), correction=0)
    assert np.allclose(y.detach().sum((0, 2, 3)).numpy(), 4 * 36 * b.numpy(), atol=1e-3)
    grads = y.backward(leaf(4, 8, 6, 6, seed=3))
    assert 2 in writes_of_sums(grads[x], grads[w], grads[b], mean, var)


def test_rows_that_are_broadcast_do_not_turn_a_sum_by_columns():
    assert the_kernel_of((X * ROWS).sum(0)).option("columns")
