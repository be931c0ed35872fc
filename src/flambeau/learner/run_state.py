"""All that a run needs to go on into a nest of plain values and tensors, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .callbacks import Best
from .checks import check_accumulate
from .randoms import random_states

if TYPE_CHECKING:
    from .learner import Learner

COUNTS = ("epoch", "step", "index", "is_drained", "is_trained", "row", "history")


def places_of(loaders: dict[str, Any]) -> dict[str, Any]:
    """Where the loaders are, those that can say so."""
    return {name: found.state_dict() for name, found in loaders.items() if hasattr(found, "state_dict")}


def put_places(loaders: dict[str, Any], places: dict[str, Any]) -> None:
    """Have loaders go on where `places_of` was asked."""
    for name, found in loaders.items():
        if name in places and hasattr(found, "load_state_dict"):
            found.load_state_dict(places[name])


def state_of(learner: Learner, places: dict[str, Any]) -> dict[str, Any]:
    """The state of a run between two steps."""
    state = {name: getattr(learner, name) for name in COUNTS}
    return {
        **state,
        "is_over": learner.reason == "early",
        "model": learner.model.state_dict(),
        "optimizer": learner.optimizer.state_dict(),
        "kind": type(learner.optimizer).__name__,
        "accumulate": learner.options.accumulate,
        "scaler": None if learner.scaler is None else learner.scaler.state_dict(),
        "callbacks": states_of(learner.callbacks),
        "metrics": learner.tallies["train"].state_dict(),
        "random": random_states(),
        "loaders": places,
    }


def put_back(learner: Learner, state: dict[str, Any], where: str) -> None:
    """Have a learner go on from a state; ValueError, with `where` it is from, for that of another model."""
    try:
        kind = type(learner.optimizer).__name__
        if (given := state.get("kind", kind)) != kind:  # plain SGD keeps no state that would tell
            raise ValueError(f"optimizer: the learner has {kind}, given {given}: give the same")
        check_accumulate(learner.options.accumulate, state)
        learner.model.load_state_dict(state["model"])
        learner.optimizer.load_state_dict(state["optimizer"])
        learner.tallies["train"].load_state_dict(state["metrics"])
        put_named(learner.callbacks, state["callbacks"])
        if (learner.scaler is None) != (state["scaler"] is None):
            has, given = ("none", "one") if learner.scaler is None else ("one", "none")
            raise ValueError(f"scaler: the learner has {has}, given {given}: give the same")
    except ValueError as e:
        raise ValueError(f"{where}: is not of this learner: {e}") from None
    if learner.scaler is not None:
        learner.scaler.load_state_dict(state["scaler"])
    for name in COUNTS:
        setattr(learner, name, state[name])
    learner.reason = "early" if state["is_over"] and is_over(learner.callbacks.values()) else None
    learner.places, learner.random = state["loaders"], state["random"]


def is_over(callbacks: Iterable[Any]) -> bool:
    """Whether a run that was stopped early is to stay so: not where its patience is a longer one now."""
    patient = [c for c in callbacks if isinstance(c, Best) and c.patience is not None]
    return not patient or any(c.is_over for c in patient)


def states_of(callbacks: dict[str, Any]) -> dict[str, Any]:
    """The states of the callbacks that have any."""
    states = {name: callback.state_dict() for name, callback in callbacks.items()}
    return {name: state for name, state in states.items() if state}


def by_option(states: dict[str, Any]) -> dict[str, str]:
    """What the options of a learner gave that has these states: names of callbacks, "one" for the others."""
    own = [name for name in states if ": " in name]  # "0: Counter", as a learner names a user's
    found = dict.fromkeys(states.keys() - set(own), "one")
    return found | ({"callbacks": ", ".join(own)} if own else {})


def put_named(callbacks: dict[str, Any], states: dict[str, Any]) -> None:
    """Give callbacks their states; ValueError, which names the options that differ, where those were of
    others."""
    own = states_of(callbacks)
    if own.keys() != states.keys():
        has, given = by_option(own), by_option(states)
        differ = sorted(name for name in has.keys() | given.keys() if has.get(name) != given.get(name))
        told = [f"{n}: the learner has {has.get(n, 'none')}, given {given.get(n, 'none')}" for n in differ]
        raise ValueError(f"{'; '.join(told)}: give the same")
    for name, state in states.items():
        callbacks[name].load_state_dict(state)
