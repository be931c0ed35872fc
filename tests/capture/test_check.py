"""Calls that are checked: what no watch has seen is found at calls 2, 4, 8, and checking changes nothing."""

import gc
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.capture import jit
from flambeau.capture.guards import Watch
from flambeau.capture.observers import Listener


def numbers(*values):
    return fb.tensor(list(values))


@pytest.fixture
def blind(monkeypatch):
    """Watches that see no change: whatever is found, a check has found."""
    monkeypatch.setattr(Watch, "changed", lambda self: None)
    numbers(0.0).realize()  # a device says what it is when it opens


@pytest.fixture
def at_any_cost(monkeypatch):
    """Checks at the calls that are due, however short the program has run."""
    monkeypatch.setattr(jit, "CHECKS_SHARE", float("inf"))


K = 1.0


def times(x):
    return x * K


def data(x):
    return x * fb.tensor([K])


def graph(x):
    return x * 2 if K == 1 else x + x * 3


def result(x):
    y = x + 1
    return (x * 1.0, y) if K == 1 else (y, x * 1.0)


def words(x):
    return x * 2, str(K)


FOUND = {
    times: "its numbers", data: "its tensors", graph: "what it computes", result: "what it computes",
    words: "what it returns",
}  # fmt: skip


def values(out):
    return [
        v.tolist() if isinstance(v, fb.Tensor) else v for v in (out if isinstance(out, tuple) else (out,))
    ]


@pytest.mark.parametrize("call", [2, 4, 8])
@pytest.mark.parametrize("fn", FOUND, ids=lambda f: f.__name__)
def test_what_is_not_watched_is_found_at_the_next_check(fn, call, blind, at_any_cost, monkeypatch, capsys):
    recorded = fb.jit(fn)
    for v in range(1, call):
        assert values(recorded(numbers(float(v)))) == values(fn(numbers(float(v))))
    assert not capsys.readouterr().err
    monkeypatch.setitem(globals(), "K", 3.0)
    assert values(recorded(numbers(5.0))) == values(fn(numbers(5.0)))
    told = (
        f"call {call} shows that {FOUND[fn]} changed for a reason that the guards do not watch:"
        " recorded again"
    )
    assert capsys.readouterr().err == f"flambeau: jit({fn.__name__}): {told}\n"
    assert values(recorded(numbers(6.0))) == values(fn(numbers(6.0)))
    assert not capsys.readouterr().err


def test_the_third_time_it_runs_unrecorded(blind, monkeypatch, capsys):
    recorded = fb.jit(times, check="always")
    for k in range(1, 9):
        monkeypatch.setitem(globals(), "K", float(k))
        assert recorded(numbers(2.0)).tolist() == [2.0 * k]
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(": ")[2] for line in lines] == [
        "recorded again", "recorded again", "later calls run unrecorded",
    ]  # fmt: skip


def test_a_function_that_begins_to_read_is_found(blind, monkeypatch, capsys):
    recorded = fb.jit(lambda x: x * 2 if K == 1 else x * x.sum().item(), check="always")
    assert recorded(numbers(3.0)).tolist() == [6.0]
    monkeypatch.setitem(globals(), "K", 2.0)
    assert [recorded(numbers(v)).tolist() for v in (3.0, 4.0)] == [[9.0], [16.0]]
    assert "runs unrecorded: it reads values" in capsys.readouterr().err


def losses(check):
    fb.manual_seed(3)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
    opt = optim.AdamW(model.parameters(), lr=0.1)
    noise = fb.rand(4, 3)

    def step(x):
        fb.rand(5)
        loss = model(x + noise * 0.1).square().mean() + fb.rand(1).sum()
        opt.step(loss.backward())
        return loss

    step = fb.jit(step, check=check) if check else step
    found = []
    for i in range(9):
        opt.lr = 0.1 / (i + 1)
        found.append(step(fb.rand(4 if i != 5 else 6, 3)[:4]).item())
        if i == 3:
            model.load_state_dict({k: v * 0.5 for k, v in model.state_dict().items()})
    return found, [t.tolist() for t in model.state_dict().values()]


def test_checking_changes_nothing(at_any_cost):
    wanted = losses("never")
    assert losses("always") == wanted
    assert losses("sometimes") == wanted
    assert losses(None)[0] == pytest.approx(wanted[0], rel=1e-4)


def test_a_check_computes_nothing(at_any_cost, capsys):
    from flambeau.runtime.pipeline import counters

    w = fb.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.5, momentum=0.9)

    @fb.jit
    def step(x):
        opt.step((w * x).sum().backward())
        return w + 0

    step(numbers(1.0, 1.0))
    before = counters.plans, counters.submits
    for _ in range(8):
        step(numbers(1.0, 1.0))
    assert (counters.plans, counters.submits) == before
    assert not capsys.readouterr().err


