"""ONNX operators by family, each a function of tensors: see table.py."""

from functools import cache
from importlib import import_module

FAMILIES = (
    "activation",
    "attention",
    "cast",
    "control",
    "conv",
    "creation",
    "detection",
    "elementwise",
    "encoders",
    "image",
    "index",
    "linear_models",
    "loss",
    "microsoft",
    "microsoft_attention",
    "microsoft_quantized",
    "norm",
    "pool",
    "product",
    "quantized",
    "random",
    "recurrent",
    "reduce",
    "resize",
    "sampling",
    "sequence",
    "shape",
    "signal",
    "spelled",
    "strings",
    "training",
    "trees",
)


@cache
def load() -> None:
    """Import the families, which enter themselves in the table."""
    for name in FAMILIES:
        import_module(f".{name}", __name__)
