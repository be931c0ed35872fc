"""Generators, replays and moments: what rows of the random family, which fix a seed, do not see."""

import numpy as np
import pytest
from helpers.draws import in_turn
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
     "rand(2, generator=7, device='cpu'): generator=7 is not a Generator: pass a flambeau.Generator"),
    (lambda: fb.geometric((2,), 1.5, device="cpu"),
     "geometric((2,), 1.5, device='cpu'): p=1.5 is not between 0 and 1: pass a probability"),
    (lambda: fb.normal(device="cpu"), "normal(device='cpu'): numbers need a size: pass size=(...)"),
    (lambda: fb.meshgrid(fb.ones(2, device="cpu"), indexing="yx"),
     "meshgrid(f32[2], indexing='yx'): indexing='yx' is unknown: use 'ij' or 'xy'"),
    (lambda: fb.ones(3, device="cpu").diagonal(), "diagonal(f32[3]): takes at least 2 dims: reshape it"),
    (lambda: fb.arange(1, 5, 0), "arange(1, 5, 0): step is 0: pass another number"),
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


# low, high, dtype: ranges of up to 2^16 numbers, of 32 and of 64 bits, whole dtypes, floats that hold few
RANGES = [
    (0, 10, fb.int64), (-5, 70_000, fb.int32), (0, 2_000_000_000, fb.int64), (0, 2**32, fb.int64),
    (0, 2**32 - 1, fb.uint32), (-(2**31), 2**31, fb.int32), (2**40, 2**40 + 1000, fb.int64),
    (-3 * 2**60, 3 * 2**61, fb.int64), (-(2**63), 2**63, fb.int64), (2**63, 2**64, fb.uint64),
    (5, 2**64, fb.uint64), (0, 256, fb.uint8), (-128, 128, fb.int8), (-300, 30_000, fb.int16),
    (0, 65_536, fb.uint16), (0, 2**40, fb.float32), (2**24, 2**24 + 4000, fb.float32),
    (257, 2000, fb.bfloat16),
]  # fmt: skip
CHI_SQUARE_OF_9 = 27.9  # is exceeded once in a thousand


