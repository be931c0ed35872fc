"""Several threads at once: what they make, run, differentiate, record, read, draw and drop is what one thread
would; and a forked child says that it can't use a GPU."""

import gc
import os
import queue
import random
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from helpers import tint

import flambeau as fb
from flambeau import nn, optim
from flambeau.core import node as graph
from flambeau.data import DataLoader
from flambeau.device import c_path, native
from flambeau.device.memory import Pool
from flambeau.nn import functional as F
from flambeau.ops.random import generator
from flambeau.profiling.meter import capture
from flambeau.runtime import run


@pytest.fixture(autouse=True)
def often():
    """Threads take turns every few bytecodes."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(*calls):
    """What calls return that run at once, a thread each; what one of them raises is raised here."""
    found, begin = [None] * len(calls), threading.Barrier(len(calls))

    def go(i, call):
        begin.wait()
        try:
            found[i] = call()
        except BaseException as e:
            found[i] = e

    threads = [threading.Thread(target=go, args=pair) for pair in enumerate(calls)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for result in found:
        if isinstance(result, BaseException):
            raise result
    return found


# --- the rule: who takes, writes or submits holds the device's lock


GUARDED = {
    Pool: ("take", "collect"),
    native.NativeDevice: ("alloc", "free", "write", "bind", "prepare", "submit", "timestamps", "fetch"),
}


@contextmanager
def guarded(monkeypatch):
    """Every call of what needs the lock, without it, by its name."""
    wrong = []

    def watched(name, usual):
        def call(self, *args, **kw):
            if not getattr(self, "device", self).lock._is_owned():
                wrong.append(name)
            return usual(self, *args, **kw)

        return call

    with monkeypatch.context() as patch:
        for kind, names in GUARDED.items():
            for name in names:
                patch.setattr(kind, name, watched(name, getattr(kind, name)))
        yield wrong


def trained(model, x, y, recorded):
    """The losses of a few steps of Adam."""
    o = optim.Adam(model.parameters(), lr=0.05)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        o.step(loss.backward())
        return loss

    step = fb.jit(step) if recorded else step
    return [step(x, y).item() for _ in range(4)]


def tour(folder):
    """Something of everything that computes."""
    x, y = fb.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]]), fb.tensor([0, 1])
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
    for recorded in (False, True):
        trained(model, x, y, recorded)
    model.eval()
    draw = fb.jit(lambda: fb.rand(3) + fb.HostScalar(1.0))
    readings = [fb.read(draw(), model(x)) for _ in range(3)]
    assert len(list(readings[1])) == 2
    del readings
    model.compile(x)
    fb.save_program(model, x, folder / "program")
    program = fb.load_program(folder / "program")
    assert np.allclose(program(x).numpy(), model(x).numpy(), atol=1e-5)
    del program, draw
    gc.collect()
    with fb.profile():
        model(x).realize()
    with fb.memory_budget("1 GB"):
        F.cross_entropy(model(x), y).backward()[model[0].weight].realize()
    x.assign_(x + 1)
    x[0] = 2.0
    assert x.cpu().gpu().tolist() == x.tolist()
    assert x.plan() is not None
    fb.synchronize()
    assert fb.memory()["live"] > 0


@pytest.mark.share(3)
def test_memory_is_taken_and_commands_are_given_with_the_lock(gpu, monkeypatch, tmp_path):
    with guarded(monkeypatch) as wrong:
        tour(tmp_path)
    assert not wrong, sorted(set(wrong))


@pytest.fixture
def polled(gpu):
    """wgpu, where whoever waits polls."""
    if not hasattr(gpu._fast, "poll"):
        pytest.skip("Dawn waits by promises")


def test_no_wait_for_the_gpu_holds_the_lock(gpu, polled, monkeypatch):
    held = []
    poll = gpu._fast.poll

    def watched(wait):
        if wait:
            held.append(gpu.lock._is_owned())
        return poll(wait)

    monkeypatch.setattr(gpu._fast, "poll", watched)
    monkeypatch.setattr(c_path, "SPIN_SECONDS", 0)
    x = fb.rand(64, 64, device=gpu)
    for _ in range(30):
        x = (x @ x * 0.1).realize()
    assert x.sum().item() >= 0
    fb.synchronize(gpu)
    assert held and not any(held)


def test_who_waits_lets_others_submit(gpu, polled, monkeypatch):
    """A wait inside of wgpu keeps it from taking submits: where several threads submit, who waits looks now
    and then."""
    x = fb.rand(64, 64, device=gpu).realize()
    together(lambda: (x + 1).realize(), lambda: (x + 2).realize())
    assert graph.is_shared()
    waits = []
    poll = gpu._fast.poll
    monkeypatch.setattr(gpu._fast, "poll", lambda wait: (waits.append(wait), poll(wait))[1])
    monkeypatch.setattr(c_path, "SPIN_SECONDS", 0)
    for _ in range(5):
        (x @ x @ x @ x).sum().item()
    assert waits and not any(waits)
    monkeypatch.setattr(graph, "_in_a_row", graph.ALONE)
    monkeypatch.setattr(graph, "_thread", threading.get_ident())
    (x @ x @ x @ x).sum().item()
    assert any(waits)


# --- what one thread makes while another runs


def test_what_is_uploaded_before_a_submit_is_not_written_over(gpu, monkeypatch):
    """Buffers go back to the pool while commands are put together that still name them."""
    w = fb.rand(8, 8, device=gpu).realize()
    send, made, threads = run.send_params, [], []

    def upload():
        made.extend(fb.tensor([[float(i)] * 8] * 8, device=gpu) for i in range(6))

    def meanwhile(*args):
        threads.append(threading.Thread(target=upload))
        threads[-1].start()
        threads[-1].join(0.2)
        return send(*args)

    monkeypatch.setattr(run, "send_params", meanwhile)
    y = ((w @ w).relu() @ w + 1) @ w
    y.realize()
    monkeypatch.setattr(run, "send_params", send)
    threads[0].join()
    assert [t.numpy().tolist() for t in made] == [[[i] * 8] * 8 for i in range(6)]


def test_uploads_while_another_thread_computes(gpu):
    made, w = queue.Queue(4), fb.eye(8, device=gpu).realize()

    def produce():
        for i in range(150):
            made.put(fb.tensor([[float(i)] * 8] * 8, device=gpu))

    def consume():
        return [((((made.get() @ w) @ w).relu() @ w) + 1).amax().item() - 1 for _ in range(150)]

    assert together(produce, consume)[1] == list(range(150))


@pytest.mark.parametrize("recorded", [False, True], ids=["eager", "recorded"])
def test_batches_that_a_loaders_thread_makes(gpu, recorded):
    def collate(items):
        return fb.tensor(np.stack([np.full(64, i, "f4") for i in items])), fb.tensor(items)

    w = fb.eye(64, device=gpu).realize()

    def step(x):
        return ((((((x @ w) @ w).relu() @ w) + 1) @ w) - 1)[:, 0]

    step = fb.jit(step) if recorded else step
    loader = DataLoader(list(range(400)), batch_size=4, collate_fn=collate)
    found = [fb.read(step(x), y) for x, y in loader]
    assert [v for x, y in found for v in (x, y)] == [
        [4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3] for i in range(100) for _ in "xy"
    ]


def test_what_dies_in_one_thread_while_another_runs(gpu):
    """Tensors in cycles, which the garbage collector finds in whichever thread."""
    x = fb.rand(16, 16, device=gpu).realize()
    expected = ((x @ x).relu() + x).sum().item()

    def drop():
        for i in range(30):
            kept = {"t": fb.full((16, 16), float(i), device=gpu).realize()}
            kept["self"] = kept
            if not i % 5:
                gc.collect()

    def compute():
        return [((x @ x).relu() + x).sum().item() for _ in range(40)]

    for found in together(drop, compute, drop, compute)[1::2]:
        assert set(found) == {expected}
    gc.collect()
    live = fb.memory(gpu)["live"]
    t = fb.zeros(1000, device=gpu).realize()
    assert fb.memory(gpu)["live"] > live
    del t
    assert fb.memory(gpu)["live"] == live


def test_programs_die_in_other_threads(gpu):
    """A recording's memory and Params are freed by who holds the lock next, not in the middle of a run."""
    x = fb.rand(40, 40, device=gpu).realize()
    expected = (x @ x).sum().item()

    def record():
        for _ in range(4):
            step = fb.jit(lambda a: (a @ a).exp().sum(0))
            step(x), step(x)
            del step
            gc.collect()

    def compute():
        return {(x @ x).sum().item() for _ in range(40)}

    assert together(record, compute, compute)[1:] == [{expected}] * 2


