"""PyTorch's random numbers on the CPU device: written-out numbers of 2.13, and drawn programs beside it."""

import os
import random
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import flambeau as fb
from flambeau.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    random_split,
)
from flambeau.ops import mersenne
from flambeau.ops.mersenne import MersenneGenerator, torch_numbers, use_torch_numbers


@pytest.fixture(autouse=True)
def on_the_cpu():
    use_torch_numbers()
    with fb.device("cpu"):
        yield
    use_torch_numbers(False)


def test_numbers_of_seed_0():
    fb.manual_seed(0)
    assert fb.rand(3).tolist() == [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]
    assert fb.randn(2).tolist() == [0.3643381893634796, 0.13439632952213287]  # a pair: none is kept
    assert fb.randint(10, (5,)).tolist() == [3, 7, 3, 1, 6]
    assert fb.randperm(5).tolist() == [1, 4, 3, 2, 0]
    assert fb.randn(1, dtype=fb.float64).tolist() == [-0.7192575784693592]
    assert fb.randn(1, dtype=fb.float64).tolist() == [-0.40334352493217457]  # the second of the pair
    blocks = fb.randn(17)  # by blocks of 16, the last 16 drawn again
    assert blocks[[0, 1, 16]].tolist() == [0.5988394618034363, 0.11241118609905243, -0.5180748105049133]


def test_streams_of_generators_are_their_own():
    fb.manual_seed(1)
    first = fb.rand(2).tolist()
    g = MersenneGenerator().manual_seed(1)
    assert fb.rand(2, generator=g).tolist() == first
    other = g.clone_state()
    assert fb.rand(2, generator=g).tolist() == fb.rand(2, generator=other).tolist()
    assert fb.Generator(1).get_state() == (1, 0)
    assert fb.rand(2, generator=fb.Generator(1)).tolist() != first  # Philox, as on GPUs


def test_a_state_is_5056_bytes_and_continues():
    g = MersenneGenerator().manual_seed(7)
    fb.randn(3, generator=g)  # one number of a pair is kept
    state = g.get_state()
    assert state.shape == (5056,) and state.dtype is fb.uint8
    following = fb.randn(3, generator=g).tolist()
    assert fb.randn(3, generator=MersenneGenerator().set_state(state)).tolist() == following
    with pytest.raises(ValueError, match="takes the 5056 bytes of get_state"):
        g.set_state(fb.zeros(3))


def test_off_gives_the_numbers_of_gpus():
    use_torch_numbers(False)
    assert torch_numbers() is None
    fb.manual_seed(0)
    first = fb.rand(3).tolist()
    use_torch_numbers()
    fb.manual_seed(0)
    assert fb.rand(3).tolist() != first


def test_layers_start_with_the_weights_of_seed_0():
    fb.manual_seed(0)
    layer = fb.nn.Linear(2, 2)
    assert layer.weight.tolist() == [
        [-0.005293981172144413, 0.37932288646698],
        [-0.5819807648658752, -0.5203874707221985],
    ]
    assert layer.bias.tolist() == [-0.27234524488449097, 0.1896158903837204]


def test_orders_of_seed_0():
    fb.manual_seed(0)
    loader = DataLoader(list(range(6)), batch_size=4, shuffle=True)
    assert [b.tolist() for b in loader] == [[0, 4, 3, 5], [2, 1]]
    assert [list(p.indices) for p in random_split(range(5), [2, 3])] == [[3, 4], [0, 1, 2]]


# --- beside torch ---

FLOATS = ("float32", "float64", "float16", "bfloat16")
SIZES = (0, 1, 2, 3, 5, 7, 15, 16, 17, 33)


def _draws(pick):
    """A random call, as a function of torch's module or ours."""
    shape = tuple(pick.choice(SIZES) for _ in range(pick.randrange(3)))
    dtype, span = pick.choice(FLOATS), pick.choice((1, 5, 100, 1 << 27, 1 << 28, 1 << 31, (1 << 63) - 1))
    wide = pick.choice((*FLOATS, "int64", "int32", "uint8", "int8", "int16", "bool"))
    count, replacement = pick.choice((1, 2, 4)), bool(pick.randrange(2))
    calls = {
        "rand": lambda m: m.rand(shape, dtype=getattr(m, dtype)),
        "randn": lambda m: m.randn(shape, dtype=getattr(m, dtype)),
        "complex": lambda m: m.randn(shape, dtype=m.complex64) + m.rand(shape, dtype=m.complex64),
        "randint": lambda m: m.randint(0, min(span, 100), shape, dtype=m.uint8),
        "large": lambda m: m.randint(-3, span, shape),
        "randperm": lambda m: m.randperm(span % 1000),
        "bernoulli": lambda m: m.bernoulli(m.full(shape, 0.3, dtype=getattr(m, dtype))),
        "bernoulli_": lambda m: m.empty(shape, dtype=getattr(m, wide)).bernoulli_(0.3),
        "dropout": lambda m: m.nn.functional.dropout(m.ones(shape), 0.3),
        "uniform_": lambda m: m.empty(shape, dtype=getattr(m, dtype)).uniform_(-0.3, 1.7),
        "normal_": lambda m: m.empty(shape, dtype=getattr(m, dtype)).normal_(0.3, 1.7),
        "normal": lambda m: m.normal(m.ones(shape), m.full(shape, 0.2)) + m.normal(1.0, 2.0, shape),
        "exponential_": lambda m: m.empty(shape, dtype=getattr(m, dtype)).exponential_(1.5),
        "cauchy_": lambda m: m.empty(shape, dtype=getattr(m, dtype)).cauchy_(1.5, 2.0),
        "log_normal_": lambda m: m.empty(shape, dtype=getattr(m, dtype)).log_normal_(1.5, 0.5),
        "geometric_": lambda m: m.empty(shape).geometric_(0.3),
        "random_": lambda m: m.empty(shape, dtype=getattr(m, wide)).random_(),
        "multinomial": lambda m: m.arange(1.0, 13.0).reshape(count, -1).multinomial(2, replacement),
        "rand_like": lambda m: m.rand_like(m.zeros(shape)),
    }
    name = pick.choice(sorted(calls))
    return name, calls[name]


