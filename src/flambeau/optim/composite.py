"""Schedules that combine other schedules, and ReduceLROnPlateau."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any

from ..tensor import Tensor
from .optimizer import Optimizer
from .schedules import LRScheduler, one_each


class Together(LRScheduler):
    """Base of schedules that combine others: their state is a list."""

    schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the schedule and of its parts."""
        own = {k: v for k, v in super().state_dict().items() if k not in ("schedulers", "_schedulers")}
        return {**own, "_schedulers": [s.state_dict() for s in self.schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what state_dict returned."""
        for scheduler, state in zip(self.schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})

    def start(self) -> None:
        """Repeat the initial step of the parts that begin now, after all of them were undone."""
        raise NotImplementedError


class SequentialLR(Together):
    """`schedulers` one after the other; each but the first begins at one of `milestones`, numbers of steps.

    ValueError if they belong to different optimizers, or the number of milestones is not one less.

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ):
        check_parts("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            call = f"{len(schedulers)} schedulers, {len(milestones)} milestones"
            raise ValueError(
                f"SequentialLR({call}): each scheduler except the first starts at a milestone:"
                " pass len(schedulers) - 1 milestones"
            )
        self.optimizer, self.schedulers, self.milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]  # PyTorch starts all parts again from initial_lr
        for scheduler in self.schedulers:
            _take_back(scheduler)
        # A composite schedule sets no rates itself: its parts do, as in PyTorch.
        self._first_scheduler.begin()
        self._last_lr = self._first_scheduler.get_last_lr()

    @property
    def _first_scheduler(self) -> LRScheduler:
        return self.schedulers[bisect_right(self.milestones, 0)]

    def start(self) -> None:
        _start(self._first_scheduler)
        self._last_lr = self._first_scheduler.get_last_lr()

    def step(self, epoch: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] as PyTorch
        """Advance the active schedule."""
        self.last_epoch += 1
        place = bisect_right(self.milestones, self.last_epoch)
        scheduler = self.schedulers[place]
        # A part starts at its milestone with its own step 0, not with the number of steps made.
        if place and self.milestones[place - 1] == self.last_epoch:
            _take_over(scheduler)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(Together):
    """Apply all `schedulers` at each step, each to the result of the previous one. ValueError for those of
    different optimizers.

    optimizer: its learning rates are set
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        if not schedulers:
            raise ValueError("ChainedScheduler([]): the list is empty: pass at least one scheduler")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        check_parts("ChainedScheduler", schedulers, self.optimizer)
        self.schedulers = list(schedulers)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def start(self) -> None:
        for scheduler in self.schedulers:
            _start(scheduler)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] as PyTorch
        """Advance all of them."""
        for scheduler in self.schedulers:
            scheduler.step()
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]


REDUCTIONS: dict[str, Callable[[list[float]], float]] = {
    "mean": lambda factors: sum(factors) / len(factors),
    "sum": sum,
    "prod": prod,
}


class CombinedLR(Together):
    """The initial rate times the mean, sum or product of the factors of `schedulers`.

    `reduction` is "mean", "sum" or "prod". Each schedule continues from its own rate; in a
    ChainedScheduler it continues from the rate that the others set. ValueError for another `reduction`, and
    schedules of different optimizers.

    optimizer: its learning rates are set
    """

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], reduction: str = "mean"):
        check_parts("CombinedLR", schedulers, optimizer)
        if reduction not in REDUCTIONS:
            call = f"CombinedLR(reduction={reduction!r})"
            raise ValueError(f"{call}: unknown: use one of {', '.join(map(repr, REDUCTIONS))}")
        self.optimizer, self.schedulers, self.reduction = optimizer, list(schedulers), reduction
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = 0
        # the other schedules have changed the rate since this one made its initial step
        for scheduler in self.schedulers:
            _take_back(scheduler)
        self.start()

    def start(self) -> None:
        self._move([self.base_lrs] * len(self.schedulers), _start)

    def begin(self) -> None:
        """Make the initial step of each part."""
        self.start()

    def step(self, epoch: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] as PyTorch
        """Advance all of them, each from the rate that it returned last."""
        self.last_epoch += 1
        self._move(
            [scheduler.get_last_lr() for scheduler in self.schedulers], lambda scheduler: scheduler.step()
        )

    def _move(self, before: Sequence[Sequence[float]], step: Callable[[LRScheduler], None]) -> None:
        # Each part sees only its own rates: they are set before its step, and read after it.
        by_schedule: list[Sequence[float]] = []  # the rates of each schedule, by group
        for scheduler, rates in zip(self.schedulers, before, strict=True):
            self._set(rates)
            step(scheduler)
            by_schedule.append(scheduler.get_last_lr())
        reduce, by_group = REDUCTIONS[self.reduction], zip(*by_schedule, strict=True)
        groups = zip(self.base_lrs, by_group, strict=True)
        # a base of 0 has no factor
        self._set([base * reduce([r / base if base else 0.0 for r in rates]) for base, rates in groups])


class ReduceLROnPlateau(LRScheduler):
    """Multiply the rate by `factor` when a value has not improved for more than `patience` steps.

    `step` takes the value, a number or a tensor of one. An improvement is a value below (`mode` "min") or
    above ("max") the best by `threshold`, which is relative ("rel") or absolute ("abs", by `threshold_mode`).
    `cooldown` steps after a change are not counted, `min_lr` is the lowest rate, and changes below `eps` are
    not made. ValueError for unknown modes, and a factor of 1 or more.

    optimizer: its learning rates are set
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0.0,
        eps: float = 1e-8,
    ):
        if factor >= 1:
            raise ValueError(
                f"ReduceLROnPlateau(factor={factor}): it must be below 1 to reduce the rate: pass"
                " another value"
            )
        for name, value, allowed in (
            ("mode", mode, ("min", "max")),
            ("threshold_mode", threshold_mode, ("rel", "abs")),
        ):
            if value not in allowed:
                listed = ", ".join(map(repr, allowed))
                error = f"ReduceLROnPlateau({name}={value!r}): unknown: use one of {listed}"
                raise ValueError(error)
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps, groups = cooldown, eps, len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, list | tuple) else [min_lr] * groups
        one_each(self, "min_lr", self.min_lrs, groups)
        self._reset()
        self.last_epoch, self._last_lr = 0, [group["lr"] for group in optimizer.param_groups]

    def _reset(self) -> None:
        self.best = inf if self.mode == "min" else -inf
        self.num_bad_epochs = self.cooldown_counter = 0

    def is_better(self, value: float, best: float) -> bool:
        """Whether a value is better than the best one by at least the threshold."""
        # by the sign, both modes are a comparison upwards
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "abs":
            return sign * value > sign * best + self.threshold
        # relative: best * (1 - threshold) for "min", best * (1 + threshold) for "max"
        return sign * value > sign * best * (1 + sign * self.threshold)

    def step(self, metrics: float | Tensor, epoch: int | None = None) -> None:  # type: ignore[override]
        """Record a value, and lower the rates if it has not improved for more than `patience` steps."""
        value = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        # values during the cooldown do not count against the rate
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def _reduce(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            lower = max(group["lr"] * self.factor, least)
            if group["lr"] - lower > self.eps:  # a smaller change is not made, as in PyTorch
                group["lr"] = lower


def check_parts(call: str, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
    """ValueError if the list is empty, or one schedule belongs to another optimizer."""
    if not schedulers:
        raise ValueError(f"{call}([]): the list is empty: pass at least one scheduler")
    for i, scheduler in enumerate(schedulers):
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{call}(...): scheduler {i} belongs to another optimizer: create all for the same one"
            )
        if isinstance(scheduler, ReduceLROnPlateau):
            rule = "needs a value, which the others do not take: step it separately"
            raise ValueError(f"{call}(...): scheduler {i}, ReduceLROnPlateau, {rule}")


def _take_back(scheduler: LRScheduler) -> None:
    """Undo the step that a schedule made when it was constructed."""
    for part in getattr(scheduler, "schedulers", ()):
        _take_back(part)
    if not isinstance(scheduler, Together):  # as in PyTorch, only schedules without parts count back
        scheduler.last_epoch -= 1


def _start(scheduler: LRScheduler) -> None:
    """Make the initial step of a schedule and of those inside it."""
    if isinstance(scheduler, Together):
        scheduler.start()
    else:
        scheduler.begin()


def _take_over(scheduler: LRScheduler) -> None:
    """Start the schedule that becomes active; its constructor already counted one step."""
    if isinstance(scheduler, Together):
        scheduler.start()
    else:
        scheduler._step_count -= 1  # pyright: ignore[reportPrivateUsage] it is taken back once
        scheduler.step(0)
