"""Mean average precision beside COCO's definition, written as loops, and by hand."""

import re

import numpy as np
import pytest

import flambeau as fb
from flambeau.metrics import MeanAveragePrecision

SIZES = {"": (0, 1e10), "small": (0, 1024), "medium": (1024, 9216), "large": (9216, 1e10)}
OPTIONS = (
    {},
    {"class_metrics": True},
    {"average": "micro", "class_metrics": True},
    {"iou_thresholds": [0.3, 0.5], "rec_thresholds": [0, 0.25, 0.5, 1.0]},
    {"max_detection_thresholds": [2, 5, 100]},
)


def drawn(rng):
    """Images: objects, detections near them, some of another class, some twice, some of nothing."""
    images = []
    for _ in range(rng.integers(1, 9)):
        n, extra = rng.integers(0, 9), rng.integers(0, 5)

        def boxes(n):
            corner = rng.uniform(0, 200, (n, 2))
            return np.concatenate([corner, corner + np.exp(rng.uniform(1, 5, (n, 2)))], 1).astype("f4")

        true, kinds = boxes(n), rng.integers(0, 4, n)
        at = np.repeat(np.arange(n), rng.integers(0, 3, n))
        near = true[at] + rng.normal(0, 0.06, (len(at), 4)) * np.tile(true[at, 2:] - true[at, :2], 2)
        found = np.concatenate([near, boxes(extra)]).astype("f4")
        told = np.concatenate(
            [np.where(rng.uniform(size=len(at)) < 0.8, kinds[at], 4), rng.integers(0, 5, extra)]
        )
        scores = rng.uniform(0, 1, len(found)).round(int(rng.choice([1, 6]))).astype("f4")
        target = {"boxes": true, "labels": kinds, "iscrowd": (rng.uniform(size=n) < 0.15).astype("i8")}
        if rng.uniform() < 0.3:
            target["area"] = np.where(rng.uniform(size=n) < 0.5, 0, np.exp(rng.uniform(3, 10, n))).astype(
                "f4"
            )
        images.append(({"boxes": found, "scores": scores, "labels": told}, target))
    return images


def overlap(a, b, is_crowd):
    """Of boxes (x, y, w, h) in float64."""
    both = [min(a[i] + a[i + 2], b[i] + b[i + 2]) - max(a[i], b[i]) for i in (0, 1)]
    if min(both) <= 0:
        return 0.0
    own, other, both = a[2] * a[3], b[2] * b[3], both[0] * both[1]
    return both / (own if is_crowd else own + other - both)


def corner_and_sizes(box):
    return [float(v) for v in (*box[:2], *(box[2:] - box[:2]))]


def judged(image, kind, least, low, high, most):
    """(score, whether it is right) of detections that count, and how many objects there are to find."""
    p, t = image
    own = [d for d in range(len(p["scores"])) if kind is None or p["labels"][d] == kind]
    own = sorted(own, key=lambda d: -p["scores"][d])[:most]
    objects = []
    for g in range(len(t["labels"])):
        if kind is None or t["labels"][g] == kind:
            box = corner_and_sizes(t["boxes"][g])
            given = float(t["area"][g]) if "area" in t else 0
            area, is_crowd = given or box[2] * box[3], bool(t["iscrowd"][g])
            objects.append([is_crowd or not low <= area <= high, is_crowd, box, False])
    objects.sort(key=lambda o: o[0])
    told = []
    for d in own:
        box, best, bound = corner_and_sizes(p["boxes"][d]), None, min(least, 1 - 1e-10)
        for o in objects:
            if o[3] and not o[1]:
                continue
            if best is not None and not best[0] and o[0]:
                break
            if (share := overlap(box, o[2], o[1])) >= bound:
                bound, best = share, o
        if best is not None:
            best[3] = True
        if not (best[0] if best is not None else not low <= box[2] * box[3] <= high):
            told.append((p["scores"][d], best is not None))
    return told, sum(not o[0] for o in objects)


