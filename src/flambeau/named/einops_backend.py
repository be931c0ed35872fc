"""Makes the package einops take Flambeau's tensors: a backend, which einops finds among the subclasses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from .. import functions
from ..core.dtype import float64
from ..errors import FlambeauError
from ..tensor import Tensor, tensor

REDUCTIONS: dict[str, Callable[..., Any]] = {
    "min": functions.amin,
    "max": functions.amax,
    "sum": functions.sum,
    "mean": functions.mean,
    "any": functions.any,
    "all": functions.all,
}
_registered: list[Any] = []  # the backend's class, once


def use_einops() -> None:
    """Let the installed package einops take tensors: rearrange, reduce, repeat, einsum, pack, unpack.

    Raises FlambeauError if einops is not installed.
    """
    if _registered:
        return
    try:
        base: Any = import_module("einops._backends").AbstractBackend
    except ImportError:
        raise FlambeauError("use_einops(): einops is not installed: run pip install einops") from None
    _registered.append(type("FlambeauBackend", (base,), _methods()))


def _from_numpy(x: Any) -> Tensor:
    """The array on the default device: float64 stays where that device has it, and is float32 elsewhere."""
    if x.dtype != "float64":
        return tensor(x)
    try:
        return tensor(x, dtype=float64)
    except TypeError:  # GPUs have no float64
        return tensor(x)


def _reduce(x: Tensor, operation: str, axes: Sequence[int]) -> Tensor:
    if operation == "prod":
        for axis in sorted(axes, reverse=True):
            x = functions.prod(x, axis)
        return x
    return REDUCTIONS[operation](x, tuple(axes))


def _add_axes(x: Tensor, n_axes: int, pos2len: Mapping[int, int]) -> Tensor:
    for position in sorted(pos2len):
        x = x.unsqueeze(position)
    return x.expand(*(pos2len.get(i, -1) for i in range(n_axes)))


def _is_ours(x: object) -> bool:
    return isinstance(x, Tensor)


def _is_float(x: Tensor) -> bool:
    return x.dtype.is_float


def _permute(x: Tensor, axes: Sequence[int]) -> Tensor:
    return x.permute(*axes)


def _reshape(x: Tensor, shape: Sequence[int]) -> Tensor:
    return x.reshape(*shape)


def _repeat(x: Tensor, repeats: Sequence[int]) -> Tensor:
    return x.repeat(*repeats)


def _shape(x: Tensor) -> tuple[int, ...]:
    return x.shape


def _methods() -> dict[str, Any]:
    """The methods of einops' AbstractBackend, without their first argument."""
    methods: dict[str, Callable[..., Any]] = {
        "is_appropriate_type": _is_ours,
        "from_numpy": _from_numpy,
        "to_numpy": Tensor.numpy,
        "shape": _shape,
        "arange": functions.arange,
        "transpose": _permute,
        "reshape": _reshape,
        "stack_on_zeroth_dimension": functions.stack,
        "tile": _repeat,
        "concat": functions.cat,
        "is_float_type": _is_float,
        "einsum": functions.einsum,
        "reduce": _reduce,
        "add_axis": Tensor.unsqueeze,
        "add_axes": _add_axes,
    }
    bound = {name: _method(f) for name, f in methods.items()}
    return {"framework_name": "flambeau", **bound}


def _method(f: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: object, *args: Any, **kw: Any) -> Any:
        return f(*args, **kw)

    return method
