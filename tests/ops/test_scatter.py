"""Scatters of every kind and size against NumPy: order, repeats, joins, gradients, and what they cost."""

import numpy as np
import pytest
from helpers.compare import check, values
from helpers.kernels import planned_for
from helpers.views import mixed
from references.index import by_slices, scattered

import flambeau as fb

JOINS = ["sum", "prod", "mean", "amax", "amin"]
SHAPES = [(10, 40, 3), (1, 700, 2), (900, 1, 1), (3, 2000, 1), (50, 9, 33), (4, 4200, 5)]


def made(rows, count, width, skewed=False):
    """A tensor, places that repeat (most of them the same, if skewed), and sources, some of them zero."""
    rng = np.random.default_rng(count + width)
    index = rng.integers(0, rows, count).astype("i4")
    if skewed:
        index[: count * 9 // 10] = index[0]
    x, src = (rng.uniform(0.7, 1.4, s).astype("f4") for s in ((rows, width), (count, width)))
    return x, index, np.where(rng.random(src.shape) < 0.9, src, 1).astype("f4")


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_are_added(shape, skewed, device):
    x, index, src = made(*shape, skewed)
    ours = [fb.tensor(v, device=device) for v in (x, index, src)]
    want = x.astype("f8")
    np.add.at(want, index, src.astype("f8"))
    first, again = ours[0].index_add(0, ours[1], ours[2]).numpy(), ours[0].index_add(0, *ours[1:]).numpy()
    check(first, want, 2e-6 * max(1, shape[1] ** 0.5))
    assert first.tobytes() == again.tobytes()  # the order of the sum is fixed


def test_very_long_runs_are_joined_in_parts(gpu):
    x, index, src = made(3, 70_000, 2, skewed=True)
    y = fb.tensor(x, device=gpu).index_add(0, fb.tensor(index, device=gpu), fb.tensor(src, device=gpu))
    assert [k.name for k in y.plan()][-3:] == [
        "scatter_sorted.part0",
        "scatter_sorted.part1",
        "scatter_sorted",
    ]
    want = x.astype("f8")
    np.add.at(want, index, src.astype("f8"))
    check(y.numpy(), want, 1e-5)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_last_row_is_kept(shape, device):
    x, index, src = made(*shape)
    got = mixed(x, device).index_copy(0, fb.tensor(index, device=device), mixed(src, device))
    x[index] = src
    check(got.numpy(), x, 0)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", JOINS)
@pytest.mark.parametrize("dim", [0, -1])
def test_scatter_reduce(reduce, include_self, dim, device):
    rng = np.random.default_rng(3)
    x, src = rng.normal(size=(4, 5, 3)).astype("f4"), rng.normal(size=(6, 6, 6)).astype("f4")
    shape = [3, 5, 2]
    shape[dim] = 6
    index = rng.integers(0, x.shape[dim], shape)
    x[0, 0], src[1] = 0, 0  # prod of zeros
    ours = [fb.tensor(v, device=device) for v in (x, index, src)]
    got = ours[0].scatter_reduce(dim, ours[1], ours[2], reduce, include_self=include_self)
    check(
        got.numpy(), scattered(x.astype("f8"), index, src.astype("f8"), dim % 3, reduce, include_self), 2e-6
    )


@pytest.mark.parametrize("kind", ["i4", "u4", "?"])
@pytest.mark.parametrize("reduce", JOINS)
def test_integers_and_bools(reduce, kind, device):
    if kind == "?" and reduce == "mean":
        return
    rng = np.random.default_rng(4)
    low, high = (0, 2) if kind == "?" else (0 if kind == "u4" else -3, 4)
    x, src = (rng.integers(low, high, s).astype(kind) for s in ((5, 2), (20, 2)))
    index = rng.integers(0, 5, 20)
    got = fb.tensor(x, device=device).index_reduce(0, index, fb.tensor(src, device=device), reduce)
    want = by_slices(x.astype("i8"), index, src.astype("i8"), 0, reduce)
    want = np.floor(want) if reduce == "mean" else want
    check(got.numpy(), want.astype(kind), 0)


def test_gradients_where_products_have_zeros(device):
    """The product of the others, also where one factor is 0, and nothing where two are."""
    x = fb.tensor([2.0, 0.0, 3.0], device=device, requires_grad=True)
    v = fb.tensor([5.0, 0.0, 7.0, 0.0, 4.0], device=device, requires_grad=True)
    y = x.scatter_reduce(0, [0, 0, 1, 2, 1], v, "prod")
    grads = y.sum().backward()
    assert y.tolist() == [0.0, 0.0, 0.0]
    assert grads[x].tolist() == [0.0, 28.0, 0.0] and grads[v].tolist() == [0.0, 10.0, 0.0, 3.0, 0.0]


def test_gradients_of_extremes_are_shared(device):
    x = fb.tensor([1.0, 5.0], device=device, requires_grad=True)
    v = fb.tensor([4.0, 4.0, 5.0, 2.0], device=device, requires_grad=True)
    grads = x.scatter_reduce(0, [0, 0, 1, 1], v, "amax").sum().backward()
    assert grads[x].tolist() == [0.0, 0.5] and grads[v].tolist() == [0.5, 0.5, 0.5, 0.0]


def test_numbers_as_sources(device):
    x = fb.zeros(3, device=device)
    assert x.scatter(0, [0, 2], 5).tolist() == [5.0, 0.0, 5.0]
    assert x.int().scatter_add(0, [2, 2], 4).tolist() == [0, 0, 8]
    assert x.bool().scatter(0, [1], True).tolist() == [False, True, False]


ND = {"none": "assign", "add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@pytest.mark.parametrize("reduce", ND)
def test_scatter_nd_and_back(reduce, device):
    from references.index import nd_scattered

    rng = np.random.default_rng(5)
    x, updates = rng.normal(size=(3, 4, 2)).astype("f4"), rng.normal(size=(2, 9, 2)).astype("f4")
    indices = rng.integers(-3, 3, (2, 9, 2))
    ours = [fb.tensor(v, device=device) for v in (x, indices, updates)]
    got = ours[0].scatter_nd(ours[1], ours[2], reduce)
    check(got.numpy(), nd_scattered(x.astype("f8"), indices, updates, reduce), 2e-6)
    check(got.gather_nd(indices[..., :1]).numpy(), got.numpy()[indices[..., 0]], 0)


def test_an_embedding_gradient_costs_no_more_than_it_reads(gpu):
    """One kernel finds each row's sources: nothing of vocabulary x indices is made."""
    table = fb.zeros(5000, 8, device=gpu).requires_grad_()
    index = fb.tensor(np.arange(64) * 71 % 5000, device=gpu)
    g = fb.nn.functional.embedding(index, table).square().sum().backward()[table]
    names = [k.name for k in g.plan()]
    assert "scatter_sorted" in names and len(names) <= 7, names


def test_a_gradient_of_few_indices_stays_fused(gpu):
    x = fb.ones(64, 10, device=gpu).requires_grad_()
    target = fb.tensor(np.arange(64) % 10, device=gpu).reshape(-1, 1)
    g = x.log_softmax(1).gather(1, target).sum().backward()[x]
    assert not [k.name for k in g.plan() if "scatter" in k.name or "sort" in k.name]


def test_index_tensors_of_every_dtype(device):
    x = fb.arange(300.0, device=device)
    for kind in ("i32", "u32"):
        index = fb.tensor([0, 255, 7], dtype=kind, device=device)
        ones = fb.zeros(300, device=device).index_add(0, index, fb.ones(3, device=device))
        made = [x[index], x.index_select(0, index), x.gather(0, index), ones[index]]
        got = values(*made)
        assert [v.tolist() for v in got] == [[0.0, 255.0, 7.0]] * 3 + [[1.0] * 3]


@pytest.mark.parametrize("software", [True, False], ids=["cpu-adapter", "real-gpu"])
@pytest.mark.parametrize("dim", [0, 1])
def test_large_parts_are_joined_each_by_itself(software, dim, gpu):
    x = np.random.default_rng(3).random((520, 70), "f4")
    with planned_for(gpu, software):
        t = fb.tensor(x, device=gpu)
        parts = [t, t * 2, t.flip(0), t.flip(1), t]
        small = t[:1] if dim == 0 else t[:, :1]
        got = fb.cat([*parts, small, small], dim)
        # a GPU takes t and t * 2 at once, and t with the small ones; small columns are copied first
        assert len(got.plan()) == (6 if software else 5) + 2 * dim
        small = x[:1] if dim == 0 else x[:, :1]
        want = np.concatenate([x, x * 2, x[::-1], x[:, ::-1], x, small, small], dim)
        assert np.array_equal(got.numpy(), want)


@pytest.mark.parametrize("software", [True, False], ids=["cpu-adapter", "real-gpu"])
@pytest.mark.parametrize("count", [9, 9000, 20001])
@pytest.mark.parametrize("bins", [5, 4096, 10000])
def test_counts(software, count, bins, gpu):
    x = np.random.default_rng(4).integers(0, bins + 3, count).astype("i4")
    with planned_for(gpu, software):
        got = fb.tensor(x, device=gpu).bincount(length=bins).numpy()
    assert np.array_equal(got, np.bincount(x[x < bins], minlength=bins))


@pytest.mark.parametrize("software", [True, False], ids=["cpu-adapter", "real-gpu"])
@pytest.mark.parametrize("width", [1, 3, 8])
@pytest.mark.parametrize("rows", [2, 700, 5000])
@pytest.mark.share(5)
def test_many_sources(software, width, rows, gpu):
    rng = np.random.default_rng(5)
    x, src = rng.normal(size=(rows, width)).astype("f4"), rng.normal(size=(5000, width)).astype("f4")
    index = rng.integers(0, rows, 5000).astype("i4")
    added, put = x.astype("f8"), x.copy()
    np.add.at(added, index, src)
    put[index] = src
    with planned_for(gpu, software):
        ours = [fb.tensor(v, device=gpu) for v in (x, index, src)]
        assert np.array_equal(ours[0].index_copy(0, ours[1], ours[2]).numpy(), put)
        check(ours[0].index_add(0, ours[1], ours[2]).numpy(), added, 2e-5)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "complex64"])
