"""Augmentation of image batches on the device: torchvision.transforms.v2's names and meanings."""

from .color import ColorJitter, Grayscale, Normalize, RandomErasing, ToDtype, ToTensor
from .compose import Compose, ImageTransform
from .filters import GaussianBlur, Resize
from .geometry import (
    CenterCrop,
    RandomAffine,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
)

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "GaussianBlur",
    "Grayscale",
    "ImageTransform",
    "Normalize",
    "RandomAffine",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "ToDtype",
    "ToTensor",
]
