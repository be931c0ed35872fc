"""What a signal's handler does, or raises, at any step of a run: values are right, no memory is lost."""

import sys
from contextlib import suppress

import numpy as np
import pytest
from helpers.stepping import steps

import flambeau as fb
from flambeau.device import native


@pytest.fixture
def device(gpu):
    """The adapter opened again: no other test's memory is in its pool."""
    return native.NativeDevice(gpu.adapter)


class Run:
    """A plan of several kernels whose buffers are used again, with a number that changes from run to run."""

    def __init__(self, device):
        self.device, self.count = device, 0
        self.x = fb.tensor(np.arange(64, dtype="f4").reshape(8, 8), device=device).realize()
        self.start()

    def start(self):
        """Make the graph of another run; what it computes."""
        self.count += 1
        number = self.count + 0.5
        a = (self.x * number).cumsum(0)
        self.y = (a.cumsum(1) + 1).cumsum(0)
        x = np.arange(64, dtype="f4").reshape(8, 8)
        self.expected = ((x * number).cumsum(0).cumsum(1) + 1).cumsum(0)
        return self.y, self.expected


def state(device):
    """What of the device's memory is in use, and how much there is."""
    live, _ = device.pool.live, device.pool.trim()
    handles = [h for kept in device.pool.free.values() for h in kept]
    assert not handles
    return live, device.pool.reserved, len(device._buffers)


@pytest.mark.share(5)
def test_a_run_inside_of_any_step_of_a_run_of_the_same_plan(device):
    run = Run(device)
    run.y.realize()
    inner = []

    def handle():
        y, expected = run.start()
        y.realize()
        inner.append((y, expected))
        inner.append((fb.tensor(expected, device=device), expected))

    at, more = 0, True
    while more:
        y, expected = run.start()
        at += 1
        _, more = steps(y.realize, handle, at)
        np.testing.assert_array_equal(y.numpy(), expected, str(at))
        for z, right in inner:
            np.testing.assert_array_equal(z.numpy(), right, str(at))
        inner.clear()
    assert at > 50


@pytest.mark.share(5)
def test_an_exception_at_any_step_of_a_run_loses_no_memory(device, monkeypatch):
    # wgpu's objects raise in __del__ where their __init__ did; pytest's hook would keep the frames alive
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    run = Run(device)
    run.y.realize()
    run.y = None
    before = state(device)

    def interrupt():
        raise KeyboardInterrupt

    at, more = 0, True
    while more:
        at, (y, expected) = at + 1, run.start()
        with suppress(KeyboardInterrupt):
            _, more = steps(y.realize, interrupt, at)
        np.testing.assert_array_equal(y.numpy(), expected, str(at))
        run.y = y = None
        assert state(device) == before, at
    assert at > 50


@pytest.mark.share(5)
def test_a_replay_inside_of_any_step_of_a_replay(device):
    """As in a function that is not recorded, one of two assignments may be lost; no value is mixed up."""
    w = fb.zeros(8, device=device).realize()

    @fb.jit
    def step(x):
        noise = fb.rand(8, device=device)
        w.assign_(w + x)
        return (x * 2).cumsum(0), noise

    def argument(number):
        return fb.full((8,), number, device=device).realize()

    for _ in range(4):
        step(argument(1.0))
    inner = []
    at, more = 0, True
    while more:
        at += 1
        before, one, two = w.tolist()[0], argument(1.0), argument(2.0)
        first, second = (lambda n=n, x=x: inner.append((n, *step(x))) for n, x in ((1, one), (2, two)))
        _, more = steps(first, second, at)
        assert w.tolist() in [[before + n] * 8 for n in (1, 2, 3)], at
        for number, sums, _ in inner:
            assert sums.tolist() == [2.0 * number * (i + 1) for i in range(8)], at
        draws = [tuple(noise.tolist()) for _, _, noise in inner]
        assert len(set(draws)) == len(draws), at
        inner.clear()
        w.assign_(fb.zeros(8, device=device))
    assert at > 50
