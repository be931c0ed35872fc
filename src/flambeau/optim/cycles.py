"""CyclicLR and OneCycleLR: rates that rise and fall, momenta against them."""

from collections.abc import Callable
from math import cos, floor, pi
from typing import Any, NamedTuple, TypedDict, Unpack

from ..core.options import options
from .optimizer import Optimizer
from .schedules import LRScheduler, one_each, state_of, take_state


class Cycling(LRScheduler):
    """What both share: a momentum of each group, `momentum` or the first of `betas`, that goes with the
    rate."""

    def has_momentum(self, optimizer: Optimizer) -> None:
        """ValueError where there is no momentum to cycle."""
        if not {"momentum", "betas"} & optimizer.defaults.keys():
            rule = f"{type(optimizer).__name__} has none: give cycle_momentum=False"
            raise ValueError(f"{type(self).__name__}(cycle_momentum=True): {rule}")

    def set_momentum(self, group: dict[str, Any], value: float) -> None:
        """Set that of a group."""
        if "betas" in self.optimizer.defaults:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value

    def each(self, name: str, value: Any) -> list[float]:
        """A value for each group."""
        values = (
            list(value) if isinstance(value, list | tuple) else [value] * len(self.optimizer.param_groups)
        )
        one_each(self, name, values, len(self.optimizer.param_groups))
        return values


class Cycle(TypedDict, total=False):
    """`gamma` is for mode "exp_range"; `scale_fn` takes the place of the mode, of the number of the cycle or
    of steps by `scale_mode`."""

    gamma: float
    scale_fn: Callable[[float], float] | None
    scale_mode: str
    cycle_momentum: bool
    base_momentum: float | list[float]
    max_momentum: float | list[float]
    last_epoch: int


CYCLE: dict[str, Any] = {"gamma": 1.0, "scale_fn": None, "scale_mode": "cycle", "cycle_momentum": True}
CYCLE |= {"base_momentum": 0.8, "max_momentum": 0.9, "last_epoch": -1}
MODES: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "triangular": ("cycle", lambda x, gamma: 1.0),
    "triangular2": ("cycle", lambda x, gamma: 1 / 2.0 ** (x - 1)),
    "exp_range": ("iterations", lambda x, gamma: gamma**x),
}


