"""Sorting rows of every length that has kernels of its own, with those of both sorts of adapter."""

import numpy as np
import pytest
from helpers.compare import values
from helpers.draws import in_turn
from helpers.kernels import planned_for
from helpers.plans import kinds_of, leaf, names_of
from references.order import places_in_order

import flambeau as fb
from flambeau.ops.sort import sort

# one element, none, rows in workgroup memory, at its end and past it, one long row, several, many
SHAPES = [
    (1,), (0,), (3, 0), (0, 4), (7, 33), (300, 7), (2, 512), (2, 513), (2, 2048), (2, 2049), (3, 5000),
    (70001,), (3, 40000), (20, 2100), (30000, 3),
]  # fmt: skip


@pytest.fixture(params=[True, False], ids=["cpu-adapter", "real-gpu"])
def planned(request, gpu):
    with planned_for(gpu, request.param):
        yield gpu


def numbers(rng, shape):
    """Floats with ties, zeros of both signs, infinities and NaN; ints, whole words and bools."""
    f = (np.round(rng.normal(size=shape) * 30) / 8).astype("f4")
    some = np.resize(np.array([-0.0, np.inf, -np.inf, np.nan, 0.0, np.nan], "f4"), min(f.size, 6))
    f.flat[: some.size] = some
    return [
        f, rng.integers(-50, 51, shape).astype("i4"), rng.integers(0, 2**32, shape).astype("u4"),
        rng.integers(0, 2, shape).astype(bool),
    ]  # fmt: skip


