"""The operators of torchvision's compiled library. Boxes are compared on the host; the others are
made of tensor operations, roi_align of those that torchvision has in Python."""

import importlib
from typing import Any

from ..ops.conv.grid_sample import deform_conv2d as _deform_conv2d
from ..tensor import Tensor, tensor
from .placeholders import refuse


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The indices of boxes (x1, y1, x2, y2) that overlap no better one by more than a share, best first."""
    boxes, order = dets.detach().numpy(), scores.detach().sort(descending=True, stable=True).indices.tolist()
    x1, y1, x2, y2 = boxes.T
    area = (x2 - x1) * (y2 - y1)
    kept: list[int] = []
    suppressed = set[int]()
    for at, i in enumerate(order):
        if i in suppressed:
            continue
        kept.append(i)
        rest = [j for j in order[at + 1 :] if j not in suppressed]
        width = (x2[rest].clip(max=x2[i]) - x1[rest].clip(min=x1[i])).clip(min=0)
        height = (y2[rest].clip(max=y2[i]) - y1[rest].clip(min=y1[i])).clip(min=0)
        both = width * height
        overlaps = both / (area[i] + area[rest] - both) > iou_threshold
        suppressed.update(j for j, is_close in zip(rest, overlaps.tolist(), strict=True) if is_close)
    return tensor(kept, dtype="int64", device=dets.device)


def roi_align(input: Tensor, rois: Tensor, spatial_scale: float, *settings: Any) -> Tensor:
    """Values of regions at regular points, by torchvision's own formula in Python.

    settings: height and width of the result, samples of each dim, and whether half a pixel is subtracted
    """
    python = importlib.import_module("torchvision.ops.roi_align")
    return python._roi_align(input, rois, spatial_scale, *settings)


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
_REST = (*_PARTS, "_deform_conv2d_backward", "box_iou_rotated", "ps_roi_align", "ps_roi_pool", "qnms")
OPERATORS = {f"torchvision::{name}": _missing(name) for name in (*_REST, "qroi_align", "roi_pool")} | {
    "torchvision::_cuda_version": cuda_version,
    "torchvision::deform_conv2d": deform_conv2d,
    "torchvision::nms": nms,
    "torchvision::roi_align": roi_align,
}
