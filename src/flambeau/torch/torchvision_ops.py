"""The operators of torchvision's compiled library, made of tensor operations.

Those of regions are in flambeau.vision.regions. nms compares its boxes on the host, those of float64 in
float64.
"""

from typing import Any

import numpy as np

from ..ops.conv.grid_sample import deform_conv2d as _deform_conv2d
from ..tensor import Tensor, tensor
from ..vision.regions import align_regions, align_regions_by_bins, pool_regions, pool_regions_by_bins
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
    "torchvision::ps_roi_align": align_regions_by_bins,
    "torchvision::ps_roi_pool": pool_regions_by_bins,
    "torchvision::roi_align": align_regions,
    "torchvision::roi_pool": pool_regions,
}
