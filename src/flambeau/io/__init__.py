"""Files: tensors by name become a file, and a file becomes tensors by name."""

from .gguf import load_gguf, save_gguf
from .kinds import open_weights
from .npz import load_npz, save_npz
from .opened import LazyWeights
from .safetensors import load_bytes, load_file, load_safetensors, save_bytes, save_file
from .torch_file import load_torch
from .torch_writer import save_torch

__all__ = [
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