def _array(x):
    return x.float().numpy() if str(x.dtype).endswith("bfloat16") else x.numpy()


def _is_amd_or_arm():
    """Whether torch draws Bernoulli and exponential numbers itself: on Intel's processors MKL does."""
    with open("/proc/cpuinfo") as f:
        return "GenuineIntel" not in f.read()


BY_MKL = {"bernoulli_", "dropout", "exponential_", "multinomial"}


def test_sequences_of_calls_beside_torch(torch):
    pick, seen = random.Random(int(os.environ.get("FLAMBEAU_GRID_SEED", 5))), Counter()
    skipped = set() if _is_amd_or_arm() else BY_MKL
    for seed in (0, 1, 42, 2**32 + 5, 2**40 + 1, *(pick.randrange(2**63) for _ in range(20))):
        torch.manual_seed(seed)
        fb.manual_seed(seed)
        for _ in range(12):
            name, call = _draws(pick)
            if name in skipped:
                continue
            theirs, ours = _array(call(torch)), _array(call(fb))
            assert theirs.dtype == ours.dtype and np.array_equal(theirs, ours), (seed, name)
            seen[name] += 1
        assert np.array_equal(torch.get_rng_state().numpy(), torch_numbers().get_state().numpy()), seed
    assert len(seen) > 10


def test_states_beside_torch(torch):
    """A state of torch continues here, and ours there."""
    g, h = torch.Generator().manual_seed(3), MersenneGenerator()
    torch.randn(701, generator=g)
    torch.randn(1, generator=g)
    h.set_state(fb.tensor(g.get_state().numpy()))
    assert np.array_equal(torch.randn(5, generator=g).numpy(), fb.randn(5, generator=h).numpy())
    g.set_state(torch.from_numpy(h.get_state().numpy().copy()))
    assert np.array_equal(torch.rand(700, generator=g).numpy(), fb.rand(700, generator=h).numpy())
    assert MersenneGenerator().initial_seed() == torch.Generator().initial_seed()


LAYERS = """
Linear(3, 5)
Linear(30, 50, bias=False)
Bilinear(3, 4, 5)
Embedding(10, 7, padding_idx=2)
EmbeddingBag(10, 7)
Conv1d(3, 5, 3)
Conv2d(4, 8, 3, groups=2)
Conv3d(2, 3, 2)
ConvTranspose1d(3, 5, 3)
ConvTranspose2d(4, 8, 3, groups=2)
ConvTranspose3d(2, 3, 2)
RNN(3, 5, 2)
LSTM(3, 5, 2, bidirectional=True)
LSTM(3, 5, 2, proj_size=2)
GRU(3, 5, 2)
RNNCell(3, 4)
LSTMCell(3, 4)
GRUCell(3, 4)
PReLU(3)
MultiheadAttention(8, 2)
MultiheadAttention(8, 2, kdim=4, vdim=6)
MultiheadAttention(8, 2, add_bias_kv=True)
TransformerEncoderLayer(8, 2, 16)
TransformerDecoderLayer(8, 2, 16)
Transformer(8, 2, 2, 2, 16)
AdaptiveLogSoftmaxWithLoss(80, 20, [5, 10])
Sequential(nn.Linear(3, 4), nn.Conv2d(3, 4, 3), nn.LSTM(3, 4))
LazyLinear(4)
"""


@pytest.mark.parametrize("text", LAYERS.split("\n")[1:-1])
@pytest.mark.filterwarnings("ignore")
def test_first_weights_beside_torch(torch, text):
    states = []
    for library in (torch, fb):
        library.manual_seed(7)
        layer = eval(f"nn.{text}", {"nn": library.nn})
        if text.startswith("Lazy"):
            layer(library.zeros(2, 3))
        states.append({name: t.numpy() for name, t in layer.state_dict().items()})
    theirs, ours = states
    assert theirs.keys() == ours.keys()
    assert [name for name in theirs if not np.array_equal(theirs[name], ours[name])] == []
    assert np.array_equal(torch.get_rng_state().numpy(), torch_numbers().get_state().numpy())


