"""Sampling at computed positions: GridSample, AffineGrid, RoiAlign, MaxRoiPool."""

from math import ceil, floor, prod
from typing import Any, NamedTuple

from ...functions import stack
from ...nn import functional as F
from ...tensor import Tensor, tensor
from .table import operator
from .window import check_count

MODES = {"linear": "bilinear", "cubic": "bicubic"}  # names from opset 20 on; the older names are PyTorch's


@operator("GridSample", since=16)
def grid_sample(
    x: Tensor, grid: Tensor, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Tensor:
    """Sample x at the grid's positions, -1 to 1. [n, c, *size], [n, *out, dims] -> [n, c, *out]"""
    grid = grid.to(x.dtype) if x.dtype.is_float else grid
    return F.grid_sample(x, grid, MODES.get(mode, mode), padding_mode, bool(align_corners))


@operator("AffineGrid", since=20, numbers="size")
def affine_grid(theta: Tensor, size: list[int], *, align_corners: int = 0) -> Tensor:
    """[n, d, d + 1], (n, c, *size) -> [n, *size, d]"""
    return F.affine_grid(theta, size, bool(align_corners))


class RoiAttributes(NamedTuple):
    """The attributes of RoiAlign, under ONNX's names; before opset 16 coordinates are `output_half_pixel`."""

    coordinate_transformation_mode: str = "half_pixel"
    mode: str = "avg"
    output_height: int = 1
    output_width: int = 1
    sampling_ratio: int = 0
    spatial_scale: float = 1.0


def _line(start: float, end: float, bins: int, n: int, a: RoiAttributes) -> tuple[Any, Any]:
    """Indices and weights of both neighbours for one dim of a region, [bins, samples, 2] each."""
    import numpy as np

    half = a.coordinate_transformation_mode == "half_pixel"
    start, end = (v * a.spatial_scale - 0.5 * half for v in (start, end))
    # before half_pixel, regions were at least 1 pixel wide
    span = end - start if half else max(end - start, 1.0)
    if not abs(span) < 1e9 or not abs(start) < 1e9:
        raise ValueError(f"a region from {start} to {end}: takes finite bounds")
    # sampling_ratio 0 means about one sample for each pixel
    samples = a.sampling_ratio if a.sampling_ratio > 0 else max(ceil(span / bins), 0)
    check_count(bins * samples, "the places of a region", 1 << 20)
    step = span / bins
    coordinates = start + step * (np.arange(bins)[:, None] + (np.arange(samples) + 0.5) / max(samples, 1))
    # samples up to one pixel outside repeat the edge, others are 0
    inside = (coordinates >= -1) & (coordinates <= n)
    coordinates = np.clip(coordinates, 0, n - 1)
    low = np.minimum(np.floor(coordinates), n - 1)
    rest = coordinates - low
    index = np.stack([low, np.minimum(low + 1, n - 1)], -1).astype(np.int64)
    return index, np.stack([1 - rest, rest], -1) * inside[..., None]


def _read_region(image: Tensor, box: list[float], a: RoiAttributes) -> Tensor:
    """[c, h, w] -> [c, bins of y, samples, 2, bins of x, samples, 2], times the weights"""
    import numpy as np

    c, h, w = image.shape
    # A box is x, y, x, y; here y comes first.
    (rows, of_rows), (columns, of_columns) = (
        _line(box[1 - i], box[3 - i], bins, n, a)
        for i, (bins, n) in enumerate(((a.output_height, h), (a.output_width, w)))
    )
    places = rows[..., None, None, None] * w + columns
    weights = of_rows[..., None, None, None] * of_columns
    taken = image.reshape(c, h * w).index_select(1, tensor(places.reshape(-1), device=image.device))
    weighed = taken * tensor(weights.reshape(-1).astype(np.float32), device=image.device)
    return weighed.reshape(c, *places.shape)


@operator("RoiAlign", since=16, numbers=("rois", "batch_indices"))
def roi_align(x: Tensor, rois: list[list[float]], batch_indices: list[int], **attributes: Any) -> Tensor:
    """Resample regions to images of one size. [n, c, h, w], [r, 4] of x, y, x, y -> [r, c, oh, ow]"""
    a = RoiAttributes(**attributes)
    if a.mode not in ("avg", "max"):
        raise ValueError(f"mode {a.mode!r} is unknown: use avg or max")
    regions: list[Tensor] = []
    for box, image in zip(rois, batch_indices, strict=True):
        read = _read_region(x[image].to(x.dtype.as_float), box, a)
        samples = read.shape[2] * read.shape[5]
        regions.append(
            read.sum((2, 3, 5, 6)) / max(samples, 1) if a.mode == "avg" else read.amax((2, 3, 5, 6))
        )
    if not regions:
        return Tensor.zeros(0, x.shape[1], a.output_height, a.output_width, dtype=x.dtype, device=x.device)
    return stack(regions).to(x.dtype)


@operator("RoiAlign", since=10, numbers=("rois", "batch_indices"))
def roi_align_10(x: Tensor, rois: list[list[float]], batch_indices: list[int], **attributes: Any) -> Tensor:
    """Opset 10, whose regions are not shifted by half a pixel."""
    mode = {"coordinate_transformation_mode": "output_half_pixel"}
    return roi_align(x, rois, batch_indices, **mode, **attributes)


def _bins(start: int, end: int, bins: int, n: int) -> list[tuple[int, int]]:
    """Return the start and end of each bin of a region's dim, clipped to the image."""
    # both ends of a region are inclusive
    size = max(end - start + 1, 1)
    bounds = [(floor(i * size / bins) + start, ceil((i + 1) * size / bins) + start) for i in range(bins)]
    return [(min(max(a, 0), n), min(max(b, 0), n)) for a, b in bounds]


@operator("MaxRoiPool", numbers="rois")
def max_roi_pool(
    x: Tensor, rois: list[list[float]], *, pooled_shape: tuple[int, int], spatial_scale: float = 1.0
) -> Tensor:
    """Return the maximum of each bin of regions; 0 for an empty bin. [n, c, h, w], [r, 5] -> [r, c, oh,
    ow]"""
    import numpy as np

    check_count(prod(pooled_shape), "the parts of a region", 1 << 16)
    regions: list[Tensor] = []
    scale = np.float32(spatial_scale)  # onnxruntime rounds a float32 product
    for image, *box in rois:
        x0, y0, x1, y1 = (floor(float(np.float32(v) * scale) + 0.5) for v in box)
        rows = _bins(y0, y1, pooled_shape[0], x.shape[2])
        columns = _bins(x0, x1, pooled_shape[1], x.shape[3])
        parts = [x[int(image), :, a:b, c:d] for a, b in rows for c, d in columns]
        largest = [p.amax((1, 2)) if p.numel() else p.sum((1, 2)) for p in parts]
        regions.append(stack(largest, 1).reshape(x.shape[1], *pooled_shape))
    if not regions:
        return Tensor.zeros(0, x.shape[1], *pooled_shape, dtype=x.dtype, device=x.device)
    return stack(regions)
