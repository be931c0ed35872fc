"""Boxes: overlaps, losses, suppression, anchors beside small NumPy references, on both classes of kernels."""

import numpy as np
import pytest

import flambeau as fb
from flambeau import vision

RNG = np.random.default_rng(0)


def boxes_of(n, wide=50.0, rng=RNG):
    corners = rng.uniform(0, wide, (n, 2))
    return np.concatenate([corners, corners + rng.uniform(0.5, 30, (n, 2))], 1).astype("f4")


def kept_boxes(boxes, scores, threshold, classes=None):
    """The definition, box by box in float32."""
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable").tolist():
        same = [k for k in kept if classes is None or classes[k] == classes[i]]
        if not any(share(boxes[k], boxes[i]) > np.float32(threshold) for k in same):
            kept.append(i)
    return kept


def share(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    both = np.prod(np.maximum(high - low, 0))
    with np.errstate(all="ignore"):
        return both / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both)


def strange_boxes(n):
    """Boxes with ties, NaN, infinity, twice the same without area."""
    boxes, scores = boxes_of(n), RNG.integers(0, n // 3 + 1, n).astype("f4")
    boxes[3], boxes[4, 2:], boxes[7, 2] = np.nan, boxes[4, :2], np.inf
    boxes[5] = boxes[4]
    return boxes, scores


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("n", [33, 100])
def test_suppression_is_the_definition(kernels, n):
    boxes, scores = strange_boxes(n)
    classes = RNG.integers(0, 3, n)
    given = [fb.tensor(x, device=kernels) for x in (boxes, scores, classes)]
    want = kept_boxes(boxes, scores, 0.3)
    assert 3 < len(want) < n
    assert vision.nms(*given[:2], 0.3).tolist() == want
    padded = vision.nms(*given[:2], 0.3, size=n)
    assert padded.dtype is fb.int64 and padded.tolist() == want + [-1] * (n - len(want))
    assert vision.nms(*given[:2], 0.3, size=4).tolist() == want[:4]
    assert vision.batched_nms(*given, 0.3).tolist() == kept_boxes(boxes, scores, 0.3, classes)


def test_suppression_over_several_blocks(kernels, monkeypatch):
    monkeypatch.setattr(vision.suppression, "BLOCK", 64)
    n = 200
    boxes, scores = boxes_of(n), RNG.permutation(n).astype("f4")
    got = vision.nms(fb.tensor(boxes, device=kernels), fb.tensor(scores, device=kernels), 0.2)
    assert got.tolist() == kept_boxes(boxes, scores, 0.2)


def test_no_boxes(kernels):
    none, no_scores = fb.zeros(0, 4, device=kernels), fb.zeros(0, device=kernels)
    assert vision.nms(none, no_scores, 0.5).shape == (0,)
    assert vision.nms(none, no_scores, 0.5, size=2).tolist() == [-1, -1]
    assert vision.box_iou(none, fb.ones(3, 4, device=kernels)).shape == (0, 3)
    assert vision.generalized_box_iou_loss(none, none, "mean").item() == 0
    assert vision.remove_small_boxes(none, 1).shape == (0,)
    assert vision.masks_to_boxes(fb.zeros(2, 0, 3, device=kernels)).tolist() == [[0] * 4] * 2
    assert vision.roi_align(fb.ones(1, 2, 4, 4, device=kernels), [], 2).shape == (0, 2, 2, 2)


def test_features_of_no_and_of_strange_regions():
    """None are none; NaN is NaN or 0, never an index; a region without area is one pixel wide."""
    x, nan = fb.ones(1, 4, 4, 5, device="cpu"), float("nan")
    for call in (vision.roi_align, vision.roi_pool, vision.ps_roi_align, vision.ps_roi_pool):
        assert call(x, fb.zeros(0, 5, device="cpu"), 2).shape[::2] == (0, 2)
    strange = fb.tensor([[0.0, nan, 0, 2, 2]], device="cpu")
    assert np.isnan(vision.roi_align(x, strange, 2, 1.0, 2).numpy()).all()
    assert not vision.roi_pool(x, strange, 2).numpy().any()
    assert (vision.roi_align(x, fb.tensor([[0.0, 1, 1, 1, 1]], device="cpu"), 2, 1.0, 2).numpy() == 1).all()


def test_strange_boxes_and_masks():
    nan = float("nan")
    boxes = fb.tensor([[0.0, 0, nan, 4], [0, 0, 4, 4], [3, 3, 1, 1]], device="cpu")
    assert vision.remove_small_boxes(boxes, 1.0).tolist() == [1]
    inside = vision.clip_boxes_to_image(boxes, (2, 3)).numpy()
    assert np.isnan(inside[0, 2]) and inside[1].tolist() == [0, 0, 3, 2]
    none = fb.zeros(0, 4, device="cpu")
    assert vision.remove_small_boxes(none, 1.0).shape == (0,)
    assert vision.box_convert(none, "xyxy", "xywh").shape == none.shape
    assert vision.masks_to_boxes(fb.zeros(0, 4, 4, device="cpu")).shape == none.shape
    assert vision.masks_to_boxes(fb.zeros(2, 0, 4, device="cpu")).tolist() == [[0] * 4] * 2


def test_a_recorded_call_reads_nothing_back():
    boxes, scores = (fb.tensor(x, device="cpu") for x in (boxes_of(40), np.arange(40, dtype="f4")))
    call = fb.jit(lambda b, s: vision.nms(b, s, 0.3, size=10))
    for _ in range(3):
        assert call(boxes, scores).tolist() == vision.nms(boxes, scores, 0.3, size=10).tolist()


def test_overlaps_and_areas():
    first, second = boxes_of(5), boxes_of(4)
    want = np.array([[share(a, b) for b in second] for a in first])
    got = vision.box_iou(fb.tensor(first, device="cpu"), fb.tensor(second, device="cpu"))
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)
    area = vision.box_area(fb.tensor(first, device="cpu"))
    np.testing.assert_allclose(area.numpy(), np.prod(first[:, 2:] - first[:, :2], 1), rtol=1e-6)
    empty = fb.tensor([[1.0, 1, 1, 1], [0, 0, np.nan, 1]], device="cpu")
    assert np.isnan(vision.box_iou(empty, empty).numpy()).all()


