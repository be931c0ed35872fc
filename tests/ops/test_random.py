"""Generators, replays and moments: what rows of the random family, which fix a seed, do not see."""

import numpy as np
import pytest
from references.base import philox

import flambeau as fb


def test_generators_are_streams_of_their_own(device):
    fb.manual_seed(1)
    a, b = fb.Generator(5), fb.Generator(5)
    first = fb.rand(6, generator=a, device=device)
    fb.rand(9, device=device)
    assert first.equal(fb.rand(6, generator=b, device=device))
    assert (first.numpy() == (philox(5, 6) >> 8) * 2.0**-24).all()
    state = a.get_state()
    more = fb.rand(6, generator=a, device=device)
    assert not more.equal(first) and fb.rand(6, generator=a.set_state(state), device=device).equal(more)
    assert a.initial_seed() == 5 and a.seed() == a.initial_seed()


def test_a_replay_draws_anew_from_its_generator(gpu):
    g = fb.Generator(3)
    draw = fb.jit(lambda x: fb.rand(4, generator=g, device=gpu) + x)
    x = fb.zeros(4, device=gpu)
    got = [draw(x).numpy() for _ in range(4)]
    want = (philox(3, 16) >> 8).reshape(4, 4) * 2.0**-24
    assert (np.stack(got) == want).all()


def test_moments(device):
    g, n = fb.Generator(2), 40_000
    kw = {"generator": g, "device": device}
    for made, mean, std in (
        (fb.uniform((n,), -1, 3, **kw), 1, 4 / 12**0.5), (fb.normal(2.0, 0.5, (n,), **kw), 2, 0.5),
        (fb.exponential((n,), 2.0, **kw), 0.5, 0.5), (fb.gumbel((n,), **kw), 0.5772, 1.2825),
        (fb.laplace((n,), 1.0, 2.0, **kw), 1, 2 * 2**0.5), (fb.geometric((n,), 0.25, **kw), 4, 12**0.5),
        (fb.log_normal((n,), 0.0, 0.5, **kw), 1.1331, 0.6039),
        (fb.bernoulli(fb.full((n,), 0.3, device=device), generator=g), 0.3, 0.21**0.5),
    ):  # fmt: skip
        x = made.numpy()
        assert abs(x.mean() - mean) < 5 * std / n**0.5 and abs(x.std() / std - 1) < 0.05


def test_multinomial_follows_weights(device):
    w = fb.tensor([[0.0, 1.0, 3.0], [1.0, 0.0, 0.0]], device=device)
    drawn = w.multinomial(4000, replacement=True, generator=fb.Generator(4)).numpy()
    assert abs((drawn[0] == 2).mean() - 0.75) < 0.03 and not (drawn[0] == 0).any() and not drawn[1].any()
    assert fb.multinomial(w[1], 1).tolist() == [0]
    orders = fb.full((500, 3), 1.0, device=device).multinomial(3, generator=fb.Generator(5)).numpy()
    assert (np.sort(orders, 1) == [0, 1, 2]).all() and abs((orders[:, 0] == 1).mean() - 1 / 3) < 0.1
    assert sorted(fb.randperm(1000, device=device).tolist()) == list(range(1000))


def test_like_keeps_and_takes_dtypes():
    x = fb.ones(2, 3, dtype=fb.int32, device="cpu")
    assert fb.rand_like(x).dtype is fb.float32 and fb.randint_like(x, 5).dtype is fb.int32
    assert fb.zeros_like(x, dtype=fb.float32).dtype is fb.float32
    assert fb.randn(2, requires_grad=True, device="cpu").requires_grad


@pytest.mark.parametrize("call, text", [
    (lambda: fb.rand(2, generator=7, device="cpu"),
     "rand(2, generator=7, device='cpu'): generator=7 is none: give a flambeau.Generator"),
    (lambda: fb.geometric((2,), 1.5, device="cpu"),
     "geometric((2,), 1.5, device='cpu'): p=1.5 is not inside 0 to 1: give a probability"),
    (lambda: fb.normal(device="cpu"), "normal(device='cpu'): numbers need a size: give size=(...)"),
    (lambda: fb.meshgrid(fb.ones(2, device="cpu"), indexing="yx"),
     "meshgrid(f32[2], indexing='yx'): indexing='yx' is unknown: use 'ij' or 'xy'"),
    (lambda: fb.ones(3, device="cpu").diagonal(), "diagonal(f32[3]): takes at least 2 dims: reshape it"),
    (lambda: fb.arange(1, 5, 0), "arange(1, 5, 0): step is 0: give another"),
])  # fmt: skip
def test_errors(call, text):
    with pytest.raises((ValueError, TypeError)) as e:
        call()
    assert str(e.value) == text


def test_triangles_of_any_shape(device):
    for row, col, k in [(0, 3, 0), (4, 4, 0), (5, 2, -1), (2, 6, 3), (3, 3, -5), (3, 3, 7), (300, 200, 17)]:
        low = fb.tril_indices(row, col, k, device=device).numpy()
        high = fb.triu_indices(row, col, k, device=device).numpy()
        assert (low == np.array(np.tril_indices(row, k, col))).all(), (row, col, k)
        assert (high == np.array(np.triu_indices(row, k, col))).all(), (row, col, k)


def test_empty_diagonals(device):
    x = fb.ones(2, 3, device=device)
    assert x.diagonal(3).shape == (0,) and x.diagonal(-2).shape == (0,)
    assert x.diagonal(2).tolist() == [1.0] and fb.ones(0, device=device).diag().shape == (0, 0)
