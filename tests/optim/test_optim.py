"""Optimisers: every formula against NumPy in float64, state that goes round, steps that make nothing anew."""

import inspect
import math
import re
import tomllib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.runtime.pipeline import counters

CASES = {  # by a name of it: the class and its options; steps.toml has what PyTorch's makes of each
    "SGD": (optim.SGD, {"lr": 0.1}),
    "SGD, momentum": (optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    "SGD, dampening": (optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    "SGD, nesterov": (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    "ASGD": (optim.ASGD, {"lr": 0.1}),
    "ASGD, all": (optim.ASGD, {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 5.0, "weight_decay": 0.1}),
    "Adam": (optim.Adam, {"lr": 0.1}),
    "Adam, decay": (optim.Adam, {"lr": 0.1, "betas": (0.5, 0.6), "eps": 1e-3, "weight_decay": 0.1}),
    "Adam, amsgrad": (optim.Adam, {"lr": 0.1, "amsgrad": True, "betas": (0.0, 0.3)}),
    "Adam, decoupled": (optim.Adam, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "AdamW": (optim.AdamW, {"lr": 0.1}),
    "AdamW, all": (optim.AdamW, {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True, "maximize": True}),
    "Adamax": (optim.Adamax, {"lr": 0.1}),
    "Adamax, decay": (optim.Adamax, {"lr": 0.1, "betas": (0.5, 0.6), "weight_decay": 0.1}),
    "NAdam": (optim.NAdam, {"lr": 0.1}),
    "NAdam, decay": (optim.NAdam, {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1}),
    "NAdam, decoupled": (optim.NAdam, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "RAdam": (optim.RAdam, {"lr": 0.1}),
    "RAdam, decay": (optim.RAdam, {"lr": 0.1, "weight_decay": 0.1, "betas": (0.5, 0.9)}),
    "RAdam, decoupled": (optim.RAdam, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "Adagrad": (optim.Adagrad, {"lr": 0.1}),
    "Adagrad, all": (
        optim.Adagrad,
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.3},
    ),
    "Adadelta": (optim.Adadelta, {"lr": 1.0}),
    "Adadelta, decay": (optim.Adadelta, {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1}),
    "RMSprop": (optim.RMSprop, {"lr": 0.1}),
    "RMSprop, all": (optim.RMSprop, {"lr": 0.1, "momentum": 0.5, "centered": True, "weight_decay": 0.1}),
    "Rprop": (optim.Rprop, {"lr": 0.1}),
    "Rprop, all": (optim.Rprop, {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (0.01, 0.2)}),
    "Adafactor": (optim.Adafactor, {"lr": 0.1}),
    "Adafactor, all": (
        optim.Adafactor,
        {"lr": 0.3, "weight_decay": 0.1, "beta2_decay": -0.5, "d": 2.0, "eps": (1e-4, 0.1)},
    ),
}
STEPS = tomllib.loads(Path(__file__).with_name("steps.toml").read_text(encoding="utf-8"))


def problem(device, shapes=((3, 2), (5,)), steps=6):
    rng = np.random.default_rng(0)
    starts = [rng.normal(size=s).astype("f4") for s in shapes]
    pulls = [[rng.normal(size=s).astype("f4") for s in shapes] for _ in range(steps)]
    return starts, pulls, [fb.tensor(s, device=device, requires_grad=True) for s in starts]


def gradients(params, pulls, device):
    """Gradients of sum(p^2 + p * pull): 2 p + pull."""
    parts = [(p * p + p * fb.tensor(c, device=device)).sum() for p, c in zip(params, pulls, strict=True)]
    return sum(parts[1:], parts[0]).backward()


def moved(make, kw, device, steps=20):
    """The parameters after some steps, one after the other; the rate falls from the tenth on."""
    _, pulls, params = problem(device, steps=20)
    optimizer = make(params, **kw)
    for t, pull in enumerate(pulls[:steps]):
        optimizer.param_groups[0]["lr"] = kw["lr"] / max(1, t - 8)
        optimizer.step(gradients(params, pull, device))
    return np.concatenate([p.numpy().ravel() for p in params])


def moved_by_torch(torch, make, kw):
    starts, pulls, _ = problem("cpu", steps=20)
    params = [torch.tensor(s, requires_grad=True) for s in starts]
    optimizer = make(params, **kw)
    for t, pull in enumerate(pulls):
        optimizer.param_groups[0]["lr"] = kw["lr"] / max(1, t - 8)
        optimizer.zero_grad()
        sum((p * p + p * torch.tensor(c)).sum() for p, c in zip(params, pull, strict=True)).backward()
        optimizer.step()
    return np.concatenate([p.detach().numpy().ravel() for p in params])


@pytest.mark.parametrize("name", CASES)
def test_twenty_steps_are_pytorchs(name):
    np.testing.assert_allclose(moved(*CASES[name], "cpu"), STEPS[name], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_torch(torch, name):
    make, kw = CASES[name]
    wanted = moved_by_torch(torch, getattr(torch.optim, make.__name__), kw)
    np.testing.assert_allclose(STEPS[name], wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(moved(make, kw, "cpu"), wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("make", dict.fromkeys(make for make, _ in CASES.values()))
def test_kernels_move_as_numpy_does(gpu, make):
    kw = [kw for m, kw in CASES.values() if m is make][-1]
    np.testing.assert_allclose(moved(make, kw, gpu, 3), moved(make, kw, "cpu", 3), rtol=2e-5, atol=2e-6)


def lion(p, g, s, t, lr, betas=(0.9, 0.99), weight_decay=0.0):
    m = s.get("m", 0)
    s["m"] = betas[1] * m + (1 - betas[1]) * g
    return p * (1 - lr * weight_decay) - lr * np.sign(betas[0] * m + (1 - betas[0]) * g)


def adan(p, g, s, t, lr, betas=(0.98, 0.92, 0.99), eps=1e-8, weight_decay=0.0):
    b1, b2, b3 = betas
    d = g - s.get("g", g)
    s["g"], s["m"] = g, b1 * s.get("m", 0) + (1 - b1) * g
    s["d"] = b2 * s.get("d", 0) + (1 - b2) * d
    s["v"] = b3 * s.get("v", 0) + (1 - b3) * (g + b2 * d) ** 2
    length = np.sqrt(s["v"] / (1 - b3**t)) + eps
    p = p - lr * (s["m"] / (1 - b1**t) + b2 * s["d"] / (1 - b2**t)) / length
    return p / (1 + lr * weight_decay)


def cautious(p, g, s, t, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, cautious=True):
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g * g
    u = s["m"] / (1 - betas[0] ** t) / (np.sqrt(s["v"] / (1 - betas[1] ** t)) + eps)
    mask = (u * g > 0).astype("f8")
    return p * (1 - lr * weight_decay) - lr * u * mask / max(mask.mean(), 1e-3)


def muon(p, g, s, t, lr, momentum=0.95, weight_decay=0.1, nesterov=True, adjust_lr_fn="original"):
    s["m"] = momentum * s.get("m", 0) + (1 - momentum) * g
    x = (1 - momentum) * g + momentum * s["m"] if nesterov else s["m"]
    x = x / max(np.linalg.norm(x), 1e-7)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
    n, m = p.shape
    scale = math.sqrt(max(1, n / m)) if adjust_lr_fn == "original" else 0.2 * math.sqrt(max(n, m))
    return p * (1 - lr * weight_decay) - lr * scale * x


FORMULAS = [
    (optim.Lion, lion, {"lr": 0.1}),
    (optim.Lion, lion, {"lr": 0.1, "weight_decay": 0.1, "betas": (0.5, 0.6)}),
    (optim.Adan, adan, {"lr": 0.1}),
    (optim.Adan, adan, {"lr": 0.1, "weight_decay": 0.1, "betas": (0.5, 0.6, 0.7)}),
    (optim.AdamW, cautious, {"lr": 0.1, "cautious": True}),
    (optim.Muon, muon, {"lr": 0.1}),
    (optim.Muon, muon, {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}),
]


@pytest.mark.parametrize("make, formula, kw", FORMULAS, ids=range(len(FORMULAS)))
def test_formula(device, make, formula, kw):
    steps = 3 if device.kind == "gpu" else 20
    starts, pulls, params = problem(device, ((3, 2), (2, 5), (2, 3)), steps)
    optimizer = make(params, **kw)
    values, states = [s.astype("f8") for s in starts], [{}, {}, {}]
    for t, pull in enumerate(pulls, 1):
        optimizer.step(gradients(params, pull, device))
        for i, c in enumerate(pull):
            values[i] = formula(values[i], 2 * values[i] + c, states[i], t, **kw)
    for p, v in zip(params, values, strict=True):
        np.testing.assert_allclose(p.numpy(), v, rtol=2e-5, atol=2e-6)


def test_muon_is_near_torchs(torch):
    """Whose products are in bfloat16."""
    starts, pulls, params = problem("cpu", ((3, 2), (2, 5), (2, 3), (5, 2), (3, 2), (4, 4)), 10)
    theirs = [torch.tensor(s, requires_grad=True) for s in starts]
    mine, other = optim.Muon(params, lr=0.01), torch.optim.Muon(theirs, lr=0.01)
    for pull in pulls:
        mine.step(gradients(params, pull, "cpu"))
        other.zero_grad()
        sum((p * p + p * torch.tensor(c)).sum() for p, c in zip(theirs, pull, strict=True)).backward()
        other.step()
    for p, q in zip(params, theirs, strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), atol=5e-3)


def test_muon_multiplies_matrices_of_one_shape_at_once(monkeypatch):
    """Of each group by themselves, and as many as are small: with the values of each alone."""

    def moved(most):
        monkeypatch.setattr("flambeau.optim.muon.BATCHED", most)
        told = []
        monkeypatch.setattr(
            "flambeau.optim.muon.orthogonal", lambda x, o: told.append(x.shape) or orthogonal(x, o)
        )
        _, pulls, params = problem("cpu", ((3, 2), (3, 2), (2, 5), (3, 2), (3, 2), (5, 2)), 1)
        optimizer = optim.Muon([{"params": params[:4]}, {"params": params[4:], "lr": 0.2}], lr=0.1)
        for pull in pulls:
            optimizer.step(gradients(params, pull, "cpu"))
        return told, [p.numpy() for p in params]

    orthogonal = optim.muon.orthogonal
    shapes, values = moved(1 << 20)
    assert shapes == [(3, 3, 2), (2, 5), (3, 2), (5, 2)]
    assert moved(12)[0] == [(2, 3, 2), (2, 5), (3, 2), (3, 2), (5, 2)]
    alone, apart = moved(1)
    assert alone == [p.shape for p in apart]
    for p, q in zip(values, apart, strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-5, atol=1e-6)


def by_rows(make, table, lr=0.1):
    """A table after 12 steps that each look two rows up."""
    p = fb.tensor(table, device="cpu", requires_grad=True)
    optimizer = make([p], lr=lr)
    for t in range(12):
        rows = fb.tensor([t % 5, (3 * t + 1) % 5], device="cpu")
        optimizer.step(p[rows].square().sum().backward())
    return p.numpy()


def test_sparse_adam_leaves_rows_alone_that_are_not_used(torch):
    table = np.random.default_rng(0).normal(size=(6, 3)).astype("f4")
    theirs = torch.nn.Embedding(6, 3, sparse=True)
    theirs.weight.data = torch.tensor(table)
    other = torch.optim.SparseAdam(theirs.parameters(), lr=0.1)
    for t in range(12):
        other.zero_grad()
        theirs(torch.tensor([t % 5, (3 * t + 1) % 5])).square().sum().backward()
        other.step()
    np.testing.assert_allclose(by_rows(optim.SparseAdam, table), theirs.weight.detach().numpy(), atol=1e-6)


def test_sparse_adam_is_adam_for_the_rows_that_are_used():
    table = np.random.default_rng(0).normal(size=(6, 3)).astype("f4")
    sparse = by_rows(optim.SparseAdam, table)
    assert np.array_equal(sparse[5], table[5]) and not np.isclose(sparse[:5], table[:5]).all(1).any()
    p, q = (fb.tensor(table, device="cpu", requires_grad=True) for _ in range(2))
    a, b = optim.SparseAdam([p], lr=0.1), optim.Adam([q], lr=0.1)
    for _ in range(3):
        a.step(p.square().sum().backward())
        b.step(q.square().sum().backward())
    np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=1e-5, atol=1e-6)


# --- L-BFGS


def bowl(p, xp):
    """Its least value, 0, is at 1, 1, 1, 1: a mild form of Rosenbrock's."""
    return ((p[1:] - p[:-1] * p[:-1]) ** 2).sum() * 2 + ((1 - p) ** 2).sum()


SEARCHES = [{}, {"lr": 0.5, "history_size": 2, "max_iter": 6}, {"line_search_fn": "strong_wolfe"}]
SEARCHES += [{"line_search_fn": "strong_wolfe", "lr": 0.2, "max_eval": 6}]
START = np.array([-1.2, 1.0, 0.5, 2.0], "f4")


@pytest.mark.parametrize("kw", SEARCHES, ids=range(len(SEARCHES)))
def test_lbfgs_goes_as_torchs(torch, kw):
    p, q = fb.tensor(START, device="cpu", requires_grad=True), torch.tensor(START, requires_grad=True)
    mine, other = optim.LBFGS([p], **kw), torch.optim.LBFGS([q], **kw)
    calls = {"mine": 0, "theirs": 0}

    def ours():
        calls["mine"] += 1
        return bowl(p, fb).backward()

    def theirs():
        calls["theirs"] += 1
        other.zero_grad()
        loss = bowl(q, torch)
        loss.backward()
        return loss

    for _ in range(2):
        a, b = mine.step(ours), other.step(theirs)
        assert abs(a.item() - b.item()) < 1e-3
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), atol=2e-3)
    assert abs(calls["mine"] - calls["theirs"]) <= 3


@pytest.mark.parametrize("kw", SEARCHES, ids=range(len(SEARCHES)))
@pytest.mark.share(5)
def test_lbfgs_finds_the_lowest_point(kw):
    p = fb.tensor(START, device="cpu", requires_grad=True)
    optimizer = optim.LBFGS([p], **kw)
    for i in range(12 if "max_eval" in kw else 6):
        optimizer.step(lambda: bowl(p, fb).backward())
        if i == 2:  # go on elsewhere
            saved, at = optimizer.state_dict(), p.numpy()
            optimizer = optim.LBFGS([p := fb.tensor(at, device="cpu", requires_grad=True)], lr=3.0)
            optimizer.load_state_dict(saved)

    np.testing.assert_allclose(p.numpy(), np.ones(4), atol=1e-3)


def test_lbfgs_takes_torchs_state_and_gives_it_back(torch):
    kw = {"lr": 0.5, "history_size": 3, "max_iter": 3}

    def made(at):
        q = torch.tensor(at, requires_grad=True)
        return q, torch.optim.LBFGS([q], **kw)

    def moved(q, other):
        def theirs():
            other.zero_grad()
            (loss := bowl(q, torch)).backward()
            return loss

        other.step(theirs)

    q, other = made(START)
    moved(q, other)
    p = fb.tensor(q.detach().numpy(), device="cpu", requires_grad=True)
    mine = optim.LBFGS([p], lr=9.0)
    mine.load_state_dict(other.state_dict())
    moved(q, other)
    mine.step(lambda: bowl(p, fb).backward())
    np.testing.assert_allclose(p.numpy(), q.detach().numpy(), atol=1e-5)

    def theirs(v):
        return torch.tensor(v.numpy()) if isinstance(v, fb.Tensor) else v

    (known,) = mine.state_dict()["state"].values()
    known = {k: list(map(theirs, v)) if isinstance(v, list) else theirs(v) for k, v in known.items()}
    again, third = made(p.numpy())
    third.load_state_dict({"state": {0: known}, "param_groups": other.state_dict()["param_groups"]})
    moved(q, other)
    moved(again, third)
    np.testing.assert_allclose(again.detach().numpy(), q.detach().numpy(), atol=1e-5)


def test_lbfgs_hooks_see_its_curvature():
    """One before loading may change it, one after finds it in its place; one after saving sees it too."""
    p = fb.tensor(START, device="cpu", requires_grad=True)
    first = optim.LBFGS([p], max_iter=3)
    first.step(lambda: bowl(p, fb).backward())
    found = []
    first.register_state_dict_post_hook(lambda o, d: found.append(sorted(d["state"][0])))
    saved = first.state_dict()
    assert found == [
        ["H_diag", "d", "func_evals", "n_iter", "old_dirs", "old_stps", "prev_flat_grad", "ro", "t"]
    ]
    second = optim.LBFGS([p])
    second.register_load_state_dict_pre_hook(lambda o, d: {**d, "state": {0: {**d["state"][0], "n_iter": 7}}})
    second.register_load_state_dict_post_hook(lambda o: found.append(o.state_dict()["state"][0]["n_iter"]))
    second.load_state_dict(saved)
    assert found[-1] == 7 and second.memory.evaluations == first.memory.evaluations


def test_lbfgs_refuses_what_is_not_its_own():
    opt = optim.LBFGS([fb.zeros(3, device="cpu").requires_grad_()])
    groups = opt.state_dict()["param_groups"]
    cure = "load the state of the same optimizer and model"
    given = {
        "func_evals": 1,
        "exp_avg": fb.zeros(3),
        "d": fb.zeros(2),
        "old_stps": [fb.zeros(3), fb.zeros(4)],
    }
    for state, told in (
        ({"param_groups": groups}, "missing: 'state'"),
        ({"state": {}, "param_groups": groups * 2}, "1 groups, got 2"),
        (
            {"state": {0: given}, "param_groups": groups},
            "unexpected: 0.exp_avg; 0.d is [3], got [2]; 0.old_stps is [3], got [4]",
        ),
    ):
        with pytest.raises(ValueError) as e:
            opt.load_state_dict(state)
        assert str(e.value) == f"load_state_dict(...): {told}: {cure}"


def test_lbfgs_goes_up(device):
    p = fb.tensor([0.0, 3.0], device=device, requires_grad=True)
    optimizer = optim.LBFGS([p], maximize=True, line_search_fn="strong_wolfe")
    optimizer.step(lambda: (-((p - 1) ** 2).sum()).backward())
    np.testing.assert_allclose(p.numpy(), [1, 1], atol=1e-5)


# --- training


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
@pytest.mark.share(5)
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


def test_state_is_made_where_its_parameter_is(monkeypatch):
    """Another device is not even opened for it."""
    p = nn.Parameter(fb.ones(2, 3, device="cpu"))
    devices = import_module("flambeau.device")
    monkeypatch.setattr(devices, "_devices", {})
    monkeypatch.setattr(devices, "_open", lambda key: pytest.fail(f"{key} was opened"))
    for name in ("Adadelta", "Adafactor", "Adam", "Adan", "Lion", "Muon", "NAdam", "RMSprop", "Rprop", "SGD"):
        optimizer = getattr(optim, name)([p], lr=0.01)
        optimizer.step((p * p).sum().backward())
        assert all(t.device is p.device for t in optimizer.state[p].values())


def test_parameters_without_gradient_are_left_alone(device):
    _, _, params = problem(device)
    before = params[1].numpy()
    optimizer = optim.AdamW(params, lr=0.1)
    optimizer.step((params[0] * params[0]).sum().backward())
    np.testing.assert_array_equal(params[1].numpy(), before)
    assert not optimizer.state[params[1]]["exp_avg"].numpy().any()


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


@pytest.mark.parametrize("name", ["SGD", "Adam", "Muon"])
def test_frozen_parameters_stay_until_they_are_no_longer_frozen(device, name):
    """As in PyTorch all are given, also those that gradients are not taken by; these have no state."""
    rng = np.random.default_rng(0)
    a, b = (fb.tensor(rng.standard_normal((3, 2)).astype("f4"), device=device) for _ in range(2))
    b.requires_grad_()
    optimizer = getattr(optim, name)([a, b], lr=0.1, **({"momentum": 0.9} if name == "SGD" else {}))
    before = [a.numpy(), b.numpy()]
    optimizer.step((a * b).sum().backward())
    assert (a.numpy() == before[0]).all() and (b.numpy() != before[1]).all()
    assert list(optimizer.state_dict()["state"]) == [1]
    a.requires_grad_()
    optimizer.step((a * b).sum().backward())
    assert (a.numpy() != before[0]).all()
    assert list(optimizer.state_dict()["state"]) == [0, 1]
    again = getattr(optim, name)([a, b], lr=0.1, **({"momentum": 0.9} if name == "SGD" else {}))
    again.load_state_dict(optimizer.state_dict())
    assert list(again.state_dict()["state"]) == [0, 1]


@pytest.mark.parametrize("name", ["SGD", "Adam", "NAdam", "Muon", "Adafactor"])
def test_the_state_of_parameters_that_were_frozen_later_is_loaded(device, name):
    a, b = (fb.full((3, 2), v, device=device).requires_grad_() for v in (1.0, 2.0))
    kw = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = getattr(optim, name)([a, b], lr=0.1, **kw)
    optimizer.step((a * b).sum().backward())
    a.requires_grad_(False)
    again = getattr(optim, name)([a, b], lr=0.1, **kw)
    again.load_state_dict(optimizer.state_dict())
    for p in (a, b):
        kept, found = optimizer.state[p], again.state[p]
        assert kept.keys() == found.keys() and all((kept[n] == found[n]).all() for n in kept)
    state = {**optimizer.state_dict(), "state": {0: {"odd": fb.zeros(3, 2)}}}
    with pytest.raises(ValueError, match=r"unexpected: 0\.odd"):
        again.load_state_dict(state)


def test_the_first_step_is_made_at_the_rate_there_is_then(device):
    """A warm-up has changed it since the optimizer was made."""
    for make, want in ((optim.ASGD, 0.99 * (1 - 1e-4 * 0.01) - 0.01), (optim.Rprop, 0.99 - 0.01)):
        p = fb.tensor([0.99], device=device).requires_grad_()
        optimizer = make([p], lr=1.0)
        optim.lr_scheduler.LinearLR(optimizer, 0.01)
        optimizer.step(p.sum().backward())
        np.testing.assert_allclose(p.numpy(), [want], atol=1e-6)


def one():
    return [fb.zeros(2).requires_grad_()]


ERRORS = [
    (lambda: optim.SGD([], 0.1), "SGD([]): the list is empty: pass model.parameters()"),
    (lambda: optim.Adam([3]), "Adam([..., 3]): takes tensors: pass model.parameters()"),
    (
        lambda: optim.SGD([one()[0] * 2]),
        "SGD([..., f32[2]]): parameter 0 is not a leaf: pass the tensors it was computed"
        " from, or a copy by detach()",
    ),
    (lambda: optim.SGD(one() * 2), "SGD(2 tensors): one is passed twice: pass each once"),
    (lambda: optim.SGD(one(), -1), "SGD(lr=-1): must be at least 0: pass another value"),
    (lambda: optim.SGD(one(), math.nan), "SGD(lr=nan): must be at least 0: pass another value"),
    (
        lambda: optim.AdamW(one(), weight_decay=-1),
        ("AdamW(weight_decay=-1): must be at least 0: pass another value"),
    ),
    (lambda: optim.Rprop(one(), etas=(1, 2)), "Rprop(eta1=1): must be between 0 and 1: pass another value"),
    (lambda: optim.Rprop(one(), etas=(0.5, 1)), "Rprop(eta2=1): must be above 1: pass another value"),
    (lambda: optim.Adadelta(one(), rho=1.5), "Adadelta(rho=1.5): must be in 0 to 1: pass another value"),
    (lambda: optim.Adafactor(one(), d=0.5), "Adafactor(d=0.5): must be at least 1: pass another value"),
    (
        lambda: optim.SGD(one(), differentiable=True),
        "SGD(differentiable=True): a step runs under no_grad: write the update with tensor"
        " ops to differentiate it",
    ),
    (lambda: optim.Muon(one()), "Muon([..., f32[2]]): takes matrices: use AdamW for the others"),
    (
        lambda: optim.Muon([fb.zeros(2, 2).requires_grad_()], adjust_lr_fn="none"),
        "Muon(adjust_lr_fn='none'): unknown: use one of 'original', 'match_rms_adamw'",
    ),
    (
        lambda: optim.LBFGS([{"params": one()}, {"params": one()}]),
        "LBFGS(2 groups): it has one direction for all parameters: pass one group",
    ),
    (
        lambda: optim.LBFGS(one(), line_search_fn="wolfe"),
        "LBFGS(line_search_fn='wolfe'): unknown: use None or 'strong_wolfe'",
    ),
    (
        lambda: optim.LBFGS(one()).step(3),
        "LBFGS.step(int): it evaluates the loss several times: pass a function that returns loss.backward()",
    ),
    (
        lambda: optim.Adam(one(), betas=(0.9, 1)),
        ("Adam(beta2=1): must be at least 0 and below 1: pass another value"),
    ),
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
        lambda: optim.clip_grad_norm(one()[0].sum().backward(), 0),
        "clip_grad_norm(max_norm=0): must be above 0: pass another value",
    ),
]


@pytest.mark.parametrize("call, text", ERRORS, ids=range(len(ERRORS)))
def test_errors(call, text):
    with pytest.raises((ValueError, TypeError)) as e:
        call()
    assert str(e.value) == text


OFFLOADED = [(optim.SGD, {"momentum": 0.9, "nesterov": True}), (optim.AdamW, {"amsgrad": True})]


@pytest.mark.parametrize(("make", "kw"), OFFLOADED)
@pytest.mark.share(5)
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
    ours, theirs = (optim.flat_state(o.state_dict()) for o in (opt, plain))
    assert {t.device.name for name, t in ours.items() if not name.endswith("step")} == {"cpu"}
    assert list(ours) == list(theirs)
    for name, a in ours.items():
        assert np.array_equal(a.numpy(), theirs[name].numpy()), name
    other, _ = trained(offload=True)
    other.load_state_dict(opt.state_dict())


@pytest.mark.usefixtures("collected")
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


def test_steps_by_habit_say_where_gradients_are():
    """torch's ways to call step: after backward(), and with a function that gives the loss."""
    p = fb.tensor([1.0], requires_grad=True, device="cpu")
    sgd = optim.SGD([p], lr=0.1)

    def closure():
        loss = (p * p).sum()
        loss.backward()
        return loss

    rule = (
        "pass the result of backward, since tensors keep no gradients: grads = loss.backward(), and then"
        " step(grads)"
    )
    for call, shown in (
        (lambda: sgd.step(), ""),
        (lambda: sgd.step((p * p).sum()), "f32[]"),
        (lambda: sgd.step(closure), "a function that gives f32[]"),
    ):
        with pytest.raises(TypeError) as told:
            call()
        assert str(told.value) == f"SGD.step({shown}): {rule}"
    assert p.item() == 1


DECAYS = {  # what a docstring says of weight_decay: the parameter after a step whose gradient is 0
    "adds weight_decay * p to the gradient": None,  # that of a step along the gradient weight_decay * p
    "each step also subtracts lr * weight_decay * p from p": lambda p, lr, decay: p - lr * decay * p,
    "each step also divides p by 1 + lr * weight_decay": lambda p, lr, decay: p / (1 + lr * decay),
}


def signature(cls: type) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(cls).parameters


DECAYED = [c for c in vars(optim).values() if isinstance(c, type) and "weight_decay" in signature(c)]


def test_every_optimizer_with_weight_decay_is_known():
    names = "ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax Adan Lion Muon NAdam RAdam RMSprop SGD"
    assert sorted(c.__name__ for c in DECAYED) == names.split()


@pytest.mark.parametrize("cls", DECAYED)
def test_weight_decay_is_what_the_docstring_says(cls):
    values, lr, decay = np.array([[0.5, -2.0], [1.5, 3.0]], np.float32), 0.25, 0.125

    def step(gradient: np.ndarray, **options: object) -> np.ndarray:
        p = fb.tensor(values, device="cpu", requires_grad=True)
        cls([p], lr=lr, **options).step((p * fb.tensor(gradient, device="cpu")).sum().backward())
        return p.detach().numpy()

    line = re.search(r"\bweight_decay: (.*?)(?:, or |\n)", inspect.getdoc(cls)).group(1)
    rule = DECAYS[line]
    want = step(values * decay, weight_decay=0.0) if rule is None else rule(values, lr, decay)
    assert np.allclose(step(values * 0, weight_decay=decay), want, rtol=1e-6)
    assert not np.allclose(want, values)
    if "decoupled_weight_decay" in signature(cls):
        got = step(values * 0, weight_decay=decay, decoupled_weight_decay=True)
        assert np.allclose(got, values - lr * decay * values, rtol=1e-6)
