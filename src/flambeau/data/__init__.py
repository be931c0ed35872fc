"""Turns files and arrays into batches of NumPy arrays: datasets, a loader, MNIST."""

from flambeau.core.files import cache_folder
from flambeau.data.dataset import Dataset, Mapped, Subset, TensorDataset, collate, random_split
from flambeau.data.download import DownloadError
from flambeau.data.loader import DataLoader
from flambeau.data.mnist import MNIST, download_mnist, mnist

__all__ = [
    "DataLoader",
    "Dataset",
    "DownloadError",
    "MNIST",
    "Mapped",
    "Subset",
    "TensorDataset",
    "cache_folder",
    "collate",
    "download_mnist",
    "mnist",
    "random_split",
]
