"""Layers, named and laid out as in torch.nn."""

from . import functional, init
from .conv import Conv1d, Conv2d
from .linear import Embedding, Linear
from .module import Module, ModuleList, Parameter, Sequential
from .norm import BatchNorm1d, BatchNorm2d, LayerNorm
from .plain import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    AdaptiveAvgPool2d,
    AvgPool1d,
    AvgPool2d,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    Dropout,
    Flatten,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    Identity,
    L1Loss,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    MaxPool1d,
    MaxPool2d,
    Mish,
    MSELoss,
    NLLLoss,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Shrink,
    Sigmoid,
    SiLU,
    Softmax,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    SwiGLU,
    Tanh,
    Tanhshrink,
    Threshold,
    ThresholdedReLU,
)

__all__ = [
    "AdaptiveAvgPool2d", "AvgPool1d", "AvgPool2d", "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d",
    "CELU", "Conv1d", "Conv2d", "CrossEntropyLoss", "Dropout", "ELU", "Embedding", "Flatten", "GELU", "GLU",
    "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity", "L1Loss", "LayerNorm", "LeakyReLU",
    "Linear", "LogSigmoid", "LogSoftmax", "MSELoss", "MaxPool1d", "MaxPool2d", "Mish", "Module",
    "ModuleList", "NLLLoss", "PReLU", "Parameter", "RReLU", "ReLU", "ReLU6", "SELU", "Sequential", "Shrink",
    "SiLU", "Sigmoid", "Softmax", "Softmin", "Softplus", "Softshrink", "Softsign", "SwiGLU", "Tanh",
    "Tanhshrink", "Threshold", "ThresholdedReLU", "functional", "init",
]  # fmt: skip
