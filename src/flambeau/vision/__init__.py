"""Image transforms on the device, under torchvision's names."""

from . import transforms

__all__ = ["transforms"]
