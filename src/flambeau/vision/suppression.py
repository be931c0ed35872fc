"""Non-maximum suppression on the device: the compact form of torchvision.ops, and one of a fixed size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.node import describe
from ..core.op import Launch, Op
from ..functions import arange, where
from ..tensor import Tensor

if TYPE_CHECKING:
    from ..core.limits import Limits
    from ..core.node import Node

GROUP = 64  # threads of a workgroup that compares boxes
DECIDING = 256  # threads of the workgroup that decides
BLOCK = 1024  # boxes that one thread of a software adapter decides on, in at most BLOCK * BLOCK / 64 turns
MOST = 32768  # boxes: their bits are 128 MiB, the least that every device binds


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, *, size: int | None = None) -> Tensor:
    """The indices of boxes (x1, y1, x2, y2) that overlap no kept box of a higher score, best first.
    [n, 4], [n] -> [k] int64

    scores: of the boxes. iou_threshold: a larger IoU suppresses; boxes without area and with NaN neither
    suppress nor are suppressed. size: with it nothing is read back: the result is [size], and ends with -1.
    Raises ValueError for other shapes, for more than 32,768 boxes, and for a negative size.
    """
    return _suppress("nms", boxes, scores, None, iou_threshold, size)


def batched_nms(
    boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float, *, size: int | None = None
) -> Tensor:
    """nms where only boxes of the same category suppress each other. [n, 4], [n], [n] -> [k] int64

    scores: of the boxes. idxs: the category of each box, integers. iou_threshold, size: as of nms. Raises
    ValueError for other shapes, for more than 32,768 boxes, and for a negative size.
    """
    if idxs.shape != scores.shape or idxs.dtype.kind not in "iub":
        rule = f"idxs are integers [{boxes.shape[0]}]: pass a category for each box"
        raise ValueError(f"batched_nms(idxs={describe(idxs)}): {rule}")
    return _suppress("batched_nms", boxes, scores, idxs, iou_threshold, size)


def _suppress(
    name: str, boxes: Tensor, scores: Tensor, idxs: Tensor | None, threshold: float, size: int | None
) -> Tensor:
    if boxes.ndim != 2 or boxes.shape[-1] != 4 or scores.shape != boxes.shape[:1]:
        rule = "boxes are [n, 4] and scores [n]: pass a score for each box"
        raise ValueError(f"{name}({describe(boxes)}, {describe(scores)}): {rule}")
    n = boxes.shape[0]
    if n > MOST:
        rule = f"compares at most {MOST:,} boxes: pass those of the best scores, which topk finds"
        raise ValueError(f"{name}({describe(boxes)}): {rule}")
    if size is not None and size < 0:
        raise ValueError(f"{name}(size={size}): it is a number of boxes: pass 0 or more")
    if n == 0:
        return Tensor.full((size or 0,), -1, dtype=dt.int64, device=boxes.device)
    order = scores.detach().sort(descending=True, stable=True).indices
    inputs = [boxes.detach().float()[order]]
    inputs += [] if idxs is None else [idxs.to(dt.int32)[order]]
    bits = SUPPRESS(*inputs, threshold=float(threshold))
    place = arange(n, device=boxes.device, dtype=dt.int32)
    is_kept = (bits.to(dt.int32)[place // 32] >> (place % 32)) & 1
    if size is None:
        return order[is_kept.bool()]
    # kept boxes go to their places, all others to one more
    count = is_kept.cumsum(0) - 1
    target = where((is_kept == 1) & (count < size), count, size).long()
    result = Tensor.full((size + 1,), -1, dtype=dt.int64, device=boxes.device)
    return result.scatter(0, target, order.long())[:size]


def _reference(xp: Any, boxes: Any, classes: Any = None, *, threshold: float) -> Any:
    """Bits of kept boxes by words, computed box by box in float32."""
    n = boxes.shape[0]
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    is_open = xp.ones(n, dtype=bool)
    for i in range(n):
        if not is_open[i]:
            continue
        low = xp.maximum(boxes[i, :2], boxes[i + 1 :, :2])
        high = xp.minimum(boxes[i, 2:], boxes[i + 1 :, 2:])
        sides = xp.maximum(high - low, 0.0)
        both = sides[:, 0] * sides[:, 1]
        # no share exceeds the threshold if it is NaN
        is_near = both / (area[i] + area[i + 1 :] - both) > threshold
        if classes is not None:
            is_near &= classes[i + 1 :] == classes[i]
        is_open[i + 1 :] &= ~is_near
    words = -(-n // 32)
    bits = xp.zeros(words * 32, dtype="uint32")
    bits[:n] = is_open
    return (bits.reshape(words, 32) << xp.arange(32, dtype="uint32")).sum(1).astype("uint32")


def _launches(limits: Limits, boxes: Node, *classes: Node, threshold: float) -> list[Launch]:
    n = boxes.shape[0]
    words = -(-n // 32)
    sizes = {"count": n, "words": words}
    overlaps = Launch(
        "vision/overlaps.wgsl",
        (0, 1) if classes else (0,),
        -(-n * words // GROUP),
        {**sizes, "threshold": threshold},
        {"classes": bool(classes)},
        writes="mask",
        elements=n * words,
        dtype=dt.uint32,
        turns=32,
    )
    if limits.software:
        return [overlaps, *_decide_by_blocks(n, words)]
    decide = Launch(
        "vision/suppress.wgsl",
        ("mask",),
        1,
        sizes,
        workgroup=(DECIDING, 1, 1),
        turns=words * (33 + words * 32 // DECIDING),
    )
    return [overlaps, decide]


def _decide_by_blocks(n: int, words: int) -> list[Launch]:
    """Launches without barriers: for each block of boxes, which are open, then which are kept."""
    launches: list[Launch] = []
    for first in range(0, n, BLOCK):
        length, before, kept = min(BLOCK, n - first), first // 32, f"kept{first}"
        sizes = {"first": first, "length": length, "before": before, "count": n}
        reads: tuple[str, ...] = ("mask",)
        if first:
            earlier, is_open = f"kept{first - BLOCK}", f"open{first}"
            launches.append(
                Launch(
                    "vision/suppress_blocks.wgsl",
                    ("mask", earlier),
                    -(-length // GROUP),
                    sizes,
                    {"opening": True, "reads_earlier": True},
                    writes=is_open,
                    elements=length,
                    dtype=dt.uint32,
                    turns=before,
                )
            )
            reads = "mask", is_open, earlier
        is_last = first + BLOCK >= n
        launches.append(
            Launch(
                "vision/suppress_blocks.wgsl",
                reads,
                1,
                sizes,
                {"opening": False, "reads_earlier": bool(first)},
                writes="" if is_last else kept,
                elements=words,
                dtype=dt.uint32,
                turns=before + length * (1 + length // 64),
            )
        )
    return launches


def _words_of(boxes: Any, *_: Any, **__: Any) -> tuple[int, ...]:
    return (-(-boxes[0] // 32),)


SUPPRESS = Op(
    "opaque",
    name="suppress_boxes",
    xp=_reference,
    shape=_words_of,
    dtype=lambda *_, **__: dt.uint32,
    launch=_launches,
    doc="Bits of the boxes, sorted by scores, that no better kept one overlaps. [n, 4], [n] -> [n / 32]",
)
