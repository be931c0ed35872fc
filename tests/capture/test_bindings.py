"""Recorded calls read arguments and write results where the caller has them: nobody sees another's values."""

import gc
import random

import numpy as np
import pytest

import flambeau as fb
from flambeau.capture import bindings
from flambeau.core.commands import Copy, decode
from flambeau.profiling.meter import capture

N = 64


@pytest.fixture(params=[0, 1 << 62], ids=["bound", "copied at first"])
def large(request, monkeypatch):
    """Everything counts as large; nothing does: then a buffer is bound from the second time on."""
    monkeypatch.setattr(bindings, "LARGE", request.param)


def filled(value: float, device=None):
    return fb.full((N,), value, device=device).realize()


def first(t) -> float:
    values = t.numpy()
    assert (values == values[0]).all()
    return float(values[0])


def copies(call) -> int:
    _, found = capture(call)
    return sum(isinstance(c, Copy) for c in decode(found.words))


def test_large_arguments_and_results_are_not_copied(monkeypatch):
    monkeypatch.setattr(bindings, "LARGE", 0)
    f, x, y = fb.jit(lambda x, y: (x * y, x + y)), filled(2.0), filled(3.0)
    assert [first(t) for t in f(x, y)] == [6, 5]
    assert copies(lambda: f(y, x)) == 0


def test_small_ones_are_bound_when_they_come_again():
    f, x = fb.jit(lambda x: x + 1), filled(1.0)
    kept = [f(x)]  # an argument's and a result's first time: both are copied
    assert copies(lambda: f(x)) == 1  # into a second buffer, since the first result is kept
    assert copies(lambda: f(x)) == 0
    assert first(kept[0]) == 2


@pytest.mark.usefixtures("collected")
def test_a_large_step_takes_no_memory_for_them(gpu, monkeypatch):
    monkeypatch.setattr(bindings, "LARGE", 0)
    f, x = fb.jit(lambda x: (x * 2).exp()), fb.zeros(1 << 16).realize()
    gc.collect()  # what other tests left in circles
    before = gpu.pool.live
    y = f(x)
    assert gpu.pool.live - before == y.nbytes


@pytest.mark.usefixtures("large")
def test_one_tensor_may_be_two_arguments():
    f, x, y = fb.jit(lambda x, y: x * 10 + y), filled(1.0), filled(2.0)
    for a, b in ((x, x), (x, y), (y, x), (y, y), (x, x)):
        assert first(f(a, b)) == 10 * first(a) + first(b)


@pytest.mark.usefixtures("large")
def test_an_argument_that_is_the_state_is_read_as_it_is_then():
    total = filled(1.0)

    @fb.jit
    def add(x):
        total.assign_(total + 1)
        return x * 100 + total

    other = filled(5.0)
    for now, given in enumerate((total, other, total, other, other, total, other), 2):
        assert first(add(given)) == (now if given is total else 5) * 100 + now  # read after the assignment
        assert first(total) == now


@pytest.mark.usefixtures("large")
def test_an_argument_becomes_the_state():
    last = filled(0.0)

    @fb.jit
    def shift(x):
        before = last + 0
        last.assign_(x)
        return before

    given = [filled(float(i)) for i in range(1, 5)]
    assert [first(shift(x)) for x in (*given, *given)] == [0, 1, 2, 3, 4, 1, 2, 3]
    given[-1].assign_(given[-1] * 10)
    fb.realize(given[-1])
    assert first(last) == 4
    assert first(shift(last)) == 4 and first(last) == 4


@pytest.mark.usefixtures("large")
def test_a_state_becomes_the_result():
    total = filled(0.0)

    @fb.jit
    def add(x):
        total.assign_(total + x)
        return total

    found = [add(filled(1.0)) for _ in range(4)]
    assert [first(t) for t in found] == [1, 2, 3, 4] and first(total) == 4


@pytest.mark.usefixtures("large")
def test_writing_to_an_argument_afterwards_changes_no_result():
    f, x, found = fb.jit(lambda x: (x + 1, x)), filled(0.0), []
    for i in range(5):
        found.append(f(x))
        x.assign_(x + 1)
        x[0] = float(i + 1)
    assert [(first(a), first(b)) for a, b in found] == [(i + 1, i) for i in range(5)]


@pytest.mark.usefixtures("large")
def test_a_result_is_the_next_argument():
    f, x = fb.jit(lambda x: (x * 2, x + 0)), filled(1.0)
    kept = []
    for _ in range(6):
        x, same = f(x)
        kept.append(same)
    assert first(x) == 64 and [first(t) for t in kept] == [1, 2, 4, 8, 16, 32]


@pytest.mark.usefixtures("large")
def test_results_side_by_side():
    f, given = (
        fb.jit(lambda x: [(y := x + 1), x, y, y.detach(), x.detach()]),
        [filled(i * 1.0) for i in range(5)],
    )
    found = [f(x) for x in (*given, *given)]
    assert [[first(t) for t in row] for row in found] == [
        [i + 1, i, i + 1, i + 1, i] for i in [*range(5)] * 2
    ]
    row = found[0]
    row[0].assign_(row[0] * 0)
    fb.realize(row[0])
    assert [first(t) for t in row] == [0, 0, 1, 1, 0]


@pytest.mark.usefixtures("large")
def test_an_argument_assigned_to_inside(capsys):
    @fb.jit
    def f(x):
        x.assign_(x + 1)
        return x * 2

    x = filled(3.0)
    assert [(first(f(x)), first(x)) for _ in range(5)] == [(8, 4), (10, 5), (12, 6), (14, 7), (16, 8)]
    assert "jit(f): runs unrecorded: it assigns to a tensor argument" in capsys.readouterr().err


