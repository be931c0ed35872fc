"""Variants of functions in torch.nn.functional: with an argument set, in place, or in another layout."""

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, ParamSpec

from ..ops.activation import celu, elu, hardtanh, leaky_relu, rrelu, selu, threshold
from ..ops.conv.adaptive import adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d
from ..ops.conv.conv import conv1d
from ..ops.conv.pool import max_pool1d, max_pool2d, max_pool3d
from ..ops.conv.resize import interpolate
from ..ops.elementwise import relu
from ..ops.inplace import write
from ..ops.norm import channel_shuffle
from ..tensor import Tensor

Sizes = int | Sequence[int] | None
Factors = float | Sequence[float] | None
P = ParamSpec("P")


def _in_place(f: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """The in-place variant of a function."""
    base = f.__name__

    def call(input: Tensor, *args: Any, **kw: Any) -> Tensor:
        # before the computation, so that an invalid write changes nothing
        input._check_write()  # pyright: ignore[reportPrivateUsage] - as its own in-place methods do
        return write(input, f(input, *args, **kw), f"{base}_", base)  # type: ignore[call-arg]

    return _with_name(
        call,
        f"{base}_",
        f"Assigns the value of {base}(...) to the tensor and returns it; TypeError if the"
        " dtype can't hold it.",
        f,
    )


def _with_indices(pool: Callable[..., Any]) -> Callable[..., tuple[Tensor, Tensor]]:
    """A pool that returns (values, indices)."""

    def call(input: Tensor, *args: Any, **kw: Any) -> Any:
        return pool(input, *args, **{**kw, "return_indices": True})

    name = pool.__name__
    return _with_name(
        call, f"{name}_with_indices", f"{name} with return_indices=True: (values, indices).", pool
    )


def _with_name(call: Any, name: str, doc: str, f: Callable[..., Any]) -> Any:
    """A function with its own name and docstring, and the signature of another."""
    call.__name__ = call.__qualname__ = name
    call.__signature__ = signature(f)  # help() shows the arguments of the function
    call.__doc__ = f"{doc} {f.__doc__}"
    return call


celu_ = _in_place(celu)
elu_ = _in_place(elu)
hardtanh_ = _in_place(hardtanh)
leaky_relu_ = _in_place(leaky_relu)
relu_ = _in_place(relu)
rrelu_ = _in_place(rrelu)
selu_ = _in_place(selu)
threshold_ = _in_place(threshold)
max_pool1d_with_indices = _with_indices(max_pool1d)
max_pool2d_with_indices = _with_indices(max_pool2d)
max_pool3d_with_indices = _with_indices(max_pool3d)
adaptive_max_pool1d_with_indices = _with_indices(adaptive_max_pool1d)
adaptive_max_pool2d_with_indices = _with_indices(adaptive_max_pool2d)
adaptive_max_pool3d_with_indices = _with_indices(adaptive_max_pool3d)
native_channel_shuffle = channel_shuffle


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor | None = None, pad: int = 0) -> Tensor:
    """conv1d with steps first and channels last. [t, n, in], [k, in, out] -> [t + 2 * pad - k + 1, n, out]

    pad: the number of zeros at both ends.
    """
    # [t, n, in] to [n, in, t], [k, in, out] to [out, in, k], and back.
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


def upsample_bilinear(input: Tensor, size: Sizes = None, scale_factor: Factors = None) -> Tensor:
    """interpolate(mode="bilinear", align_corners=True) to size, or by scale_factor.
    ValueError if neither or both are given. [n, c, h, w] -> [n, c, oh, ow]"""
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def upsample_nearest(input: Tensor, size: Sizes = None, scale_factor: Factors = None) -> Tensor:
    """interpolate(mode="nearest") to size, or by scale_factor; ValueError if neither or both are given.
    [n, c, *size] -> [n, c, *out]"""
    return interpolate(input, size, scale_factor, mode="nearest")
