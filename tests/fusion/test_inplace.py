"""Kernels that write over what they read last: which ones, and that nobody misses what was there."""

import numpy as np
import pytest
from helpers.kernels import planned_for
from helpers.plans import kernels_of, leaf, the_kernel_of

import flambeau as fb
from flambeau import nn, optim


def overwritten(*roots, dying=()):
    """How many values the kernels of a recorded step write over."""
    return sum(k.over for k in kernels_of(*roots, dying=dying))


def test_the_last_reader_writes_over_what_dies():
    x, y = leaf(8, 12), leaf(8, 12)
    assert overwritten(x * 2 + y, dying=[x]) == 1
    assert overwritten(x * 2 + y) == 0
    k = the_kernel_of(x * 2 + y, dying=[x])
    assert k.over == 1 and k.reads == 1  # it reads y, and x where it writes
    assert k.writes == 1 and k.shape == (8, 12) and k.width == 4


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.T.exp(),  # another order
        lambda x: x.flip(0).exp(),
        lambda x: x[:4].exp(),  # fewer elements
        lambda x: x.roll(1, 0) + x,  # read twice
        lambda x: x.sum(1, keepdim=True) + x.half().float()[:, :1],
        lambda x: (x > 0.5).int().to(fb.uint8),  # another size
        lambda x: x @ x.T,  # no map
    ],
)
def test_what_must_not_be_written_over(make):
    x = leaf(8, 8)
    assert overwritten(make(x), dying=[x]) == 0


def test_only_the_last_of_several_readers():
    x = leaf(6, 6)
    *others, _ = kernels_of(x.exp(), x.sum(), x.sin(), dying=[x])
    assert not any(k.over for k in others)


def test_results_are_never_written_over():
    x = leaf(4, 4)
    y = x.cumsum(0)
    assert overwritten(y, y.exp()) == 0
    assert overwritten(y.exp()) == 1  # nobody asks for y itself


@pytest.mark.parametrize("n", [1, 3, 4, 5, 63, 64, 1001])
@pytest.mark.parametrize("dtype", [fb.float32, fb.float16, fb.int8, fb.bool])
def test_values_are_those_of_kernels_apart(gpu, n, dtype):
    rng = np.random.default_rng(n)
    x = rng.integers(0, 2, n) if dtype is fb.bool else rng.integers(-9, 9, n)
    state = fb.tensor(x, dtype=dtype, device=gpu)

    @fb.jit
    def step(y):
        state.assign_(state.logical_xor(y > 0) if dtype is fb.bool else (state + y.to(dtype)))

    total = x.astype(bool) if dtype is fb.bool else x
    for _ in range(3):
        y = rng.integers(-3, 4, n).astype("i4")
        step(fb.tensor(y, device=gpu))
        total = total ^ (y > 0) if dtype is fb.bool else total + y
        assert np.array_equal(state.numpy().astype(int), total.astype(int))
    (program,) = next(iter(step.programs.values()))
    alone = n == 1 and dtype in (fb.float16, fb.int8)  # a word holds several: read one by one, written whole
    assert len(program.carry) == 4 * alone


def trained(record, steps=4, **kw):
    fb.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    opt = optim.AdamW(model.parameters(), lr=0.01, **kw)

    def step(x, y):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.step(loss.backward())
        return loss

    call = fb.jit(step) if record else step
    x, y = fb.rand(16, 6), fb.arange(16) % 3
    losses = [call(x, y).item() for _ in range(steps)]
    return model, opt, losses, call


def test_a_recorded_step_moves_parameters_and_state_in_place():
    model, opt, losses, call = trained(True, amsgrad=True)
    plain, other, expected, _ = trained(False, amsgrad=True)
    assert losses == expected
    ours, theirs = (optim.flat_state(o.state_dict()) for o in (opt, other))
    assert list(ours) == list(theirs)
    for a, b in zip(ours.values(), theirs.values(), strict=True):
        assert np.array_equal(a.numpy(), b.numpy())
    for a, b in zip(model.parameters(), plain.parameters(), strict=True):
        assert np.array_equal(a.numpy(), b.numpy())
    (program,) = next(iter(call.programs.values()))
    assert len(program.states) >= 6 * 4 + 1
    assert program.carry[3::4] == [8]  # a norm's count of batches alone: two words are not added in place


@pytest.mark.usefixtures("collected")
def test_no_step_holds_old_and_new_values_at_once(gpu):
    fb.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(4)))
    opt = optim.AdamW(model.parameters())
    size = sum(p.nbytes for p in model.parameters())

    @fb.jit
    def step(x):
        opt.step(model(x).square().mean().backward())

    x = fb.rand(4, 256).realize()
    before = fb.memory(gpu)["live"]
    gpu.pool.peak = gpu.pool.live
    step(x)
    step(x)
    assert gpu.pool.peak - before < 0.4 * size  # one layer's gradient; parameters and state were there before


def test_whoever_holds_an_old_value_keeps_it():
    w = fb.tensor([1.0, 2.0], requires_grad=True)

    @fb.jit
    def step(x):
        old = w.detach().clone()
        w.assign_(w.detach() + x)
        return old, w - old

    lazy = w * 10  # made of the value before the first step
    old, moved = step(fb.tensor([1.0, 1.0]))
    assert (old.tolist(), moved.tolist(), lazy.tolist()) == ([1, 2], [1, 1], [10, 20])
    lazy = w * 10
    old, moved = step(fb.tensor([2.0, 2.0]))
    assert (old.tolist(), moved.tolist(), lazy.tolist(), w.tolist()) == ([2, 3], [2, 2], [20, 30], [4, 5])


def test_two_tensors_of_one_value_part():
    a = fb.tensor([1.0]) * 1
    b = a.clone().reshape(1, 1)  # no view of it, in the same buffer
    fb.realize(a, b)

    @fb.jit
    def step(x):
        a.assign_(a + x)

    for _ in range(2):
        step(fb.tensor([1.0]))
    assert (a.tolist(), b.tolist()) == ([3.0], [[1.0]])


def test_empty_values_are_planned_in_place(gpu):
    """A map of no elements has a dim of size 0 among those that its first is divided by."""
    with planned_for(gpu, software=True):
        x = fb.zeros(9, 8, 0, device=gpu).realize().detach().requires_grad_()
        sums, product = x.sum(2), x.transpose(-1, -2) @ x
        loss = ((sums - 0.25) * sums).sum() + ((product - 0.25) * product).sum()
        assert loss.backward()[x].numpy().shape == (9, 8, 0)
