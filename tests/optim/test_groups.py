"""Groups of parameters: options read and set as in PyTorch, state that goes round, hooks, recorded steps."""

import copy
import json
import pickle

import numpy as np
import pytest
from helpers.plans import kernels_of

import flambeau as fb
from flambeau import optim
from flambeau.core.limits import Limits
from flambeau.optim.state import options_of


def leaf(*values, device="cpu"):
    return fb.tensor(list(values), device=device, requires_grad=True)


def pull(params, *factors):
    """Gradients that are the factors."""
    parts = [(p * f).sum() for p, f in zip(params, factors, strict=True)]
    return sum(parts[1:], parts[0]).backward()


def test_each_group_has_options_of_its_own(device):
    a, b, c = (leaf(1.0, 2.0, device=device) for _ in range(3))
    opt = optim.SGD([{"params": [a], "lr": 0.5}, {"params": b, "weight_decay": 0.5}], lr=0.1)
    opt.step(pull([a, b], 1.0, 1.0))
    np.testing.assert_allclose(a.numpy(), [0.5, 1.5], rtol=1e-6)
    np.testing.assert_allclose(b.numpy(), [1 - 0.15, 2 - 0.2], rtol=1e-6)
    opt.add_param_group({"params": [c], "lr": 1.0, "name": "late"})
    opt.param_groups[0]["lr"] *= 2
    opt.step(pull([a, b, c], 1.0, 0.0, 1.0))
    np.testing.assert_allclose(a.numpy(), [-0.5, 0.5], rtol=1e-6)
    np.testing.assert_allclose(c.numpy(), [0.0, 1.0], atol=1e-6)
    assert [g["lr"] for g in opt.param_groups] == [1.0, 0.1, 1.0] and opt.lr == 1.0
    assert opt.param_groups[2]["name"] == "late" and opt.defaults["lr"] == 0.1
    opt.lr = 0.25
    assert [g["lr"] for g in opt.param_groups] == [0.25] * 3


def test_a_group_is_a_dict_of_numbers():
    p = leaf(1.0)
    opt = optim.Adam([("weight", p)], lr=1, betas=(0.5, 0.6), foreach=True, fused=False, capturable=True)
    group = opt.param_groups[0]
    assert isinstance(group, dict) and group["params"][0] is p and group["param_names"] == ["weight"]
    assert {"lr": 1, "betas": (0.5, 0.6), "foreach": True}.items() <= dict(group).items()
    assert {**group} == dict(group) == group.copy() == group and "lr" in group and group.get("none", 3) == 3
    assert json.loads(json.dumps({k: v for k, v in group.items() if k != "params"}))["betas"] == [0.5, 0.6]
    group.update(lr=3.0, betas=[0.1, 0.2])
    assert (group["lr"], group["betas"], group.pop("foreach")) == (3.0, (0.1, 0.2), True)
    assert group.setdefault("foreach", False) is False and group.setdefault("lr", 9.0) == 3.0
    group["lr"] = fb.tensor(0.5)
    assert group["lr"] == 0.5
    assert copy.deepcopy({k: v for k, v in group.items() if k != "params"})["lr"] == 0.5
    del group["params"]
    assert pickle.loads(pickle.dumps(group)) == group
    with pytest.raises(ValueError) as e:
        group["lr"] = -1
    assert str(e.value) == "Adam(lr=-1): must be at least 0: pass another value"
    with pytest.raises(ValueError) as e:
        group["betas"] = (0.9, 1.0)
    assert str(e.value) == "Adam(beta2=1.0): must be at least 0 and below 1: pass another value"
    assert group["betas"] == (0.1, 0.2)


def test_how_an_optimizer_prints():
    opt = optim.SGD([{"params": leaf(1.0)}, {"params": leaf(2.0), "lr": 0.5}], lr=0.1, momentum=0.9)
    rest = "    maximize: False\n    momentum: 0.9\n    nesterov: False\n    weight_decay: 0.0"
    assert repr(opt) == (
        f"SGD (\nParameter Group 0: 1 tensors\n    dampening: 0.0\n    lr: 0.1\n{rest}"
        f"\nParameter Group 1: 1 tensors\n    dampening: 0.0\n    lr: 0.5\n{rest}\n)"
    )


