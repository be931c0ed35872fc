"""ONNX models as modules that run, train and go out again."""

from typing import Any

from . import passes
from .export import export
from .graph import OnnxError, ValueDef
from .model import OnnxModel
from .read import read_model

__all__ = ["OnnxError", "OnnxModel", "ValueDef", "export", "load"]


def load(
    path_or_bytes: Any,
    device: Any = None,
    fold_norms: bool = False,
    replays: bool = True,
    fuses: bool = True,
) -> OnnxModel:
    """An ONNX file as a module in eval mode; OnnxError with all that is wrong where it can't be read or run.

    Its parameters take no gradients: `model.requires_grad_()` lets them, for training.
    path_or_bytes: a path, a file's bytes, or a ModelProto. device: where it runs, the default device unless
    given. fold_norms: batch norms become part of the convolutions before them, which is faster, and is for
    inference. replays: calls that need no gradients are recorded when shapes come again, as `fb.jit` does it;
    calls in training mode are not. fuses: what exporters spell out in many nodes, such as attention, runs as
    one.
    """
    definition = read_model(path_or_bytes)
    return OnnxModel(passes.fold_norms(definition) if fold_norms else definition, device, replays, fuses)
