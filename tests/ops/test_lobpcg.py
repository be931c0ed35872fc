"""A few eigenvalues of symmetric matrices against all of them, as NumPy finds them."""

import re

import numpy as np
import pytest

import flambeau as fb


def symmetric(n, seed=0, batch=()):
    a = np.random.default_rng(seed).normal(size=(*batch, n, n))
    return ((a + np.swapaxes(a, -1, -2)) / 2).astype("f4")


def generalized(a, b):
    """Eigenvalues of A x = e B x, ascending."""
    low = np.linalg.inv(np.linalg.cholesky(b))
    return np.linalg.eigvalsh(low @ a @ low.T)


def near(got, want, tol=2e-3):
    np.testing.assert_allclose(got.numpy(), want, atol=tol)


@pytest.mark.share(2, only=["gpu"])
def test_ends_of_the_spectrum(device):
    fb.manual_seed(0)
    a = symmetric(12)
    values, x = np.linalg.eigvalsh(a), fb.tensor(a, device=device)
    for largest, want in ((True, values[::-1][:3]), (False, values[:3])):
        found = fb.lobpcg(x, 3, largest=largest)
        near(found.eigenvalues, want)
        near(found.eigenvectors.mT @ found.eigenvectors, np.eye(3))
        near(x @ found.eigenvectors - found.eigenvectors * found.eigenvalues, np.zeros((12, 3)), 2e-2)


def test_other_metrics_starts_preconditioners_and_batches():
    fb.manual_seed(0)
    a, c = symmetric(9), symmetric(9, 1)
    b = (c @ c * 0.3 + np.eye(9)).astype("f4")
    x, y = fb.tensor(a, device="cpu"), fb.tensor(b, device="cpu")
    found = fb.lobpcg(x, 2, y)
    near(found.eigenvalues, generalized(a, b)[::-1][:2])
    near(found.eigenvectors.mT @ y @ found.eigenvectors, np.eye(2))
    definite = (a @ a + np.eye(9)).astype("f4")
    z, inverse = fb.tensor(definite, device="cpu"), fb.tensor(np.linalg.inv(definite), device="cpu")
    near(fb.lobpcg(z, 2, iK=inverse, largest=False, niter=12).eigenvalues, np.linalg.eigvalsh(definite)[:2])
    begin = fb.tensor(np.linalg.eigh(a)[1][:, -2:].astype("f4"), device="cpu")
    near(fb.lobpcg(x, X=begin, niter=1).eigenvalues, np.linalg.eigvalsh(a)[::-1][:2])
    many = symmetric(6, 2, (2, 2))
    found = fb.lobpcg(fb.tensor(many, device="cpu"), n=2)
    near(found.eigenvalues, np.linalg.eigvalsh(many)[..., -1:])
    assert found.eigenvectors.shape == (2, 2, 6, 1)
    double = fb.lobpcg(fb.tensor(a.astype("f8"), dtype=fb.float64, device="cpu"), 1, tol=1e-9)
    near(double.eigenvalues, np.linalg.eigvalsh(a.astype("f8"))[-1:], 1e-7)


def test_errors():
    x = fb.ones(5, 5, device="cpu")
    rule = "2 of 2 columns for 5 rows: needs k <= n and 3 n <= m: use linalg.eigh"
    with pytest.raises(ValueError, match=f"^{re.escape(f'lobpcg(f32[5, 5], 2): {rule}')}$"):
        fb.lobpcg(x, 2)
    with pytest.raises(TypeError, match=re.escape("lobpcg() got an unexpected keyword argument 'fast'")):
        fb.lobpcg(x, 1, fast=True)
    rule = "method='fast' is unknown: use 'ortho' or 'basic'"
    with pytest.raises(ValueError, match=re.escape(rule)):
        fb.lobpcg(x, 1, method="fast")


def test_agrees_with_torch(torch):
    fb.manual_seed(0)
    torch.manual_seed(0)
    a, c = symmetric(12), symmetric(12, 1)
    b = (c @ c * 0.3 + np.eye(12)).astype("f4")
    for kw in ({"k": 1}, {"k": 3}, {"k": 2, "largest": False}, {"k": 2, "B": b}):
        ours = fb.lobpcg(fb.tensor(a, device="cpu"), **{n: _ours(v) for n, v in kw.items()})
        theirs = torch.lobpcg(torch.from_numpy(a), **{n: _theirs(torch, v) for n, v in kw.items()})
        near(ours.eigenvalues, theirs[0].numpy(), 5e-3)
        assert ours.eigenvectors.shape == tuple(theirs[1].shape)


def _ours(v):
    return fb.tensor(v, device="cpu") if isinstance(v, np.ndarray) else v


def _theirs(torch, v):
    return torch.from_numpy(v) if isinstance(v, np.ndarray) else v
