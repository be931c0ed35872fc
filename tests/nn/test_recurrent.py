"""Recurrent layers and packed sequences: NumPy's loop over steps, torch's values and gradients, kernels."""

import numpy as np
import pytest
from helpers.compare import values
from helpers.draws import in_turn
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
@pytest.mark.share(5)
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
    ends, before = [], weight.numpy()
    for step in (1e-3, -1e-3):
        layer.load_state_dict({**layer.state_dict(), "weight_hh_l0": before + step * way})
        ends.append(float((by_numpy(layer, kind, x.astype("f8"))[0] ** 2).sum()))
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-3, rtol=2e-3, atol=1e-3)


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


# --- what PyTorch has not ---

SIZE = 6


class Plain:
    """A layer's steps as they are written down, by NumPy or torch."""

    def __init__(self, m, options):
        self.m, self.options = m, options
        self.clip = np.inf if options.get("clip") is None else options["clip"]
        self.bound = np.inf if options.get("state_clip") is None else options["state_clip"]

    def held(self, x, bound):
        return x.clip(-bound, bound)

    def act(self, name, usual, x):
        how = self.options.get(f"{name}_activation", self.options.get("nonlinearity", usual))
        m, exp = self.m, self.m.exp
        return {
            "sigmoid": lambda: 1 / (1 + exp(-x)),
            "tanh": lambda: m.tanh(x),
            "relu": lambda: x * (x > 0),
            "elu": lambda: m.where(x > 0, x, exp(x * (x <= 0)) - 1),
            "hardsigmoid": lambda: (0.2 * x + 0.5).clip(0, 1),
            "leakyrelu": lambda: m.where(x > 0, x, 0.01 * x),
            "scaledtanh": lambda: m.tanh(x),
            "softplus": lambda: m.log(1 + exp(x)),
            "softsign": lambda: x / (1 + abs(x)),
            "thresholdedrelu": lambda: x * (x > 1),
            "affine": lambda: x,
            sines: lambda: m.sin(x),
        }[how]()

    def steps(self, kind, x, h, c, weights):
        """[t, b, in], [b, out], [b, hidden] -> what each step shows, and the last cell."""
        w, u, b, own, *project = weights
        shown = []
        for row in x:
            h, c = self.step(kind, row @ w.T + b, (h, c), (u, own), project)
            shown.append(h)
        return shown, c

    def step(self, kind, given, state, weights, project):
        (h, c), (u, own) = state, weights
        n, clip = u.shape[0] // GATES_OF[kind](self.options), self.clip

        def part(x, k):
            return x[:, k * n : (k + 1) * n]

        made = h @ u.T + own
        if kind == "RNN":
            return self.held(self.act("", "tanh", self.held(given + made, clip)), self.bound), c
        if kind == "GRU":
            r, z = (self.act("gate", "sigmoid", self.held(part(given + made, k), clip)) for k in (0, 1))
            new = part(made, 2) * r
            if not self.options.get("reset_after", True):
                new = (r * h) @ u[2 * n :].T + own[2 * n :]
            new = self.act("hidden", "tanh", self.held(part(given, 2) + new, clip))
            return self.held((1 - z) * new + z * h, self.bound), c
        parts = [self.held(part(given + made, k), clip) for k in range(u.shape[0] // n)]
        i, o = (self.act("gate", "sigmoid", parts[k]) for k in (0, -1))
        f = 1 - i if self.options.get("input_forget") else self.act("gate", "sigmoid", parts[1])
        c = self.held(f * c + i * self.act("cell", "tanh", parts[-2]), self.bound)
        h = o * self.act("hidden", "tanh", c)
        return (h @ project[0].T if project else h), c


def sines(x):
    return x.sin()


GATES_OF = {"RNN": lambda o: 1, "GRU": lambda o: 3, "LSTM": lambda o: 3 if o.get("input_forget") else 4}
OTHERS = {
    "LSTM, clipped": ("LSTM", {"clip": 0.4}),
    "LSTM, coupled": ("LSTM", {"input_forget": True}),
    "LSTM, cell clipped": ("LSTM", {"state_clip": 0.15}),
    "LSTM, coupled, clipped twice": ("LSTM", {"input_forget": True, "clip": 0.5, "state_clip": 0.2}),
    "LSTM, functions": (
        "LSTM",
        {"gate_activation": "hardsigmoid", "cell_activation": "elu", "hidden_activation": "softsign"},
    ),
    "LSTM, others": (
        "LSTM",
        {
            "gate_activation": "softplus",
            "cell_activation": "leakyrelu",
            "hidden_activation": "affine",
            "clip": 0.8,
            "state_clip": 0.5,
        },
    ),
    "LSTM, projected": ("LSTM", {"proj_size": 3, "input_forget": True, "clip": 0.5}),
    "LSTM, a function": ("LSTM", {"hidden_activation": sines, "input_forget": True}),
    "GRU, clipped": ("GRU", {"clip": 0.4}),
    "GRU, state clipped": ("GRU", {"state_clip": 0.15}),
    "GRU, functions": ("GRU", {"gate_activation": "hardsigmoid", "hidden_activation": "scaledtanh"}),
    "GRU, a function": ("GRU", {"hidden_activation": sines, "clip": 0.5}),
    "GRU, reset before": ("GRU", {"reset_after": False}),
    "GRU, reset before, clipped": ("GRU", {"reset_after": False, "clip": 0.4, "state_clip": 0.2}),
    "RNN, clipped": ("RNN", {"clip": 0.5}),
    "RNN, state clipped": ("RNN", {"nonlinearity": "leakyrelu", "state_clip": 0.2}),
    "RNN, softsign": ("RNN", {"nonlinearity": "softsign", "clip": 0.7}),
    "RNN, a threshold": ("RNN", {"nonlinearity": "thresholdedrelu"}),
    "RNN, a function": ("RNN", {"nonlinearity": sines}),
}


def by_steps(m, kind, options, weights, given):
    """A stack of layers, each both ways, over sequences of lengths of their own, one after the other.

    weights: of each layer and direction; given: x [t, b, in], the first states, and the lengths.
    """
    plain, (x, h, c, lengths) = Plain(m, options), given
    rows, last = [], []
    for r, n in enumerate(lengths):
        y, ends = x[:n, r : r + 1], []
        for layer in range(2):
            ways = []
            for way in range(2):
                k = 2 * layer + way
                seen = m.flip(y, (0,)) if way else y
                shown, cell = plain.steps(kind, seen, h[k, r : r + 1], c[k, r : r + 1], weights[k])
                ends.append((shown[-1], cell))
                shown = m.stack(shown)
                ways.append(m.flip(shown, (0,)) if way else shown)
            y = m.concatenate(ways, 2)
        rows.append(y[:, 0])
        last.append([m.concatenate([e[i] for e in ends]) for i in range(2)])
    ends = [m.stack([each[i] for each in last], 1) for i in range(1 + (kind == "LSTM"))]
    return rows, ends


def drawn_layer(kind, options, device=None):
    """Two layers both ways, first states and sequences of several lengths."""
    layer = getattr(nn, kind)(4, SIZE, num_layers=2, bidirectional=True, device=device, **options)
    for p in layer.parameters():
        p.assign_(fb.tensor(drawn(*p.shape) * 0.6, device=device))
    out = options.get("proj_size", SIZE)
    return layer, (drawn(5, 4, 4), drawn(4, 4, out), drawn(4, 4, SIZE), [3, 5, 1, 4])


def packed_of(layer, given, device=None):
    """Rows of each sequence and the last states, of a packed call."""
    x, h, c, lengths = given
    packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
    y, state = layer(packed, (h, c) if layer.mode == "LSTM" else h)
    padded_y, _ = rnn.pad_packed_sequence(y)
    return [padded_y[:n, r] for r, n in enumerate(lengths)], list(state) if layer.mode == "LSTM" else [state]


# all on NumPy, half by kernels
OPTIONS_BY_DEVICE = [(name, "cpu") for name in OTHERS] + [(name, "gpu") for name in in_turn(OTHERS, 2)]


@pytest.mark.parametrize(("name", "device"), OPTIONS_BY_DEVICE, indirect=["device"])
@pytest.mark.share(5, only=["gpu"])
def test_options_by_numpy(name, device):
    kind, options = OTHERS[name]
    layer, given = drawn_layer(kind, options, device)
    moved = [fb.tensor(t, device=device) if isinstance(t, np.ndarray) else t for t in given]
    rows, ends = packed_of(layer, moved)
    weights = [[p.numpy().astype("f8") for p in each] for each in layer.all_weights]
    exact = [t.astype("f8") if isinstance(t, np.ndarray) else t for t in given]
    wanted, last = by_steps(np, kind, options, weights, exact)
    for found, want in zip(values(*rows, *ends), [*wanted, *last], strict=True):
        np.testing.assert_allclose(found, want, atol=2e-5)


@pytest.mark.parametrize("name", OTHERS)
def test_gradients_of_options_beside_torch(torch, on_numpy, name):
    kind, options = OTHERS[name]
    layer, given = drawn_layer(kind, options)
    mine = [fb.tensor(t).requires_grad_() if isinstance(t, np.ndarray) else t for t in given]
    rows, ends = packed_of(layer, mine)
    theirs = [
        torch.tensor(t.astype("f8")).requires_grad_() if isinstance(t, np.ndarray) else t for t in given
    ]
    weights = [[torch.tensor(p.numpy().astype("f8")).requires_grad_() for p in w] for w in layer.all_weights]
    wanted, last = by_steps(torch, kind, options, weights, theirs)
    ways = [drawn(*r.shape) for r in [*rows, *ends]]
    grads = sum((r * fb.tensor(w)).sum() for r, w in zip([*rows, *ends], ways, strict=True)).backward()
    sum((r * torch.tensor(w)).sum() for r, w in zip([*wanted, *last], ways, strict=True)).backward()
    pairs = [(p, q) for ps, qs in zip(layer.all_weights, weights, strict=True) for p, q in zip(ps, qs)]
    pairs += zip(mine[: 3 if kind == "LSTM" else 2], theirs)
    for p, q in pairs:
        np.testing.assert_allclose(grads[p].numpy(), q.grad.numpy(), atol=1e-4, rtol=1e-3)


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


def kernels_of_14_steps(layer, gpu):
    """How many more there are of 21 steps than of 7: forward, and forward and back."""
    x = fb.randn(21, 2, 4, device=gpu)
    fb.realize(x, *layer.parameters())
    counts = []
    for steps in (7, 21):
        y, _ = layer(x[:steps])
        before = kernels(y)
        grads = y.square().sum().backward()
        counts.append((before, kernels(*(grads[p] for p in layer.parameters()))))
    return [b - a for a, b in zip(*counts, strict=True)]


CLIPPED = {"clip": 1.0, "state_clip": 1.0, "hidden_activation": "softsign"}


@pytest.mark.parametrize(
    "kind, ahead, options",
    [
        ("RNN", 1, {}),
        ("GRU", 2, {}),
        ("LSTM", 2, {}),
        ("RNN", 2, {"clip": 1.0}),
        ("GRU", 2, CLIPPED),
        ("LSTM", 2, {**CLIPPED, "input_forget": True, "gate_activation": "hardsigmoid"}),
    ],
)
@pytest.mark.share(5)
def test_kernels_of_a_step(kind, ahead, options, gpu):
    """A product and a kernel of all gates; a plain RNN's gate is the product's epilogue. A seventh of a
    kernel a step joins the states. On the way back a kernel and a product."""
    more = kernels_of_14_steps(getattr(nn, kind)(4, 8, device=gpu, **options), gpu)
    back = 14 * 2 if kind != "RNN" else 14
    assert more[0] == 14 * ahead + 2
    assert 14 * (ahead + 1) + 4 <= more[1] <= 14 * ahead + back + 6


@pytest.mark.parametrize(
    "kind, ahead, options",
    [("GRU", 3, {"reset_after": False}), ("LSTM", 2, {"hidden_activation": sines})],
)
def test_kernels_of_a_step_that_is_differentiated_by_itself(kind, ahead, options, gpu):
    """Gates are one kernel forward, with a reset before it a product more; going back costs 11 to 13."""
    more = kernels_of_14_steps(getattr(nn, kind)(4, 8, device=gpu, **options), gpu)
    assert more[0] == 14 * ahead + 2 and more[1] <= 14 * 15 + 4


@pytest.mark.share(5)
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
NAMES = (
    "one of affine, elu, hardsigmoid, leakyrelu, relu, scaledtanh, sigmoid, softplus, softsign, tanh,"
    " thresholdedrelu, or a function of a tensor"
)
ERRORS = {
    "GRU(f32[3, 2, 4]): takes 3 dims (or 2, without a batch) of which the last is 5: reshape it": (
        lambda: nn.GRU(5, 6)(X)
    ),
    "LSTM(hx of [1, 2, 6]): the states must be [1, 2, 6] and [1, 2, 6]: pass these shapes": (
        lambda: nn.LSTM(4, 6)(X, fb.zeros(1, 2, 6))
    ),
    "LSTM(dropout=2): must be from 0 to 1: pass a probability": lambda: nn.LSTM(4, 6, dropout=2),
    "LSTM(proj_size=6): must be 0 (off) to 5, below hidden_size: pass another value": (
        lambda: nn.LSTM(4, 6, proj_size=6)
    ),
    f"RNN(nonlinearity='sin'): is unknown: use {NAMES}": lambda: nn.RNN(4, 6, nonlinearity="sin"),
    f"RNNCell(nonlinearity='sin'): is unknown: use {NAMES}": lambda: nn.RNNCell(4, 6, nonlinearity="sin"),
    f"LSTM(cell_activation=3): is unknown: use {NAMES}": lambda: nn.LSTM(4, 6, cell_activation=3),
    "GRU(clip=0): the bound must be above 0: pass another value, or None": lambda: nn.GRU(4, 6, clip=0),
    "GRU(clip='1'): the bound must be above 0: pass another value, or None": lambda: nn.GRU(4, 6, clip="1"),
    "GRU(f32[0, 2, 4]): the sequence has no steps: pass at least one": lambda: nn.GRU(4, 6)(X[:0]),
    "LSTMCell(state_clip=-1): the bound must be above 0: pass another value, or None": (
        lambda: nn.LSTMCell(4, 6, state_clip=-1)
    ),
    "GRU(bidirectional=True, reverse=True): bidirectional already includes the reverse"
    " direction: leave one of them out": (lambda: nn.GRU(4, 6, bidirectional=True, reverse=True)),
    "GRU(hidden_size=0): sizes must be positive integers: pass another value": lambda: nn.GRU(4, 0),
    "GRUCell(f32[3, 2, 4]): takes 2 dims (or 1, without a batch) of which the last is 4: reshape it": (
        lambda: nn.GRUCell(4, 6)(X)
    ),
    "GRUCell(f32[2, 4], f32[2, 5]): the state must be [2, 6]: pass this shape": (
        lambda: nn.GRUCell(4, 6)(X[0], fb.zeros(2, 5))
    ),
    "pack_padded_sequence(f32[3, 2, 4], [1, 2]): lengths are not in descending order: sort"
    " them, or pass enforce_sorted=False": lambda: rnn.pack_padded_sequence(X, [1, 2]),
    "pack_padded_sequence(f32[3, 2, 4], [4, 2]): lengths must be from 1 to 3: pass others": (
        lambda: rnn.pack_padded_sequence(X, [4, 2])
    ),
    "pack_padded_sequence(f32[3, 2, 4], [3]): there are 2 sequences: pass the length of each": (
        lambda: rnn.pack_padded_sequence(X, [3])
    ),
    "pad_packed_sequence(total_length=2): the longest sequence has 3 elements: pass at least that": (
        lambda: rnn.pad_packed_sequence(rnn.pack_padded_sequence(X, [3, 2]), total_length=2)
    ),
    "pad_sequence(0 sequences, padding_side='right'): needs at least one sequence and the"
    " side 'right' or 'left': pass these": lambda: rnn.pad_sequence([]),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(on_numpy, text):
    with pytest.raises(ValueError) as e:
        ERRORS[text]()
    assert str(e.value) == text


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_from_the_end_alone(kind, on_numpy):
    """As the second direction of a layer that has both, in each of two layers, also of several lengths."""
    both = getattr(nn, kind)(3, 4, bidirectional=True)
    layer = getattr(nn, kind)(3, 4, reverse=True)
    own = {k.removesuffix("_reverse"): v for k, v in both.state_dict().items() if k.endswith("_reverse")}
    layer.load_state_dict(own)
    x = fb.tensor(drawn(5, 2, 3))
    for given in (x, rnn.pack_padded_sequence(x, [5, 3])):
        (y, h), (wanted, last) = layer(given), both(given)
        y, wanted = (rnn.pad_packed_sequence(t)[0] if given is not x else t for t in (y, wanted))
        np.testing.assert_allclose(y.numpy(), wanted[..., 4:].numpy(), atol=1e-6)
        h, last = (t[0] if kind == "LSTM" else t for t in (h, last))
        np.testing.assert_allclose(h[0].numpy(), last[1].numpy(), atol=1e-6)
    deep = getattr(nn, kind)(3, 4, 2, reverse=True)
    parts = [getattr(nn, kind)(n, 4) for n in (3, 4)]
    for i, part in enumerate(parts):
        part.load_state_dict(
            {k.replace(f"l{i}", "l0"): v for k, v in deep.state_dict().items() if f"l{i}" in k}
        )
    turned = parts[1](parts[0](x.flip(0))[0])[0].flip(0)
    np.testing.assert_allclose(deep(x)[0].numpy(), turned.numpy(), atol=1e-6)


def test_options_of_cells_are_those_of_a_step(on_numpy):
    for kind, options in OTHERS.values():
        if "proj_size" in options:
            continue
        layer = getattr(nn, kind)(4, SIZE, **options)
        cell = getattr(nn, f"{kind}Cell")(4, SIZE, **options)
        cell.load_state_dict({k.removesuffix("_l0"): v for k, v in layer.state_dict().items()})
        x = fb.tensor(drawn(3, 4))
        states = [fb.tensor(drawn(1, 3, SIZE)) for _ in range(1 + (kind == "LSTM"))]
        y, _ = layer(x.unsqueeze(0), tuple(states) if kind == "LSTM" else states[0])
        h = [s[0] for s in states]
        made = cell(x, h if kind == "LSTM" else h[0])
        shown = made[0] if kind == "LSTM" else made
        np.testing.assert_allclose(shown.numpy(), y.numpy()[0], atol=1e-6)


def test_a_layer_as_an_activation_learns(on_numpy):
    layer = nn.GRU(2, 3, hidden_activation=nn.PReLU())
    assert layer.hidden_activation.weight.item() == 0.25  # not drawn anew with the layer's own
    assert "hidden_activation.weight" in layer.state_dict()
    before, values = layer.hidden_activation.weight.item(), []
    x = fb.tensor(drawn(4, 2, 2))
    grads = layer(x)[0].sum().backward()
    for step in (1e-2, -1e-2):
        with fb.no_grad():
            layer.hidden_activation.weight.fill_(before + step)
        values.append(layer(x)[0].sum().item())
    slope = grads[layer.hidden_activation.weight].item()
    assert slope == pytest.approx((values[0] - values[1]) / 2e-2, rel=1e-2)


def test_reads_as_torchs(on_numpy):
    assert repr(nn.LSTM(2, 3, 2, bidirectional=True)) == "LSTM(2, 3, num_layers=2, bidirectional=True)"
    assert [len(w) for w in nn.LSTM(2, 3, proj_size=1, bidirectional=True).all_weights] == [5, 5]
    assert nn.RNN(2, 3, 1, "relu").mode == "RNN_RELU" and nn.RNNCell(2, 3).mode == "RNN_TANH"
    assert repr(nn.LSTM(2, 3, clip=3, input_forget=True)) == "LSTM(2, 3, clip=3, input_forget=True)"
    assert repr(nn.GRUCell(2, 3, reset_after=False)) == "GRUCell(2, 3, reset_after=False)"
