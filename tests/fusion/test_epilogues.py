"""Epilogues that several readers of a value are part of, to where these meet."""

import numpy as np
import pytest
from helpers.plans import kernels_of, leaf, names_of

import flambeau as fb
from flambeau.nn import functional as F

X, W, B = leaf(8, 8), leaf(8, 8, seed=1), leaf(8, seed=2)
H = X.numpy() @ W.numpy() + B.numpy()
MEETING = {
    "silu": (F.silu, lambda h: h / (1 + np.exp(-h))),
    "gelu": (
        lambda y: F.gelu(y, approximate="tanh"),
        lambda h: 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3))),
    ),
    "hardswish": (F.hardswish, lambda h: h * np.clip(h + 3, 0, 6) / 6),
    "twice": (lambda y: F.silu(F.silu(y)), lambda h: MEETING["silu"][1](MEETING["silu"][1](h))),
}


@pytest.mark.parametrize("name", MEETING)
def test_readers_that_meet_are_part_of_one_kernel(name):
    ours, wanted = MEETING[name]
    y = ours(X @ W + B)
    assert len(kernels_of(y)) == 1
    np.testing.assert_allclose(y.numpy(), wanted(H), rtol=1e-5, atol=1e-6)


def test_readers_that_meet_only_after_a_reduction_are_not():
    h = X @ W + B
    y = h * h.sum(1, keepdim=True).sigmoid()
    assert len(kernels_of(y)) == 2
    np.testing.assert_allclose(y.numpy(), H / (1 + np.exp(-H.sum(1, keepdims=True))), rtol=1e-5)


def test_what_is_read_between_is_stored():
    h = X @ W + B
    s = h.sigmoid()
    y = h * s
    assert len(kernels_of(y, s)) == 2
    np.testing.assert_allclose(y.numpy(), H * s.numpy(), rtol=1e-5)
    h = X @ W + B
    y = F.silu(h)
    assert len(kernels_of(y, h)) == 2
    np.testing.assert_allclose(y.numpy(), MEETING["silu"][1](h.numpy()), rtol=1e-5)
    h = X @ W + B
    y = h * h.T.sigmoid()  # other elements
    np.testing.assert_allclose(y.numpy(), H / (1 + np.exp(-H.T)), rtol=1e-5)


def test_one_that_reads_too_much_is_cut_where_readers_part():
    others = [leaf(8, 8, seed=3 + k) for k in range(9)]
    h, left, right = X @ W + B, 1.0, 1.0
    for k, t in enumerate(others):
        left, right = (left * t, right) if k % 2 else (left, right + t)
    y = (h * left) * (h + right).sigmoid()
    assert "matmul+add" in names_of(y)[0]
    arrays = [t.numpy().astype("f8") for t in others]
    wanted = H * np.prod(arrays[1::2], 0) / (1 + np.exp(-(H + 1 + sum(arrays[::2]))))
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-4, atol=1e-6)


def test_slopes_through_them_are_those_of_numpy():
    x = fb.nn.Parameter(leaf(8, 8))
    slope = F.silu(x @ W).sum().backward()[x].numpy()
    s = 1 / (1 + np.exp(-(X.numpy() @ W.numpy()).astype("f8")))
    wanted = (s * (1 + (X.numpy() @ W.numpy()) * (1 - s))) @ W.numpy().T
    np.testing.assert_allclose(slope, wanted, rtol=1e-4, atol=1e-5)