def curve(images, kind, least, size, most, recalls):
    """Average precision and recall of one class, threshold and size; None without objects."""
    parts = [judged(i, kind, least, *SIZES[size], most) for i in images]
    count = sum(n for _, n in parts)
    if not count:
        return None
    told = sorted((x for part, _ in parts for x in part), key=lambda x: -x[0])
    points, right = [], 0
    for i, (_, is_right) in enumerate(told):
        right += is_right
        points.append((right / count, right / (i + 1)))
    heights = [max((p for r, p in points if r >= at), default=0.0) for at in recalls]
    return np.mean(heights), right / count


def by_definition(images, options):
    shares = options.get("iou_thresholds", np.linspace(0.5, 0.95, 10))
    recalls = options.get("rec_thresholds", np.linspace(0, 1, 101))
    most = options.get("max_detection_thresholds", [1, 10, 100])
    kinds = sorted({int(k) for i in images for part in i for k in part["labels"]})

    def mean(which, classes, size="", n=most[-1], shares=shares):
        found = [curve(images, k, s, size, n, recalls) for k in classes for s in shares]
        found = [f[which] for f in found if f is not None]
        return np.mean(found) if found else -1.0

    classes = [None] if options.get("average") == "micro" else kinds
    value = {"map": mean(0, classes), "map_50": mean(0, classes, shares=[s for s in shares if s == 0.5])}
    value["map_75"] = mean(0, classes, shares=[s for s in shares if s == 0.75])
    for size in ("small", "medium", "large"):
        value[f"map_{size}"], value[f"mar_{size}"] = mean(0, classes, size), mean(1, classes, size)
    value |= {f"mar_{n}": mean(1, classes, n=n) for n in most}
    wanted = options.get("class_metrics", False)
    value["map_per_class"] = [mean(0, [k]) for k in kinds] if wanted else -1.0
    value["mar_100_per_class"] = [mean(1, [k]) for k in kinds] if wanted else -1.0
    return value | {"classes": kinds}


def tensors(part):
    return {name: fb.tensor(v, device="cpu") for name, v in part.items()}


@pytest.mark.parametrize("seed", range(10))
def test_equals_the_definition(seed):
    """The loops agree with pycocotools' on 200 such draws, as do ours, by hand."""
    images, options = drawn(np.random.default_rng(seed)), OPTIONS[seed % 5]
    metric = MeanAveragePrecision(device="cpu", **options)
    for at in range(0, len(images), 3):
        metric.update(*([tensors(i[part]) for i in images[at : at + 3]] for part in (0, 1)))
    got, want = metric.compute(), by_definition(images, options)
    assert got.keys() == want.keys()
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=0, atol=1e-9, err_msg=name)


def as_masks(boxes):
    y, x = np.mgrid[:40, :40]
    sides = boxes.reshape(-1, 4, 1, 1)
    return (x >= sides[:, 0]) & (x < sides[:, 2]) & (y >= sides[:, 1]) & (y < sides[:, 3])


def test_masks_of_boxes_are_boxes():
    rng = np.random.default_rng(0)
    corners = rng.integers(0, 30, (6, 2))
    boxes = np.concatenate([corners, corners + rng.integers(2, 10, (6, 2))], 1).astype("f4")
    moved = boxes + np.float32([0, 0, 1, 1])
    scores, labels = rng.uniform(0, 1, 6).astype("f4"), rng.integers(0, 2, 6)
    values = []
    for kind, name, shape in (("bbox", "boxes", lambda b: b), ("segm", "masks", as_masks)):
        metric = MeanAveragePrecision(iou_type=kind, device="cpu")
        found = {name: shape(moved), "scores": scores, "labels": labels}
        metric.update([tensors(found)], [tensors({name: shape(boxes), "labels": labels})])
        values.append(metric.compute())
    assert values[0] == values[1] and 0 < values[0]["map"] < 1


@pytest.mark.parametrize("form", ["xywh", "cxcywh"])
def test_other_forms_of_boxes(form):
    from flambeau.vision import box_convert

    first, second = (fb.tensor(v, device="cpu") for v in ([[1.0, 2, 30, 40]], [[3.0, 2, 30, 44]]))
    label, score = fb.tensor([1], device="cpu"), fb.tensor([0.5], device="cpu")
    values = []
    for name in ("xyxy", form):
        a, b = (box_convert(v, "xyxy", name) for v in (first, second))
        metric = MeanAveragePrecision(name, device="cpu")
        metric.update([{"boxes": a, "scores": score, "labels": label}], [{"boxes": b, "labels": label}])
        values.append(metric.compute())
    assert values[0] == values[1] and abs(values[0]["map"] - 0.7) < 1e-6  # an IoU of 0.84


