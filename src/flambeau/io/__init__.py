"""Reads and writes files of named tensors."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .block_weight import BlockWeight
from .safetensors import load_bytes, load_file, load_safetensors, save_bytes, save_file
from .sources import LazyWeights

if TYPE_CHECKING:
    from .formats import open_weights
    from .gguf import load_gguf, save_gguf
    from .npz import load_npz, save_npz
    from .torch_file import load_torch
    from .torch_writer import save_torch

# Imported on first use: a web page with its own weights needs one format only.
_LATER = {
    "load_gguf": "gguf",
    "save_gguf": "gguf",
    "open_weights": "formats",
    "load_npz": "npz",
    "save_npz": "npz",
}
_LATER.update({"load_torch": "torch_file", "save_torch": "torch_writer"})

__all__ = [
    "BlockWeight",
    "LazyWeights",
    "load_bytes",
    "load_file",
    "load_gguf",
    "load_npz",
    "load_safetensors",
    "load_torch",
    "open_weights",
    "save_bytes",
    "save_file",
    "save_gguf",
    "save_npz",
    "save_torch",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return value
