"""Loads MNIST's digits as NumPy arrays, from a folder, the cache, the network or the shipped subset."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from flambeau.core.files import cache_folder
from flambeau.data.dataset import TensorDataset
from flambeau.data.download import Content, DownloadError, Progress, download
from flambeau.data.idx import read_idx

if TYPE_CHECKING:
    import numpy as np  # imported where it is used: the browser has none

SUBSET = Path(__file__).with_name("mnist_subset")
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
# checksums of the unpacked files: the packed ones differ between mirrors
FILES = {
    "train-images-idx3-ubyte": Content(
        47_040_016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
    ),
    "train-labels-idx1-ubyte": Content(
        60_008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
    ),
    "t10k-images-idx3-ubyte": Content(
        7_840_016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
    ),
    "t10k-labels-idx1-ubyte": Content(
        10_008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
    ),
}
failed_downloads: dict[Path, str] = {}  # folder -> reason: a second call does not wait for the network again


class MNIST(TensorDataset):
    """Digits: images uint8 [n, 28, 28], labels int32 [n], and `source`, their origin."""

    def __init__(self, images: np.ndarray, labels: np.ndarray, source: str):
        super().__init__(images, labels)
        self.images, self.labels, self.source = images, labels, source


def mnist(
    train: bool = True,
    root: str | os.PathLike[str] | None = None,
    download: bool = True,
    progress: Progress | None = None,
) -> MNIST:
    """Load MNIST's 60,000 training (`train`) or 10,000 test digits, or the included subset of 10,000 and
    2,000.

    The sources in order: `root` (or the folder `FLAMBEAU_DATA`), the cache folder, the network if `download`,
    the included subset. `progress(file name, bytes received, total bytes)` is called during a download.
    ValueError if a file is missing from `root` or damaged.
    """
    # an empty FLAMBEAU_DATA counts as unset
    folder_setting = root if root is not None else os.environ.get("FLAMBEAU_DATA") or None
    if folder_setting is not None:
        folder = Path(folder_setting).expanduser()
        require(folder)
        return load(folder, train)
    folder, why_subset = find_or_download(download, progress)
    if not why_subset:
        return load(folder, train)
    return load(SUBSET, train, f"12,000 of MNIST's 70,000 digits, shipped with flambeau: {why_subset}")


def download_mnist(folder: str | os.PathLike[str] | None = None, progress: Progress | None = None) -> Path:
    """Fetch the four files of MNIST into `folder` (default: the cache folder) and return it.

    Existing files are kept. `progress(file name, bytes received, total bytes)` is called during the download.
    DownloadError if no mirror delivers a file.
    """
    folder = Path(folder).expanduser() if folder is not None else cache_folder("mnist")
    for name in missing_files(folder):
        download([f"{mirror}{name}.gz" for mirror in MIRRORS], folder / f"{name}.gz", FILES[name], progress)
    return folder


def find_or_download(may_download: bool, progress: Progress | None) -> tuple[Path, str]:
    """Return the cache folder and "", after downloading missing files, or the folder and the reason of a
    failure."""
    folder = cache_folder("mnist")
    if not missing_files(folder):
        return folder, ""
    if not may_download:
        return folder, "download=False"
    if folder not in failed_downloads:
        try:
            return download_mnist(folder, progress), ""
        except DownloadError as error:
            failed_downloads[folder] = error.reason
    return folder, failed_downloads[folder]


def load(folder: Path, train: bool, source: str = "") -> MNIST:
    prefix, kind = ("train", "training") if train else ("t10k", "test")
    image_file = find(folder, f"{prefix}-images-idx3-ubyte")
    label_file = find(folder, f"{prefix}-labels-idx1-ubyte")
    images, labels = read_idx(image_file, 3), read_idx(label_file, 1)
    check(image_file, label_file, images, labels)
    return MNIST(images, labels.astype("int32"), source or f"{len(images):,} {kind} digits from {folder}")


def check(image_file: Path, label_file: Path, images: np.ndarray, labels: np.ndarray) -> None:
    count, height, width = images.shape
    advice = "put files in MNIST's format there"
    if (height, width) != (28, 28):
        raise ValueError(f"mnist('{image_file}'): images are {height} x {width}, not 28 x 28: {advice}")
    if count != len(labels):
        raise ValueError(
            f"mnist('{label_file}'): {len(labels):,} labels for the {count:,} images of {image_file.name}: "
            "use two files of the same set"
        )
    if not count:
        raise ValueError(f"mnist('{image_file}'): no images in it: {advice}")
    if labels.max() > 9:
        raise ValueError(f"mnist('{label_file}'): a label is {labels.max()}, not 0 to 9: {advice}")


def require(folder: Path) -> None:
    if not folder.is_dir():
        raise ValueError(f"mnist(root='{folder}'): no such folder: name one that holds MNIST's four files")
    if names := missing_files(folder):
        raise ValueError(
            f"mnist(root='{folder}'): missing {', '.join(names)}: put the files there, plain or with .gz"
        )


def missing_files(folder: Path) -> list[str]:
    return [name for name in FILES if not find(folder, name).is_file()]


def find(folder: Path, name: str) -> Path:
    plain = folder / name
    return plain if plain.is_file() else folder / f"{name}.gz"
