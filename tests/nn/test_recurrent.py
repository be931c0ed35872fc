"""Recurrent layers and packed sequences: NumPy's loop over steps, torch's values and gradients, kernels."""

import numpy as np
import pytest
from helpers.torch_nn import compare, twins

import flambeau as fb
from flambeau import nn
from flambeau.core.limits import Limits
from flambeau.core.node import toposort
from flambeau.fusion.planner import plan
from flambeau.nn.utils import rnn

RNG = np.random.default_rng(5)


@pytest.fixture
def on_numpy(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_DEVICE", "cpu")


def drawn(*shape):
    return RNG.normal(size=shape).astype("f4")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_numpy(layer, kind, x):
    """One layer in one direction, [t, b, in]: the hidden states of all steps, and the last cell."""
    w, u, b, c = (p.numpy() for p in layer.parameters())
    h = cell = np.zeros((x.shape[1], layer.hidden_size))
    made = []
    for row in x:
        given, own = row @ w.T + b, h @ u.T + c
        if kind == "GRU":
            (r, z, n), (hr, hz, hn) = np.split(given, 3, 1), np.split(own, 3, 1)
            r, z = sigmoid(r + hr), sigmoid(z + hz)
            h = (1 - z) * np.tanh(n + r * hn) + z * h
        elif kind == "LSTM":
            i, f, g, o = np.split(given + own, 4, 1)
            cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(cell)
        else:
            h = np.tanh(given + own)
        made.append(h)
    return np.stack(made), cell


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_steps_by_numpy(kind, device):
    layer, x = getattr(nn, kind)(3, 5, device=device), drawn(6, 2, 3)
    y, state = layer(fb.tensor(x, device=device))
    want, cell = by_numpy(layer, kind, x)
    np.testing.assert_allclose(y.numpy(), want, atol=2e-6)
    h = state[0] if kind == "LSTM" else state
    assert h.shape == (1, 2, 5)
    np.testing.assert_allclose(h.numpy()[0], want[-1], atol=2e-6)
    if kind == "LSTM":
        np.testing.assert_allclose(state[1].numpy()[0], cell, atol=2e-6)
    grads = y.square().sum().backward()  # by a difference along one direction, of the weights of the state
    weight, way = layer.weight_hh_l0, drawn(*layer.weight_hh_l0.shape)
    slope = float((grads[weight].numpy() * way).sum())
    values, before = [], weight.numpy()
    for step in (1e-3, -1e-3):
        layer.load_state_dict({**layer.state_dict(), "weight_hh_l0": before + step * way})
        values.append(float((by_numpy(layer, kind, x.astype("f8"))[0] ** 2).sum()))
    np.testing.assert_allclose(slope, (values[0] - values[1]) / 2e-3, rtol=2e-3, atol=1e-3)


OPTIONS = {
    "plain": {},
    "two ways, two layers": {"num_layers": 2, "bidirectional": True},
    "batch first, no bias": {"batch_first": True, "bias": False},
    "dropout at rest": {"num_layers": 2, "dropout": 0.4},
}
KINDS = {name: (name, {}) for name in ("RNN", "GRU", "LSTM")} | {
    "relu": ("RNN", {"nonlinearity": "relu"}),
    "projected": ("LSTM", {"proj_size": 3}),
}


def states(kind, options, batch):
    """hx of random numbers for a layer of 6 features."""
    count = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
    lead = () if batch is None else (batch,)
    hidden = drawn(count, *lead, options.get("proj_size", 6))
    return (hidden, drawn(count, *lead, 6)) if kind == "LSTM" else (hidden,)


def with_states(f, kind):
    """A module whose states come one by one."""
    return lambda x, *hx: f(x, tuple(hx) if kind == "LSTM" else hx[0])


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", KINDS)
def test_beside_torch(torch, on_numpy, name, options):
    kind, more = KINDS[name]
    kw = {**OPTIONS[options], **more}
    ours, theirs = (m.eval() for m in twins(torch, lambda f: getattr(f.nn, kind)(4, 6, **kw)))
    x = drawn(3, 5, 4)
    compare(torch, (ours, theirs), x)
    batch = 3 if "batch_first" in kw else 5
    compare(torch, (with_states(ours, kind), with_states(theirs, kind)), x, *states(kind, kw, batch))
    compare(torch, (with_states(ours, kind), with_states(theirs, kind)), x[0], *states(kind, kw, None))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("given", ["sorted", "unsorted"])
def test_packed_beside_torch(torch, on_numpy, name, given):
    kind, more = KINDS[name]
    kw = {"num_layers": 2, "bidirectional": True, **more}
    pair = twins(torch, lambda f: getattr(f.nn, kind)(4, 6, **kw))
    lengths = [5, 3, 3, 1] if given == "sorted" else [3, 1, 5, 3]

    def run(module, tools):
        def call(x, *hx):
            packed = tools.pack_padded_sequence(x, lengths, enforce_sorted=given == "sorted")
            y, state = module(packed, hx if kind == "LSTM" else hx[0])
            y, found = tools.pad_packed_sequence(y)
            return y, state, found

        return call

    compare(
        torch,
        (run(pair[0], rnn), run(pair[1], torch.nn.utils.rnn)),
        drawn(5, 4, 4),
        *states(kind, kw, 4),
    )


@pytest.mark.parametrize("name", ["RNNCell", "GRUCell", "LSTMCell"])
def test_cells_beside_torch(torch, on_numpy, name):
    for bias in (True, False):
        pair = twins(torch, lambda f, bias=bias: getattr(f.nn, name)(4, 6, bias))
        compare(torch, pair, drawn(3, 4))
        given = [drawn(3, 6) for _ in range(1 + (name == "LSTMCell"))]
        called = tuple(with_states(m, name.removesuffix("Cell")) for m in pair)
        compare(torch, called, drawn(3, 4), *given)
        compare(torch, called, drawn(4), *(h[0] for h in given))


def test_second_gradients_beside_torch(torch, on_numpy):
    for kind in ("RNN", "GRU", "LSTM"):
        ours, theirs = twins(torch, lambda f, kind=kind: getattr(f.nn, kind)(2, 3))
        a = drawn(3, 2, 2)
        x, y = fb.tensor(a).requires_grad_(), torch.tensor(a).requires_grad_()
        (g,) = fb.autograd.grad(ours(x)[0].square().sum(), [x], create_graph=True)
        (h,) = torch.autograd.grad(theirs(y)[0].square().sum(), [y], create_graph=True)
        found = g.square().sum().backward()
        h.square().sum().backward()
        np.testing.assert_allclose(found[x].numpy(), y.grad.numpy(), atol=1e-5)
        np.testing.assert_allclose(
            found[ours.weight_hh_l0].numpy(), theirs.weight_hh_l0.grad.numpy(), atol=1e-5
        )


def kernels(*tensors):
    roots = [t.node for t in tensors]
    return len(plan(roots, Limits(software=True), toposort(roots)).kernels)


@pytest.mark.parametrize("kind, ahead", [("RNN", 1), ("GRU", 2), ("LSTM", 2)])
def test_kernels_of_a_step(kind, ahead, gpu):
    """A product and a kernel of all gates; of a plain one the gate is the product's epilogue. A seventh of a
    kernel a step joins the states. On the way back a kernel and a product."""
    layer = getattr(nn, kind)(4, 8, device=gpu)
    x = fb.randn(21, 2, 4, device=gpu)
    fb.realize(x, *layer.parameters())
    counts = []
    for steps in (7, 21):
        y, _ = layer(x[:steps])
        before = kernels(y)
        grads = y.square().sum().backward()
        counts.append((before, kernels(*(grads[p] for p in layer.parameters()))))
    more = [b - a for a, b in zip(*counts, strict=True)]
    back = 14 * 2 if kind != "RNN" else 14
    assert more[0] == 14 * ahead + 2
    assert 14 * (ahead + 1) + 4 <= more[1] <= 14 * ahead + back + 6


def test_long_sequences_are_computed_in_pieces(gpu):
    layer, x = nn.GRU(2, 4, device=gpu), drawn(70, 1, 2)
    y, _ = layer(fb.tensor(x, device=gpu))
    want, _ = by_numpy(layer, "GRU", x)
    np.testing.assert_allclose(y.numpy(), want, atol=2e-6)
    grads = y.sum().backward()
    short = nn.GRU(2, 4, device="cpu")
    short.load_state_dict({k: v.numpy() for k, v in layer.state_dict().items()})
    wanted = short(fb.tensor(x, device="cpu"))[0].sum().backward()
    for p, q in zip(layer.parameters(), short.parameters(), strict=True):
        np.testing.assert_allclose(grads[p].numpy(), wanted[q].numpy(), rtol=2e-4, atol=2e-4)


def test_a_recorded_step_goes_on_learning(on_numpy):
    layer = nn.LSTM(2, 3)
    optimizer = fb.optim.SGD(layer.parameters(), lr=0.1)
    x = fb.tensor(drawn(5, 2, 2))

    @fb.jit
    def step(x):
        loss = layer(x)[0].square().sum()
        optimizer.step(loss.backward())
        return loss

    losses = [step(x).item() for _ in range(6)]
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]


