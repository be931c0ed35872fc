"""Shapes: reductions over every set of dims, products, convolutions and pools over theirs."""

from itertools import combinations

import numpy as np
import pytest
from helpers.compare import check, values
from helpers.views import mixed, sliced, transposed
from references.base import avg_pool, conv, max_pool

import flambeau as fb

RNG = np.random.default_rng(21)


def normal(*shape):
    return RNG.normal(size=shape).astype("f4")


def on(device, *arrays):
    return [fb.tensor(a, device=device) for a in arrays]


REDUCED = [(2, 3, 4), (1, 5, 1), (70, 3), (3, 70), (1, 300), (300, 1), (5, 1, 7, 2), (64, 64), (1,), (129,)]


@pytest.mark.parametrize("name", ["sum", "amax", "prod", "mean"])
def test_reductions_over_every_set_of_dims(name, device):
    made, wanted = [], []
    for shape in REDUCED:
        a = (1 + 0.1 * normal(*shape)).astype("f4")
        (x,) = on(device, a)
        for k in range(1, len(shape) + 1):
            for dims in combinations(range(len(shape)), k):
                made.append(getattr(x, name)(dims))
                wanted.append(getattr(np, name)(a.astype("f8"), axis=dims))
    for got, want in zip(values(*made), wanted):
        check(got, want, 2e-5, name)


@pytest.mark.parametrize(
    "shape", [(300_000,), (3, 100_000), (100_000, 3), (547, 548), (20, 1, 15_000)], ids=str
)
def test_large_reductions(shape, gpu):
    a = normal(*shape)
    (x,) = on(gpu, a)
    made, wanted = (
        [x.sum(), x.amax(), x.mean(), x.argmax()],
        [a.sum(dtype="f8"), a.max(), a.mean(dtype="f8"), a.argmax()],
    )
    for d in range(len(shape)):
        made += [x.sum(d), x.amin(d), x.argmin(d)]
        wanted += [a.sum(d, dtype="f8"), a.min(d), a.argmin(d)]
    for got, want in zip(values(*made), wanted):
        check(got, np.asarray(want), 2e-3 if got.dtype.kind == "f" else 0, f"{shape}")


def test_large_reductions_of_views_and_their_gradients(gpu):
    a = normal(600, 500)
    x = fb.tensor(a, device=gpu, requires_grad=True)
    loss = (x.T[::2] * 2 + 1).exp().sum(1).log().mean()
    e = np.exp(a.astype("f8").T[::2] * 2 + 1)
    want = np.zeros((600, 500))
    want[:, ::2] = (2 * e / e.sum(1, keepdims=True) / 250).T
    got, g = values(loss, loss.backward()[x])
    check(got, np.log(e.sum(1)).mean(), 1e-5)
    check(g, want, 1e-6)


def test_empty_reductions(device):
    x = fb.zeros(0, 3, device=device)
    made = [x.sum(), x.sum(0), x.prod(), x.sum(1), x.mean(), x.all(), x.any()]
    got = [v.tolist() for v in values(*made)]
    assert got[:4] == [0.0, [0.0] * 3, 1.0, []] and np.isnan(got[4]) and got[5:] == [True, False]


def test_extremes_of_special_values(device):
    (x,) = on(device, np.array([[-np.inf, -np.inf], [np.nan, 1], [np.inf, 3]], "f4"))
    top, low, at = values(x.amax(1), x.amin(1), x.argmax(1))
    check(top, np.array([-np.inf, np.nan, np.inf]), 0)
    check(low, np.array([-np.inf, np.nan, 3]), 0)
    assert at.tolist() == [0, 0, 0]


def test_arg_extremes_take_the_first_among_equals(device):
    (x,) = on(device, np.array([[1, 3, 3, 0], [2, 2, 2, 2]], "f4"))
    assert [v.tolist() for v in values(x.argmax(1), x.argmin(1), x.argmax())] == [[1, 0], [3, 0], 1]


