"""Sums and extremes of 64-bit integers by kernels that carry, against NumPy, on both classes of kernels."""

import numpy as np
import pytest
from helpers.kernels import planned_for

import flambeau as fb

SHAPES = [((5,), (0,)), ((70_000,), (0,)), ((3, 700), (1,)), ((700, 3), (0,)), ((7, 5, 9), (0, 2)),
          ((3, 5000, 2), (1,)), ((4, 1), (1,)), ((2, 9000), (1,)), ((2, 3, 4), (0, 1, 2))]  # fmt: skip
RANGES = [(-(2**63), 2**63 - 1), (2**31 - 3, 2**31 + 3), (-(2**32) - 2, -(2**32) + 2), (2**63 - 9, 2**63 - 1)]


@pytest.fixture(params=["software", "gpu"])
def adapter(request, gpu):
    with planned_for(gpu, software=request.param == "software"):
        yield gpu


@pytest.mark.parametrize(("shape", "dims"), SHAPES)
@pytest.mark.share(5)
def test_sums_carry(shape, dims, adapter):
    rng = np.random.default_rng(len(shape) + shape[0])
    for low, high in RANGES:
        a = rng.integers(low, high, shape, dtype="i8", endpoint=True)
        x, narrow = fb.tensor(a, device=adapter), a.astype("i4")
        n = fb.tensor(narrow, device=adapter)
        found = fb.read(x.sum(dims), x.cumsum(dims[0]), n.sum(dims), n.cumsum(dims[0]))
        wide = narrow.astype("i8")
        want = a.sum(dims), a.cumsum(dims[0]), wide.sum(dims), wide.cumsum(dims[0])
        for got, right in zip(found, want, strict=True):
            assert got == right.tolist()


def test_what_is_computed_views_and_unsigned(adapter):
    a = np.random.default_rng(1).integers(-(2**62), 2**62, (40, 30), dtype="i8")
    x, u = fb.tensor(a, device=adapter), fb.tensor(a.view("u8"), device=adapter)
    pairs = [
        (x.T.sum(0), a.T.sum(0)),
        (x[3:17:2, 5:].sum(1), a[3:17:2, 5:].sum(1)),
        ((x * 3 - 1).sum(0), (a * 3 - 1).sum(0)),
        ((x + x).cumsum(1), (a + a).cumsum(1)),
        (x.T.cumsum(0) * 2, a.T.cumsum(0) * 2),
        (x.sum(1, keepdim=True) - x, a.sum(1, keepdims=True) - a),  # whose dims are kept
        (x - x.amax(0, keepdim=True), a - a.max(0, keepdims=True)),
        (u.sum(1).to(fb.uint64), a.view("u8").sum(1)),
        (u.cumsum(0).to(fb.uint64), a.view("u8").cumsum(0)),
        (fb.tensor(a, device=adapter).sum(dtype=fb.int64) // 7, a.sum() // 7),
    ]
    for got, want in pairs:
        assert got.tolist() == want.tolist()


@pytest.mark.parametrize(("shape", "dim"), [((2, 0), 1), ((0, 2), 1), ((0,), 0)])
def test_nothing_to_sum(shape, dim, adapter):
    x = fb.zeros(shape, dtype=fb.int64, device=adapter)
    assert x.sum(dim).tolist() == np.zeros(shape, "i8").sum(dim).tolist()
    assert x.cumsum(dim).shape == shape


def test_one_kernel_reads_everything_once(gpu):
    """Sums of words by limbs took two to nine kernels, which read all of it up to three times."""
    x = fb.tensor(np.arange(1 << 14).reshape(128, 128), device=gpu)
    with planned_for(gpu, software=True):
        assert [k.name for k in x.sum(1).plan()] == ["long_sum"]
        assert [k.name for k in x.sum().plan()] == ["long_sum.sums", "long_sum"]
        assert [k.name for k in x.cumsum(1).plan()] == ["long_cumsum"]
        assert [k.name for k in x.int().sum(0).plan()] == ["long_sum"]
        assert "long_sum" not in (x > 3).sum().plan()[0].name  # fits in int32


@pytest.mark.parametrize(("shape", "dims"), SHAPES)
@pytest.mark.share(5)
def test_extremes(shape, dims, adapter):
    rng = np.random.default_rng(len(shape) + shape[0])
    for low, high in [*RANGES, (-(2**63), -(2**63) + 3)]:
        a = rng.integers(low, high, shape, dtype="i8", endpoint=True)
        u = a.view("u8")
        x, y = (fb.tensor(v, device=adapter) for v in (a, u))
        found = fb.read(x.amax(dims), x.amin(dims), y.amax(dims), y.amin(dims))
        for got, right in zip(found, (a.max(dims), a.min(dims), u.max(dims), u.min(dims)), strict=True):
            assert got == right.tolist()
