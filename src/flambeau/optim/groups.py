"""Parameter groups: options as dicts of numbers, which recorded steps read as they are at each step."""

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from types import SimpleNamespace
from typing import Any

from ..tensor import HostScalar


def _at_least_0(value: float) -> str:
    return "" if value >= 0 else "must be at least 0"


def _at_least_1(value: float) -> str:
    return "" if value >= 1 else "must be at least 1"


def _below_1(value: float) -> str:
    return "" if 0 <= value < 1 else "must be in 0 to 1, 1 left out"


def _up_to_1(value: float) -> str:
    return "" if 0 <= value <= 1 else "must be in 0 to 1"


# What a number of this name may be, in every optimiser; of a tuple, what each may be.
RULES: dict[str, Callable[[float], str] | tuple[tuple[str, Callable[[float], str]], ...]] = {
    "lr": _at_least_0,
    "weight_decay": _at_least_0,
    "momentum": _at_least_0,
    "lr_decay": _at_least_0,
    "initial_accumulator_value": _at_least_0,
    "momentum_decay": _at_least_0,
    "eps": _at_least_0,
    "rho": _up_to_1,
    "d": _at_least_1,
    "betas": tuple((f"beta{i}", _below_1) for i in (1, 2, 3)),
    "etas": (
        ("eta1", lambda v: "" if 0 < v < 1 else "must be between 0 and 1"),
        ("eta2", lambda v: "" if v > 1 else "must be above 1"),
    ),
}


# Options of PyTorch that choose an implementation. Flambeau has one, so they change nothing.
IMPLEMENTATION = {"foreach": None, "fused": None, "capturable": False, "differentiable": False}
SHARED: dict[str, Any] = {"maximize": False, "offload": False, **IMPLEMENTATION}  # options of every optimiser


class ParamGroup(dict[str, Any]):
    """Parameters and their options, a dict as in PyTorch.

    `group["lr"]` is a number and may be set between steps; inside it is a HostScalar, which recorded steps
    read anew. What an option is decides what a step computes only in whether it is 0, so a step is recorded
    anew when that changes (`lr` and what is in tuples decide nothing).
    """

    def __init__(self, optimizer: str, options: dict[str, Any], numbers: frozenset[str]):
        self._optimizer, self._numbers = optimizer, numbers
        self._zero: dict[str, bool] = {}  # of numbers that a rule leaves out where they are 0
        for name, value in options.items():
            self[name] = value

    def __getitem__(self, name: str) -> Any:
        return _numbers(dict.__getitem__(self, name))

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self._numbers:
            dict.__setitem__(self, name, value)
            return
        value = tuple(map(_plain, value)) if isinstance(value, tuple | list) else _plain(value)
        self._check(name, value)
        held = dict.get(self, name)
        dict.__setitem__(self, name, _held(held, value))
        if name != "lr" and not isinstance(value, tuple):
            self._zero[name] = not value

    def __iter__(self) -> Iterator[str]:  # so that dict(group) asks for items, and does not take what is held
        return dict.__iter__(self)

    keys, items, values = MutableMapping.keys, MutableMapping.items, MutableMapping.values  # type: ignore[assignment]
    get, pop, popitem = MutableMapping.get, MutableMapping.pop, MutableMapping.popitem  # type: ignore[assignment]
    update, setdefault, __eq__ = MutableMapping.update, MutableMapping.setdefault, MutableMapping.__eq__

    def copy(self) -> dict[str, Any]:
        """A plain dict of the options as they are now."""
        return dict(self)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple:
        return ParamGroup, (self._optimizer, dict(self), self._numbers)

    def rule(self) -> Any:
        """The options as a rule takes them, by attribute: numbers as HostScalars, but 0 where they are 0."""
        values = dict.items(self)
        return SimpleNamespace(**{k: 0.0 if self._zero.get(k) else v for k, v in values if k != "params"})

    def choices(self, names: Iterable[str]) -> tuple:
        """What decides which state a step needs: options that are no numbers, and which numbers are 0."""
        return (*self._zero.items(), *(dict.__getitem__(self, n) for n in names if n not in self._numbers))

    def _check(self, name: str, value: Any) -> None:
        rules = RULES.get(name)
        if rules is None:
            return
        pairs = zip(rules, value, strict=False) if isinstance(rules, tuple) else [((name, rules), value)]
        if isinstance(value, tuple) and not isinstance(rules, tuple):
            pairs = [((name, rules), v) for v in value]
        for (title, rule), v in pairs:
            if v is not None and (told := rule(v)):
                raise ValueError(f"{self._optimizer}({title}={v}): {told}: give another")


def _plain(value: Any) -> Any:
    """A number, also where it came as a tensor; None and words as they are."""
    return value if value is None or isinstance(value, str | int | float) else float(value)


def _held(held: Any, value: Any) -> Any:
    """HostScalars with these values: those that are there, or new ones."""
    if isinstance(value, tuple):
        before = held if isinstance(held, tuple) and len(held) == len(value) else (None,) * len(value)
        parts = tuple(map(_held, before, value))
        return held if parts == before else parts
    if not isinstance(value, int | float):
        return value
    if not isinstance(held, HostScalar):
        return HostScalar(value)
    if type(value) is not type(held.held) or value != held.held:
        held.value = value
    return held


def _numbers(held: Any) -> Any:
    if isinstance(held, tuple):
        return tuple(map(_numbers, held))
    return held.value if isinstance(held, HostScalar) else held
