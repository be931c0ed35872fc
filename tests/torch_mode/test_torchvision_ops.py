"""The operators of torchvision's compiled library. The numbers are those of torchvision 0.28's kernels."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.torch import torchvision_ops
from flambeau.vision import regions

ROIS = [[0, 1, 2, 9, 8], [1, 0, 0, 13, 15], [1, -3, -4, 5, 20.5], [0, 3.3, 2.2, 10.7, 9.9]]
# arguments after the regions, shape, the sums below of result and gradient, the sum of the second result
CALLS = {
    "roi_align": ((0.5, 2, 3, 2, False), (4, 12, 2, 3), -2.48717, -0.22717, None),
    "roi_align, centers": ((0.5, 2, 3, 2, True), (4, 12, 2, 3), 0.86603, 3.29289, None),
    "roi_align, adaptive": ((0.5, 2, 3, -1, False), (4, 12, 2, 3), -2.40336, -0.06650, None),
    "roi_pool": ((0.5, 2, 3), (4, 12, 2, 3), -1.30196, -0.83149, 7292),
    "ps_roi_align": ((0.5, 2, 3, 2), (4, 2, 2, 3), -1.00392, -0.17918, 264),
    "ps_roi_align, adaptive": ((0.5, 2, 3, 0), (4, 2, 2, 3), -0.94809, -0.02737, 264),
    "ps_roi_pool": ((0.5, 2, 3), (4, 2, 2, 3), -0.35553, 0.75151, 264),
}


def numbers(*shape: int) -> np.ndarray:
    return np.sin(np.arange(np.prod(shape)) * 1.7).reshape(shape).astype(np.float32)


@pytest.mark.parametrize("name", CALLS)
def test_regions(mode, name):
    arguments, shape, total, slope, second = CALLS[name]
    x = mode.from_numpy(numbers(2, 12, 7, 8)).requires_grad_()
    y = torchvision_ops.OPERATORS[f"torchvision::{name.partition(',')[0]}"](x, mode.tensor(ROIS), *arguments)
    y, places = y if isinstance(y, tuple) else (y, None)
    assert y.shape == shape
    weights = mode.from_numpy(numbers(*shape)[..., ::-1].copy())
    (y * weights).sum().backward()
    assert (y * weights).sum().item() == pytest.approx(total, abs=2e-4)
    assert (x.grad.numpy() * numbers(2, 12, 7, 8)[::-1]).sum() == pytest.approx(slope, abs=2e-4)
    assert places is None or places.sum().item() == second


def test_no_region(mode):
    none = mode.empty(0, 5)
    assert regions.align_regions(mode.ones(1, 3, 4, 4), none, 1.0, 2, 2, 2, False).shape == (0, 3, 2, 2)
    assert regions.pool_regions(mode.ones(1, 3, 4, 4), none, 1.0, 2, 2)[0].shape == (0, 3, 2, 2)


def test_boxes_that_overlap(mode):
    boxes = mode.tensor([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30], [0, 0, 10, 7], [5, 5, 5, 5]])
    scores = mode.tensor([0.5, 0.9, 0.3, 0.9, 0.1])
    assert torchvision_ops.nms(boxes, scores, 0.5).tolist() == [1, 2, 4]
    # the share of the first two is 0.81 in float32, which is larger than the float64 0.81
    assert torchvision_ops.nms(boxes[:2], scores[:2], 0.81).tolist() == [1]
    assert torchvision_ops.nms(boxes[:2], scores[:2], 0.8101).tolist() == [1, 0]
    assert torchvision_ops.nms(boxes[:0], scores[:0], 0.5).tolist() == []


def test_channels_that_bins_do_not_divide(mode):
    with pytest.raises(ValueError, match="multiple of 2 x 3"):
        regions.pool_regions_by_bins(mode.ones(1, 7, 4, 4), mode.tensor(ROIS), 0.5, 2, 3)


def test_areas_of_half_precision_boxes():
    boxes = fb.tensor([[0.0, 0, 300, 300], [0, 0, 300, 300]], device="cpu").half()
    assert torchvision_ops.nms(boxes, fb.tensor([1.0, 2.0], device="cpu").half(), 0.5).tolist() == [1]
