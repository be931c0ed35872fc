"""What happens while commands are encoded, submitted or read leaves a device that goes on working."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from helpers import raising, tint
from helpers.paths import TESTS

import flambeau as fb
from flambeau.device import native

ENCODED = {
    "wgpuDeviceCreateCommandEncoder",
    "wgpuCommandEncoderBeginComputePass",
    "wgpuComputePassEncoderSetPipeline",
    "wgpuComputePassEncoderSetBindGroup",
    "wgpuComputePassEncoderDispatchWorkgroups",
    "wgpuComputePassEncoderEnd",
    "wgpuCommandEncoderCopyBufferToBuffer",
    "wgpuCommandEncoderFinish",
}
WITH_A_READ = ENCODED | {"wgpuQueueSubmitForIndex", "wgpuBufferMapAsync", "wgpuDevicePoll"}


@pytest.fixture
def device(gpu):
    """The adapter opened again: its library is exchanged."""
    return native.NativeDevice(gpu.adapter)


def test_an_exception_at_any_call_leaves_a_device_that_works(device):
    assert raising.at_each_call(device) >= WITH_A_READ


def by_dawn(code):
    """What a program prints that runs by Dawn."""
    if not tint.driver_file():
        pytest.skip("no SwiftShader beside a Chromium")
    code = f"import sys\nsys.path.insert(0, {str(TESTS)!r})\n{code}"
    env = {**os.environ, "FLAMBEAU_WEBGPU": "dawn", "VK_ICD_FILENAMES": tint.driver_file()}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.share(5)
def test_an_exception_at_any_call_of_dawn_does_too():
    told = by_dawn("""import flambeau as fb
from helpers import raising
print(*raising.at_each_call(fb.zeros(1, device="gpu").device))""")
    assert set(told.split()) == ENCODED


@pytest.mark.parametrize("shared", [False, True])
def test_a_ctrl_c_in_a_callback_of_dawn_ends_the_read(shared):
    """It drops what its callbacks raise: the read would fail, or wait for ever."""
    told = by_dawn(f"""import signal
import flambeau as fb
from flambeau.device import c_path
x = fb.tensor([1.0, 2.0], device="gpu").realize()
c_path.is_shared = lambda: {shared}

def interrupt(frame, event, arg):
    if event == "call" and frame.f_code.co_name == "_wgpu_set_input":
        sys.setprofile(None)
        signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.setprofile(interrupt)
try:
    print(x.tolist())
except KeyboardInterrupt:
    print("interrupted", end=" ")
print(x.tolist())""")
    assert told == "interrupted [1.0, 2.0]\n"


def test_a_signals_handler_may_compute_and_read_inside_of_any_call(device):
    """A submit inside of a submit, a read inside of a read."""
    y = fb.tensor(np.float32([1, 2]), device=device).realize()
    values = []

    def read():
        values.append((y + len(values)).tolist())

    assert raising.at_each_call(device, read) >= WITH_A_READ
    assert values == [[1 + i, 2 + i] for i in range(len(values))]


def test_a_ctrl_c_in_the_callback_of_a_read_ends_the_read(gpu):
    """cffi drops what a callback raises: the read would wait for ever."""
    x = fb.tensor(np.float32([1, 2]), device=gpu).realize()

    def interrupt(frame, event, arg):
        if event == "call" and frame.f_code.co_name == "_on_mapped":
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.setprofile(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            x.numpy()
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGINT, handler)
    assert x.tolist() == [1, 2]
