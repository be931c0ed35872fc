"""Turns PyTorch's ways to name a device into the device that is meant, and says once what cuda is."""

import subprocess
import sys
import threading
import warnings

import pytest

import flambeau as fb
from flambeau.core import warn_once
from flambeau.device import ANY_MAKE, get_device


@pytest.fixture(autouse=True)
def _said():
    """cuda is mentioned all over: the note is tested by itself."""
    warn_once._said.add(ANY_MAKE)


def test_names():
    cpu = fb.device("cpu")
    assert cpu is get_device("cpu") and (cpu.type, cpu.index, str(cpu)) == ("cpu", None, "cpu")
    assert isinstance(cpu, fb.device) and not isinstance("cpu", fb.device)
    x = fb.ones(2, device=cpu)
    assert x.device == fb.device("cpu") == fb.device(cpu) == fb.device(x) and x.device != "cpu"
    assert x.get_device() == -1 and x.is_cpu and not x.is_cuda


def test_names_of_a_library(torch):
    assert fb.device("torch", "cpu").type == "torch" and fb.device("torch") is get_device("torch:cpu")


def test_names_of_a_gpu(gpu):
    for found in (
        fb.device("cuda"),
        fb.device("cuda:0"),
        fb.device("cuda", 0),
        fb.device("mps"),
        fb.device(0),
    ):
        assert found is gpu
    assert (gpu.type, gpu.index) == ("gpu", 0) and str(gpu) == gpu.name
    x = fb.ones(2, device="cpu")
    for y in (x.cuda(), x.to("cuda", non_blocking=True), x.to(0), x.cuda(0), x.to(gpu, fb.float16, True)):
        assert y.is_cuda and not y.is_cpu and y.get_device() == 0
        assert y.cpu().tolist() == [1, 1]
    assert x.to("cpu", fb.float16, non_blocking=True).dtype is fb.float16


@pytest.fixture
def default():
    before = fb.get_default_device()
    yield before
    fb.set_default_device(None)


def made() -> str:
    return fb.zeros(1).device.name


def test_the_default_device(default, gpu):
    with fb.device("cpu") as cpu:
        assert fb.get_default_device() is cpu and made() == fb.tensor([1]).device.name == "cpu"
        with fb.device("gpu"):
            assert made() == gpu.name
            fb.set_default_device("cpu")  # of this block
            assert made() == "cpu"
            fb.set_default_device(None)
            assert made() == default.name
        with cpu:
            assert made() == "cpu"
    assert made() == default.name
    fb.set_default_device("cpu")
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(made()))
    thread.start()
    thread.join()
    assert made() == "cpu" and elsewhere == ["cpu"]
    fb.set_default_device(None)
    assert made() == default.name and fb.nn.Linear(1, 1).weight.device is default


def test_a_recorded_call_depends_on_it(default, gpu):
    ones = fb.jit(lambda n: fb.ones(2) * n)
    cpu = fb.device("cpu")
    for device in (cpu, gpu, cpu, gpu):
        with device:
            assert ones(2.0).device is device


def test_cuda(gpu):
    assert fb.cuda.is_available() is fb.backends.mps.is_available() is fb.backends.cuda.is_available() is True
    assert fb.cuda.device_count() >= 1 and fb.cuda.current_device() == 0
    assert fb.cuda.get_device_name() == gpu.name.removeprefix("gpu:") == fb.cuda.get_device_name(0)
    x = fb.ones(1000, device=gpu).realize()
    fb.cuda.synchronize()
    assert 4000 <= fb.cuda.memory_allocated() <= fb.cuda.max_memory_allocated()
    assert fb.cuda.memory_reserved() >= fb.cuda.memory_allocated() and x.is_cuda
    fb.cuda.empty_cache()


def test_accelerator(gpu, monkeypatch):
    a = fb.accelerator
    assert a.is_available() is True and a.current_accelerator() is a.current_accelerator(True) is gpu
    assert a.current_accelerator().type == "gpu" and a.current_device_index() == 0
    assert a.device_count() == fb.cuda.device_count()
    x = fb.ones(1000, device=gpu).realize()
    a.synchronize()
    assert x.nbytes <= a.memory_allocated() <= a.max_memory_allocated() and a.memory_reserved()
    a.empty_cache()
    monkeypatch.setattr(a, "is_available", lambda: False)
    assert a.current_accelerator() is None
    with pytest.raises(AttributeError, match="module 'flambeau.accelerator' has no attribute 'Steam'$"):
        _ = a.Steam


def test_seeds():
    fb.cuda.manual_seed_all(7)
    first = fb.rand(3).tolist()
    assert fb.initial_seed() == 7
    state = fb.get_rng_state()
    second = fb.rand(3).tolist()
    fb.set_rng_state(state)
    assert fb.rand(3).tolist() == second != first
    fb.manual_seed(7)
    assert fb.rand(3).tolist() == first
    assert fb.seed() == fb.initial_seed() != 7
    fb.manual_seed(0)


def test_settings_of_other_libraries():
    warn_once._said.discard(fb.backends.CUDNN)
    with pytest.warns(UserWarning, match="settings of cuDNN have no effect here") as told:
        fb.backends.cudnn.benchmark = True
        fb.backends.cudnn.deterministic = False
    assert len(told) == 1 and fb.backends.cudnn.benchmark and not fb.backends.cudnn.is_available()
    fb.backends.cudnn.benchmark, fb.backends.cudnn.deterministic = False, True
    rule = r"fb.set_matmul_precision\('high'\) does what allow_tf32 does"
    with pytest.raises(AttributeError, match=rule):
        fb.backends.cuda.matmul.allow_tf32 = True
    with pytest.raises(AttributeError, match=rule):
        fb.backends.cudnn.allow_tf32 = True


def test_one_note_a_process(gpu):
    code = """
import warnings
import flambeau as fb
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    device = fb.device("cuda" if fb.cuda.is_available() else "cpu")
    fb.ones(1, device="cuda:0").cuda()
    fb.ones(1).to(device)
print(*(w.message for w in told), sep=";")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ANY_MAKE
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            (lambda: warn_once.note("said in this test alone"))()
    assert [str(w.message) for w in told] == ["said in this test alone"]
    assert told[0].filename == __file__


def test_what_is_refused():
    with pytest.raises(TypeError) as told:
        fb.device(1.5)
    assert str(told.value) == "device(1.5): float is not a device: use 'gpu', 'gpu:1', 'cpu' or a tensor's"
    with pytest.raises(AttributeError, match="module 'flambeau.cuda' has no attribute 'Steam'$"):
        _ = fb.cuda.Steam
