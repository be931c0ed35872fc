"""Optimisers: every formula against NumPy in float64, state that goes round, steps that make nothing anew."""

import math

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.runtime.pipeline import counters


def sgd(p, g, s, t, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = g + weight_decay * p
    if momentum:
        s["m"] = g if t == 1 else momentum * s["m"] + (1 - dampening) * g
        g = g + momentum * s["m"] if nesterov else s["m"]
    return p - lr * g


def adam(p, g, s, t, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, decoupled=False):
    if decoupled:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    b1, b2 = betas
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    s["top"] = np.maximum(s.get("top", 0), s["v"])
    v = s["top"] if amsgrad else s["v"]
    return p - lr / (1 - b1**t) * s["m"] / (np.sqrt(v) / math.sqrt(1 - b2**t) + eps)


def adamw(*args, weight_decay=1e-2, **kw):
    return adam(*args, weight_decay=weight_decay, decoupled=True, **kw)


FORMULAS = {optim.SGD: sgd, optim.Adam: adam, optim.AdamW: adamw}
CASES = [
    (optim.SGD, {"lr": 0.1}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (optim.Adam, {"lr": 0.1}),
    (optim.Adam, {"lr": 0.1, "betas": (0.5, 0.6), "eps": 1e-3, "weight_decay": 0.1}),
    (optim.Adam, {"lr": 0.1, "amsgrad": True, "betas": (0.0, 0.3)}),
    (optim.AdamW, {"lr": 0.1}),
    (optim.AdamW, {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True}),
]
IDS = [f"{make.__name__}-{'-'.join(kw)}" for make, kw in CASES]


def problem(device, shapes=((3, 2), (5,))):
    rng = np.random.default_rng(0)
    starts = [rng.normal(size=s).astype("f4") for s in shapes]
    pulls = [[rng.normal(size=s).astype("f4") for s in shapes] for _ in range(6)]
    return starts, pulls, [fb.tensor(s, device=device, requires_grad=True) for s in starts]


def gradients(params, pulls, device):
    """Gradients of sum(p^2 + p * pull): 2 p + pull."""
    parts = [(p * p + p * fb.tensor(c, device=device)).sum() for p, c in zip(params, pulls, strict=True)]
    return sum(parts[1:], parts[0]).backward()


@pytest.mark.parametrize("make, kw", CASES, ids=IDS)
def test_formula(device, make, kw):
    starts, pulls, params = problem(device)
    optimizer = make(params, **kw)
    values, states = [s.astype("f8") for s in starts], [{}, {}]
    for t, pull in enumerate(pulls, 1):
        optimizer.step(gradients(params, pull, device))
        for i, c in enumerate(pull):
            values[i] = FORMULAS[make](values[i], 2 * values[i] + c, states[i], t, **kw)
    for p, v in zip(params, values, strict=True):
        np.testing.assert_allclose(p.numpy(), v, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("make, kw", CASES, ids=IDS)
def test_agrees_with_torch(torch, device, make, kw):
    starts, pulls, params = problem(device)
    theirs = [torch.tensor(s, requires_grad=True) for s in starts]
    mine, other = make(params, **kw), getattr(torch.optim, make.__name__)(theirs, **kw)
    for pull in pulls:
        mine.step(gradients(params, pull, device))
        other.zero_grad()
        sum((p * p + p * torch.tensor(c)).sum() for p, c in zip(theirs, pull, strict=True)).backward()
        other.step()
    for p, q in zip(params, theirs, strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=2e-5, atol=2e-6)


TRAINED = [
    (optim.SGD, {"lr": 0.5, "momentum": 0.9}),
    (optim.Adam, {"lr": 0.03}),
    (optim.AdamW, {"lr": 0.03}),
]


def spirals(n=64):
    """Two arms that no line parts."""
    t = np.linspace(0.3, 1, n // 2)
    arm = np.stack([t * np.cos(5 * t), t * np.sin(5 * t)], 1)
    return np.concatenate([arm, -arm]).astype("f4"), np.repeat([0, 1], n // 2)


def mlp(device):
    fb.manual_seed(0)
    return (
        nn.Sequential(  # no bias below the norm: its gradient is zero, and Adam steps by what rounding leaves
            nn.Linear(2, 32, bias=False, device=device),
            nn.BatchNorm1d(32, device=device),
            nn.Tanh(),
            nn.Linear(32, 2, device=device),
        )
    )


def step(model, optimizer, x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.step(loss.backward())
    return loss


@pytest.mark.parametrize("make, kw", TRAINED, ids=[m.__name__ for m, _ in TRAINED])
def test_mlp_learns(device, make, kw):
    model = mlp(device)
    optimizer = make(model.parameters(), **kw)
    points, labels = spirals()
    x, y = fb.tensor(points, device=device), fb.tensor(labels, device=device)
    losses = [step(model, optimizer, x, y) for _ in range(100)]
    assert losses[0].item() > 0.5 and losses[-1].item() < 0.05


@pytest.mark.parametrize("make, kw", TRAINED, ids=[m.__name__ for m, _ in TRAINED])
def test_second_step_makes_nothing_anew(gpu, make, kw):
    model = mlp(gpu)
    optimizer = make(model.parameters(), **kw)
    x, y = (fb.tensor(v, device=gpu) for v in spirals())

    def made():
        names = ("plans", "renders", "compiles")
        return [getattr(counters, n) for n in names] + [fb.memory(gpu)["allocations"]]

    step(model, optimizer, x, y)
    before, submits = made(), counters.submits
    for i in range(3):
        optimizer.lr = 0.01 * i
        step(model, optimizer, x, y)
    assert made() == before
    assert counters.submits == submits + 3  # forward, backward, statistics, state and parameters in one


@pytest.mark.parametrize("make, kw", TRAINED, ids=[m.__name__ for m, _ in TRAINED])
def test_recorded_step_equals_plain(gpu, make, kw):
    def train(wrap):
        model = mlp(gpu)
        optimizer = make(model.parameters(), **kw)
        x, y = (fb.tensor(v, device=gpu) for v in spirals())
        run = wrap(lambda x, y: step(model, optimizer, x, y))
        for i in range(6):
            optimizer.lr = kw["lr"] / (i + 1)
            run(x, y)
        return [t.numpy() for t in model.state_dict().values()]

    for a, b in zip(train(lambda f: f), train(fb.jit), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_lr_is_read_at_every_step(device):
    _, pulls, params = problem(device)
    optimizer = optim.SGD(params, lr=0.0)
    before = params[0].numpy()
    optimizer.step(gradients(params, pulls[0], device))
    np.testing.assert_array_equal(params[0].numpy(), before)
    optimizer.lr = 1.0
    optimizer.step(gradients(params, pulls[0], device))
    np.testing.assert_allclose(params[0].numpy(), before - (2 * before + pulls[0][0]), atol=1e-5)


def test_parameters_without_gradient_are_left_alone(device):
    _, _, params = problem(device)
    before = params[1].numpy()
    optimizer = optim.AdamW(params, lr=0.1)
    optimizer.step((params[0] * params[0]).sum().backward())
    np.testing.assert_array_equal(params[1].numpy(), before)
    assert not optimizer.state[1]["exp_avg"].numpy().any()


def test_state_goes_round(device):
    _, pulls, params = problem(device)
    optimizer = optim.Adam(params, lr=0.1)
    for pull in pulls[:3]:
        optimizer.step(gradients(params, pull, device))
    copies = [fb.tensor(p.numpy(), device=device, requires_grad=True) for p in params]
    again = optim.Adam(copies, lr=1.0)
    state = optimizer.state_dict()
    assert list(state) == ["lr", "step", "0.exp_avg", "0.exp_avg_sq", "1.exp_avg", "1.exp_avg_sq"]
    again.load_state_dict(state)
    for pull in pulls[3:]:
        optimizer.step(gradients(params, pull, device))
        again.step(gradients(copies, pull, device))
    for a, b in zip(params, copies, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_clipping(device):
    _, pulls, params = problem(device)
    grads = gradients(params, pulls[0], device)
    plain = [g.numpy() for g in grads]
    length = math.sqrt(sum((g**2).sum() for g in plain))
    clipped, norm = optim.clip_grad_norm(grads, 0.5)
    assert abs(norm.item() - length) < 1e-4
    for p, g in zip(params, plain, strict=True):
        np.testing.assert_allclose(clipped[p].numpy(), g * 0.5 / length, rtol=1e-4)
    kept, _ = optim.clip_grad_norm(grads, 2 * length)
    np.testing.assert_allclose(kept[params[0]].numpy(), plain[0], rtol=1e-6)
    held = optim.clip_grad_value(grads, 0.3)
    np.testing.assert_allclose(held[params[0]].numpy(), np.clip(plain[0], -0.3, 0.3), rtol=1e-6)


def one():
    return [fb.zeros(2).requires_grad_()]


ERRORS = [
    (lambda: optim.SGD([], 0.1), "SGD([]): there is nothing to optimise: give model.parameters()"),
    (lambda: optim.Adam([3]), "Adam([..., 3]): takes tensors: give model.parameters()"),
    (
        lambda: optim.SGD([fb.zeros(2)]),
        "SGD([..., f32[2]]): parameter 0 has requires_grad=False: leave it out, or call requires_grad_()",
    ),
    (lambda: optim.SGD(one() * 2), "SGD(2 tensors): one is given twice: give each once"),
    (lambda: optim.SGD(one(), -1), "SGD(lr=-1): must be at least 0: give another"),
    (lambda: optim.SGD(one(), math.nan), "SGD(lr=nan): must be at least 0: give another"),
    (lambda: optim.AdamW(one(), weight_decay=-1), "AdamW(weight_decay=-1): must be at least 0: give another"),
    (lambda: optim.Adam(one(), betas=(0.9, 1)), "Adam(beta2=1): must be in 0 to 1, 1 left out: give another"),
    (
        lambda: optim.SGD(one(), nesterov=True),
        "SGD(momentum=0.0, dampening=0.0, nesterov=True): nesterov needs momentum and no dampening: set"
        " momentum=0.9",
    ),
    (
        lambda: optim.SGD(one()).step(one()[0].sum().backward()),
        "SGD.step(1 gradients): the loss depends on none of the parameters: make the optimizer of the model's"
        " parameters",
    ),
    (
        lambda: optim.SGD(one(), 1, 0.9).load_state_dict(
            {"lr": fb.zeros(()), "step": fb.zeros(1), "a": fb.zeros(2)}
        ),
        "load_state_dict(3 tensors): missing: '0.momentum_buffer'; unexpected: 'a'; 'step' is [], given [1]:"
        " give the state of the same optimizer and model",
    ),
    (
        lambda: optim.clip_grad_norm(one()[0].sum().backward(), 0),
        "clip_grad_norm(max_norm=0): must be above 0: give another",
    ),
]


@pytest.mark.parametrize("call, text", ERRORS, ids=range(len(ERRORS)))
def test_errors(call, text):
    with pytest.raises((ValueError, TypeError)) as e:
        call()
    assert str(e.value) == text


OFFLOADED = [(optim.SGD, {"momentum": 0.9, "nesterov": True}), (optim.AdamW, {"amsgrad": True})]


@pytest.mark.parametrize(("make", "kw"), OFFLOADED)
def test_offloaded_state_gives_the_same_steps(gpu, make, kw):
    def trained(**more):
        fb.manual_seed(1)
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4).half().float())
        opt, x = make(model.parameters(), lr=0.05, **kw, **more), fb.rand(12, 8)
        losses = []
        for _ in range(4):
            loss = model(x).square().mean()
            opt.step(loss.backward())
            losses.append(loss.item())
        return opt, losses + [p.tolist() for p in model.parameters()]

    plain, expected = trained()
    opt, found = trained(offload=True)
    assert found == expected
    assert {t.device.name for _, t in opt._named()} == {"cpu"}
    for (name, a), (_, b) in zip(opt._named(), plain._named(), strict=True):
        assert np.array_equal(a.numpy(), b.numpy()), name
    other, _ = trained(offload=True)
    other.load_state_dict(opt.state_dict())


def test_offloaded_state_takes_no_memory_of_the_device(gpu):
    model = nn.Linear(256, 256, bias=False)
    x = fb.rand(4, 256).realize()
    fb.realize(*model.parameters())
    before, size = fb.memory(gpu)["live"], 256 * 256 * 4
    opt = optim.AdamW(model.parameters(), offload=True)
    opt.step(model(x).sum().backward())
    assert fb.memory(gpu)["live"] - before < 0.1 * size


def test_an_offloaded_step_is_not_recorded(gpu, capsys):
    model = nn.Linear(3, 2)
    opt = optim.AdamW(model.parameters(), offload=True)

    @fb.jit
    def step(x):
        loss = model(x).square().sum()
        opt.step(loss.backward())
        return loss

    losses = [step(fb.ones(2, 3)).item() for _ in range(3)]
    assert losses[0] > losses[1] > losses[2]
    assert "jit(step): runs unrecorded: it reads values" in capsys.readouterr().err