@pytest.mark.parametrize("shape", in_turn(SHAPES, runs=12), ids=str)
def test_places(shape, planned):
    for a in numbers(np.random.default_rng(0), shape):
        t = fb.tensor(a, device=planned)
        up, down = values(t.argsort(), t.argsort(descending=True))
        assert np.array_equal(up, np.argsort(a, axis=-1, kind="stable"))
        back = a.shape[-1] - 1 - np.argsort(a[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        assert np.array_equal(down, back)


def test_the_order_is_pythons(device):
    for a in numbers(np.random.default_rng(1), (3, 40)):
        t = fb.tensor(a, device=device)
        up, down = values(t.argsort(), t.argsort(descending=True))
        assert np.array_equal(up, places_in_order(a))
        assert np.array_equal(down, places_in_order(a, descending=True))


def test_values_and_places_go_together(device):
    x = np.round(np.random.default_rng(2).normal(size=(4, 9, 3)) * 2).astype("f4")
    t = fb.tensor(x, device=device)
    for dim in (0, 1, 2):
        values_, places = t.sort(dim, descending=True)
        top, top_places = t.topk(2, dim)
        kth, kth_places = t.kthvalue(2, dim, keepdim=True)
        got = values(values_, places, top, top_places, kth, kth_places)
        want = places_in_order(x, dim, True)
        assert np.array_equal(got[1], want)
        assert np.array_equal(got[0], np.take_along_axis(x, want, dim))
        assert np.array_equal(got[3], np.take(want, [0, 1], dim))
        assert np.array_equal(got[2], np.take_along_axis(x, got[3], dim))
        assert np.array_equal(got[4], np.take_along_axis(x, got[5], dim))
        assert np.array_equal(got[5], np.take(places_in_order(x, dim), [1], dim))


@pytest.mark.parametrize("n", in_turn([1, 5, 256, 257, 600, 1025, 2049, 3000, 4100], 4))
@pytest.mark.share(5)
def test_rows_sorted_by_one_workgroup(n, gpu, monkeypatch):
    """By digits in registers and workgroup memory, also rows that other kernels are faster for."""
    monkeypatch.setattr(sort, "SHORT", 0)
    monkeypatch.setattr(sort, "RANKED", 0)
    with planned_for(gpu, False, workgroup_memory=max(gpu.limits.workgroup_memory, 16384)):
        for a in numbers(np.random.default_rng(4), (2, n)):
            t = fb.tensor(a, device=gpu)
            up, down = values(t.argsort(), t.argsort(descending=True))
            assert np.array_equal(up, np.argsort(a, axis=-1, kind="stable"))
            assert np.array_equal(down, places_in_order(a, descending=True))


@pytest.mark.parametrize("n, k", [(1024, 3), (1025, 3), (5000, 1), (70001, 64), (3000, 65)])
@pytest.mark.share(5)
def test_the_best_of_long_rows(n, k, planned):
    x = np.round(np.random.default_rng(3).normal(size=(2, n)) * 20).astype("f4")
    t = fb.tensor(x, device=planned)
    most, least = values(t.topk(k)[1], t.topk(k, largest=False)[1])
    assert np.array_equal(least, np.argsort(x, -1, kind="stable")[:, :k])
    assert np.array_equal(most, np.argsort(-x, -1, kind="stable")[:, :k])


@pytest.mark.parametrize("n, k", [(513, 1), (600, 64), (9000, 127), (40000, 20)])
@pytest.mark.share(5)
def test_the_best_without_sorting(n, k, gpu):
    """Ties, values that are all equal, rows in order, and the best in few threads' hands: few candidates are
    to be found in all of them."""
    rng = np.random.default_rng(5)
    some = rng.normal(size=n).astype("f4")
    rows = np.stack([np.ones(n), np.sort(some), np.sort(some)[::-1], some + 9 * (np.arange(n) % 256 < 3)])
    for a in [rows.astype("f4"), *numbers(rng, (2, n))]:
        with planned_for(gpu, False):
            t = fb.tensor(a, device=gpu)
            assert kinds_of(t.topk(k)[1])[0] == "best"
            most, least = values(t.topk(k)[1], t.topk(k, largest=False)[1])
        assert np.array_equal(least, np.argsort(a, -1, kind="stable")[:, :k])
        assert np.array_equal(most, places_in_order(a, descending=True)[:, :k])


def test_scalars_and_single_elements(device):
    t = fb.tensor(2.5, device=device)
    found = [*t.sort(), *t.topk(1), *t.kthvalue(1), *t.median(0), *t.mode(), t.median(), t.quantile(0.3)]
    assert [v.tolist() for v in values(*found)] == [2.5, 0] * 5 + [2.5, 2.5]


def test_medians_and_quantiles_know_nan(device):
    x = np.array([[3, np.nan, 1, 2], [4, 3, 2, 1], [np.nan] * 4], "f4")
    t = fb.tensor(x, device=device)
    plain, plain_at, kept, kept_at = values(*t.median(1), *t.nanmedian(1))
    assert np.array_equal(plain, np.array([np.nan, 2, np.nan], "f4"), equal_nan=True)
    assert plain_at.tolist() == [1, 2, 0]
    assert np.array_equal(kept, np.array([2, 2, np.nan], "f4"), equal_nan=True)
    assert kept_at.tolist()[:2] == [3, 2]
    whole, kept, all_of_it = values(t.quantile(0.5, 1), t.nanquantile(0.5, 1, keepdim=True), t.nanmedian())
    assert np.array_equal(whole, np.array([np.nan, 2.5, np.nan], "f4"), equal_nan=True)
    assert np.array_equal(kept, np.array([[2], [2.5], [np.nan]], "f4"), equal_nan=True)
    assert all_of_it == 2


@pytest.mark.parametrize("how", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles_are_numpys(how, device):
    x = np.random.default_rng(4).normal(size=(3, 8, 5)).astype("f4")
    t, q = fb.tensor(x, device=device), np.array([0.0, 0.25, 0.4, 1.0], "f4")
    parts = fb.tensor(q, device=device)
    made = [t.quantile(parts, d, keepdim=k, interpolation=how) for d in (0, 1, None) for k in (False, True)]
    want = [np.quantile(x, q, d, keepdims=k, method=how) for d in (0, 1, None) for k in (False, True)]
    for got, expected in zip(values(*made), want):
        assert got.shape == expected.shape
        assert np.allclose(got, expected, atol=1e-6)


def test_the_gradient_goes_to_what_was_chosen(device):
    x = fb.tensor([[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]], device=device, requires_grad=True)
    w = fb.tensor([[1.0, 2.0, 3.0]], device=device)
    chosen = [
        x.sort(1)[0] * w,
        x.median(1)[0],
        x.kthvalue(1)[0],
        x.topk(2)[0] * w[:, :2],
        x.quantile(0.25, 1),
    ]
    got = [v.tolist() for v in values(*(y.sum().backward()[x] for y in chosen))]
    assert got == [
        [[3, 1, 2], [2, 3, 1]], [[0, 0, 1], [1, 0, 0]], [[0, 1, 0], [0, 0, 1]], [[1, 0, 2], [2, 1, 0]],
        [[0, 0.5, 0.5], [0.5, 0, 0.5]],
    ]  # fmt: skip


WRONG = [
    (lambda t: t.topk(4), "topk(f32[2, 3], 4): k=4 is not from 0 to 3, the size of dim 1"),
    (lambda t: t.kthvalue(0), "kthvalue(f32[2, 3], 0): k=0 is not from 1 to 3, the size of dim 1"),
    (lambda t: t.sort(2), "sort(f32[2, 3], 2): dim 2 is out of range for rank 2: use -2 to 1"),
    (lambda t: t[:0].median(0),
     "median(f32[0, 3], 0): dim 0 has no elements: check shape [0, 3]"),
    (lambda t: t.quantile(1.5), "quantile(f32[2, 3], 1.5): q=1.5 must be from 0 to 1: pass a fraction"),
    (lambda t: t.int().quantile(0.5), "quantile(i32[2, 3], 0.5): takes floats: cast with .float()"),
    (lambda t: t.quantile(0.5, interpolation="cubic"),
     "quantile(f32[2, 3], 0.5, interpolation='cubic'): interpolation='cubic' is unknown: use one of linear,"
     " lower, higher, midpoint, nearest"),
    (lambda t: fb.searchsorted(t, t[0]),
     "searchsorted(f32[2, 3], f32[3]): shapes [2, 3] and [3] do not match: sorted_sequence must have"
     " 1 dim, or the same dims but for the last"),
    (lambda t: fb.searchsorted(t[0], t, side="up"),
     "searchsorted(f32[3], f32[2, 3], side='up'): side='up' is unknown: use 'left' or 'right'"),
    (lambda t: fb.searchsorted(t[0], t, side="left", right=True),
     "searchsorted(f32[3], f32[2, 3], side='left', right=True): side='left' contradicts"
     " right=True: pass one of them"),
    (lambda t: fb.bucketize(t, t), "bucketize(f32[2, 3], f32[2, 3]): boundaries must have 1 dim, not 2"),
    (lambda t: t.bincount(), "bincount(f32[2, 3]): takes integers of 1 dim: cast with .int(), flatten with"
     " .reshape(-1)"),
    (lambda t: (t[0].int() - 9).bincount(),
     "bincount(i32[3]): -9 is below 0: bincount takes numbers of at least 0"),
    (lambda t: t.histc(0), "histc(f32[2, 3], 0): bins=0 is not above 0: pass 1 or more"),
    (lambda t: t.histc(3, 2, 1), "histc(f32[2, 3], 3, 2, 1): max=1 is below min=2: swap them"),
    (lambda t: t.diff(-1), "diff(f32[2, 3], -1): n=-1 is below 0"),
]  # fmt: skip


@pytest.mark.parametrize("wrong, text", WRONG, ids=[text.split("(")[0] for _, text in WRONG])
def test_what_is_refused(wrong, text):
    with pytest.raises((ValueError, TypeError, IndexError)) as caught:
        wrong(fb.zeros(2, 3, device="cpu"))
    assert str(caught.value) == text


PACKED = [fb.float16, fb.bfloat16, fb.int8, fb.uint8]


@pytest.mark.parametrize("dtype", in_turn(PACKED, 2), ids=lambda d: d.name)
@pytest.mark.share(5)
def test_packed_dtypes(dtype, planned):
    t = fb.tensor(np.random.default_rng(5).integers(0, 30, (2, 2100)), device=planned).to(dtype)
    x = t.float().numpy()
    made = t.sort(1)[0], t.topk(3)[0], t.median(1)[0], t.cummax(1)[0], t.unique(), t.masked_select(t > 9)
    assert all(y.dtype is dtype for y in made)
    wanted = [
        np.sort(x, 1), np.sort(x, 1)[:, :-4:-1], np.sort(x, 1)[:, 1049], np.maximum.accumulate(x, 1),
        np.unique(x), x[x > 9],
    ]  # fmt: skip
    for got, want in zip(values(*(y.float() for y in made)), wanted):
        assert np.array_equal(got, want)
    assert np.array_equal(fb.searchsorted(t[0].msort(), t).numpy(), np.searchsorted(np.sort(x[0]), x))


def test_gradient_of_a_sort_in_half(device):
    x = fb.tensor([[3.0, 1.0, 2.0]], device=device).to(fb.float16).requires_grad_()
    got = (x.sort(1)[0] * fb.arange(3, device=device)).sum().backward()[x]
    assert got.dtype is fb.float16 and got.tolist() == [[2, 0, 1]]


def test_lines_of_one_element_are_in_order_already():
    """No kernel finds their order; a sort of 7,801,778 such lines took twice what PyTorch takes."""
    x = leaf(5, 1, 3)
    for y in (x.sort(1)[0], x.median(1)[0], x.argsort(1)):
        assert not any("argsort" in name for name in names_of(y))
    values, places = fb.tensor([[3.0], [float("nan")], [-1.0]]).sort(1, descending=True)
    assert str(values.tolist()) == "[[3.0], [nan], [-1.0]]" and places.tolist() == [[0], [0], [0]]
    with pytest.raises(TypeError):
        fb.ones(3, 1, dtype=fb.complex64).sort(1)
