"""Buffers of recorded steps: who shares one, and that the order of kernels keeps few values alive."""

import pytest
from helpers.plans import plan_of

import flambeau as fb
from flambeau import nn, optim
from flambeau.fusion.buffers import assign, lifetimes, peak


def recorded(*roots, dying=()):
    """The plan of a recorded step, which may write over what dies."""
    return plan_of(*roots, dying=dying)


def network():
    fb.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8),
        nn.ReLU(), nn.Flatten(), nn.Linear(8 * 4 * 4, 5),
    )  # fmt: skip
    x = fb.rand(6, 1, 12, 12)
    fb.realize(x, *model.parameters())
    return model, x


def gradients():
    model, x = network()
    loss = nn.functional.cross_entropy(model(x), fb.arange(6) % 5)
    grads = loss.backward()
    return recorded(loss, *(grads[p] for p in model.parameters()))


def test_no_two_values_share_a_slot_at_once():
    found = gradients()
    slots, (begins, ends, _) = assign(found), lifetimes(found)
    sizes = dict(found.stored)
    for v in begins:
        assert sizes[v] <= slots.sizes[slots.of[v]]
        for u in begins:
            if u < v and slots.of[u] == slots.of[v]:
                assert ends[u] < begins[v] or ends[v] < begins[u]


def test_slots_take_little_more_than_what_lives():
    found = gradients()
    slots = assign(found)
    assert peak(found) <= slots.nbytes < 1.35 * peak(found)
    assert slots.nbytes < 0.85 * sum(n for _, n in found.stored)


def test_a_chain_needs_two():
    x = fb.rand(64, 64).realize()
    for _ in range(9):
        x = x @ x
    assert assign(recorded(x)).sizes == [64 * 64 * 4] * 2


def test_what_is_written_over_has_the_slot_of_what_was_there():
    x = fb.rand(64, 64).realize()
    found = recorded((x @ x).cumsum(0).exp(), dying=[x])
    assert found.kernels[-1].over
    assert len(set(assign(found).of.values())) == 2


def test_a_parameter_is_updated_when_its_gradient_is_there():
    fb.manual_seed(0)
    layers = [nn.Linear(32, 32, bias=False) for _ in range(6)]
    x = fb.rand(4, 32).realize()
    y = x
    for layer in layers:
        y = layer(y).tanh()
    fb.realize(*(layer.weight for layer in layers))
    grads = y.sum().backward()
    weights = [layer.weight for layer in layers]
    new = [fb.Tensor(w.node) - grads[w].exp() * 0.1 for w in weights]
    one = 32 * 32 * 4
    assert peak(recorded(*new, dying=weights)) < 3 * one
    assert peak(recorded(*new)) > 6 * one


@pytest.mark.parametrize("make", [optim.SGD, optim.AdamW])
@pytest.mark.share(3)
def test_recorded_steps_give_what_plain_ones_do(make):
    def trained(record):
        model, x = network()
        opt, y = make(model.parameters(), lr=0.05), fb.arange(6) % 5

        def step(x, y):
            loss = nn.functional.cross_entropy(model(x), y)
            opt.step(loss.backward())
            return loss

        call = fb.jit(step) if record else step
        return [call(x, y).item() for _ in range(5)] + [p.tolist() for p in model.parameters()]

    assert trained(True) == trained(False)
