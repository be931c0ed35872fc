"""The operators of torchvision's compiled library, made of tensor operations.

A region is a row (image, x1, y1, x2, y2) of rois. Its values are read at places of the image, each place
with all its channels, so an operator is an index, a product and a reduction. Like torchvision's kernels,
they have no gradient by the regions. nms compares its boxes on the host.
"""

from typing import Any

import numpy as np

from ..errors import ValueError
from ..functions import arange, cat, where
from ..ops.conv.grid_sample import deform_conv2d as _deform_conv2d
from ..tensor import Tensor, tensor
from .placeholders import refuse


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The indices of boxes (x1, y1, x2, y2) that overlap no better one by more than a share, best first."""
    order = scores.detach().sort(descending=True, stable=True).indices.numpy()
    boxes = dets.detach().numpy()[order]
    boxes = boxes.astype(np.promote_types(boxes.dtype, np.float32), copy=False)  # areas overflow float16
    x1, y1, x2, y2 = boxes.reshape(-1, 4).T
    area = (x2 - x1) * (y2 - y1)
    is_left = np.ones(len(order), bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        for i in range(len(order)):
            if not is_left[i]:
                continue
            width = (x2[i + 1 :].clip(max=x2[i]) - x1[i + 1 :].clip(min=x1[i])).clip(min=0)
            height = (y2[i + 1 :].clip(max=y2[i]) - y1[i + 1 :].clip(min=y1[i])).clip(min=0)
            both = width * height
            share = both / (area[i] + area[i + 1 :] - both)
            is_left[i + 1 :] &= ~(share.astype(np.float64) > iou_threshold)
    return tensor(order[is_left], dtype="int64", device=dets.device)


def roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    *sampling: int,
) -> Tensor:
    """The mean of bilinear samples in each bin of each region, (K, C, pooled_height, pooled_width).

    sampling: samples of a bin along each dim (0 or less: as many as the bin has elements, rounded up), and
    whether half an element is subtracted, as for centers of pixels
    """
    sampling_ratio, aligned = sampling
    images, corners, sizes = _regions(rois, spatial_scale, 0.5 if aligned else 0.0)
    sizes = sizes if aligned else sizes.clamp(min=1)
    bins = pooled_height, pooled_width
    taps = [_taps(corners[:, d], sizes[:, d], bins[d], sampling_ratio, input.shape[2 + d]) for d in (0, 1)]
    count = (taps[0][2] * taps[1][2]).clamp(min=1)
    places = (images * input.shape[2]).reshape(-1, 1, 1, 1, 1) + taps[0][0][:, :, :, None, None]
    sums = _weighted(input.permute(0, 2, 3, 1), places, taps)
    return (sums / count.reshape(-1, 1, 1, 1)).permute(0, 3, 1, 2).to(input.dtype)


def ps_roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
) -> tuple[Tensor, Tensor]:
    """roi_align (aligned) where each bin has channels of its own, and the number of each bin's channel."""
    channels = _channels_of_bins(input, len(rois), pooled_height, pooled_width)
    images, corners, sizes = _regions(rois, spatial_scale, 0.5)
    bins = pooled_height, pooled_width
    taps = [_taps(corners[:, d], sizes[:, d], bins[d], sampling_ratio, input.shape[2 + d]) for d in (0, 1)]
    values, first = _bins_first(input, images, *bins)
    places = first[..., None] * input.shape[2] + taps[0][0][:, :, :, None, None]
    sums = _weighted(values, places, taps)
    mean = sums / (taps[0][2] * taps[1][2]).reshape(-1, 1, 1, 1)
    return mean.permute(0, 3, 1, 2).to(input.dtype), channels


def roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """The largest value in each bin of each region, and its place in the image, -1 of an empty bin."""
    height, width = input.shape[2:]
    images, corners, sizes = _whole_regions(rois, spatial_scale, 1)
    rows, inside_y, _ = _window(corners[:, 0], sizes[:, 0], pooled_height, height)
    columns, inside_x, _ = _window(corners[:, 1], sizes[:, 1], pooled_width, width)
    inside = inside_y[:, :, None, :, None] & inside_x[:, None, :, None, :]  # (K, bins, bins, window)
    at = rows[:, :, None, :, None] * width + columns[:, None, :, None, :]
    at, inside = at.flatten(3), inside.flatten(3)
    values = input.permute(0, 2, 3, 1).flatten(0, 2)
    places = (images * (height * width)).reshape(-1, 1, 1, 1) + at
    seen = where(inside[..., None], values.detach()[places], -float("inf"))
    best = seen.argmax(3, keepdim=True)  # (K, bins, bins, 1, C), the first of equal ones
    argmax = at[..., None].expand(seen.shape).gather(3, best).squeeze(3)
    is_empty = ~inside.any(3)[..., None]
    full = (images * (height * width)).reshape(-1, 1, 1, 1) + argmax
    channel = arange(input.shape[1], device=input.device)
    output = where(is_empty, 0.0, values[full, channel])
    return output.permute(0, 3, 1, 2), where(is_empty, -1, argmax).permute(0, 3, 1, 2).int()


def ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """The mean of each bin of each region where each bin has channels of its own, and their numbers.

    torchvision's kernel leaves out the last row and column of the image, but its gradient does not.
    """
    channels = _channels_of_bins(input, len(rois), pooled_height, pooled_width)
    images, corners, sizes = _whole_regions(rois, spatial_scale, 0)
    values, first = _bins_first(input, images, pooled_height, pooled_width)
    height, width = input.shape[2:]

    def mean(last: int) -> Tensor:
        rows, inside_y, count_y = _window(corners[:, 0], sizes[:, 0], pooled_height, height - last)
        columns, inside_x, count_x = _window(corners[:, 1], sizes[:, 1], pooled_width, width - last)
        places = (first[..., None] * height + rows[:, :, :, None, None]) * width + columns[:, None, None]
        inside = inside_y[:, :, :, None, None] & inside_x[:, None, None]
        sums = (values.flatten(0, -2)[places] * inside[..., None].to(input.dtype)).sum((2, 4))
        return sums / (count_y[:, :, None] * count_x[:, None, :])[..., None].clamp(min=1)

    result = mean(1)
    if input.requires_grad:
        whole = mean(0)
        result = whole + (result - whole).detach()
    return result.permute(0, 3, 1, 2).to(input.dtype), channels


def _regions(rois: Tensor, scale: float, offset: float) -> tuple[Tensor, Tensor, Tensor]:
    """The images of the regions, their corners (y, x), and their heights and widths."""
    rois = rois.detach()
    corners = rois[:, 1:] * scale - offset
    start, end = corners[:, :2].flip(1), corners[:, 2:].flip(1)
    return rois[:, 0].long(), start, end - start


def _whole_regions(rois: Tensor, scale: float, more: int) -> tuple[Tensor, Tensor, Tensor]:
    """The same in integers. more: the number added to heights and widths."""
    rois = rois.detach()
    corners = rois[:, 1:] * scale
    corners = where(corners < 0, -(0.5 - corners).floor(), (corners + 0.5).floor()).long()
    start, end = corners[:, :2].flip(1), corners[:, 2:].flip(1)
    return rois[:, 0].long(), start, (end - start + more).clamp(min=1)


