"""Indexing as NumPy does it, joins and splits, gradients through both, and random numbers."""

import numpy as np
import pytest
from helpers.compare import check, values
from helpers.kernels import planned_for
from references.base import philox

import flambeau as fb

A = np.arange(2 * 5 * 6, dtype="f4").reshape(2, 5, 6)
KEYS = [
    0, -1, slice(None), slice(1, 4), slice(None, None, -1), slice(3, None, -2), slice(-2, None), slice(4, 1),
    slice(0, 99), None, ..., (0, 1, 2), (1, slice(None), -1), (..., 0), (0, ...), (slice(None), None, 2),
    (..., None), (None, ..., None),
    (slice(None, None, -1), slice(1, None, 3), slice(None, None, -2)), (0, None, slice(4, 0, -3), ...),
    (slice(1, 1), 0), (slice(None), slice(5, None)),
]  # fmt: skip
PICKS = [
    ([1, 0, 1],), ([[0, 1], [1, 0]],), (slice(None), [4, 0, -1]), (..., [0, -6, 5]), ([0, 1], [2, 3]),
    ([[0], [1]], [1, 2, 3]), ([0, 1], slice(None), [4, 5]), (slice(None), [0, 1], [2, 3]),
    (slice(None), [[1], [2]], slice(1, 5, 2)), (0, [3, 3, 1]), (None, [1]),
    (slice(None, None, -1), [1, 2], slice(None)), ([], slice(2)),
]  # fmt: skip


def keyed(key, device):
    """The key with index lists as tensors, and as arrays."""
    ours = tuple(fb.tensor(np.array(k, "i4"), device=device) if isinstance(k, list) else k for k in key)
    return ours, tuple(np.array(k, "i4") if isinstance(k, list) else k for k in key)


def test_brackets(device):
    x = fb.tensor(A, device=device)
    for got, key in zip(values(*(x[k] for k in KEYS)), KEYS):
        check(got, A[key], 0, f"{key}")


FOURS = {  # how four neighbours are read, of a matrix or of one column for all
    "at once": (0, [5, 0, 5], 8),
    "each": (1, [7, 0, 0, 3, 3, 2, 1, 4], 8),
    "one for all": (0, [2, 0, 1, 1], 1),
}


@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "u1", "?"])
@pytest.mark.parametrize("how", FOURS)
def test_neighbours_of_a_gather(how, dtype, device):
    dim, index, columns = FOURS[how]
    a = (np.arange(6 * columns).reshape(6, columns) % 5).astype(dtype)
    x, i = fb.tensor(a, device=device).expand(6, 8), fb.tensor(np.array(index, "i4"), device=device)
    got, want = x.index_select(dim, i), np.take(np.broadcast_to(a, (6, 8)), index, dim)
    padded = fb.nn.functional.pad(got.float(), (4, 4, 1, 1))
    for y, right in zip(values(got, padded), (want, np.pad(want.astype("f4"), ((1, 1), (4, 4))))):
        check(y, right, 0, how)


def test_an_index_of_values_that_are_read_twice(gpu):
    """Each step of the walk to what differs between neighbours is taken once: 2^28 would not end."""
    a, i = np.arange(64, dtype="f4").reshape(8, 8), np.arange(8, dtype="i4")
    x, index = fb.tensor(a, device=gpu), fb.tensor(i[:, None], device=gpu).expand(8, 8)
    for _ in range(28):
        index, i = (index + index) % 7, (i + i) % 7
    check(values(x.gather(0, index) + 1)[0], a[i] + 1, 0, "gather")


@pytest.mark.parametrize("key", PICKS, ids=str)
def test_index_tensors(key, device):
    ours, theirs = keyed(key, device)
    check(fb.tensor(A, device=device)[ours].numpy(), A[theirs], 0, f"{key}")


def test_bracket_gradients(device):
    w = np.random.default_rng(0).normal(size=A.shape).astype("f4")
    pairs = [(k, k) for k in KEYS] + [keyed(k, device) for k in PICKS if k not in (([], slice(2)),)]
    made, wanted = [], []
    for ours, theirs in pairs:
        x = fb.tensor(A, device=device, requires_grad=True)
        y = x[ours]
        weights = np.resize(w, y.shape)
        made.append((y * fb.tensor(weights, device=device)).sum().backward()[x])
        want = np.zeros(A.shape)
        np.add.at(want, theirs, weights)
        wanted.append(want)
    for got, want, (key, _) in zip(values(*made), wanted, pairs):
        check(got, want, 1e-6, f"{key}")


