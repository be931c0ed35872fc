"""Finds wrong results and faulty kernels on a GPU, and shows the values that a kernel computes on its way."""

from .check import check
from .report import Checked, KernelFault, Sanitized, Wrong
from .sanitize import sanitize
from .watch import WatchedValue, watch

__all__ = ["Checked", "KernelFault", "Sanitized", "WatchedValue", "Wrong", "check", "sanitize", "watch"]
