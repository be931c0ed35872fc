"""Schedules: rates and momenta as PyTorch's over 100 steps, state that goes round, recorded steps, errors."""

import math

import numpy as np
import pytest

import flambeau as fb
from flambeau import optim
from flambeau.optim import lr_scheduler as ours
from flambeau.optim.swa_utils import SWALR

N = 100


def warm(lib, o):
    parts = [lib.LinearLR(o, 0.1, total_iters=20), lib.CosineAnnealingLR(o, 80, 0.01)]
    return lib.SequentialLR(o, parts, [20])


def shrunk(lib, o):
    return lib.CyclicLR(o, 0.1, 0.5, 9, scale_fn=lambda x: 1 / x, scale_mode="cycle")


def restarted(lib, o):
    parts = [lib.ConstantLR(o, 0.5, 10), lib.ExponentialLR(o, 0.9), lib.StepLR(o, 7, 0.5)]
    return lib.SequentialLR(o, parts, [15, 40])


def chained(lib, o):
    return lib.ChainedScheduler([lib.ConstantLR(o, 0.1, 4), lib.ExponentialLR(o, 0.95), lib.StepLR(o, 30)])


def nested(lib, o):
    inner = lib.SequentialLR(o, [lib.ExponentialLR(o, 0.5), lib.StepLR(o, 2)], [2])
    return lib.SequentialLR(o, [inner, lib.ExponentialLR(o, 0.9)], [5])


def row_of_chains(lib, o):
    parts = [lib.MultiplicativeLR(o, lambda t: 0.9), lib.PolynomialLR(o, 8)]
    return lib.SequentialLR(o, [lib.ChainedScheduler(parts), lib.CosineAnnealingLR(o, 30)], [5])


CASES = {
    "LambdaLR": lambda lib, o: lib.LambdaLR(o, [lambda t: 0.95**t, lambda t: 1 / (t + 1)]),
    "MultiplicativeLR": lambda lib, o: lib.MultiplicativeLR(o, lambda t: 0.95 if t % 2 else 1.01),
    "StepLR": lambda lib, o: lib.StepLR(o, 30, 0.5),
    "MultiStepLR": lambda lib, o: lib.MultiStepLR(o, [20, 50, 50, 80], 0.3),
    "ConstantLR": lambda lib, o: lib.ConstantLR(o, 0.2, 40),
    "LinearLR": lambda lib, o: lib.LinearLR(o, 0.1, 0.7, 60),
    "ExponentialLR": lambda lib, o: lib.ExponentialLR(o, 0.97),
    "PolynomialLR": lambda lib, o: lib.PolynomialLR(o, 70, 2.5),
    "CosineAnnealingLR": lambda lib, o: lib.CosineAnnealingLR(o, 30, 0.02),
    "CosineAnnealingWarmRestarts": lambda lib, o: lib.CosineAnnealingWarmRestarts(o, 10, 2, 0.01),
    "restarts of one length": lambda lib, o: lib.CosineAnnealingWarmRestarts(o, 7),
    "CyclicLR": lambda lib, o: lib.CyclicLR(o, [0.01, 0.02], 0.5, 12, 20),
    "CyclicLR, triangular2": lambda lib, o: lib.CyclicLR(o, 0.01, 0.5, 9, mode="triangular2"),
    "CyclicLR, exp_range": lambda lib, o: lib.CyclicLR(o, 0.01, 0.5, 9, mode="exp_range", gamma=0.97),
    "CyclicLR, own": shrunk,
    "OneCycleLR": lambda lib, o: lib.OneCycleLR(o, [1.0, 2.0], total_steps=101),
    "OneCycleLR, three": lambda lib, o: lib.OneCycleLR(
        o, 1.0, epochs=10, steps_per_epoch=11, three_phase=True, anneal_strategy="linear", div_factor=5.0
    ),
    "SequentialLR": warm,
    "SequentialLR of three": restarted,
    "SequentialLR of a SequentialLR": nested,
    "SequentialLR of a ChainedScheduler": row_of_chains,
    "ChainedScheduler": chained,
}


def made_of(params, make=None):
    groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.2}]
    return (make or optim.SGD)(groups, lr=0.4, momentum=0.6)


def optimizer():
    return made_of([fb.zeros(1, device="cpu").requires_grad_() for _ in range(2)])


