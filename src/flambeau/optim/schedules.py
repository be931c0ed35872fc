"""Schedules set the rates of an optimiser's groups from the number of steps."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import cos, pi
from types import FunctionType
from typing import Any

from .optimizer import Optimizer

Factor = Callable[[int], float]


class LRScheduler:
    """Base of schedules: `rate` computes the rate of a group from the previous and the initial one.

    Call `step` once an epoch or once a batch. It sets `group["lr"]`, which recorded steps read, so call it
    outside of functions that jit records. `last_epoch` resumes with an optimizer that was loaded: one less
    than the number of steps made. TypeError if `optimizer` is none, KeyError if a group has no initial_lr to
    resume from.
    """

    last_epoch: int
    _is_initial = False  # true during the initial step: a loaded optimizer already has that rate
    left_out = frozenset({"optimizer"})  # of state_dict

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):  # pyright: ignore[reportUnnecessaryIsInstance] untyped calls
            rule = f"takes an optimizer, not {type(optimizer).__name__}: pass it first"
            raise TypeError(f"{type(self).__name__}(...): {rule}")
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])  # an earlier schedule may have changed it
            elif "initial_lr" not in group:
                rule = f"group {i} has no initial_lr to resume from: load the state_dict, or set it"
                raise KeyError(f"{type(self).__name__}(last_epoch={last_epoch}): {rule}")
        self.optimizer, self.last_epoch, self._step_count = optimizer, last_epoch, 0
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self._last_lr: list[float] = []
        self.begin()

    def begin(self) -> None:
        """Make the initial step, as the constructor does."""
        # the constructor's step sets the rate of step 0, so last_epoch becomes 0
        self._step_count, self._is_initial = 0, True
        try:
            self.step()
        finally:
            del self._is_initial

    def rate(self, lr: float, base: float) -> float:
        """The rate of a group after `last_epoch` steps, from the previous and the initial rate."""
        raise NotImplementedError(f"{type(self).__name__}.rate(...): is not implemented: return the rate")

    def rate_at_once(self, base: float) -> float | None:
        """The rate after `last_epoch` steps from the initial rate alone; None if there is no closed form."""
        return None

    def get_lr(self) -> list[float]:
        """The rates after `last_epoch` steps, one for each group; a subclass overrides this or `rate`."""
        pairs = zip(self.optimizer.param_groups, self.base_lrs, strict=True)
        return [self.rate(group["lr"], base) for group, base in pairs]

    def get_last_lr(self) -> list[float]:
        """The rates that were set last, one for each group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Advance by one step, or to an epoch, and set the rates."""
        self._step_count += 1
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        # Steps in sequence change the current rate, which other schedules may have changed too; a jump to an
        # epoch has no previous rate and needs the closed form. PyTorch does the same.
        rates = [None] if epoch is None else [self.rate_at_once(base) for base in self.base_lrs]
        self._set(self.get_lr() if None in rates else rates)  # type: ignore[arg-type]

    def _set(self, rates: Iterable[float]) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = lr
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Return the state without the optimizer and functions."""
        return {k: v for k, v in vars(self).items() if k not in self.left_out}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what state_dict returned."""
        vars(self).update(state_dict)


class LambdaLR(LRScheduler):
    """The first rate times lr_lambda(steps): one function, or one for each group.

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    Raises ValueError if there is not one function for each group.
    """

    left_out = frozenset({"optimizer", "lr_lambdas"})

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1):
        groups = len(optimizer.param_groups)
        self.lr_lambdas = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        one_each(self, "lr_lambda", self.lr_lambdas, groups)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates after `last_epoch` steps."""
        # from the initial rates: changes by other schedules are overwritten
        return [b * f(self.last_epoch) for b, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return the state without the optimizer; of functions that are objects their attributes."""
        return {**super().state_dict(), "lr_lambdas": [state_of(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what state_dict returned, but keep this object's functions."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for f, saved in zip(self.lr_lambdas, state_dict.get("lr_lambdas", ()), strict=False):
            take_state(f, saved)


class MultiplicativeLR(LambdaLR):
    """The rate before times lr_lambda(steps): one function, or one for each group.

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    Raises ValueError if there is not one function for each group.
    """

    def get_lr(self) -> list[float]:
        """The rates after `last_epoch` steps."""
        rates = [group["lr"] for group in self.optimizer.param_groups]
        if self._is_initial:  # step 0 has no factor, and a resumed optimiser already has the rate of its step
            return rates
        return [lr * f(self.last_epoch) for lr, f in zip(rates, self.lr_lambdas, strict=True)]


class StepLR(LRScheduler):
    """Multiply the rate by `gamma` every `step_size` steps.

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float) -> float:
        # Multiplying the current rate keeps the changes of chained schedules and of the user.
        return lr * self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else lr

    def rate_at_once(self, base: float) -> float:
        return base * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Multiply the rate by `gamma` at each of `milestones`, numbers of steps.

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what state_dict returned; a file stores the milestones as a plain dict."""
        super().load_state_dict(state_dict)
        self.milestones = Counter({int(step): count for step, count in self.milestones.items()})

    # a milestone that is listed k times multiplies by gamma ** k
    def rate(self, lr: float, base: float) -> float:
        return (
            lr * self.gamma ** self.milestones[self.last_epoch] if self.last_epoch in self.milestones else lr
        )

    def rate_at_once(self, base: float) -> float:
        # gamma for each milestone that was passed
        return base * self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(LRScheduler):
    """Multiply the rate by `factor` for `total_iters` steps, then restore it.

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    Raises ValueError if a number is out of its range.
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1
    ):
        within(self, "factor", factor, 0, 1)
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float) -> float:
        # The rate is changed at the two ends only: multiplied at step 0 and restored at step total_iters.
        if not self.last_epoch:
            return lr * self.factor
        return lr / self.factor if self.last_epoch == self.total_iters else lr

    def rate_at_once(self, base: float) -> float:
        return base * (self.factor if self.last_epoch < self.total_iters else 1.0)


