"""Opens devices by name, and holds the default device."""

import os
import sys
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, TypeAlias

from ..core.autocast import set_default
from ..core.dtype import DTypeLike, as_dtype, float64
from ..core.modes import depend_on
from ..errors import DeviceError, suggest
from .meta import MetaDevice
from .protocol import Caches, Device

IN_BROWSER = sys.platform == "emscripten"
# array libraries of device/array_namespace.py besides NumPy
LIBRARIES = ("torch", "cupy", "jax", "array_api_strict")
_devices: dict[str, Device] = {}
_lock = threading.RLock()
_opener = 0  # the process that is opening a GPU
FORKED = (
    "GPUs opened before a fork can't be used in the child: start the process with the 'spawn' method"
    " (multiprocessing.get_context('spawn')), or compute on 'cpu' there"
)


class _Default:
    """The default device; None before one is chosen."""

    process: Any = None

    def __init__(self) -> None:
        # the enclosing `with device` blocks
        self.blocks: ContextVar[tuple[Any, ...]] = ContextVar("device", default=())

    def get(self) -> Any:
        blocks = self.blocks.get()
        return blocks[-1] if blocks else self.process

    def set(self, device: Any) -> None:
        """Set the default device of the innermost block, or of the process."""
        if blocks := self.blocks.get():
            self.blocks.set((*blocks[:-1], device))
        else:
            self.process = device

    def enter(self, device: Any) -> None:
        self.blocks.set((*self.blocks.get(), device))

    def leave(self) -> None:
        self.blocks.set(self.blocks.get()[:-1])


default = _Default()
depend_on(default)


def get_device(spec: Any = None) -> Device:
    """Open the device of a name: None for the default, "gpu", "gpu:1", "gpu:NAME" (part of its name),
    "cpu" (NumPy), "meta" (shapes without values), or another array library: "torch", "torch:cuda:1",
    "cupy", "jax".

    FLAMBEAU_DEVICE sets the default. Without it, the default is the best adapter, or the CPU if there is
    none. A number selects that GPU, and PyTorch's "cuda", "cuda:1" and "mps" mean "gpu", "gpu:1" and
    "gpu".
    """
    if spec is None:
        if (chosen := default.get()) is not None:
            return chosen
    elif not isinstance(spec, str):
        return get_device(f"gpu:{spec}") if type(spec) is int else _device_of(spec)
    key = spec or os.environ.get("FLAMBEAU_DEVICE") or "default"
    with _lock:
        device = _devices.get(key)
        if device is None or (IN_BROWSER and device.lost):
            device = _devices[key] = _open(key)
        return device


class _Kind(type):
    """Makes isinstance(x, fb.device) true for every device."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Caches)


class device(metaclass=_Kind):
    """The device of a name: "gpu", "gpu:1", "cpu", "meta", or ("gpu", 1); "cuda" and "mps" mean the GPU.

    `with fb.device("cpu"):` makes it the default device inside the block. DeviceError if there is no
    such device. type: a name, with or without a number; index: the number.
    """

    def __new__(cls, type: Any, index: int | None = None) -> Any:
        return get_device(type if index is None else f"{type}:{index}")


DeviceLike: TypeAlias = Device | device | str | int  # types that name a device; a number is a GPU's


def get_default_device() -> Device:
    """The device of tensors that are created without a device."""
    return get_device()


def set_default_device(device: DeviceLike | None) -> None:
    """Set the device of tensors that are created without a device: in the innermost `with device` block,
    or in the process. None restores the choice of FLAMBEAU_DEVICE."""
    default.set(None if device is None else get_device(device))


def set_default_dtype(d: DTypeLike) -> None:
    """Set the process's dtype of Python floats and of results without float operands (zeros, rand,
    layers, 1 / 2 of integers): float32, float16, bfloat16 or float64.

    d: a dtype or its name. Random numbers are drawn in float32 and rounded. TypeError for other dtypes, and
    ValueError for float64 if the default device is a GPU.
    """
    dtype = as_dtype(d)
    if dtype is float64 and (device := get_device()).kind == "gpu":
        rule = f"{device.name} is the default device, and GPUs have no floats of 64 bits"
        raise ValueError(f"set_default_dtype({d!r}): {rule}: set_default_device('cpu') first")
    set_default(dtype)


async def open_device(spec: DeviceLike | None = None) -> Device:
    """Open a device like `get_device`, but as a coroutine. A page calls it first, because browsers open a GPU
    asynchronously.

    spec: a device's name, as in get_device; None for the best. After a loss of the GPU it opens it again;
    earlier tensors are lost.
    """
    if isinstance(spec, str) and (opener := AWAITED.get(spec.partition(":")[0])) is not None:
        kind, _, name = spec.partition(":")
        return await opener(kind, name)
    if IN_BROWSER and spec != "cpu" and (spec is None or isinstance(spec, str)):
        from ..device import web

        await web.open_device()
    return get_device(spec)


def number_of(device: Any) -> int | None:
    """Return the number of a GPU in names: gpu:0 is the best."""
    if device.kind != "gpu":
        return None
    if IN_BROWSER:
        return 0
    from .adapters import adapters

    all_adapters = adapters()
    return all_adapters.index(device.adapter) if device.adapter in all_adapters else None


def reopen(name: str) -> Device:
    """Open the device named in a pickle; the best GPU if this machine has no device of that name."""
    try:
        return get_device(name)
    except DeviceError:
        return get_device("gpu" if name.startswith("gpu") else name)


def _device_of(value: Any) -> Any:
    """Return the device itself, or the device of a tensor."""
    try:
        return value if isinstance(value, Caches) else value.device
    except AttributeError:
        rule = f"{type(value).__name__} is not a device: use 'gpu', 'gpu:1', 'cpu' or a tensor's"
        raise TypeError(f"device({value!r}): {rule}") from None


def _open(key: str) -> Device:
    kind, colon, name = key.partition(":")
    if kind in OTHERS:
        from ..core.warn_once import note

        note(ANY_MAKE)
        return get_device(f"gpu{colon}{name}")
    if kind not in OPENED or (colon and kind in ("cpu", "default", "meta")):
        raise DeviceError(
            f"device({key!r}): unknown device{suggest(key, [name for name in OPENED if name != 'default'])}:"
            " use 'gpu', 'gpu:1', 'cpu' or 'torch:cuda'"
        )
    return OPENED[kind](kind, name)


def keep(device: Any) -> None:
    """Let a device's name mean this device from now on."""
    with _lock:
        _devices[device.name] = device