# --- packed sequences ---


def packing(tools, m):
    """What goes in and out of packed sequences, with either package."""
    x = m.arange(24.0).reshape(4, 3, 2)
    packed = tools.pack_padded_sequence(x, [2, 4, 1], enforce_sorted=False)
    rows = [m.tensor([1.0, 2.0]), m.tensor([3.0]), m.tensor([4.0, 5.0, 6.0])]
    again, lengths = tools.pad_packed_sequence(packed, True, -1.0, 5)
    several = tools.pack_sequence(rows, enforce_sorted=False)
    told = [
        packed.data, packed.sorted_indices, packed.unsorted_indices, again, lengths,
        several.data, *tools.unpack_sequence(several), tools.pad_sequence(rows),
        tools.pad_sequence(rows, True, 9.0), tools.pad_sequence(rows, padding_side="left"),
        *tools.unpad_sequence(tools.pad_sequence(rows, True), m.tensor([2, 1, 3]), True),
        tools.invert_permutation(m.tensor([2, 0, 1])),
    ]  # fmt: skip
    return [t.tolist() for t in told], list(map(int, packed.batch_sizes)), list(map(int, several.batch_sizes))


def test_packing(on_numpy):
    told, sizes, others = packing(rnn, fb)
    assert told[:3] == [
        [[2, 3], [0, 1], [4, 5], [8, 9], [6, 7], [14, 15], [20, 21]], [1, 0, 2], [1, 0, 2]
    ]  # fmt: skip
    assert told[3][2] == [[4, 5], [-1, -1], [-1, -1], [-1, -1], [-1, -1]] and told[4] == [2, 4, 1]
    assert sizes == [3, 2, 1, 1] and others == [3, 2, 1]
    assert told[6:10] == [[1, 2], [3], [4, 5, 6], [[1, 3, 4], [2, 0, 5], [0, 0, 6]]]


