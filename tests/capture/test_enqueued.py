"""Calls of one small kernel wait for a common submit: whatever could see that gives the values of calls that
run at once."""

import gc
import threading
from collections import deque

import numpy as np
import pytest

import flambeau as fb
from flambeau.capture import program
from flambeau.device import c_path


@pytest.fixture
def gpu(gpu, monkeypatch):
    """The GPU, where enqueued commands wait as long as they may."""
    monkeypatch.setattr(c_path, "SOON", 1e9)
    monkeypatch.setattr(c_path, "WAITING", 1000)
    monkeypatch.setattr(c_path, "ENOUGH", 1e9)
    yield gpu
    fb.synchronize(gpu)


@pytest.fixture
def step(gpu):
    """2 x + 1, recorded and warm, and a tensor on the GPU."""
    step = fb.jit(lambda x: x * 2 + 1, check="never")
    x = fb.tensor(np.arange(6, dtype="f"), device=gpu).realize()
    kept = [step(x) for _ in range(12)]  # each buffer comes again after that
    del kept
    for _ in range(12):
        step(x)
    fb.synchronize(gpu)
    return step, x


def waiting(gpu):
    """How many calls wait for a submit."""
    return gpu._fast._calls


def test_calls_wait_and_a_read_sends_all(gpu, step):
    step, x = step
    y = x
    for i in range(5):
        y = step(y)
        assert waiting(gpu) == i + 1
    assert y.tolist() == [32 * v + 31 for v in range(6)]
    assert waiting(gpu) == 0


def test_outputs_that_are_kept_keep_their_values(gpu, step):
    step, x = step
    outputs = [x]
    for _ in range(20):
        outputs.append(step(outputs[-1] * 0 + len(outputs)) if len(outputs) % 3 == 0 else step(x))
    for i, y in enumerate(outputs[1:], 1):
        assert y.tolist() == ([2 * i + 1.0] * 6 if i % 3 == 0 else [2 * v + 1 for v in range(6)])


def test_a_loop_that_keeps_its_last_outputs_copies_none_and_binds_nothing_new(gpu, step, monkeypatch):
    step, x = step
    window: deque[fb.Tensor] = deque(maxlen=40)
    for _ in range(130):
        window.append(step(x))
    groups, parts = len(gpu._groups), []
    enqueue = gpu._fast.enqueue
    monkeypatch.setattr(gpu._fast, "enqueue", lambda *a: (parts.extend(a[1:]), enqueue(*a)))
    for i in range(60):
        window.append(step(x))
        if i % 7 == 0:
            assert all(y.tolist() == [2 * v + 1 for v in range(6)] for y in list(window)[::13])
    assert len(gpu._groups) == groups
    assert {len(s) for part in parts for s in part.steps} == {6}  # dispatches, no copies


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.assign_(x * 0 + 5),
        lambda x: x.add_(1),
        lambda x: x.__setitem__(0, 7.0),
        lambda x: x.copy_(fb.tensor([3.0] * 6, device=x.device)),
        lambda x: x.fill_(4.0).realize(),
    ],
)
def test_an_argument_that_changes_between_calls(gpu, step, change):
    step, x = step
    expected, outputs = [], []
    for _ in range(4):
        expected.append([2 * v + 1 for v in x.tolist()])
        outputs.append(step(x))
        outputs.append(step(outputs[-1]))
        change(x)
    for e, y, z in zip(expected, outputs[::2], outputs[1::2], strict=True):
        assert y.tolist() == e and z.tolist() == [2 * v + 1 for v in e]


def test_memory_that_is_freed_and_used_again(gpu, step):
    step, x = step
    y = step(x)
    for i in range(40):
        z = step(y)  # in the buffer that the value before the last had
        y = step(x) if i % 5 == 0 else z
        del z
    last = [2 * v + 1 for v in range(6)]
    for _ in range(4):  # calls since i == 35
        last = [2 * v + 1 for v in last]
    assert y.tolist() == last


def test_buffers_that_are_given_back_to_the_driver(gpu, step):
    step, _ = step
    other = fb.tensor(np.ones(6, "f"), device=gpu).realize()
    y = step(step(other))
    assert waiting(gpu) == 2
    del other
    gc.collect()
    gpu.pool.trim()  # destroys buffers that the commands name
    assert waiting(gpu) == 0 and y.tolist() == [7.0] * 6


def test_data_from_the_host_comes_after_calls_that_wait(gpu, step):
    step, x = step
    y = step(x)
    buffer = x.node.buffer
    gpu.write(buffer.handle, np.full(6, 9, "f").tobytes())
    assert y.tolist() == [2 * v + 1 for v in range(6)]
    assert step(x).tolist() == [19.0] * 6


