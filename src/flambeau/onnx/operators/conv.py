"""Convolutions: Conv, ConvTranspose, DeformConv, Col2Im, CausalConvWithState."""

from math import prod
from typing import Any

from ...functions import cat, deform_conv2d
from ...nn import functional as F
from ...ops.movement import fold
from ...tensor import Tensor
from .table import operator
from .window import WindowAttributes, check_count, pad_ends, pad_input, pairs_of, spread, windows_of

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
CONV_TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def _of_rank(table: dict[Any, Any], x: Tensor, w: Tensor) -> Any:
    rank = x.ndim - 2
    if rank not in table or w.ndim != x.ndim:
        raise ValueError(
            f"input {list(x.shape)} and weight {list(w.shape)} must have the same 3 to 5 dims:"
            " [n, c, *size] and [o, c, *kernel]"
        )
    return table[rank]


def check_kernel(w: Tensor, kernel_shape: list[int] | None) -> list[int]:
    """Return the weight's spatial sizes; ValueError if kernel_shape differs."""
    kernel = list(w.shape[2:])
    if kernel_shape and list(kernel_shape) != kernel:
        raise ValueError(f"kernel_shape {list(kernel_shape)} is not that of the weight, {kernel}")
    return kernel


@operator("Conv")
def conv(x: Tensor, w: Tensor, b: Tensor | None = None, *, group: int = 1, **window: Any) -> Tensor:
    """[n, c, *size], [o, c / group, *kernel], [o] -> [n, o, *out]"""
    compute, a = _of_rank(CONV, x, w), WindowAttributes(**window)
    windows = windows_of(tuple(x.shape[2:]), check_kernel(w, a.kernel_shape), a)
    x, pads = pad_input(x, windows)
    strides, dilations = [v.stride for v in windows], [v.dilation for v in windows]
    return compute(x, w, b, stride=strides, padding=pads, dilation=dilations, groups=group)


def _transposed_pads(
    full: list[int], extra: list[int], shape: list[int] | None, a: WindowAttributes, strides: list[int]
) -> list[tuple[int, int]]:
    """Return the elements to cut from the full result of a transposed convolution before and after each
    dim."""
    # Three ways: explicit pads cut both ends; output_shape, or SAME (size * stride), leaves the total to
    # cut.
    output_sizes = spread(shape, len(full), 0, "output_shape")[-len(full) :] if shape else None
    if output_sizes is None and not a.auto_pad.startswith("SAME"):
        cuts = pairs_of(a.pads if a.auto_pad == "NOTSET" else None, len(full))
        return [(before, after - e) for (before, after), e in zip(cuts, extra, strict=True)]
    if output_sizes is None:
        kernel = spread(a.kernel_shape, len(full), 1, "kernel_shape")
        dilations = spread(a.dilations, len(full), 1, "dilations")
        spans = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
        output_sizes = [f - span + s for f, span, s in zip(full, spans, strides, strict=True)]
    pairs: list[tuple[int, int]] = []
    for f, e, n in zip(full, extra, output_sizes, strict=True):
        # The spec's rule: SAME_UPPER puts an odd element at the end, every other auto_pad at the start.
        total = max(f + e - n, 0)
        before = total // 2 if a.auto_pad == "SAME_UPPER" else total - total // 2
        pairs.append((before, f - n - before))
    return pairs


@operator("ConvTranspose")
def conv_transpose(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    output_shape: list[int] | None = None,
    output_padding: list[int] | None = None,
    group: int = 1,
    **window: Any,
) -> Tensor:
    """[n, c, *size], [c, o / group, *kernel], [o] -> [n, o, *out]"""
    compute, a = _of_rank(CONV_TRANSPOSE, x, w), WindowAttributes(**window)
    a = a._replace(kernel_shape=check_kernel(w, a.kernel_shape))
    windows = windows_of(tuple(x.shape[2:]), list(w.shape[2:]), a._replace(auto_pad="VALID"))
    strides, dilations = [v.stride for v in windows], [v.dilation for v in windows]
    # the result without any cut: (n - 1) s + d (k - 1) + 1 elements
    full = [
        (n - 1) * v.stride + v.dilation * (v.kernel - 1) + 1
        for n, v in zip(x.shape[2:], windows, strict=True)
    ]
    extra = spread(output_padding, len(full), 0, "output_padding")
    check_count(prod(full), "the elements of a full channel")
    cuts = _transposed_pads(full, extra, output_shape, a, strides)
    check_count(prod(n - sum(cut) for n, cut in zip(full, cuts, strict=True)), "the elements of a channel")
    if any(n - before - after < 1 for n, (before, after) in zip(full, cuts, strict=True)):
        raise ValueError(f"the pads {cuts} remove the whole result of {full}")
    # The kernel cuts the symmetric part of the pads; the rest is cropped, or padded if it is negative.
    same = [max(min(before, after), 0) for before, after in cuts]
    y = compute(x, w, None, stride=strides, padding=same, groups=group, dilation=dilations)
    y = pad_ends(y, [(s - before, s - after) for s, (before, after) in zip(same, cuts, strict=True)])
    return y if b is None else y + b.reshape(-1, *(1,) * (x.ndim - 2))


