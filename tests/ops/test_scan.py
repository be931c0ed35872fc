"""Scans of every layout that has a launch of its own, with the kernels of both sorts of adapter."""

import numpy as np
import pytest
from helpers.compare import check, values
from helpers.draws import in_turn
from helpers.kernels import planned_for
from references.order import latest_extreme

import flambeau as fb

# (shape, dim): rows of a tile, rows of several, one long row, columns, few columns, nothing, a single element
LAYOUTS = [
    ((5,), 0), ((0,), 0), ((1,), 0), ((3, 0, 2), 1), ((0, 4), 1), ((7, 33), 0), ((3, 4, 5), 1),
    ((2, 2047), 1),
    ((1, 2048), 1), ((2, 2049), 1), ((100000,), 0), ((3, 70001), 1), ((520, 2100), 1), ((70000, 3), 1),
    ((3000, 2, 3), 0), ((2, 40000, 2), 1), ((66000, 2), 0),
]  # fmt: skip


@pytest.fixture(params=[True, False], ids=["cpu-adapter", "real-gpu"])
def planned(request, gpu):
    with planned_for(gpu, request.param):
        yield gpu


def latest(x, dim):
    """Places of the largest whole number so far, the latest of equals: NumPy's way, for a million of them."""
    n = x.shape[dim]
    at = np.arange(n).reshape([-1 if i == dim % x.ndim else 1 for i in range(x.ndim)])
    return (np.maximum.accumulate(x.astype("i8") * max(n, 1) + at, dim) % max(n, 1)).astype("i4")


def test_the_quick_reference_is_the_plain_one():
    x = np.random.default_rng(3).integers(-3, 4, (5, 60))
    for dim in (0, 1):
        assert np.array_equal(latest(x, dim), latest_extreme(x, dim, np.greater_equal)[1])


@pytest.mark.parametrize("shape, dim", in_turn(LAYOUTS, 2), ids=str)
@pytest.mark.share(5)
def test_layouts(shape, dim, planned):
    rng = np.random.default_rng(0)
    x = rng.integers(-5, 6, shape).astype("i4")
    t = fb.tensor(x, device=planned)
    made = t.cumsum(dim), (t * 2 + 1).cumsum(dim), t.cummax(dim)[1], t.cummin(dim)[1]
    wanted = [np.cumsum(x, dim), np.cumsum(x * 2 + 1, dim)]
    wanted += [latest(x, dim), latest(-x, dim)]
    for got, want in zip(values(*made), wanted):
        check(got, want, 0, f"{shape} along {dim}")


@pytest.mark.parametrize("shape, dim", [((100000,), 0), ((3, 5000), 1), ((5000, 2), 0)], ids=str)
def test_floats(shape, dim, planned):
    rng = np.random.default_rng(1)
    x, near = rng.normal(size=shape).astype("f4"), (1 + 1e-3 * rng.normal(size=shape)).astype("f4")
    t = fb.tensor(x, device=planned)
    sums, logs, products = values(
        t.cumsum(dim), t.logcumsumexp(dim), fb.tensor(near, device=planned).cumprod(dim)
    )
    wide = x.astype("f8")
    check(sums, np.cumsum(wide, dim), 1e-4 * np.sqrt(shape[dim]) / 10)
    check(logs, np.logaddexp.accumulate(wide, dim), 1e-5)
    check(products, np.cumprod(near.astype("f8"), dim), 1e-4)


@pytest.mark.share(2)
def test_more_workgroups_than_one_dim_has(planned):
    x = np.ones((65536 * 64 + 5, 1), "i4")
    got = fb.tensor(x, device=planned).expand(-1, 2).cumsum(1).numpy()
    assert (got == [1, 2]).all()


def test_nan_and_infinities(device):
    x = np.array([1, np.inf, -2, np.nan, 5, np.nan, -np.inf], "f4")
    t = fb.tensor(x, device=device)
    top, low, logs = t.cummax(0), t.cummin(0), t.logcumsumexp(0)
    found = values(
        *top, *low, logs, fb.tensor([-np.inf, -np.inf, 0.0, np.inf], device=device).logcumsumexp(0)
    )
    want = [*latest_extreme(x, 0, np.greater_equal), *latest_extreme(x, 0, np.less_equal)]
    for got, expected in zip(found, want):
        check(got, expected, 0)
    check(found[4][:3], np.array([1, np.inf, np.inf]), 0)
    assert np.isnan(found[4][3:]).all()
    check(found[5], np.array([-np.inf, -np.inf, 0, np.inf]), 0)


def test_equal_elements_give_the_latest_place(device):
    t = fb.tensor([0.0, -0.0, 0.0, -1.0, 0.0], device=device)
    assert [v.tolist() for v in values(t.cummax(0)[1], t.cummin(0)[1])] == [[0, 1, 2, 2, 4], [0, 1, 2, 3, 3]]


def test_scalars_keep_their_shape(device):
    t = fb.tensor(3.0, device=device)
    found = values(t.cumsum(0), t.cumprod(-1), *t.cummax(0))
    assert [v.tolist() for v in found] == [3.0, 3.0, 3.0, 0]


def test_gradient_of_cumprod_with_zeros(device):
    for line in ([2.0, 0.0, 3.0, 4.0], [0.0, 2.0, 0.0, 3.0], [0.0, 0.0], [1.0, 2.0, 0.0]):
        x = fb.tensor(line, device=device, requires_grad=True)
        w = np.arange(1, len(line) + 1)
        got = (x.cumprod(0) * fb.tensor(w, device=device)).sum().backward()[x].numpy()
        others = [[np.prod([v for k, v in enumerate(line[: i + 1]) if k != j]) for i in range(len(line))]
                  for j in range(len(line))]  # fmt: skip
        want = [sum(w[i] * others[j][i] for i in range(j, len(line))) for j in range(len(line))]
        check(got, np.array(want), 1e-6, f"{line}")


def test_second_gradient_of_cumprod_across_a_zero(device):
    x = fb.tensor([2.0, 0.0, 3.0], device=device, requires_grad=True)
    first = x.cumprod(0).sum().backward(create_graph=True)[x]
    got = first[2].backward()[x].numpy()  # d/dx of (the slope by the third element) = x0 * x1
    check(got, np.array([0.0, 2.0, 0.0]), 1e-6)
