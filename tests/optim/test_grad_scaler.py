"""GradScaler: scales that grow and fall, steps that are left out with all their state, and nothing read."""

import math

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.core import overrides
from flambeau.runtime import run

F = nn.functional
OPTIMISERS = {
    "SGD": {"momentum": 0.9},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "NAdam": {},
    "RAdam": {},
    "Adamax": {},
    "Adagrad": {},
    "Adadelta": {},
    "Adafactor": {},
    "RMSprop": {"momentum": 0.5, "centered": True},
    "Rprop": {},
    "ASGD": {},
    "Lion": {},
    "Adan": {},
    "Muon": {},
}


def parameters(device):
    fb.manual_seed(0)
    return [fb.randn(3, 2, device=device).requires_grad_(), fb.randn(2, 2, device=device).requires_grad_()]


def loss_of(ps, factor=1.0):
    return (ps[0] @ ps[1]).square().sum() * factor


def state(optimizer):
    return [t.numpy().copy() for s in optimizer.state.values() for t in s.values()]


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.share(5)
def test_a_step_is_left_out_with_its_state(name):
    device = fb.device("cpu")
    ps, qs = parameters(device), parameters(device)
    make = getattr(optim, name)
    first, second = (make(each, lr=0.01, **OPTIMISERS[name]) for each in (ps, qs))
    scaler = fb.GradScaler(device, init_scale=8.0)
    for factor in (1.0, math.inf, 1.0, math.nan, 1.0):
        before = [p.detach().numpy().copy() for p in ps], state(first)
        grads = scaler.scale(loss_of(ps, factor)).backward()
        scaler.step(first, grads)
        scaler.update()
        if math.isfinite(factor):
            second.step(loss_of(qs).backward())
        else:
            after = [p.detach().numpy() for p in ps], state(first)
            for was, now in zip([*before[0], *before[1]], [*after[0], *after[1]], strict=True):
                np.testing.assert_array_equal(was, now)
    assert scaler.get_scale() == 2.0
    for p, q in zip(ps, qs, strict=True):  # as if the steps that were left out had not been asked for
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-6)
    for a, b in zip(state(first), state(second), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("recorded", [False, True])
def test_nothing_is_read_in_the_loop(device, recorded, monkeypatch):
    fb.manual_seed(0)
    model = nn.Linear(4, 2, device=device)
    optimizer = optim.AdamW(
        [{"params": [model.weight]}, {"params": [model.bias], "lr": 0.1, "weight_decay": 0.0}], lr=0.01
    )
    scaler = fb.GradScaler(device, init_scale=16.0, growth_interval=2)
    context = fb.autocast(dtype=fb.float16)

    def step(x, y, factor):
        with context:
            loss = F.mse_loss(model(x), y)
        grads = scaler.scale(loss * factor).backward()
        scaler.unscale_(grads)
        optim.clip_grad_norm(grads, 1.0)
        total = nn.utils.clip_grad_norm_(grads, 0.5)
        scaler.step(optimizer, grads)
        scaler.update()
        return loss, total

    if recorded:
        step = fb.jit(step)
    x, y = fb.ones(8, 4, device=device), fb.full((8, 2), 5.0, device=device)  # so far that each step helps
    factors = [fb.tensor(f, device=device) for f in (1.0, 1.0, math.inf, 1.0, 1.0, 1.0)]
    fb.realize(x, y, *factors)
    reads = []
    monkeypatch.setattr(run.Readback, "__init__", lambda *_: reads.append(0))
    made = [step(x, y, f) for f in factors]
    assert not reads
    monkeypatch.undo()
    losses = [loss.item() for loss, _ in made]
    assert losses[2] == losses[3]  # nothing moved in between
    assert losses[0] > losses[1] > losses[2] > losses[4] > losses[5]
    assert math.isfinite(made[1][1].item()) and not math.isfinite(made[2][1].item())
    assert scaler.state_dict() == {
        "scale": 32.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2, "_growth_tracker": 1
    }  # fmt: skip  # 16, 32 after two, 16 after the infinity, 32 after two more, and one since
    assert {s["step"].item() for s in optimizer.state.values()} == {5.0}


def test_reads_are_seen_by_that():
    seen = []

    def heard(*_):
        seen.append(0)
        raise RuntimeError

    with pytest.MonkeyPatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr(run.Readback, "__init__", heard)
        fb.ones(2, device="cpu").tolist()
    assert seen


def test_a_planted_overflow_of_float16(device):
    """A product that float16 can't hold makes infinite gradients by itself; at a smaller scale it goes on."""
    w = fb.tensor([[1.0]], device=device).requires_grad_()
    optimizer, scaler = optim.SGD([w], lr=1e-4), fb.GradScaler(device, init_scale=2.0**15)
    x, seen = fb.tensor([[3.0]], device=device), []
    for _ in range(3):
        with fb.autocast(dtype=fb.float16):
            y = x @ w
        grads = scaler.scale(y.float().sum()).backward()  # 3 * 2^15 is past 65504
        scaler.step(optimizer, grads)
        scaler.update()
        seen.append((scaler.get_scale(), round(w.item(), 6)))
    assert seen == [(2.0**14, 1.0), (2.0**14, 0.9997), (2.0**14, 0.9994)]


def test_the_scale_is_torchs(torch):
    draw = np.random.default_rng(int(torch.randint(0, 1000, ()).item()))
    ours = fb.GradScaler("cpu", init_scale=4.0, growth_factor=3.0, backoff_factor=0.25, growth_interval=3)
    theirs = torch.amp.GradScaler("cpu", 4.0, 3.0, 0.25, 3)
    p, q = fb.ones(2, device="cpu").requires_grad_(), torch.ones(2, requires_grad=True)
    mine, other = optim.Adam([p], lr=0.1), torch.optim.Adam([q], lr=0.1)
    for _ in range(30):
        factor = draw.choice([1.0, 2.0, math.inf], p=[0.5, 0.35, 0.15])
        grads = ours.scale((p * p).sum() * factor).backward()
        ours.unscale_(grads)
        other.zero_grad()
        theirs.scale((q * q).sum() * factor).backward()
        theirs.unscale_(other)
        np.testing.assert_allclose(grads[p].numpy(), q.grad.numpy(), rtol=1e-4)
        ours.step(mine, grads)
        theirs.step(other)
        ours.update()
        theirs.update()
        assert ours.get_scale() == theirs.get_scale()
        assert ours.state_dict() == {**theirs.state_dict(), "_growth_tracker": theirs._growth_tracker.item()}
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-4, atol=1e-5)
    fresh = fb.GradScaler("cpu")
    fresh.load_state_dict(theirs.state_dict())
    assert fresh.state_dict() == ours.state_dict()


