"""Signal processing: `windows`, with the API of torch.signal."""

from . import windows

__all__ = ["windows"]