MATMULS = [
    ((5,), (5,)), ((3,), (3, 4)), ((4, 3), (3,)), ((2, 3), (3, 4)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)),
    ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((1, 3, 4), (7, 4, 2)),
    ((2, 3, 1, 4), (2, 3, 4, 1)), ((1, 1), (1, 1)), ((1, 70), (70, 1)), ((70, 1), (1, 70)),
    ((65, 67), (67, 69)), ((17, 33), (33, 7)), ((64, 64), (64, 64)), ((3, 5, 64), (64, 10)), ((0, 3), (3, 2)),
    ((2, 0), (0, 3)), ((2, 3), (3, 0)),
]  # fmt: skip


def test_matmul_of_all_ranks(device):
    made, wanted = [], []
    for s, t in MATMULS:
        a, b = normal(*s), normal(*t)
        x, y = on(device, a, b)
        made.append(x @ y)
        wanted.append(a.astype("f8") @ b.astype("f8"))
    for got, want, shapes in zip(values(*made), wanted, MATMULS):
        check(got, want, 2e-5, f"{shapes}")


@pytest.mark.parametrize("view", [transposed, sliced, mixed], ids=lambda f: f.__name__)
def test_matmul_of_views(view, gpu):
    for s, t in [((33, 17), (17, 21)), ((2, 5, 7), (2, 7, 3)), ((9,), (9, 11))]:
        a, b = normal(*s), normal(*t)
        made = [
            view(a, gpu) @ fb.tensor(b, device=gpu),
            fb.tensor(a, device=gpu) @ view(b, gpu),
            view(a, gpu) @ view(b, gpu),
        ]
        for got in values(*made):
            check(got, a.astype("f8") @ b.astype("f8"), 2e-5, f"{s} @ {t}")


@pytest.mark.parametrize("s, t", MATMULS[:15], ids=str)
@pytest.mark.share(2)
def test_matmul_gradients(s, t, gpu):
    a, b = normal(*s), normal(*t)
    x, y = (fb.tensor(v, device=gpu, requires_grad=True) for v in (a, b))
    w = normal(*np.shape(a @ b))
    grads = (x @ y * fb.tensor(w, device=gpu)).sum().backward()
    a2 = a.astype("f8") if a.ndim > 1 else a[None].astype("f8")
    b2 = b.astype("f8") if b.ndim > 1 else b[:, None].astype("f8")
    w2 = w.reshape((a2 @ b2).shape)
    wanted = [summed(w2 @ b2.swapaxes(-1, -2), a2.shape), summed(a2.swapaxes(-1, -2) @ w2, b2.shape)]
    for got, want, like in zip(values(grads[x], grads[y]), wanted, (a, b)):
        check(got, want.reshape(like.shape), 5e-5)


def summed(g, shape):
    """Sum over what was broadcast."""
    g = g.sum(tuple(range(g.ndim - len(shape))))
    return g.sum(tuple(d for d, n in enumerate(shape) if n == 1 and g.shape[d] != 1), keepdims=True)


def test_matmul_of_integers(device):
    a, b = RNG.integers(-99, 99, (5, 7)), RNG.integers(-99, 99, (7, 3))
    x, y = on(device, a, b)
    assert (x @ y).dtype is fb.int64 and np.array_equal((x @ y).numpy(), a @ b)


CONVS = {
    1: [((2, 3, 9), (4, 3, 3), {}), ((1, 4, 12), (6, 2, 3), dict(stride=2, padding=2, groups=2)),
        ((2, 2, 11), (2, 1, 2), dict(dilation=3, groups=2)), ((1, 1, 1), (1, 1, 1), {})],
    2: [((2, 3, 6, 7), (4, 3, 3, 3), dict(padding=1)), ((1, 2, 8, 8), (3, 2, 1, 1), dict(stride=2)),
        ((1, 4, 7, 9), (8, 1, 3, 2), dict(stride=(2, 3), padding=(1, 0), groups=4)),
        ((2, 1, 9, 9), (2, 1, 3, 3), dict(dilation=(2, 1), padding=2)), ((1, 2, 5, 5), (2, 2, 5, 5), {}),
        ((1, 2, 4, 4), (2, 2, 3, 3), dict(padding=3))],
    3: [((1, 2, 4, 5, 4), (3, 2, 2, 3, 2), dict(padding=1)),
        ((2, 2, 5, 5, 5), (2, 1, 2, 2, 2), dict(stride=2, groups=2))],
}  # fmt: skip