# --- gradients and updates


def model_of(seed):
    rng = np.random.default_rng(seed)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    for p in model.parameters():
        p.assign_(fb.tensor(rng.standard_normal(p.shape, np.float32)))
    fb.realize(*model.parameters())
    return model


BATCH = [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]], [0, 1]


def gradients(model):
    grads = F.cross_entropy(model(fb.tensor(BATCH[0])), fb.tensor(BATCH[1])).backward()
    return [grads[p].tolist() for p in model.parameters()]


def test_gradients_of_several_threads_that_share_a_model(gpu):
    model = model_of(0)
    expected = gradients(model)
    found = together(*[lambda: [gradients(model) for _ in range(10)]] * 3)
    assert all(g == expected for several in found for g in several)


def test_gradients_of_what_another_thread_computes(gpu):
    """Several make losses of one value: who computes it lets go of nothing that the others need."""
    model = model_of(1)
    for _ in range(8):
        h = model(fb.tensor(BATCH[0])).tanh()

        def by(k, h=h):
            with fb.checkpointing("balanced"):
                grads = (h * h * k).sum().backward()
            return [grads[p].sum().item() for p in model.parameters()]

        alone = by(1.0, model(fb.tensor(BATCH[0])).tanh())
        for k, found in enumerate(together(lambda: by(1.0), lambda: by(2.0), lambda: by(3.0)), 1):
            assert np.allclose(found, [k * g for g in alone], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("recorded", [False, True], ids=["eager", "recorded"])
def test_training_in_several_threads(gpu, recorded):
    """Each its own model, with batches that it makes as it goes."""

    def train(seed):
        return trained(model_of(seed), fb.tensor(BATCH[0]), fb.tensor(BATCH[1]), recorded)

    alone = [train(seed) for seed in range(3)]
    for _ in range(2):
        assert together(*[lambda s=s: train(s) for s in range(3)]) == alone


def test_what_a_thread_assigned_waits_for_its_own_run(gpu):
    """Another thread's run does not compute it: its plan would be a new one each time."""
    t = fb.zeros(3, device=gpu).realize()
    done, go = threading.Event(), threading.Event()

    def assign():
        t.assign_(t + 1)
        done.set()
        go.wait()
        fb.ones(1, device=gpu).realize()
        return t.node.buffer is not None

    def other():
        done.wait()
        fb.ones(2, device=gpu).realize()
        before = t.node.buffer
        go.set()
        return before is None

    assert together(assign, other) == [True, True]
    assert t.tolist() == [1, 1, 1]


# --- recorded functions


def test_a_recorded_function_in_several_threads(gpu):
    """Called the first time by all of them at once, with several shapes."""
    w = fb.rand(8, 8, device=gpu).realize()
    step = fb.jit(lambda x: (x @ w).relu().sum(0))
    xs = [fb.rand(n, 8, device=gpu).realize() for n in (1, 2, 3)]
    expected = [((x @ w).relu().sum(0)).tolist() for x in xs]

    def call(seed):
        order = random.Random(seed).choices(range(3), k=40)
        return all(np.allclose(step(xs[i]).tolist(), expected[i], rtol=1e-5) for i in order)

    assert all(together(*[lambda s=s: call(s) for s in range(4)]))


def test_state_of_a_recorded_function_moves_once_a_call(gpu):
    """Calls that a lock keeps apart count up, whoever makes them; reads in between see whole values."""
    count, turn = fb.zeros(1000, device=gpu).realize(), threading.Lock()

    @fb.jit
    def step():
        count.assign_(count + 1)
        return count * 1

    def calls():
        found = []
        for _ in range(20):
            with turn:
                found.append(step())
        return [set(t.tolist()) for t in found]

    def reads():
        return [set(count.tolist()) for _ in range(30)]

    *found, seen = together(calls, calls, calls, reads)
    assert sorted(v for several in found for values in several for v in values) == list(range(1, 61))
    assert all(len(values) == 1 for values in seen)
    assert [min(v) for v in seen] == sorted(min(v) for v in seen)


def test_recorded_training_while_another_thread_evaluates(gpu):
    """The other computes what the recording makes, or holds it: neither may spoil the steps."""
    xs, ys = fb.tensor(BATCH[0]), fb.tensor(BATCH[1])
    alone = trained(model_of(3), xs, ys, False) + [None]
    for _ in range(3):
        model, done = model_of(3), threading.Event()

        def evaluate(model=model, done=done):
            held, sums = [], []
            while not done.is_set():
                held.append(model[0].weight * 1)
                sums.append(model(xs).abs().sum().item())
            return all(np.isfinite(t.numpy()).all() and abs(t.numpy()).max() < 10 for t in held[-50:])

        def train(model=model, done=done):
            try:
                return trained(model, xs, ys, True)
            finally:
                done.set()

        losses, fine = together(train, evaluate)
        assert np.allclose(losses, alone[:-1], rtol=1e-4) and fine


TOLD = (
    "flambeau: jit(step): runs unrecorded: another thread writes its inputs or reads its results"
    " at the same time: keep the threads apart\n"
)


def disturbed(p, call, act):
    """What a call gives in whose middle, once it has assigned to p, another thread acts; and what that
    gives."""
    before, over, found = p.node, threading.Event(), []

    def wait():
        while p.node is before and not over.is_set():
            pass
        if not over.is_set():
            found.append(act())

    thread = threading.Thread(target=wait)
    thread.start()
    result = call()
    over.set()
    thread.join()
    return result, found


def counting(p):
    @fb.jit
    def step():
        p.assign_(p + 1)
        total = p
        for _ in range(300):  # meanwhile the other acts
            total = total + 1
        return total - 300

    return step


def test_a_value_that_is_computed_while_it_is_recorded(gpu, capfd):
    """The recording is not kept: a replay would hold that value for ever."""
    p = fb.zeros(3, device=gpu).realize()
    step, seen = counting(p), []
    for i in range(1, 8):
        result, found = disturbed(p, step, p.tolist)
        assert result.tolist() == p.tolist() == [i] * 3
        seen += found
    assert seen and all(len(set(values)) == 1 for values in seen)
    assert step.programs or capfd.readouterr().err == TOLD


def test_a_value_that_is_assigned_while_it_is_recorded(gpu, capfd):
    p, q = fb.zeros(3, device=gpu).realize(), fb.full((3,), 10.0, device=gpu).realize()
    step, acted = counting(p), 0
    for _ in range(7):
        before = p.tolist()[0]
        result, found = disturbed(p, step, lambda: p.assign_(q + 0.5))
        assert result.tolist() in ([before + 1] * 3, *([10.5] * 3 for _ in found))  # it may look after that
        assert p.tolist() == ([10.5] * 3 if found else [before + 1] * 3)
        acted += len(found)
    assert acted
    assert step.programs or capfd.readouterr().err == TOLD


def test_who_holds_a_recorded_value_keeps_it(gpu):
    """Made of a new value while it is recorded, and asked for after later replays."""
    p = fb.zeros(3, device=gpu).realize()
    step = counting(p)
    result, held = disturbed(p, step, lambda: p * 10)
    assert [result.tolist()[0], *(step().tolist()[0] for _ in range(4))] == [1, 2, 3, 4, 5]
    assert all(t.tolist() in ([10] * 3, [0] * 3) for t in held)


# --- random numbers


def test_threads_draw_different_numbers(gpu):
    recorded = fb.jit(lambda: fb.rand(1))
    recorded(), recorded()
    found = together(
        *[lambda: [recorded().item() for _ in range(50)]] * 3, lambda: [fb.rand(1).item() for _ in range(50)]
    )
    assert len({v for several in found for v in several}) == 200


def test_a_seed_and_its_place_belong_together():
    """Whoever draws while another seeds draws from one of the streams."""
    one = fb.Generator(1)

    def seed():
        for i in range(2000):
            one.manual_seed((i << 33) + i)

    def draw():
        return [one.take(4) for _ in range(2000)]

    _, drawn, states = together(seed, draw, lambda: [one.get_state() for _ in range(2000)])
    assert all(k0 == k1 * 2 & 0xFFFFFFFF or k0 * 2 == k1 for k0, k1, _, _ in drawn if (k0, k1) != (1, 0))
    assert all(seed == 1 or (seed >> 33) == seed & 0xFFFFFFFF for seed, _ in states)


def test_compiling_ahead_takes_no_numbers_from_others(gpu):
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5))
    before, inside = generator.offset, []

    def forward(x):
        inside.append(together(lambda: generator.take(4))[0])
        return nn.Sequential.forward(model, x)

    class Ahead(nn.Module):
        def __init__(self):
            self.model = model

        def forward(self, x):
            return forward(x)

    Ahead().compile(fb.tensor(BATCH[0]))
    assert len(inside) == 1 and generator.offset > before
    assert generator.take(4) != inside[0]