def path(scheduler, o, steps=N):
    """Rates and momenta of both groups, before and after each step."""
    rows = []
    for t in range(steps + 1):
        rows.append([v for g in o.param_groups for v in (g["lr"], g["momentum"])])
        assert scheduler.get_last_lr() == [g["lr"] for g in o.param_groups]
        if t < steps:
            scheduler.step()
    return np.array(rows)


def torchs(torch):
    params = [torch.zeros(1, requires_grad=True) for _ in range(2)]
    o = made_of(params, torch.optim.SGD)
    o.step()  # it warns of schedules that are first
    return o


@pytest.mark.parametrize("name", CASES)
def test_a_hundred_steps_are_torchs(torch, name):
    mine, other = optimizer(), torchs(torch)
    a = path(CASES[name](ours, mine), mine)
    b = path(CASES[name](torch.optim.lr_scheduler, other), other)
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-15)


# A second CyclicLR is left out: PyTorch's begins at the first rate of the one before, and moves to its own
# base_lr by its first step.
@pytest.mark.parametrize("second", [name for name in CASES if not name.startswith("CyclicLR")])
def test_two_of_one_optimizer_are_torchs(torch, second):
    def rates(lib, o, first):
        one, two, rows = CASES[first](lib, o), CASES[second](lib, o), []
        for t in range(20):
            set_now = [g[name] for g in o.param_groups for name in ("lr", "initial_lr", "momentum")]
            rows.append([*set_now, *one.get_last_lr(), *two.get_last_lr()])
            (two if t % 3 == 0 else one).step()
        return rows

    for first in CASES:
        wanted = rates(torch.optim.lr_scheduler, torchs(torch), first)
        np.testing.assert_allclose(rates(ours, optimizer(), first), wanted, 1e-9, 1e-15, err_msg=first)


@pytest.mark.parametrize("strategy, epochs", [("cos", 10), ("linear", 7), ("cos", 0)])
def test_swalr_is_torchs(torch, strategy, epochs):
    mine, other = optimizer(), torchs(torch)
    a = path(SWALR(mine, [0.05, 0.5], epochs, strategy), mine, 20)
    b = path(torch.optim.swa_utils.SWALR(other, [0.05, 0.5], epochs, strategy), other, 20)
    np.testing.assert_allclose(a, b, rtol=1e-9)
    np.testing.assert_allclose(a[-1], [0.05, 0.6, 0.5, 0.6])


KNOWN = {  # of the first group, whose rate is 0.4, after 0, 1, 10 and 100 steps, as PyTorch has it
    "StepLR": (0.4, 0.4, 0.4, 0.05),
    "MultiStepLR": (0.4, 0.4, 0.4, 0.4 * 0.3**4),
    "ConstantLR": (0.08, 0.08, 0.08, 0.4),
    "LinearLR": (0.04, 0.044, 0.08, 0.28),
    "ExponentialLR": (0.4, 0.388, 0.4 * 0.97**10, 0.4 * 0.97**100),
    "PolynomialLR": (0.4, 0.4 * (69 / 70) ** 2.5, 0.4 * (60 / 70) ** 2.5, 0.0),
    "CosineAnnealingLR": tuple(0.02 + 0.19 * (1 + math.cos(math.pi * t / 30)) for t in (0, 1, 10, 100)),
    "CyclicLR": (0.01, 0.01 + 0.49 / 12, 0.01 + 4.9 / 12, 0.01 + 0.49 * 4 / 12),
    "OneCycleLR": (0.04, 0.04 + 0.48 * (1 - math.cos(math.pi / 29.3)), None, 0.04 / 1e4),
    "LambdaLR": (0.4, 0.38, 0.4 * 0.95**10, 0.4 * 0.95**100),
}