def drop(device: Any) -> None:
    """Let a device's name open another one at its next use."""
    with _lock:
        for name in [name for name, opened in _devices.items() if opened is device]:
            del _devices[name]


def _open_or_none(name: str) -> Device | None:
    """Return the device of this name if it is open. Two names of one GPU give one device."""
    return next((d for d in _devices.values() if d.name == name), None)


def _open_default(_kind: str, _which: str) -> Device:
    """Open the best adapter, or NumPy without one. In a page there is only its GPU."""
    try:
        return _open_gpu("gpu", "")
    except DeviceError as e:
        if IN_BROWSER:
            raise
        print(f"flambeau: {e}; running on the CPU with NumPy", file=sys.stderr)
        return get_device("cpu")


def _open_gpu(_kind: str, which: str) -> Device:
    if IN_BROWSER:
        from ..device import web

        return web.open_now()
    global _opener
    # set by another process: the caller was forked while a thread opened a GPU, whose imports never end here
    if _opener not in (0, os.getpid()):
        raise DeviceError(f"device('gpu'): {FORKED}")
    _opener = os.getpid()
    try:
        from ..device import adapters, native

        # an adapter opens once: two names for one GPU mean one device
        return adapters.open_adapter(which, lambda a: _open_or_none(f"gpu:{a}") or native.open_device(a))
    finally:
        _opener = 0


def _open_numpy(_kind: str, _which: str) -> Device:
    from .cpu import CpuDevice

    try:
        return CpuDevice()
    except ImportError as e:
        raise DeviceError(f"device('cpu'): {e}: the CPU device needs NumPy: use 'gpu' here") from None


def _open_meta(_kind: str, _which: str) -> Device:
    return MetaDevice()


def _open_library(library: str, where: str) -> Device:
    """Open an array library's device: "torch" is "torch:cpu"."""
    from .cpu import CpuDevice

    where = where or ("cpu" if library == "torch" else "")
    name = f"{library}:{where}" if where else library
    return _open_or_none(name) or CpuDevice(name, library, where)


ANY_MAKE = (
    "here 'cuda' means the GPU that WebGPU provides, of any vendor: its name is 'gpu', or 'gpu:1'"
    " for the second"
)
OTHERS = ("cuda", "mps", "xpu")  # PyTorch's names of GPUs
AWAITED: dict[str, Callable[[str, str], Awaitable[Device]]] = {}  # the same for those that a page awaits
OPENED: dict[str, Any] = {  # the part of a name before its colon -> its opening function
    "default": _open_default,
    "gpu": _open_gpu,
    "cpu": _open_numpy,
    "meta": _open_meta,
    **dict.fromkeys(LIBRARIES, _open_library),
}


def _after_fork() -> None:
    """Reset the devices in a forked child, where only the forking thread survives."""
    global _lock
    _lock = threading.RLock()
    for device in {id(d): d for d in _devices.values()}.values():
        device.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def lanes_of(adapter: str) -> int:
    """Return the number of floats in a register of a software adapter's CPU; SwiftShader uses SSE."""
    return 4 if "swiftshader" in adapter.lower() else 8


class Arrived:
    """The result of `fetch` on a device that can wait: the bytes are already here."""

    def __init__(self, parts: list[Any]):
        self.parts = parts

    def wait(self) -> list[Any]:
        return self.parts

    async def arrive(self) -> list[Any]:
        return self.parts


def locate_error(message: str, wgsl: str) -> str:
    """Add the shader lines around the position in a compiler's message."""
    import re

    place = re.search(r":(\d+):(\d+)", message)
    offset = int(place.group(1)) if place else 0
    lines = wgsl.splitlines()
    near = "\n".join(
        f"  {i:4} {lines[i - 1]}"
        for i in range(max(offset - 2, 1), min(offset + 3, len(lines) + 1))
        if offset
    )
    return message.strip() + ("\n" + near if near else "")
