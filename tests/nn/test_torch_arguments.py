"""Arguments that PyTorch has, with its numbers: max_norm, inputs, dtype, vectorize, and a saved schedule."""

import json

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn


@pytest.fixture
def host():
    with fb.device("cpu"):
        yield


def table():
    return [[3.0, 4.0], [0.3, 0.4], [6.0, 8.0], [1.0, 0.0]]


def looked_up(m, p):
    """Values, table after and gradient of a lookup that shortens what it names."""
    layer = m.nn.Embedding(4, 2, max_norm=2.0, norm_type=p)
    with m.no_grad():
        layer.weight.copy_(m.tensor(table()))
    y = layer(m.tensor([[0, 1], [0, 3]]))
    grads = (y * y).sum().backward()
    grad = grads[layer.weight] if grads is not None else layer.weight.grad
    return [t.tolist() for t in (y.detach(), layer.weight.detach(), grad)]


def test_max_norm(host):
    y, weight, grad = looked_up(fb, 2.0)
    short = [1.2, 1.6]
    np.testing.assert_allclose(y, [[short, [0.3, 0.4]], [short, [1, 0]]], rtol=1e-6)
    np.testing.assert_allclose(weight, [short, [0.3, 0.4], [6, 8], [1, 0]], rtol=1e-6)
    np.testing.assert_allclose(grad, [[4.8, 6.4], [0.6, 0.8], [0, 0], [2, 0]], rtol=1e-6)
    assert repr(nn.Embedding(4, 2, max_norm=2.0)) == "Embedding(4, 2, max_norm=2.0)"
    with pytest.raises(ValueError) as e:
        nn.Embedding(4, 2, max_norm=0)
    assert str(e.value) == "Embedding(max_norm=0): must be above 0: pass another value"


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_max_norm_is_torchs(p, torch, host):
    for got, want in zip(looked_up(fb, p), looked_up(torch, p), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def bagged(m):
    """What EmbeddingBag gives, its table after, and the gradient, by max_norm, frequency and mode."""
    told = []
    for kw in ({"max_norm": 2.0, "mode": "sum"}, {"scale_grad_by_freq": True, "mode": "mean"},
               {"scale_grad_by_freq": True, "max_norm": 1.5, "norm_type": 1.0, "mode": "sum"},
               {"max_norm": 2.0, "mode": "max"}):  # fmt: skip
        layer = m.nn.EmbeddingBag(4, 2, **kw)
        with m.no_grad():
            layer.weight.copy_(m.tensor(table()))
        y = layer(m.tensor([0, 1, 0, 3, 0]), m.tensor([0, 2]))
        grads = (y * y).sum().backward()
        grad = grads[layer.weight] if grads is not None else layer.weight.grad
        told.append([t.tolist() for t in (y.detach(), layer.weight.detach(), grad)])
    return told


def frequencies(m):
    layer = m.nn.Embedding(4, 2, 2, scale_grad_by_freq=True)
    with m.no_grad():
        layer.weight.copy_(m.tensor(table()))
    y = layer(m.tensor([[0, 1, 0], [0, 3, 2]]))
    grads = (y * y).sum().backward()
    return (grads[layer.weight] if grads is not None else layer.weight.grad).tolist()


def test_gradients_by_frequency(host):
    np.testing.assert_allclose(frequencies(fb), [[6, 8], [0.6, 0.8], [0, 0], [2, 0]], rtol=1e-6)
    summed, mean, both, greatest = bagged(fb)
    np.testing.assert_allclose(summed[0], [[1.5, 2.0], [3.4, 3.2]], rtol=1e-6)
    np.testing.assert_allclose(summed[2], [[16.6, 16.8], [3, 4], [0, 0], [6.8, 6.4]], rtol=1e-6)
    np.testing.assert_allclose(mean[2][1], [1.65, 2.2], rtol=1e-6)
    np.testing.assert_allclose(both[1], [[9 / 14, 6 / 7], [0.3, 0.4], [6, 8], [1, 0]], rtol=1e-6)
    np.testing.assert_allclose(greatest[0], [[1.2, 1.6], [1.2, 1.6]], rtol=1e-6)
    assert repr(nn.Embedding(4, 2, scale_grad_by_freq=True)) == "Embedding(4, 2, scale_grad_by_freq=True)"
    for make, text in (
        (lambda: nn.EmbeddingBag(4, 2, "sum"),
         "EmbeddingBag(max_norm='sum'): must be above 0: pass another value"),
        (lambda: nn.EmbeddingBag(4, 2, scale_grad_by_freq=True, mode="max"),
         "EmbeddingBag(mode='max', scale_grad_by_freq=True): it can't scale a maximum: use"
         " mode='sum' or 'mean', or leave it out"),
    ):  # fmt: skip
        with pytest.raises(ValueError) as e:
            make()
        assert str(e.value) == text


def test_gradients_by_frequency_are_torchs(torch, host):
    np.testing.assert_allclose(frequencies(fb), frequencies(torch), rtol=1e-6)
    for got, want in list(zip(bagged(fb), bagged(torch), strict=True))[::3]:  # its bags count other rows
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


NORMS = [("BatchNorm1d", (3, 2)), ("BatchNorm2d", (3, 2, 2, 2)), ("BatchNorm3d", (3, 2, 2, 1, 2)),
         ("InstanceNorm2d", (3, 2, 2, 2))]  # fmt: skip


def normed(m, name, shape, **kw):
    layer = getattr(m.nn, name)(2, affine=True, bias=False, **kw)
    with m.no_grad():
        layer.weight.copy_(m.tensor([2.0, 3.0]))
    x = m.tensor(np.random.default_rng(0).normal(size=shape).astype("f4"))
    y = layer(x)
    grads = (y * y * y).sum().backward()
    grad = grads[layer.weight] if grads is not None else layer.weight.grad
    return list(dict(layer.named_parameters())), y.detach().tolist(), grad.tolist()


@pytest.mark.parametrize("name, shape", NORMS)
def test_norms_without_bias(name, shape, host):
    names, y, _ = normed(fb, name, shape)
    assert names == ["weight"]
    dims = (0, *range(2, len(shape))) if "Batch" in name else tuple(range(2, len(shape)))
    np.testing.assert_allclose(np.mean(y, dims), 0, atol=1e-5)
    assert not list(getattr(nn, name)(2, affine=False, bias=False).parameters())
    with pytest.raises(TypeError) as e:
        getattr(nn, name)(2, biass=False)
    assert str(e.value) == f"{name[:-2]}.__init__() got an unexpected keyword argument 'biass'"


@pytest.mark.parametrize("name, shape", NORMS)
def test_norms_without_bias_are_torchs(name, shape, torch, host):
    mine, theirs = normed(fb, name, shape), normed(torch, name, shape)
    assert mine[0] == theirs[0]
    np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mine[2], theirs[2], rtol=1e-4, atol=1e-4)