@pytest.mark.parametrize("name", CASES)
def test_rates(name):
    o = optimizer()
    rates = path(CASES[name](ours, o), o)
    for t, wanted in zip((0, 1, 10, 100), KNOWN.get(name, ()), strict=False):
        assert wanted is None or rates[t, 0] == pytest.approx(wanted, rel=1e-9, abs=1e-12), t
    assert np.isfinite(rates).all() and (rates[:, ::2] >= 0).all() and (rates[:, ::2] <= 2).all()
    if name.startswith(("CyclicLR", "OneCycleLR")):
        assert rates[:, 1].min() < 0.9 <= rates[:, 1].max() <= 0.95
    else:
        assert (rates[:, 1::2] == 0.6).all()


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("SequentialLR of three",)])
def test_state_goes_round(name):
    mine, again = optimizer(), optimizer()
    a, b = CASES[name](ours, mine), CASES[name](ours, again)
    path(a, mine, 37)
    b.load_state_dict(a.state_dict())
    again.load_state_dict(mine.state_dict())
    np.testing.assert_array_equal(path(a, mine, 30), path(b, again, 30))


def to_torch(torch, state):
    """A state_dict of ours as PyTorch has it: the tensors as its own."""
    if isinstance(state, fb.Tensor):
        return torch.tensor(state.numpy())
    if isinstance(state, dict):
        return {k: to_torch(torch, v) for k, v in state.items()}
    return [to_torch(torch, v) for v in state] if isinstance(state, list) else state


@pytest.mark.parametrize("name", CASES)
def test_state_goes_to_torch_and_back(torch, name):
    make, theirs, mine, other = CASES[name], torch.optim.lr_scheduler, optimizer(), torchs(torch)
    a, b = make(ours, mine), make(theirs, other)
    path(a, mine, 37)
    path(b, other, 37)
    from_mine, from_other = torchs(torch), optimizer()
    c, d = make(theirs, from_mine), make(ours, from_other)
    from_mine.load_state_dict(to_torch(torch, mine.state_dict()))
    c.load_state_dict(a.state_dict())
    from_other.load_state_dict(other.state_dict())
    d.load_state_dict(b.state_dict())
    wanted = path(b, other, 20)
    np.testing.assert_allclose(path(c, from_mine, 20), wanted, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(path(d, from_other, 20), wanted, rtol=1e-9, atol=1e-15)


class Falling:
    """A factor that has a memory: it is lower with each number that it was not asked for before."""

    def __init__(self):
        self.seen = []

    def __call__(self, t):
        self.seen = self.seen if t in self.seen else [*self.seen, t]
        return 0.9 ** len(self.seen)


@pytest.mark.parametrize(
    "make",
    [
        lambda lib, o, f: lib.LambdaLR(o, f),
        lambda lib, o, f: lib.MultiplicativeLR(o, f),
        lambda lib, o, f: lib.CyclicLR(o, 0.1, 0.5, 3, scale_fn=f),
    ],
)
def test_what_a_function_knows_is_a_part_of_the_state(torch, make):
    o, other = optimizer(), torchs(torch)
    a, b = make(ours, o, Falling()), make(torch.optim.lr_scheduler, other, Falling())
    path(a, o, 5)
    path(b, other, 5)
    again = optimizer()
    c = make(ours, again, Falling())
    again.load_state_dict(o.state_dict())
    c.load_state_dict(a.state_dict())
    np.testing.assert_allclose(path(c, again, 5), path(b, other, 5), rtol=1e-9)


def test_functions_that_a_function_holds_are_no_state(tmp_path):
    """A run that saves its schedule would end at its first checkpoint."""

    class Bent:
        def __init__(self, by, seen):
            self.by, self.seen = by, seen

        def __call__(self, t):
            return self.by(t) / (1 + self.seen)

    first, second = (ours.LambdaLR(optimizer(), Bent(lambda t, k=k: k + t, k)) for k in (2, 5))
    state = first.state_dict()
    assert state["lr_lambdas"] == [{"seen": 2}] * 2  # of two groups
    fb.save(state, tmp_path / "schedule.safetensors")
    second.load_state_dict(fb.load(tmp_path / "schedule.safetensors"))
    kept = second.lr_lambdas[0]
    assert (kept.seen, kept.by(0)) == (2, 5)  # what is saved, and the function that was here


@pytest.mark.parametrize("name", ["StepLR", "MultiStepLR", "LinearLR", "ExponentialLR", "PolynomialLR",
                                  "CosineAnnealingLR", "ConstantLR"])  # fmt: skip
def test_a_schedule_goes_to_an_epoch_at_once(name):
    o, p = optimizer(), optimizer()
    a, b = CASES[name](ours, o), CASES[name](ours, p)
    for t in (3, 41, 20):
        a.step(t)
        path(b := CASES[name](ours, p := optimizer()), p, t)
        np.testing.assert_allclose(a.get_last_lr(), b.get_last_lr(), rtol=1e-9)
    assert o.param_groups[0]["lr"] == a.get_last_lr()[0]


@pytest.mark.parametrize("steps", [1, 4, 7, 30, 99])
@pytest.mark.parametrize("start", [0.1, 1 / 3, 1.0])
def test_a_line_to_0_ends_there(steps, start):
    o = optimizer()
    schedule = ours.LinearLR(o, start, 0.0, steps)
    for _ in range(steps + 2):
        schedule.step()
    assert all(0 <= lr < 1e-12 for lr in schedule.get_last_lr())


def test_a_loop_may_call_one_cycle_once_behind_its_last_step():
    o = optimizer()
    schedule = ours.OneCycleLR(o, 1.0, total_steps=5, anneal_strategy="linear")
    for _ in range(5):
        schedule.step()
    assert schedule.get_last_lr() == pytest.approx([1 / 25 / 1e4] * 2)


def test_schedules_begin_in_a_row_as_alone():
    o = optimizer()
    first = [group["lr"] for group in o.param_groups]
    parts = [ours.StepLR(o, 1), ours.MultiplicativeLR(o, lambda t: 0.9 - 0.1 * t), SWALR(o, 0.0, 2, "linear")]
    row, seen = ours.SequentialLR(o, parts, [0, 2]), []
    for _ in range(4):
        seen.append([group["lr"] / lr for group, lr in zip(o.param_groups, first, strict=True)])
        row.step()
    np.testing.assert_allclose(seen, [[1, 1], [0.8, 0.8], [0.8, 0.8], [0.4, 0.4]])


ROWS = {
    "a factor a step": lambda lib, swa, o: [lib.StepLR(o, 2, 0.5), lib.MultiplicativeLR(o, lambda t: 0.9)],
    "SWALR": lambda lib, swa, o: [lib.ExponentialLR(o, 0.9), swa.SWALR(o, 0.05, anneal_epochs=4)],
    "SWALR first": lambda lib, swa, o: [swa.SWALR(o, 0.05, anneal_epochs=4), lib.CosineAnnealingLR(o, 5)],
}


@pytest.mark.parametrize("milestone", [0, 3])
@pytest.mark.parametrize("name", ROWS)
def test_schedules_in_a_row_are_torchs(torch, name, milestone):
    theirs = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.3)
    mine = optim.SGD([fb.zeros(1, device="cpu").requires_grad_()], lr=0.3)
    pairs = ((torch.optim.lr_scheduler, torch.optim.swa_utils, theirs), (ours, optim.swa_utils, mine))
    rows = [lib.SequentialLR(o, ROWS[name](lib, swa, o), [milestone]) for lib, swa, o in pairs]
    for _ in range(9):
        np.testing.assert_allclose(rows[1].get_last_lr(), rows[0].get_last_lr(), rtol=1e-6)
        theirs.step()
        for row in rows:
            row.step()


