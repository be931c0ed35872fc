"""Compiling ahead: several pipelines at once, and a model's kernels without a call."""

import sys
import threading
import time
from array import array
from math import erf
from types import SimpleNamespace

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn
from flambeau.core import events
from flambeau.device import compilers, native
from flambeau.device.c_path import Encoder
from flambeau.errors import FlambeauError, KernelError
from flambeau.profiling.meter import capture
from flambeau.runtime import pipeline, run
from flambeau.runtime.state import thread


@pytest.fixture
def device(gpu):
    """The adapter opened again: nothing is compiled."""
    return native.NativeDevice(gpu.adapter)


def counted(f):
    """Kernels compiled and submits made by a call."""
    before = pipeline.counters.compiles, pipeline.counters.submits
    f()
    return pipeline.counters.compiles - before[0], pipeline.counters.submits - before[1]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(20, 30), nn.BatchNorm1d(30), nn.Linear(30, 4)

    def forward(self, x):
        return self.second(nn.functional.dropout(self.norm(self.first(x)).relu(), 0.5))


@pytest.mark.parametrize("train", [False, True])
def test_a_call_after_compile_compiles_nothing(device, train):
    model, x = Net().to(device), fb.randn(8, 20, device=device)
    fb.realize(x, *model.parameters(), *model.buffers())

    def call():
        y = model(x)
        fb.realize(y, *(y.sum().backward() if train else ()))

    assert counted(lambda: model.compile(x, train=train))[1] == 0
    assert counted(call) == (0, 1)


def test_compile_changes_nothing(device):
    model, x = Net().to(device), fb.randn(8, 20, device=device)
    fb.realize(x, *model.parameters(), *model.buffers())
    state = [*model.parameters(), *model.buffers()]
    before = [t.node for t in state]
    drawn = fb.randn(3, device=device).numpy()
    fb.manual_seed(3)
    expected = fb.randn(3, device=device).numpy()
    fb.manual_seed(3)
    assert model.compile(x) > 2
    assert np.array_equal(fb.randn(3, device=device).numpy(), expected) and drawn.shape == (3,)
    assert all(t.node is n for t, n in zip(state, before))
    assert not [t for ref in thread.pending.values() if (t := ref()) is not None and t.device is device]


def test_compile_says_what_it_can_not(device):
    class Reads(nn.Module):
        def forward(self, x):
            return x * x.sum().item()

    with pytest.raises(FlambeauError) as e:
        Reads().compile(fb.ones(3, device=device))
    assert str(e.value) == "compile: it reads values: return the tensor and read it outside"


def test_the_cpu_has_nothing_to_compile():
    assert nn.Linear(3, 4).to("cpu").compile(fb.ones(2, 3, device="cpu")) == 0


def test_pipelines_are_compiled_by_several_threads(device, monkeypatch):
    if device.compilers < 2:
        pytest.skip("one processor, or a provider whose devices are for one thread")
    threads, usual = set(), device._compiling.compile

    def watched(*job):
        threads.add(threading.get_ident())
        return usual(*job)

    monkeypatch.setattr(device._compiling, "compile", watched)
    told = []
    x = fb.tensor(np.ones((32, 32), "f4"), device=device)
    ys = [x @ x, x.sum(0), x.amax(1), x.exp().sum(), x.flip(0).contiguous(), (x > 0).any(), x.argsort(0)]
    with events.subscribe("pipeline", lambda *what: told.append(what)):
        fb.realize(*ys)
    assert threading.get_ident() not in threads
    assert [at for at, _, _ in told] == list(range(1, len(told) + 1)) and told[-1][1] == len(told) > 6
    assert np.array_equal(ys[0].numpy(), np.full((32, 32), 32.0))


