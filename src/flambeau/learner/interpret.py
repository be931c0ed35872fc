"""Shows where a classifier is wrong: its worst items, and which classes it confuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from importlib import import_module
from math import inf, isnan
from typing import TYPE_CHECKING, Any

from ..core.modes import no_grad
from ..core.node import describe
from ..functions import read
from ..nn.functional import cross_entropy
from ..tensor import Tensor, tensor
from .history import PICTURES
from .steps import PlacedBatch

if TYPE_CHECKING:
    from .pictures import Picture

KEPT = 64  # how many of the worst items' inputs are stored


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a loader: its place in the loader's order, its loss, and the probability of the class that
    the model predicts."""

    index: int
    loss: float
    target: int
    prediction: int
    probability: float


@dataclass(frozen=True, slots=True)
class Confused:
    """How many items of the class `target` the model predicts as `prediction`; both are names, if known."""

    target: str
    prediction: str
    count: int


class Interpretation:
    """The items of a loader as a classifier sees them. `learner.interpret(loader)` makes it.

    items: all, in the loader's order
    worst: the inputs of the items with the highest losses, by index
    classes: the number of the model's outputs
    names: of the classes; None: their numbers

    Raises ValueError if there is not a name for each class.
    """

    def __init__(self, items: list[Item], worst: dict[int, Any], classes: int, names: Sequence[str] | None):
        self.items, self.classes = items, classes
        self._worst = worst  # the inputs of the KEPT worst items, by index
        self.names = [str(i) for i in range(classes)] if names is None else [str(name) for name in names]
        if len(self.names) != classes:
            rule = f"the model has {classes} outputs: pass a name for each"
            raise ValueError(f"interpret(names={len(self.names)} names): {rule}")

    @property
    def accuracy(self) -> float:
        """The fraction of items whose class is predicted."""
        return sum(item.target == item.prediction for item in self.items) / len(self.items)

    def confusion(self) -> list[list[int]]:
        """Count the items by class: a row for each target, a column for each prediction."""
        counts = [[0] * self.classes for _ in range(self.classes)]
        for item in self.items:
            counts[item.target][item.prediction] += 1
        return counts

    def most_confused(self, least: int = 1) -> list[Confused]:
        """Return the pairs of classes that are confused at least `least` times, the most frequent first."""
        pairs = [
            Confused(self.names[target], self.names[prediction], number)
            for target, row in enumerate(self.confusion())
            for prediction, number in enumerate(row)
            if target != prediction and number >= least
        ]
        return sorted(pairs, key=lambda pair: -pair.count)

    def top_losses(self, k: int = 9) -> list[Item]:
        """Return the k items with the highest losses, the highest first."""
        return sorted(self.items, key=lambda item: severity(item.loss, item.index), reverse=True)[:k]

    def plot_confusion(self) -> Picture:
        """Draw the confusion matrix. A notebook shows it, `save(path)` writes it. FlambeauError without
        matplotlib."""
        return import_module(PICTURES).draw_matrix(self)

    def plot_top_losses(self, k: int = 9, image_of: Callable[[Any], Any] | None = None) -> Picture:
        """Draw the images of the k items with the highest losses: prediction, target, loss, probability.

        k: at most 64. image_of: converts an input of the model (an array [c, h, w]) to an image: [h, w] or
        [h, w, 3]; by default its values are scaled from their lowest to their highest. ValueError for inputs
        that are not images; FlambeauError without matplotlib.
        """
        if not 1 <= k <= KEPT:
            raise ValueError(f"plot_top_losses(k={k!r}): shows 1 to {KEPT} items: pass another k")
        items = [(item, self._worst[item.index]) for item in self.top_losses(k)]
        return import_module(PICTURES).draw_worst(items, self.names, image_of)

    def __repr__(self) -> str:
        wrong = sum(item.target != item.prediction for item in self.items)
        return f"Interpretation({len(self.items):,} items, {self.classes} classes): {wrong:,} wrong"


def severity(loss: float, index: int) -> tuple[float, int]:
    """The order of items, the worst last: by loss, NaN above all; of equal losses the first item."""
    return inf if isnan(loss) else loss, -index


class Collected:
    """Collects items batch by batch, and the inputs of the worst ones."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.classes = 0
        self.worst: dict[int, Any] = {}  # inputs by index, as arrays; None for those that are not tensors
        self._heap: list[tuple[float, int]] = []  # the severity of these, the least first

    def add(self, batch: PlacedBatch, output: Any) -> None:
        """Add a batch and the model's output for it. ValueError if these are not a classifier's."""
        check_scores(output, batch.target)
        self.classes = output.shape[1]
        with no_grad():
            scores, target = output.detach().float(), batch.target
            losses = cross_entropy(scores, target, reduction="none")
            best, predictions = scores.softmax(1).max(1)
            columns = read(losses, target, predictions, best)
        begin = len(self.items)
        for i, (loss, truth, prediction, probability) in enumerate(zip(*columns, strict=True), begin):
            self.items.append(Item(i, float(loss), int(truth), int(prediction), float(probability)))
            heappush(self._heap, severity(float(loss), i))
            if len(self._heap) > KEPT:
                heappop(self._heap)
        self._keep_inputs(batch.inputs[0], begin)

    def _keep_inputs(self, inputs: Any, begin: int) -> None:
        """Keep the inputs of the worst items of a batch, and drop those that are not among the worst now."""
        worst = {-place for _, place in self._heap}
        fresh = sorted(index for index in worst if index >= begin)
        self.worst = {index: value for index, value in self.worst.items() if index in worst}
        if fresh and isinstance(inputs, Tensor):
            places = tensor([index - begin for index in fresh], device=inputs.device)
            self.worst |= dict(zip(fresh, inputs[places].numpy(), strict=True))
        else:
            self.worst |= dict.fromkeys(fresh)


def check_scores(output: Any, target: Any) -> None:
    """Raise ValueError unless an output is [n, classes] and its target [n] of integers."""
    if not isinstance(output, Tensor) or output.ndim != 2:
        rule = f"takes models that return scores [n, classes], not {describe_value(output)}"
        raise ValueError(f"interpret(...): {rule}: use evaluate(loader)")
    if not isinstance(target, Tensor) or target.ndim != 1 or target.dtype.kind not in "iu":
        rule = f"takes targets of class indices, integers [n], not {describe_value(target)}"
        raise ValueError(f"interpret(...): {rule}: use evaluate(loader)")


def describe_value(value: Any) -> str:
    """Return the dtype and the shape of a tensor, or the type of another object."""
    return describe(value) if isinstance(value, Tensor) else type(value).__name__