def test_fractions_of_epochs():
    o = optimizer()
    s = ours.CosineAnnealingWarmRestarts(o, 10, 2)
    s.step(25.5)
    assert (s.T_cur, s.T_i, s.last_epoch) == (15.5, 20, 25)
    assert s.get_last_lr()[0] == pytest.approx(0.2 * (1 + math.cos(math.pi * 15.5 / 20)))
    s.step()  # an epoch further, and not to the next whole one
    assert (s.T_cur, s.T_i, s.last_epoch) == (16.5, 20, 26)


def test_a_schedule_goes_on_from_a_step():
    o = optimizer()
    for group in o.param_groups:
        group["initial_lr"] = 0.4
    s = ours.ExponentialLR(o, 0.5, last_epoch=1)
    assert s.last_epoch == 2 and s.get_last_lr() == [0.4, 0.2]  # a loaded optimizer has the rate of step 2
    s.step()
    assert s.get_last_lr() == [0.2, 0.1]


RESUMED = {
    "LambdaLR": {"lr_lambda": lambda t: 0.95**t},
    "MultiplicativeLR": {"lr_lambda": lambda t: 0.9 + t / 100},
    "StepLR": {"step_size": 3, "gamma": 0.5},
    "MultiStepLR": {"milestones": [2, 2, 5], "gamma": 0.5},
    "ConstantLR": {"factor": 0.25, "total_iters": 4},
    "LinearLR": {"start_factor": 0.25, "end_factor": 0.5, "total_iters": 6},
    "ExponentialLR": {"gamma": 0.9},
    "PolynomialLR": {"total_iters": 6, "power": 2.0},
    "CosineAnnealingLR": {"T_max": 5, "eta_min": 0.01},
    "CosineAnnealingWarmRestarts": {"T_0": 3, "T_mult": 1, "eta_min": 0.01},
    "CyclicLR": {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 2, "step_size_down": 3},
    "OneCycleLR": {"max_lr": 0.2, "total_steps": 30},
    "SWALR": {"swa_lr": 0.05, "anneal_epochs": 4},
}


