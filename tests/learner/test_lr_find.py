"""Searches of a learning rate: everything ends as it was, and the suggestion follows a rule written out."""

import random

import numpy as np
import pytest

import flambeau as fb
from flambeau import data, nn, optim
from flambeau.core.tree import leaves
from flambeau.learner import Learner
from flambeau.learner.lr_find import LearningRates, geometric, valley

X = np.random.default_rng(0).normal(size=(40, 3)).astype("float32")
Y = (X[:, 0] > 0).astype("int64")


def make(device, workers=0, **options):
    fb.manual_seed(3)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
    model.to(device)
    head, body = list(model[4].parameters()), [*model[0].parameters(), *model[1].parameters()]
    optimizer = optim.AdamW([{"params": head, "lr": 1e-2}, {"params": body, "lr": 1e-3}])
    learner = Learner(model, optimizer, nn.functional.cross_entropy, renderers=[], **options)
    dataset = data.TensorDataset(fb.tensor(X, device=device), fb.tensor(Y, device=device))
    return learner, data.DataLoader(dataset, 8, shuffle=True, num_workers=workers)


def numbers(learner):
    """Every number of the model and the optimiser, as bytes."""
    tensors = [*learner.model.parameters(), *learner.model.buffers(), *leaves(learner.optimizer.state)]
    return [t.numpy().tobytes() for t in tensors if isinstance(t, fb.Tensor)]


@pytest.mark.parametrize("options", [{}, {"accumulate": 2, "scaler": True}])
def test_a_search_leaves_everything_as_it_was(options):
    device = "cpu"
    if "scaler" in options:
        options = options | {"scaler": fb.GradScaler()}
    learner, loader = make(device, **options)
    learner.fit(loader, epochs=1)
    learner.model[1].eval()  # a frozen layer stays frozen
    places = dict(learner.optimizer.state)
    groups = [dict(g) for g in learner.optimizer.param_groups]
    before, states = numbers(learner), (fb.get_rng_state(), random.getstate(), loader.state_dict())
    scale = None if learner.scaler is None else learner.scaler.state_dict()
    counts = learner.meters["train"].read_total()

    found = learner.lr_find(loader, 1e-6, 1.0, num_it=12, stop_div=False)

    assert numbers(learner) == before
    assert (fb.get_rng_state(), random.getstate(), loader.state_dict()) == states
    assert [dict(g) for g in learner.optimizer.param_groups] == groups
    assert list(learner.optimizer.state) == list(places)
    assert learner.scaler is None or learner.scaler.state_dict() == scale
    assert learner.meters["train"].read_total() == counts
    assert learner.model.training and not learner.model[1].training
    assert learner.step == (5 if not options else 3)
    assert len(found.rates) == len(found.losses) == 12
    assert found.rates[0] == 1e-6 and found.rates[-1] == pytest.approx(1.0)


@pytest.mark.share(3, only=["gpu"])
def test_a_run_after_a_search_is_the_run_without_one(device):
    """Also on recorded steps: those of before and after the search."""
    plain, loader = make(device, workers=1)
    expected = plain.fit(loader, epochs=3)
    searched, loader = make(device, workers=1)
    searched.fit(loader, epochs=1)
    searched.lr_find(loader, 1e-5, 1.0, num_it=10)
    assert searched.fit(loader, epochs=3) == expected
    assert numbers(searched) == numbers(plain)


def test_the_state_is_restored_after_an_error():
    learner, loader = make("cpu")
    before = numbers(learner)

    def broken():
        yield from [next(iter(loader))] * 3
        raise RuntimeError("no disk")

    with pytest.raises(RuntimeError, match="no disk"):
        learner.lr_find(broken())
    assert numbers(learner) == before and learner.optimizer.param_groups[0]["lr"] == 1e-2


def test_groups_keep_their_ratios_and_the_losses_are_those_of_sgd():
    """loss = a x^2 / 2 + b y^2 / 2 by SGD: x falls by (1 - rate a) and y by (1 - rate b / 4) a step."""
    a, b = 2.0, 3.0
    x, y = nn.Parameter(fb.tensor([1.0], device="cpu")), nn.Parameter(fb.tensor([1.0], device="cpu"))
    model = nn.Module()
    model.x, model.y = x, y
    model.forward = lambda _: (a * x * x + b * y * y) / 2
    optimizer = optim.SGD([{"params": [x], "lr": 0.4}, {"params": [y], "lr": 0.1}])
    learner = Learner(model, optimizer, lambda output, _: output.sum(), renderers=[])
    batch = (fb.zeros(1, device="cpu"), fb.zeros(1, device="cpu"))
    found = learner.lr_find([batch], 1e-3, 100.0, num_it=30)
    p, q, losses = 1.0, 1.0, []
    for rate in found.rates:
        losses.append((a * p * p + b * q * q) / 2)
        p, q = p * (1 - rate * a), q * (1 - rate / 4 * b)
    np.testing.assert_allclose(found.losses, losses, rtol=1e-4)
    assert len(found.rates) < 30  # it diverged
    assert 0 < found.suggestion < 2 / a  # above which SGD diverges
    assert (x.item(), y.item(), optimizer.lr) == (1.0, 1.0, 0.4)


def test_a_loss_of_nan_ends_the_search():
    learner, loader = make("cpu")
    batches = [*loader][:3]
    bad = (batches[0][0] * float("nan"), batches[0][1])
    found = learner.lr_find([*batches, bad], num_it=20)
    assert len(found.losses) == 3 and all(map(np.isfinite, numbers_of(learner)))


def numbers_of(learner):
    return [float(t.sum().item()) for t in learner.model.parameters()]


def test_the_valley():
    """The longest falling subsequence is 5, 4, 3, 2, 1; its middle is 3."""
    rates = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0]
    assert valley(rates, [5.0, 5.5, 4.0, 3.0, 2.0, 1.0, 9.0]) == 1e-2
    assert valley(rates, [1.0] * 7) is None and valley([], []) is None
    assert geometric(1e-3, 1e1, 5) == pytest.approx([1e-3, 1e-2, 1e-1, 1.0, 10.0])
    assert repr(LearningRates([1e-3, 1.0], [2.0, 1.0], [2.0, 1.5], 0.05)) == (
        "LearningRates(2 steps, 0.001 to 1): suggestion 0.05"
    )


def test_errors():
    learner, loader = make("cpu")
    for arguments, message in [
        (
            {"start_lr": 1.0, "end_lr": 0.1},
            "lr_find(start_lr=1.0, end_lr=0.1): the rates must rise from above 0:"
            " pass start_lr=1e-7, end_lr=10",
        ),
        ({"num_it": 5}, "lr_find(num_it=5): must be an integer of at least 10: pass 100"),
    ]:
        with pytest.raises(ValueError) as e:
            learner.lr_find(loader, **arguments)
        assert str(e.value) == message
    with pytest.raises(ValueError) as e:
        learner.lr_find([])
    assert str(e.value) == "lr_find(loader): the loader produced no batch: pass one that restarts"
