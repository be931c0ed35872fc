"""ONNX models as modules that run, train and are exported again."""

from typing import Any

from ..device import DeviceLike
from . import passes
from .export import export
from .graph import OnnxError, ValueDef
from .model import OnnxModel
from .read import read_model

__all__ = ["OnnxError", "OnnxModel", "ValueDef", "export", "load"]


def load(
    path_or_bytes: Any,
    device: DeviceLike | None = None,
    fold_norms: bool = False,
    replays: bool = True,
    fuses: bool = True,
) -> OnnxModel:
    """Load an ONNX file as a module in eval mode. OnnxError lists every reason why it can't be read or run.

    Its parameters have requires_grad=False: call `model.requires_grad_()` to train it.
    path_or_bytes: a path, a file's bytes, or a ModelProto. device: where it runs; None is the default device.
    fold_norms: merge batch norms into the convolutions before them, which is faster, for inference only.
    replays: record calls without gradients when their shapes repeat, as `fb.jit` does; calls in training mode
    are not recorded. fuses: run patterns that exporters write as many nodes, such as attention, as one
    operator.
    """
    definition = read_model(path_or_bytes)
    return OnnxModel(passes.fold_norms(definition) if fold_norms else definition, device, replays, fuses)
