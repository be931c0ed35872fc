"""Collects the state that a run needs to resume as nested plain values and tensors, and restores it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .callbacks import Best, Callback
from .checks import check_accumulate
from .events import Reason
from .history import History, Row
from .meters import SplitMeter
from .randoms import random_states
from .steps import Trained

SAVED = ("epoch", "step", "index", "is_drained", "is_trained", "row", "history")  # fields of Position


@dataclass
class Position:
    """The position of a run, and the reason for its end."""

    epoch: int = 0  # epochs completed
    step: int = 0  # steps completed
    index: int = 0  # batches that the loader yielded in this epoch
    is_drained: bool = False  # the loader yielded all batches of the epoch
    is_trained: bool = False  # the steps of the epoch are completed; its validation is not
    row: Row = field(default_factory=dict[str, float])  # the epoch's values so far
    history: History = field(default_factory=History)  # a row for each epoch
    reason: Reason | None = None  # set by `stop`: the run ends after this step
    is_broken: bool = False  # an exception ended the last fit
    places: dict[str, Any] = field(default_factory=dict[str, Any])  # states of the loaders, by split
    random: dict[str, Any] | None = None  # states of the generators at the start of the next fit
    seed: int | None = None  # of the shards' random numbers, on several workers

    def end_epoch(self) -> None:
        """Complete an epoch."""
        self.history.append(self.row)
        self.epoch, self.index = self.epoch + 1, 0
        self.is_drained = self.is_trained = False


class RunParts(NamedTuple):
    """The objects whose states a checkpoint holds, in addition to the position."""

    trained: Trained
    accumulate: int
    callbacks: dict[str, Callback]
    metrics: SplitMeter  # of the training


def loader_states(loaders: dict[str, Any]) -> dict[str, Any]:
    """Return the states of the loaders that have one."""
    return {split: loader.state_dict() for split, loader in loaders.items() if hasattr(loader, "state_dict")}


def restore_loaders(loaders: dict[str, Any], places: dict[str, Any]) -> None:
    """Restore loaders to the states that `loader_states` returned."""
    for split, loader in loaders.items():
        if split in places and hasattr(loader, "load_state_dict"):
            loader.load_state_dict(places[split])


def state_of(position: Position, parts: RunParts) -> dict[str, Any]:
    """Return the state of a run between two steps."""
    model, _, optimizer, _, _ = parts.trained
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "kind": type(optimizer).__name__,
        **progress_of(position, parts),
    }


def progress_of(position: Position, parts: RunParts) -> dict[str, Any]:
    """Return the state of a run without the model and the optimiser."""
    scaler = parts.trained.scaler
    return {
        **{name: getattr(position, name) for name in SAVED},
        "history": list(position.history),  # files hold plain lists
        "is_over": position.reason == "early",
        "accumulate": parts.accumulate,
        "scaler": None if scaler is None else scaler.state_dict(),
        "callbacks": states_of(parts.callbacks),
        "metrics": parts.metrics.state_dict(),
        "random": random_states(),
        "loaders": position.places,
        "seed": None
        if position.seed is None
        else str(position.seed),  # 64 bits, more than JSON's numbers have everywhere
    }


def restore(position: Position, parts: RunParts, state: dict[str, Any], source: str) -> None:
    """Restore a run from a state. ValueError, with the state's `source`, if it belongs to another model."""
    model, _, optimizer, scaler, _ = parts.trained
    try:
        kind = type(optimizer).__name__
        if (saved := state.get("kind", kind)) != kind:  # plain SGD has no state to compare
            raise ValueError(f"optimizer: the learner has {kind}, got {saved}: use the same")
        check_accumulate(parts.accumulate, state)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        parts.metrics.load_state_dict(state["metrics"])
        restore_callbacks(parts.callbacks, state["callbacks"])
        if (scaler is None) != (state["scaler"] is None):
            # The loss scale is part of the gradients' meaning: without it, the resumed run would differ.
            has, saved = ("none", "one") if scaler is None else ("one", "none")
            raise ValueError(f"scaler: the learner has {has}, got {saved}: use the same")
    except ValueError as e:
        raise ValueError(f"{source}: it belongs to a different learner: {e}") from None
    _restore_position(position, parts, state)


def restore_progress(position: Position, parts: RunParts, state: dict[str, Any]) -> None:
    """Restore what `progress_of` returned, without the metrics."""
    restore_callbacks(parts.callbacks, state["callbacks"])
    _restore_position(position, parts, state)


def _restore_position(position: Position, parts: RunParts, state: dict[str, Any]) -> None:
    scaler = parts.trained.scaler
    if scaler is not None:
        scaler.load_state_dict(state["scaler"])
    for name in SAVED:
        setattr(position, name, state[name])
    position.history = History(state["history"])
    # Only an early end is kept: a run that was stopped or killed continues.
    position.reason = "early" if state["is_over"] and is_over(parts.callbacks.values()) else None
    # Applied at the next `fit`, which has the loaders.
    position.places, position.random = state["loaders"], state["random"]
    seed = state.get("seed")
    position.seed = None if seed is None else int(seed)


def is_over(callbacks: Iterable[Callback]) -> bool:
    """Whether a run that was stopped early stays stopped, because its patience was not raised."""
    patient = [c for c in callbacks if isinstance(c, Best) and c.patience is not None]
    return not patient or any(c.is_over for c in patient)


def states_of(callbacks: dict[str, Callback]) -> dict[str, Any]:
    """Return the states of the callbacks that have one."""
    states = {name: callback.state_dict() for name, callback in callbacks.items()}
    return {name: state for name, state in states.items() if state}


def by_option(states: dict[str, Any]) -> dict[str, str]:
    """Return the options of Learner that have these states, as {option: "one" or the callbacks' names}."""
    user = [name for name in states if ": " in name]  # "0: Counter", as `named_callbacks` numbers them
    options = dict.fromkeys(states.keys() - set(user), "one")
    return options | ({"callbacks": ", ".join(user)} if user else {})


def restore_callbacks(callbacks: dict[str, Callback], states: dict[str, Any]) -> None:
    """Restore the states of callbacks; ValueError, with the options that differ, for other callbacks."""
    own = states_of(callbacks)
    if own.keys() != states.keys():
        has, saved = by_option(own), by_option(states)
        differ = sorted(name for name in has.keys() | saved.keys() if has.get(name) != saved.get(name))
        rules = [f"{n}: the learner has {has.get(n, 'none')}, got {saved.get(n, 'none')}" for n in differ]
        raise ValueError(f"{'; '.join(rules)}: use the same")
    for name, state in states.items():
        callbacks[name].load_state_dict(state)
