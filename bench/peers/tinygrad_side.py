"""Turns the benchmark's model into a training step of tinygrad on WebGPU (Dawn), recorded with TinyJit."""

import ctypes
import os
import platform
from importlib.util import find_spec
from pathlib import Path

from peers.protocol import Step, Unsupported
from peers.workload import LEARNING_RATE, Layer, Task

LIBRARIES = {
    ("Linux", "x86_64"): "libwebgpu_dawn_x86_64.so",
    ("Linux", "aarch64"): "libwebgpu_dawn_aarch64.so",
    ("Darwin", "x86_64"): "libwebgpu_dawn_x86_64.dylib",
    ("Darwin", "arm64"): "libwebgpu_dawn_arm64.dylib",
    ("Windows", "AMD64"): "libwebgpu_dawn.dll",
}


def start(task: Task) -> tuple[str, Step]:
    """Builds the model, puts the batch in place and gives (the adapter's name, a training step)."""
    choose_webgpu()
    from tinygrad import Tensor, nn

    layers = [function(nn, layer) for layer in task.layers]
    weighted = [layer for layer in layers if hasattr(layer, "weight")]
    for layer, (weight, bias) in zip(weighted, task.weights, strict=True):
        layer.weight.assign(Tensor(weight)).realize()
        layer.bias.assign(Tensor(bias)).realize()
    x, y = Tensor(task.images).realize(), Tensor(task.labels).realize()
    optimizer = nn.optim.Adam(nn.state.get_parameters(layers), lr=LEARNING_RATE)

    return adapter_name(), trained(lambda: x.sequential(layers).sparse_categorical_crossentropy(y), optimizer)


def trained(loss_of, optimizer) -> Step:
    """A step of training, recorded: gradients of `loss_of()`, their update, and the loss as a number."""
    from tinygrad import Context, TinyJit

    @TinyJit
    def train():
        with Context(TRAINING=1):
            optimizer.zero_grad()
            loss = loss_of().backward()
            return loss.realize(*optimizer.schedule_step())

    return lambda: train().item()


def choose_webgpu() -> None:
    """Sets tinygrad's device and Dawn's library, unless the environment already names one."""
    os.environ["DEV"] = "WEBGPU"
    if "WEBGPU_PATH" in os.environ:
        return
    if (spec := find_spec("pydawn")) is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'pydawn'", name="pydawn")
    name = LIBRARIES.get((platform.system(), platform.machine()))
    if name is None:
        raise Unsupported(f"dawn-python has no library for {platform.system()} {platform.machine()}")
    os.environ["WEBGPU_PATH"] = str(Path(spec.submodule_search_locations[0]) / "lib" / name)


def adapter_name() -> str:
    """The name that Dawn gives the adapter behind tinygrad's device."""
    from tinygrad import Device
    from tinygrad.runtime.autogen import webgpu

    info = webgpu.WGPUAdapterInfo()
    webgpu.wgpuDeviceGetAdapterInfo(Device["WEBGPU"].device_res, info)
    return ctypes.string_at(info.device.data, info.device.length).decode()


def function(nn, layer: Layer):
    """The layer as something to call: tinygrad's own layer, or a method of its tensor."""
    return {
        "conv": lambda: nn.Conv2d(layer.inputs, layer.outputs, layer.kernel, padding=layer.padding),
        "linear": lambda: nn.Linear(layer.inputs, layer.outputs),
        "relu": lambda: lambda x: x.relu(),
        "pool": lambda: lambda x: x.max_pool2d((2, 2)),
        "flatten": lambda: lambda x: x.flatten(1),
    }[layer.kind]()
