"""The seam: which device a name means, memory, and what is said when something is missing or breaks."""

import asyncio
import os
import subprocess
import sys
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

import flambeau as fb
from flambeau.device import c_path, get_device
from flambeau.device.memory import batches, size_class
from flambeau.errors import KernelError


def python(code: str, **env) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, timeout=100
    )


def test_names_mean_devices(gpu):
    assert get_device("gpu") is get_device("gpu:0") is gpu
    assert get_device(gpu) is gpu
    assert get_device("cpu").name == "cpu"
    assert get_device(f"gpu:{gpu.adapter.name[:5]}").adapter.name == gpu.adapter.name


CLOSED = """
import flambeau as fb
from flambeau import nn, optim
from flambeau.learner import Learner

model = nn.Linear(2, 1, device="gpu")
batch = fb.ones(4, 2, device="gpu"), fb.zeros(4, 1, device="gpu")
Learner(model, optim.SGD(model.parameters(), lr=0.1), nn.MSELoss()).fit([batch], epochs=2)
"""


@pytest.mark.skipif(os.name != "posix", reason="closes descriptors in a shell")
@pytest.mark.parametrize("closed", ["2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.share(5)
def test_a_process_without_standard_streams_trains(gpu, closed):
    script = ["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, CLOSED]
    done = subprocess.run(script, env={**os.environ, "TERM": "xterm"}, capture_output=True, timeout=100)
    assert done.returncode == 0, done.stderr


def test_an_unknown_device_is_named():
    with pytest.raises(fb.DeviceError) as caught:
        fb.tensor([1.0], device="gpuu")
    assert str(caught.value) == (
        "device('gpuu'): unknown device: did you mean 'gpu'?: use 'gpu', 'gpu:1', 'cpu' or 'torch:cuda'"
    )


def test_an_adapter_that_is_not_there(gpu):
    with pytest.raises(fb.DeviceError) as caught:
        fb.tensor([1.0], device="gpu:nosuch")
    assert str(caught.value).startswith("device('gpu:nosuch'): no such adapter: the adapters are gpu:0 ")


def test_devices_do_not_mix(gpu):
    with pytest.raises(ValueError) as caught:
        fb.tensor([1.0], device="cpu") + fb.tensor([1.0], device=gpu)
    assert (
        str(caught.value)
        == f"add(f32[1], f32[1]): devices differ: cpu and {gpu.name}: move one with .to(...)"
    )


def test_a_tensor_larger_than_a_binding_is_refused_with_the_number(gpu):
    n = gpu.max_binding // 4 + 1
    with pytest.raises(fb.DeviceError) as caught:
        fb.zeros(n, device=gpu).realize()
    assert str(caught.value) == (
        f"alloc({4 * n:,} bytes): {gpu.name} binds at most {gpu.max_binding:,} bytes a tensor:"
        " split the tensor"
    )
    assert fb.ones(2, device=gpu).sum().item() == 2  # still usable


@pytest.mark.usefixtures("collected")
def test_out_of_memory_says_what_is_in_use(gpu, monkeypatch):
    def refuse(**_):
        raise RuntimeError("Out of Memory\nmore text")

    monkeypatch.setattr(gpu._wgpu, "create_buffer", refuse)
    with pytest.raises(fb.DeviceError) as caught:
        gpu.alloc(1 << 20, 1_000_000)
    assert str(caught.value) == (
        f"alloc(1,000,000 bytes): {gpu.name} is out of memory, {gpu.pool.live:,} bytes are in use:"
        " use a smaller batch (Out of Memory)"
    )


def test_a_lost_device_is_an_exception(gpu, monkeypatch):
    monkeypatch.setattr(gpu, "lost", "driver reset")
    with pytest.raises(fb.DeviceError) as caught:
        fb.ones(3, device=gpu).sum().item()
    told = f"{gpu.name} was lost (driver reset): restart the process; checkpoints are not affected"
    assert str(caught.value) == told


def test_bad_wgsl_names_the_kernel_and_the_line(gpu):
    with pytest.raises(fb.KernelError) as caught:
        gpu.pipeline("fn main() {\n  let x = nothing;\n}", "wrong+kernel", 0)
    assert str(caught.value).startswith(f"wrong+kernel: the kernel does not compile on {gpu.name}: ")
    assert "2   let x = nothing;" in str(caught.value)


def test_a_proven_text_is_checked_before_anything_runs(gpu):
    """In the background, where the device compiles there."""
    if gpu.compilers < 2:
        pytest.skip("one processor, or a provider whose devices are for one thread")
    number = gpu.pipeline("fn main() {\n  let x = nothing;\n}", "wrong+kernel", 0, proven=True)
    for call in (gpu.check_texts, lambda: gpu.compiled(number), lambda: gpu.compiled(number)):
        with pytest.raises(KernelError, match=r"wrong\+kernel: the kernel does not compile"):
            call()
    gpu.check_texts()  # it was reported


def test_without_an_adapter_the_cpu_takes_over_and_says_so():
    code = "import flambeau as fb; print(fb.tensor([1.0, 2.0]).sum().item(), fb.ones(1).device)"
    done = python(
        code, VK_ICD_FILENAMES="/nowhere.json", VK_DRIVER_FILES="/nowhere.json", FLAMBEAU_BACKEND="vulkan"
    )
    assert done.stdout.split() == ["3.0", "cpu"], done.stderr
    assert "flambeau: no WebGPU adapter found: " in done.stderr
    assert done.stderr.rstrip().endswith("; running on the CPU with NumPy")


REFUSES = """
import flambeau as fb
from flambeau.device import adapters, native
class Raw:
    limits, features = native.OF_ADAPTER | native.LIMITS, ()
    def request_device_sync(self, **wanted):
        raise RuntimeError("no feature of it\\nmore text")
card = adapters.Adapter("Card", "DiscreteGPU", "OpenGL", "", Raw())
listed = (card, *adapters.adapters()[:REST])
adapters.adapters = lambda: listed
print(fb.ones(1).device, fb.zeros(1, device="gpu").device)
fb.ones(1, device="gpu:card")
"""


@pytest.mark.parametrize(
    "others, then", [(True, "trying {} (Vulkan)"), (False, "running on the CPU with NumPy")]
)
@pytest.mark.share(3)
def test_the_next_adapter_is_taken_where_a_driver_refuses_the_best(gpu, others, then):
    """NVIDIA's OpenGL adapter is listed where Vulkan is told to show another driver, and does not open."""
    code = REFUSES.replace("REST", "9" if others else "0")
    code = code if others else code.replace(', fb.zeros(1, device="gpu").device', "")
    done = python(code)
    refused = "device(Card (OpenGL)): the driver reports: no feature of it: run 'flambeau doctor'"
    assert done.stdout.split("\n")[0] == (f"{gpu} {gpu}" if others else "cpu"), done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("flambeau: device")]
    assert told[0] == f"flambeau: {refused}; {then.format(gpu.adapter.name)}"
    assert done.stderr.strip().endswith(refused)  # what was asked for by name has no other


def test_an_unknown_backend_is_named():
    done = python("import flambeau as fb; fb.ones(1, device='gpu').item()", FLAMBEAU_BACKEND="opengles9")
    assert done.stderr.strip().endswith(
        "FLAMBEAU_BACKEND=opengles9: unknown backend: use one of vulkan, gl, metal, dx12"
    )


@pytest.mark.share(5)
def test_portable_limits_are_asked_for_by_name(gpu):
    code = """import flambeau as fb
d = fb.ones(1, device="gpu").device
print(*(d._wgpu.limits[k] for k in ("max-buffer-size", "max-storage-buffer-binding-size",
    "max-storage-buffers-per-shader-stage", "max-compute-workgroup-storage-size")), d.limits.groups)
print(fb.ones(33 << 20, device=d).add(1).realize())"""
    done = python(code, FLAMBEAU_LIMITS="portable")
    assert done.stdout.split() == ["268435456", "134217728", "8", "16384", "65535"], done.stderr
    told = "binds at most 134,217,728 bytes a tensor: split the tensor"
    assert done.stderr.strip().endswith(told)
    done = python("import flambeau as fb; fb.ones(1, device='gpu').item()", FLAMBEAU_LIMITS="small")
    told = "FLAMBEAU_LIMITS=small: unknown limits: use 'portable', or unset it"
    assert done.stderr.strip().endswith(told)


@pytest.mark.parametrize(
    "name, told",
    [
        ("KERNELS", "FLAMBEAU_KERNELS=fast: unknown kernels: use 'gpu' or 'software', or unset it"),
        ("DEBUG", "FLAMBEAU_DEBUG=fast: unknown: use 1 or 2, or unset it"),
    ],
)
@pytest.mark.share(5)
def test_settings_that_are_unknown(gpu, name, told):
    code = "import flambeau as fb; fb.ones(1, device='gpu').item()"
    assert python(code, **{f"FLAMBEAU_{name}": "fast"}).stderr.strip().endswith(told)


def test_reads_are_parted_where_one_buffer_cannot_hold_them(gpu, monkeypatch):
    made = [fb.full((n,), n, dtype=fb.int32, device=gpu) for n in (300, 1, 500, 0, 1000, 24)]
    fb.realize(*made)
    monkeypatch.setattr(gpu, "max_binding", 4096)
    asked = [(t.node.buffer.handle, t.node.nbytes) for t in made]
    assert [len(part) for part in batches(asked, gpu.max_binding)] == [4, 1, 1]
    assert [set(data) for data in map(list, gpu.read(asked))] == [
        set(np.int32(n).tobytes()) if n else set() for n in (300, 1, 500, 0, 1000, 24)
    ]


@pytest.mark.usefixtures("collected")
def test_memory_is_counted_and_comes_back(gpu):
    before = fb.memory(gpu)["live"]
    x = fb.ones(1000, device=gpu).realize()
    assert fb.memory(gpu)["live"] == before + size_class(4000)
    del x
    assert fb.memory(gpu)["live"] == before


def test_memory_that_runs_out_on_the_way_takes_no_buffer_from_commands(gpu, monkeypatch):
    x = fb.rand(300, 300, device=gpu).realize()
    gpu.pool.trim()
    make, refused = gpu._wgpu.create_buffer, []

    def once(**asked):
        if asked["size"] > 500_000 and not refused:
            refused.append(1)
            raise RuntimeError("Out of Memory")
        return make(**asked)

    monkeypatch.setattr(gpu._wgpu, "create_buffer", once)
    y = x @ x  # its buffer is free again when the large one is asked for
    found = (y.sum(0) + fb.zeros(600, 1, device=gpu).expand(600, 300) @ (x * 0 + 1)).cumsum(0)
    assert np.allclose(found.numpy()[1], 2 * (x.numpy() @ x.numpy()).sum(0), rtol=1e-4)
    assert refused


def test_size_classes_are_few_and_near():
    sizes = [size_class(n) for n in range(1, 100_000, 37)]
    assert sizes == sorted(sizes)
    assert all(n <= size_class(n) <= max(256, n * 1.125 + 256) for n in range(1, 100_000, 37))
    assert len(set(sizes)) < 90


@pytest.mark.share(5)
def test_synchronize_waits_on_dawn_too():
    from helpers import tint

    if not tint.driver_file():
        pytest.skip("no SwiftShader beside a Chromium")
    code = """import flambeau as fb
x = fb.rand(256, 256).realize()
done, device = [], x.device
for _ in range(8):
    y = x
    for _ in range(8):
        y = (y @ x).realize()
    mark = device._queue.on_submitted_work_done_async()
    before = mark._state
    fb.synchronize()
    device._wgpu._poll()  # tells what is done, and waits for nothing
    done.append((before, mark._state))
print(set(done))"""
    found = python(code, FLAMBEAU_WEBGPU="dawn", VK_ICD_FILENAMES=tint.driver_file())
    assert found.stdout.strip() == "{('pending', 'pending-fulfilled')}", found.stdout + found.stderr


@pytest.mark.share(5)
def test_dawn_clears_no_buffer_beside_an_upload():
    """Its clear of a new buffer may end after the first write to it: see device/dawn.py."""
    from helpers import tint

    if not tint.driver_file():
        pytest.skip("no SwiftShader beside a Chromium")
    code = """import flambeau as fb
from wgpudawn.backends.dawn import extras
print("lazy_clear_resource_on_first_use" in extras.get_toggles(fb.ones(2).realize().device._wgpu))"""
    shown = python(code, FLAMBEAU_WEBGPU="dawn", VK_ICD_FILENAMES=tint.driver_file())
    assert shown.stdout.strip() == "False", shown.stdout + shown.stderr


AHEAD = """import flambeau as fb
from flambeau.device import native, promised
from flambeau.errors import KernelError
native.keeps_pipelines = lambda adapter: True
x = fb.arange(24).reshape(4, 6).float().realize()
compiling, helpers = x.device._compiling, []
opened, promised.HELPERS, promised.EACH = promised.Helper.__init__, 2, 1
promised.Helper.__init__ = lambda self, device: helpers.append(0) or opened(self, device)
ys = [x * 2, x.sum(), x.amax(0), x @ x.mT, x.exp().sum(1), x.flip(0).contiguous(), x.cumsum(1), x.sort()[0]]
fb.realize(*ys)
print(type(compiling).__name__, len(helpers) in (1, 2), [y.sum().item() for y in ys[:3]])
with x.device.lock:
    text = "@compute @workgroup_size(1)\\nfn main() { let x = SIZE; }"
    numbers = [x.device.pipeline(text.replace("SIZE", f"{n}u"), f"k{n}", 0) for n in range(12)]
    for n in numbers:
        assert x.device.compiled(n) is x.device.compiled(n) and x.device.is_compiled(n)
    compiling.advance()
    print(compiling._own, compiling._ahead, compiling._helpers)
    try:
        x.device.pipeline(text, "wrong", 0)
    except KernelError as e:
        print(str(e).split(":")[0])
"""


@pytest.mark.share(5)
def test_dawn_compiles_ahead_on_other_devices():
    from helpers import tint

    if not tint.driver_file():
        pytest.skip("no SwiftShader beside a Chromium")
    shown = python(AHEAD, FLAMBEAU_WEBGPU="dawn", VK_ICD_FILENAMES=tint.driver_file())
    lines = ["PromisedAhead True [552.0, 276.0, 123.0]", "[] [] []", "wrong"]
    assert shown.stdout.splitlines() == lines, shown.stdout + shown.stderr


AHEAD_AND_ENDED = """import gc, os, sys, threading
import flambeau as fb
from flambeau.device import native, promised
from wgpudawn.backends.dawn._api import GPUDevice
native.keeps_pipelines = lambda adapter: True
x = fb.ones(3).realize()
promised.EACH, how = 1, sys.argv[1]
text = "@compute @workgroup_size(1)\\nfn main() { let x = SIZE; }"
def begin(numbers):
    with x.device.lock:
        return [x.device.pipeline(text.replace("SIZE", f"{n}u"), f"k{n}", 0) for n in numbers]
def compile(numbers):
    for n in begin(numbers):
        x.device.compiled(n)
def count():
    gc.collect()
    return sum(isinstance(o, GPUDevice) and o._internal is not None for o in gc.get_objects())
opened, open_wgpu = [], native.open_wgpu
def open_one(adapter):
    opened.append(0)
    if how == "refused":
        os.write(2, b"terminator_CreateDevice: Failed in ICD")
        raise native.Refused("vkCreateDevice")
    return open_wgpu(adapter)
native.open_wgpu = open_one
if how == "lost":
    promised.Helper.begin = lambda self, job: self._path.layout(None, 1, 1)
"""
ENDS = {
    "released": """
x.device._compiling._openings = 3
for t in range(4):
    compile(range(12 * t, 12 * t + 12))
print(count(), len(opened))""",
    "refused": "compile(range(30)); print(count(), len(opened))",
    "lost": "compile(range(30)); x.device._compiling.advance(); print(count(), len(opened))",
    "exit": """
from flambeau.device.promised import Helper
import atexit
compiling, helpers = x.device._compiling, []
def show():
    print(len(helpers) > 0, [p.is_pending() for p in compiling._own], count())
    compile(range(50, 53))
    print(fb.arange(4).sum().item())
atexit.unregister(promised._close_all)
atexit.register(show)  # runs after the compilers are closed
atexit.register(promised._close_all)
close, Helper.close = Helper.close, lambda self: (helpers.append(0), close(self))
begin(range(12))
if os.fork() == 0:
    compiling.close()
    os._exit(len(helpers))
raise SystemExit(os.wait()[1])""",
    "fork": """
begin(range(12))
if os.fork() == 0:  # a release would wait for threads of the parent
    GPUDevice._release_function = lambda handle: os._exit(9)
    x.device._wgpu.__del__()
    raise SystemExit
print(os.wait()[1])""",
}
PRINTED = {"released": "1 3", "refused": "1 1", "lost": "1 1", "exit": "True [] 1\n6", "fork": "0"}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.share(5)
def test_dawn_releases_what_compiles_ahead(how):
    """The other devices are freed after each plan and at exit, and one that fails is not tried again."""
    from helpers import tint

    if not tint.driver_file():
        pytest.skip("no SwiftShader beside a Chromium")
    code = AHEAD_AND_ENDED.replace("sys.argv[1]", repr(how)) + ENDS[how]
    shown = python(code, FLAMBEAU_WEBGPU="dawn", VK_ICD_FILENAMES=tint.driver_file())
    assert shown.stdout.strip() == PRINTED[how], shown.stdout + shown.stderr
    assert shown.returncode == 0 and "CreateDevice" not in shown.stderr, shown.stderr


def test_reads_come_later_and_in_any_order(gpu):
    x = fb.arange(6, device=gpu).realize()
    readings = [fb.read(x * i, x.sum() + i) for i in range(12)]
    x.assign_(x * 0)
    for i in (11, 0, 5, *range(12)):
        assert readings[i] == [[i * v for v in range(6)], 15 + i]
    del readings[0]  # never asked for
    fb.read(x), fb.read(fb.zeros(100_000, device=gpu))
    assert len(gpu.stagings.free) <= 4
    assert x.tolist() == [0] * 6


def test_several_reads_are_awaited_at_once(gpu):
    async def both():
        return await asyncio.gather(*(fb.full((3,), i, device=gpu).read() for i in range(5)))

    assert [d.tolist() for d in asyncio.run(both())] == [[i] * 3 for i in range(5)]


def test_submits_that_are_not_done_are_few(gpu):
    x = fb.rand(64, 64, device=gpu).realize()
    for _ in range(40):
        x = (x @ x * 0.1).realize()
        assert len(gpu._fast._marks) <= c_path.IN_FLIGHT
    fb.synchronize(gpu)
    assert not gpu._fast._marks


def test_bind_groups_go_with_their_buffers(gpu):
    """And nothing is left of them with the buffers that stay."""
    kept = [fb.ones(5, device=gpu).realize() for _ in range(3)]

    def keys() -> tuple[int, int]:
        return len(gpu._groups), sum(map(len, gpu._users.values()))

    counts = []
    for _ in range(30):

        @fb.jit
        def total(x, y):  # a recording has Params of its own, which go with it
            return (x * y).sum()

        for _ in range(4):
            assert total(*kept[:2]).item() == 5
        del total
        counts.append(keys())
    assert counts[-1] == counts[5]


def test_no_more_bind_groups_are_kept_than_so_many(gpu, monkeypatch):
    from flambeau.device import native

    monkeypatch.setattr(native, "GROUPS_KEPT", 50)
    before = len(gpu._groups)  # what other tests left: each new one puts out one of these
    x = [fb.full((3,), i, device=gpu).realize() for i in range(15)]
    for a in range(15):
        for b in range(15):
            assert (x[a] * 2 + x[b]).tolist() == [2 * a + b] * 3
    assert len(gpu._groups) <= max(51, before)
    assert {h for key in gpu._groups for h in key[2:]} <= gpu._users.keys()


def test_a_submit_that_computes_counts_as_a_wait_for_the_device(monkeypatch):
    """A software adapter's returns when the work is done: the time is none of Python's."""
    clock = iter([1.001, 2.5])
    monkeypatch.setattr(c_path, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    path = object.__new__(c_path.WgpuPath)
    vars(path).update(_marks=deque(), paced=0.0)
    path.sent(0, 1.0)
    assert path.paced == 0.0
    path.sent(0, 2.0)
    assert path.paced == 0.5 and len(path._marks) == 2
