"""Functions of the module torch itself that Flambeau's own package does not have, or has in another form."""

import os
from typing import Any

from ..device import set_default_device, set_default_dtype
from ..runtime.state import thread
from ..tensor import Tensor
from .legacy_types import dtype_and_device
from .storages import TypedStorage, UntypedStorage


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether an object is a storage."""
    return isinstance(obj, UntypedStorage | TypedStorage)


def typename(obj: Any) -> str:
    """The name of an object's type, such as torch.FloatTensor of a tensor."""
    if isinstance(obj, Tensor):
        kind: Any = obj.type
        return kind()
    owner = obj if isinstance(obj, type) or hasattr(obj, "__qualname__") else type(obj)
    module = getattr(owner, "__module__", "") or ""
    return owner.__qualname__ if module in ("", "builtins") else f"{module}.{owner.__qualname__}"


def check_condition(condition: Any, message: str) -> None:
    """AssertionError with this message if the condition is false."""
    assert condition, message


def check_all(
    input: Any, assert_msg: str = "Expected Tensor with single nonzero value, but got zero"
) -> None:
    """RuntimeError with this message if the condition, a tensor of one element, is false.

    It reads the value, except while a call is recorded.
    """
    if thread.recorder is None and not input:
        raise RuntimeError(assert_msg)


class _Settings:
    """Settings that have no effect here, and keep their values."""

    threads = os.cpu_count() or 1
    interop_threads = os.cpu_count() or 1
    deterministic, warn_only = False, False
    always_warns = False


def set_num_threads(num: int) -> None:
    """Keep the number for get_num_threads: NumPy and the GPU's driver choose their threads."""
    _Settings.threads = int(num)


def get_num_threads() -> int:
    """The number that was set, or that of processors."""
    return _Settings.threads


def set_num_interop_threads(num: int) -> None:
    """Keep the number for get_num_interop_threads."""
    _Settings.interop_threads = int(num)


def get_num_interop_threads() -> int:
    """The number that was set, or that of processors."""
    return _Settings.interop_threads


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Keep the setting: all algorithms are deterministic in any case."""
    _Settings.deterministic, _Settings.warn_only = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether use_deterministic_algorithms(True) was called; algorithms are deterministic in any case."""
    return _Settings.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether use_deterministic_algorithms was called with warn_only."""
    return _Settings.warn_only


def get_deterministic_debug_mode() -> int:
    """0, or 1 or 2 after use_deterministic_algorithms(True)."""
    return (1 if _Settings.warn_only else 2) if _Settings.deterministic else 0


def set_deterministic_debug_mode(debug_mode: Any) -> None:
    """Keep the setting. debug_mode: 0, 1, 2, "default", "warn" or "error"."""
    levels: dict[Any, Any] = {"default": 0, "warn": 1, "error": 2}
    level = levels.get(debug_mode, debug_mode)
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def set_warn_always(b: bool) -> None:
    """Keep the setting: warnings appear once."""
    _Settings.always_warns = bool(b)


def is_warn_always_enabled() -> bool:
    """What set_warn_always set."""
    return _Settings.always_warns


def set_flush_denormal(mode: bool) -> bool:
    """False: it can't be set."""
    return False


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype, and for a type of torch.cuda the default device. t: a type, or its name."""
    dtype, device = dtype_and_device(t)
    set_default_dtype(dtype)
    if device is not None:
        set_default_device(device)


def compiled_with_cxx11_abi() -> bool:
    """True: nothing is compiled."""
    return True


def get_file_path(*path_components: str) -> str:
    """The path of a file beside this package."""
    return os.path.join(os.path.dirname(__file__), *path_components[1:])


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """Values rounded to integers from quant_min to quant_max, times scale; the gradient flows to those that
    are not cut. [...] -> [...]

    scale, zero_point: a quotient input / scale + zero_point is rounded
    """
    steps = (input.detach() * (1 / scale) + zero_point).round()
    is_inside = (steps >= quant_min) & (steps <= quant_max)
    rounded = (steps.clamp(quant_min, quant_max) - zero_point) * scale
    passed = is_inside.where(input, 0.0)
    return passed + (rounded - passed.detach()).detach()


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """The same with a scale and a zero_point for each index of the dim `axis`. [...] -> [...]"""
    shape = [-1 if d == axis % input.ndim else 1 for d in range(input.ndim)]
    parts = scale.reshape(*shape), zero_point.reshape(*shape)
    return fake_quantize_per_tensor_affine(input, *parts, quant_min, quant_max)