def test_recorded_draws_are_the_calls_own(gpu):
    """While it is recorded, and while it is checked (at call 2, 4, 8), another thread draws."""
    drawn = []

    @fb.jit
    def step():
        a = fb.rand(2)
        drawn.extend(together(lambda: generator.take(4)))
        return a, fb.rand(2)

    taken = [v for _ in range(9) for t in step() for v in t.tolist()]
    assert len(set(taken)) == 36 and len(drawn) > 1
    streams = [fb.Generator().set_state((generator.initial_seed(), low)) for _, _, low, _ in drawn]
    others = [v for source in streams for v in fb.rand(4, generator=source).tolist()]
    assert len(set(others)) == 4 * len(drawn) and set(taken).isdisjoint(others)


# --- profiles, tuning


def test_a_profile_repeats_nothing_of_another_thread(gpu):
    """Its self-test plays captured commands many times over."""
    p = fb.zeros(3, device=gpu).realize()
    x = fb.ones(3, device=gpu).realize()

    def call():
        together(lambda: p.assign_(p + 1).realize())
        return (x * 2).realize()

    _, found = capture(call)
    assert len(found.works) == 1
    assert p.tolist() == [1, 1, 1]


def test_profiles_begin_and_end_while_others_run(gpu):
    x = fb.rand(16, 16, device=gpu).realize()
    expected = (x @ x).sum().item()
    with fb.profile():
        x.sum().item()  # measured once

    def profiles():
        for _ in range(8):
            with fb.profile() as p:
                (x @ x).realize()
            assert p.kernels

    assert together(profiles, lambda: {(x @ x).sum().item() for _ in range(60)})[1] == {expected}