@pytest.mark.parametrize("make", (optim.AdamW, optim.NAdam, optim.RAdam))
def test_each_parameter_counts_its_own_steps(torch, make):
    """Some move later than others, some are given later."""
    mine = [leaf(1.0, 2.0), leaf(3.0), leaf(4.0)]
    theirs = [torch.tensor(p.numpy(), requires_grad=True) for p in mine]
    ours, other = make(mine[:2], lr=0.1), getattr(torch.optim, make.__name__)(theirs[:2], lr=0.1)
    for t in range(9):
        if t == 4:
            ours.add_param_group({"params": mine[2], "lr": 0.2})
            other.add_param_group({"params": theirs[2], "lr": 0.2})
        going = [i for i in range(3) if (i != 1 or t % 3) and (i < 2 or t > 4)]
        ours.step(pull([mine[i] for i in going], *[t - 3.0] * len(going)))
        other.zero_grad()
        sum((theirs[i] * (t - 3.0)).sum() for i in going).backward()
        other.step()
    for p, q in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-5)
    for p, q in zip(mine, theirs, strict=True):
        assert ours.state[p]["step"].item() == other.state[q]["step"].item()


def test_steps_are_counted_together_until_they_part(device):
    p, q, r = leaf(1.0, device=device), leaf(2.0, device=device), leaf(3.0, device=device)
    opt = optim.Adam([p, q, r], lr=0.1)
    opt.step(pull([p, q, r], 1.0, 1.0, 1.0))
    assert len({id(opt.state[t]["step"]) for t in (p, q, r)}) == 1
    opt.step(pull([p, r], 1.0, 1.0))
    assert opt.state[p]["step"] is opt.state[r]["step"] is not opt.state[q]["step"]
    opt.step(pull([p, q, r], 1.0, 1.0, 1.0))
    assert [opt.state[t]["step"].item() for t in (p, q, r)] == [3, 2, 3]


