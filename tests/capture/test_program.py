"""Recorded calls: replayed with new inputs, moving state on, and never silently out of date."""

import gc

import numpy as np

import flambeau as fb
from flambeau.core.source_lines import shown_path
from flambeau.runtime.pipeline import counters


def numbers(*values):
    return fb.tensor(list(values))


def test_a_replay_runs_on_new_inputs_and_plans_nothing():
    double = fb.jit(lambda x: (x * 2).sum())
    assert double(numbers(1.0, 2.0)).item() == 6
    before = counters.plans, counters.renders
    assert [double(numbers(float(i), 1.0)).item() for i in range(3)] == [2, 4, 6]
    assert (counters.plans, counters.renders) == before


def test_results_are_kept_apart():
    step = fb.jit(lambda x: x + 1)
    a, b = step(numbers(1.0)), step(numbers(10.0))
    assert (a.item(), b.item()) == (2, 11)


def test_each_shape_has_a_recording():
    total = fb.jit(lambda x: x.sum())
    assert [total(numbers(*[1.0] * n)).item() for n in (2, 3, 2, 3)] == [2, 3, 2, 3]
    assert len(total.programs) == 2


def stepping():
    """w moves down the slope of sum(w * x + c)."""
    w, c, lr = fb.tensor([1.0, 2.0], requires_grad=True), numbers(10.0, 10.0), fb.HostScalar(0.5)

    @fb.jit
    def step(x):
        loss = (w * x + c).sum()
        grads = loss.backward()
        with fb.no_grad():
            w.assign_(w - grads[w] * lr)
        fb.realize(loss)
        return loss

    return w, c, lr, step


def test_state_moves_on_at_every_replay():
    w, _, _, step = stepping()
    x = numbers(1.0, 1.0)
    assert [step(x).item() for _ in range(3)] == [23, 22, 21]
    assert w.tolist() == [-0.5, 0.5]


def test_a_host_scalar_reaches_a_recorded_step():
    w, _, lr, step = stepping()
    step(numbers(1.0, 1.0))
    lr.value = 0.0
    step(numbers(1.0, 1.0))
    assert w.tolist() == [0.5, 1.5]


def test_a_snapshot_keeps_its_value():
    w, _, _, step = stepping()
    x = numbers(1.0, 1.0)
    step(x), step(x)
    copy, lazy, cloned, detached = fb.tensor(w), w * 2, w.clone(), w.detach()
    step(x)
    assert (copy.tolist(), lazy.tolist(), cloned.tolist()) == ([0, 1], [0, 2], [0, 1])
    assert detached.tolist() == w.tolist() == [-0.5, 0.5]  # it shows what w is


def test_what_is_made_of_a_value_that_was_assigned_over_keeps_it():
    w, _, _, step = stepping()
    x = numbers(1.0, 1.0)
    step(x), step(x)
    lazy = w * 2
    w.assign_([5.0, 5.0])
    step(x)
    assert (lazy.tolist(), w.tolist()) == ([0, 2], [4.5, 4.5])


def test_values_assigned_from_outside_are_seen():
    w, c, _, step = stepping()
    x = numbers(1.0, 1.0)
    step(x)
    w.assign_([0.0, 0.0])
    assert step(x).item() == 20
    c.assign_([0.0, 0.0])
    assert step(x).item() == -1


def test_what_was_made_before_the_call_is_not_made_again():
    noise = fb.rand(4)  # lazy: its numbers are drawn once, in the first call
    call = fb.jit(lambda x: x + noise)
    assert np.array_equal(call(fb.zeros(4)).numpy(), call(fb.zeros(4)).numpy())


def test_random_numbers_move_on_as_they_do_without_recording():
    x = fb.zeros(5)

    def draws():
        return x + fb.rand(5), fb.rand(3)

    recorded = fb.jit(draws)
    fb.manual_seed(3)
    ours = [[t.tolist() for t in recorded()] for _ in range(3)]
    fb.manual_seed(3)
    plain = [[t.tolist() for t in draws()] for _ in range(3)]
    assert ours == plain
    assert ours[0] != ours[1]


def test_two_runs_in_one_call_make_one_program():
    @fb.jit
    def call(x):
        y = (x + 1).realize()
        return (y * 3).sum()

    assert [call(numbers(float(i))).item() for i in range(3)] == [3, 6, 9]


def test_a_function_that_reads_runs_unrecorded_and_says_so(capsys):
    runs = []
    numbers(0.0).realize()  # a device says what it is when it opens
    capsys.readouterr()

    @fb.jit
    def call(x):
        runs.append(1)
        return x * 2 if x.sum().item() > 0 else -x

    line = f"{shown_path(__file__)}:{call.__wrapped__.__code__.co_firstlineno + 3}"
    assert [call(numbers(v)).item() for v in (1.0, -1.0, 2.0)] == [2, 1, 4]
    told = "flambeau: jit(call): runs unrecorded: it reads values: return the tensor and read it outside"
    told += f" ({line})\n"
    assert (capsys.readouterr().err, len(runs), call.programs) == (told, 3, {})
    assert fb.jit(lambda x: x + 1)(numbers(1.0)).item() == 2  # recording ended cleanly


def test_the_cpu_device_runs_the_function():
    call = fb.jit(lambda x: x + 1)
    assert call(fb.tensor([1.0], device="cpu")).tolist() == [2.0]
    assert not call.programs


def test_a_dropped_recording_gives_its_memory_back(gpu):
    def reserved():
        return fb.memory(gpu)["reserved"]

    gc.collect()  # recordings of other tests
    x = fb.ones(1000, device=gpu).realize()
    fb.jit(lambda v: (v + 1).sum())(x)  # what the results are copied to stays in the device's pool
    gc.collect()
    before = reserved()
    call = fb.jit(lambda v: (v.exp() @ v).sum())
    assert call(x).item() > 0 and reserved() > before
    del call
    gc.collect()
    assert reserved() == before
