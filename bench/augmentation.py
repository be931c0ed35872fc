"""Six augmentations of a batch beside torchvision's v2, which has one draw for all images of a call.

python bench/augmentation.py [--shape 64 3 224 224] [--each]
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from _measure import interleave, queued, ratio, show_table

import flambeau as fb
from flambeau.vision import transforms as T

sys.path.append(str(Path(__file__).parents[1] / "tests"))
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def ours(images: np.ndarray, size: int):
    augment = T.Compose([
        T.RandomCrop(size, padding=size // 8),
        T.RandomHorizontalFlip(),
        T.RandomAffine(15, (0.1, 0.1), (0.9, 1.1), interpolation="bilinear"),
        T.ColorJitter(0.4, 0.4, 0.4, 0.1),
        T.ToDtype(fb.float32, scale=True),
        T.Normalize(MEAN, STD),
    ])  # fmt: skip
    x = fb.tensor(images).realize()
    step = fb.jit(augment.__call__)
    print(augment(x).plan())
    return (lambda: step(x)), fb.synchronize


def theirs(images: np.ndarray, size: int, each: bool):
    import torch
    from helpers.torchvision_here import functional

    functional(torch)
    from torchvision.transforms import v2

    augment = v2.Compose([
        v2.RandomCrop(size, padding=size // 8),
        v2.RandomHorizontalFlip(),
        v2.RandomAffine(15, (0.1, 0.1), (0.9, 1.1), interpolation=v2.InterpolationMode.BILINEAR),
        v2.ColorJitter(0.4, 0.4, 0.4, 0.1),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(MEAN, STD),
    ])  # fmt: skip
    place = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.tensor(images, device=place)
    wait = torch.cuda.synchronize if place == "cuda" else lambda: None
    return (lambda: torch.stack([augment(image) for image in x]) if each else augment(x)), wait


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shape", type=int, nargs=4, default=(64, 3, 224, 224))
    parser.add_argument("--each", action="store_true", help="torchvision image by image too, as we draw")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    images = np.random.default_rng(0).integers(0, 256, args.shape, dtype=np.uint8)
    size = args.shape[-1] * 7 // 8
    table = {"flambeau": ours(images, size), "torchvision, one draw": theirs(images, size, False)}
    if args.each:
        table["torchvision, a draw an image"] = theirs(images, size, True)
    found = interleave(
        {name: (lambda s, c=c, w=w: queued(c, w, s)) for name, (c, w) in table.items()},
        args.rounds,
        args.seconds,
    )
    rows = [
        [
            name,
            f"{args.shape[0] * max(t.rate for t in timings):,.0f}",
            f"{ratio(found['flambeau'], timings):.2f}",
        ]
        for name, timings in found.items()
    ]
    show_table("Six augmentations", ["", "images/s", "ours is so many times as fast"], rows)


if __name__ == "__main__":
    main()