MADE = [
    (optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    (optim.Adam, {"lr": 0.1, "amsgrad": True}),
    (optim.NAdam, {"lr": 0.1}),
    (optim.ASGD, {"lr": 0.1, "lambd": 0.1}),
    (optim.Adafactor, {"lr": 0.1}),
]


@pytest.mark.parametrize("make, kw", MADE, ids=[m.__name__ for m, _ in MADE])
def test_state_goes_round(make, kw):
    params = [leaf(1.0, 2.0), fb.ones(2, 3, device="cpu").requires_grad_()]
    opt = make([{"params": params[:1], "lr": 0.2}, {"params": params[1:]}], **kw)
    for i in range(3):
        opt.step(pull(params, i - 1.5, 1.0))
    copies = [fb.tensor(p.numpy(), device="cpu", requires_grad=True) for p in params]
    again, third = (make([{"params": [p]} for p in copies], **{**kw, "lr": 9.0}) for _ in range(2))
    saved = opt.state_dict()
    assert list(saved) == ["state", "param_groups"] and list(saved["state"]) == [0, 1]
    assert [(g["lr"], g["params"]) for g in saved["param_groups"]] == [(0.2, [0]), (0.1, [1])]
    again.load_state_dict(saved)
    third.load_state_dict(optim.nested_state(optim.flat_state(saved), saved["param_groups"]))
    assert [g["lr"] for g in again.param_groups] == [0.2, 0.1]
    opt.step(pull(params, 2.0, 1.0))
    again.step(pull(copies, 2.0, 1.0))
    for a, b in zip(params, copies, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert saved["state"][0].get("step", fb.tensor(3.0)).item() == 3  # a state of its own


def test_shared_counts_are_saved_once():
    opt = optim.Adam([leaf(1.0), leaf(2.0)], lr=0.1)
    flat = optim.flat_state(opt.state_dict())
    assert sorted(flat) == ["0+1.step", "0.exp_avg", "0.exp_avg_sq", "1.exp_avg", "1.exp_avg_sq"]
    groups = opt.state_dict()["param_groups"]
    opt.load_state_dict(optim.nested_state(flat, groups))
    assert len({id(s["step"]) for s in opt.state.values()}) == 1
    opt.load_state_dict(json_like := {"state": {}, "param_groups": groups})
    assert len({id(s["step"]) for s in opt.state.values()}) == 1 and not json_like["state"]


@pytest.mark.parametrize("make, kw", MADE, ids=[m.__name__ for m, _ in MADE])
def test_torchs_own_state_is_loaded(torch, make, kw):
    start = np.ones((2, 3), "f4")
    q, p = torch.tensor(start, requires_grad=True), fb.tensor(start, device="cpu", requires_grad=True)
    other, mine = getattr(torch.optim, make.__name__)([q], **kw), make([p], **{**kw, "lr": 7.0})
    for i in range(5):
        if i == 3:
            mine.load_state_dict(other.state_dict())
            p.data = fb.tensor(q.detach().numpy(), device="cpu")
        other.zero_grad()
        (q * (i - 1.5)).sum().backward()
        other.step()
        if i >= 3:
            mine.step(pull([p], i - 1.5))
    np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-5)


def moved(make, **kw):
    opt = make([p := leaf(1.0), q := leaf(2.0)], lr=0.1, **kw)
    opt.step(pull([p, q], 1.0, 1.0))
    return opt


OTHERS = [
    (optim.Adam, {}, optim.SGD, {},
     "Adam or AdamW or RAdam or SparseAdam (exp_avg, exp_avg_sq, step)", "nothing"),
    (optim.AdamW, {"amsgrad": True}, optim.SGD, {"momentum": 0.9},
     "Adam or AdamW (exp_avg, exp_avg_sq, max_exp_avg_sq, step)", "momentum_buffer"),
    (optim.SGD, {"momentum": 0.9}, optim.Adam, {},
     "Muon or SGD (momentum_buffer)", "exp_avg, exp_avg_sq, step"),
    (optim.RMSprop, {"momentum": 0.9, "centered": True}, optim.Lion, {},
     "RMSprop (grad_avg, momentum_buffer, square_avg, step)", "exp_avg"),
]  # fmt: skip


@pytest.mark.parametrize("make, kw, other, more, whose, kept", OTHERS)
def test_the_state_of_another_optimizer(make, kw, other, more, whose, kept):
    state = moved(make, **kw).state_dict()
    with pytest.raises(ValueError) as e:
        other([leaf(1.0), leaf(2.0)], lr=0.1, **more).load_state_dict(state)
    cure = "load the state of the same optimizer and model"
    told = f"it is the state of {whose}, and {other.__name__} keeps {kept}"
    assert str(e.value) == f"load_state_dict(...): {told}: {cure}"


KINDS = [name for name in optim.__all__ if issubclass(type(k := getattr(optim, name)), type)
         and issubclass(k, optim.Optimizer) and k is not optim.Optimizer]  # fmt: skip
OPTIONS = [{}, {"momentum": 0.9}, {"amsgrad": True}, {"momentum": 0.9, "dampening": 0.5}, {"centered": True}]


def made(name, more):
    """An optimiser of a matrix that has made a step; None where it has no such options."""
    kind = getattr(optim, name)
    if not more.keys() <= options_of(kind)[1]:
        return None
    p = fb.ones(2, 3, device="cpu").requires_grad_()
    opt = kind([p], lr=0.1, **more)
    opt.step((lambda: pull([p], 1.0)) if name == "LBFGS" else pull([p], 1.0))
    return opt


def test_classes_declare_their_state():
    """Whatever the options: a class that did not would load another's state, or refuse its own."""
    for name in KINDS:
        for more in OPTIONS:
            opt = made(name, more)
            names = set() if opt is None else {n for s in opt.state_dict()["state"].values() for n in s}
            assert not names or opt.may_keep(names), (name, more)


RELATED = {("Adam", "AdamW"), ("AdamW", "Adam")}  # PyTorch has one with an option, too


def test_no_optimizer_loads_the_state_of_another():
    """All pairs, of those with the same names of state too (Muon and SGD, RAdam and Adam)."""
    for name in KINDS:
        state = made(name, {"momentum": 0.9} if name == "SGD" else {}).state_dict()
        for other in KINDS:
            mine = made(other, {"momentum": 0.9} if other == "SGD" else {})
            if name == other or (name, other) in RELATED:
                mine.load_state_dict(state)
                continue
            with pytest.raises(
                ValueError, match=rf"(state|those) of .*{name}.*, and {other} .*: load the state of"
            ):
                mine.load_state_dict(state)


def test_options_of_another_optimizer():
    state = made("Muon", {}).state_dict()
    with pytest.raises(ValueError) as e:
        made("SGD", {"momentum": 0.9}).load_state_dict(state)
    rule = "SGD takes dampening, has no adjust_lr_fn, has no eps, has no ns_coefficients, has no ns_steps"
    cure = "load the state of the same optimizer and model"
    assert str(e.value) == f"load_state_dict(...): its options are those of Muon, and {rule}: {cure}"


def test_an_optimizer_of_ones_own_needs_no_table():
    class Signed(optim.Optimizer):
        names, counts = ("exp_avg",), {}

        def __init__(self, params, lr=0.1, decay=0.9):
            super().__init__(params, {"lr": lr, "decay": decay})

        def update(self, p, g, s, o):
            return p - s["exp_avg"].assign_(s["exp_avg"] * o.decay + g).sign() * o.lr

    p = fb.ones(2, 3, device="cpu").requires_grad_()
    opt, other = Signed([p]), Signed([p])
    opt.step(pull([p], 1.0))
    other.load_state_dict(opt.state_dict())
    assert other.state[p]["exp_avg"].tolist() == opt.state[p]["exp_avg"].tolist() != [[0, 0, 0]] * 2
    rule = "it is the state of Adam or AdamW or RAdam or SparseAdam (exp_avg, exp_avg_sq, step), and Signed"
    with pytest.raises(ValueError) as e:
        other.load_state_dict(made("Adam", {}).state_dict())
    assert rule in str(e.value)
    with pytest.raises(ValueError) as e:
        other.load_state_dict(made("Lion", {}).state_dict())
    rule = "its options are those of Lion, and Signed takes decay, has no betas, has no weight_decay"
    assert rule in str(e.value)


def test_options_that_torch_saves_before_a_step(torch):
    """They come without state: Lion took Adam's."""
    theirs = [torch.zeros(2, 3, requires_grad=True)]
    for name in sorted(set(KINDS) & set(dir(torch.optim))):
        given = getattr(torch.optim, name)(theirs).state_dict()
        made(name, {}).load_state_dict(given)
        for other in ("Lion", "SGD", "Adadelta"):
            if other != name:
                with pytest.raises(ValueError, match=f"(state|those) of .*{name}.*, and {other} "):
                    made(other, {}).load_state_dict(given)


def test_state_that_does_not_fit():
    opt = optim.Adam([leaf(1.0), leaf(2.0)])
    state = opt.state_dict()
    with pytest.raises(ValueError) as e:
        opt.load_state_dict({"state": {}})
    cure = "load the state of the same optimizer and model"
    assert str(e.value) == f"load_state_dict(...): missing: 'param_groups': {cure}"
    state["state"][1] = {"exp_avg": fb.zeros(2), "exp_avg_sw": fb.zeros(1), "step": 3}
    state["param_groups"][0]["params"] = [0, 1, 2]
    with pytest.raises(ValueError) as e:
        opt.load_state_dict(state)
    assert str(e.value) == (
        "load_state_dict(...): group 0 has 2 tensors, got 3; missing: 1.exp_avg_sq; 1.exp_avg"
        f" is [1], got [2]; unexpected: 1.exp_avg_sw (did you mean 'exp_avg_sq'?): {cure}"
    )
    with pytest.raises(ValueError) as e:
        opt.load_state_dict({"state": {}, "param_groups": []})
    assert str(e.value) == f"load_state_dict(...): 1 groups, got 0: {cure}"


def test_an_option_that_needs_more_state_may_be_set_later():
    p = leaf(1.0)
    opt = optim.SGD([p], lr=1.0)
    opt.step(pull([p], 1.0))
    assert not opt.state[p]
    opt.param_groups[0].update(momentum=0.5, dampening=0.5)
    values = [p.item()]
    for _ in range(2):
        opt.step(pull([p], 1.0))
        values.append(p.item())
    assert values == [0.0, -1.0, -2.0] and opt.state[p]["momentum_buffer"].item() == 1.0


def test_hooks_and_closures():
    p, told = leaf(1.0), []
    opt = optim.SGD([p], lr=0.5)
    pre = opt.register_step_pre_hook(lambda o, args, kw: told.append(("pre", p.item(), len(args), kw)))
    post = opt.register_step_post_hook(lambda o, args, kw: told.append(("post", p.item(), len(args), kw)))
    with fb.no_grad():
        assert opt.step(lambda: pull([p], 1.0)).item() == 1.0
    assert told == [("pre", 1.0, 1, {}), ("post", 0.5, 1, {})]
    pre.remove()
    post.remove()
    assert opt.step(pull([p], 1.0)) is None and len(told) == 2
    hooks = [
        opt.register_state_dict_pre_hook(lambda o: told.append("saving")),
        opt.register_state_dict_post_hook(lambda o, d: {**d, "more": 3}),
        opt.register_load_state_dict_pre_hook(lambda o, d: told.append(d.pop("more"))),
        opt.register_load_state_dict_post_hook(lambda o: told.append("loaded")),
    ]
    opt.load_state_dict(opt.state_dict())
    assert told[2:] == ["saving", 3, "loaded"]
    for hook in hooks:
        hook.remove()
    assert list(opt.state_dict()) == ["state", "param_groups"]


def test_a_hook_may_bring_torchs_state():
    """What is read out of a state is read behind the hook, here that a first step with dampening was made."""
    opt = optim.SGD([leaf(1.0)], lr=0.5, momentum=0.9, dampening=0.5)
    groups = opt.state_dict()["param_groups"]
    buffers = {0: {"momentum_buffer": fb.tensor([2.0])}}
    opt.register_load_state_dict_pre_hook(lambda o, d: {"state": buffers, "param_groups": groups})
    opt.load_state_dict({})
    assert {k: v.item() for k, v in opt.state_dict()["state"][0].items()} == {
        "step": 1.0,
        "momentum_buffer": 2.0,
    }


class Signs(optim.Optimizer):
    """An optimiser of a user's."""

    counts = {}

    def __init__(self, params, lr=0.1, strength=1.0):
        super().__init__(params, {"lr": lr, "strength": strength})

    def update(self, p, g, s, o):
        return p - g.sign() * (o.lr * o.strength)


def test_options_of_a_recorded_step_are_read_at_each(gpu, capsys):
    """Rates, betas and decays, in groups: nothing is recorded again unless one becomes 0."""

    def train(record):
        params = [leaf(1.0, 2.0, device=gpu), leaf(3.0, device=gpu), leaf(1.0, device=gpu)]
        groups = [{"params": params[0], "weight_decay": 0.5}, {"params": params[1]}]
        adam, signs = optim.AdamW(groups, lr=0.1), Signs(params[2:])

        def step(x):
            print("recorded")
            grads = pull(params, *[x.sum()] * 3)
            adam.step(grads)
            signs.step(grads)
            return grads.loss

        run, x = fb.jit(step, check="never") if record else step, fb.ones(2, device=gpu)
        for t in range(6):
            options = {"betas": (0.9 - t / 100, 0.99), "weight_decay": 0.5 - t / 10}
            adam.param_groups[0].update(lr=0.1 / (t + 1), **options)
            adam.param_groups[1]["eps"] = 10.0**-t
            signs.param_groups[0]["strength"] = t + 1.0
            run(x)
        return np.concatenate([p.numpy() for p in params])

    plain, _ = train(False), capsys.readouterr()
    recorded, told = train(True), capsys.readouterr()
    np.testing.assert_allclose(recorded, plain, rtol=1e-6)
    assert (told.out, told.err) == ("recorded\nrecorded\n", "")  # the decay is 0 at last


def test_terms_of_a_recorded_step_are_each_groups_own(gpu, capsys):
    """Of groups, and of a parameter that stays behind: values as steps without kernels make them."""

    def train(device, wrap):
        params = [leaf(1.0, 2.0, device=device), leaf(3.0, device=device), leaf(4.0, device=device)]
        kinds = (optim.RAdam, optim.NAdam, optim.Adan)
        sets = [[fb.tensor(p.numpy(), device=device, requires_grad=True) for p in params] for _ in kinds]
        opts = [
            make(
                [{"params": own[:1], "lr": 0.2, "betas": (0.5, 0.6, 0.7)[: len(betas)]}, {"params": own[1:]}],
                lr=0.1,
            )
            for make, own, betas in zip(kinds, sets, ("ab", "ab", "abc"), strict=True)
        ]
        for opt, own in zip(opts, sets, strict=True):
            opt.step(pull(own[:2], 1.0, -2.0))  # the last counts for itself from here on

        def step(x):
            print("recorded")
            for opt, own in zip(opts, sets, strict=True):
                opt.step(pull(own, x.sum(), x.sum() * 2, x.sum() - 1))

        run, x = wrap(step), fb.tensor([0.25, 0.5], device=device)
        for t in range(7):
            for opt in opts:
                opt.lr = 0.1 / (t + 1)
            run(x)
        return np.concatenate([p.numpy() for own in sets for p in own])

    plain, _ = train("cpu", lambda f: f), capsys.readouterr()
    recorded, told = train(gpu, lambda f: fb.jit(f, check="never")), capsys.readouterr()
    np.testing.assert_allclose(recorded, plain, rtol=2e-5)
    assert told.out == "recorded\n"


@pytest.mark.parametrize(
    "make, kw, most, fewest",
    [
        (optim.SGD, {}, 13, 4),
        (optim.AdamW, {}, 51, 9),
        (optim.Adagrad, {}, 25, 5),
        (optim.Adam, {"amsgrad": True}, 51, 10),
        (optim.NAdam, {}, 51, 9),
        (optim.RAdam, {}, 52, 10),
        (optim.RMSprop, {"momentum": 0.9, "centered": True}, 50, 9),
        (optim.Adan, {}, 51, 21),
    ],
)
@pytest.mark.share(5)
def test_kernels_of_a_step_of_50_parameters(make, kw, most, fewest, monkeypatch):
    """As docs/optim.md says, where 8 buffers may be bound and where 32."""
    counts = []
    for limits in (Limits(), Limits(bundle_buffers=32)):
        params = [fb.rand(16 + i, *[24] * (i % 2)).requires_grad_() for i in range(50)]
        counts.append(kernels_of_a_step(make(params, **kw), limits, monkeypatch))
    assert counts == [most, fewest]


def test_kernels_of_a_step_of_muon(monkeypatch):
    """14 matrices of one shape, where 32 buffers may be bound: 14 gradients; 2 kernels that join them, 2 that
    join their means, 1 divides by norms, 3 multiply in each of 2 rounds; 16 move matrices and means."""
    params = [fb.rand(24, 16).requires_grad_() for _ in range(14)]
    opt = optim.Muon(params, ns_steps=2)
    assert kernels_of_a_step(opt, Limits(bundle_buffers=32), monkeypatch) == 14 + 27


def kernels_of_a_step(opt, limits, monkeypatch):
    """How many a recorded step takes behind the gradients."""
    params, asked = opt.params, []
    grads = pull(params, *[fb.rand(*p.shape).realize() for p in params])
    grads.loss = None
    old = [fb.Tensor(t.node) for t in {id(t): t for t in (*params, *opt._tensors())}.values()]
    monkeypatch.setattr("flambeau.optim.optimizer.realize", lambda *t: asked.extend(t))
    opt.step(grads)
    monkeypatch.undo()
    roots = {id(t.node): t for t in asked if t.node.buffer is None}
    return len(kernels_of(*roots.values(), limits=limits, dying=old))
