"""Contractions that read what casts widen, and write in the order that is asked for."""

import numpy as np
import pytest
from helpers.plans import GPU, SOFTWARE, kernels_of, leaf, names_of, the_kernel_of

import flambeau as fb
from flambeau import nn, optim
from flambeau.fusion.rewrite import axes_of, finer

F = nn.functional


X, W = leaf(8, 12), leaf(12, 16, seed=1)


def test_a_transposed_product_is_written_so():
    assert names_of((X @ W).t()) == ["matmul"]
    assert names_of((X @ W).t() * 2 + 1) == ["matmul+mul+add"]
    assert np.allclose((X @ W).t().numpy(), (X.numpy() @ W.numpy()).T, atol=1e-5)


@pytest.mark.parametrize("limits", [GPU, SOFTWARE])
def test_heads_are_written_apart(limits):
    def heads(x):
        return x.reshape(2, 4, 2, 8).transpose(1, 2)

    assert names_of(heads(X @ W), limits=limits) == ["matmul"]
    assert names_of(heads((X @ W).detach()).reshape(4, 4, 8), limits=limits) == ["matmul"]
    expected = (X.numpy() @ W.numpy()).reshape(2, 4, 2, 8).transpose(0, 2, 1, 3)
    assert np.allclose(heads(X @ W).numpy(), expected, atol=1e-5)
    assert np.allclose((heads(X @ W) + 1).numpy(), expected + 1, atol=1e-5)


def test_heads_are_written_together():
    a, b = leaf(2, 3, 4, 8), leaf(2, 3, 8, 4, seed=1)
    y = (a @ b).transpose(1, 2).reshape(2, 4, 12)
    assert names_of(y) == ["matmul"]
    w = leaf(12, 5, seed=2)
    assert names_of(y @ w) == ["matmul", "matmul"]
    expected = (a.numpy() @ b.numpy()).transpose(0, 2, 1, 3).reshape(2, 4, 12)
    assert np.allclose(y.numpy(), expected, atol=1e-5)
    assert np.allclose((y @ w).numpy(), expected @ w.numpy(), atol=1e-4)


def test_who_reads_by_strides_goes_on_doing_so():
    y = X @ W

    product, reader = kernels_of(y.t() @ X)
    assert product.wgsl == the_kernel_of(y).wgsl and reader.reads == 2
    assert len(names_of(y.t(), y)) == 2  # both orders are asked for
    assert names_of(y.reshape(16, 8).t()) == ["matmul", "copy"]  # no order of the product's dims is that


def test_a_product_that_is_turned_back_stays():
    assert names_of((X @ W).t().exp().t()) == ["matmul+exp", "copy"]
    assert names_of((X @ W).t().detach().t()) == ["matmul"]
    y = ((X @ W).t() * 2).t()
    assert np.allclose(y.numpy(), X.numpy() @ W.numpy() * 2, atol=1e-5)
    assert names_of((X @ W).t().t() + 1)[0].startswith("matmul")


def test_dims_are_cut_by_reshapes():
    assert finer((6, 4), (2, 3, 4)) == [(2, 3), (4,)]
    assert finer((6, 4), (4, 6)) is None and finer((6, 4), (24,)) is None
    assert finer((), ()) == [] and finer((6,), (6,)) == [(6,)]
    assert axes_of((8, 16), [(X @ W).reshape(4, 32).node]) == []
    z = (X @ W).reshape(2, 4, 1, 4, 4).permute(3, 0, 2, 4, 1)
    found = axes_of((8, 16), [z.node.inputs[0], z.node])
    assert [(a.place, a.size) for a in found] == [((1, 0), 4), ((0, 0), 2), ((1, 1), 4), ((0, 1), 4)]
    expected = (X.numpy() @ W.numpy()).reshape(2, 4, 1, 4, 4).transpose(3, 0, 2, 4, 1)
    assert names_of(z) == ["matmul"]
    assert np.allclose(z.numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("dtype", [fb.float16, fb.bfloat16])
@pytest.mark.share(3)
def test_gradients_of_narrow_products_are_read_as_they_lie(dtype):
    x, w = leaf(8, 12).to(dtype).realize(), leaf(12, 16, seed=1).to(dtype).realize().requires_grad_()
    v = leaf(16, 16, seed=2).to(dtype).realize().requires_grad_()
    loss = (((x @ w).sin() @ v).cos().float() ** 2).sum()
    grads = loss.backward()
    for name in names_of(loss, grads[w], grads[v]):
        assert set(name.split("+")) != {"cast"}, name
    wide = [t.detach().float().realize() for t in (x, w, v)]
    a, b, c = wide[0], wide[1].requires_grad_(), wide[2].requires_grad_()
    expected = (((a @ b).sin() @ c).cos() ** 2).sum().backward()
    eps = {fb.float16: 1e-3, fb.bfloat16: 8e-3}[dtype]
    for got, want in ((grads[w], expected[b]), (grads[v], expected[c])):
        top = np.abs(want.numpy()).max()
        assert np.abs(got.float().numpy() - want.numpy()).max() < 12 * eps * top


def test_one_widened_operand_is_read_narrow():
    x, w = leaf(8, 12, dtype="f2"), leaf(12, 16, seed=1)
    y = x.float() @ w
    assert names_of(y, limits=SOFTWARE) == ["matmul"]
    assert np.allclose(y.numpy(), x.numpy().astype("f4") @ w.numpy(), atol=1e-5)


def test_two_widened_operands_are_multiplied_as_float32():
    x, w = leaf(8, 12, dtype="f2"), leaf(12, 16, seed=1, dtype="f2")
    assert the_kernel_of(x.float() @ w.float()).casts == 2
    y = (x.sin().float() @ w.float()).numpy()
    assert np.allclose(y, np.sin(x.numpy().astype("f4")).astype("f2").astype("f4") @ w.numpy(), atol=2e-2)


def test_a_recorded_step_writes_parameters_over_themselves():
    fb.manual_seed(0)
    w = (fb.randn(16, 16) * 0.1).realize().requires_grad_()
    x, start = leaf(8, 16), w.numpy()
    opt = optim.SGD([w], lr=0.5)

    @fb.jit
    def step(x):
        loss = (x @ w).square().sum()
        opt.step(loss.backward())
        return loss

    for _ in range(3):
        step(x)
        start = start - 0.5 * 2 * x.numpy().T @ (x.numpy() @ start)
        assert np.allclose(w.numpy(), start, rtol=1e-3, atol=1e-4 * np.abs(start).max())
    (program,) = next(iter(step.programs.values()))
    assert program.carry == []
