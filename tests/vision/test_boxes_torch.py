"""Boxes and regions beside torchvision.ops, with gradients; suppression beside OpenCV's."""

import sys

import numpy as np
import pytest
from helpers.torchvision_here import torchvision

import flambeau as fb
from flambeau import vision

RNG = np.random.default_rng(0)
LOSSES = ("generalized_box_iou_loss", "distance_box_iou_loss", "complete_box_iou_loss")
PAIRS = ("box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou")


@pytest.fixture(scope="module")
def ops(torch):
    return torchvision(torch).ops


def boxes_of(n, wide=20.0):
    corners = RNG.uniform(0, wide, (n, 2))
    return np.concatenate([corners, corners + RNG.uniform(0.5, 15, (n, 2))], 1).astype("f4")


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(torch, ops, device, name):
    first, second = boxes_of(30), boxes_of(40)
    got = getattr(vision, name)(fb.tensor(first, device=device), fb.tensor(second, device=device))
    want = getattr(ops, name)(torch.tensor(first), torch.tensor(second))
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses(torch, ops, device, name, reduction):
    first, second = boxes_of(30), boxes_of(30)
    x = fb.tensor(first, device=device)
    theirs = torch.tensor(first, requires_grad=True)
    loss = getattr(vision, name)(x, fb.tensor(second, device=device), reduction)
    want = getattr(ops, name)(theirs, torch.tensor(second), reduction)
    np.testing.assert_allclose(loss.numpy(), want.detach().numpy(), rtol=1e-4, atol=2e-6)
    slope = fb.grad(lambda v: getattr(vision, name)(v, fb.tensor(second, device=device), "sum"))(x.detach())
    getattr(ops, name)(theirs, torch.tensor(second), "sum").backward()
    np.testing.assert_allclose(slope.numpy(), theirs.grad.numpy(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.25, -1])
def test_focal_loss(torch, ops, device, alpha):
    logits, targets = RNG.normal(0, 5, 200).astype("f4"), RNG.integers(0, 2, 200).astype("f4")
    got = vision.sigmoid_focal_loss(
        fb.tensor(logits, device=device), fb.tensor(targets, device=device), alpha=alpha
    )
    want = ops.sigmoid_focal_loss(torch.tensor(logits), torch.tensor(targets), alpha=alpha)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("sampling_ratio", [2, -1])
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align(torch, ops, device, sampling_ratio, aligned):
    # their formula in PyTorch: the function of the same name calls a compiled library, which may not load.
    # It reads elements outside of an image as its edge, so all regions are inside.
    # Undecorated: torch.compile, which the decorator calls, ends the checks of torch.distributions.
    formula = sys.modules["torchvision.ops.roi_align"]._roi_align.__wrapped__
    x, boxes = RNG.normal(0, 1, (2, 3, 12, 15)).astype("f4"), boxes_of(7, 10)
    rois = np.concatenate([RNG.integers(0, 2, (7, 1)), boxes], 1).astype("f4")
    got = vision.roi_align(
        fb.tensor(x, device=device), fb.tensor(rois, device=device), (2, 3), 0.4, sampling_ratio, aligned
    )
    want = formula(torch.tensor(x), torch.tensor(rois), 0.4, 2, 3, sampling_ratio, aligned)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-5)


def test_anchors(torch):
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    sizes, ratios, grids = ((32, 48), (64, 90)), ((0.5, 1.0, 2.0),) * 2, [[3, 4], [2, 2]]
    generator = AnchorGenerator(sizes, ratios)
    strides = [[torch.tensor(8), torch.tensor(8)], [torch.tensor(16), torch.tensor(16)]]
    generator.set_cell_anchors(torch.float32, torch.device("cpu"))
    want = generator.grid_anchors(grids, strides)
    got = vision.grid_anchors(grids, [(8, 8), (16, 16)], sizes, ratios, device="cpu")
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("threshold", [0.1, 0.5])
def test_suppression_beside_opencv(torch, device, threshold):
    cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed: pip install flambeau[torch]")

    boxes, scores = boxes_of(300, 60), 1 + RNG.permutation(300).astype("f4")
    sides = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], 1)
    want = cv2.dnn.NMSBoxes(sides.tolist(), scores.tolist(), 0.0, threshold)
    got = vision.nms(fb.tensor(boxes, device=device), fb.tensor(scores, device=device), threshold)
    assert got.tolist() == list(want)
