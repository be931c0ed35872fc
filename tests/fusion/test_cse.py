"""Equal computations of one graph: computed once, and told apart where they are not equal."""

import numpy as np
import pytest
from helpers.plans import Planned, kernels_of, leaf, names_of, plan_of

import flambeau as fb
from flambeau import nn
from flambeau.core.node import toposort
from flambeau.fusion.multi_output import without_unread
from flambeau.fusion.rewrite import merge
from flambeau.runtime.run import graph_key

F = nn.functional


def key(*tensors):
    roots = [t.node for t in tensors]
    return graph_key(roots, toposort(roots))


X, W = leaf(8, 8), leaf(8, 8, seed=1)


def test_a_product_written_twice_is_computed_once():
    assert names_of((X @ W).exp() + (X @ W).sin()) == ["matmul", "exp+sin+add"]
    assert names_of((X @ W).relu(), (X @ W).relu()) == ["matmul+relu"]
    assert len(names_of(X.cumsum(0) * 2, X.cumsum(0) + 1)) == len(names_of(X.cumsum(0))) + 1


def test_statistics_written_twice_are_computed_once():
    def scaled(x):
        return (x - x.mean(0)) / ((x - x.mean(0)).square().mean(0) + 1e-5).sqrt()

    mean = X.mean(0)
    once = (X - mean) / ((X - mean).square().mean(0) + 1e-5).sqrt()
    assert len(names_of(scaled(X))) == len(names_of(once))
    assert np.allclose(scaled(X).numpy(), once.numpy(), atol=1e-6)


def test_plans_say_for_how_many_a_kernel_computes():
    a, b = (X @ W).exp(), (X @ W).exp()
    assert kernels_of(a, b)[0].ends == "it is a root, one for 2 that are equal"
    assert kernels_of(a)[0].ends == "it is a root"


def test_random_numbers_are_drawn_as_often_as_asked_for():
    fb.manual_seed(3)
    a, b = fb.rand(64), fb.rand(64)
    fb.realize(a, b)
    assert not np.array_equal(a.numpy(), b.numpy())
    c, d = F.dropout(fb.ones(64), 0.5), F.dropout(fb.ones(64), 0.5)
    fb.realize(c, d)
    assert not np.array_equal(c.numpy(), d.numpy())


def test_numbers_that_are_equal_make_equal_values_and_others_do_not():
    def both(p, q):
        return (X @ W * p).sum(0), (X @ W * q).sum(0)

    assert names_of(*both(2.0, 2.0)) == ["matmul+mul", "sum"]
    assert names_of(*both(2.0, 3.0)) == ["matmul", "sum+sum+mul+mul"]
    assert key(*both(2.0, 2.0)) != key(*both(2.0, 3.0)) == key(*both(4.0, 5.0))
    expected = (X.numpy() @ W.numpy()).sum(0)
    for p, q in ((2.0, 2.0), (2.0, 3.0), (4.0, 4.0), (5, 5.0), (True, 1)):
        for found, by in zip(fb.read(*both(p, q)), (p, q), strict=True):
            assert np.allclose(found, expected * float(by), rtol=1e-4, atol=1e-4)


def test_zero_is_not_minus_zero():
    one = fb.tensor(np.ones(3, np.float32)).realize()
    a, b = one * 0.0, one * -0.0
    fb.realize(a, b)
    assert not np.signbit(a.numpy()).any() and np.signbit(b.numpy()).all()


def test_host_scalars_are_equal_to_themselves_alone():
    s, t = fb.HostScalar(2.0), fb.HostScalar(2.0)
    same, other = (X @ W * s, X @ W * s), (X @ W * s, X @ W * t)
    assert names_of(*same) == ["matmul+mul"] and names_of(*other) == ["matmul", "mul+mul"]
    step = fb.jit(lambda x: (x * s + 1, x * t + 1, x * s + 1))
    step(X)
    s.value, t.value = 3.0, 5.0
    for found, by in zip(step(X), (3, 5, 3), strict=True):
        assert np.allclose(found.numpy(), X.numpy() * by + 1)


def test_equal_results_are_two_tensors():
    a, b = (X @ W).relu(), (X @ W).relu()
    fb.realize(a, b)
    a[0] = 7.0
    expected = np.maximum(X.numpy() @ W.numpy(), 0)
    assert np.allclose(b.numpy(), expected, atol=1e-5)
    expected[0] = 7
    assert np.allclose(a.numpy(), expected, atol=1e-5)