# --- everything at once


def tasks(gpu, shared, rng):
    """Things that a thread does, each with what it finds: the same whoever does what else."""
    n, k = rng.choice((3, 5, 8)), rng.random()

    def fresh():
        return (fb.tensor([[k] * 8] * n, device=gpu) @ shared["w"]).relu().sum().item()

    def late():
        readings = [fb.read(fb.tensor([k, i], device=gpu) * 2) for i in range(4)]
        return [r.tolist() if hasattr(r, "tolist") else list(r) for r in reversed(readings)]

    def recorded():
        return shared["step"](fb.tensor([[k] * 8] * n, device=gpu)).tolist()

    def gradient():
        x = fb.tensor([[k] * 8] * n, device=gpu, requires_grad=True)
        loss = ((x @ shared["w"]).tanh() ** 2).mean()
        return loss.backward()[x].tolist()

    def seeded():
        own = fb.Generator(int(k * 1e6))
        return (
            fb.rand(5, generator=own, device=gpu).tolist() + fb.randn(3, generator=own, device=gpu).tolist()
        )

    def assigned():
        t = fb.tensor([k] * n, device=gpu)
        for _ in range(3):
            t.assign_(t * 2)
        t[0] = 1.0
        return t.tolist()

    def counted():
        t = fb.zeros(n, device=gpu).realize()

        def count():
            t.assign_(t + k)
            return t * 1

        step = fb.jit(count)
        return [step().tolist() for _ in range(3)]

    def dropped():
        ring = [fb.tensor([k, i], device=gpu).realize() for i in range(3)]
        ring.append(ring)
        del ring
        return gc.collect() >= 0

    return rng.choice((fresh, late, recorded, gradient, seeded, assigned, dropped, counted))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.share(3)
