"""A replay or a recording that ends by an exception changes nothing: the next call gives the right values."""

import numpy as np
import pytest
from helpers.kernels import planned_for

import flambeau as fb
from flambeau.device.memory import Pool


class Model:
    """Two states, random numbers and a HostScalar. The old values of both states are held, and one of them is
    assigned from outside before every second call."""

    def __init__(self, device):
        fb.manual_seed(3)
        start = np.arange(6, dtype="f4").reshape(2, 3)
        self.w = fb.tensor(start, device=device).realize()
        self.v = fb.tensor(start + 1, device=device).realize()
        self.rate = fb.HostScalar(0.5)
        self.step = fb.jit(self._step, check="never")
        self.device, self.calls = device, 0

    def _step(self, x):
        noise = fb.rand(2, 3, device=self.device)
        self.w.assign_(self.w * self.rate + x + noise)
        self.v.assign_(self.v + self.w)
        return (self.w * x).sum(), self.v - x

    def call(self, attempt=lambda call: call()):
        """Assign from outside, hold the old values and call; all values that can be read afterwards."""
        self.calls += 1
        self.rate.value = 0.25 * self.calls
        x = fb.tensor(np.full((2, 3), self.calls, "f4"), device=self.device).realize()
        if self.calls % 2:
            self.v.assign_(self.v * 2)
        old = [fb.Tensor(t.node) for t in (self.w, self.v)]
        fb.realize(*old)
        out = attempt(lambda: self.step(x))
        return [t.numpy() for t in (*old, *out, self.w, self.v)]


def same(a, b):
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


class Raising:
    """Raise at the k-th call of a function, before it does anything."""

    def __init__(self, monkeypatch, owner, name, error):
        self.real, self.error, self.left = getattr(owner, name), error, 0
        monkeypatch.setattr(owner, name, lambda *given: self(*given))

    def __call__(self, *given):
        self.left -= 1
        if not self.left:
            raise self.error
        return self.real(*given)


CALLS = 20
PLACES = ["take", "submit", "write", "bind", "prepare"]


@pytest.fixture(scope="module")
def expected(gpu):
    undisturbed = Model(gpu)
    return [undisturbed.call() for _ in range(CALLS)]


def raising_in(gpu, monkeypatch, name):
    return Raising(monkeypatch, Pool if name == "take" else gpu, name, KeyboardInterrupt)


@pytest.mark.parametrize("name", PLACES)
def test_a_replay_that_raises_changes_nothing(gpu, monkeypatch, expected, name):
    model, raising, raised = Model(gpu), raising_in(gpu, monkeypatch, name), 0

    def attempt(call):
        nonlocal raised
        raising.left = max(model.calls - 3, 0) // 2  # each k twice: with a value from outside, and without
        try:
            return call()
        except KeyboardInterrupt:
            raised += 1
        finally:
            raising.left = 0
        return call()

    for values in expected:
        same(model.call(attempt), values)
    assert len(model.step.programs) == 1
    assert raised


@pytest.mark.parametrize("name", PLACES)
def test_a_recording_that_raises_is_made_or_changes_nothing(gpu, monkeypatch, expected, name):
    raising = raising_in(gpu, monkeypatch, name)
    for k in range(1, 100):
        raised, model = False, Model(gpu)

        def attempt(call, k=k, model=model):
            nonlocal raised
            raising.left = k
            try:
                return call()
            except KeyboardInterrupt:
                raised = True
            finally:
                raising.left = 0
            if np.array_equal(model.w.numpy(), expected[0][4]):  # its commands were submitted before
                return map(fb.tensor, expected[0][2:4])
            return call()

        same(model.call(attempt), expected[0])
        same(model.call(), expected[1])
        if not raised:
            break
    assert k > 1 and not raised


def test_a_replay_of_several_submits_fails_before_the_first(gpu, monkeypatch):
    """A bind group that can't be made belongs to the last."""
    with planned_for(gpu, True, pace=(3e4, 3e4)):
        w = fb.tensor(np.ones((60, 60), "f4"), device=gpu).realize()
        xs = [fb.full((60, 60), 0.5 + i, device=gpu).realize() for i in range(4)]

        @fb.jit
        def step(x):
            w.assign_(w + 1)
            return (w @ x).exp().sum(1)

        step(xs[0]), step(xs[0])
        ((program,),) = step.programs.values()
        assert len(program.submits) > 1
        raising, raised = Raising(monkeypatch, gpu, "bind", KeyboardInterrupt), 0
        for x, k in [(x, k) for x in xs for k in (1, 2, 1)]:
            before, raising.left = w.tolist(), k
            try:
                step(x)
            except KeyboardInterrupt:
                raised += 1
                assert w.tolist() == before
            raising.left = 0
    assert raised > 1
