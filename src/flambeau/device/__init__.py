"""The device seam: which device a name means, and the few calls that every device answers."""

import os
import threading
from typing import Any

from ..errors import DeviceError, suggest

_devices: dict[str, Any] = {}
_lock = threading.RLock()


def get_device(spec: Any = None) -> Any:
    """The device a name means: None the default, "gpu", "gpu:1", "gpu:NAME" (part of its name), "cpu".

    FLAMBEAU_DEVICE sets the default; without it the best adapter is taken, and with no adapter the CPU.
    """
    if spec is not None and not isinstance(spec, str):
        return getattr(spec, "device", spec) if not hasattr(spec, "alloc") else spec
    key = spec or os.environ.get("FLAMBEAU_DEVICE") or "default"
    with _lock:
        if key not in _devices:
            _devices[key] = _open(key)
        return _devices[key]


def _open(key: str) -> Any:
    if key == "cpu":
        from .cpu import CpuDevice

        return CpuDevice()
    if key != "default" and key.split(":")[0] != "gpu":
        raise DeviceError(
            f"device({key!r}): unknown device{suggest(key, ['cpu', 'gpu'])}: use 'gpu', 'gpu:1' or 'cpu'"
        )
    from . import adapters, native

    try:
        adapter = adapters.choose(key.partition(":")[2])
        # an adapter opens once: two names for one GPU mean one device
        return next((d for d in _devices.values() if d.name == f"gpu:{adapter}"), None) or native.open_device(
            adapter
        )
    except DeviceError as e:
        if key != "default":
            raise
        import sys

        print(f"flambeau: {e}; running on the CPU with NumPy", file=sys.stderr)
        return get_device("cpu")


class Buffer:
    """A piece of device memory, given back to its pool when nothing refers to it any more."""

    __slots__ = ("handle", "nbytes", "pool", "size")

    def __init__(self, pool: Any, handle: int, nbytes: int, size: int):
        self.pool, self.handle, self.nbytes, self.size = pool, handle, nbytes, size

    def __del__(self):
        self.pool.give(self)
