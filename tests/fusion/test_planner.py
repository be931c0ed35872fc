"""Graphs in, kernels out: what fuses with what. No test here runs anything on a device."""

from helpers.plans import kernels_of, leaf, names_of

import flambeau as fb
from flambeau import nn
from flambeau.core import node as graph

F = nn.functional


X = leaf(4, 6)


def test_an_elementwise_chain_is_one_kernel():
    assert names_of((X.exp() * 2 + 1).sigmoid()) == ["exp+mul+add+sigmoid"]
    assert repr((X.exp() * 2 + 1).sigmoid().plan()).splitlines()[0] == "1 kernel"


def test_a_matmul_takes_its_epilogue_along():
    w, b = leaf(6, 5), leaf(5)
    assert names_of((X @ w + b).relu()) == ["matmul+add+relu"]


def test_a_convolution_takes_its_epilogue_along():
    x, w, b = leaf(2, 3, 8, 8), leaf(4, 3, 3, 3), leaf(4)
    assert names_of(F.conv2d(x, w, b, padding=1).relu())[-1] == "conv2d+add+relu"


def test_a_reduction_takes_what_comes_before_and_after():
    assert names_of((X * 2).square().sum(1).sqrt()) == ["sum+mul+square+sqrt"]


def test_softmax_is_one_kernel():
    assert names_of(X.softmax(1)) == ["max+sum+sub+exp+div"]


def test_views_do_not_copy():
    assert names_of(X.t()[1:, ::2].exp()) == ["exp"]
    assert names_of(X.reshape(2, 12).flip(0) + 1) == ["add"]
    assert names_of(X.pad((1, 1)).sum(0)) == ["sum"]


def test_a_reshape_that_no_strides_can_say_copies_once():
    assert names_of(X.t().reshape(4, 6) + 1) == ["copy", "add"]


def test_an_operand_is_computed_in_the_order_that_a_product_reads():
    """Gradients of attention's heads are: a copy behind the kernel of the elements would move them twice."""
    u, v = leaf(2, 3, 4, 5).exp(), leaf(2, 3, 4, 5).sin()
    heads = u * v
    y = heads.permute(0, 2, 1, 3).reshape(8, 15)
    product = ["exp", "sin", "mul", "matmul"]
    assert names_of(u, v, y @ leaf(15, 6)) == product
    assert names_of(u, v, y.reshape(2, 4, 15) @ leaf(15, 6), y.sum(0)) == [*product, "sum"]
    # read in both orders: stored once in its own, and copied for the product
    assert names_of(u, v, heads, y @ leaf(15, 6)) == ["exp", "sin+mul", "copy", "matmul"]


def test_a_value_used_twice_is_stored_when_it_is_dear():
    y = X.exp().sin().tanh()
    assert names_of(y.sum(0), y.sum(1)) == ["exp+sin+tanh", "sum", "sum"]


def test_a_value_used_twice_is_made_twice_when_it_is_cheap():
    y = X * 2
    assert names_of(y.sum(0), y.sum(1)) == ["sum+mul", "sum+mul"]


def test_more_buffers_than_a_kernel_may_bind_split_it():
    parts = [leaf(4, 6) for _ in range(12)]
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    first, second = kernels_of(total)
    assert first.reads <= 7 and second.reads <= 7


def test_the_other_way_round_splits_too():
    parts = [leaf(4, 6) for _ in range(12)]
    total = parts[0]
    for p in parts[1:]:
        total = p + total
    right = parts[-1]
    for p in parts[-2::-1]:
        right = p + right
    assert all(k.reads <= 7 for t in (total, right) for k in kernels_of(t))


def test_a_long_chain_is_cut_not_refused():
    y = X
    for _ in range(300):
        y = y + X
    assert 1 < len(kernels_of(y)) < 12


def test_a_very_long_chain_is_planned_without_deep_recursion(monkeypatch):
    monkeypatch.setattr(graph, "DEEP", 1 << 20)
    graph.has_run()
    y = X
    for _ in range(30_000):
        y = y.sin()
    assert 400 < len(kernels_of(y)) < 1000


def test_a_reshape_behind_a_reshape_says_all():
    y = (X.reshape(24, 1).expand(24, 3) * 2).reshape(8, 9).reshape(24, 3)
    assert names_of(y + 1) == ["mul+add"]


def test_a_new_batch_size_changes_no_structure():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(676, 10)
    )
    fb.realize(*model.parameters())

    def shaders(n):  # what pipelines are found by
        loss = F.cross_entropy(model(leaf(n, 1, 28, 28)), fb.zeros(n, dtype=fb.int32).realize())
        return {k.kernel.shader for k in kernels_of(loss, *loss.backward())}

    fb.synchronize()
    new = shaders(48) - shaders(64)
    assert all(k.template.startswith("contract/") for k in new)  # these are chosen by size there


def test_a_root_seen_twice_is_computed_once():
    y = X.exp()
    assert names_of(y, y.reshape(24)) == ["exp"]


def test_a_buffer_read_in_two_ways_counts_twice():
    xs = [leaf(8, 8) for _ in range(7)]
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    for y in (total * xs[0][:, :1], (total * xs[0][:, :1]).sum(1), total @ xs[1] + xs[1] * xs[2]):
        assert all(k.reads <= 7 for k in kernels_of(y))
        y.realize()


def test_products_of_no_matrices_have_gradients():
    """A permute behind a product goes into the product's order, which no elements have."""
    x = fb.zeros(0, 2, 2, dtype=fb.float16, requires_grad=True)
    y = x.transpose(-1, -2) @ x
    gradient = (y.float() * y.float()).sum().backward()[x]
    assert y.numpy().shape == gradient.numpy().shape == (0, 2, 2)
