"""Quantisation, dequantisation, and exact integer products of quantised tensors."""

from typing import Any, NamedTuple

from ...nn import functional as F
from ...tensor import Tensor, tensor
from ..values import cast, dtype_name
from .cast import convert, dtype_name_of
from .conv import check_kernel
from .table import operator
from .window import WindowAttributes, pad_ends, windows_of

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
ON_DEVICES = {"uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767)}
ON_HOST = {"uint4": (0, 15), "int4": (-8, 7), "uint2": (0, 3), "int2": (-2, 1)}
RANGES = {**ON_DEVICES, **ON_HOST}


class QuantizeAttributes(NamedTuple):
    """The attributes of QuantizeLinear and DequantizeLinear, under ONNX's names."""

    axis: int = 1
    block_size: int = 0
    output_dtype: int = 0
    precision: int = 0
    saturate: int = 1


def _plain(value: Any, device: Any) -> Any:
    """Convert to a tensor; of dtypes that no device has, 8-bit floats become float32 and 4-bit integers
    int32."""
    if value is None or isinstance(value, Tensor):
        return value
    wide = "int32" if "int" in dtype_name(value) else "float32"
    return tensor(value.astype(wide), device=device)


def _reshape_along(t: Any, x: Tensor, a: QuantizeAttributes) -> Any:
    """Reshape scales or zero points to broadcast with x: one for all, for each index of the axis, or for each
    block."""
    if t is None or (t.numel() == 1 and not a.block_size):
        return t if t is None else t.reshape(())
    if x.ndim == 0 or not -x.ndim <= a.axis < x.ndim:
        raise ValueError(f"axis {a.axis} is out of range for the shape {list(x.shape)}")
    axis = a.axis % x.ndim
    if a.block_size:
        _check_blocks(t, x, axis, a.block_size)
        return t.repeat_interleave(a.block_size, axis).narrow(axis, 0, x.shape[axis])
    if t.ndim != 1 or t.shape[0] != x.shape[axis]:
        raise ValueError(f"scales of the shape {list(t.shape)} do not fit axis {axis} of {list(x.shape)}")
    return t.reshape(-1, *(1,) * (x.ndim - 1 - axis))


def _check_blocks(t: Tensor, x: Tensor, axis: int, size: int) -> None:
    expected_shape = [*x.shape[:axis], -(-x.shape[axis] // size), *x.shape[axis + 1 :]]
    if list(t.shape) != expected_shape:
        raise ValueError(
            f"blocks of {size} of {list(x.shape)} need scales of {expected_shape}: got {list(t.shape)}"
        )


def round_to_integer(x: Tensor, zero: Any, name: str) -> Tensor:
    """Round x (halves to even), add the zero point, and clamp to the range of an integer dtype; int32."""
    # Add the zero point after rounding: round(x) + zero, since x + zero could round a tie differently.
    low, high = RANGES[name]
    y = x.round() if zero is None else x.round() + zero.float()
    return y.clamp(low, high).int()


@operator("QuantizeLinear", since=10, arrays=True)
def quantize_linear(x: Tensor, scale: Any, zero: Any = None, **attributes: Any) -> Any:
    """x / scale + zero point, rounded to a dtype of few bits."""
    a = QuantizeAttributes(**attributes)
    # output_dtype, else the dtype of the zero point, else uint8 (all opsets)
    name = dtype_name_of(a.output_dtype) if a.output_dtype else "uint8" if zero is None else dtype_name(zero)
    scale, zero = (_reshape_along(_plain(t, x.device), x, a) for t in (scale, zero))
    y = x.float() / scale.float()
    if name in RANGES:
        quantized = round_to_integer(y, zero, name)
        return cast(quantized, name) if name in ON_DEVICES else convert(quantized.numpy(), name, True, "up")
    # 8-bit floats: rounded by NumPy, since no device has them
    return convert((y if zero is None else y + zero).numpy(), name, bool(a.saturate), "up")


@operator("DequantizeLinear", since=10, arrays=True)
def dequantize_linear(x: Any, scale: Any, zero: Any = None, **attributes: Any) -> Any:
    """(x - zero point) * scale"""
    a = QuantizeAttributes(**attributes)
    name = dtype_name_of(a.output_dtype) if a.output_dtype else dtype_name(scale)
    x = _plain(x, scale.device if isinstance(scale, Tensor) else None)
    scale, zero = (_reshape_along(_plain(t, x.device), x, a) for t in (scale, zero))
    # int32: the difference of two uint8 may be negative
    wide = x if x.dtype.is_float else x.int()
    y = (wide if zero is None else wide - zero.to(wide.dtype)).float() * scale.float()
    return cast(y, name)


@operator("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Quantise x to uint8 by its own range; also returns the scale and the zero point."""
    # The range always includes 0, so that 0 is exact.
    low, high = x.amin().clamp(max=0), x.amax().clamp(min=0)
    # 255 steps of uint8. A constant 0 has span 0: divide by 1, and return the scale 0.
    span = (high - low) / 255
    scale = (span == 0).where(1.0, span)
    zero = (-low / scale).round().clamp(0, 255)
    return cast((x / scale).round().add(zero).clamp(0, 255), "uint8"), span, cast(zero, "uint8")


def _subtract_zero(x: Tensor, zero: Tensor | None) -> Tensor:
    """x without its zero point, in int32."""
    # in int32 the products of 8-bit numbers and their sums are exact, up to k = 2^15
    return x.int() if zero is None else x.int() - zero.int()


def _rows(t: Tensor | None) -> Tensor | None:
    """Reshape a scalar, or a value for each row of a matrix: [m] -> [m, 1]"""
    return t.unsqueeze(-1) if t is not None and t.ndim == 1 and t.numel() > 1 else t


@operator("MatMulInteger", since=10)
def matmul_integer(
    a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None
) -> Tensor:
    """[..., m, k], [..., k, n] of 8 bits -> [..., m, n] int32"""
    return _subtract_zero(a, _rows(a_zero)) @ _subtract_zero(b, b_zero)


def _requantize(total: Tensor, factor: Tensor, zero: Tensor) -> Tensor:
    """Sums in int32 times a factor, in the dtype of a zero point."""
    return cast(round_to_integer(total.float() * factor.float(), zero, zero.dtype.name), zero.dtype.name)


class MatrixInputs(NamedTuple):
    """The inputs of QLinearMatMul."""

    a: Tensor
    a_scale: Tensor
    a_zero: Tensor
    b: Tensor
    b_scale: Tensor
    b_zero: Tensor
    y_scale: Tensor
    y_zero: Tensor


@operator("QLinearMatMul", since=10)
def qlinear_matmul(*inputs: Tensor) -> Tensor:
    """Return the product of quantised matrices, quantised. [..., m, k], [..., k, n] -> [..., m, n]"""
    i = MatrixInputs(*inputs)
    total = matmul_integer(i.a, i.b, i.a_zero, i.b_zero)
    a_scale, y_scale, y_zero = (_rows(t) for t in (i.a_scale, i.y_scale, i.y_zero))
    # real = scale * (quantised - zero), so one factor a b / y turns int32 sums to the output's steps
    factor = a_scale.float() * i.b_scale.float() / y_scale.float()  # type: ignore[union-attr]
    return _requantize(total, factor, y_zero)  # type: ignore[arg-type]


def _conv_int(x: Tensor, w: Tensor, group: int, a: WindowAttributes) -> Tensor:
    """Return a convolution of int32."""
    if x.ndim - 2 not in CONV:
        raise ValueError(f"takes an input of 3 to 5 dims: got the shape {list(x.shape)}")
    windows = windows_of(tuple(x.shape[2:]), check_kernel(w, a.kernel_shape), a)
    x = pad_ends(x, [(v.before, v.after) for v in windows])
    strides, dilations = [v.stride for v in windows], [v.dilation for v in windows]
    conv: Any = CONV[x.ndim - 2]
    return conv(x, w, None, stride=strides, dilation=dilations, groups=group)


def _outputs(t: Tensor, rank: int) -> Tensor:
    """Reshape a scalar, or a value for each output channel: [o] -> [o, 1, ...], of `rank` dims."""
    return t if t.ndim == 0 else t.reshape(-1, *(1,) * (rank - 1))


@operator("ConvInteger", since=10)
def conv_integer(
    x: Tensor,
    w: Tensor,
    x_zero: Tensor | None = None,
    w_zero: Tensor | None = None,
    *,
    group: int = 1,
    **window: Any,
) -> Tensor:
    """[n, c, *size], [o, c / group, *kernel] of 8 bits -> [n, o, *out] int32"""
    x_zero = None if x_zero is None else x_zero.reshape(())
    weight = _subtract_zero(w, None if w_zero is None else _outputs(w_zero, w.ndim))
    return _conv_int(_subtract_zero(x, x_zero), weight, group, WindowAttributes(**window))


class ConvInputs(NamedTuple):
    """The inputs of QLinearConv."""

    x: Tensor
    x_scale: Tensor
    x_zero: Tensor
    w: Tensor
    w_scale: Tensor
    w_zero: Tensor
    y_scale: Tensor
    y_zero: Tensor
    b: Tensor | None = None


@operator("QLinearConv", since=10)
def qlinear_conv(*inputs: Tensor, group: int = 1, **window: Any) -> Tensor:
    """Return a convolution of quantised numbers, quantised; the bias is in int32. -> [n, o, *out]"""
    i = ConvInputs(*inputs)
    total = conv_integer(i.x, i.w, i.x_zero, i.w_zero, group=group, **window)
    rank = i.x.ndim - 1
    # the bias has the scale x_scale * w_scale and zero point 0, so it adds to the int32 sums
    total = total if i.b is None else total + _outputs(i.b, rank)
    factor = i.x_scale.float() * _outputs(i.w_scale, rank).float() / i.y_scale.float()
    return _requantize(total, factor, i.y_zero)