def test_other_runs_come_after_calls_that_wait(gpu, step):
    step, x = step
    for v in (3.0, 4.0, 5.0):  # later runs write no Params
        y = fb.full((6,), v, device=gpu).realize()
        total = step(y).sum() + step(step(y)).sum()  # not recorded
        assert total.item() == 6 * (2 * v + 1 + 4 * v + 3)
    other = fb.jit(lambda v: (v @ v).relu() @ v)  # more than a light program
    big = fb.eye(8, device=gpu)
    assert other(step(step(big))).shape == (8, 8)
    with fb.profile() as p:
        y = step(x)
    assert any(k.work.name == "mul+add" for k in p.kernels) and y.tolist() == [2 * v + 1 for v in range(6)]


def test_threads_that_call_and_read(gpu, step):
    step, _ = step
    wrong = []

    def work(seed):
        start = fb.tensor(np.full(6, seed, "f"), device=gpu)
        for n in range(15):
            y = start
            for _ in range(n % 4 + 1):
                y = step(y)
            k = 2 ** (n % 4 + 1)
            if n % 2 and y.tolist() != [k * seed + k - 1.0] * 6:
                wrong.append((seed, n, y.tolist()))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


class Interrupted(Exception):
    """What a signal's handler raises."""


def refuse(*_):
    raise Interrupted


@pytest.mark.parametrize(
    "step_of_submit, refused",
    [
        ("finish_encoder", refuse),
        ("submission", refuse),
        ("submission", lambda _: map(refuse, [0])),  # when it is consumed
    ],
)
def test_an_exception_while_commands_are_sent_loses_none(gpu, step, monkeypatch, step_of_submit, refused):
    step, x = step
    y = step(step(x))
    with monkeypatch.context() as patch:
        patch.setattr(gpu._fast, step_of_submit, refused)
        with pytest.raises(Interrupted):
            y.tolist()
    assert gpu._fast._waiting
    assert y.tolist() == [4 * v + 3 for v in range(6)]


def test_commands_that_a_handler_sent_meanwhile_are_not_sent_again(gpu, step, monkeypatch):
    step, x = step
    y = step(step(x))
    path, finish = gpu._fast, gpu._fast.finish_encoder
    inside = []

    def handled(*arguments):
        command = finish(*arguments)
        if not inside:  # a handler that reads, and then uses the memory for another value
            inside.append(True)
            inside.append(y.tolist())
        return command

    sends = []
    sent = path.sent
    monkeypatch.setattr(path, "sent", lambda *a: (sends.append(True), sent(*a))[1])
    monkeypatch.setattr(path, "finish_encoder", handled)
    assert y.tolist() == inside[1] == [4 * v + 3 for v in range(6)]
    assert len(sends) == 3  # the commands once, and the copies of two reads


def test_a_program_with_state_or_much_work_does_not_wait(gpu, monkeypatch):
    count = fb.tensor([0.0], device=gpu)
    step = fb.jit(lambda x: count.add_(1) + x)
    x = fb.tensor([1.0], device=gpu)
    for _ in range(6):
        y = step(x)
    assert waiting(gpu) == 0 and y.item() == count.item() + 1
    monkeypatch.setattr(program, "LIGHT_SECONDS", program.START + 1e-6)
    large = fb.jit(lambda v: v + 1)
    z = fb.zeros(1 << 20, device=gpu).realize()  # 2 us for the bytes
    for _ in range(6):
        z = large(z)
    assert waiting(gpu) == 0 and z[0].item() == 6


def test_at_most_so_many_wait(gpu, step, monkeypatch):
    monkeypatch.setattr(c_path, "WAITING", 3)
    step, x = step
    counts = []
    for _ in range(7):
        step(x)
        counts.append(waiting(gpu))
    assert counts == [1, 2, 0, 1, 2, 0, 1]


def test_calls_that_are_enough_work_for_a_submit_wait_no_longer(gpu, step, monkeypatch):
    """The fourth call of 2 us and some bytes is more than 7 us."""
    monkeypatch.setattr(c_path, "ENOUGH", 3.5 * program.START)
    step, x = step
    counts = []
    for _ in range(8):
        step(x)
        counts.append(waiting(gpu))
    assert counts == [1, 2, 3, 0, 1, 2, 3, 0]


def test_a_program_of_several_kernels_waits_and_keeps_its_order(gpu):
    """Pipelines and bind groups that recur in a pass are set once; others are set in between, and copies end
    the pass."""
    chain = fb.jit(lambda v: ((v @ v).relu() @ v).softmax(-1) + v.sum(), check="never")
    short = fb.jit(lambda v: v * 0.5 + 1, check="never")
    v = fb.tensor(np.eye(8, dtype="f") + 0.1, device=gpu)
    expected, y = v.numpy(), v
    for _ in range(8):
        y = chain(short(short(y)))
        w = (expected * 0.5 + 1) * 0.5 + 1
        z = np.maximum(w @ w, 0) @ w
        e = np.exp(z - z.max(-1, keepdims=True))
        expected = e / e.sum(-1, keepdims=True) + w.sum()
    assert waiting(gpu) > 12
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4)


def test_a_call_after_a_pause_is_submitted_at_once(gpu, step, monkeypatch):
    monkeypatch.setattr(c_path, "SOON", 0.0)
    step, x = step
    step(x)
    assert waiting(gpu) == 0
