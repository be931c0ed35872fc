"""Learning-rate schedules under the names of torch.optim.lr_scheduler."""

from .composite import ChainedScheduler, CombinedLR, ReduceLROnPlateau, SequentialLR
from .cycles import CyclicLR, OneCycleLR
from .schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    NoamLR,
    PolynomialLR,
    StepLR,
    WarmupCosineLR,
)

__all__ = [
    "ChainedScheduler",
    "CombinedLR",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "NoamLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "WarmupCosineLR",
]
