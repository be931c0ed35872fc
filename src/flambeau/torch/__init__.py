"""PyTorch's names and semantics: `import flambeau.torch as torch`, or `install()` and `import torch`.

Importing this package turns torch mode on for the process (`disable` turns it off): tensors keep gradients in
`.grad`, `optimizer.step()` takes no argument, the default device is the CPU, and `cuda` is the GPU.
"""

from importlib import import_module
from typing import Any

from .absent_packages import stand_in
from .module_tree import install, is_installed, root, uninstall
from .switch import disable, enable, enabled, is_enabled
from .table import REPLACING, VERSION

__version__ = VERSION
__all__ = ["disable", "enable", "enabled", "install", "is_enabled", "is_installed", "stand_in", "uninstall"]
for _module in REPLACING:
    import_module(f".{_module}", __name__)
enable()


def __getattr__(name: str) -> Any:
    return getattr(root, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(root)})
