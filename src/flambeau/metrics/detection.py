"""Average precision of detected objects, by COCO's rules.

An update stores its tensors on their device. compute reads all of them once and matches boxes on the host.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.node import describe
from ..device import DeviceLike
from ..runtime.run import realize
from ..tensor import Tensor
from .inputs import check_option
from .metric import Metric

Array = NDArray[Any]
FORMATS = ("xyxy", "xywh", "cxcywh")
AREAS = {"all": (0.0, 1e10), "small": (0.0, 32.0**2), "medium": (32.0**2, 96.0**2), "large": (96.0**2, 1e10)}
OVERLAPS = tuple(np.linspace(0.5, 0.95, 10).tolist())  # COCO's own, to the last bit: a match may be at one
RECALLS = tuple(np.linspace(0.0, 1.0, 101).tolist())
MOST = (1, 10, 100)  # detections of an image
ALMOST_ONE = 1 - 1e-10  # COCO's largest threshold
PARTS = ("shapes", "scores", "labels", "true_shapes", "true_labels", "is_crowd", "areas")


class Scene(NamedTuple):
    """An image's detections and objects on the host: boxes (x, y, w, h) or masks as rows, scores, classes.

    is_crowd: groups of objects, which any number of detections may match, and none has to. areas: of the
    objects, 0 to compute them.
    """

    shapes: Array
    scores: Array
    labels: Array
    true_shapes: Array
    true_labels: Array
    is_crowd: Array
    areas: Array

    def of_class(self, number: int | None, most: int) -> "Scene":
        """The best detections and the objects of one class, or of all."""
        mine, theirs = (
            slice(None) if number is None else x == number for x in (self.labels, self.true_labels)
        )
        scores = self.scores[mine]
        order = np.argsort(-scores, kind="stable")[:most]
        kept = (self.shapes[mine][order], scores[order], self.labels[mine][order])
        objects = self.true_shapes, self.true_labels, self.is_crowd, self.areas
        return Scene(*kept, *(x[theirs] for x in objects))


class Matches(NamedTuple):
    """Detections of one image and class, for sizes of objects and thresholds: scores [n], is_hit and is_left
    (neither right nor wrong) [sizes, thresholds, n], and the number of objects to find [sizes]."""

    scores: Array
    is_hit: Array
    is_left: Array
    objects: Array


class MeanAveragePrecision(Metric):
    """The mean area below curves of precision over recall of detections, by COCO's rules (Lin et al., 2014).

    box_format: of predictions and targets: "xyxy" (corners), "xywh" (a corner and sizes), "cxcywh" (a center
    and sizes). iou_type: "bbox" compares boxes, "segm" masks. iou_thresholds: least overlaps of a match, 0.5,
    0.55, ... 0.95 if None. rec_thresholds: recalls at which precision is averaged, 0, 0.01, ... 1 if None.
    max_detection_thresholds: how many detections of an image and class count, best first; (1, 10, 100) if
    None. class_metrics: whether values of each class are computed. average: "macro" (mean of classes), or
    "micro" (all are one class).

    The value is a dict: "map", "map_50", "map_75", "map_small", "map_medium", "map_large" (below 32^2,
    between, above 96^2 pixels), "mar_1", "mar_10", "mar_100" (mean recalls), "mar_small", "mar_medium",
    "mar_large", "map_per_class", "mar_100_per_class", "classes"; -1 where nothing is to be found.
    Raises ValueError if an argument is not valid.
    """

    higher_is_better = True

    def __init__(
        self,
        box_format: str = "xyxy",
        iou_type: str = "bbox",
        iou_thresholds: Sequence[float] | None = None,
        rec_thresholds: Sequence[float] | None = None,
        max_detection_thresholds: Sequence[int] | None = None,
        class_metrics: bool = False,
        average: str = "macro",
        device: DeviceLike | None = None,
    ):
        super().__init__(device)
        check_option(self.name, "box_format", box_format, FORMATS)
        check_option(self.name, "iou_type", iou_type, ("bbox", "segm"))
        check_option(self.name, "average", average, ("macro", "micro"))
        self.box_format, self.iou_type, self.average = box_format, iou_type, average
        self.iou_thresholds = self._shares("iou_thresholds", iou_thresholds, OVERLAPS)
        self.rec_thresholds = self._shares("rec_thresholds", rec_thresholds, RECALLS)
        most = MOST if max_detection_thresholds is None else tuple(sorted(max_detection_thresholds))
        if not most or most[0] < 1:
            rule = "are numbers of detections: pass integers of at least 1"
            raise ValueError(
                f"{self.name}(max_detection_thresholds={max_detection_thresholds!r}): they {rule}"
            )
        self.max_detection_thresholds, self.class_metrics = most, class_metrics
        for part in PARTS:
            self.add_state(part, [])

    def _shares(self, name: str, limits: Sequence[float] | None, default: tuple[float, ...]) -> list[float]:
        values = list(default if limits is None else limits)
        if not values or not all(0 <= v <= 1 for v in values):
            raise ValueError(f"{self.name}({name}={limits!r}): they are shares: pass numbers from 0 to 1")
        return values

    def update(self, preds: Sequence[dict[str, Tensor]], target: Sequence[dict[str, Tensor]]) -> None:
        """Count images: dicts with "boxes" [n, 4] or "masks" [n, h, w], "labels" [n] and, of predictions,
        "scores" [n]; targets may have "iscrowd" [n] and "area" [n]. Raises ValueError for other inputs."""
        if len(preds) != len(target):
            rule = "numbers differ: pass a dict of predictions and one of targets for each image"
            raise ValueError(f"{self.name}({len(preds)} predictions, {len(target)} targets): {rule}")
        shapes = "masks" if self.iou_type == "segm" else "boxes"
        for i, (p, t) in enumerate(zip(preds, target, strict=True)):
            self._check(f"preds[{i}]", p, (shapes, "scores", "labels"))
            self._check(f"target[{i}]", t, (shapes, "labels"))
            if shapes == "masks" and p[shapes].shape[1:] != t[shapes].shape[1:]:
                call = f"{self.name}(preds[{i}]: {describe(p[shapes])}, target[{i}]: {describe(t[shapes])})"
                raise ValueError(f"{call}: masks of an image have one size: pass [n, h, w] of equal h and w")
            n = len(t["labels"])
            none = Tensor.zeros(n, device=t["labels"].device)
            kept = (p[shapes], p["scores"], p["labels"], t[shapes], t["labels"])
            for part, x in zip(PARTS, (*kept, t.get("iscrowd", none), t.get("area", none)), strict=True):
                self.states[part].append(x.detach())

    def _check(self, where: str, tensors: dict[str, Tensor], keys: tuple[str, ...]) -> None:
        """Raise ValueError if a tensor is missing, or of another shape than the labels need."""
        missing = [k for k in keys if k not in tensors]
        if missing:
            rule = f"{', '.join(map(repr, missing))} missing: pass {', '.join(map(repr, keys))}"
            raise ValueError(f"{self.name}({where}): {rule}")
        n = tensors["labels"].shape[:1]
        if tensors["labels"].ndim != 1 or tensors["labels"].dtype.is_float:
            rule = "labels are integers [n]: pass a class for each object"
            raise ValueError(f"{self.name}({where}['labels']: {describe(tensors['labels'])}): {rule}")
        for name, x in tensors.items():
            shape = {"boxes": (*n, 4), "masks": (*n, *x.shape[-2:])}.get(name, n)
            if name in (*keys, "iscrowd", "area") and tuple(x.shape) != tuple(shape):
                rule = f"labels are of {n[0]} objects: pass {name} of as many"
                if name in ("boxes", "masks"):
                    rule += ", [n, 4]" if name == "boxes" else ", [n, h, w]"
                raise ValueError(f"{self.name}({where}[{name!r}]: {describe(x)}): {rule}")

    def compute(self) -> dict[str, Any]:
        """Return the values by name; -1 where no object is to be found."""
        images = self._images()
        classes = sorted({int(c) for image in images for c in (*image.labels, *image.true_labels)})
        each = {c: self._curves(images, c) for c in classes if self.class_metrics or self.average == "macro"}
        all_curves = [self._curves(images, None)] if self.average == "micro" else list(each.values())
        result = self._values(all_curves)
        last = f"mar_{self.max_detection_thresholds[-1]}"
        result |= {"map_per_class": -1.0, f"{last}_per_class": -1.0, "classes": classes}
        if self.class_metrics:
            values = [self._values([curves]) for curves in each.values()]
            result["map_per_class"] = [v["map"] for v in values]
            result[f"{last}_per_class"] = [v[last] for v in values]
        return result

    def _images(self) -> list[Scene]:
        """The states on the host, image by image."""
        parts = [self.states[part] for part in PARTS]
        if tensors := [x for part in parts for x in part]:
            realize(*tensors)
        images = [Scene(*(np.asarray(x.numpy()) for x in row)) for row in zip(*parts, strict=True)]
        if self.iou_type == "segm":
            return [i._replace(shapes=_rows(i.shapes), true_shapes=_rows(i.true_shapes)) for i in images]
        return [
            i._replace(
                shapes=_sizes(i.shapes, self.box_format), true_shapes=_sizes(i.true_shapes, self.box_format)
            )
            for i in images
        ]

    def _curves(self, images: list[Scene], number: int | None) -> tuple[Array, Array]:
        """Precision [counts, sizes, thresholds, recalls] and recall [counts, sizes, thresholds] of a class,
        or of all as one; -1 without objects."""
        most = self.max_detection_thresholds
        parts = [i.of_class(number, most[-1]) for i in images]
        matches = [match(p, self.iou_thresholds) for p in parts if len(p.scores) or len(p.areas)]
        curves = [curve(matches, n, self.rec_thresholds, len(self.iou_thresholds)) for n in most]
        return np.stack([p for p, _ in curves]), np.stack([r for _, r in curves])

    def _values(self, curves: list[tuple[Array, Array]]) -> dict[str, Any]:
        """The values of some classes together, by name."""
        shares, most = self.iou_thresholds, self.max_detection_thresholds
        shape = (0, len(most), len(AREAS), len(shares))
        precision = np.stack([p for p, _ in curves]) if curves else np.zeros((*shape, 1))
        recall = np.stack([r for _, r in curves]) if curves else np.zeros(shape)
        result = {"map": _mean(precision[:, -1, 0])}
        for share in (0.5, 0.75):
            columns = [i for i, s in enumerate(shares) if s == share]
            result[f"map_{share * 100:.0f}"] = _mean(precision[:, -1, 0, columns])
        sizes = list(enumerate(AREAS))[1:]
        result |= {f"map_{size}": _mean(precision[:, -1, i]) for i, size in sizes}
        result |= {f"mar_{n}": _mean(recall[:, i, 0]) for i, n in enumerate(most)}
        return result | {f"mar_{size}": _mean(recall[:, -1, i]) for i, size in sizes}


def match(image: Scene, thresholds: Sequence[float]) -> Matches:
    """Give each detection, best first, the object that it overlaps most and that is free.

    Objects of another size and crowds are matched last, and do not count then; nor does a detection of
    another size without a match.
    """
    overlap = overlaps(image)
    least: Array = np.array(thresholds, "f8").clip(max=ALMOST_ONE).reshape(-1, 1)
    own = _areas(image.shapes)
    true = np.where(image.areas > 0, image.areas, _areas(image.true_shapes)).astype("f8")
    is_crowd = image.is_crowd != 0
    hits: list[Array] = []
    left: list[Array] = []
    objects: list[int] = []
    for low, high in AREAS.values():
        is_other = is_crowd | (true < low) | (true > high)
        is_hit = np.zeros((len(thresholds), len(own)), bool)
        is_left = np.tile((own < low) | (own > high), (len(thresholds), 1))
        is_free = np.ones((len(thresholds), len(true)), bool)
        for d in range(len(own)) if len(true) else ():
            fits: Array = np.asarray((overlap[d] >= least) & (is_free | is_crowd))
            counts = fits & ~is_other
            has_counting = counts.any(1)
            fits = np.where(has_counting[:, None], counts, fits)
            # the last of equal overlaps, as COCO's loop
            best = len(true) - 1 - np.where(fits, overlap[d], -1.0)[:, ::-1].argmax(1)
            is_any: Array = np.asarray(fits.any(1))
            is_free[is_any, best[is_any]] = False
            is_hit[:, d] = has_counting
            is_left[:, d] = np.where(is_any, ~has_counting, is_left[:, d])
        hits.append(is_hit)
        left.append(is_left)
        objects.append(int((~is_other).sum()))
    return Matches(image.scores, np.stack(hits), np.stack(left), np.array(objects))


def curve(
    matches: list[Matches], most: int, recalls: Sequence[float], thresholds: int
) -> tuple[Array, Array]:
    """The precision at recalls [sizes, thresholds, recalls], and the largest recall [sizes, thresholds], of
    at most so many detections of an image; -1 without objects."""
    precision = np.full((len(AREAS), thresholds, len(recalls)), -1.0)
    recall = np.full((len(AREAS), thresholds), -1.0)
    if not matches:
        return precision, recall
    order = np.argsort(-np.concatenate([f.scores[:most] for f in matches]), kind="stable")
    hits, left = (
        np.concatenate(x, 2)[:, :, order]
        for x in zip(*((f.is_hit[:, :, :most], f.is_left[:, :, :most]) for f in matches), strict=True)
    )
    right: Array = (hits & ~left).cumsum(2).astype("f8")
    wrong = (~hits & ~left).cumsum(2)
    for size, count in enumerate(np.sum([f.objects for f in matches], 0).tolist()):
        if not count:
            continue
        recall[size] = right[size, :, -1] / count if len(order) else 0.0
        share = right[size] / (right[size] + wrong[size] + np.spacing(1))
        share = np.maximum.accumulate(share[:, ::-1], 1)[:, ::-1]  # the best precision of at least a recall
        for t in range(thresholds):
            ranks = np.searchsorted(right[size, t] / count, recalls, side="left")
            precision[size, t] = np.append(share[t], 0.0)[np.minimum(ranks, len(order))]
    return precision, recall


def overlaps(image: Scene) -> Array:
    """The share of each detection's union with each object; with a crowd, of the detection. NaN counts as 0.
    [n, objects]"""
    a, b = image.shapes.astype("f8"), image.true_shapes.astype("f8")
    if image.shapes.dtype == bool:
        both = a @ b.T
    else:
        low = np.maximum(a[:, None, :2], b[None, :, :2])
        high = np.minimum(a[:, None, :2] + a[:, None, 2:], b[None, :, :2] + b[None, :, 2:])
        both = np.where((high > low).all(-1), (high - low).prod(-1), 0.0)
    own = _areas(image.shapes)[:, None]
    whole = np.where(image.is_crowd != 0, own, own + _areas(image.true_shapes) - both)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num(both / whole, nan=0.0, posinf=0.0)


def _areas(shapes: Array) -> Array:
    """Areas of boxes (x, y, w, h), or of masks as rows."""
    return shapes.sum(1).astype("f8") if shapes.dtype == bool else shapes[:, 2:].astype("f8").prod(1)


def _sizes(boxes: Array, form: str) -> Array:
    """Boxes as (x, y, w, h)."""
    boxes = boxes.astype("f4")
    first, second = boxes[:, :2], boxes[:, 2:]
    if form == "xyxy":
        return np.concatenate([first, second - first], 1)
    return np.concatenate([first - second / 2, second], 1) if form == "cxcywh" else boxes


def _rows(masks: Array) -> Array:
    """Masks as rows of pixels."""
    return masks.reshape(len(masks), masks.shape[1] * masks.shape[2]) != 0


def _mean(values: Array) -> float:
    """The mean of what is not -1; -1 of nothing."""
    known = values[values > -1]
    return float(known.mean()) if known.size else -1.0