def test_packed_ones_move_as_their_elements(on_numpy):
    packed = rnn.pack_sequence([fb.tensor([1, 2]), fb.tensor([3])])
    kinds = {"float": fb.float32, "half": fb.float16, "double": fb.float64, "long": fb.int64, "int": fb.int32}
    for name, dtype in kinds.items():
        made = getattr(packed, name)()
        assert made.data.dtype is dtype and made.batch_sizes == (2, 1) and made.data.tolist() == [1, 3, 2]
    assert packed.cpu().device is packed.device and not packed.is_cuda


def test_packing_beside_torch(torch, on_numpy):
    assert packing(rnn, fb) == packing(torch.nn.utils.rnn, torch)


X = fb.zeros(3, 2, 4, device="cpu")
ERRORS = {
    "GRU(f32[3, 2, 4]): takes 3 dims (or 2, without a batch) of which the last is 5: reshape it": (
        lambda: nn.GRU(5, 6)(X)
    ),
    "LSTM(hx of [1, 2, 6]): states here are [1, 2, 6] and [1, 2, 6]: give these": (
        lambda: nn.LSTM(4, 6)(X, fb.zeros(1, 2, 6))
    ),
    "LSTM(dropout=2): is not in 0 to 1: give a probability": lambda: nn.LSTM(4, 6, dropout=2),
    "LSTM(proj_size=6): is not 0 (none) to 5, below hidden_size: give another": (
        lambda: nn.LSTM(4, 6, proj_size=6)
    ),
    "RNN(nonlinearity='sin'): is unknown: use 'tanh' or 'relu'": lambda: nn.RNN(4, 6, nonlinearity="sin"),
    "RNNCell(nonlinearity='sin'): is unknown: use 'tanh' or 'relu'": (
        lambda: nn.RNNCell(4, 6, nonlinearity="sin")
    ),
    "GRU(hidden_size=0): sizes are whole numbers above 0: give another": lambda: nn.GRU(4, 0),
    "GRUCell(f32[3, 2, 4]): takes 2 dims (or 1, without a batch) of which the last is 4: reshape it": (
        lambda: nn.GRUCell(4, 6)(X)
    ),
    "GRUCell(f32[2, 4], f32[2, 5]): a state here is [2, 6]: give such a one": (
        lambda: nn.GRUCell(4, 6)(X[0], fb.zeros(2, 5))
    ),
    "pack_padded_sequence(f32[3, 2, 4], [1, 2]): the longest does not come first: sort them, or give"
    " enforce_sorted=False": lambda: rnn.pack_padded_sequence(X, [1, 2]),
    "pack_padded_sequence(f32[3, 2, 4], [4, 2]): lengths are 1 to 3: give others": (
        lambda: rnn.pack_padded_sequence(X, [4, 2])
    ),
    "pack_padded_sequence(f32[3, 2, 4], [3]): there are 2 sequences: give the length of each": (
        lambda: rnn.pack_padded_sequence(X, [3])
    ),
    "pad_packed_sequence(total_length=2): the longest sequence has 3 elements: give at least so many": (
        lambda: rnn.pad_packed_sequence(rnn.pack_padded_sequence(X, [3, 2]), total_length=2)
    ),
    "pad_sequence(0 sequences, padding_side='right'): needs sequences, and 'right' or 'left' for the side:"
    " give these": lambda: rnn.pad_sequence([]),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(on_numpy, text):
    with pytest.raises(ValueError) as e:
        ERRORS[text]()
    assert str(e.value) == text


def test_reads_as_torchs(on_numpy):
    assert repr(nn.LSTM(2, 3, 2, bidirectional=True)) == "LSTM(2, 3, num_layers=2, bidirectional=True)"
    assert [len(w) for w in nn.LSTM(2, 3, proj_size=1, bidirectional=True).all_weights] == [5, 5]
    assert nn.RNN(2, 3, 1, "relu").nonlinearity == "relu"
