"""Turns files, arrays and tensors into batches of tensors: datasets, samplers, a loader, MNIST."""

from flambeau.core.files import cache_folder
from flambeau.data.batches import collate, default_collate, default_convert
from flambeau.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    Mapped,
    StackDataset,
    Subset,
    TensorDataset,
    Windows,
    random_split,
)
from flambeau.data.download import DownloadError
from flambeau.data.fake import FakeData
from flambeau.data.files import Columns, TextLines, memory_map, read_table
from flambeau.data.folders import (
    AudioFolder,
    DatasetFolder,
    ImageFolder,
    TextFolder,
    read_audio,
    read_image,
)
from flambeau.data.labelled import CocoDetection, MultiLabelImages, SegmentationFolder, read_mask
from flambeau.data.loader import DataLoader
from flambeau.data.mnist import MNIST, download_mnist, mnist
from flambeau.data.sampler import (
    BatchSampler,
    DistributedSampler,
    OrderedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from flambeau.data.sqlite import SQLiteDataset, write_sqlite
from flambeau.data.workers import WorkerInfo, get_worker_info

__all__ = [
    "AudioFolder",
    "BatchSampler",
    "ChainDataset",
    "CocoDetection",
    "Columns",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DatasetFolder",
    "DistributedSampler",
    "DownloadError",
    "FakeData",
    "ImageFolder",
    "IterableDataset",
    "MNIST",
    "Mapped",
    "MultiLabelImages",
    "OrderedSampler",
    "RandomSampler",
    "SQLiteDataset",
    "Sampler",
    "SegmentationFolder",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "TextFolder",
    "TextLines",
    "WeightedRandomSampler",
    "Windows",
    "WorkerInfo",
    "cache_folder",
    "collate",
    "default_collate",
    "default_convert",
    "download_mnist",
    "get_worker_info",
    "memory_map",
    "mnist",
    "random_split",
    "read_audio",
    "read_image",
    "read_mask",
    "read_table",
    "write_sqlite",
]