def test_everything_at_once(gpu, seed):
    w = fb.tensor(np.random.default_rng(seed).standard_normal((8, 8), np.float32), device=gpu)

    def work(thread, shared):
        rng = random.Random(f"{seed} {thread}")
        return [tasks(gpu, shared, rng)() for _ in range(15)]

    def shared():
        return {"w": w, "step": fb.jit(lambda x: ((x @ w).exp().sum(0) + 1).log())}

    one = shared()
    alone = [work(i, one) for i in range(4)]
    several = shared()
    assert together(*[lambda i=i: work(i, several) for i in range(4)]) == alone


# --- forks


CHILD = """import os, sys
import flambeau as fb
from flambeau.data import DataLoader, collate
x = fb.ones(3, device="gpu").realize()
y = x * 2
reading = fb.read(x + 1)
batches = iter(DataLoader(list(range(8)), batch_size=2, num_workers=1, collate_fn=collate))
first = next(batches).tolist()
reading._lock.acquire()  # as a thread that waits for it
def said(f):
    try:
        return str(f())
    except fb.FlambeauError as e:
        return type(e).__name__ + " " + str(e).replace(x.device.name, "GPU")
def child():
    print(said(lambda: y.tolist()))
    print(said(lambda: (fb.ones(3, device="gpu") * 3).sum().item()))
    print(said(lambda: fb.tensor([1.0], device="gpu")))
    print(said(lambda: x.tolist()))
    print(said(lambda: list(reading)))
    print(said(lambda: fb.synchronize("gpu")))
    print(said(lambda: fb.ones(1, device="gpu:0")))
    print(said(lambda: fb.jit(lambda t: t + 1)(x)))
    print(said(lambda: next(batches)))
    fresh = DataLoader([1, 2], collate_fn=collate)
    print((fb.rand(4, device="cpu") < 2).sum().item(), [b.tolist() for b in fresh])
    sys.stdout.flush()
pid = os.fork()
if not pid:
    child()
    os._exit(0)  # as multiprocessing does
assert os.waitpid(pid, 0)[1] == 0
print("parent", (y + x).tolist(), [b.tolist() for b in batches])
"""
SPAWN = (
    "GPUs opened before a fork can't be used in the child: start the process with the 'spawn' method"
    " (multiprocessing.get_context('spawn')), or compute on 'cpu' there"
)
EPOCH = (
    "FlambeauError DataLoader: an epoch that began before a fork can't continue in the child: its"
    " thread is gone: start a new epoch, or use the start method 'spawn'"
)