@pytest.mark.parametrize("name", RESUMED)
def test_last_epoch_with_a_loaded_optimizer_is_torchs(torch, name):
    """All pairs of steps made before and `last_epoch`: that of the run, ones beside it, none (-1).

    Restarts whose length grows differ on purpose: PyTorch's forgets that lengths have grown.
    """

    def rates(lib, swa, make, before, last):
        kind = swa.SWALR if name == "SWALR" else getattr(lib, name)
        o, loaded = make(), make()
        one = kind(o, **RESUMED[name])
        for _ in range(before):
            one.step()
        loaded.load_state_dict(o.state_dict())
        return path(kind(loaded, **RESUMED[name], last_epoch=last), loaded, 7)

    theirs = torch.optim.lr_scheduler, torch.optim.swa_utils, lambda: torchs(torch)
    mine = ours, optim.swa_utils, optimizer
    for before in range(8):
        for last in sorted({-1, 0, 2, before - 1, before, before + 3}):
            wanted = rates(*theirs, before, last)
            np.testing.assert_allclose(
                rates(*mine, before, last), wanted, 1e-9, 1e-15, err_msg=f"{before}, {last}"
            )


@pytest.mark.parametrize("growth", [1, 2, 3])
def test_restarts_go_on_as_if_there_was_no_end(growth):
    whole = path(ours.CosineAnnealingWarmRestarts(o := optimizer(), 2, growth, 0.01), o, 40)
    for before in (1, 5, 11, 29):
        o, loaded = optimizer(), optimizer()
        path(ours.CosineAnnealingWarmRestarts(o, 2, growth, 0.01), o, before)
        loaded.load_state_dict(o.state_dict())
        rest = ours.CosineAnnealingWarmRestarts(loaded, 2, growth, 0.01, last_epoch=before - 1)
        np.testing.assert_allclose(path(rest, loaded, 40 - before), whole[before:], 1e-9)