class LinearLR(LRScheduler):
    """Change the rate linearly from `start_factor` to `end_factor` times its initial value in `total_iters`
    steps: a warm-up.

    ValueError for invalid numbers.

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if start_factor == 0:
            raise ValueError(
                "LinearLR(start_factor=0): must be above 0, because the rate is multiplied by it:"
                " pass e.g. 1e-3"
            )
        within(self, "start_factor", start_factor, 0, 1)
        within(self, "end_factor", end_factor, 0, 1)
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float) -> float:
        # The ratio of successive factors f(t) / f(t - 1), where f(t) = start + t * rise / total_iters.
        t, rise = self.last_epoch, self.end_factor - self.start_factor
        if not t:
            return lr * self.start_factor
        if self._is_initial or t > self.total_iters:
            return lr
        factor = 1 + rise / (self.total_iters * self.start_factor + (t - 1) * rise)
        return lr * max(factor, 0.0)  # on the way to 0 rounding may make it negative

    def rate_at_once(self, base: float) -> float:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * share)


class ExponentialLR(LRScheduler):
    """Multiply the rate by `gamma` at every step.

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float) -> float:
        return lr if self._is_initial else lr * self.gamma

    def rate_at_once(self, base: float) -> float:
        return base * self.gamma**self.last_epoch


