"""The one comparison of arrays with a reference: what counts as equal, which element is the worst, slopes."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.differences import TOLERANCES, differences, distances, of_largest, slope_of, within
from flambeau.testing import check_close

NAN, INF = np.nan, np.inf


def test_what_is_not_finite_is_only_near_itself():
    got, want = np.float32([NAN, INF, 1, NAN, INF, -INF]), np.float64([NAN, INF, INF, 1, -INF, 2])
    assert distances(got, want).tolist() == [0, 0, INF, INF, INF, INF]
    assert distances(got, want, equal_nan=False)[0] == INF
    for bounds in (within(1e-3, 1e-3, want), of_largest(want), 1e300):
        wrong = differences(got, want, bounds)
        assert wrong is not None and wrong.where.tolist() == [False, False, True, True, True, True]
    assert differences(got, want, INF) is None and differences(got, want, NAN) is None


def test_complex_numbers_by_their_parts():
    got = np.complex64([1 + 1j, complex(NAN, 2), complex(INF, 1), complex(INF, 2)])
    want = np.complex128([1 + 1j, complex(NAN, 3), complex(INF, 1), complex(INF, 1)])
    assert distances(got, want).tolist() == [0, 1, 0, 1]
    assert abs(distances(np.complex64([3 + 4j]), np.complex64([0j]))[0] - 5) < 1e-12


def test_the_worst_is_in_units_of_its_bound():
    got, want = np.float32([[1, 2], [3, 4]]), np.float64([[1, 2.5], [3.1, 5]])
    wrong = differences(got, want, np.float64([[0, 0.4], [0.01, 0.9]]))
    assert wrong is not None and wrong.at == (1, 0) and wrong.total == 3
    assert str(wrong) == "3.0 at [1, 0], not 3.1 within 1.0e-02 (3 of 4 elements)"
    assert differences(np.zeros((0, 3)), np.zeros((0, 3)), 0.0) is None


def test_integers_that_float64_does_not_hold():
    want = np.int64([1 << 60, -(1 << 60)])
    wrong = differences(want + 1, want, of_largest(want))
    assert wrong is not None and wrong.total == 2 and of_largest(want).tolist() == [0, 0]
    with pytest.raises(AssertionError, match=r"of integers: 1000001 at \[0\], the reference has 1000000"):
        check_close(np.int32([1000001]), np.int32([1000000]), 3e-6, "of integers")
    fb.testing.assert_close(fb.tensor([1 << 60], device="cpu"), [1 << 60])
    with pytest.raises(AssertionError, match="1 of 1 elements differ"):
        fb.testing.assert_close(fb.tensor([(1 << 60) + 1], device="cpu"), [1 << 60])


def test_slopes_and_corners():
    smooth = slope_of(lambda t: np.exp(3 * t) - 1, 2.0**-10, centre=0.0)
    assert abs(smooth.value - 3) < 1e-6 and smooth.change < 1e-4 and smooth.bend < 1e-4
    corner = slope_of(abs, 2.0**-10)
    assert corner.value == 0 and abs(corner.bend - 14) < 1e-9
    assert not np.isfinite(slope_of(lambda t: NAN if t > 0 else 0.0, 2.0**-10)).all()


def test_the_table_has_torchs_tolerances(torch):
    from torch.testing._comparison import default_tolerances

    for dtype, t in TOLERANCES.items():
        assert (t.rtol, t.atol) == default_tolerances(getattr(torch, dtype.name))
        info = torch.finfo(getattr(torch, dtype.name))
        assert 2 * t.unit == info.eps and t.top <= info.max and t.top > 0.99 * info.max
