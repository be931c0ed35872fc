"""PyTorch's torch.utils: utils.data is flambeau.data."""

from . import data

__all__ = ["data"]