def test_what_is_compiled_runs_while_the_rest_is_being_compiled(device, monkeypatch):
    if device.compilers < 2:
        pytest.skip("one processor, or a provider whose devices are for one thread")
    submits, first_runs = [], threading.Event()
    usual, play, flush = device._compiling.compile, Encoder.play, Encoder.flush

    def held(job, *rest):
        if job.label.startswith("matmul"):
            assert first_runs.wait(60)
        return usual(job, *rest)

    def played(encoder, steps):
        if steps:
            first_runs.set()
        return play(encoder, steps)

    def seen(encoder, *counts):
        submits.append(0)
        flush(encoder, *counts)

    monkeypatch.setattr(device._compiling, "compile", held)
    monkeypatch.setattr(Encoder, "play", played)
    monkeypatch.setattr(Encoder, "flush", seen)
    x = fb.tensor(np.arange(1024, dtype="f4").reshape(32, 32), device=device)
    y = x @ x.sum(1, keepdim=True)
    assert counted(lambda: fb.realize(y)) == (2, 1)
    assert len(submits) > 1
    wide = x.numpy().astype("f8")
    assert np.allclose(y.numpy(), wide @ wide.sum(1, keepdims=True))
    before = len(submits)
    assert counted(lambda: fb.realize(x @ x.sum(1, keepdim=True))) == (0, 1) and len(submits) == before + 1


@pytest.mark.share(5)
def test_products_are_compiled_while_the_rest_is_planned(device):
    """In a long graph: a plan of a thousand nodes takes 0.1 s, and a product's kernel up to 0.8 s."""
    x = y = fb.tensor(np.full((9, 9), 0.25, "f4"), device=device)
    for _ in range(run.LONG // 2):
        y = (y * 0.5).sin()
    before, renders = pipeline.counters.renders, []
    with events.subscribe("planned", lambda *_: renders.append(pipeline.counters.renders - before)):
        value = ((x @ x).erf() + y).sum().item()
    assert renders[0] == 1 and pipeline.counters.renders - before > 1
    assert abs(value - 81 * (erf(0.5625) + y[0, 0].item())) < 1e-3


def test_what_a_driver_refuses_has_no_value(device, monkeypatch):
    usual = device._compiling.compile

    def refused(job, *rest):
        if job.label.startswith("matmul"):
            raise RuntimeError("no more")
        return usual(job, *rest)

    monkeypatch.setattr(device._compiling, "compile", refused)
    x = fb.tensor(np.ones((32, 32), "f4"), device=device)
    y = x @ x
    for _ in range(2):
        with pytest.raises(KernelError) as e:
            y.numpy()
        assert str(e.value) == f"matmul: the kernel does not compile on {device.name}: no more"
    assert y.node.buffer is None
    assert np.array_equal(x.sum(0).numpy(), np.full(32, 32.0))


# --- a driver that compiles at the first dispatch, and keeps what it compiled on disk ---


LATE = {"name": "llvmpipe (LLVM 15.0.6, 256 bits)", "backend": "Vulkan"}


@pytest.mark.parametrize(
    ("adapter", "settings", "late"),
    [
        (LATE, {}, True),
        (LATE | {"backend": "OpenGL"}, {}, False),
        (LATE | {"name": "SwiftShader Device (Subzero)"}, {}, False),
        (LATE, {"MESA_SHADER_CACHE_DISABLE": "true"}, False),
        (LATE, {"MESA_GLSL_CACHE_DISABLE": "1"}, False),
        (LATE, {"MESA_SHADER_CACHE_DISABLE": "false"}, True),
        (LATE, {"MESA_SHADER_CACHE_DIR": "/etc/hostname/x"}, False),
    ],
)
def test_which_drivers_compile_late(adapter, settings, late, monkeypatch, tmp_path):
    for name in (*compilers.OFF, "MESA_SHADER_CACHE_DIR", "MESA_GLSL_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not made yet"))
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert compilers.compiles_late(SimpleNamespace(**adapter)) == late


CARD = {"name": "NVIDIA H200", "backend": "Vulkan"}


@pytest.mark.parametrize(
    ("adapter", "settings", "kept"),
    [
        (CARD, {}, sys.platform == "linux"),
        (CARD | {"backend": "OpenGL"}, {}, False),
        (LATE, {}, False),
        (CARD, {"__GL_SHADER_DISK_CACHE": "0"}, False),
        (CARD, {"__GL_SHADER_DISK_CACHE_PATH": "/etc/hostname/x"}, False),
    ],
)
def test_which_drivers_keep_pipelines(adapter, settings, kept, monkeypatch, tmp_path):
    for name in ("__GL_SHADER_DISK_CACHE", "__GL_SHADER_DISK_CACHE_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not made yet"))
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert compilers.keeps_pipelines(SimpleNamespace(**adapter)) == kept


