"""Optimisers and gradient clipping, as in torch.optim."""

from typing import Any

from .adam import Adam, AdamW
from .clip import clip_grad_norm, clip_grad_value
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["Adam", "AdamW", "Optimizer", "SGD", "clip_grad_norm", "clip_grad_value"]


def __getattr__(name: str) -> Any:
    from ..core.habits import UnknownName

    raise UnknownName(__name__, name, lambda: __all__)
