"""Values that several runs need are stored by the third, so a program that reads often computes each once
or a few times (runtime/repeated)."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.autodiff.checkpoint import checkpoint
from flambeau.device.cpu import CpuDevice


@pytest.fixture
def evaluated(monkeypatch):
    """The number of evaluations of each op on the CPU device."""
    counts = {"all": 0}
    run = CpuDevice.run

    def count(self, node, arrays):
        counts["all"] += 1
        return run(self, node, arrays)

    monkeypatch.setattr(CpuDevice, "run", count)
    return counts


def chain(x, length):
    for _ in range(length):
        x = (x * 1.01).sin()
    return x


def test_values_that_are_read_often_are_computed_three_times(evaluated):
    with fb.device("cpu"):
        x = fb.ones(3)
        base = chain(x, 100)
        got = [(base + i).sum().item() for i in range(20)]
    want = np.ones(3, np.float32)
    for _ in range(100):
        want = np.sin(want * np.float32(1.01))
    np.testing.assert_allclose(got, [want.sum() + 3 * i for i in range(20)], rtol=1e-4)
    assert evaluated["all"] < 1500  # three times a chain of 300, and the sums: 20 times without it


def test_two_reads_store_nothing(evaluated):
    with fb.device("cpu"):
        base = chain(fb.ones(3), 100)
        values = [(base + i).sum().item() for i in range(2)]
    assert len(values) == 2 and base.node.buffer is None


def test_views_store_what_they_read():
    with fb.device("cpu"):
        base = chain(fb.ones(3), 100)
        wide = base.reshape(3, 1).expand(3, 1000)
        for i in range(4):
            (wide + i).sum().item()
    assert wide.node.buffer is None and base.node.buffer is not None


def test_a_gradient_after_many_reads_computes_each_value_a_few_times(evaluated):
    """More than 64 reads put the forward pass so far back that backward computes its values one by one."""
    with fb.device("cpu"):
        weights = [fb.full((4, 4), 0.1 + 0.01 * i).requires_grad_() for i in range(30)]
        x = fb.ones(2, 4)
        layers = []
        for w in weights:
            x = (x @ w).sin() + x
            layers.append(x)
        for i in range(70):
            (layers[-1] + i).sum().item()
        before = evaluated["all"]
        grads = layers[-1].square().sum().backward()
        got = [grads[w].numpy() for w in weights]
        fresh = [w.detach().requires_grad_() for w in weights]
        y = fb.ones(2, 4)
        for w in fresh:
            y = (y @ w).sin() + y
        again = y.square().sum().backward()
        for one, w in zip(got, fresh, strict=True):
            np.testing.assert_allclose(one, again[w].numpy(), rtol=1e-5)
    assert before < 1500  # three passes and 70 sums
    assert evaluated["all"] < 4500


def test_values_inside_checkpoints_are_not_stored(evaluated):
    """They are computed again for a gradient, however often the results were read."""
    inside = []

    def layer(x, w):
        inside.append(x @ w)
        return inside[-1].sin() + x

    with fb.device("cpu"):
        weights = [fb.full((4, 4), 0.1 + 0.01 * i).requires_grad_() for i in range(20)]
        x = fb.ones(2, 4)
        for w in weights:
            x = checkpoint(layer, x, w).tanh()
        for i in range(70):
            (x + i).sum().item()
        grads = x.square().sum().backward()
        assert all(grads[w].isfinite().all().item() for w in weights)
    assert not [h for h in inside if h.node.buffer is not None]
    assert evaluated["all"] < 4500