@operator("DeformConv")
def deform_conv(
    x: Tensor,
    w: Tensor,
    offset: Tensor,
    b: Tensor | None = None,
    mask: Tensor | None = None,
    **attributes: Any,
) -> Tensor:
    """[n, c, h, w], [o, c / group, kh, kw], [n, offset_group * kh * kw * 2, oh, ow] -> [n, o, oh, ow]"""
    group, offset_group = attributes.pop("group", 1), attributes.pop("offset_group", 1)
    if x.ndim != 4:
        raise ValueError(f"takes images of two spatial dims: got the shape {list(x.shape)}")
    a = WindowAttributes(**attributes)
    windows = windows_of(tuple(x.shape[2:]), check_kernel(w, a.kernel_shape), a)
    if x.shape[1] != w.shape[1] * group or offset.shape[1] != 2 * offset_group * prod(w.shape[2:]):
        raise ValueError(
            f"group={group}, offset_group={offset_group} do not fit the input {list(x.shape)}, the weight"
            f" {list(w.shape)} and the offset {list(offset.shape)}"
        )
    x, pads = pad_input(x, windows)
    strides, dilations = [v.stride for v in windows], [v.dilation for v in windows]
    return deform_conv2d(x, offset, w, b, strides, pads, dilations, mask)


@operator("Col2Im", numbers=("image_shape", "block_shape"))
def col2im(
    x: Tensor,
    image_shape: list[int],
    block_shape: list[int],
    *,
    dilations: list[int] | None = None,
    pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Tensor:
    """Add columns at the elements that they came from. [n, c * prod(block), positions] -> [n, c, *image]"""
    size, block = tuple(image_shape), block_shape
    a = WindowAttributes(dilations=dilations, pads=pads, strides=strides)
    windows = windows_of(size, block, a)
    # the number of windows in each dim
    places = tuple(w.positions(n) for w, n in zip(windows, size, strict=True))
    if x.ndim != 3 or x.shape[1] % prod(block) or x.shape[2] != prod(places):
        raise ValueError(
            f"an image of {list(size)} has {prod(places)} blocks of {prod(block)} elements: got columns"
            f" of the shape {list(x.shape)}"
        )
    c, n = x.shape[1] // prod(block), len(size)
    y = x.reshape(x.shape[0], c, *block, *places)
    # [n, c, *block, *positions] -> [n, c, *positions, *block], as fold takes it
    y = y.permute(0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))
    return fold(y, windows, size)


@operator("CausalConvWithState", since=27)
def causal_conv_with_state(
    x: Tensor, w: Tensor, b: Tensor | None = None, past: Tensor | None = None, *, activation: str = "none"
) -> tuple[Tensor, Tensor]:
    """Causal depthwise convolution, whose state has the last k - 1 inputs. [n, c, l], [c, 1, k] -> [n, c, l],
    [n, c, k - 1]"""
    if activation not in ("none", "silu", "swish"):
        raise ValueError(f"activation {activation!r} is unknown: use none, silu or swish")
    # Causal: output l reads inputs l - k + 1 to l. The state supplies those before the sequence.
    before = w.shape[2] - 1
    if past is None:
        past = Tensor.zeros(*x.shape[:2], before, dtype=x.dtype, device=x.device)
    with_past = cat([past, x], 2)
    y = F.conv1d(with_past, w, b, groups=x.shape[1])
    present = with_past.narrow(2, with_past.shape[2] - before, before)
    return (y if activation == "none" else F.silu(y)), present
