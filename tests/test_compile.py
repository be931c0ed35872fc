"""Compiling ahead: several pipelines at once, and a model's kernels without a call."""

import threading

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, pipeline, run
from flambeau.device import native
from flambeau.errors import FlambeauError, KernelError


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
    assert not [t for ref in run._pending.values() if (t := ref()) is not None and t.device is device]


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
    threads, usual = set(), device.pipeline

    def watched(*job):
        threads.add(threading.get_ident())
        return usual(*job)

    monkeypatch.setattr(device, "pipeline", watched)
    told = []
    monkeypatch.setattr(pipeline, "progress", lambda *what: told.append(what))
    x = fb.tensor(np.ones((32, 32), "f4"), device=device)
    ys = [x @ x, x.sum(0), x.amax(1), x.exp().sum(), x.flip(0).contiguous(), (x > 0).any(), x.argsort(0)]
    fb.realize(*ys)
    assert threading.get_ident() not in threads
    assert [at for at, _, _ in told] == list(range(1, len(told) + 1)) and told[-1][1] == len(told) > 6
    assert np.array_equal(ys[0].numpy(), np.full((32, 32), 32.0))


def test_one_bad_kernel_among_many(device):
    bad = fb.custom_op("bad_wgsl", ["x"], expression="nothing_{{ x }}", reference=lambda xp, x: x)
    x = fb.tensor(np.ones((32, 32), "f4"), device=device)
    with pytest.raises(KernelError) as e:
        fb.realize(x.sum(0), bad(x), x @ x, x.amax(1))
    assert str(e.value).startswith("bad_wgsl: the kernel does not compile on gpu:")
    assert "nothing_t0" in str(e.value)
    assert (x @ x).numpy()[0, 0] == 32
