"""ONNX models as modules that run, train and go out again."""

from typing import Any

from .graph import OnnxError, ValueDef
from .model import OnnxModel
from .read import read_model

__all__ = ["OnnxError", "OnnxModel", "ValueDef", "load"]


def load(path_or_bytes: Any, device: Any = None) -> OnnxModel:
    """An ONNX file (a path, its bytes, or a ModelProto) as a module; OnnxError where it can't be read.

    device: where it runs, the default device unless given.
    """
    return OnnxModel(read_model(path_or_bytes), device)
