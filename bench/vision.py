"""Augmentations and vision operators beside torchvision and kornia, plain and compiled.

python bench/vision.py [--size small | card] [--only NAME ...] [--sides torchvision kornia compiled]

Each result is compared with the other side's before anything is timed. An augmentation is compared with
torchvision's functions of the numbers that we drew, sample by sample. It is timed as a whole call, with its
draws: ours and kornia's are a draw an image, torchvision's is one draw for the batch. Ours are calls of
fb.jit. nms returns a fixed size here (size=), so that nothing is read back.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _measure import interleave, number, queued, ratio, show_table

import flambeau as fb
from flambeau import vision
from flambeau.vision import transforms as T

sys.path.append(str(Path(__file__).parents[1] / "tests"))
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
RNG = np.random.default_rng(0)
# images, their side, images of filters and warps, boxes, regions, side of the masks
SIZES = {"small": (4, 64, 2, 500, 32, 96), "card": (64, 224, 16, 8192, 512, 512)}
SIDES = ("torchvision", "kornia", "compiled")
DRAWS = "own draws"


class Modules(NamedTuple):
    """The packages beside us; None for those that are not here."""

    torch: Any
    torchvision: Any
    kornia: Any

    @property
    def place(self) -> str:
        """The device of torch's tensors."""
        return "cuda" if self.torch.cuda.is_available() else "cpu"


class Case(NamedTuple):
    """An operation: NumPy's arrays, our function of them, the other sides', and what is compared.

    bound: the largest absolute difference. known: why a side's results are others by definition;
    of "compiled", why it is left out.
    """

    arrays: tuple[np.ndarray, ...]
    ours: Callable[..., Any]
    theirs: dict[str, Callable[..., Any]]
    bound: float = 0.0
    known: dict[str, str] = {}
    check: Callable[[], float] | None = None  # with torchvision, instead of comparing results


def packages() -> Modules:
    """torch, torchvision and kornia, with a line for each that is not here."""
    found: dict[str, Any] = {"torch": None, "torchvision": None, "kornia": None}
    try:
        import torch
        from helpers.torchvision_here import torchvision

        found["torch"] = torch
        found["torchvision"] = torchvision(torch)
        import kornia
        import kornia.augmentation
        import kornia.contrib

        found["kornia"] = kornia
    except ImportError as e:
        print(f"left out: {e}")
    return Modules(**found)


def boxes_of(n: int, wide: float) -> np.ndarray:
    corners = RNG.uniform(0, wide, (n, 2))
    return np.concatenate([corners, corners + RNG.uniform(2, wide / 8, (n, 2))], 1).astype("f4")


def by_sample(one: Callable[..., Any], t: T.ImageTransform, images: np.ndarray, m: Modules) -> float:
    """The largest difference from torchvision's function of our numbers, over the samples."""
    fb.manual_seed(1)
    x = fb.tensor(images)
    params = t.make_params(x)
    ours = t.transform(x, params).numpy()
    rows = {k: v.tolist() for k, v in params.items()}
    far = 0.0
    for i, image in enumerate(images):
        want = one(m.torch.tensor(image), {k: v[i] for k, v in rows.items()}).numpy()
        far = max(far, float(np.abs(ours[i] - want).max()))
    return far


