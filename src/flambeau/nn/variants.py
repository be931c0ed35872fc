"""Functions of torch.nn.functional that are others: with an argument set, in place, or in another layout."""

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from ..core.docstrings import told
from ..core.op import COMPOSED
from ..ops.conv.adaptive import adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d
from ..ops.conv.conv import conv1d
from ..ops.conv.pool import max_pool1d, max_pool2d, max_pool3d
from ..ops.conv.resize import interpolate
from ..ops.elementwise import Elementwise
from ..ops.inplace import write
from ..ops.norm import channel_shuffle
from ..tensor import Tensor
from .attention import multi_head_attention_forward
from .fractional import fractional_max_pools
from .large_vocabulary import linear_cross_entropy

Sizes = int | Sequence[int] | None
Factors = float | Sequence[float] | None
IN_PLACE = ("celu", "elu", "hardtanh", "leaky_relu", "relu", "rrelu", "selu", "threshold")
INDEXED = (max_pool1d, max_pool2d, max_pool3d, adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d)


def _in_place(base: str) -> Callable[..., Tensor]:
    """The function that gives its input the value of another."""
    f = Elementwise.relu if base == "relu" else COMPOSED[base]

    def call(input: Tensor, *args: Any, **kw: Any) -> Tensor:
        input._check_write()
        return write(input, f(input, *args, **kw), f"{base}_", base)

    call.__name__ = call.__qualname__ = f"{base}_"
    call.__doc__ = (
        f"Gives the tensor the value of {base}(...), and returns it; TypeError where it can't hold it."
    )
    if base in COMPOSED:  # relu, an op, has no argument beside its input
        _take_arguments(call, f)
    return call


def _indexed(pool: Callable[..., Any]) -> Callable[..., Any]:
    """A pool that gives (values, indices)."""

    def call(input: Tensor, *args: Any, **kw: Any) -> Any:
        return pool(input, *args, **{**kw, "return_indices": True})

    call.__name__ = call.__qualname__ = f"{pool.__name__}_with_indices"
    call.__doc__ = f"{pool.__name__} with return_indices=True: (values, indices)."
    _take_arguments(call, pool)
    return call


def _take_arguments(call: Any, f: Callable[..., Any]) -> None:
    """Give a function the signature of another, and its docstring what that one's says."""
    call.__signature__ = signature(f)
    call.__doc__ = told(f"{call.__doc__} {f.__doc__}", f.__name__, tuple(call.__signature__.parameters))


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor | None = None, pad: int = 0) -> Tensor:
    """conv1d with steps first and channels last. [t, n, in], [k, in, out] -> [t + 2 * pad - k + 1, n, out]

    pad: how many zeros are put at both ends.
    """
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


def upsample_bilinear(input: Tensor, size: Sizes = None, scale_factor: Factors = None) -> Tensor:
    """interpolate(mode="bilinear", align_corners=True) to size, or by scale_factor.
    ValueError where neither or both are given. [n, c, h, w] -> [n, c, oh, ow]"""
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def upsample_nearest(input: Tensor, size: Sizes = None, scale_factor: Factors = None) -> Tensor:
    """interpolate(mode="nearest") to size, or by scale_factor; ValueError where neither or both are given.
    [n, c, *size] -> [n, c, *out]"""
    return interpolate(input, size, scale_factor, mode="nearest")


FUNCTIONS: dict[str, Callable[..., Any]] = {f"{base}_": _in_place(base) for base in IN_PLACE}
FUNCTIONS |= {f"{pool.__name__}_with_indices": _indexed(pool) for pool in INDEXED}
FUNCTIONS |= {f.__name__: f for f in (conv_tbc, linear_cross_entropy, multi_head_attention_forward)}
FUNCTIONS |= {f.__name__: f for f in (upsample_bilinear, upsample_nearest)}
FUNCTIONS |= {f.__name__: f for f in fractional_max_pools}
FUNCTIONS["native_channel_shuffle"] = channel_shuffle