class PolynomialLR(LRScheduler):
    """The rate times (1 - steps / total_iters) ** power, down to 0.

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float) -> float:
        # the ratio of successive values of (1 - t / n) ** power
        t, n = self.last_epoch, self.total_iters
        return lr if self._is_initial or t > n else lr * ((1 - t / n) / (1 - (t - 1) / n)) ** self.power

    def rate_at_once(self, base: float) -> float:
        return base * (1 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Lower the rate to `eta_min` along half a cosine in `T_max` steps, then raise it again (Loshchilov and
    Hutter, 2017).

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float) -> float:
        t, n = self.last_epoch, self.T_max
        if self._is_initial:
            return lr
        if self._step_count == 1 and t > 0:  # it resumes
            return self.rate_at_once(base)
        # At the minimum, lr - eta_min is 0 and no factor can raise it: the first step upwards is added
        # instead.
        if (t - 1 - n) % (2 * n) == 0:  # upwards from the minimum
            return lr + (base - self.eta_min) * (1 - cos(pi / n)) / 2
        # (lr - eta_min) is proportional to 1 + cos(pi t / n), so it is multiplied by the ratio of two
        # successive ones
        return (1 + cos(pi * t / n)) / (1 + cos(pi * (t - 1) / n)) * (lr - self.eta_min) + self.eta_min

    def rate_at_once(self, base: float) -> float:
        return self.eta_min + (base - self.eta_min) * (1 + cos(pi * self.last_epoch / self.T_max)) / 2


class CosineAnnealingWarmRestarts(LRScheduler):
    """Lower the rate to `eta_min` along half a cosine in `T_0` steps, then restart; each period is `T_mult`
    times as long as the previous one (Loshchilov and Hutter, 2017). `step(epoch)` takes fractions of epochs.

    ValueError for invalid numbers.

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ):
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if value < 1 or type(value) is not int:
                call = f"CosineAnnealingWarmRestarts({name}={value!r})"
                raise ValueError(f"{call}: must be a positive integer: pass 1 or more")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float) -> float:
        return self.eta_min + (base - self.eta_min) * (1 + cos(pi * self.T_cur / self.T_i)) / 2

    def step(self, epoch: float | None = None) -> None:
        """Advance by one step, or to an epoch, which may be a fraction."""
        # the fraction of an earlier step(epoch) is kept
        now = self.last_epoch + 1 + self.T_cur % 1 if epoch is None else epoch
        if now < 0:
            raise ValueError(
                f"CosineAnnealingWarmRestarts.step({epoch}): must be at least 0: pass another value"
            )
        self.T_i, self.T_cur = self.T_0, now
        if self.T_mult == 1:
            self.T_cur = now % self.T_0
        else:
            while self.T_cur >= self.T_i:  # subtract whole periods: T_0, T_0 T_mult, T_0 T_mult^2 ...
                self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        self.last_epoch, self._step_count = int(now // 1), self._step_count + 1
        self._set(self.get_lr())


class WarmupCosineLR(LRScheduler):
    """Raise the rate linearly in `warmup_steps`, then lower it along half a cosine to `eta_min` at
    `total_steps`: the usual schedule of transformers. PyTorch composes it of LinearLR, CosineAnnealingLR and
    SequentialLR.

    ValueError for invalid numbers.

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    """

    def __init__(
        self,
        optimizer: Optimizer,
        warmup_steps: int,
        total_steps: int,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ):
        if not 0 <= warmup_steps < total_steps:
            call = f"warmup_steps={warmup_steps}, total_steps={total_steps}"
            raise ValueError(f"WarmupCosineLR({call}): warmup_steps must be below total_steps: pass fewer")
        self.warmup_steps, self.total_steps, self.eta_min = warmup_steps, total_steps, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float) -> float:
        return self.rate_at_once(base)

    def rate_at_once(self, base: float) -> float:
        if self.last_epoch < self.warmup_steps:
            # from 1 / (warmup + 1), so that the first step moves the parameters
            return base * (self.last_epoch + 1) / (self.warmup_steps + 1)
        share = (self.last_epoch - self.warmup_steps) / (self.total_steps - self.warmup_steps)
        return self.eta_min + (base - self.eta_min) * (1 + cos(pi * min(1.0, share))) / 2


class NoamLR(LRScheduler):
    """Raise the rate linearly in `warmup_steps`, then lower it by the inverse square root of the step
    (Vaswani et al., 2017).

    The rate is the first one times model_size ** -0.5 * min(t ** -0.5, t * warmup_steps ** -1.5) at step t,
    from 1 on; `model_size` is the width of the model. PyTorch has it as a LambdaLR. ValueError for invalid
    numbers.

    optimizer: its learning rates are set
    last_epoch: the number of steps completed before, to resume; -1 to begin
    """

    def __init__(self, optimizer: Optimizer, model_size: int, warmup_steps: int, last_epoch: int = -1):
        for name, value in (("model_size", model_size), ("warmup_steps", warmup_steps)):
            if value < 1:
                raise ValueError(
                    f"NoamLR({name}={value}): must be at least 1, because it is a divisor: pass another value"
                )
        self.model_size, self.warmup_steps = model_size, warmup_steps
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float) -> float:
        return self.rate_at_once(base)

    def rate_at_once(self, base: float) -> float:
        t = self.last_epoch + 1  # t counts from 1: t ** -0.5 has no value at 0
        return base * self.model_size**-0.5 * min(t**-0.5, t * self.warmup_steps**-1.5)


def state_of(function: Any) -> dict[str, Any] | None:
    """The attributes of a callable object, which PyTorch's schedules save; None for plain functions.

    Functions among the attributes are left out, since they can't be saved.
    """
    if isinstance(function, FunctionType):
        return None
    return {name: value for name, value in getattr(function, "__dict__", {}).items() if not callable(value)}


def take_state(function: Any, known: dict[str, Any] | None) -> None:
    """Restore what `state_of` returned."""
    for name, value in (known or {}).items():
        setattr(function, name, value)


def one_each(scheduler: Any, name: str, values: Sequence[Any], groups: int) -> None:
    if len(values) != groups:
        rule = f"there are {groups} groups: pass one for each, or one for all"
        raise ValueError(f"{type(scheduler).__name__}({len(values)} of {name}): {rule}")


def within(scheduler: Any, name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        rule = f"must be in {low} to {high}: pass another value"
        raise ValueError(f"{type(scheduler).__name__}({name}={value}): {rule}")