INITIALISERS = """
uniform_(w, -1, 2)
normal_(w, 1, 2)
xavier_uniform_(w)
xavier_normal_(w)
sparse_(w, 0.3)
kaiming_uniform_(w, a=1)
kaiming_normal_(w, mode="fan_out", nonlinearity="relu")
trunc_normal_(w, std=0.02)
trunc_normal_(w, 0, 1, 0.5, 1)
trunc_normal_(w, 0, 1, -0.1, 0.1)
trunc_normal_(w, mean=3, std=0.5)
"""


@pytest.mark.parametrize("text", INITIALISERS.split("\n")[1:-1])
def test_initialisers_beside_torch(torch, text):
    for shape in ((4, 3), (20, 9), (2, 3)):
        drawn = []
        for library in (torch, fb):
            library.manual_seed(7)
            w = library.empty(*shape)
            eval(f"init.{text}", {"init": library.nn.init, "w": w})
            drawn.append(w.numpy())
        assert np.array_equal(*drawn), shape
        assert np.array_equal(torch.get_rng_state().numpy(), torch_numbers().get_state().numpy())


def _orders(m, d, generator):
    """Orders of samplers, loaders and splits, with draws of the default generator between them."""
    items, out = list(range(23)), []
    m.manual_seed(5)
    loader = d.DataLoader(items, batch_size=4, shuffle=True)
    for _ in range(2):
        out += [b.tolist() for b in loader]
    out.append(m.rand(2).tolist())
    g = generator().manual_seed(9)
    loader = d.DataLoader(items, batch_size=5, shuffle=True, generator=g)
    for _ in range(2):
        out += [b.tolist() for b in loader]
    next(iter(loader))
    out.append(m.randn(3, generator=g).tolist())
    splits = d.random_split(items, [10, 13])
    splits += d.random_split(items, [0.5, 0.5], generator=generator().manual_seed(1))
    out += [[int(i) for i in p.indices] for p in splits]
    out += [list(d.RandomSampler(items, True, 70)), list(d.RandomSampler(items, False, 50))]
    out += [list(d.SubsetRandomSampler([4, 5, 6, 7, 9]))]
    out += [list(d.WeightedRandomSampler([0.1, 0.4, 2, 0.3], 9))]
    batches = d.BatchSampler(d.RandomSampler(items), 6, True)
    out += [b.tolist() for b in d.DataLoader(items, batch_sampler=batches)]
    return [*out, m.rand(2).tolist()]


def test_orders_beside_torch(torch):
    samplers = (BatchSampler, RandomSampler, SubsetRandomSampler, WeightedRandomSampler)
    names = {n.__name__: n for n in (DataLoader, random_split, *samplers)}
    ours = _orders(fb, SimpleNamespace(**names), MersenneGenerator)
    assert ours == _orders(torch, torch.utils.data, torch.Generator)


DISTRIBUTIONS = """
Normal(m.zeros(3), m.ones(3) * 2)
Uniform(m.zeros(3), m.ones(3) * 2)
Bernoulli(m.full((5,), 0.3))
Categorical(m.full((5,), 0.2))
Categorical(logits=m.zeros(4, 5))
OneHotCategorical(m.full((5,), 0.2))
Exponential(m.ones(5))
LogNormal(m.zeros(3), m.ones(3))
HalfNormal(m.ones(3))
Pareto(m.ones(3), m.ones(3))
Weibull(m.ones(3), m.ones(3))
MultivariateNormal(m.zeros(3), m.eye(3))
"""


@pytest.mark.parametrize("text", DISTRIBUTIONS.split("\n")[1:-1])
def test_samples_beside_torch(torch, text):
    drawn = []
    for library in (torch, fb):
        library.manual_seed(4)
        x = eval(f"d.{text}", {"d": library.distributions, "m": library})
        drawn.append((x.sample((6,)).numpy(), library.rand(1).item()))
    np.testing.assert_allclose(drawn[0][0], drawn[1][0], rtol=1e-6)
    assert drawn[0][1] == drawn[1][1]


@pytest.mark.parametrize("dtype", [fb.float32, fb.float64, fb.bfloat16])
def test_pieces_of_a_long_draw_are_one_draw(monkeypatch, dtype):
    def drawn(n):
        generator = MersenneGenerator()
        generator.manual_seed(3)
        return generator.normals(n, dtype, 0.5, 2.0)

    for n in (16, 65_535, 65_536, 65_552, 131_077):
        pieces = drawn(n)
        with monkeypatch.context() as m:
            m.setattr(mersenne, "PIECE", 1 << 30)
            np.testing.assert_array_equal(pieces, drawn(n))
