"""The references on other array libraries: every row of the op table on torch and JAX."""

import math

import numpy as np
import pytest
from helpers.compare import check
from helpers.gradients import GRADS, check_gradient
from helpers.inputs import arrays, host, tensors
from rows import ROWS

import flambeau as fb
from flambeau.device import get_device
from flambeau.device.array_namespace import Namespace

# references in NumPy's own words: methods of its arrays, assignment, 64-bit floats
NUMPY_ALONE = {
    "_back", "_cholesky_block", "_ctc_alphas", "_ctc_walk", "_eigh_jacobi", "_fft_lines", "_last",
    "_lu_block", "_qr_block", "_scatter_sorted", "_search", "_svd_jacobi", "_triangular_block",
}  # fmt: skip
ON_HOST = {  # ops that a library runs on NumPy
    "torch": NUMPY_ALONE,
    # its arrays are not assigned to, and have no 64 bits
    "jax": NUMPY_ALONE | {"_cummax", "_cummin", "_fold", "random_bits"},
}


@pytest.fixture(scope="module", params=[pytest.param(n, marks=getattr(pytest.mark, n)) for n in ON_HOST])
def library(request):
    return get_device(request.param)


@pytest.mark.parametrize("name", ROWS)
def test_row(name, library):
    row, rng = ROWS[name], np.random.default_rng(1)
    given = arrays(row, rng)
    y = row.compute(name, *tensors(given, library))
    check(y.numpy(), np.asarray(row.expected(*map(host, given))), row.tol, name)


@pytest.mark.parametrize("name", GRADS)
def test_gradient_of_row(name, library):
    check_gradient(name, ROWS[name], library)


def test_what_runs_on_the_host(library):
    """After the rows: nothing else than the table says was sent to NumPy."""
    assert library.on_host <= ON_HOST[library.xp.library]


def test_numpy_1_has_the_standards_names():
    from flambeau.device import array_namespace

    class Old:
        concatenate, arcsin = np.concatenate, np.arcsin

    xp = array_namespace.Namespace("numpy")
    xp.module = Old
    assert xp.concat is np.concatenate and xp.asin is np.arcsin
    with pytest.raises(AttributeError, match="numpy has no nothing"):
        xp.nothing  # noqa: B018 - asking is the test


def test_integers_wrap_as_on_a_gpu(library):
    u = fb.tensor([1, 2, 4294967295], dtype=fb.uint32, device=library)
    assert (u + 1).tolist() == [2, 3, 0] and (u - u - 1).tolist() == [4294967295] * 3
    i = fb.tensor([2147483647], dtype=fb.int32, device=library)
    assert (i + 1).tolist() == [-2147483648] and (i * 2).tolist() == [-2]


def test_random_bits_are_the_same(library):
    drawn = []
    for device in ("cpu", library):
        fb.manual_seed(11)
        drawn.append(fb.rand(1000, device=device).numpy())
    assert np.array_equal(*drawn)


def test_a_library_that_is_not_there(monkeypatch):
    from flambeau.device import array_namespace

    monkeypatch.setitem(array_namespace.MODULES, "cupy", "no_such_package")
    array_namespace.module_of.cache_clear()
    with pytest.raises(fb.DeviceError) as caught:
        fb.ones(2, device="cupy:7")
    assert str(caught.value) == (
        "device('cupy'): can't be loaded (No module named 'no_such_package'): pip install cupy"
    )


def test_values_are_dropped_after_their_last_reader():
    import tracemalloc

    def peak(n):
        x = fb.ones(1 << 16, device="cpu")
        for i in range(n):
            x = (x * 1.5 + i).sin()
        tracemalloc.start()
        x.realize()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(40) < 1.5 * peak(4)


def test_erf_is_that_of_the_math_library():
    """In each of its three ranges, at their ends, and where it is 1."""
    xp = Namespace("numpy")
    ends = [v for edge in (0.46875, 4, 6) for v in (np.nextafter(edge, 0), edge, np.nextafter(edge, 9))]
    x = np.array([*np.linspace(-7, 7, 20001), *np.logspace(-300, 0, 99), *ends, np.inf, -np.inf])
    expected = np.array([math.erf(v) for v in x])
    np.testing.assert_allclose(xp.erf(x), expected, rtol=5e-16, atol=0)
    zeros = xp.erf(np.array([0.0, -0.0, np.nan], np.float32))
    assert zeros.dtype == np.float32 and np.isnan(zeros[2]) and list(np.signbit(zeros[:2])) == [False, True]
    assert xp.erf(np.float32(1)).shape == ()
