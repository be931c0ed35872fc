"""Budgets of memory: what fits is computed again where it must be, and what does not fit says what would."""

import gc

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.autodiff.budget import bytes_of

WIDTH, ROWS, DEPTH = 64, 512, 12
VALUE = WIDTH * ROWS * 4  # bytes of an activation


def network(seed=0):
    fb.manual_seed(seed)
    layers = [m for _ in range(DEPTH) for m in (nn.Linear(WIDTH, WIDTH), nn.Tanh())]
    model, x = nn.Sequential(*layers), fb.rand(ROWS, WIDTH)
    fb.realize(x, *model.parameters())
    return model, x


def gradients(model, x):
    grads = model(x).square().mean().backward()
    found = [grads[p] for p in model.parameters()]
    fb.realize(*found)
    return [g.numpy() for g in found]


def peak_of(gpu, f, *args):
    gc.collect()  # what earlier tests left in circles would be given back on the way
    gpu.pool.trim()
    gpu.pool.peak = before = gpu.pool.live
    out = f(*args)
    return gpu.pool.peak - before, out


@pytest.mark.parametrize(("size", "number"), [("4GB", 4 << 30), ("1.5 MiB", 3 << 19), ("7k", 7168), (99, 99)])
def test_sizes_are_read(size, number):
    assert bytes_of(size) == number


@pytest.mark.parametrize("size", ["much", "0", -1, "4 GX", 0])
def test_other_sizes_are_refused(size):
    with pytest.raises(ValueError) as caught:
        fb.memory_budget(size)
    told = f"memory_budget({size!r}): is not a size: pass '4GB', '512MB' or a number of bytes"
    assert str(caught.value) == told


@pytest.mark.share(5)
@pytest.mark.usefixtures("collected")
def test_a_backward_pass_is_made_to_fit(gpu):
    model, x = network()
    needed, plain = peak_of(gpu, gradients, model, x)
    assert needed > DEPTH * VALUE
    for share in (0.8, 0.65):
        with fb.memory_budget(gpu.pool.live + int(needed * share)):
            less, found = peak_of(gpu, gradients, model, x)
        assert less <= needed * share
        for a, b in zip(plain, found, strict=True):
            assert np.allclose(a, b, rtol=1e-5, atol=1e-7)
    assert peak_of(gpu, gradients, model, x)[0] == needed  # the budget ended with its block


@pytest.mark.share(5)
@pytest.mark.usefixtures("collected")
def test_a_recorded_step_is_made_to_fit(gpu):
    def trained(budget):
        model, x = network()
        opt = optim.AdamW(model.parameters(), lr=0.01)

        @fb.jit
        def step(x):
            loss = model(x).square().mean()
            opt.step(loss.backward())
            return loss

        gpu.pool.trim()
        before = fb.memory(gpu)["reserved"]
        with fb.memory_budget(budget and before + budget):
            losses = [step(x).item() for _ in range(4)]
        return fb.memory(gpu)["reserved"] - before, losses

    plenty, plain = trained(None)
    scarce, found = trained(int(0.65 * plenty))
    assert scarce <= 0.65 * plenty and np.allclose(plain, found, rtol=1e-5)


@pytest.mark.usefixtures("collected")
def test_what_does_not_fit_says_what_would(gpu):
    x = fb.rand(1000, 64, device=gpu).realize()
    gpu.pool.trim()
    live = fb.memory(gpu)["live"]
    with fb.memory_budget(live + 150_000), pytest.raises(fb.OutOfMemory) as caught:
        (x.cumsum(0) @ fb.eye(64, device=gpu)).realize()
    told = f"beside the {live:,} in use, but a budget of {live + 150_000:,} leaves 150,000: use about "
    assert told in str(caught.value) and str(caught.value).endswith("% of this batch")
    assert isinstance(caught.value, fb.DeviceError)
    del caught  # its traceback holds what was to be computed
    assert fb.memory(gpu)["live"] == live
    assert x.sum().item() > 0


@pytest.mark.usefixtures("collected")
def test_a_step_that_can_not_be_made_to_fit(gpu):
    model, x = network()
    gc.collect()  # what other tests left makes no room
    with fb.memory_budget(gpu.pool.live + VALUE), pytest.raises(fb.OutOfMemory):
        gradients(model, x)
    assert all(np.isfinite(g).all() for g in gradients(model, x))


@pytest.mark.parametrize("record", [False, True])
def test_a_device_that_has_no_more_leaves_the_process_usable(gpu, monkeypatch, record):
    x = fb.rand(256, 256, device=gpu).realize()

    def chain(x):
        parts = [x @ x * i for i in range(8)]
        return sum(p.cumsum(0).cumsum(1) for p in parts)

    call = fb.jit(chain) if record else chain
    gpu.pool.trim()
    given, alloc = [], gpu.alloc

    def small(size, asked, *usage):
        given.append(size if size > 10_000 else 0)
        if sum(given) > 1_200_000 and size > 10_000:
            rule = f"alloc({asked:,} bytes): {gpu.name} is out of memory, 1 in use (Not enough)"
            raise fb.OutOfMemory(rule, reason="Not enough")
        return alloc(size, asked, *usage)

    monkeypatch.setattr(gpu, "alloc", small)
    gc.collect()  # what other tests left is none of this one's
    live = fb.memory(gpu)["live"]
    with pytest.raises(fb.OutOfMemory) as caught:
        call(x).realize()
    text = str(caught.value)
    assert f"but {gpu.name} allocated " in text and "(Not enough): use about " in text
    del caught
    assert fb.memory(gpu)["live"] == live
    assert (x * 0).sum().item() == 0
    monkeypatch.undo()
    assert call(x).realize().shape == (256, 256)


def test_the_cpu_device_has_no_budget():
    with pytest.raises(ValueError) as caught:
        fb.memory_budget("1GB", device="cpu")
    assert str(caught.value) == "memory_budget('1GB'): cpu has no separate memory: use a GPU"