def test_warm_up_and_cosine():
    o = optimizer()
    rates = path(ours.WarmupCosineLR(o, 3, 13, 0.1), o, 15)[:, 0]
    np.testing.assert_allclose(rates[:4], [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(rates[3:14], 0.1 + 0.15 * (1 + np.cos(np.pi * np.arange(11) / 10)))
    assert rates[14] == rates[15] == 0.1


def test_noam_is_its_formula(torch):
    mine, other = optimizer(), torchs(torch)
    a = path(ours.NoamLR(mine, 64, 10), mine, 40)
    formula = lambda t: 64**-0.5 * min((t + 1) ** -0.5, (t + 1) * 10**-1.5)  # noqa: E731
    b = path(torch.optim.lr_scheduler.LambdaLR(other, formula), other, 40)
    np.testing.assert_allclose(a, b, rtol=1e-12)
    assert a[:, 0].argmax() == 9 and a[9, 0] == pytest.approx(0.4 / 8 / 10**0.5)


PARTS = {
    "factors": ("LinearLR", "ExponentialLR", "StepLR"),
    "of the step before": ("MultiplicativeLR", "CosineAnnealingLR"),
    "that moves momenta too": ("LambdaLR", "OneCycleLR"),
    "made of others": ("SequentialLR of three", "ChainedScheduler", "CosineAnnealingWarmRestarts"),
    "one": ("PolynomialLR",),
}


@pytest.mark.parametrize("reduction, join", [("mean", np.mean), ("sum", np.sum), ("prod", np.prod)])
@pytest.mark.parametrize("names", PARTS.values(), ids=PARTS)
def test_combined_schedules_go_each_their_own_way(names, reduction, join):
    o, alone = optimizer(), [optimizer() for _ in names]
    found = path(ours.CombinedLR(o, [CASES[name](ours, o) for name in names], reduction), o)
    each = np.array([path(CASES[name](ours, a), a) for name, a in zip(names, alone, strict=True)])
    first = [g["initial_lr"] for g in o.param_groups]
    np.testing.assert_allclose(found[:, ::2], first * join(each[..., ::2] / first, 0), rtol=1e-9, atol=1e-15)


def test_a_combined_schedule_goes_on_from_its_state_and_from_a_rate_of_0():
    def made():
        o = optimizer()
        return o, ours.CombinedLR(o, [ours.StepLR(o, 2), ours.ExponentialLR(o, 0.9)], "prod")

    (o, one), (other, again) = made(), made()
    for _ in range(5):
        one.step()
    again.load_state_dict(one.state_dict())
    other.load_state_dict(o.state_dict())
    assert again.get_last_lr() == one.get_last_lr() and again.last_epoch == 5
    assert (path(again, other, 9) == path(one, o, 9)).all()
    o = fb.optim.SGD([fb.zeros(1, device="cpu").requires_grad_()], lr=0.0)
    assert path(ours.CombinedLR(o, [ours.StepLR(o, 2)], "prod"), o, 3)[:, :1].max() == 0


VALUES = [5, 4, 4, 4, 4, 3.9, 4, 4, 4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
PLATEAUS = [
    {"patience": 2},
    {"patience": 2, "mode": "max"},
    {"patience": 1, "threshold": 0.5, "threshold_mode": "abs", "factor": 0.5, "cooldown": 3},
    {"patience": 1, "factor": 0.1, "min_lr": [0.01, 0.1], "eps": 0.02},
]


@pytest.mark.parametrize("kw", PLATEAUS, ids=range(len(PLATEAUS)))
def test_plateaus_are_torchs(torch, kw):
    mine, other = optimizer(), torchs(torch)
    a, b = ours.ReduceLROnPlateau(mine, **kw), torch.optim.lr_scheduler.ReduceLROnPlateau(other, **kw)
    for t, value in enumerate(VALUES):
        a.step(fb.tensor(value) if t % 2 else value)
        b.step(value)
        assert a.get_last_lr() == b.get_last_lr() and abs(a.best - b.best) < 1e-6


def test_a_plateau():
    o = optimizer()
    s = ours.ReduceLROnPlateau(o, patience=1, factor=0.5, cooldown=1)
    seen = []
    for t, value in enumerate((3, 2, 2, 2, 2, 2, 2, 1)):
        if t == 4:
            state = s.state_dict()
            s = ours.ReduceLROnPlateau(o, patience=9)
            s.load_state_dict(state)
        s.step(value)
        seen.append(s.get_last_lr()[0])
    assert seen == [0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.1, 0.1]


class Halved(ours.LRScheduler):
    """A schedule of a user's."""

    def get_lr(self):
        return [group["lr"] / 2 for group in self.optimizer.param_groups]


def test_recorded_steps_see_rates_and_momenta(gpu, capsys):
    """OneCycleLR moves both, at each step."""

    def train(record):
        p = fb.tensor([1.0, 2.0], device=gpu, requires_grad=True)
        o = optim.AdamW([p], lr=0.1)
        schedules = [ours.OneCycleLR(o, 0.5, total_steps=10), Halved(o)]

        def step(x):
            print("recorded")
            o.step((p * p * x).sum().backward())

        call, x = fb.jit(step, check="never") if record else step, fb.ones(2, device=gpu)
        for _ in range(8):
            call(x)
            for s in schedules:
                s.step()
        return p.numpy()

    plain, _ = train(False), capsys.readouterr()
    recorded, told = train(True), capsys.readouterr()
    np.testing.assert_allclose(recorded, plain, rtol=1e-6)
    assert (told.out, told.err) == ("recorded\n", "")


def adagrad():
    return optim.Adagrad([fb.zeros(1, device="cpu").requires_grad_()])


ERRORS = [
    (lambda: ours.StepLR(3, 1), TypeError, "StepLR(...): takes an optimizer, not int: pass it first"),
    (
        lambda: ours.StepLR(optimizer(), 1, last_epoch=3),
        KeyError,
        "'StepLR(last_epoch=3): group 0 has no initial_lr to resume from: load the state_dict, or set it'",
    ),
    (
        lambda: ours.LRScheduler(optimizer()),
        NotImplementedError,
        "LRScheduler.rate(...): is not implemented: return the rate",
    ),
    (
        lambda: ours.LambdaLR(optimizer(), [abs]),
        ValueError,
        "LambdaLR(1 of lr_lambda): there are 2 groups: pass one for each, or one for all",
    ),
    (
        lambda: ours.ConstantLR(optimizer(), 2),
        ValueError,
        "ConstantLR(factor=2): must be in 0 to 1: pass another value",
    ),
    (
        lambda: ours.LinearLR(optimizer(), 0),
        ValueError,
        "LinearLR(start_factor=0): must be above 0, because the rate is multiplied by it: pass e.g. 1e-3",
    ),
    (
        lambda: ours.LinearLR(optimizer(), end_factor=-1),
        ValueError,
        "LinearLR(end_factor=-1): must be in 0 to 1: pass another value",
    ),
    (
        lambda: ours.CosineAnnealingWarmRestarts(optimizer(), 1.5),
        ValueError,
        "CosineAnnealingWarmRestarts(T_0=1.5): must be a positive integer: pass 1 or more",
    ),
    (
        lambda: ours.CosineAnnealingWarmRestarts(optimizer(), 2).step(-1),
        ValueError,
        "CosineAnnealingWarmRestarts.step(-1): must be at least 0: pass another value",
    ),
    (
        lambda: ours.WarmupCosineLR(optimizer(), 5, 5),
        ValueError,
        "WarmupCosineLR(warmup_steps=5, total_steps=5): warmup_steps must be below total_steps: pass fewer",
    ),
    (
        lambda: ours.NoamLR(optimizer(), 0, 5),
        ValueError,
        "NoamLR(model_size=0): must be at least 1, because it is a divisor: pass another value",
    ),
    (
        lambda: ours.CombinedLR(o := optimizer(), [ours.StepLR(o, 2)], "max"),
        ValueError,
        "CombinedLR(reduction='max'): unknown: use one of 'mean', 'sum', 'prod'",
    ),
    (
        lambda: ours.CombinedLR(optimizer(), []),
        ValueError,
        "CombinedLR([]): the list is empty: pass at least one scheduler",
    ),
    (
        lambda: ours.CyclicLR(optimizer(), 0, 1, mode="square"),
        ValueError,
        "CyclicLR(mode='square'): unknown: use one of 'triangular', 'triangular2', 'exp_range'",
    ),
    (
        lambda: ours.CyclicLR(adagrad(), 0, 1),
        ValueError,
        "CyclicLR(cycle_momentum=True): Adagrad has no momentum: pass cycle_momentum=False",
    ),
    (
        lambda: ours.CyclicLR(optimizer(), 0, 1, gama=3),
        TypeError,
        "CyclicLR.__init__() got an unexpected keyword argument 'gama'",
    ),
    (
        lambda: ours.OneCycleLR(optimizer(), 1),
        ValueError,
        "OneCycleLR(...): the length is unknown: pass total_steps, or epochs and steps_per_epoch",
    ),
    (
        lambda: ours.OneCycleLR(optimizer(), 1, 0),
        ValueError,
        "OneCycleLR(total_steps=0): must be above 0: pass another value",
    ),
    (
        lambda: ours.OneCycleLR(optimizer(), 1, 5, pct_start=2),
        ValueError,
        "OneCycleLR(pct_start=2): must be in 0 to 1: pass another value",
    ),
    (
        lambda: ours.OneCycleLR(optimizer(), 1, 5, anneal_strategy="sin"),
        ValueError,
        "OneCycleLR(anneal_strategy='sin'): unknown: use one of 'cos', 'linear'",
    ),
    (
        lambda: path(ours.OneCycleLR(o := optimizer(), 1, 5), o, 7),
        ValueError,
        "OneCycleLR.step(): tried to step 6 times: the total number of steps is 5: increase total_steps",
    ),
    (
        lambda: ours.SequentialLR(o := optimizer(), [ours.StepLR(o, 2)], [3]),
        ValueError,
        "SequentialLR(1 schedulers, 1 milestones): each scheduler except the first starts at"
        " a milestone: pass len(schedulers) - 1 milestones",
    ),
    (
        lambda: ours.SequentialLR(optimizer(), [], []),
        ValueError,
        "SequentialLR([]): the list is empty: pass at least one scheduler",
    ),
    (
        lambda: ours.ChainedScheduler([]),
        ValueError,
        "ChainedScheduler([]): the list is empty: pass at least one scheduler",
    ),
    (
        lambda: ours.ChainedScheduler([ours.StepLR(optimizer(), 2), ours.StepLR(optimizer(), 2)]),
        ValueError,
        "ChainedScheduler(...): scheduler 1 belongs to another optimizer: create all for the same one",
    ),
    (
        lambda: ours.ChainedScheduler([ours.ReduceLROnPlateau(optimizer())]),
        ValueError,
        "ChainedScheduler(...): scheduler 0, ReduceLROnPlateau, needs a value, which the"
        " others do not take: step it separately",
    ),
    (
        lambda: ours.ReduceLROnPlateau(optimizer(), factor=1),
        ValueError,
        "ReduceLROnPlateau(factor=1): it must be below 1 to reduce the rate: pass another value",
    ),
    (
        lambda: ours.ReduceLROnPlateau(optimizer(), "low"),
        ValueError,
        "ReduceLROnPlateau(mode='low'): unknown: use one of 'min', 'max'",
    ),
    (
        lambda: SWALR(optimizer(), 0.1, anneal_strategy="sin"),
        ValueError,
        "SWALR(anneal_strategy='sin'): unknown: use one of 'cos', 'linear'",
    ),
    (
        lambda: SWALR(optimizer(), 0.1, -1),
        ValueError,
        "SWALR(anneal_epochs=-1): must be at least 0: pass another value",
    ),
    (
        lambda: optim.SGD([fb.zeros(1).requires_grad_()], momentun=0.9),
        TypeError,
        "SGD.__init__() got an unexpected keyword argument 'momentun'",
    ),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", ERRORS, ids=range(len(ERRORS)))
def test_errors(call, kind, text):
    with pytest.raises(kind) as e:
        call()
    assert str(e.value) == text


def test_a_one_cycle_schedule_resumes_with_the_length_of_its_state():
    """As of a Lightning run whose max_epochs was raised: the length of the state counts, as in PyTorch."""
    first = optimizer()
    schedule = ours.OneCycleLR(first, 1.0, total_steps=8, anneal_strategy="linear", cycle_momentum=False)
    for _ in range(3):
        schedule.step()
    other = optimizer()
    longer = ours.OneCycleLR(other, 1.0, total_steps=40, cycle_momentum=False)
    other.load_state_dict(first.state_dict())
    longer.load_state_dict(schedule.state_dict())
    for _ in range(4):
        schedule.step()
        longer.step()
        assert other.param_groups[0]["lr"] == pytest.approx(first.param_groups[0]["lr"], rel=1e-12)
    phases = longer.state_dict()["_schedule_phases"]
    assert phases[1] == {
        "end_step": 7, "start_lr": "max_lr", "end_lr": "min_lr",
        "start_momentum": "base_momentum", "end_momentum": "max_momentum",
    }  # fmt: skip


def test_a_one_cycle_schedule_reads_pytorchs_state(torch):
    theirs = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1, momentum=0.9)
    real = torch.optim.lr_scheduler.OneCycleLR(theirs, 1.0, total_steps=9, three_phase=True)
    mine = optimizer()
    schedule = ours.OneCycleLR(mine, 2.0, total_steps=30, anneal_strategy="linear", cycle_momentum=False)
    for _ in range(2):
        real.step()
    for key in ("initial_lr", "max_lr", "min_lr"):
        mine.param_groups[0][key] = theirs.param_groups[0][key]
    schedule.load_state_dict({**real.state_dict(), "cycle_momentum": False})
    for _ in range(5):
        real.step()
        schedule.step()
        assert mine.param_groups[0]["lr"] == pytest.approx(theirs.param_groups[0]["lr"], rel=1e-9)