@pytest.mark.parametrize("nd", CONVS)
def test_convolutions(nd, device):
    made, wanted = [], []
    for s, t, kw in CONVS[nd]:
        a, b = normal(*s), normal(*t)
        made.append(getattr(fb.nn.functional, f"conv{nd}d")(*on(device, a, b), **kw))
        wanted.append(conv(a.astype("f8"), b.astype("f8"), **kw))
    for got, want, case in zip(values(*made), wanted, CONVS[nd]):
        check(got, want, 2e-5, f"{case}")


@pytest.mark.parametrize("nd", CONVS)
@pytest.mark.share(2)
def test_convolution_gradients(nd, gpu):
    for s, t, kw in CONVS[nd]:
        a, b = normal(*s), normal(*t)
        x, y = (fb.tensor(v, device=gpu, requires_grad=True) for v in (a, b))
        out = getattr(fb.nn.functional, f"conv{nd}d")(x, y, **kw)
        w = normal(*out.shape)
        grads = (out * fb.tensor(w, device=gpu)).sum().backward()
        u, v = normal(*s), normal(*t)  # convolution is linear in each: slopes are exact
        got = values((grads[x] * fb.tensor(u, device=gpu)).sum(), (grads[y] * fb.tensor(v, device=gpu)).sum())
        f8 = [z.astype("f8") for z in (a, b, u, v, w)]
        check(got[0], (conv(f8[2], f8[1], **kw) * f8[4]).sum(), 1e-4, f"{s} by x {kw}")
        check(got[1], (conv(f8[0], f8[3], **kw) * f8[4]).sum(), 1e-4, f"{t} by w {kw}")


POOLS = [dict(kernel_size=2), dict(kernel_size=3, stride=1), dict(kernel_size=3, stride=2, padding=1),
         dict(kernel_size=(2, 3), stride=(1, 2), padding=(1, 1))]  # fmt: skip


def test_pools(device):
    a = normal(2, 3, 8, 9) - 3
    (x,) = on(device, a)
    f = fb.nn.functional
    made, wanted = [], []
    for kw in POOLS:
        made += [f.max_pool2d(x, **kw), f.avg_pool2d(x, **kw), f.avg_pool2d(x, count_include_pad=False, **kw)]
        wanted += [max_pool(a, **kw), avg_pool(a, **kw), avg_pool(a, count_include_pad=False, **kw)]
    made.append(f.max_pool2d(x, 3, dilation=2, padding=1))
    wanted.append(max_pool(a, 3, dilation=2, padding=1))
    for got, want in zip(values(*made), wanted):
        check(got, want, 1e-6)


def test_max_pool_gives_its_gradient_to_the_first_largest(device):
    x = fb.tensor([[[1.0, 3.0, 3.0, 0.0]]], device=device, requires_grad=True)
    f = fb.nn.functional
    apart, over = f.max_pool1d(x, 2), f.max_pool1d(x, 3, 1)
    assert apart.sum().backward()[x].tolist() == [[[0, 1, 1, 0]]]
    assert over.sum().backward()[x].tolist() == [[[0, 2, 0, 0]]]


def test_max_pool_of_infinities(device):
    (x,) = on(device, np.array([[[-np.inf, -np.inf, 1, np.nan]]], "f4"))
    check(fb.nn.functional.max_pool1d(x, 2).numpy(), np.array([[[-np.inf, np.nan]]]), 0)