def augmentations(m: Modules, n: int, side: int) -> dict[str, Case]:
    """Six augmentations of float images: ours, torchvision's v2 and kornia's, with the same ranges."""
    images = RNG.uniform(0, 1, (n, 3, side, side)).astype("f4")
    size, scale, shape = side * 7 // 8, (0.3, 1.0), (0.75, 4 / 3)
    ours: dict[str, T.ImageTransform] = {
        "random resized crop": T.RandomResizedCrop(size, scale, shape),
        "horizontal flip": T.RandomHorizontalFlip(),
        "rotation": T.RandomRotation(30, "bilinear"),
        "colour jitter": T.ColorJitter(0.4, 0.4, 0.4, 0.1),
        "gaussian blur": T.GaussianBlur(5, (0.5, 2.0)),
        "normalise": T.Normalize(MEAN, STD),
    }
    theirs: dict[str, dict[str, Any]] = {name: {} for name in ours}
    if m.torchvision:
        from torchvision.transforms import v2

        bilinear = v2.InterpolationMode.BILINEAR
        for name, t in {
            "random resized crop": v2.RandomResizedCrop(size, scale, shape, bilinear, antialias=False),
            "horizontal flip": v2.RandomHorizontalFlip(),
            "rotation": v2.RandomRotation(30, bilinear),
            "colour jitter": v2.ColorJitter(0.4, 0.4, 0.4, 0.1),
            "gaussian blur": v2.GaussianBlur(5, (0.5, 2.0)),
            "normalise": v2.Normalize(MEAN, STD),
        }.items():
            theirs[name]["torchvision"] = t
    if m.kornia:
        K = m.kornia.augmentation
        for name, t in {
            "random resized crop": K.RandomResizedCrop((size, size), scale, shape, cropping_mode="resample"),
            "horizontal flip": K.RandomHorizontalFlip(),
            "rotation": K.RandomRotation(30.0, p=1.0),
            "colour jitter": K.ColorJitter(0.4, 0.4, 0.4, 0.1, p=1.0),
            "gaussian blur": K.RandomGaussianBlur((5, 5), (0.5, 2.0), p=1.0),
            "normalise": K.Normalize(MEAN, STD),
        }.items():
            theirs[name]["kornia"] = t
    checks = functions(m) if m.torchvision else {}
    return {
        name: Case(
            (images,),
            t.__call__,
            theirs[name],
            5e-5,
            known={"kornia": DRAWS},
            check=partial(by_sample, checks[name], t, images[:4], m) if checks else None,
        )
        for name, t in ours.items()
    }


def functions(m: Modules) -> dict[str, Callable[..., Any]]:
    """torchvision's functions of an image and our numbers for it."""
    from helpers.torchvision_here import functional

    F = functional(m.torch)
    bilinear = 2  # torchvision's enum by Pillow's number

    def crop(x: Any, p: dict[str, float]) -> Any:
        place = [int(p[k]) for k in ("top", "left", "height", "width")]
        size = x.shape[-1] * 7 // 8
        return F.resized_crop(x, *place, [size, size], bilinear, antialias=False)

    def jitter(x: Any, p: dict[str, float]) -> Any:
        for name in ("brightness", "contrast", "saturation", "hue"):
            x = getattr(F, f"adjust_{name}")(x, p[name])
        return x

    return {
        "random resized crop": crop,
        "horizontal flip": lambda x, p: F.horizontal_flip(x) if p["flip"] else x,
        "rotation": lambda x, p: F.rotate(x, p["angle"], bilinear),
        "colour jitter": jitter,
        "gaussian blur": lambda x, p: F.gaussian_blur(x, [5, 5], [p["sigma"]] * 2),
        "normalise": lambda x, p: F.normalize(x, MEAN, STD),
    }


