"""Features of regions of interest under torchvision.ops' names.

A region is a row (image, x1, y1, x2, y2). Its values are read at places of the image, each place with all its
channels, so an operator is an index, a product and a reduction. Like torchvision's kernels, they have no
gradient by the regions. A sampling_ratio of 0 or less, roi_pool and ps_roi_pool read back one number, the
size of the largest bin; a positive sampling_ratio reads nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.node import describe
from ..functions import arange, cat, where
from ..tensor import Tensor

Regions = Tensor | Sequence[Tensor]


def roi_align(
    input: Tensor,
    boxes: Regions,
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """The mean of bilinear samples in each bin of each region (He et al., 2017). [n, c, h, w], [k, 5] ->
    [k, c, height, width]

    boxes: rows (image, x1, y1, x2, y2), or a list of the boxes [k, 4] of each image. output_size: bins
    (height, width), or one number for both. spatial_scale: pixels of the input for one of the boxes.
    sampling_ratio: samples of a bin along each dim; 0 or less for one a pixel. aligned: pixels have their
    centers at halves. Raises ValueError for other shapes.
    """
    rois, (height, width) = _arguments("roi_align", input, boxes, output_size)
    return align_regions(input, rois, spatial_scale, height, width, sampling_ratio, int(aligned))


def ps_roi_align(
    input: Tensor,
    boxes: Regions,
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
) -> Tensor:
    """roi_align where each bin has channels of its own (Li et al., 2017).
    [n, c * height * width, h, w], [k, 5] -> [k, c, height, width]

    boxes, output_size, spatial_scale, sampling_ratio: as of roi_align. Raises ValueError for other shapes,
    and if the bins do not divide the channels.
    """
    rois, (height, width) = _arguments("ps_roi_align", input, boxes, output_size)
    return align_regions_by_bins(input, rois, spatial_scale, height, width, sampling_ratio)[0]


def roi_pool(
    input: Tensor, boxes: Regions, output_size: int | Sequence[int], spatial_scale: float = 1.0
) -> Tensor:
    """The largest value in each bin of each region (Girshick, 2015); 0 of an empty bin. [n, c, h, w], [k, 5]
    -> [k, c, height, width]

    boxes, output_size, spatial_scale: as of roi_align. Raises ValueError for other shapes.
    """
    rois, (height, width) = _arguments("roi_pool", input, boxes, output_size)
    return pool_regions(input, rois, spatial_scale, height, width)[0]


def ps_roi_pool(
    input: Tensor, boxes: Regions, output_size: int | Sequence[int], spatial_scale: float = 1.0
) -> Tensor:
    """The mean of each bin of each region where each bin has channels of its own (Dai et al., 2016).
    [n, c * height * width, h, w], [k, 5] -> [k, c, height, width]

    boxes, output_size, spatial_scale: as of roi_align. Raises ValueError for other shapes, and if the bins do
    not divide the channels.
    """
    rois, (height, width) = _arguments("ps_roi_pool", input, boxes, output_size)
    return pool_regions_by_bins(input, rois, spatial_scale, height, width)[0]


def _arguments(
    name: str, input: Tensor, boxes: Regions, output_size: int | Sequence[int]
) -> tuple[Tensor, tuple[int, int]]:
    """The regions as one matrix [k, 5], and the bins along both dims."""
    if not isinstance(boxes, Tensor):
        numbered = [
            cat([Tensor.full((len(b), 1), float(i), device=b.device), b.float()], 1)
            for i, b in enumerate(boxes)
        ]
        boxes = cat(numbered) if numbered else Tensor.zeros(0, 5, device=input.device)
    if input.ndim != 4 or boxes.ndim != 2 or boxes.shape[1] != 5:
        rule = "the input is [n, c, h, w], boxes are [k, 5] or a list of [k, 4]: pass such tensors"
        raise ValueError(f"{name}({describe(input)}, {describe(boxes)}): {rule}")
    size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
    if len(size) != 2 or min(size) < 1:
        rule = "is one number of bins, or (height, width): pass numbers of at least 1"
        raise ValueError(f"{name}(output_size={output_size!r}): it {rule}")
    return boxes.to(input.dtype), (size[0], size[1])


def align_regions(
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


def align_regions_by_bins(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
) -> tuple[Tensor, Tensor]:
    """align_regions (aligned) where each bin has its own channels, and the number of each bin's channel."""
    channels = _channels_of_bins(input, len(rois), pooled_height, pooled_width)
    images, corners, sizes = _regions(rois, spatial_scale, 0.5)
    bins = pooled_height, pooled_width
    taps = [_taps(corners[:, d], sizes[:, d], bins[d], sampling_ratio, input.shape[2 + d]) for d in (0, 1)]
    values, first = _bins_first(input, images, *bins)
    places = first[..., None] * input.shape[2] + taps[0][0][:, :, :, None, None]
    sums = _weighted(values, places, taps)
    mean = sums / (taps[0][2] * taps[1][2]).reshape(-1, 1, 1, 1)
    return mean.permute(0, 3, 1, 2).to(input.dtype), channels


def pool_regions(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """The largest value in each bin of each region, and its place in the image, -1 of an empty bin."""
    height, width = input.shape[2:]
    images, corners, sizes = _whole_regions(rois, spatial_scale, 1)
    rows, inside_y, _ = _window(corners[:, 0], sizes[:, 0], pooled_height, height)
    columns, inside_x, _ = _window(corners[:, 1], sizes[:, 1], pooled_width, width)
    inside = inside_y[:, :, None, :, None] & inside_x[:, None, :, None, :]  # (K, bins, bins, window)
    pixels = rows[:, :, None, :, None] * width + columns[:, None, :, None, :]
    pixels, inside = pixels.flatten(3), inside.flatten(3)
    values = input.permute(0, 2, 3, 1).flatten(0, 2)
    places = (images * (height * width)).reshape(-1, 1, 1, 1) + pixels
    seen = where(inside[..., None], values.detach()[places], -float("inf"))
    best = seen.argmax(3, keepdim=True)  # (K, bins, bins, 1, C), the first of equal ones
    argmax = pixels[..., None].expand(seen.shape).gather(3, best).squeeze(3)
    is_empty = ~inside.any(3)[..., None]
    full = (images * (height * width)).reshape(-1, 1, 1, 1) + argmax
    channel = arange(input.shape[1], device=input.device)
    output = where(is_empty, 0.0, values[full, channel])
    return output.permute(0, 3, 1, 2), where(is_empty, -1, argmax).permute(0, 3, 1, 2).int()


def pool_regions_by_bins(
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
