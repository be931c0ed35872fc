"""Parameter groups: options as dicts of numbers, whose current values recorded steps read."""

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..core.tree import is_sequence, is_tuple
from ..tensor import HostScalar


def _at_least_0(value: float) -> str:
    return "" if value >= 0 else "must be at least 0"


def _at_least_1(value: float) -> str:
    return "" if value >= 1 else "must be at least 1"


def _below_1(value: float) -> str:
    return "" if 0 <= value < 1 else "must be at least 0 and below 1"


def _up_to_1(value: float) -> str:
    return "" if 0 <= value <= 1 else "must be in 0 to 1"


# The valid values of an option, by its name, in every optimiser; for a tuple, of each element.
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
    "beta2_decay": lambda v: "" if v <= 0 else "must be at most 0",
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
    read again. A value changes the recorded graph only by whether it is 0, so the step is recorded again when
    that changes (`lr` and numbers in tuples are never left out).
    """

    def __init__(self, optimizer: str, options: dict[str, Any], numbers: frozenset[str]):
        self._optimizer, self._numbers = optimizer, numbers
        self._zero: dict[str, bool] = {}  # by name: numbers whose term an update rule omits while they are 0
        for name, value in options.items():
            self[name] = value

    def __getitem__(self, name: str) -> Any:
        return _numbers(super().__getitem__(name))

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self._numbers:
            super().__setitem__(name, value)
            return
        value = tuple(map(_plain, value)) if is_sequence(value) else _plain(value)
        self._check(name, value)
        # An existing HostScalar is kept and its value replaced: recorded steps refer to the object.
        held = super().get(name)
        super().__setitem__(name, _host_scalars(held, value))
        if name != "lr" and not is_tuple(value):
            self._zero[name] = not value

    def __iter__(self) -> Iterator[str]:  # makes dict(group) ask for items, not copy HostScalars
        return super().__iter__()

    if not TYPE_CHECKING:  # for type checkers these methods are dict's
        # dict's own methods would bypass __getitem__ and __setitem__ and return HostScalars
        keys, items, values = MutableMapping.keys, MutableMapping.items, MutableMapping.values
        get, pop, popitem = MutableMapping.get, MutableMapping.pop, MutableMapping.popitem
        update, setdefault, __eq__ = MutableMapping.update, MutableMapping.setdefault, MutableMapping.__eq__

    def copy(self) -> dict[str, Any]:
        """A plain dict of the options as they are now."""
        return dict(self)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return ParamGroup, (self._optimizer, dict(self), self._numbers)

    def rule(self) -> Any:
        """The options as attributes, for `update`: numbers are HostScalars, or 0.0 if they are 0."""
        values = super().items()
        # 0.0 lets an update rule leave out the whole term
        return SimpleNamespace(**{k: 0.0 if self._zero.get(k) else v for k, v in values if k != "params"})

    def choices(self, names: Iterable[str]) -> tuple[Any, ...]:
        """The key of the state that a step needs: options that are not numbers, and which numbers are 0."""
        held = super().__getitem__  # no HostScalar is among them
        return (*self._zero.items(), *(held(n) for n in names if n not in self._numbers))

    def _check(self, name: str, value: Any) -> None:
        rules = RULES.get(name)
        if rules is None:
            return
        values: Sequence[Any] = value if is_tuple(value) else (value,)
        each = [(name, rules)] * len(values) if callable(rules) else rules
        for (title, rule), v in zip(each, values, strict=False):
            if v is not None and (fault := rule(v)):  # None leaves the option to the optimiser
                raise ValueError(f"{self._optimizer}({title}={v}): {fault}: pass another value")


def _plain(value: Any) -> Any:
    """A number as it is, a tensor as a float; None and strings as they are."""
    return value if value is None or isinstance(value, str | int | float) else float(value)


def _host_scalars(held: Any, value: Any) -> Any:
    """HostScalars with these values: the present ones, or new ones if there are none."""
    if is_tuple(value):
        before = held if is_tuple(held) and len(held) == len(value) else (None,) * len(value)
        parts = tuple(map(_host_scalars, before, value))
        return held if parts == before else parts
    if not isinstance(value, int | float):
        return value
    if not isinstance(held, HostScalar):
        return HostScalar(value)
    # The type is compared as well: 1 and 1.0 are equal, but a group shows the value that was set.
    if type(value) is not type(held.held) or value != held.held:
        held.value = value
    return held


def _numbers(held: Any) -> Any:
    if is_tuple(held):
        return tuple(map(_numbers, held))
    return held.value if isinstance(held, HostScalar) else held