@pytest.mark.usefixtures("large")
def test_a_function_that_is_not_recorded_may_keep_its_argument():
    state, x = filled(0.0), filled(7.0)

    @fb.jit
    def keeps(x):
        state.assign_(x)
        return x.sum().item()

    @fb.jit
    def grow():
        state.assign_(state + 1)
        return state.sum()

    assert keeps(x) == 7 * N
    assert [grow().item() for _ in range(3)] == [8 * N, 9 * N, 10 * N]
    assert first(x) == 7


@pytest.mark.usefixtures("large")
def test_freed_buffers_leave_nothing_behind(gpu):
    f = fb.jit(lambda x: (x + 1).sum())
    for i in range(3):
        assert f(filled(i * 1.0)).item() == (i + 1) * N
        gpu.pool.trim()


def test_arguments_of_two_devices(capsys):
    f = fb.jit(lambda x, y: x + y.to(x.device))
    for _ in range(2):
        assert f(fb.ones(3), fb.ones(3, device="cpu")).tolist() == [2, 2, 2]
    assert (
        "runs unrecorded: it computes on several devices:"
        " record a function for each device" in capsys.readouterr().err
    )


@pytest.mark.parametrize("size", [0, 1 << 62])
def test_any_order_of_calls_gives_what_plain_calls_give(size, monkeypatch):
    monkeypatch.setattr(bindings, "LARGE", size)
    random = np.random.default_rng(size % 1000)

    def play(jit, device=None):
        state, tensors = filled(1.0, device), [filled(float(i), device) for i in range(6)]

        def step(x, y):
            old = state * 1
            state.assign_((state + x) % 101)
            z = (x * 3 + y) % 97
            return z, (z @ y + old) % 89, x * 1

        step, seen = jit(step), []
        for a, b, c, swap in choices:
            z, w, same = step(state if swap == 1 else tensors[a], state if swap == 2 else tensors[b])
            tensors[c], tensors[(c + a) % 6] = z, w
            seen.append(same)
            if c == 0:
                fb.realize(*tensors, *seen)
            if swap == 3:
                tensors[b].assign_(tensors[b] + 1)
            if swap == 4:
                state.assign_(tensors[a] * 2)
        return [t.numpy() for t in (*tensors, *seen, state)]

    choices = random.integers(0, 6, (36, 4)).tolist()
    # whole numbers, so NumPy's are the same; by kernels each chain of plain calls would be one to compile
    for ours, plain in zip(play(fb.jit), play(lambda f: f, "cpu"), strict=True):
        np.testing.assert_array_equal(ours, plain)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("kept", [1, 3, 16])
@pytest.mark.share(5)
def test_buffers_in_any_order_give_the_values_of_plain_calls(kept, monkeypatch):
    """Fillings that come once, again, often, and after they were dropped."""
    monkeypatch.setattr(bindings, "KEPT", kept)
    monkeypatch.setattr(bindings, "KEPT_SHORT", kept)
    total, count, draw = filled(0.0), 0.0, random.Random(5)

    @fb.jit
    def step(x, y):
        total.assign_(total + x)
        return ((x * 3).relu().sum() + y, x + y)

    given, held, olds = [filled(float(i)) for i in range(4)], [], []
    for _ in range(120):
        a, b = draw.choices(range(2 if draw.random() < 0.7 else 4), k=2)
        held.append((step(given[a], given[b]), 3.0 * N * a + b, a + b))
        count += a
        if draw.random() < 0.3:
            olds.append((count, total.clone()))
        for out, sums, both in held:
            assert (first(out[0]), first(out[1])) == (sums, both)
        del held[: draw.randrange(3)]
    assert first(total) == count and all(first(old) == then for then, old in olds)


def test_a_filling_that_comes_again_is_prepared_as_one():
    f, x = fb.jit(lambda x: (x @ x.mT).exp().sum(1)), fb.rand(8, 8).realize()
    for _ in range(6):
        f(x)
    [program] = next(iter(f.programs.values()))
    ready = program.submits[-1][1].ready
    assert [len(parts) for parts in ready.values() if parts] == [1] and len(ready) <= 3
    before = f(x).numpy()
    assert (f(x).numpy() == before).all()


@pytest.mark.parametrize("n", [4, 9, 64, 40_000])
@pytest.mark.parametrize("cut", [lambda y: y[:3], lambda y: y.reshape(-1)[0], lambda y: y[:1].expand(2)])
@pytest.mark.parametrize("first", [True, False])
def test_a_part_of_a_result_is_a_result_too(n, cut, first, gpu):
    """Both may lie in one buffer, which is as large as the whole is."""

    @fb.jit
    def step(x):
        y = x * 2
        return [cut(y), y, y.sum()] if first else [y, cut(y), y.sum()]

    for turn in range(5):
        x = np.arange(n, dtype="f4") % 100 + turn
        found = [t.numpy() for t in step(fb.tensor(x, device=gpu))]
        part, whole = found[:2] if first else found[1::-1]
        np.testing.assert_array_equal(whole, 2 * x)
        np.testing.assert_array_equal(part, cut(2 * x) if part.shape != (2,) else [2 * turn] * 2)
        assert found[2] == 2 * x.astype("f8").sum()


def test_a_part_alone_has_room_for_what_is_written(gpu):
    step = fb.jit(lambda x: (x.cumsum(0)[:3], (x * 3)[:2]))
    for turn in range(4):
        a, b = step(fb.tensor(np.arange(1000, dtype="f4") + turn, device=gpu))
        assert (a.tolist(), b.tolist()) == ([turn, 2 * turn + 1, 3 * turn + 3], [3 * turn, 3 * turn + 3])
