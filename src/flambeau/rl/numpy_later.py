"""NumPy, imported at its first use: pages have environments and agents, but no NumPy."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(import_module("numpy"), name)
