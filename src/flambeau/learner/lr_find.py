"""Searches a learning rate: trains some steps at rising rates, then restores everything."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.modes import no_grad
from ..core.training import begin_training, modes_of, restore_modes
from ..core.tree import leaves
from ..functions import read
from ..nn.parameter import is_lazy
from ..tensor import Tensor
from .history import PICTURES
from .meters import SplitMeter
from .randoms import random_states, set_random_states
from .run_state import loader_states, restore_loaders
from .steps import PlacedBatch, Steps, Trained

if TYPE_CHECKING:
    from ..device import Device
    from .pictures import Picture

KEEP = 0.95  # the weight of earlier losses in the smoothed one: it averages about 20 steps
DIVERGED = 4.0  # the search ends when the smoothed loss is this many times the lowest one
SKIPPED = 10  # the first tenth of the steps is not searched: the smoothed loss is not settled there


class LearningRates(NamedTuple):
    """The losses at rising learning rates, and a rate to train with.

    rates: of the first group. losses: of the steps; smoothed: their running mean, which the suggestion
    follows. suggestion: a rate in the middle of the longest fall of the smoothed loss; None if it never fell.
    """

    rates: list[float]
    losses: list[float]
    smoothed: list[float]
    suggestion: float | None

    def plot(self) -> Picture:
        """Draw the losses over the rates, with the suggestion. ValueError if the first loss was not finite;
        FlambeauError without matplotlib."""
        if not self.rates:
            rule = "the first loss was not finite: check the batches, or pass a lower start_lr"
            raise ValueError(f"lr_find(...).plot(): {rule}")
        return import_module(PICTURES).draw_rates(self)

    def __repr__(self) -> str:
        text = "none" if self.suggestion is None else f"{self.suggestion:.2g}"
        span = f"{self.rates[0]:.2g} to {self.rates[-1]:.2g}" if self.rates else "no rates"
        return f"LearningRates({len(self.rates)} steps, {span}): suggestion {text}"


def check_range(start_lr: float, end_lr: float, num_it: int) -> None:
    """Raise ValueError for rates that do not rise from above 0, and for fewer than 10 steps."""
    if not 0 < start_lr < end_lr or not isfinite(end_lr):
        call = f"lr_find(start_lr={start_lr!r}, end_lr={end_lr!r})"
        raise ValueError(f"{call}: the rates must rise from above 0: pass start_lr=1e-7, end_lr=10")
    if type(num_it) is not int or num_it < 10:
        raise ValueError(f"lr_find(num_it={num_it!r}): must be an integer of at least 10: pass 100")


def search(
    trained: Trained,
    accumulate: int,
    device: Device,
    batches: Iterator[PlacedBatch],
    rates: Sequence[float],
    stop_div: bool,
) -> LearningRates:
    """Train a step at each rate, with the groups' rates in proportion, until the loss diverges."""
    # No metrics, and a separate recording from `fit`'s: its counts do not change.
    steps = Steps(trained, SplitMeter((), device), accumulate, device)
    groups = trained.optimizer.param_groups
    first = float(groups[0]["lr"])
    shares = [float(group["lr"]) / first if first else 1.0 for group in groups]
    used: list[float] = []
    losses: list[float] = []
    smoothed: list[float] = []
    mean, weight = 0.0, 0.0
    for rate in rates:
        for group, share in zip(groups, shares, strict=True):
            group["lr"] = rate * share
        loss = float(read(train_step(steps, batches))[0])
        if not isfinite(loss):
            break
        # The weights of a running mean sum to less than 1 at first: divided by their sum, as in Adam.
        mean, weight = KEEP * mean + (1 - KEEP) * loss, KEEP * weight + (1 - KEEP)
        used.append(rate)
        losses.append(loss)
        smoothed.append(mean / weight)
        if stop_div and smoothed[-1] > DIVERGED * max(min(smoothed), 0.0) > 0:
            break
    begin = len(rates) // SKIPPED
    return LearningRates(used, losses, smoothed, valley(used[begin:], smoothed[begin:]))


def train_step(steps: Steps, batches: Iterator[PlacedBatch]) -> Tensor:
    """Train with batches until they complete a step, and return its loss, unread."""
    while True:
        loss = steps.train(next(batches))
        if loss is not None:
            return loss


def valley(rates: Sequence[float], losses: Sequence[float]) -> float | None:
    """Return the rate in the middle of the longest falling subsequence of losses; None if no loss falls.

    It is the rule of fastai's lr_find. A rate at the bottom of the valley would be too high: there the loss
    no longer falls.
    """
    lengths = [1] * len(losses)  # of the longest falling subsequence that ends at this loss
    for i, loss in enumerate(losses):
        lengths[i] += max((lengths[j] for j in range(i) if losses[j] > loss), default=0)
    longest = max(lengths, default=1)
    if longest == 1:
        return None
    end = lengths.index(longest)
    return rates[end - longest // 2]


def geometric(start: float, end: float, count: int) -> list[float]:
    """Return `count` rates from start to end, each the same factor above the one before."""
    return [start * (end / start) ** (i / (count - 1)) for i in range(count)]


def repeat(loader: Iterable[Any]) -> Generator[Any]:
    """Yield the batches of a loader, and begin again at its end. ValueError if it has none."""
    while True:
        count = 0
        for batch in loader:
            count += 1
            yield batch
        if not count:
            raise ValueError("lr_find(loader): the loader produced no batch: pass one that restarts")


def assign_values(values: list[tuple[Tensor, Tensor]]) -> None:
    """Give each tensor that was updated its earlier value."""
    changed = [(t, value) for t, value in values if t.node is not value.node]
    with no_grad():
        for t, value in changed:
            t.assign_(value)


@contextmanager
def restored(trained: Trained, loader: Any) -> Generator[None]:
    """Put the model into training mode for this block, then restore its state, that of the optimiser, the
    scaler, the random generators and the loader, bit for bit."""
    model, _, optimizer, scaler, _ = trained
    modes, random, places = modes_of(model), random_states(), loader_states({"train": loader})
    options = [dict(group) for group in optimizer.param_groups]
    states = {parameter: dict(state) for parameter, state in optimizer.state.items()}
    tensors = [t for t in (*model.parameters(), *model.buffers()) if not is_lazy(t)]
    tensors += [t for t in leaves(states) if isinstance(t, Tensor)]
    scale = None if scaler is None else scaler.state_dict()
    # Other handles on the same values: a buffer is copied only when a step overwrites it.
    before = [(t, Tensor(t.node)) for t in {id(t): t for t in tensors}.values()]
    try:
        begin_training(model)
        yield
    finally:
        assign_values(before)
        optimizer.state.clear()
        optimizer.state.update(states)
        for group, saved in zip(optimizer.param_groups, options, strict=True):
            group.update(saved)
        if scaler is not None:
            scaler.load_state_dict(scale)
        restore_modes(modes)
        restore_loaders({"train": loader}, places)
        set_random_states(random)