def test_states_with_equal_new_values_go_on_apart():
    a, b = fb.zeros(8, 8).realize(), fb.zeros(8, 8).realize()

    @fb.jit
    def step(x):
        a.assign_(x @ W + 1)
        b.assign_(x @ W + 1)
        return a.sum()

    expected = X.numpy() @ W.numpy() + 1
    for _ in range(3):
        step(X)
        assert np.allclose(a.numpy(), expected, atol=1e-5) and np.allclose(b.numpy(), expected, atol=1e-5)
    a.assign_(a * 2)
    assert np.allclose(a.numpy(), expected * 2, atol=1e-5) and np.allclose(b.numpy(), expected, atol=1e-5)


def test_first_states_of_zeros_have_buffers_of_their_own():
    a, b = fb.zeros(8), fb.zeros(8)
    fb.realize(a, b)
    assert a.node.buffer is not b.node.buffer


def test_what_is_computed_again_on_purpose_stays_apart():
    w = leaf(64, 64).requires_grad_()
    x = leaf(64, 64, seed=2)

    def products(inside):
        loss = (inside(x).sin() @ w).square().sum()
        return sum("matmul" in name for name in names_of(loss, loss.backward()[w]))

    def twice(x):
        return ((x @ w).tanh() @ w).tanh()

    assert products(lambda x: fb.checkpoint(twice, x)) > products(twice)


@pytest.mark.parametrize("segments", [1, 3])
def test_checkpoints_of_equal_parts_have_right_gradients(segments):
    w = (leaf(8, 8) / 3).realize().requires_grad_()

    def grads(wrap):
        y = X
        for _ in range(segments):
            y = wrap(lambda y: (y @ w).tanh(), y) + wrap(lambda y: (y @ w).tanh(), y)
        return y.sum().backward()[w].numpy()

    assert np.allclose(grads(fb.checkpoint), grads(lambda f, y: f(y)), atol=1e-5)


def test_the_nodes_given_stay_as_they_are():
    y = (X @ W).exp() + (X @ W).sin()
    order = toposort([y.node])
    inputs = [n.inputs for n in order]
    found = merge([y.node], order)
    assert [n.inputs for n in order] == inputs
    assert len(found.order) == len(order) and len({id(n) for n in found.order}) < len(order)


def test_a_graph_without_repeats_is_taken_as_it_is():
    y = (X @ W).exp()
    order = toposort([y.node])
    assert merge([y.node], order).order is order


def test_what_siblings_alone_read_is_not_written():
    p, q = leaf(8, 8, seed=2), leaf(8, 8, seed=3)
    h = X.exp().sin().tanh()
    made = plan_of(h * p, h * q)
    assert [len(k.outputs) for k in made] == [2]
    left, places = without_unread(list(made), {made.kernels[0].outputs[1]})
    assert places == [0] and left[0].outputs == made.kernels[0].outputs[1:]
    value = Planned(left[0], X.shape)
    assert value.kind == "map" and "out1" not in value.wgsl
    assert without_unread(list(made), set()) == ([], [])
    h = np.tanh(np.sin(np.exp(X.numpy())))
    y = X.exp().sin().tanh()
    for found, by in zip(fb.read(y * p, y * q), (p, q), strict=True):
        assert np.allclose(found, h * by.numpy(), atol=1e-5)


def test_a_value_that_one_kernel_reads_twice_is_no_kernel():
    y = X.exp().sin().tanh()
    assert names_of((y * y).sum(0)) == ["sum+exp+sin+tanh+mul"]
    assert names_of(((y * 2) * (y + 3)).sum(0)) == ["sum+exp+sin+tanh+mul+add+mul"]
    h = X @ W
    assert names_of(h * h) == ["matmul+mul"]


def test_a_value_that_two_kernels_read_is_stored():
    y = X.exp().sin().tanh()
    assert names_of((y * 2).sum(0), (y + 3).sum(1)) == ["exp+sin+tanh", "sum+mul", "sum+add"]
    assert names_of(y + y.t()) == ["exp+sin+tanh", "add"]


def test_views_of_one_value_asked_for_twice_are_right():
    y = X.sin()
    found = fb.read(y.reshape(-1), y.reshape(-1), y.detach(), y.detach(), y.cos())
    for got in found[:4]:
        assert np.allclose(np.reshape(got, (8, 8)), np.sin(X.numpy()), atol=1e-6)
    assert np.allclose(found[4], np.cos(np.sin(X.numpy())), atol=1e-6)
    p, q = X.exp().requires_grad_(), X.exp().requires_grad_()
    loss = (p * 2 + q * 3).sum()
    grads = loss.backward()
    assert (grads[p].numpy() == 2).all() and (grads[q].numpy() == 3).all()
    assert np.allclose(p.numpy(), q.numpy())
