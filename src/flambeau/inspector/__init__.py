"""Records the work of a call: layers, ops, kernels, their WGSL and its origin, times, memory."""

from .call import inspect
from .model import BindingRow, Inspection, KernelRow, ModuleRow, OpRow, ShaderRow, SiteRow, ValueRow

__all__ = [
    "BindingRow",
    "Inspection",
    "KernelRow",
    "ModuleRow",
    "OpRow",
    "ShaderRow",
    "SiteRow",
    "ValueRow",
    "inspect",
]