def _taps(start: Tensor, size: Tensor, bins: int, ratio: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """The elements that the samples of bins read along one dim: two each.

    start, size: of the regions, (K,). length: of the dim. Returns places and shares, (K, bins, 2 * samples),
    and the number of samples of a bin, (K,)
    """
    step = size / bins
    if ratio > 0:
        grid, most = step * 0 + ratio, ratio
    else:
        grid = step.ceil().nan_to_num(0.0, 0.0, 0.0)  # regions that are not finite have no samples
        most = max(1, int(grid.max())) if len(start) else 1
    i = arange(most, device=start.device)
    bin = arange(bins, device=start.device).reshape(-1, 1)
    step, grid_of = step.reshape(-1, 1, 1), grid.reshape(-1, 1, 1)
    point = start.reshape(-1, 1, 1) + bin * step + (i + 0.5).to(start.dtype) * step / grid_of.clamp(min=1)
    inside = (point >= -1) & (point <= length) & (i < grid_of)
    point = where(inside, point, 0.0).clamp(0, length - 1)
    low = point.floor()
    share = where(inside, point - low, 0.0)
    low = low.long()
    shares = cat([where(inside, 1 - share, 0.0), share], -1)
    return cat([low, (low + 1).clamp(max=length - 1)], -1), shares, grid


def _weighted(values: Tensor, rows: Tensor, taps: list[tuple[Tensor, Tensor, Tensor]]) -> Tensor:
    """Sums over the samples of bins, (K, bins, bins, C). values: images whose last dim is channels.

    rows: flat indices of rows of the images, (K, bins, samples, bins or 1, 1)
    """
    (_, share_y, _), (columns, share_x, _) = taps
    places = rows * values.shape[-2] + columns[:, None, None]
    shares = share_y[:, :, :, None, None] * share_x[:, None, None]
    return (values.flatten(0, -2)[places] * shares[..., None]).sum((2, 4))


def _window(start: Tensor, size: Tensor, bins: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """The elements of bins with whole borders along one dim.

    start, size: of the regions, (K,). Returns positions, a mask of the valid ones, (K, bins, the largest
    bin), and their number, (K, bins)
    """
    step = (size.float() / bins).reshape(-1, 1)
    bin = arange(bins, device=start.device)
    first = ((bin * step).floor().long() + start.reshape(-1, 1)).clamp(0, length)
    last = (((bin + 1) * step).ceil().long() + start.reshape(-1, 1)).clamp(0, length)
    count = (last - first).clamp(min=0)
    i = arange(max(1, int(count.max())) if len(start) else 1, device=start.device)
    return (first[..., None] + i).clamp(max=max(length - 1, 0)), i < count[..., None], count


def _bins_first(input: Tensor, images: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """The images by bins, (N, bins, bins, H, W, channels of a bin), and each bin's number among them,
    (K, height, 1, width)."""
    split = input.reshape(input.shape[0], -1, height, width, *input.shape[2:])
    bins = arange(height * width, device=input.device).reshape(height, 1, width)
    return split.permute(0, 2, 3, 4, 5, 1), (images * (height * width)).reshape(-1, 1, 1, 1) + bins


def _channels_of_bins(input: Tensor, count: int, height: int, width: int) -> Tensor:
    """The channel of each element of a result, (K, channels of a bin, height, width)."""
    if input.shape[1] % (height * width):
        raise ValueError(
            f"ps_roi of {input.shape[1]} channels: they must be a multiple of {height} x {width} bins"
        )
    numbers = arange(input.shape[1], device=input.device).int().reshape(1, -1, height, width)
    return numbers.expand(count, -1, -1, -1)


def deform_conv2d(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Any, *sizes: Any
) -> Tensor:
    """A convolution whose taps are moved by offset."""
    stride, padding, dilation, use_mask = sizes[:2], sizes[2:4], sizes[4:6], sizes[8]
    return _deform_conv2d(input, offset, weight, bias, stride, padding, dilation, mask if use_mask else None)


def cuda_version() -> int:
    """-1: the library is not compiled for CUDA."""
    return -1


def _missing(name: str) -> Any:
    def call(*_args: Any, **_kw: Any) -> Any:
        raise refuse(f"torch.ops.torchvision.{name}")

    return call


_PARTS = ("_roi_align_backward", "_roi_pool_backward", "_ps_roi_align_backward", "_ps_roi_pool_backward")
_REST = (*_PARTS, "_deform_conv2d_backward", "box_iou_rotated", "qnms", "qroi_align")
OPERATORS = {f"torchvision::{name}": _missing(name) for name in _REST} | {
    "torchvision::_cuda_version": cuda_version,
    "torchvision::deform_conv2d": deform_conv2d,
    "torchvision::nms": nms,
    "torchvision::ps_roi_align": ps_roi_align,
    "torchvision::ps_roi_pool": ps_roi_pool,
    "torchvision::roi_align": roi_align,
    "torchvision::roi_pool": roi_pool,
}