def test_iteration_and_length(device):
    x = fb.tensor(A, device=device)
    assert len(x) == 2 and [row.shape for row in x] == [(5, 6), (5, 6)]
    with pytest.raises(TypeError) as e:
        len(x.sum())
    assert e.value.args[0] == "len(): a 0-d tensor has no length: use .item()"


def test_who_counts_from_the_end(device):
    x = fb.tensor([[10.0, 11.0, 12.0]], device=device)
    index = fb.tensor([[0, -1, -3]], device=device)
    for found in (
        x.take_along_dim(index, 1),
        x.take(index),
        x[:, index[0]],
        x.gather_nd([[[0, 0], [0, -1], [0, -3]]]),
    ):
        assert found.tolist() == [[10, 12, 10]]
    assert x.index_fill(1, index[0, :2], 0).tolist() == [[0, 11, 0]]
    for call in (x.gather, x.index_select):
        with pytest.raises(IndexError, match="index -1 is out of range for dim 1 of size 3"):
            call(1, [[-1]])


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gather_along_each_dim(dim, device):
    rng = np.random.default_rng(1)
    shape = [2, 4, 5]
    shape[dim] = 7
    index = rng.integers(0, A.shape[dim], shape)
    cut = tuple(slice(None) if d == dim % 3 else slice(n) for d, n in enumerate(shape))
    x = fb.tensor(A, device=device, requires_grad=True)
    y = x.gather(dim, fb.tensor(index, device=device))
    w = rng.normal(size=shape).astype("f4")
    got, g = values(y, (y * fb.tensor(w, device=device)).sum().backward()[x])
    check(got, np.take_along_axis(A[cut], index, dim), 0)
    want = np.zeros(A.shape)
    for at in np.ndindex(*shape):
        to = list(at)
        to[dim] = index[at]
        want[tuple(to)] += w[at]
    check(g, want, 1e-6)


def test_gather_from_a_computed_view(gpu):
    x, index = fb.tensor(A, device=gpu), np.array([[1, 3, 0]])
    base = (x.exp() * 0 + x).permute(2, 1, 0)[::-1, 1:]
    want = np.take_along_axis(A.transpose(2, 1, 0)[::-1, 1:][:1, :, :1], index[:, :, None], 1)
    check(base.gather(1, fb.tensor(index[:, :, None], device=gpu)).numpy(), want, 0)


