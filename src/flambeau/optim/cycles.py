"""CyclicLR and OneCycleLR: the rate rises and falls, and the momentum moves in the opposite direction."""

from collections.abc import Callable
from math import cos, floor, pi
from typing import Any, NamedTuple

from ..core.tree import is_sequence
from .optimizer import Optimizer
from .schedules import LRScheduler, one_each, state_of, take_state


class Cycling(LRScheduler):
    """Base of both: changes the momentum of each group, `momentum` or the first of `betas`, with the rate."""

    def has_momentum(self, optimizer: Optimizer) -> None:
        """ValueError if there is no momentum to cycle."""
        if not {"momentum", "betas"} & optimizer.defaults.keys():
            rule = f"{type(optimizer).__name__} has no momentum: pass cycle_momentum=False"
            raise ValueError(f"{type(self).__name__}(cycle_momentum=True): {rule}")

    def set_momentum(self, group: dict[str, Any], value: float) -> None:
        """Set the momentum of a group."""
        if "betas" in self.optimizer.defaults:
            group["betas"] = (value, *group["betas"][1:])  # the first beta is Adam's momentum
        else:
            group["momentum"] = value

    def each(self, name: str, value: Any) -> list[float]:
        """A value for each group."""
        groups = len(self.optimizer.param_groups)
        values: list[float] = list(value) if is_sequence(value) else [value] * groups
        one_each(self, name, values, groups)
        return values


MODES: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "triangular": ("cycle", lambda x, gamma: 1.0),
    # halves with each cycle, which is counted from 1
    "triangular2": ("cycle", lambda x, gamma: 1 / 2.0 ** (x - 1)),
    "exp_range": ("iterations", lambda x, gamma: gamma**x),
}


