"""Files: tensors by name become a file, and a file becomes tensors by name."""

from .safetensors import load_bytes, load_file, save_bytes, save_file

__all__ = ["load_bytes", "load_file", "save_bytes", "save_file"]
