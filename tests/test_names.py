"""What goes with PyTorch's names beside operations: printing, closeness, initialisers, facts of tensors."""

import subprocess
import sys

import numpy as np
import pytest
from helpers.scripts import script

import flambeau as fb


def test_assert_close(device):
    x = fb.tensor([1.0, 2.0, 4.0], device=device)
    fb.testing.assert_close(x, x + 1e-6)
    fb.testing.assert_close(x.to(fb.float16), [1.0005, 2.0, 4.0])
    with pytest.raises(AssertionError) as told:
        fb.testing.assert_close(x, [1.0, 2.5, 4.1])
    assert str(told.value).splitlines() == [
        "2 of 3 elements differ (66.7 %)",
        "greatest absolute difference: 0.5 at [1]: 2, not 2.5 (allowed: 1e-05)",
        "greatest relative difference: 0.2 at [1]: 2, not 2.5 (allowed: 1.3e-06)",
    ]
    with pytest.raises(AssertionError, match=r"shapes differ: \[3\] and \[2\]"):
        fb.testing.assert_close(x, x[:2])
    with pytest.raises(ValueError, match="rtol and atol go together"):
        fb.testing.assert_close(x, x, rtol=1e-3)
    nan = fb.tensor([float("nan")], device=device)
    fb.testing.assert_close(nan, nan, equal_nan=True)
    with pytest.raises(AssertionError, match="1 of 1"):
        fb.testing.assert_close(nan, nan)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 2, 3)])
def test_orthogonal(shape, device):
    w = fb.nn.init.orthogonal_(fb.zeros(shape, device=device), gain=2.0).numpy().reshape(shape[0], -1)
    product = w @ w.T if w.shape[0] < w.shape[1] else w.T @ w
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=2e-5)


def test_orthogonal_needs_dims():
    with pytest.raises(ValueError, match=r"orthogonal_\(\[3\]\): needs at least 2 dims: use normal_"):
        fb.nn.init.orthogonal_(fb.zeros(3))


def test_clone_is_a_tensor_of_its_own(device):
    x = fb.tensor([1.0, 2.0], device=device, requires_grad=True)
    y = x.clone()
    assert (y * y).sum().backward()[x].tolist() == [2, 4]
    z = fb.tensor([1, 2], device=device)
    copy = z.clone()
    z[0] = 7
    assert (copy.tolist(), z.tolist()) == ([1, 2], [7, 2])


def test_facts_of_tensors(device):
    x = fb.zeros(2, 3, dtype=fb.float16, device=device)
    assert (x.itemsize, x.element_size(), x.nbytes, x.nelement(), x.ndimension()) == (2, 2, 12, 6, 2)
    assert x.is_contiguous() and x.is_signed() and not x.is_complex() and fb.is_tensor(x)
    assert not fb.is_signed(x.bool()) and fb.is_same_size(x, x + 1) and fb.numel(x) == 6
    assert fb.is_nonzero(fb.tensor(2, device=device)) and x.mT.shape == (3, 2)
    assert (
        x.long().dtype is fb.int64 and x.short().dtype is fb.int16 and x.int().type_as(x).dtype is fb.float16
    )


def test_one_hot_counts_classes(device):
    assert fb.nn.functional.one_hot(fb.tensor([2, 0], device=device)).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_edges_of_statistics(device):
    x = fb.tensor([[1.0, 2.0, 4.0], [0.0, 1.0, 5.0]], device=device)
    counts, weights = fb.tensor([1, 2, 3], device=device), fb.tensor([0.5, 0.2, 0.3], device=device)
    want = np.cov(x.numpy(), fweights=counts.numpy(), aweights=weights.numpy())
    np.testing.assert_allclose(x.cov(fweights=counts, aweights=weights).numpy(), want, rtol=1e-5)
    assert x[0].cov().shape == () and x[0].corrcoef().item() == 1
    assert fb.pdist(x[:1]).shape == (0,) and fb.combinations(x[0], 4).shape == (0, 4)
    at = fb.tensor([0.0, 1.0, 3.0], device=device)
    for order in (1, 2):
        (slope,) = fb.gradient(x, spacing=[at], dim=1, edge_order=order)
        want = np.gradient(x.numpy(), at.numpy(), axis=1, edge_order=order)
        np.testing.assert_allclose(slope.numpy(), want, rtol=1e-5)
    with pytest.raises(ValueError, match=r"dim 1 of size 1 is too short: edge_order 1 needs 2"):
        fb.gradient(x[:, :1], dim=1)
    with pytest.raises(ValueError, match=r"\[2, 2\] does not broadcast to \[2, 3\]"):
        x.sum_to_size(2, 2)
    assert fb.special.legendre_polynomial_p(x, -1).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_what_comes_later_comes_when_asked_for():
    """A process that only computes imports no layers, optimisers or data sets; asked for, each is there."""
    code = """
import sys
import flambeau as fb
early = {"flambeau.nn", "flambeau.optim", "flambeau.data", "flambeau.export", "flambeau.profiling"}
assert not early & set(sys.modules)
assert fb.io.load_bytes and "flambeau.io.torch_file" not in sys.modules  # pages ask for one kind of file
missing = [name for name in fb.__all__ if not hasattr(fb, name)]
assert not missing and not set(fb.__all__) - set(dir(fb)), missing
assert fb.nn is sys.modules["flambeau.nn"] and fb.grad is fb.func.grad
assert fb.load is fb.io.checkpoint.load
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_documented_module_is_an_attribute():
    """Each in a process of its own that imported the package alone: another would bring it along."""
    modules = [*script("write_docs").MODULES, "flambeau.array_api", "flambeau.porting", "flambeau.selftest"]
    code = """
import os, sys
import flambeau
for name in sys.argv[1:]:
    if not (child := os.fork()):
        eval(name)
        os._exit(sys.modules.get(name, eval(name)) is not eval(name))
    assert os.waitpid(child, 0)[1] == 0, name
"""
    done = subprocess.run([sys.executable, "-c", code, *modules], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_unknown_name_is_told_with_a_near_one():
    rule = r"^module 'flambeau' has no attribute 'sigmiod': did you mean 'sigmoid'\?$"
    with pytest.raises(AttributeError, match=rule):
        _ = fb.sigmiod