def detection(m: Modules, n: int, side: int, boxes: int, regions: int) -> dict[str, Case]:
    """Suppression and features of regions, beside torchvision.ops."""
    places = boxes_of(boxes, side * 4.0)
    scores = RNG.permutation(boxes).astype("f4")
    classes = RNG.integers(0, 20, boxes).astype("i4")
    features = RNG.normal(0, 1, (n, 64, side // 2, side // 2)).astype("f4")
    rois = np.concatenate([RNG.integers(0, n, (regions, 1)), boxes_of(regions, side * 0.8)], 1).astype("f4")

    def beside(name: str, *rest: Any) -> dict[str, Callable[..., Any]]:
        if not m.torchvision:
            return {}
        return {"torchvision": lambda *given: getattr(m.torchvision.ops, name)(*given, *rest)}

    return {
        "nms": Case((places, scores), lambda b, s: vision.nms(b, s, 0.5, size=boxes), beside("nms", 0.5)),
        "batched_nms": Case(
            (places, scores, classes),
            lambda b, s, c: vision.batched_nms(b, s, c, 0.5, size=boxes),
            beside("batched_nms", 0.5),
        ),
        "roi_align": Case(
            (features, rois),
            lambda x, r: vision.roi_align(x, r, 7, 0.5, 2, True),
            beside("roi_align", 7, 0.5, 2, True),
            1e-3,
        ),
    }


def images(m: Modules, n: int, side: int, mask_side: int) -> dict[str, Case]:
    """Warps, filters, components and distances, beside kornia."""
    x = RNG.uniform(0, 1, (n, 3, side, side)).astype("f4")
    turns = np.tile(np.float32([[[0.9, 0.2, -3], [-0.2, 0.95, 8]]]), (n, 1, 1))
    views = np.concatenate([turns, np.tile(np.float32([[[4e-4, -3e-4, 1]]]), (n, 1, 1))], 1)
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), 0).astype("f4")
    waves = grid + 3 * np.sin(grid[::-1] / 7)
    maps = [np.tile(w[None], (n, 1, 1)).astype("f4") for w in waves]
    mask = blobs(max(n // 2, 1), mask_side)
    size = (side, side)
    K = m.kornia

    def beside(f: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
        return {"kornia": f} if K else {}

    def components(v: Any) -> Any:
        # a label moves one pixel in an iteration, so parts with longer ways would be split
        return K.contrib.connected_components(v, num_iterations=mask_side)

    return {
        "warp_affine": Case(
            (x, turns),
            lambda a, t: vision.warp_affine(a, t, size),
            beside(lambda a, t: K.geometry.warp_affine(a, t, size, align_corners=True)),
            2e-3,
        ),
        "warp_perspective": Case(
            (x, views),
            lambda a, t: vision.warp_perspective(a, t, size),
            beside(lambda a, t: K.geometry.warp_perspective(a, t, size, align_corners=True)),
            2e-3,
        ),
        "remap": Case(
            (x, *maps),
            vision.remap,
            beside(lambda a, u, v: K.geometry.remap(a, u, v, align_corners=True)),
            2e-3,
        ),
        "median_blur 5x5": Case(
            (x,), lambda a: vision.median_blur(a, 5), beside(lambda a: K.filters.median_blur(a, (5, 5)))
        ),
        "connected_components": Case(
            (mask,),
            lambda a: vision.connected_components(a, 8),
            beside(components),
            known={"kornia": "parts", "compiled": "a loop of many iterations takes minutes to compile"},
        ),
        "distance_transform": Case(
            (1 - mask,),
            vision.distance_transform,
            beside(lambda a: K.contrib.distance_transform(1 - a)),
            known={
                "kornia": "approximates",
                "compiled": "a loop of many iterations takes minutes to compile",
            },
        ),
    }


def blobs(n: int, side: int) -> np.ndarray:
    """Masks of disks, many of which touch. [n, 1, side, side]"""
    y, x = np.mgrid[:side, :side]
    mask = np.zeros((n, 1, side, side), "f4")
    for image in mask:
        for cx, cy, r in RNG.uniform((0, 0, 2), (side, side, side / 16), (side // 3, 3)):
            image[0][(x - cx) ** 2 + (y - cy) ** 2 < r * r] = 1
    return mask


def partition_differs(a: np.ndarray, b: np.ndarray) -> str:
    """How many components of ours are not one component of theirs, or share one."""
    pairs = np.unique(np.stack([*np.broadcast_arrays(a, b)]).reshape(2, -1)[:, a.reshape(-1) != 0], axis=1)
    first, second = (np.unique(p, return_counts=True)[1] for p in pairs)
    wrong = int((first > 1).sum() + (second > 1).sum())
    return f"{wrong} of {len(first)} parts differ" if wrong else "the same parts"


def compared(case: Case, side: str, ours: np.ndarray, theirs: np.ndarray) -> str:
    """The largest difference as text, which begins with WRONG if it is above the bound."""
    known = case.known.get("kornia" if side == "compiled" else side, "")
    if known == "parts":
        return "; ".join({partition_differs(a, b) for a, b in zip(ours, theirs, strict=True)})
    if known == DRAWS:
        return known
    if case.check:
        far = case.check()
    else:
        if ours.ndim == 1:  # of a fixed size, which ends with -1
            ours = ours[ours >= 0]
        if ours.shape != theirs.shape:
            return f"WRONG: {ours.shape} and {theirs.shape}"
        far = float(np.abs(ours.astype("f8") - theirs)[np.isfinite(theirs)].max(initial=0))
    if known:
        return f"{known}: {number(far)}"
    if not far <= case.bound:
        return f"WRONG: {number(far)}"
    return "equal" if far == 0 else number(far)


def contestants(case: Case, name: str, sides: list[str], m: Modules) -> tuple[dict[str, Any], dict[str, str]]:
    """Calls that wait, by side, and how the results differ from ours; a side that fails is printed."""
    inputs = [fb.tensor(a).realize() for a in case.arrays]
    step = fb.jit(case.ours)
    result = step(*inputs).numpy()
    calls: dict[str, Any] = {"flambeau": (partial(step, *inputs), fb.synchronize)}
    said: dict[str, str] = {"flambeau": ""}
    wait = m.torch.cuda.synchronize if m.torch and m.torch.cuda.is_available() else lambda: None
    for side in sides:
        call = case.theirs.get("kornia" if side == "compiled" else side)
        if call is None:
            continue
        if side == "compiled" and side in case.known:
            print(f"{name}: {side}: left out: {case.known[side]}")
            continue
        given = [m.torch.tensor(a, device=m.place) for a in case.arrays]
        if side == "compiled":
            call = m.torch.compile(call)
        try:
            value = call(*given)
        except (RuntimeError, NotImplementedError, TypeError, ValueError, AttributeError) as e:
            print(f"{name}: {side}: left out: {type(e).__name__}: {str(e).strip().splitlines()[0][:120]}")
            continue
        said[side] = compared(case, side, result, value.cpu().numpy())
        calls[side] = (partial(call, *given), wait)
    return calls, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--only", nargs="+", default=[], help="parts of names")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--seconds", type=float, default=0.5, help="of a side in a round")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    m = packages()
    n, side, few, boxes, regions, mask_side = SIZES[args.size]
    cases = (
        augmentations(m, n, side) | detection(m, few, side, boxes, regions) | images(m, few, side, mask_side)
    )
    for name in [] if not args.only else list(cases):
        if not any(part in name for part in args.only):
            del cases[name]
    rows = []
    for name, case in cases.items():
        calls, said = contestants(case, name, args.sides, m)
        found = interleave(
            {s: (lambda t, c=c, w=w: queued(c, w, t)) for s, (c, w) in calls.items()},
            args.rounds,
            args.seconds,
        )
        for which, timings in found.items():
            each = min(t.seconds / t.steps for t in timings) * 1e3
            faster = "" if which == "flambeau" else f"{ratio(found['flambeau'], timings):.2f}"
            rows.append((name, which, number(each), faster, said[which]))
            print(*rows[-1], sep=" | ", flush=True)
    where = f"torch on {m.place}" if m.torch else "nothing beside"
    columns = ("operation", "side", "ms", "ours is so many times as fast", "largest difference")
    show_table(f"Vision, {args.size}, {where}", columns, rows)
    sys.exit(any("WRONG" in row[-1] for row in rows))


if __name__ == "__main__":
    main()