def test_scatter_add_with_equal_indices(device):
    x = fb.zeros(3, device=device)
    index, src = (
        fb.tensor([0, 2, 0, 2, 0], device=device),
        fb.tensor([1.0, 2.0, 3.0, 4.0, 5.0], device=device),
    )
    assert x.scatter_add(0, index, src).tolist() == [9, 0, 6]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_cat_stack_split_chunk(dim, device):
    parts = [A, A[:, :, ::-1], A * 2]
    ours = [fb.tensor(A, device=device), fb.tensor(A, device=device).flip(2), fb.tensor(A, device=device) * 2]
    x, n = ours[0], A.shape[dim]
    made = [fb.cat(ours, dim), fb.stack(ours, dim), fb.stack(ours, -1)]
    made += [*fb.split(x, 2, dim), *fb.chunk(x, 3, dim), *fb.split(x, [1, n - 1], dim)]
    step = -(-n // 3)
    wanted = [np.concatenate(parts, dim), np.stack(parts, dim), np.stack(parts, -1)]
    for size in (2, step):
        wanted += [np.take(A, range(i, min(i + size, n)), dim) for i in range(0, n, size)]
    wanted += [np.take(A, range(0, 1), dim), np.take(A, range(1, n), dim)]
    assert len(made) == len(wanted)
    for got, want in zip(values(*made), wanted):
        check(got, want, 0)


def test_cat_of_many_dtypes_and_empties(device):
    x, y, z = (fb.tensor(v, device=device) for v in ([1, 2], [True], [0.5]))
    empty = fb.zeros(0, device=device)
    joined = fb.cat([x, empty, y, z])
    assert joined.dtype is fb.float32 and joined.tolist() == [1.0, 2.0, 1.0, 0.5]
    assert fb.cat([x, y]).dtype is fb.int64
    many = [fb.tensor([float(i)], device=device) for i in range(20)]
    assert fb.cat(many).tolist() == [float(i) for i in range(20)]


def test_cat_gradient_reaches_every_part(device):
    xs = [fb.tensor([float(i)] * (i + 1), device=device, requires_grad=True) for i in range(3)]
    grads = (fb.cat(xs) * fb.arange(6, device=device)).sum().backward()
    assert [grads[x].tolist() for x in xs] == [[0], [1, 2], [3, 4, 5]]


def test_padding_of_other_values(device):
    x = fb.tensor(np.array([[np.nan, np.inf]], "f4"), device=device)
    check(x.pad((1, 0), value=-1.0).numpy(), np.array([[-1, np.nan, np.inf]]), 0)
    assert fb.tensor([3], device=device).pad((1, 1), value=7).tolist() == [7, 3, 7]


# --- random numbers ---


def test_philox_known_answer(device):
    """Random123's kat_vectors: key 0, counter 0."""
    from flambeau.ops.random import drawn_bits

    known = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    fb.manual_seed(0)
    assert drawn_bits((4,), device).tolist() == known and philox(0, 4).tolist() == known


def test_philox_with_both_key_words(device):
    from flambeau.ops.random import drawn_bits

    seed = 0x123456789ABCDEF
    fb.manual_seed(seed)
    draws = [drawn_bits((n,), device) for n in (5, 3, 1001)]
    stream = philox(seed, 2000)
    starts = [0, 8, 12]  # a draw begins at a block of four words
    for got, start in zip(values(*draws), starts):
        assert np.array_equal(got, stream[start : start + len(got)])


@pytest.fixture(scope="module")
def drawn(gpu):
    """The same draws on both devices."""
    found = []
    for device in (gpu, "cpu"):
        fb.manual_seed(5)
        x = fb.rand(33, 7, device=device)
        made = [x, x.T[::2], fb.randint(10, size=(1000,), device=device), fb.randn(501, device=device)]
        found.append(values(*made))
    return found


def test_uniforms_and_integers_are_equal_on_every_device(drawn):
    for got, want in zip(drawn[0][:3], drawn[1][:3]):
        assert got.dtype == want.dtype and np.array_equal(got, want)


def test_normals_are_close_on_every_device(drawn):
    check(drawn[0][3], drawn[1][3], 1e-6)


def test_moments(device):
    fb.manual_seed(3)
    u, z, k = values(
        fb.rand(20000, device=device),
        fb.randn(20000, device=device),
        fb.randint(-2, 3, (20000,), device=device),
    )
    assert u.min() >= 0 and u.max() < 1
    assert abs(u.mean() - 0.5) < 0.01 and abs(u.var() - 1 / 12) < 0.003
    assert (
        abs(z.mean()) < 0.03
        and abs(z.std() - 1) < 0.02
        and abs((z**3).mean()) < 0.08
        and abs((z**4).mean() - 3) < 0.2
    )
    assert np.isfinite(z).all() and k.dtype == np.int64
    assert all(abs((k == v).mean() - 0.2) < 0.015 for v in range(-2, 3))


def test_draws_differ_and_seeds_repeat(device):
    fb.manual_seed(9)
    a, b = values(fb.rand(8, device=device), fb.rand(8, device=device))
    fb.manual_seed(9)
    again = fb.rand(8, device=device).numpy()
    assert np.array_equal(a, again) and not np.array_equal(a, b)


def test_dropout(device):
    f = fb.nn.functional
    x = fb.ones(10000, device=device).requires_grad_()
    fb.manual_seed(1)
    y = f.dropout(x, 0.25)
    got, g = values(y, y.sum().backward()[x])
    kept = got != 0
    assert abs(kept.mean() - 0.75) < 0.02 and np.allclose(got[kept], 4 / 3) and np.array_equal(got, g)
    assert f.dropout(x, 0.25, training=False) is x and f.dropout(x, 0) is x
    assert not f.dropout(x, 1.0).numpy().any()


@pytest.mark.parametrize("software", [True, False])
def test_masked_scatter_gives_slopes_to_all_that_it_takes(software, gpu):
    """Before the first place of the mask nothing was taken yet: what is there must cost no slope."""
    mask = np.zeros(300, bool)
    mask[40:] = np.arange(260) % 3 > 0
    with planned_for(gpu, software):
        x, source = (fb.ones(300, device=gpu).requires_grad_() for _ in range(2))
        weights = fb.arange(1, 301, device=gpu).float()
        grads = (x.masked_scatter(fb.tensor(mask, device=gpu), source) * weights).sum().backward()
        found, rest = grads[source].numpy(), grads[x].numpy()
    taken = np.flatnonzero(mask) + 1.0
    np.testing.assert_array_equal(found, [*taken, *[0.0] * (300 - len(taken))])
    np.testing.assert_array_equal(rest, np.where(mask, 0, np.arange(1, 301)))
