"""Turns the four MNIST files of a folder into the subset that flambeau carries: 10,000 + 2,000 digits.

    python scripts/make_mnist_subset.py SOURCE_DIR [TARGET_DIR]

Each class keeps its share, and within a class digits are taken at even distances, so the choice needs no
random numbers; they stay in their order. The same zlib writes the same bytes.
"""

import gzip
import os
import sys
from pathlib import Path

import numpy as np

from flambeau.data.idx import read_idx

TARGET = Path(__file__).parents[1] / "src/flambeau/data/mnist_subset"
COUNTS = {"train": 10_000, "t10k": 2_000}


def main(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for prefix, count in COUNTS.items():
        images = read_idx(source / f"{prefix}-images-idx3-ubyte.gz", 3)
        labels = read_idx(source / f"{prefix}-labels-idx1-ubyte.gz", 1)
        chosen = choose(labels, count)
        write_idx(target / f"{prefix}-images-idx3-ubyte.gz", images[chosen])
        write_idx(target / f"{prefix}-labels-idx1-ubyte.gz", labels[chosen])


def choose(labels: np.ndarray, count: int) -> np.ndarray:
    """Indices [count] in rising order, each class with its share of `labels` [n]."""
    members = [np.flatnonzero(labels == digit) for digit in range(10)]
    quotas = shares([len(m) for m in members], count)
    picks = [m[np.arange(quota) * len(m) // quota] for m, quota in zip(members, quotas, strict=True) if quota]
    return np.sort(np.concatenate(picks))


def shares(sizes: list[int], count: int) -> list[int]:
    """`count` dealt in proportion to `sizes`, the largest remainders rounded up."""
    total = sum(sizes)
    floors = [size * count // total for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda i: (-(sizes[i] * count % total), i))
    for i in by_remainder[: count - sum(floors)]:
        floors[i] += 1
    return floors


def write_idx(path: Path, array: np.ndarray) -> None:
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    beside = path.with_suffix(".part")
    # GzipFile and not gzip.compress, whose header has the operating system in it
    with beside.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(header + array.tobytes())
    os.replace(beside, path)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("make_mnist_subset.py(): one folder is needed: pass the one with MNIST's four .gz files")
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else TARGET)
