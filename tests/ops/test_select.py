"""Counting and selecting: sizes that depend on values, fixed sizes, and many bins."""

import numpy as np
import pytest
from helpers.compare import values
from helpers.kernels import planned_for
from references.order import different, where_not_zero

import flambeau as fb


@pytest.fixture(params=[True, False], ids=["cpu-adapter", "real-gpu"])
def planned(request, gpu):
    with planned_for(gpu, request.param):
        yield gpu


@pytest.mark.parametrize("bins", [1, 7, 4096, 4097, 100000])
def test_counts_of_many_bins(bins, planned):
    x = np.random.default_rng(0).integers(0, bins, 50000).astype("i4")
    t = fb.tensor(x, device=planned)
    assert np.array_equal(t.bincount(minlength=bins).numpy(), np.bincount(x, minlength=bins))
    short = t.bincount(length=max(bins // 2, 1)).numpy()
    assert np.array_equal(short, np.bincount(x, minlength=bins)[: max(bins // 2, 1)])


def test_counting_is_the_same_every_time(gpu):
    x = np.random.default_rng(1).integers(0, 50, 200000).astype("i4")
    first, second = (fb.tensor(x, device=gpu).bincount(length=50).numpy() for _ in range(2))
    assert np.array_equal(first, second) and first.sum() == x.size


def test_histograms_are_numpys(device):
    x = np.random.default_rng(2).normal(size=1000).astype("f4")
    t, edges = fb.tensor(x, device=device), np.array([-1.0, 0.0, 0.25, 2.0], "f4")
    hist, at = t.histogram(9)
    want, want_at = np.histogram(x, 9)
    assert np.array_equal(hist.numpy(), want) and np.allclose(at.numpy(), want_at, atol=1e-6)
    dense = t.histogram(fb.tensor(edges, device=device), density=True)[0].numpy()
    assert np.allclose(dense, np.histogram(x, edges, density=True)[0], atol=1e-6)
    weighted = t.histogram(4, range=(-1, 1), weight=t * t)[0].numpy()
    assert np.allclose(weighted, np.histogram(x, 4, (-1, 1), weights=x * x)[0], atol=1e-4)
    assert np.array_equal(t.histc(20).numpy(), np.histogram(x, 20)[0])


def test_a_fixed_number_of_places_is_filled_up(device):
    t = fb.tensor([[0, 1, 0], [2, 0, 3]], device=device)
    assert t.nonzero(size=2).tolist() == [[0, 1], [1, 0]]
    assert t.nonzero(size=5, fill_value=-1).tolist() == [[0, 1], [1, 0], [1, 2], [-1, -1], [-1, -1]]
    rows, columns = t.nonzero(as_tuple=True, size=4)
    assert [v.tolist() for v in values(rows, columns)] == [[0, 1, 1, 0], [1, 0, 2, 0]]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (70, 1000), (3, 4, 5)], ids=str)
def test_places_of_what_is_not_zero(shape, device):
    x = np.random.default_rng(3).integers(0, 3, shape).astype("f4")
    t = fb.tensor(x, device=device)
    assert np.array_equal(t.nonzero().numpy(), where_not_zero(x))
    for got, want in zip(t.nonzero(as_tuple=True), np.nonzero(np.atleast_1d(x))):
        assert np.array_equal(got.numpy(), want)
    assert np.array_equal(t.masked_select(t > 1).numpy(), x[x > 1])
    assert t.count_nonzero().item() == np.count_nonzero(x)


def test_a_recorded_function_needs_the_size(gpu, capsys, tmp_path):
    t = fb.tensor([0.0, 1.0, 2.0], device=gpu)
    for name, made in (("nonzero", [[1], [2]]), ("unique", [0, 1, 2])):
        call = fb.jit(lambda x, name=name: getattr(x, name)())
        assert [call(t).tolist() for _ in range(2)] == [made] * 2
        assert "runs unrecorded: it reads values" in capsys.readouterr().err
        why = "depends on values, which a recorded function can't read: call it outside, or pass the size"
        with pytest.raises(ValueError, match=f"{name}.*{why}"):
            fb.save_program(lambda x, name=name: getattr(x, name)(), "f32[3]", tmp_path / name)
    step = fb.jit(lambda x: x.nonzero(size=2))
    assert [step(t).tolist() for _ in range(2)] == [[[1], [2]]] * 2
    counted = fb.jit(lambda x: x.int().bincount(length=3))
    assert counted(t).tolist() == [1, 1, 1]


@pytest.mark.parametrize("shape", [(0,), (1,), (40,), (5, 7), (30000,)], ids=str)
@pytest.mark.share(5)
def test_unique_and_its_companions(shape, planned):
    x = np.random.default_rng(4).integers(0, 9, shape).astype("i4")
    t = fb.tensor(x, device=planned)
    for got, want in zip(t.unique(return_inverse=True, return_counts=True), different(x)):
        assert np.array_equal(got.numpy(), want)
    if x.size < 100:
        for got, want in zip(
            t.unique_consecutive(return_inverse=True, return_counts=True), different(x, True)
        ):
            assert np.array_equal(got.numpy(), want)
    assert np.array_equal(t.unique().numpy(), np.unique(x))


def test_unique_slices(device):
    x = np.array([[1, 0, 1, 0], [2, 5, 2, 4], [3, 1, 3, 1]], "i4")
    t = fb.tensor(x, device=device)
    for dim in (0, 1, -1):
        got = t.unique(dim=dim, return_inverse=True, return_counts=True)
        want = np.unique(x, axis=dim, return_inverse=True, return_counts=True)
        for g, w in zip(got, want):
            assert np.array_equal(g.numpy(), np.asarray(w).reshape(g.shape))
    twice = t.index_select(1, fb.tensor([0, 0, 1, 2], device=device)).unique_consecutive(
        dim=1, return_counts=True
    )
    assert [v.tolist() for v in values(*twice)] == [[[1, 0, 1], [2, 5, 2], [3, 1, 3]], [2, 1, 1]]


def test_nan_is_never_the_same(device):
    t = fb.tensor([np.nan, 1.0, np.nan, -0.0, 0.0], device=device)
    found, often = t.unique(return_counts=True)
    assert np.array_equal(found.numpy(), np.array([0, 1, np.nan, np.nan]), equal_nan=True)
    assert often.tolist() == [2, 1, 1, 1]
    assert fb.isin(t, fb.tensor([np.nan, 0.0], device=device)).tolist() == [False, False, False, True, True]


def test_membership(device):
    x = fb.tensor([[1, 2], [3, 4]], device=device)
    assert fb.isin(x, fb.tensor([2, 4, 9], device=device)).tolist() == [[False, True], [False, True]]
    assert fb.isin(x, 3, invert=True).tolist() == [[True, True], [False, True]]
    assert fb.isin(2, x).tolist() is True
    assert fb.isin(x, fb.zeros(0, dtype=fb.int32, device=device)).tolist() == [[False] * 2] * 2
