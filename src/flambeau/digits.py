"""Turns images of digits into ten scores: what `flambeau mnist` and the site's page train and show."""

from . import nn
from .gradmode import no_grad
from .tensor import Tensor

MEAN = 0.1307  # of MNIST's pixels, of 1
LAST_LR = 0.05  # the learning rate falls in a line to this part of itself


def network() -> nn.Sequential:
    """Two convolutions and a linear layer, 5,994 numbers. [n, 1, 28, 28] -> [n, 10]"""
    return nn.Sequential(
        nn.Conv2d(1, 8, 5),  # [n, 8, 24, 24]
        nn.ReLU(),
        nn.MaxPool2d(2),  # [n, 8, 12, 12]
        nn.Conv2d(8, 16, 5),  # [n, 16, 8, 8]
        nn.ReLU(),
        nn.MaxPool2d(2),  # [n, 16, 4, 4]
        nn.Flatten(),
        nn.Linear(256, 10),
    )


def loss_and_right(model: nn.Module, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The cross entropy of a batch, and how many of its digits are told right. -> [], []"""
    logits = model(x)
    with no_grad():
        right = (logits.argmax(1) == y).sum()
    return nn.functional.cross_entropy(logits, y), right


def rate(lr: float, step: int, steps: int) -> float:
    """The learning rate of a step, which falls in a line from `lr` to a twentieth of it."""
    return lr * (1 - (1 - LAST_LR) * step / steps)
