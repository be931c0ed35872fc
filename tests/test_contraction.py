"""Contractions on a GPU with many threads: long sums of few results are shared among them."""

from dataclasses import replace

import numpy as np
import pytest

import flambeau as fb
from flambeau.fuse import Limits, plan

F = fb.nn.functional
WIDE = Limits(software=False)


@pytest.fixture
def many_threads(gpu, monkeypatch):
    """The adapter planned for as if it were a real GPU."""
    monkeypatch.setattr(gpu, "limits", replace(gpu.limits, software=False))
    monkeypatch.setitem(gpu.__dict__, "plans", {})
    return gpu


def kernels(tensor, limits):
    return [k.name for k in plan([tensor.node], limits).kernels]


def numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def test_a_long_sum_is_split_where_threads_are_many():
    x, w, b = (fb.zeros(*s).realize() for s in ((4, 4096), (4096, 8), (8,)))
    y = (x @ w + b).relu()
    assert kernels(y, WIDE) == ["matmul", "sum+add+relu"]
    assert kernels(y, Limits(software=True)) == ["matmul+add+relu"]


def test_enough_results_are_not_split():
    x = fb.zeros(1024, 1024).realize()
    assert kernels(x @ x, WIDE) == ["matmul"]


def test_a_split_sum_has_the_same_value(many_threads):
    x, w, b = numbers(5, 3000), numbers(3000, 7), numbers(7)
    y = (fb.tensor(x, device=many_threads) @ fb.tensor(w) + fb.tensor(b)).relu()
    assert len(y.plan()) == 2
    np.testing.assert_allclose(y.numpy(), np.maximum(x.astype(float) @ w + b, 0), rtol=1e-4, atol=1e-3)


def test_a_split_weight_gradient_has_the_same_value(many_threads):
    x, w, g = numbers(12, 3, 14, 14), numbers(6, 3, 3, 3), numbers(12, 6, 14, 14)

    def gradient(device):
        weight = fb.tensor(w, device=device, requires_grad=True)
        y = F.conv2d(fb.tensor(x, device=device), weight, padding=1)
        return (y * fb.tensor(g, device=device)).sum().backward()[weight]

    found = gradient(many_threads)
    assert any(k.name.startswith("sum") for k in found.plan())
    np.testing.assert_allclose(found.numpy(), gradient("cpu").numpy(), rtol=1e-4, atol=1e-3)


def test_batches_split_too(many_threads):
    a, b = numbers(3, 2, 2048), numbers(3, 2048, 4)
    y = fb.tensor(a, device=many_threads) @ fb.tensor(b, device=many_threads)
    assert len(y.plan()) == 2
    np.testing.assert_allclose(y.numpy(), a.astype(float) @ b, rtol=1e-4, atol=1e-3)