def test_every_thread_compiles_on_a_device_of_its_own(device, monkeypatch):
    if not isinstance(device._compiling, compilers.Ahead):
        pytest.skip("this driver compiles at once, or keeps nothing")
    usual, dispatched, both = device._compiling._dispatch, [], threading.Barrier(2)

    def seen(wgpu, job, made):
        if len(dispatched) < 2:
            both.wait(30)
        dispatched.append((job.label, wgpu))
        usual(wgpu, job, made)

    monkeypatch.setattr(device._compiling, "_dispatch", seen)
    x = fb.tensor(np.arange(1024, dtype="f4").reshape(32, 32), device=device)
    rows, product = x.sum(1), x @ x
    fb.realize(rows, product)
    assert sorted(label for label, _ in dispatched) == ["matmul", "sum"]
    wgpus = [wgpu for _, wgpu in dispatched]
    assert device._wgpu in wgpus and wgpus[0] is not wgpus[1]
    assert np.array_equal(rows.numpy(), x.numpy().sum(1))
    assert np.allclose(product.numpy(), x.numpy() @ x.numpy())


def test_one_bad_kernel_among_many(device):
    bad = fb.custom_op("bad_wgsl", ["x"], expression="nothing_{{ x }}", reference=lambda xp, x: x)
    x = fb.tensor(np.ones((32, 32), "f4"), device=device)
    with pytest.raises(KernelError) as e:
        fb.realize(x.sum(0), bad(x), x @ x, x.amax(1))
    assert str(e.value).startswith("bad_wgsl: the kernel does not compile on gpu:")
    assert "nothing_t0" in str(e.value)
    assert (x @ x).numpy()[0, 0] == 32


def test_commands_that_come_again_are_kept_ready(gpu):
    def loop():
        x = fb.tensor([1.0, 2.0])
        for _ in range(12):
            x = (x * 2).realize()
            other = (x + 1).realize()  # buffers take turns
            x = (other - 1).realize()
        return x.tolist()

    run.forget(gpu, *gpu.plans)  # those of other tests say nothing of this loop
    assert [loop() for _ in range(3)] == [[4096, 8192]] * 3
    kept = [found for plan in gpu.plans.values() for found in plan.ready.values()]
    assert any(found is not None for found in kept)
    assert all(len(plan.ready) <= 4 * (len(plan.cuts) + 1) for plan in gpu.plans.values())
    gpu.pool.trim()
    assert loop() == [4096, 8192]


def test_prepared_parts_are_one_whether_compiled_or_not(gpu, monkeypatch):
    x = fb.tensor([1.0, 2.0]).realize()
    y, first = capture(lambda: (x + 1).realize())
    z, second = capture(lambda: (y * 3).realize())
    ready = gpu.prepare(gpu.prepare(first.words), second.words)
    monkeypatch.setattr(gpu, "is_compiled", lambda pipeline: False)
    monkeypatch.setattr(gpu._fast, "_compiled", {})
    late = gpu.prepare(gpu.prepare(first.words), second.words)
    assert ready.steps and late.steps is None
    for value, whole in enumerate((ready, late, late), 5):
        gpu.write(x.node.buffer.handle, array("f", [value, -value]))
        gpu.submit(whole)
        assert whole.steps and whole.words == [*first.words, *second.words]
        assert z.tolist() == [3.0 * (value + 1), 3.0 * (1 - value)]


def test_a_refused_kernel_leaves_a_recorded_step_s_state(device, monkeypatch):
    a, b = (fb.tensor(np.zeros((32, 32), "f4"), device=device) for _ in range(2))

    @fb.jit
    def step(x):
        a.assign_(a + x)
        b.assign_(b + x @ x)
        fb.realize(a, b)

    usual = device._compiling.compile

    def refused(job, *rest):
        if job.label.startswith("matmul"):
            time.sleep(0.2)  # until the first sum could have been under way
            raise RuntimeError("no more")
        return usual(job, *rest)

    monkeypatch.setattr(device._compiling, "compile", refused)
    x = fb.tensor(np.ones((32, 32), "f4"), device=device)
    for _ in range(2):
        with pytest.raises(KernelError):
            step(x)
        assert (a.sum().item(), b.sum().item()) == (0, 0)