class CyclicLR(Cycling):
    """Raise the rate linearly from `base_lr` to `max_lr` in `step_size_up` steps, lower it in
    `step_size_down`, and repeat (Smith, 2017). The momentum moves from `max_momentum` to `base_momentum` and
    back.

    `mode` says how the amplitude shrinks: "triangular" keeps it, "triangular2" halves it each cycle,
    "exp_range" multiplies it by gamma each step. ValueError for unknown modes, and if there is no momentum to
    cycle.

    optimizer: its learning rates are set
    gamma: the factor of each step in mode "exp_range"
    scale_fn: used instead of the mode: the factor of a cycle or step, by its number
    scale_mode: the argument of `scale_fn`: "cycle" or "iterations"
    cycle_momentum: move the momenta against the rates
    base_momentum, max_momentum: the bounds of the momenta, one number or one a group
    last_epoch: the number of steps completed before, to resume; -1 to begin
    """

    left_out = frozenset({"optimizer", "scale_fn"})

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ):
        self.optimizer = optimizer
        if scale_fn is None and mode not in MODES:
            raise ValueError(f"CyclicLR(mode={mode!r}): unknown: use one of {', '.join(map(repr, MODES))}")
        first, self.max_lrs = self.each("base_lr", base_lr), self.each("max_lr", max_lr)
        self.up, self.down = float(step_size_up), float(step_size_down or step_size_up)
        self.scale_fn, self.mode, self.gamma = scale_fn, mode, gamma
        self.scale_mode = scale_mode if self.scale_fn else MODES[mode][0]
        self.cycle_momentum = cycle_momentum
        # set before the base class stores lr as initial_lr; a resumed optimiser keeps its own
        for group, lr in zip(optimizer.param_groups, first, strict=True):
            if last_epoch == -1:
                group["lr"] = lr
        if self.cycle_momentum:
            self.has_momentum(optimizer)
            self.base_momentums = self.each("base_momentum", base_momentum)
            self.max_momentums = self.each("max_momentum", max_momentum)
        self._first = first
        super().__init__(optimizer, last_epoch)
        # the base class took them from initial_lr, which an earlier schedule may have set
        self.base_lrs = first

    def get_lr(self) -> list[float]:
        """The rates after `last_epoch` steps; sets the momenta."""
        cycle = floor(1 + self.last_epoch / (self.up + self.down))
        # x, the position in the cycle, 0 to 1; `rising`, the share of the rise; `height` goes 0 -> 1 -> 0
        x, rising = 1 + self.last_epoch / (self.up + self.down) - cycle, self.up / (self.up + self.down)
        height = x / rising if x <= rising else (x - 1) / (rising - 1)
        height *= self._scale(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            pairs = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in pairs:
                # the momentum is lowest where the rate is highest
                self.set_momentum(group, high - (high - low) * height)
        pairs = zip(self._first, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Return the state without the optimizer; of a `scale_fn` that is an object its attributes."""
        scale_state = None if self.scale_fn is None else state_of(self.scale_fn)
        return {**super().state_dict(), "_scale_fn_custom": scale_state}  # as PyTorch calls it

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what state_dict returned, but keep this object's `scale_fn`."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        take_state(self.scale_fn, state_dict.get("_scale_fn_custom"))

    def _scale(self, x: float) -> float:
        return self.scale_fn(x) if self.scale_fn else MODES[self.mode][1](x, self.gamma)


class CyclePart(NamedTuple):
    """A phase of a cycle: its last step, and the options between which rate and momentum move, by name."""

    end: float
    rate: tuple[str, str]
    momentum: tuple[str, str]


STRATEGIES: dict[str, Callable[[float, float, float], float]] = {
    "cos": lambda a, b, share: b + (a - b) / 2 * (1 + cos(pi * share)),
    # a training loop usually calls step once more after the last step
    "linear": lambda a, b, share: a + (b - a) * min(share, 1.0),
}


class OneCycleLR(Cycling):
    """Raise the rate to `max_lr` in the first `pct_start` of all steps, then lower it far below the initial
    rate (Smith and Topin, 2019). The momentum moves in the opposite direction.

    The length is `total_steps`, or `epochs` times `steps_per_epoch`. ValueError if neither is given, for a
    step beyond the last, and if there is no momentum to cycle.

    optimizer: its learning rates are set
    anneal_strategy: the curve between bounds: "cos" or "linear"
    cycle_momentum: move the momenta against the rates
    base_momentum, max_momentum: the bounds of the momenta, one number or one a group
    div_factor: the first rate is max_lr / div_factor
    final_div_factor: the last rate is the first one / final_div_factor
    three_phase: return to the first rate before the last descent
    last_epoch: the number of steps completed before, to resume; -1 to begin
    """

    left_out = frozenset({"optimizer", "phases", "anneal_strategy"})

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ):
        self.optimizer = optimizer
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError(
                "OneCycleLR(...): the length is unknown: pass total_steps, or epochs and steps_per_epoch"
            )
        self.total_steps = int(total_steps if total_steps is not None else epochs * steps_per_epoch)  # type: ignore[operator]
        for name, value, rule in (
            ("total_steps", self.total_steps, self.total_steps > 0 or "must be above 0"),
            ("pct_start", pct_start, 0 <= pct_start <= 1 or "must be in 0 to 1"),
            ("anneal_strategy", anneal_strategy, anneal_strategy in STRATEGIES or "unknown"),
        ):
            if rule is not True:
                cure = (
                    f"use one of {', '.join(map(repr, STRATEGIES))}"
                    if rule == "unknown"
                    else "pass another value"
                )
                raise ValueError(f"OneCycleLR({name}={value!r}): {rule}: {cure}")
        self.anneal_strategy, self.cycle_momentum = anneal_strategy, cycle_momentum
        self.phases = _phases(self.total_steps, pct_start, three_phase)
        # A resumed optimiser's groups already have the bounds.
        if last_epoch == -1:
            momenta = self.each("base_momentum", base_momentum), self.each("max_momentum", max_momentum)
            self._begin(self.each("max_lr", max_lr), momenta, (div_factor, final_div_factor))
        super().__init__(optimizer, last_epoch)

    def _begin(
        self, rates: list[float], momenta: tuple[list[float], list[float]], factors: tuple[float, float]
    ) -> None:
        """Store in each group the bounds of its rate and momentum."""
        if self.cycle_momentum:
            self.has_momentum(self.optimizer)
        for group, rate, low, high in zip(self.optimizer.param_groups, rates, *momenta, strict=True):
            first = rate / factors[0]
            group.update(initial_lr=first, lr=first, max_lr=rate, min_lr=first / factors[1])
            if self.cycle_momentum:
                group.update(base_momentum=low, max_momentum=high)

    def get_lr(self) -> list[float]:
        """The rates after `last_epoch` steps; sets the momenta. ValueError after the last."""
        if self.last_epoch > self.total_steps:
            rule = f"the total number of steps is {self.total_steps}: increase total_steps"
            raise ValueError(f"OneCycleLR.step(): tried to step {self.last_epoch} times: {rule}")
        # the phase that contains the step, and where it begins
        start, phase = 0.0, self.phases[0]
        for phase in self.phases:
            if self.last_epoch <= phase.end or phase is self.phases[-1]:
                break
            start = phase.end
        # position in the phase, 0 to 1
        share = (self.last_epoch - start) / (phase.end - start)
        between = STRATEGIES[self.anneal_strategy]
        rates: list[float] = []
        for group in self.optimizer.param_groups:
            a, b = phase.rate
            rates.append(between(group[a], group[b], share))
            if self.cycle_momentum:
                a, b = phase.momentum
                self.set_momentum(group, between(group[a], group[b], share))
        return rates

    def state_dict(self) -> dict[str, Any]:
        """Return the state without the optimizer, under PyTorch's names."""
        phases = [dict(zip(PHASE, (p.end, *p.rate, *p.momentum), strict=True)) for p in self.phases]
        named = {"_schedule_phases": phases, "_anneal_func_type": self.anneal_strategy}
        return {**super().state_dict(), **named}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what state_dict returned, with the length of its schedule."""
        state = dict(state_dict)
        rows = [tuple(p[name] for name in PHASE) for p in state.pop("_schedule_phases", ())]
        if rows:
            self.phases = [CyclePart(row[0], row[1:3], row[3:]) for row in rows]
        self.anneal_strategy = state.pop("_anneal_func_type", self.anneal_strategy)
        super().load_state_dict(state)


# the keys of a phase in a state_dict
PHASE = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")


def _phases(steps: int, rising: float, is_three: bool) -> list[CyclePart]:
    # Phases end at a step's index, hence -1: the maximum is reached at step pct_start * total_steps - 1.
    first = CyclePart(rising * steps - 1, ("initial_lr", "max_lr"), ("max_momentum", "base_momentum"))
    if not is_three:
        return [first, CyclePart(steps - 1, ("max_lr", "min_lr"), ("base_momentum", "max_momentum"))]
    back = CyclePart(2 * rising * steps - 2, ("max_lr", "initial_lr"), ("base_momentum", "max_momentum"))
    return [first, back, CyclePart(steps - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum"))]
