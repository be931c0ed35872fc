"""Signal processing: `windows`, as torch.signal has them."""

from . import windows

__all__ = ["windows"]
