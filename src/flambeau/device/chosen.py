"""Which device is meant where none is given, and PyTorch's ways to say so: fb.device, set_default_device."""

from typing import Any

from ..core.modes import depend_on
from . import default, get_device
from .seam import Caches, Device

depend_on(default)


class _Kind(type):
    """What isinstance(x, fb.device) asks: every device is one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Caches)


class device(metaclass=_Kind):
    """The device of a name: "gpu", "gpu:1", "cpu", or ("gpu", 1); "cuda" and "mps" mean the GPU.

    `with fb.device("cpu"):` makes it the one where tensors are made that name none. DeviceError where there
    is none.
    """

    def __new__(cls, type: Any, index: int | None = None) -> Any:
        return get_device(type if index is None else f"{type}:{index}")


def get_default_device() -> Device:
    """Where tensors are made that name no device."""
    return get_device()


def set_default_device(device: Any) -> None:
    """Make tensors that name no device on this one from now on: in the innermost `with device`, or in all of
    the process; None is the choice of FLAMBEAU_DEVICE again."""
    default.set(None if device is None else get_device(device))