NONE = {"boxes": np.zeros((0, 4), "f4"), "scores": np.zeros(0, "f4"), "labels": np.zeros(0, "i8")}
ONE = {"boxes": np.float32([[0, 0, 9, 9]]), "scores": np.float32([0.5]), "labels": np.array([1])}


@pytest.mark.parametrize(
    "found, true, value",
    [(None, None, -1.0), (NONE, NONE, -1.0), (ONE, NONE, -1.0), (NONE, ONE, 0.0), (ONE, ONE, 1.0),
     (ONE | {"boxes": np.float32([[0, 0, np.nan, 9]])}, ONE, 0.0),
     (ONE, ONE | {"boxes": np.float32([[0, 0, 0, 9]])}, 0.0)],
)  # fmt: skip
def test_nothing_to_find_is_minus_one_and_nothing_found_zero(found, true, value):
    metric = MeanAveragePrecision(device="cpu")
    if found is not None:
        metric.update([tensors(found)], [tensors(true)])
    assert metric.compute()["map"] == pytest.approx(value)


def test_states_join_and_reset():
    whole, first, second = (MeanAveragePrecision(device="cpu") for _ in range(3))
    images = drawn(np.random.default_rng(5))
    for n, (p, t) in enumerate(images):
        for metric in (whole, (first, second)[n >= len(images) // 2]):
            metric.update([tensors(p)], [tensors(t)])
    first.merge_state(second)
    assert first.compute() == whole.compute()
    first.reset()
    assert first.compute()["map"] == -1.0


WRONG = [
    (lambda: MeanAveragePrecision("yxyx"), "MeanAveragePrecision(box_format='yxyx'): must be one of 'xyxy', "
     "'xywh', 'cxcywh': pass one"),
    (lambda: MeanAveragePrecision(iou_thresholds=[2]), "MeanAveragePrecision(iou_thresholds=[2]): they are "
     "shares: pass numbers from 0 to 1"),
    (lambda: MeanAveragePrecision(max_detection_thresholds=[0]), "MeanAveragePrecision("
     "max_detection_thresholds=[0]): they are numbers of detections: pass integers of at least 1"),
    (lambda: update([ONE], []), "MeanAveragePrecision(1 predictions, 0 targets): numbers differ: pass a dict "
     "of predictions and one of targets for each image"),
    (lambda: update([{"boxes": ONE["boxes"], "labels": ONE["labels"]}], [ONE]), "MeanAveragePrecision("
     "preds[0]): 'scores' missing: pass 'boxes', 'scores', 'labels'"),
    (lambda: update([ONE | {"labels": np.float32([1])}], [ONE]), "MeanAveragePrecision(preds[0]['labels']: "
     "f32[1]): labels are integers [n]: pass a class for each object"),
    (lambda: update([ONE], [ONE | {"boxes": np.zeros((2, 4), "f4")}]), "MeanAveragePrecision(target[0]"
     "['boxes']: f32[2, 4]): labels are of 1 objects: pass boxes of as many, [n, 4]"),
    (lambda: update([masked(4, 5)], [masked(4, 6)], "segm"), "MeanAveragePrecision(preds[0]: bool[1, 4, 5], "
     "target[0]: bool[1, 4, 6]): masks of an image have one size: pass [n, h, w] of equal h and w"),
]  # fmt: skip


def masked(*size):
    return {"masks": np.ones((1, *size), bool), "scores": ONE["scores"], "labels": ONE["labels"]}


def update(preds, target, kind="bbox"):
    metric = MeanAveragePrecision(iou_type=kind, device="cpu")
    metric.update([tensors(p) for p in preds], [tensors(t) for t in target])


@pytest.mark.parametrize("call, told", WRONG)
def test_wrong_inputs_are_told(call, told):
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        call()
