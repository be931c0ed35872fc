"""Optimisers, learning-rate schedules, weight averaging and gradient clipping, as in torch.optim."""

from typing import Any

from . import lr_scheduler, swa_utils
from .adam import Adam, Adamax, AdamW, NAdam, RAdam, SparseAdam
from .adaptive import Adadelta, Adafactor, Adagrad, RMSprop
from .clip import clip_grad_norm, clip_grad_value
from .lbfgs import LBFGS
from .muon import Muon
from .optimizer import Optimizer
from .sgd import ASGD, SGD
from .sign import Adan, Lion, Rprop
from .state import flat_state, nested_state

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Adan",
    "LBFGS",
    "Lion",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
    "clip_grad_norm",
    "clip_grad_value",
    "flat_state",
    "lr_scheduler",
    "nested_state",
    "swa_utils",
]


def __getattr__(name: str) -> Any:
    from ..core.torch_hints import UnknownName

    raise UnknownName(__name__, name, lambda: __all__)