class CyclicLR(Cycling):
    """From `base_lr` up to `max_lr` along a line in `step_size_up` steps, down in `step_size_down`, and again
    (Smith, 2017); momenta from `max_momentum` down to `base_momentum` meanwhile.

    `mode` says how cycles shrink: "triangular" not at all, "triangular2" by half each, "exp_range" by gamma a
    step. ValueError for unknown modes, and where there is no momentum to cycle.

    optimizer: the one whose rates are set
    more: further options by name
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
        **more: Unpack[Cycle],
    ):
        o = options("CyclicLR", more, CYCLE)
        self.optimizer = optimizer
        if o["scale_fn"] is None and mode not in MODES:
            raise ValueError(f"CyclicLR(mode={mode!r}): unknown: use one of {', '.join(map(repr, MODES))}")
        first, self.max_lrs = self.each("base_lr", base_lr), self.each("max_lr", max_lr)
        self.up, self.down = float(step_size_up), float(step_size_down or step_size_up)
        self.scale_fn, self.mode, self.gamma = o["scale_fn"], mode, o["gamma"]
        self.scale_mode = o["scale_mode"] if self.scale_fn else MODES[mode][0]
        self.cycle_momentum = o["cycle_momentum"]
        for group, lr in zip(optimizer.param_groups, first, strict=True):
            if o["last_epoch"] == -1:
                group["lr"] = lr
        if self.cycle_momentum:
            self.has_momentum(optimizer)
            self.base_momentums = self.each("base_momentum", o["base_momentum"])
            self.max_momentums = self.each("max_momentum", o["max_momentum"])
        self._first = first
        super().__init__(optimizer, o["last_epoch"])
        self.base_lrs = first

    def get_lr(self) -> list[float]:
        """The rates after `last_epoch` steps; sets the momenta."""
        cycle = floor(1 + self.last_epoch / (self.up + self.down))
        x, rising = 1 + self.last_epoch / (self.up + self.down) - cycle, self.up / (self.up + self.down)
        height = x / rising if x <= rising else (x - 1) / (rising - 1)
        height *= self._scale(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            pairs = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in pairs:
                self.set_momentum(group, high - (high - low) * height)
        pairs = zip(self._first, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """All that it knows, but the optimizer; of a `scale_fn` that is an object what that knows."""
        known = None if self.scale_fn is None else state_of(self.scale_fn)
        return {**super().state_dict(), "_scale_fn_custom": known}  # as PyTorch calls it

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where state_dict was taken, by the `scale_fn` that is here."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        take_state(self.scale_fn, state_dict.get("_scale_fn_custom"))

    def _scale(self, x: float) -> float:
        return self.scale_fn(x) if self.scale_fn else MODES[self.mode][1](x, self.gamma)


class CyclePart(NamedTuple):
    """A part of a cycle: its last step, and what rate and momentum go from and to, by name."""

    end: float
    rate: tuple[str, str]
    momentum: tuple[str, str]


class OneCycle(TypedDict, total=False):
    """`div_factor` is what the largest rate is divided by to begin, `final_div_factor` what the first is
    divided by to end; `three_phase` goes back to the first in between."""

    anneal_strategy: str
    cycle_momentum: bool
    base_momentum: float | list[float]
    max_momentum: float | list[float]
    div_factor: float
    final_div_factor: float
    three_phase: bool
    last_epoch: int


ONE_CYCLE: dict[str, Any] = {"anneal_strategy": "cos", "cycle_momentum": True, "base_momentum": 0.85}
ONE_CYCLE |= {"max_momentum": 0.95, "div_factor": 25.0, "final_div_factor": 1e4, "three_phase": False}
ONE_CYCLE |= {"last_epoch": -1}
STRATEGIES: dict[str, Callable[[float, float, float], float]] = {
    "cos": lambda a, b, share: b + (a - b) / 2 * (1 + cos(pi * share)),
    # a loop's last call is a step behind the end
    "linear": lambda a, b, share: a + (b - a) * min(share, 1.0),
}


class OneCycleLR(Cycling):
    """Up to `max_lr` in the first `pct_start` of all steps, then down to far below the first rate (Smith and
    Topin, 2019); momenta against it.

    Of `total_steps`, or of `epochs` and `steps_per_epoch`. ValueError where neither is given, for a step
    more, and where there is no momentum to cycle.

    optimizer: the one whose rates are set
    """

    left_out = frozenset({"optimizer", "phases"})

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        **more: Unpack[OneCycle],
    ):
        o = options("OneCycleLR", more, ONE_CYCLE)
        self.optimizer = optimizer
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError(
                "OneCycleLR(...): its length is not known: give total_steps, or epochs and steps_per_epoch"
            )
        self.total_steps = int(total_steps if total_steps is not None else epochs * steps_per_epoch)  # type: ignore[operator]
        for name, value, rule in (
            ("total_steps", self.total_steps, self.total_steps > 0 or "must be above 0"),
            ("pct_start", pct_start, 0 <= pct_start <= 1 or "must be in 0 to 1"),
            ("anneal_strategy", o["anneal_strategy"], o["anneal_strategy"] in STRATEGIES or "unknown"),
        ):
            if rule is not True:
                cure = (
                    f"use one of {', '.join(map(repr, STRATEGIES))}" if rule == "unknown" else "give another"
                )
                raise ValueError(f"OneCycleLR({name}={value!r}): {rule}: {cure}")
        self.anneal_strategy, self.cycle_momentum = o["anneal_strategy"], o["cycle_momentum"]
        self.phases = _phases(self.total_steps, pct_start, o["three_phase"])
        if o["last_epoch"] == -1:
            self._begin(o, max_lr)
        super().__init__(optimizer, o["last_epoch"])

    def _begin(self, o: dict[str, Any], max_lr: float | list[float]) -> None:
        """Tell each group what its rate and momentum go between."""
        if self.cycle_momentum:
            self.has_momentum(self.optimizer)
        most = self.each("max_lr", max_lr)
        low, high = (
            self.each("base_momentum", o["base_momentum"]),
            self.each("max_momentum", o["max_momentum"]),
        )
        for i, group in enumerate(self.optimizer.param_groups):
            first = most[i] / o["div_factor"]
            group.update(initial_lr=first, lr=first, max_lr=most[i], min_lr=first / o["final_div_factor"])
            if self.cycle_momentum:
                group.update(base_momentum=low[i], max_momentum=high[i])

    def get_lr(self) -> list[float]:
        """The rates after `last_epoch` steps; sets the momenta. ValueError after the last."""
        if self.last_epoch > self.total_steps:
            rule = f"the total number of steps is {self.total_steps}: give more total_steps"
            raise ValueError(f"OneCycleLR.step(): tried to step {self.last_epoch} times: {rule}")
        start, phase = 0.0, self.phases[0]
        for phase in self.phases:
            if self.last_epoch <= phase.end or phase is self.phases[-1]:
                break
            start = phase.end
        share = (self.last_epoch - start) / (phase.end - start)
        between, rates = STRATEGIES[self.anneal_strategy], []
        for group in self.optimizer.param_groups:
            a, b = phase.rate
            rates.append(between(group[a], group[b], share))
            if self.cycle_momentum:
                a, b = phase.momentum
                self.set_momentum(group, between(group[a], group[b], share))
        return rates


def _phases(steps: int, rising: float, is_three: bool) -> list[CyclePart]:
    first = CyclePart(rising * steps - 1, ("initial_lr", "max_lr"), ("max_momentum", "base_momentum"))
    if not is_three:
        return [first, CyclePart(steps - 1, ("max_lr", "min_lr"), ("base_momentum", "max_momentum"))]
    back = CyclePart(2 * rising * steps - 2, ("max_lr", "initial_lr"), ("base_momentum", "max_momentum"))
    return [first, back, CyclePart(steps - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum"))]