def environment(provider):
    """The environment of a process that uses a provider."""
    env = os.environ | WAYS[provider]
    if provider == "dawn":
        pytest.importorskip("wgpudawn", reason="wgpudawn is not installed")
        env["VK_ICD_FILENAMES"] = tint.driver_file()
        if not Path(env["VK_ICD_FILENAMES"]).is_file():
            pytest.skip("no SwiftShader beside a Chromium")
    return env


def forked(**env):
    """The lines that a parent and its child print."""
    done = subprocess.run([sys.executable, "-c", CHILD], env=env, capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


WAYS = {"wgpu": {}, "dawn": {"FLAMBEAU_WEBGPU": "dawn"}}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("provider", WAYS)
@pytest.mark.share(3)
def test_a_forked_child_says_that_it_can_not_use_the_gpu(gpu, provider):
    *child, parent = forked(**environment(provider))
    refused = [f"DeviceError {name}: {SPAWN}" for name in [*["GPU"] * 6, "device('gpu:0')", "GPU"]]
    assert child == [*refused, EPOCH, "4 [[1], [2]]"]
    assert parent == "parent [3.0, 3.0, 3.0] [[2, 3], [4, 5], [6, 7]]"


ENDING = """import gc, os, sys, threading
import flambeau as fb
x = fb.ones(8, device="gpu").realize()
is_over = threading.Event()
begun = threading.Event()
def compile_kernels():
    y = x
    while not is_over.is_set():
        y = y.exp() + y if len(y.shape) % 2 else y.unsqueeze(0).sin()
        y.tolist()
        begun.set()
        y = y.reshape((8,) if y.dim() > 5 else (1,) * y.dim() + (8,))
thread = threading.Thread(target=compile_kernels)
thread.start()
begun.wait()
def leave(): pass
def collect():
    global x
    x = None
    gc.collect()
def compute():
    print((fb.arange(4, device="cpu") * 2).tolist())
def exit_3():
    raise SystemExit(3)
for end in (leave, collect, compute, exit_3, lambda: os._exit(4)):
    if not (child := os.fork()):
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
if child:
    is_over.set()
    thread.join()
else:
    end()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("provider", WAYS)
@pytest.mark.share(3)
def test_a_forked_child_ends_while_the_parent_compiles(gpu, provider):
    """Mesa's exit function waits for its threads, which a child does not have."""
    env = environment(provider)
    if provider == "wgpu":
        env.pop("VK_ADD_DRIVER_FILES", None)  # SwiftShader's, which would come before Mesa's
    done = subprocess.run([sys.executable, "-c", ENDING], env=env, capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr
    assert done.stdout.split("\n") == ["0", "0", "[0, 2, 4, 6]", "0", "3", "4", ""]


LISTING = """import os, sys, threading
import flambeau as fb
from flambeau.device import adapters
fb.arange(3, device="cpu").tolist()
gpus, begun, is_over = adapters.provider().gpu, threading.Event(), threading.Event()
list_gpus = gpus.enumerate_adapters_sync
def list_once():
    begun.set()
    listed = list_gpus()
    is_over.wait()
    return listed
gpus.enumerate_adapters_sync = list_once
thread = threading.Thread(target=lambda: print(fb.ones(3, device="gpu").tolist()))
thread.start()
begun.wait()
def compute():
    print((fb.arange(4, device="cpu") * 2).tolist())
def open_gpu():
    try:
        fb.ones(3, device="gpu")
    except fb.DeviceError as e:
        print(e)
def exit_3():
    raise SystemExit(3)
for end in (compute, open_gpu, exit_3):
    if not (child := os.fork()):
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
if child:
    is_over.set()
    thread.join()
else:
    end()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.share(2)
def test_a_child_forked_while_gpus_are_listed_refuses_them(gpu):
    """The driver's half-made state is in the child, so it must neither list GPUs nor run exit functions."""
    done = subprocess.run([sys.executable, "-c", LISTING], capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr
    refused = f"device('gpu'): {SPAWN}"
    assert done.stdout.split("\n") == ["[0, 2, 4, 6]", "0", refused, "0", "3", "[1.0, 1.0, 1.0]", ""]


PAUSED = """import gc, os, threading
from flambeau.core.garbage import paused
inside, leave = threading.Event(), threading.Event()
def plan():
    with paused():
        inside.set()
        leave.wait()
thread = threading.Thread(target=plan)
thread.start()
inside.wait()
if child := os.fork():
    leave.set()
    thread.join()
    print(os.waitpid(child, 0)[1], gc.isenabled())
else:
    with paused():
        assert not gc.isenabled()
    os._exit(not gc.isenabled())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_collects_garbage_while_the_parent_plans():
    done = subprocess.run([sys.executable, "-c", PAUSED], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["0", "True"], done.stdout + done.stderr
