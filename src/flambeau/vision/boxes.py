"""Boxes (x1, y1, x2, y2) under torchvision.ops' names: areas, overlaps, conversions, losses.

All are compositions of elementwise operations, so they fuse, have gradients and read nothing back. A box with
NaN has NaN overlaps; two boxes without area have the overlap 0 / 0, which is NaN, as in torchvision.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

from ..core.node import describe
from ..functions import arange, maximum, minimum, stack, where
from ..tensor import Tensor, tensor

FORMATS = ("xyxy", "xywh", "cxcywh")
REDUCTIONS = ("none", "mean", "sum")


def box_area(boxes: Tensor) -> Tensor:
    """The areas of boxes (x1, y1, x2, y2). [..., 4] -> [...]

    Raises ValueError if the last dim is not 4.
    """
    x1, y1, x2, y2 = _sides("box_area", boxes)
    return (x2 - x1) * (y2 - y1)


def box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """The intersection over the union of each pair of boxes. [n, 4], [m, 4] -> [n, m]

    boxes1, boxes2: corners (x1, y1, x2, y2). Raises ValueError if boxes are not [n, 4].
    """
    first, second = _pairs("box_iou", boxes1, boxes2)
    both, either = _overlap(first, second)
    return both / either


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """The generalized IoU of each pair (Rezatofighi et al., 2019): IoU less the share of the enclosing box
    that neither covers. [n, 4], [m, 4] -> [n, m]

    boxes1, boxes2: corners (x1, y1, x2, y2). Raises ValueError if boxes are not [n, 4].
    """
    first, second = _pairs("generalized_box_iou", boxes1, boxes2)
    both, either = _overlap(first, second)
    width, height = _enclosing(first, second)
    area = width.clamp(min=0) * height.clamp(min=0)
    return both / either - (area - either) / area


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """The distance IoU of each pair (Zheng et al., 2020): IoU less the squared distance of the centers over
    the squared diagonal of the enclosing box. [n, 4], [m, 4] -> [n, m]

    boxes1, boxes2: corners. eps: added to the squared diagonal. Raises ValueError if boxes are not [n, 4].
    """
    first, second = _pairs("distance_box_iou", boxes1, boxes2)
    both, either = _overlap(first, second)
    return both / either - _distance(first, second, eps)


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """The complete IoU of each pair (Zheng et al., 2020): the distance IoU less a term for aspect ratios.
    [n, 4], [m, 4] -> [n, m]

    boxes1, boxes2: corners. eps: added to denominators. Raises ValueError if boxes are not [n, 4].
    """
    first, second = _pairs("complete_box_iou", boxes1, boxes2)
    both, either = _overlap(first, second)
    share = both / either
    return share - _distance(first, second, eps) - _aspect(first, second, share, eps, 0.0)


def generalized_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 less the generalized IoU of boxes at the same places. [..., 4], [..., 4] -> [...], or [] if reduced

    boxes1, boxes2: corners. reduction: "none", "mean" or "sum". eps: added to denominators. Raises
    ValueError for other reductions, and for shapes that differ.
    """
    first, second = _matched("generalized_box_iou_loss", boxes1, boxes2, reduction)
    both, either = _overlap(first, second)
    width, height = _enclosing(first, second)
    area = width * height
    value = both / (either + eps) - (area - either) / (area + eps)
    return _reduce(1 - value, reduction)


def distance_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 less the distance IoU of boxes at the same places. [..., 4], [..., 4] -> [...], or [] if reduced

    boxes1, boxes2: corners. reduction: "none", "mean" or "sum". eps: added to denominators. Raises
    ValueError for other reductions, and for shapes that differ.
    """
    first, second = _matched("distance_box_iou_loss", boxes1, boxes2, reduction)
    both, either = _overlap(first, second)
    value = both / (either + eps) - _distance(first, second, eps)
    return _reduce(1 - value, reduction)


def complete_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 less the complete IoU of boxes at the same places. [..., 4], [..., 4] -> [...], or [] if reduced

    boxes1, boxes2: corners. reduction: "none", "mean" or "sum". eps: added to denominators. Raises
    ValueError for other reductions, and for shapes that differ.
    """
    first, second = _matched("complete_box_iou_loss", boxes1, boxes2, reduction)
    both, either = _overlap(first, second)
    share = both / (either + eps)
    value = share - _distance(first, second, eps) - _aspect(first, second, share, eps, eps)
    return _reduce(1 - value, reduction)


