"""fb.masked beside NumPy's reductions of what a mask keeps; ops/test_opinfo.py has PyTorch's cases."""

import numpy as np
import pytest

import flambeau as fb

X = np.array([[3.0, -1.0, 2.0], [4.0, 0.5, 5.0], [7.0, 8.0, 9.0]], "f4")
KEPT = np.array([[True, True, False], [False, True, True], [False, False, False]])
BY_NUMPY = {
    "sum": (np.sum, 0.0), "prod": (np.prod, 1.0), "amax": (np.max, -np.inf), "amin": (np.min, np.inf),
    "mean": (np.mean, np.nan), "var": (lambda row: np.var(row, ddof=1), np.nan),
    "norm": (np.linalg.norm, 0.0), "logsumexp": (lambda row: np.log(np.exp(row).sum()), -np.inf),
}  # fmt: skip


def masked(name, *args, **kwargs):
    x = fb.tensor(X, device="cpu")
    return getattr(fb.masked, name)(x, *args, mask=fb.tensor(KEPT, device="cpu"), **kwargs).numpy()


@pytest.mark.parametrize("name", BY_NUMPY)
def test_rows(name):
    of_row, of_nothing = BY_NUMPY[name]
    want = [of_row(row[kept]) if kept.any() else of_nothing for row, kept in zip(X, KEPT, strict=True)]
    np.testing.assert_allclose(masked(name, dim=1), want, rtol=1e-6)


def test_what_is_left_out_has_no_share():
    np.testing.assert_allclose(masked("softmax", 1)[:2].sum(1), 1.0, rtol=1e-6)
    assert (masked("softmax", 1)[:2][~KEPT[:2]] == 0).all()


@pytest.mark.parametrize("name", ["softmax", "softmin", "log_softmax"])
def test_integers_count_as_floats(name):
    x, kept = fb.tensor(X.astype(int), device="cpu"), fb.tensor(KEPT, device="cpu")
    function = getattr(fb.masked, name)
    want = function(x.float(), 1, mask=kept).numpy()
    np.testing.assert_array_equal(function(x, 1, mask=kept).numpy(), want)


def test_a_mask_of_more_dims_is_refused():
    with pytest.raises(IndexError, match="mask has 2 dims and input 1"):
        fb.masked.sum(fb.ones(3, device="cpu"), mask=fb.ones(2, 3, dtype=fb.bool_, device="cpu"))
