"""NonMaxSuppression, on the host: each decision depends on the boxes that were selected before."""

from typing import Any

from ...tensor import Tensor
from ..values import first_number, host, to_array
from .table import operator


def _corners(boxes: Any, center_point_box: int) -> Any:
    """Convert boxes with any two opposite corners to (low y, low x, high y, high x). [n, 4] -> [n, 4]"""
    import numpy as np

    if center_point_box:
        x, y, w, h = boxes.T
        return np.stack([y - h / 2, x - w / 2, y + h / 2, x + w / 2], 1)
    return np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], 1)


def _overlaps(box: Any, others: Any) -> Any:
    """Intersection over union of a box with others. [4], [n, 4] -> [n]"""
    import numpy as np

    # boxes without an area overlap nothing: 0 instead of 0 / 0
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.clip(high - low, 0, None).prod(1)
    areas: Any = (others[:, 2:] - others[:, :2]).prod(1) + (box[2:] - box[:2]).prod() - shared
    return np.where(areas > 0, shared / np.where(areas > 0, areas, 1), 0.0)


def _suppress(boxes: Any, scores: Any, most: int, overlap: float, least: float | None) -> list[int]:
    """Return the indices of selected boxes by descending score; none overlaps an earlier one too much."""
    import numpy as np

    # Greedy: keep the best box, drop all that overlap it by more than the threshold, and repeat.
    order = np.argsort(-scores, kind="stable")
    order = order if least is None else order[scores[order] > least]
    selected: list[int] = []
    while len(order) and len(selected) < most:
        first, order = int(order[0]), order[1:]
        selected.append(first)
        order = order[_overlaps(boxes[first], boxes[order]) <= overlap]
    return selected


@operator(
    "NonMaxSuppression", since=10, numbers=("most", "overlap", "least"), moves=False, sized_by_values=True
)
def non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    most: Any = 0,
    overlap: Any = 0.0,
    least: Any = None,
    *,
    center_point_box: int = 0,
) -> Tensor:
    """Select boxes that do not overlap. [n, k, 4], [n, classes, k] -> [left, 3] of n, class, k"""
    limit, overlap = int(first_number(most) or 0), float(first_number(overlap) or 0.0)
    all_boxes, all_scores = to_array(boxes), to_array(scores)
    selected = [
        (image, kind, k)
        for image in range(len(all_scores))
        for kind in range(all_scores.shape[1])
        for k in _suppress(
            _corners(all_boxes[image], center_point_box),
            all_scores[image, kind],
            limit,
            overlap,
            first_number(least),
        )
    ]
    return host(selected).reshape(-1, 3)
