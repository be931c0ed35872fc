"""A classifier of digit images, which `flambeau mnist` and the site's page train and show."""

from typing import Any

from .. import nn
from ..core.modes import no_grad
from ..runtime.run import realize
from ..tensor import Tensor

MEAN = 0.1307  # mean and standard deviation of MNIST's pixels, scaled to 0 to 1
# Settings of Adam for few steps. With six seeds, 500 steps of 64 on 10,000 digits reach 97.7 to 98.3 %
# accuracy on the others. A rate of 0.003 that only falls, with betas (0.9, 0.999), reaches 96.2 to 97.0 % in
# 600 steps.
LR, BETAS = 0.01, (0.9, 0.95)
RISE = 0.2  # the fraction of the steps in which the learning rate rises


def network(width: int = 8) -> nn.Sequential:
    """Two convolutions and a linear layer, 5,994 parameters. [n, 1, 28, 28] -> [n, 10]

    width: channels of the first convolution (w in the comments).
    """
    return nn.Sequential(
        nn.Conv2d(1, width, 5),  # [n, w, 24, 24]
        nn.ReLU(),
        nn.MaxPool2d(2),  # [n, w, 12, 12]
        nn.Conv2d(width, 2 * width, 5),  # [n, 2 w, 8, 8]
        nn.ReLU(),
        nn.MaxPool2d(2),  # [n, 2 w, 4, 4]
        nn.Flatten(),
        nn.Linear(32 * width, 10),
    )


def loss_and_right(model: nn.Module, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the cross entropy of a batch, and the number of correctly classified digits. -> [], []"""
    logits = model(x)
    with no_grad():
        right = (logits.argmax(1) == y).sum()
    return nn.functional.cross_entropy(logits, y), right


def train_step(model: nn.Module, optimizer: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """`loss_and_right` of a batch, and one step of the optimiser by its gradients; for `fb.jit`. -> [], []"""
    loss, right = loss_and_right(model, x, y)
    grads = loss.backward()
    # before the step, which replaces the weights that `right` depends on
    realize(right)
    optimizer.step(grads)
    return loss, right


def rate(lr: float, step: int, steps: int) -> float:
    """Return the learning rate of a step: it rises linearly to `lr` in a fifth of the steps, then falls
    linearly to 0."""
    return lr * min(1.0, (step + 1) / (RISE * steps), (steps - step) / ((1 - RISE) * steps))
