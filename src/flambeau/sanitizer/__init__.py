"""What runs on a GPU into what is wrong with it: faults of kernels, values that are not the reference's, and
what a kernel computes on its way."""

from .check import check
from .report import Checked, KernelFault, Sanitized, Wrong
from .sanitize import sanitize
from .watch import WatchedValue, watch

__all__ = ["Checked", "KernelFault", "Sanitized", "WatchedValue", "Wrong", "check", "sanitize", "watch"]