def test_recording_and_checking_read_nothing(gpu, at_any_cost, monkeypatch):
    """An optimiser's state is a dict by parameter: naming one must not read it."""
    reads, fetch = [], type(gpu).fetch
    monkeypatch.setattr(type(gpu), "fetch", lambda self, asked: reads.append(asked) or fetch(self, asked))
    w = fb.tensor([1.0, 2.0], requires_grad=True, device=gpu)
    opt = optim.SGD([w], lr=0.5)

    @fb.jit
    def step(x):
        loss = (w * x).sum()
        opt.step(loss.backward())
        return loss

    for _ in range(4):
        step(fb.ones(2, device=gpu))
    assert step.programs and not reads


@pytest.mark.parametrize(("check", "wanted"), [("sometimes", [1, 2, 4, 8, 64, 1024]), ("never", [1])])
def test_when_the_function_runs(check, wanted, at_any_cost, capsys):
    def call(x):
        print("ran")
        return x + 1

    recorded, ran = fb.jit(call, check=check), []
    x = numbers(1.0)
    for n in range(1, 1100):
        recorded(x)
        if capsys.readouterr().out:
            ran.append(n)
    assert ran == wanted


def test_checks_take_at_most_a_hundredth_of_the_time(monkeypatch, capsys):
    """By a clock of the test: a call takes 0.1 s, a run of the function 0.05 s."""
    seconds, run = [0.0], jit.Call._run

    def run_slowly(self, fn):
        start = seconds[0]
        seconds[0] += 0.05
        run(self, fn)
        self.seconds = seconds[0] - start

    monkeypatch.setattr(jit, "perf_counter", lambda: seconds[0])
    monkeypatch.setattr(jit.Call, "_run", run_slowly)

    def call(x):
        print("ran")
        return x + 1

    recorded, ran, x = fb.jit(call), [], numbers(1.0)
    for n in range(1, 400):
        recorded(x)
        seconds[0] += 0.1
        if capsys.readouterr().out:
            ran.append(n)
    first, *later = ran
    # expected are 0.01 s after the recording, 1 % of 1 s; then 0.05 s are measured, and two take 0.1 s
    assert first == 1 and later == [11, 101]
    assert 0.05 * len(later) <= 0.01 * seconds[0]


def test_a_check_does_not_listen_to_what_runs(monkeypatch):
    """A profile hook makes a call of Python ten times as slow: only recordings set one."""
    entered, enter = [], Listener.__enter__
    monkeypatch.setattr(Listener, "__enter__", lambda self: entered.append(0) or enter(self))
    recorded = fb.jit(lambda x: x + 1, check="always")
    for _ in range(3):
        recorded(numbers(1.0))
    assert len(entered) == 1


def test_an_unknown_way_to_check():
    with pytest.raises(ValueError) as caught:
        fb.jit(times, check="often")
    told = "unknown: use one of 'sometimes', 'always', 'never'"
    assert str(caught.value) == f"jit(check='often'): {told}"


def test_no_garbage_is_collected_while_a_call_is_recorded_or_checked(monkeypatch):
    """A graph and its plan stay alive: collections take a tenth of a recording and free nothing."""
    collects, run = [], jit.Call._run
    monkeypatch.setattr(jit.Call, "_run", lambda self, fn: collects.append(gc.isenabled()) or run(self, fn))
    recorded = fb.jit(lambda x: x + 1, check="always")
    for _ in range(3):
        recorded(numbers(1.0))
    assert collects == [False] * 3 and gc.isenabled()

    def fails(x):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        fb.jit(fails)(numbers(1.0))
    assert gc.isenabled()


def test_weak_tables_that_lose_a_key_are_no_part_of_a_call():
    """Whose last reference goes while a call is recorded is chance; what a call asks of a table is not."""

    class Key:
        pass

    key, other = Key(), Key()
    by_key, by_value, all_of = (
        WeakKeyDictionary({key: 1}),
        WeakValueDictionary({1: key}),
        WeakSet([key, other]),
    )

    def lose():
        nonlocal key
        key = None

    def remove():
        all_of.remove(other)

    with Listener({lose.__code__}) as heard:
        lose()
    assert not heard.trouble and [len(by_key), len(by_value), len(all_of)] == [0, 0, 1]
    with Listener({remove.__code__}) as heard:
        remove()
    assert heard.trouble.startswith(
        "it calls _weakrefset.WeakSet.remove, which may depend on more than its arguments"
    )