def sigmoid_focal_loss(
    inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"
) -> Tensor:
    """The focal loss of logits (Lin et al., 2017): the cross entropy times (1 - p of the target) ** gamma.
    [...], [...] -> [...], or [] if reduced

    inputs: logits. targets: 0 or 1. alpha: the weight of targets of 1, and 1 - alpha that of others; negative
    for no weights. gamma: larger numbers count easy elements less. reduction: "none", "mean" or "sum". Raises
    ValueError for other reductions, and for an alpha above 1.
    """
    _check_reduction("sigmoid_focal_loss", reduction)
    if alpha > 1:
        rule = "is above 1: pass a weight from 0 to 1, or a negative number for none"
        raise ValueError(f"sigmoid_focal_loss: alpha={alpha} {rule}")
    p = inputs.sigmoid()
    # -log(sigmoid(x)) without overflow
    entropy = inputs.relu() - inputs * targets + (1 + (-inputs.abs()).exp()).log()
    miss = p + targets - 2 * p * targets
    loss = entropy * miss**gamma
    if alpha >= 0:
        loss = loss * (alpha * targets + (1 - alpha) * (1 - targets))
    return _reduce(loss, reduction)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Convert boxes from one format to another. [..., 4] -> [..., 4]

    in_fmt, out_fmt: "xyxy" of corners, "xywh" of a corner and sizes, "cxcywh" of a center and sizes. Raises
    ValueError for other formats, and if the last dim is not 4.
    """
    for name, value in (("in_fmt", in_fmt), ("out_fmt", out_fmt)):
        if value not in FORMATS:
            raise ValueError(f"box_convert({name}={value!r}): formats are {', '.join(FORMATS)}: pass one")
    a, b, c, d = _sides("box_convert", boxes)
    if in_fmt == out_fmt:
        return boxes
    if in_fmt == "xywh":
        a, b, c, d = a, b, a + c, b + d
    elif in_fmt == "cxcywh":
        a, b, c, d = a - 0.5 * c, b - 0.5 * d, a + 0.5 * c, b + 0.5 * d
    if out_fmt == "xywh":
        a, b, c, d = a, b, c - a, d - b
    elif out_fmt == "cxcywh":
        a, b, c, d = (a + c) / 2, (b + d) / 2, c - a, d - b
    return stack((a, b, c, d), -1)


def clip_boxes_to_image(boxes: Tensor, size: Sequence[int]) -> Tensor:
    """Move the corners of boxes into an image. [..., 4] -> [..., 4]

    size: (height, width). Raises ValueError if the last dim is not 4.
    """
    x1, y1, x2, y2 = _sides("clip_boxes_to_image", boxes)
    height, width = size
    return stack((x1.clamp(0, width), y1.clamp(0, height), x2.clamp(0, width), y2.clamp(0, height)), -1)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """The indices of boxes whose sides are at least min_size; their number is read back. [n, 4] -> [k] int64

    To keep shapes fixed, use the mask `((boxes[:, 2:] - boxes[:, :2]) >= min_size).all(1)`. Raises ValueError
    if boxes are not [n, 4].
    """
    _check_list("remove_small_boxes", boxes)
    large = (boxes[:, 2:] - boxes[:, :2]) >= min_size
    return large.all(1).nonzero().reshape(-1)


def masks_to_boxes(masks: Tensor) -> Tensor:
    """The smallest box around the nonzero elements of each mask. [n, h, w] -> [n, 4] float32

    A mask without elements has the box (0, 0, 0, 0), where torchvision fails. Raises ValueError if masks are
    not [n, h, w].
    """
    if masks.ndim != 3:
        raise ValueError(f"masks_to_boxes({describe(masks)}): masks are [n, h, w]: pass 3 dims")
    if masks.numel() == 0:
        return Tensor.zeros(masks.shape[0], 4, device=masks.device)
    is_set = masks.detach() != 0
    ends: list[Tensor] = []
    for across in (1, 2):
        line = is_set.any(across)  # [n, w], then [n, h]
        places = arange(line.shape[1], device=masks.device).float()
        low = where(line, places, float(line.shape[1])).amin(1)
        high = where(line, places, -1.0).amax(1)
        ends += [where(high < 0, 0.0, low), high.clamp(min=0)]
    return stack((ends[0], ends[2], ends[1], ends[3]), 1)


def _overlap(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """The areas of intersections and of unions."""
    low, high = maximum(first[..., :2], second[..., :2]), minimum(first[..., 2:], second[..., 2:])
    sides = (high - low).clamp(min=0)
    both = sides[..., 0] * sides[..., 1]
    return both, box_area(first) + box_area(second) - both


def _enclosing(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """The width and height of the smallest box around both."""
    low, high = minimum(first[..., :2], second[..., :2]), maximum(first[..., 2:], second[..., 2:])
    sides = high - low
    return sides[..., 0], sides[..., 1]


def _distance(first: Tensor, second: Tensor, eps: float) -> Tensor:
    """The squared distance of centers over the squared diagonal of the enclosing box."""
    width, height = _enclosing(first, second)
    apart = (first[..., :2] + first[..., 2:] - second[..., :2] - second[..., 2:]) / 2
    return apart.square().sum(-1) / (width.square() + height.square() + eps)


def _aspect(first: Tensor, second: Tensor, share: Tensor, eps: float, tiny: float) -> Tensor:
    """The penalty of other aspect ratios; its weight has no gradient. tiny: added to heights."""
    angles = [((b[..., 2] - b[..., 0]) / (b[..., 3] - b[..., 1] + tiny)).atan() for b in (first, second)]
    v = (4 / pi**2) * (angles[0] - angles[1]).square()
    weight = (v / (1 - share + v + eps)).detach()
    return weight * v


def _sides(name: str, boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    if not boxes.ndim or boxes.shape[-1] != 4:
        raise ValueError(f"{name}({describe(boxes)}): boxes are [..., 4]: pass 4 numbers a box")
    boxes = boxes if boxes.dtype.is_float else boxes.float()
    return boxes[..., 0], boxes[..., 1], boxes[..., 2], boxes[..., 3]


def _check_list(name: str, boxes: Tensor) -> None:
    if boxes.ndim != 2 or boxes.shape[-1] != 4:
        raise ValueError(f"{name}({describe(boxes)}): boxes are [n, 4]: pass a matrix of 4 columns")


def _pairs(name: str, boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """Boxes as [n, 1, 4] and [1, m, 4] of a float dtype."""
    for boxes in (boxes1, boxes2):
        _check_list(name, boxes)
    first, second = (b if b.dtype.is_float else b.float() for b in (boxes1, boxes2))
    return first.unsqueeze(1), second.unsqueeze(0)


def _check_reduction(name: str, reduction: str) -> None:
    if reduction not in REDUCTIONS:
        options = ", ".join(REDUCTIONS)
        raise ValueError(f"{name}(reduction={reduction!r}): reductions are {options}: pass one")


def _matched(name: str, boxes1: Tensor, boxes2: Tensor, reduction: str) -> tuple[Tensor, Tensor]:
    """Boxes of one shape, of a float dtype of at least 32 bits."""
    _check_reduction(name, reduction)
    if boxes1.shape != boxes2.shape or not boxes1.ndim or boxes1.shape[-1] != 4:
        rule = "both are [..., 4]: pass boxes of one shape"
        raise ValueError(f"{name}({describe(boxes1)}, {describe(boxes2)}): {rule}")
    first, second = (b if b.dtype.is_float and b.dtype.itemsize >= 4 else b.float() for b in (boxes1, boxes2))
    return first, second


def _reduce(loss: Tensor, reduction: str) -> Tensor:
    """The loss of each element, their sum, or their mean, which is 0 of no elements."""
    if reduction == "none":
        return loss
    if reduction == "sum" or not loss.numel():
        return loss.sum()
    return loss.mean()


def grid_anchors(
    grid_sizes: Sequence[Sequence[int]],
    strides: Sequence[Sequence[int]],
    sizes: Sequence[Sequence[float]],
    aspect_ratios: Sequence[Sequence[float]],
    *,
    device: str | None = None,
) -> list[Tensor]:
    """The boxes that a detector's maps predict offsets from: for each level [h * w * k, 4], by rows, columns,
    then shapes.

    grid_sizes: (h, w) of each level. strides: pixels between neighbours, (y, x), of each. sizes: of each
    level, the square roots of areas. aspect_ratios: of each level, heights over widths. Raises ValueError
    for lists of different lengths. The arithmetic is that of torchvision's AnchorGenerator.
    """
    if len({len(grid_sizes), len(strides), len(sizes), len(aspect_ratios)}) > 1:
        counts = ", ".join(str(len(v)) for v in (grid_sizes, strides, sizes, aspect_ratios))
        rule = "grid_sizes, strides, sizes and aspect_ratios have one entry a level: pass as many of each"
        raise ValueError(f"grid_anchors: {rule}; they have {counts}")
    levels: list[Tensor] = []
    for (height, width), (down, right), scales, ratios in zip(
        grid_sizes, strides, sizes, aspect_ratios, strict=True
    ):
        shapes = [(scale / ratio**0.5, scale * ratio**0.5) for ratio in ratios for scale in scales]
        # Python rounds halves to even, as torch does
        corners = [[round(v / 2) for v in (-w, -h, w, h)] for w, h in shapes]
        cells = tensor(corners, device=device).float()
        x = arange(width, device=device).float() * right
        y = arange(height, device=device).float() * down
        x, y = x.reshape(1, -1).expand(height, width), y.reshape(-1, 1).expand(height, width)
        moves = stack((x, y, x, y), -1).reshape(-1, 1, 4)
        levels.append((moves + cells.reshape(1, -1, 4)).reshape(-1, 4))
    return levels
