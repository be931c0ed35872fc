"""Averages of weights: as PyTorch's, of models with buffers, in recorded steps; running statistics anew."""

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn
from flambeau.optim import swa_utils as swa


def models(count, device="cpu"):
    """Models of one form with other weights and statistics each."""
    fb.manual_seed(0)
    made = []
    for _ in range(count):
        model = nn.Sequential(nn.Linear(2, 3, device=device), nn.BatchNorm1d(3, device=device))
        model[1].running_mean.assign_(fb.rand(3, device=device))
        made.append(model)
    return made


def values(model):
    return {name: t.numpy() for name, t in model.state_dict().items()}


def fading(seen):
    return 0.81 * seen[0] + 0.09 * seen[1] + 0.1 * seen[2]


AVERAGES = {
    "equal": ({}, lambda seen: np.mean(seen, 0)),
    "swa": ({"avg_fn": swa.get_swa_avg_fn()}, lambda seen: np.mean(seen, 0)),
    "swa, many": ({"multi_avg_fn": swa.get_swa_multi_avg_fn()}, lambda seen: np.mean(seen, 0)),
    "ema": ({"avg_fn": swa.get_ema_avg_fn(0.9)}, fading),
    "ema, many": ({"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)}, fading),
}


@pytest.mark.parametrize("name", AVERAGES)
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averages(name, use_buffers):
    kw, wanted = AVERAGES[name]
    seen = models(3)
    average = swa.AveragedModel(seen[0], use_buffers=use_buffers, **kw)
    for model in seen:
        average.update_parameters(model)
    mine = values(average.module)
    for key in ("0.weight", "1.bias"):
        np.testing.assert_allclose(mine[key], wanted([values(m)[key] for m in seen]), rtol=1e-5)
    means = [values(m)["1.running_mean"] for m in seen]
    np.testing.assert_allclose(mine["1.running_mean"], wanted(means) if use_buffers else means[2], rtol=1e-5)
    assert average.n_averaged.item() == 3 and list(average.state_dict())[:2] == [
        "n_averaged",
        "module.0.weight",
    ]
    x = fb.rand(4, 2, device="cpu")
    again = swa.AveragedModel(seen[0])
    again.load_state_dict(average.state_dict())
    np.testing.assert_array_equal(again.eval()(x).numpy(), average.eval()(x).numpy())
    assert again.n_averaged.item() == 3 and all(p.requires_grad for p in again.parameters())


def test_an_average_is_apart_from_its_model():
    (model,) = models(1)
    average = swa.AveragedModel(model)
    average.update_parameters(model)
    before = values(average.module)["0.weight"]
    with fb.no_grad():
        model[0].weight.assign_(model[0].weight * 0)
    np.testing.assert_array_equal(values(average.module)["0.weight"], before)


def test_an_average_in_a_recorded_step(gpu):
    def train(record):
        (model,) = models(1, gpu)
        average = swa.AveragedModel(model, multi_avg_fn=swa.get_ema_multi_avg_fn(0.5))
        opt, x = fb.optim.SGD(model.parameters(), lr=0.1), fb.arange(8.0, device=gpu).reshape(4, 2)

        def step(x):
            loss = model(x).square().mean()
            opt.step(loss.backward())
            average.update_parameters(model)
            return loss

        call = fb.jit(step) if record else step
        for _ in range(3):
            call(x)
        return values(average.module)

    plain, recorded = train(False), train(True)
    for name in plain:
        np.testing.assert_allclose(recorded[name], plain[name], rtol=1e-5, atol=1e-6)


def test_running_statistics_anew():
    (model,) = models(1)
    model[1].momentum = 0.3
    batches = [np.random.default_rng(i).normal(size=(8, 2)).astype("f4") for i in range(3)]
    loader = [fb.tensor(batches[0], device="cpu"), *((fb.tensor(b, device="cpu"), None) for b in batches[1:])]
    average = swa.AveragedModel(model).eval()
    average.module[1].running_mean.fill_(float("inf"))  # as after an overflow
    swa.update_bn(loader, average)
    w, b = values(model)["0.weight"], values(model)["0.bias"]
    means = np.mean([(x @ w.T + b).mean(0) for x in batches], 0)
    spreads = np.mean([(x @ w.T + b).var(0, ddof=1) for x in batches], 0)
    mine = values(average.module)
    np.testing.assert_allclose(mine["1.running_mean"], means, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(mine["1.running_var"], spreads, rtol=1e-4)
    assert average.module[1].momentum == 0.3 and not average.module.training
    swa.update_bn(loader, nn.Linear(2, 2))  # nothing to compute


def test_averages_are_torchs(torch):
    seen = models(3)
    theirs = []
    for model in seen:
        other = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
        other.load_state_dict({k: torch.tensor(v) for k, v in values(model).items()})
        theirs.append(other)
    for name in ("get_ema_multi_avg_fn", "get_swa_multi_avg_fn"):
        a = swa.AveragedModel(seen[0], multi_avg_fn=getattr(swa, name)())
        b = torch.optim.swa_utils.AveragedModel(
            theirs[0], multi_avg_fn=getattr(torch.optim.swa_utils, name)()
        )
        for mine, other in zip(seen, theirs, strict=True):
            a.update_parameters(mine)
            b.update_parameters(other)
        wanted = {k: v.numpy() for k, v in b.module.state_dict().items()}
        for key, value in values(a.module).items():
            np.testing.assert_allclose(value, wanted[key], rtol=1e-5, atol=1e-7)


def test_errors():
    with pytest.raises(ValueError) as e:
        swa.get_ema_avg_fn(1.5)
    assert str(e.value) == "get_ema_avg_fn(decay=1.5): must be in 0 to 1: pass another value"
    with pytest.raises(ValueError) as e:
        swa.get_ema_multi_avg_fn(-1)
    assert str(e.value) == "get_ema_multi_avg_fn(decay=-1): must be in 0 to 1: pass another value"
    with pytest.raises(ValueError) as e:
        swa.AveragedModel(nn.Linear(2, 2), avg_fn=abs, multi_avg_fn=abs)
    assert str(e.value) == "AveragedModel(avg_fn=..., multi_avg_fn=...): both define the average: pass one"