def test_max_norm_in_a_recorded_step(host):
    layer = nn.Embedding(4, 2, max_norm=2.0)
    layer.weight.assign_(fb.tensor(table()))
    step = fb.jit(lambda i: layer(i))
    step(fb.tensor([1]))
    step(fb.tensor([3]))
    np.testing.assert_allclose(step(fb.tensor([2])).tolist(), [[1.2, 1.6]], rtol=1e-6)
    np.testing.assert_allclose(layer.weight.tolist(), [*table()[:2], [1.2, 1.6], [1, 0]], rtol=1e-6)


def test_gradients_by_some_inputs(host):
    a, b = (fb.tensor([v], requires_grad=True) for v in (2.0, 5.0))
    for found in (
        (a * b).sum().backward(inputs=[a]),
        fb.autograd.backward((a * b).sum(), inputs=a),
    ):
        assert found[a].tolist() == [5] and b not in found and len(found) == 1
    loss = (a * b).sum()
    loss.backward(inputs=[b]), loss.item()
    for call, text in (
        (lambda: loss.backward(inputs=[a * 1]), "it is not a leaf with requires_grad=True"),
        (
            lambda: loss.backward(inputs=[]),
            "backward(f32[], inputs=[]): the list is empty: pass at least one tensor",
        ),
        (
            lambda: loss.backward(inputs=[a]),
            "backward(f32[]): the graph was freed by an earlier backward",
        ),
    ):
        with pytest.raises(ValueError) as e:
            call()
        assert text in str(e.value)


def test_normal_numbers_of_a_dtype(host):
    for dtype in (fb.float16, fb.float64):
        x = fb.normal(2.0, 0.5, (400,), dtype=dtype)
        assert x.dtype is dtype and abs(x.mean().item() - 2) < 0.2
    with pytest.raises(TypeError) as e:
        fb.normal(0.0, 1.0, (3,), dtype=fb.int32)
    rule = "dtype=int32 is not a float dtype: pass one"
    assert str(e.value).endswith(rule)


def test_rows_are_together_in_any_case(host):
    def f(x):
        return (x**3).sum()

    x = fb.tensor([1.0, 2.0])
    for vectorize in (False, True):
        assert fb.autograd.functional.hessian(f, x, vectorize=vectorize).tolist() == [[6, 0], [0, 12]]
        assert fb.autograd.functional.jacobian(f, x, vectorize=vectorize).tolist() == [3, 12]


def test_a_saved_schedule_goes_on_by_steps_and_at_once(host):
    def made():
        return fb.optim.lr_scheduler.MultiStepLR(
            fb.optim.SGD([nn.Parameter(fb.ones(1))], lr=1.0), [2, 2, 5], gamma=0.5
        )

    one, other = made(), made()
    for _ in range(3):
        one.step()
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert other.milestones == {2: 2, 5: 1} and other.last_epoch == 3
    one.step(5), other.step(5)
    assert other.get_last_lr() == one.get_last_lr() == [0.125]
