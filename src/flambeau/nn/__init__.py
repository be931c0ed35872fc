"""Layers, named and laid out as in torch.nn."""

from . import functional, init
from .conv import Conv1d, Conv2d
from .linear import Embedding, Linear
from .module import Module, ModuleList, Parameter, Sequential
from .norm import BatchNorm1d, BatchNorm2d, LayerNorm
from .plain import (
    ELU,
    GELU,
    AdaptiveAvgPool2d,
    AvgPool1d,
    AvgPool2d,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    Dropout,
    Flatten,
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
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Softsign,
    Tanh,
)

__all__ = [
    "AdaptiveAvgPool2d", "AvgPool1d", "AvgPool2d", "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d",
    "Conv1d", "Conv2d", "CrossEntropyLoss", "Dropout", "ELU", "Embedding", "Flatten", "GELU", "Hardsigmoid",
    "Hardswish", "Hardtanh", "Identity", "L1Loss", "LayerNorm", "LeakyReLU", "Linear", "LogSigmoid",
    "LogSoftmax", "MSELoss", "MaxPool1d", "MaxPool2d", "Mish", "Module", "ModuleList", "NLLLoss",
    "Parameter", "ReLU", "ReLU6", "Sequential", "SiLU", "Sigmoid", "Softmax", "Softplus", "Softsign",
    "Tanh", "functional", "init",
]  # fmt: skip