def test_the_scale_stays_finite():
    scaler = fb.GradScaler("cpu", init_scale=2.0**127, growth_interval=1)
    p = fb.zeros(1, device="cpu").requires_grad_()
    optimizer = optim.SGD([p], lr=0.1)
    for _ in range(2):
        scaler.step(optimizer, scaler.scale((p * 0.0).sum()).backward())
        scaler.update()
    assert scaler.get_scale() == 2.0**127


def test_what_it_is_told():
    scaler = fb.GradScaler("cpu")
    assert (scaler.get_scale(), scaler.get_growth_factor(), scaler.get_backoff_factor()) == (
        65536.0,
        2.0,
        0.5,
    )
    assert scaler.get_growth_interval() == 2000 and scaler.is_enabled()
    scaler.update()  # nothing was unscaled: no step to count
    assert scaler.state_dict()["_growth_tracker"] == 0
    scaler.update(8.0)
    scaler.update(fb.tensor([16.0], device="cpu"))
    scaler.set_growth_factor(4.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    want = {"scale": 16.0, "growth_factor": 4.0, "backoff_factor": 0.25, "growth_interval": 7}
    assert scaler.state_dict() == {**want, "_growth_tracker": 0}
    a, (b,) = scaler.scale([fb.ones(1, device="cpu"), (fb.ones((), device="cpu"),)])
    assert a.tolist() == [16.0] and b.item() == 16.0


def test_one_that_is_off():
    scaler, p = fb.GradScaler("cpu", enabled=False), fb.ones(1, device="cpu").requires_grad_()
    loss = (p * 2).sum()
    assert scaler.scale(loss) is loss and not scaler.is_enabled() and scaler.get_scale() == 1.0
    grads = loss.backward()
    scaler.unscale_(grads)
    scaler.step(optim.SGD([p], lr=0.5), grads)
    scaler.update()
    scaler.load_state_dict({})
    assert p.tolist() == [0.0] and scaler.state_dict() == {} and grads.found_inf is None


@pytest.fixture(params=[False, True], ids=["plain", "with overrides"])
def overridden(request):
    """Whether a class of tensors overrides operations, as the one of named tensors does."""
    before = overrides._Process.has_classes
    overrides._Process.has_classes = request.param
    overrides._switch()
    yield
    overrides._Process.has_classes = before
    overrides._switch()


@pytest.mark.usefixtures("overridden")
def test_gradients_carry_what_was_found():
    scaler, p = fb.GradScaler("cpu", init_scale=4.0), fb.ones(2, device="cpu").requires_grad_()

    def made(factor):
        return scaler.scale((p * factor).sum()).backward()

    total = made(1.0) + made(3.0)  # batches are added up before they are unscaled
    scaler.unscale_(total)
    assert total[p].tolist() == [4.0, 4.0] and not total.found_inf.item()
    both = made(math.inf)
    loss = both.loss
    scaler.unscale_(both)
    assert both.loss is loss.unscaled  # type: ignore[attr-defined]
    clipped, _ = optim.clip_grad_norm(both, 1.0)
    assert clipped.found_inf is both.found_inf and optim.clip_grad_value(both, 1.0).found_inf.item()
    assert (both + total).found_inf.item() and total.accumulate(both).found_inf.item()
    with pytest.raises(ValueError) as e:
        both + made(1.0)
    told = "only one of the two is unscaled: add them first and unscale the sum"
    assert str(e.value) == f"Gradients(1) + Gradients(1): {told}"


def test_two_optimisers_and_one_scale(device):
    a, b = (fb.ones(1, device=device).requires_grad_() for _ in range(2))
    first, second = optim.SGD([a], lr=0.5), optim.SGD([b], lr=0.5)
    scaler = fb.GradScaler(device, init_scale=4.0, growth_interval=1)
    scaler.step(first, scaler.scale(a.sum()).backward())
    scaler.step(second, scaler.scale((b * math.inf).sum()).backward())
    scaler.update()
    assert (a.item(), b.item(), scaler.get_scale()) == (0.5, 1.0, 2.0)


def test_moves_to_where_losses_are(gpu):
    scaler = fb.GradScaler("cpu", init_scale=4.0)
    assert scaler.scale(fb.ones((), device=gpu)).item() == 4.0


def test_state_in_the_hosts_memory(gpu):
    p = fb.ones(3, device=gpu).requires_grad_()
    optimizer, scaler = optim.Adam([p], lr=0.5, offload=True), fb.GradScaler(gpu, init_scale=4.0)
    for factor in (math.inf, 1.0, math.inf):
        scaler.step(optimizer, scaler.scale((p * factor).sum()).backward())
        scaler.update()
    assert p.tolist() == [0.5] * 3 and optimizer.state[p]["step"].item() == 1.0
    np.testing.assert_allclose(optimizer.state[p]["exp_avg"].numpy(), 0.1, rtol=1e-6)


def test_half_of_the_parameters_in_float16():
    p = fb.ones(2, dtype=fb.float16, device="cpu").requires_grad_()
    scaler = fb.GradScaler("cpu", init_scale=2.0**14)
    grads = scaler.scale((p.float() * 1e-7).sum()).backward()
    scaler.unscale_(grads)
    assert grads[p].dtype is fb.float32  # in float16 it would be 0
    np.testing.assert_allclose(grads[p].numpy(), 1e-7, rtol=1e-3)


def unscaled():
    p = fb.ones(2, device="cpu").requires_grad_()
    return p, (p * 2).sum().backward()


def twice():
    scaler, (_, grads) = fb.GradScaler("cpu"), unscaled()
    scaler.unscale_(grads)
    scaler.unscale_(grads)


ERRORS = {
    "GradScaler(init_scale=0): must be above 0: pass another value": lambda: fb.GradScaler("cpu", 0),
    "GradScaler(growth_factor=1.0): must be above 1: pass another value": lambda: fb.GradScaler(
        "cpu", growth_factor=1.0
    ),
    "GradScaler(backoff_factor=1.0): must be between 0 and 1: pass another value": lambda: fb.GradScaler(
        "cpu", backoff_factor=1.0
    ),
    "GradScaler(growth_interval=0): must be at least 1: pass another value": lambda: fb.GradScaler(
        "cpu", growth_interval=0
    ),
    "GradScaler(new_scale=-1.0): must be above 0: pass another value": lambda: fb.GradScaler("cpu").update(
        -1.0
    ),
    "GradScaler.update(f32[2]): the scale must be one number: pass a 0-d tensor": lambda: fb.GradScaler(
        "cpu"
    ).update(fb.ones(2, device="cpu")),
    "GradScaler.load_state_dict(...): missing: scale, growth_factor, backoff_factor, growth_interval,"
    " _growth_tracker: it may come from a"
    " scaler that was disabled": lambda: fb.GradScaler("cpu").load_state_dict({}),
    "GradScaler.scale(3): takes a tensor or a list of tensors": lambda: fb.GradScaler("cpu").scale(3),
    "GradScaler.unscale_(1 gradients): they are already unscaled: call it once a step": twice,
    "GradScaler.unscale_(None): pass the result of backward: grads = scaler.scale(loss).backward(), then"
    " unscale_(grads)": lambda: fb.GradScaler("cpu").step(optim.SGD([unscaled()[0]]), None),  # type: ignore
}


@pytest.mark.parametrize("told", ERRORS)
def test_errors(told):
    with pytest.raises((ValueError, TypeError)) as e:
        ERRORS[told]()
    assert str(e.value) == told