def test_formats_of_boxes():
    boxes = fb.tensor([[2.0, 3.0, 6.0, 9.0]], device="cpu")
    there = {"xyxy": [2, 3, 6, 9], "xywh": [2, 3, 4, 6], "cxcywh": [4, 6, 4, 6]}
    for a in there:
        for b, want in there.items():
            assert vision.box_convert(vision.box_convert(boxes, "xyxy", a), a, b).tolist() == [want]
    clipped = vision.clip_boxes_to_image(fb.tensor([[-1.0, 2.0, 20.0, 30.0]], device="cpu"), (10, 15))
    assert clipped.tolist() == [[0, 2, 15, 10]]
    small = fb.tensor([[0.0, 0, 2, 2], [0, 0, 1, 9], [0, 0, 2, 3]], device="cpu")
    assert vision.remove_small_boxes(small, 2).tolist() == [0, 2]


def test_boxes_of_masks():
    masks = np.zeros((3, 5, 6), bool)
    masks[0, 1:4, 2:5] = masks[1, 4, 0] = True
    got = vision.masks_to_boxes(fb.tensor(masks, device="cpu")).tolist()
    assert got == [[2, 1, 4, 3], [0, 4, 0, 4], [0, 0, 0, 0]]


def test_anchors_of_two_levels():
    first, second = vision.grid_anchors(
        [(1, 2), (1, 1)], [(8, 8), (16, 16)], [(4,), (8,)], [(1.0, 0.25), (1.0,)], device="cpu"
    )
    assert first.tolist() == [[-2, -2, 2, 2], [-4, -1, 4, 1], [6, -2, 10, 2], [4, -1, 12, 1]]
    assert second.tolist() == [[-4, -4, 4, 4]]


MISTAKES = [
    (lambda x: vision.box_area(x[:, :3]), "box_area({x3}): boxes are [..., 4]: pass 4 numbers a box"),
    (lambda x: vision.box_iou(x, x[0]), "box_iou({x0}): boxes are [n, 4]: pass a matrix of 4 columns"),
    (
        lambda x: vision.box_convert(x, "xyxy", "yx"),
        "box_convert(out_fmt='yx'): formats are xyxy, xywh, cxcywh: pass one",
    ),
    (
        lambda x: vision.distance_box_iou_loss(x, x, "max"),
        "distance_box_iou_loss(reduction='max'): reductions are none, mean, sum: pass one",
    ),
    (
        lambda x: vision.complete_box_iou_loss(x, x[:1]),
        "complete_box_iou_loss({x}, {x1}): both are [..., 4]: pass boxes of one shape",
    ),
    (
        lambda x: vision.sigmoid_focal_loss(x, x, alpha=2),
        "sigmoid_focal_loss: alpha=2 is above 1: pass a weight from 0 to 1, or a negative number for none",
    ),
    (lambda x: vision.masks_to_boxes(x), "masks_to_boxes({x}): masks are [n, h, w]: pass 3 dims"),
    (
        lambda x: vision.nms(x, x[:, 0][:1], 0.5),
        "nms({x}, {s1}): boxes are [n, 4] and scores [n]: pass a score for each box",
    ),
    (
        lambda x: vision.batched_nms(x, x[:, 0], x[:, 0], 0.5),
        "batched_nms(idxs={s}): idxs are integers [2]: pass a category for each box",
    ),
    (
        lambda x: vision.nms(x, x[:, 0], 0.5, size=-1),
        "nms(size=-1): it is a number of boxes: pass 0 or more",
    ),
    (
        lambda x: vision.nms(fb.zeros(32769, 4, device="cpu"), fb.zeros(32769, device="cpu"), 0.5),
        "nms({large}): compares at most 32,768 boxes: pass those of the best scores, which topk finds",
    ),
    (
        lambda x: vision.grid_anchors([(1, 1)], [(1, 1)], [], [(1.0,)]),
        "grid_anchors: grid_sizes, strides, sizes and aspect_ratios have one entry a level: pass as many of"
        " each; they have 1, 1, 0, 1",
    ),
    (
        lambda x: vision.roi_align(x, x, 2),
        "roi_align({x}, {x}): the input is [n, c, h, w], boxes are [k, 5] or a list of [k, 4]: pass"
        " such tensors",
    ),
    (
        lambda x: vision.roi_pool(x.reshape(1, 1, 2, 4), [x], (2, 0)),
        "roi_pool(output_size=(2, 0)): it is one number of bins, or (height, width): pass numbers"
        " of at least 1",
    ),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_errors_say_what_to_pass(number):
    from flambeau.core.node import describe

    call, text = MISTAKES[number]
    x = fb.ones(2, 4, device="cpu")
    given = {
        "x": x, "x0": x[0], "x1": x[:1], "x3": x[:, :3], "s": x[:, 0], "s1": x[:1, 0],
        "large": fb.zeros(32769, 4, device="cpu"),
    }  # fmt: skip
    with pytest.raises(ValueError) as error:
        call(x)
    assert str(error.value) == text.format(**{k: describe(v) for k, v in given.items()})