def shares(x, low, high):
    """The chi-square of how many elements lie in each tenth of [low, high)."""
    values = [int(v) for v in (x.float() if x.dtype is fb.bfloat16 else x).numpy().tolist()]
    assert low <= min(values) and max(values) < high
    counts = np.bincount([(v - low) * 10 // (high - low) for v in values], minlength=10)
    expected = (
        np.array(
            [
                len(range(low + -(-i * (high - low) // 10), low + -(-(i + 1) * (high - low) // 10)))
                for i in range(10)
            ]
        )
        / (high - low)
        * len(values)
        if high - low < 10**6
        else len(values) / 10
    )
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("low, high, dtype", RANGES)
def test_randint_is_even_in_any_range(low, high, dtype):
    x = fb.randint(low, high, (20_000,), dtype=dtype, generator=fb.Generator(11), device="cpu")
    assert x.dtype is dtype and shares(x, low, high) < CHI_SQUARE_OF_9


@pytest.mark.share(5)
def test_randint_is_the_same_on_all_devices(kernels):
    for low, high, dtype in in_turn((RANGES[2], RANGES[7], RANGES[10], RANGES[-1]), 2):
        ours, theirs = (
            fb.randint(low, high, (9,), dtype=dtype, generator=fb.Generator(3), device=d).tolist()
            for d in (kernels, "cpu")
        )
        assert ours == theirs, (low, high, dtype)


def test_randint_of_32_bits_is_a_product_of_64():
    """The upper half of the product of the range and two words of two draws."""
    n = 5
    w = philox(7, 16).astype(object)
    want = [int((w[8 + i] << 32 | w[i]) * 3_000_000_000 >> 64) for i in range(n)]
    got = fb.randint(0, 3_000_000_000, (n,), generator=fb.Generator(7), device="cpu")
    assert got.tolist() == want


DTYPE_ENDS = {fb.bool: 1, fb.uint8: 255, fb.int8: 127, fb.int16: 2**15 - 1, fb.int64: 2**63 - 1,
              fb.float16: 2**11, fb.bfloat16: 2**8, fb.float32: 2**24}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPE_ENDS)
def test_random_of_a_dtype(dtype):
    end, x = DTYPE_ENDS[dtype], fb.zeros(20_000, dtype=dtype, device="cpu")
    values = x.random_(generator=fb.Generator(5)).to(fb.float64).numpy()
    assert values.min() >= 0 and end * 0.99 <= values.max() <= end
    if end < 256:
        counts = np.bincount(values.astype(int), minlength=end + 1)
        assert (
            len(counts) == end + 1
            and ((counts / 20_000 * (end + 1) - 1) ** 2).mean() < 3 * (end + 1) / 20_000
        )


def test_random_takes_ends_as_pytorch():
    x = fb.zeros(400, device="cpu")
    assert set(x.random_(3).tolist()) == {0, 1, 2} == set(x.random_(**{"to": 3}).tolist())
    assert set(x.random_(-1, 2).tolist()) == {-1, 0, 1} == set(x.random_(**{"from": -1, "to": 2}).tolist())
    wide = fb.zeros(400, dtype=fb.int64, device="cpu").random_(-(2**63), None).numpy()
    assert wide.min() < -(2**62) and wide.max() > 2**62
    assert 2 <= x.uniform_(**{"from": 2, "to": 3}).numpy().min() <= x.numpy().max() < 3


@pytest.mark.parametrize("dtype, digits", [(fb.float16, 11), (fb.bfloat16, 8)])
def test_16_bits_stay_below_their_end(dtype, digits):
    kw = {"generator": fb.Generator(9), "device": "cpu"}
    x = fb.rand(200_000, dtype=dtype, **kw)
    assert x.dtype is dtype and x.float().max().item() == 1 - 2.0**-digits and x.float().min().item() == 0
    counts = np.bincount((x.float().numpy() * 2**digits).astype(int), minlength=2**digits)
    assert ((counts / counts.mean() - 1) ** 2).mean() < 1.5 / counts.mean()
    for low, high in ((1, 2), (-1, 1), (-3, -1), (0, 1e-3), (-2, 0)):
        y = fb.zeros(50_000, dtype=dtype, device="cpu").uniform_(low, high, generator=fb.Generator(2)).float()
        assert low <= y.min().item() + abs(low) * 2.0**-digits and y.max().item() < high
        assert abs(y.mean().item() - (low + high) / 2) < (high - low) * 0.01
    like = fb.rand_like(x)
    assert like.dtype is dtype and like.float().max().item() < 1
    fb.set_default_dtype(dtype)
    try:
        assert fb.rand(200_000, **kw).float().max().item() < 1
    finally:
        fb.set_default_dtype(fb.float32)


def test_uniform_has_no_upper_end(monkeypatch):
    """1 + (1 - 2^-24) rounds to 2 in float32."""
    from flambeau.ops import distribution

    monkeypatch.setattr(
        distribution, "uniform_bits", lambda *_, **__: fb.full((1,), 1 - 2.0**-24, device="cpu")
    )
    assert fb.uniform((1,), 1.0, 2.0, device="cpu").item() == 2 - 2.0**-23
    assert fb.zeros(1, device="cpu").uniform_(-2, -1).item() < -1
    assert fb.nn.init.uniform_(fb.zeros(1, device="cpu"), 1, 2).item() < 2
    assert fb.uniform((1,), 3.0, 3.0, device="cpu").item() == 3


def test_the_largest_float_below(torch):
    from flambeau.ops.distribution import below

    for ours, theirs in (
        (fb.float32, torch.float32),
        (fb.float16, torch.float16),
        (fb.bfloat16, torch.bfloat16),
    ):
        for value in (1.0, 2.0, -1.0, -2.0, 3.0, 1.7, -1.7, 0.001, 65504.0, 1000.0, -1000.0):
            held = torch.tensor(value, dtype=theirs)
            want = (
                torch.nextafter(held, torch.tensor(-torch.inf, dtype=theirs))
                if held.item() >= value
                else held
            )
            assert below(value, ours) == want.item(), (ours, value)
        assert below(2.0, ours, True) == 2 and below(0.0, ours) < 0 and below(0.0, ours, True) == 0


def test_rare_draws_are_finite(monkeypatch):
    """The lowest and the highest words that a stream can have: no logarithm of 0."""
    from flambeau.ops import random

    for word in (0, 2**32 - 1):
        monkeypatch.setattr(
            random, "drawn_bits",
            lambda shape, device, source=None, word=word: fb.full(shape, word, dtype=fb.uint32, device="cpu"),
        )  # fmt: skip
        kw = {"device": "cpu"}
        drawn = [
            fb.randn(2, **kw), fb.exponential((2,), **kw), fb.gumbel((2,), **kw), fb.laplace((2,), **kw),
            fb.cauchy((2,), **kw), fb.geometric((2,), 0.3, **kw), fb.geometric((2,), 1e-20, **kw),
            fb.log_normal((2,), **kw),
        ]  # fmt: skip
        x = fb.zeros(2, device="cpu")
        for name, given in (("normal_", ()), ("exponential_", ()), ("cauchy_", ()), ("log_normal_", ()),
                            ("geometric_", (0.3,))):  # fmt: skip
            drawn.append(getattr(x.clone(), name)(*given))
        assert all(np.isfinite(d.numpy()).all() for d in drawn), word
        assert drawn[1].min().item() > 0 and drawn[9].min().item() > 0  # waiting takes time


@pytest.mark.parametrize("p, kept", [(0, 1.0), (1, 0.0)])
def test_edges_of_probabilities(p, kept):
    x = fb.full((3, 4, 5), 2.0, device="cpu")
    for drop in (fb.dropout, fb.nn.functional.dropout1d):
        assert (drop(x, p).numpy() == 2 * kept).all()
    assert (fb.alpha_dropout(x, p, True).numpy() == 2 * kept).all()
    assert (fb.bernoulli(x, p).numpy() == p).all() and (x.clone().bernoulli_(p).numpy() == p).all()
    assert (fb.bernoulli(fb.full((1000,), float(p), device="cpu")).numpy() == p).all()
    assert (x.clone().bernoulli_(fb.full((5,), p, device="cpu")).numpy() == p).all()


def test_alpha_dropout_that_drops_nothing_draws_nothing():
    x, state = fb.ones(8, device="cpu"), fb.get_rng_state()
    for f in (fb.alpha_dropout, fb.nn.functional.feature_alpha_dropout):
        assert f(x, 0.5, training=False) is x and f(x, 0.0, training=True) is x
    assert fb.get_rng_state() == state


def test_weights_of_0_are_never_drawn(kernels):
    w = fb.tensor([[0.0, 1e-30, 0.0, 1e30], [5.0, 0.0, 0.0, 1e-7]], device=kernels).repeat(50, 1)
    drawn = w.multinomial(2, generator=fb.Generator(1)).numpy().reshape(50, 2, 2)
    assert set(drawn[:, 0].flat) == {1, 3} and set(drawn[:, 1].flat) == {0, 3}
    again = w.multinomial(30, True, generator=fb.Generator(1)).numpy().reshape(50, 2, 30)
    assert not np.isin(again[:, 0], (0, 2)).any() and not np.isin(again[:, 1], (1, 2)).any()
    assert fb.multinomial(fb.tensor([0, 1e-300], dtype=fb.float64, device="cpu"), 1).tolist() == [1]


def test_complex_numbers_have_two_parts():
    kw = {"generator": fb.Generator(4), "dtype": fb.complex64, "device": "cpu"}
    x, y = fb.rand(20_000, **kw), fb.randn(20_000, **kw)
    assert x.dtype is y.dtype is fb.complex64
    assert abs(x.numpy().mean() - (0.5 + 0.5j)) < 0.01 and abs(np.abs(y.numpy()) ** 2).mean() - 1 < 0.03
    assert fb.rand_like(x).dtype is fb.randn_like(x).dtype is fb.complex64
    assert abs(x.uniform_(1, 3).numpy().mean() - (2 + 2j)) < 0.02
    assert np.std(x.normal_(0, 2).numpy()) < 2.1


CPU = {"device": "cpu"}
ONES, WHOLE = fb.ones(3, **CPU), fb.ones(3, dtype=fb.int64, **CPU)
REFUSED = {  # calls that PyTorch refuses with numbers that are on the host: what is said
    "randint(5, 5)": (
        lambda: fb.randint(5, 5, (2,), **CPU),
        "low=5 is not below high=5: pass a larger high",
    ),
    "randint(2.5)": (
        lambda: fb.randint(0, 2.5, (2,), **CPU),
        "high must be an integer, not 2.5: use int(...)",
    ),
    "randint uint8": (
        lambda: fb.randint(0, 257, (2,), dtype=fb.uint8, **CPU),
        "uint8 holds 0 to 255, not 0 to 256: pass another dtype",
    ),
    "randint bool": (
        lambda: fb.randint(0, 3, (2,), dtype=fb.bool, **CPU),
        "bool holds 0 to 1, not 0 to 2: pass another dtype",
    ),
    "randint int32": (
        lambda: fb.randint(-1, 2**40, (2,), dtype=fb.int32, **CPU),
        f"int32 holds -2147483648 to 2147483647, not -1 to {2**40 - 1}: pass another dtype",
    ),
    "randint_like": (
        lambda: fb.randint_like(WHOLE.to(fb.uint8), 300),
        "uint8 holds 0 to 255, not 0 to 299: pass another dtype",
    ),
    "random_(0)": (lambda: ONES.clone().random_(0), "low=0 is not below high=0: pass a larger high"),
    "random_ int8": (
        lambda: WHOLE.to(fb.int8).random_(300),
        "int8 holds -128 to 127, not 0 to 299: pass another dtype",
    ),
    "rand int64": (
        lambda: fb.rand(2, dtype=fb.int64, **CPU),
        "dtype=int64 is not a float dtype: pass one",
    ),
    "randperm uint8": (
        lambda: fb.randperm(300, dtype=fb.uint8, **CPU),
        "uint8 holds integers up to 255, not 299: pass another dtype",
    ),
    "randperm float16": (
        lambda: fb.randperm(3000, dtype=fb.float16, **CPU),
        "float16 holds integers up to 2048, not 2999: pass another dtype",
    ),
    "normal": (
        lambda: fb.normal(0.0, -1.0, (2,), **CPU),
        ("std=-1.0 is negative or NaN: pass one of at least 0"),
    ),
    "normal size": (
        lambda: fb.normal(ONES, ONES, (3,)),
        "tensors define the size: leave size out, or pass numbers",
    ),
    "normal_": (
        lambda: ONES.clone().normal_(0, float("nan")),
        ("std=nan is negative or NaN: pass one of at least 0"),
    ),
    "normal_ int": (lambda: WHOLE.clone().normal_(), "takes floats: cast with .float()"),
    "uniform_": (lambda: ONES.clone().uniform_(2, 1), "low=2 is above high=1: exchange them"),
    "uniform": (lambda: fb.uniform((2,), 2.0, 1.0, **CPU), "low=2.0 is above high=1.0: exchange them"),
    "uniform_ inf": (
        lambda: ONES.clone().uniform_(0, float("inf")),
        "low=0 or high=inf is out of range for float32: pass smaller numbers",
    ),
    "uniform_ wide": (
        lambda: ONES.clone().uniform_(-3e38, 3e38),
        "high - low = 6e+38 is out of range for float32: pass a smaller range",
    ),
    "uniform_ float16": (
        lambda: ONES.half().uniform_(0, 1e6),
        "low=0 or high=1000000.0 is out of range for float16: pass smaller numbers",
    ),
    "exponential_": (lambda: ONES.clone().exponential_(0), "lambd=0 is not above 0: pass a rate"),
    "exponential": (lambda: fb.exponential((2,), -1.0, **CPU), "lambd=-1.0 is not above 0: pass a rate"),
    "geometric_": (lambda: ONES.clone().geometric_(1), "p=1 is not between 0 and 1: pass a probability"),
    "cauchy_": (lambda: ONES.clone().cauchy_(0, 0), "sigma=0 is not above 0: pass a width"),
    "log_normal_": (lambda: ONES.clone().log_normal_(0, 0), "std=0 is not above 0: pass a positive number"),
    "bernoulli": (lambda: fb.bernoulli(ONES, 1.5), "p=1.5 must be from 0 to 1: pass a probability"),
    "bernoulli_": (lambda: ONES.clone().bernoulli_(-0.5), "p=-0.5 must be from 0 to 1: pass a probability"),
    "multinomial": (
        lambda: ONES.multinomial(4),
        "4 draws without replacement from 3 weights: draw fewer, or replacement=True",
    ),
    "multinomial of none": (
        lambda: ONES[:0].multinomial(1, True),
        "1 draws without replacement from 0 weights: draw fewer, or replacement=True",
    ),
    "sizes": (lambda: fb.zeros(2, -1), "sizes [2, -1] must be at least 0"),
    "new_full": (lambda: ONES.new_full((-2,), 1), "sizes [-2] must be at least 0"),
    "rand(-1)": (lambda: fb.rand(-1), "sizes [-1] must be at least 0"),
    "randint(-1)": (lambda: fb.randint(3, (-1,)), "sizes [-1] must be at least 0"),
    "gumbel_softmax": (
        lambda: fb.nn.functional.gumbel_softmax(ONES, 0),
        "tau=0 divides by 0: pass another value, or hard=True",
    ),
    "histc": (lambda: ONES.histc(max=float("inf")), "the range of 0 to inf is not finite: pass finite ends"),
    "renorm": (
        lambda: ONES.renorm(-1, 0, 1),
        "p=-1 must be above 0 and maxnorm=1 at least 0: pass such numbers",
    ),
    "renorm maxnorm": (
        lambda: ONES.renorm(2, 0, -1),
        "p=2 must be above 0 and maxnorm=-1 at least 0: pass such numbers",
    ),
    "norm": (lambda: ONES.norm("most"), "p='most' is not a norm: pass a number, 'fro' or 'nuc'"),
    "dropout": (lambda: fb.dropout(ONES, float("nan")), "p=nan must be from 0 to 1: pass a probability"),
    "rrelu": (
        lambda: fb.rrelu(ONES, 3, 1, True),
        "lower=3 and upper=1 are not valid bounds: pass finite numbers, the lower first",
    ),
    "arange": (
        lambda: fb.arange(5, 0),
        "step=1 leads away from end=0: pass a step of the other sign, or exchange start and end",
    ),
    "arange(-3)": (
        lambda: fb.arange(-3),
        "step=1 leads away from end=-3: pass a step of the other sign, or exchange start and end",
    ),
    "arange -1": (
        lambda: fb.arange(0.0, 5.0, -0.5),
        "step=-0.5 leads away from end=5.0: pass a step of the other sign, or exchange start and end",
    ),
    "arange inf": (
        lambda: fb.arange(0.0, float("inf")),
        "start=0.0 or end=inf is not finite: pass finite numbers",
    ),
    "arange nan": (lambda: fb.arange(0, 5, float("nan")), "step is nan: pass another number"),
    "label_smoothing": (
        lambda: fb.nn.functional.cross_entropy(fb.ones(3, 2, **CPU), WHOLE, label_smoothing=1.5),
        "label_smoothing=1.5 must be from 0 to 1: pass a fraction",
    ),
    "gaussian_nll_loss": (
        lambda: fb.nn.functional.gaussian_nll_loss(ONES, ONES, -1.0),
        "var=-1.0 is negative or NaN: pass a variance of 0 or more",
    ),
    "cov dtype": (lambda: fb.ones(2, 3, **CPU).cov(fweights=ONES), "fweights are float32: pass integers"),
    "cov aweights": (lambda: fb.ones(2, 3, **CPU).cov(aweights=WHOLE), "aweights are int64: pass floats"),
    "cov shape": (
        lambda: fb.ones(2, 3, **CPU).cov(aweights=ONES[:2]),
        "aweights have shape [2]: pass one for each of 3 columns",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_parameters_that_mean_nothing(name):
    call, text = REFUSED[name]
    with pytest.raises((ValueError, TypeError)) as e:
        call()
    assert str(e.value).partition("): ")[2] == text


def test_sizes_of_randint_in_the_place_of_high():
    for size in ((2, 3), [2, 3], ()):
        x = fb.randint(4, size, generator=fb.Generator(1), device="cpu")
        assert x.shape == tuple(size) and x.equal(
            fb.randint(0, 4, size, generator=fb.Generator(1), device="cpu")
        )
    assert fb.randint(high=4, size=(3,), device="cpu").shape == (3,)
    assert fb.randint(np.int64(2), np.int64(3), (2,), device="cpu").tolist() == [2, 2]
    assert fb.randint_like(x, high=1).item() == 0 and fb.randint_like(x, low=2, high=3).item() == 2
    assert ONES.max(ONES * 2).tolist() == [2, 2, 2] and ONES.min(ONES * 2).tolist() == [1, 1, 1]


def test_normal_takes_the_dtype_of_the_first():
    half, std = fb.zeros(3, dtype=fb.float16, device="cpu"), fb.ones(3, device="cpu")
    assert fb.normal(half, std).dtype is fb.normal(half).dtype is fb.normal(0.0, half).dtype is fb.float16
    assert (
        fb.normal(std, half).dtype is fb.float32
        and fb.normal(half, std, dtype=fb.float32).dtype is fb.float32
    )
    assert (
        abs(fb.zeros(999, device="cpu").normal_(fb.tensor(5.0, device="cpu"), std[0]).mean().item() - 5) < 0.2
    )
    with pytest.raises(ValueError, match="std=-1 is negative or NaN"):
        fb.nn.init.normal_(fb.zeros(3, device="cpu"), 0, -1)


def test_generators_as_pytorch_makes_them():
    g = fb.Generator(device="cpu").manual_seed(4.0)
    assert g.initial_seed() == 4 and fb.rand(2, generator=g, device="cpu").equal(
        fb.rand(2, generator=fb.Generator(4), device="cpu")
    )
    drawn = fb.nn.functional.gumbel_softmax(fb.zeros(2, 3, device="cpu"), 1, True, 1e-10, 0)
    assert drawn.sum(0).tolist() == [1, 1, 1]


def test_a_range_of_nothing():
    assert fb.arange(0, 0).tolist() == fb.arange(3, 3, -1).tolist() == fb.arange(0).tolist() == []
    from flambeau import array_api

    assert array_api.arange(5, 0).shape == (0,) and array_api.arange(0, 5, -1).shape == (0,)
    assert array_api.arange(5, 0, -2).tolist() == [5, 3, 1]