@pytest.mark.share(5)
def test_products_of_two_words(dtype, kernels):
    rng = np.random.default_rng(6)
    for rows, count, width in ((3, 5, 1), (7, 40, 3), (4, 2, 2)):
        x, src = rng.integers(-9, 9, (rows, width)), rng.integers(-9, 9, (count, width))
        x, src = (a + 1j * a[::-1] if dtype == "complex64" else a for a in (x, src))
        x, src, index = x.astype(dtype), src.astype(dtype), rng.integers(0, rows, count)
        want = x.copy()
        np.multiply.at(want, index, src)
        t, u, i = (fb.tensor(a, device=kernels) for a in (x, src, index))
        got = t.index_reduce(0, i, u, "prod")
        assert got.dtype.name == dtype
        if dtype == "complex64":
            np.testing.assert_allclose(got.numpy(), want, rtol=3e-5)
        else:
            assert (got.numpy() == want).all()
        again = t.scatter_reduce(0, i.unsqueeze(1).expand(count, width), u, "prod")
        assert (again == got).all().item()


def test_the_gradient_of_a_complex_product(kernels):
    x = fb.tensor([1 + 2j, 3 - 1j, 2j], device=kernels, requires_grad=True)
    u = fb.tensor([2 - 1j, 1j + 0.5, 3], device=kernels, requires_grad=True)
    by = fb.tensor([1j, 2, 1 + 1j], device=kernels)
    y = x.scatter_reduce(0, fb.tensor([0, 0, 2], device=kernels), u, "prod")
    same = fb.stack([x[0] * u[0] * u[1], x[1], x[2] * u[2]])
    got, want = ((t * by).real.sum().backward() for t in (y, same))
    for t in (x, u):
        np.testing.assert_allclose(got[t].numpy(), want[t].numpy(), rtol=1e-5, atol=1e-5)
