"""Metric, a value that many batches make together: updates run on the device, and `compute` reads once."""

from collections.abc import Callable, Sequence
from copy import copy
from functools import wraps
from typing import Any, ClassVar, Self

from ..core.autocast import without_autocast
from ..core.modes import no_grad
from ..core.node import describe
from ..core.tree import is_list
from ..device import DeviceLike, get_device
from ..errors import suggest
from ..functions import read
from ..runtime.run import realize
from ..runtime.state import thread, with_next_run
from ..tensor import Tensor
from .states import MERGES, State, copy_state, fill_containers, pending_parts, tensors_in

BATCHES = "outputs and targets"


def _wrap_update(update: Callable[..., None]) -> Callable[..., None]:
    """Wrap a subclass's update, so that it runs through `update_all`."""

    @wraps(update)
    def run_update(self: "Metric", *args: Any, **kw: Any) -> None:
        if type(self).update is run_update:
            update_all([self], args, kw)
        else:  # super().update(...) inside a subclass's update, which is wrapped itself
            update(self, *args, **kw)

    run_update.alone = update  # type: ignore[attr-defined]
    return run_update


def update_all(metrics: "list[Metric]", args: Any, kw: Any) -> None:
    """Count a batch into several metrics. Earlier counts are computed now at the latest, so that a graph
    never spans more than two updates. This batch is computed in the thread's next run, such as an
    optimiser's step, which computes the model's output anyway."""
    for x in (*args, *kw.values()):
        if hasattr(x, "__array__") and not isinstance(x, Tensor) and getattr(x, "ndim", 0):
            rule = f"takes tensors, not a {type(x).__module__}.{type(x).__name__}: wrap it in fb.tensor(...)"
            raise TypeError(f"{metrics[0].name}.update({describe(x)}): {rule}")
    records = thread.recorder is not None
    if not records and (before := [t for m in metrics for s in m.states.values() for t in pending_parts(s)]):
        realize(*before)
    with no_grad(), without_autocast():
        for metric in metrics:
            type(metric).update.alone(metric, *args, **kw)  # type: ignore[attr-defined]
    for t in [] if records else [t for m in metrics for s in m.states.values() for t in pending_parts(s)]:
        with_next_run(t)


def _read(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a subclass's compute, so that it returns Python numbers for tensors, with one read."""

    @wraps(compute)
    def values(self: "Metric") -> Any:
        return read_all([self])[0] if type(self).compute is values else compute(self)

    return values


def read_all(metrics: list["Metric"]) -> list[Any]:
    """Return the values of several metrics with one wait. Raises the error of a metric with invalid input."""
    unread = [unread_values(m) for m in metrics]
    tensors = tensors_in(unread)
    return values_of(metrics, unread, read(*tensors) if tensors else [])


def unread_values(metric: "Metric") -> tuple[Any, Any]:
    """Return the tensors to read from a metric: its value, and the counts of invalid input."""
    with no_grad(), without_autocast():
        return metric.value(), metric.wrong()


def values_of(metrics: list["Metric"], unread: list[Any], numbers: Any) -> list[Any]:
    """Return the metrics' values from the numbers that were read, after checking the counts of invalid
    input."""
    # (value, counts of invalid input) of each metric, with numbers in place of tensors
    pairs = fill_containers(unread, iter(numbers))
    for metric, (_, wrong) in zip(metrics, pairs, strict=True):
        metric.check(wrong)
    return [value for value, _ in pairs]


class Metric:
    """A value accumulated over batches: call `update(...)` with each, `compute()` at the end, `reset()`
    to restart.

    Define `__init__` with `add_state`, `update`, and `compute`, which may return tensors: its caller gets
    Python numbers. `update` reads no values, so a step that `fb.jit` records may call it. States are
    attributes; assigning to one writes into its tensor. device: the device of the states, None for the
    default.
    """

    higher_is_better: ClassVar[bool | None] = None
    takes: ClassVar[str] = BATCHES  # the arguments of update, in words
    states: dict[str, State]

    def __init__(self, device: DeviceLike | None = None):
        vars(self).update(states={}, device=get_device(device), _defaults={}, _reductions={})

    def __init_subclass__(cls, **kw: Any) -> None:
        super().__init_subclass__(**kw)
        own = vars(cls)
        if "update" in own:
            cls.update = _wrap_update(own["update"])
        if "compute" in own:
            cls.value = own["compute"]
            cls.compute = _read(own["compute"])

    def __getattr__(self, name: str) -> Any:
        states = vars(self).get("states", {})
        if name in states:
            return states[name]
        raise AttributeError(f"{type(self).__name__}.{name}: no such attribute or state")

    def __setattr__(self, name: str, value: Any) -> None:
        states = vars(self).get("states", {})
        if name not in states:
            object.__setattr__(self, name, value)
        # assign_ keeps the tensor object, which recordings and shared metrics hold
        elif isinstance(states[name], Tensor) and states[name] is not value:
            states[name].assign_(value)
        else:
            states[name] = value

    @property
    def name(self) -> str:
        """The name in errors and collections: that of the class."""
        return type(self).__name__

    # --- states ---

    def add_state(
        self, name: str, default: State, dist_reduce_fx: str | Callable[..., Any] | None = None
    ) -> None:
        """Keep a tensor, a Python number or a list of tensors (which begins empty) between updates.

        dist_reduce_fx: how two states are merged: "sum", "max", "min", "cat" (for lists), or a function
        of both;
        None means "cat" for lists. ValueError for another value, or for a list that is not empty.
        """
        call = f"add_state({name!r}, {describe(default)}, {dist_reduce_fx!r})"
        if isinstance(default, list) and default:
            raise ValueError(f"{call}: a list state must start empty: pass []")
        how = "cat" if dist_reduce_fx is None and isinstance(default, list) else dist_reduce_fx
        if how is not None and how not in MERGES and not callable(how):
            raise ValueError(
                f'{call}: states are joined by "sum", "max", "min", "cat" or a function: pass one of these'
            )
        self._defaults[name] = copy_state(default.to(self.device) if isinstance(default, Tensor) else default)
        self._reductions[name] = MERGES.get(how, how) if isinstance(how, str) else how
        self.states[name] = self._new_state(name)

    def _new_state(self, name: str) -> State:
        state = copy_state(self._defaults[name])
        if isinstance(state, Tensor):
            with_next_run(state)
        return state

    def reset(self) -> None:
        """Reset the states to their defaults."""
        for name, default in self._defaults.items():
            if isinstance(default, Tensor):
                self.states[name].assign_(default)
            else:
                self.states[name] = copy_state(default)

    # --- what a subclass defines ---

    def update(self, *args: Any, **kw: Any) -> None:
        """Count a batch."""
        raise NotImplementedError(
            f"{self.name}.update(...): is not implemented: define update(self, preds, target)"
        )

    def compute(self) -> Any:
        """Return the value of all batches so far as Python numbers, with one read of the device."""
        raise NotImplementedError(f"{self.name}.compute(): is not implemented: define compute(self)")

    value = compute  # the value as unread tensors; __init_subclass__ sets it to the subclass's compute

    def wrong(self) -> Any:
        """Tensors that are read with the value, for `check`."""
        return ()

    def check(self, counts: Sequence[int]) -> None:
        """Raise an error if the counts of invalid input are not 0."""

    def shared_key(self) -> Any:
        """Return a key. Metrics with equal keys have equal states, and a MetricCollection updates only one of
        them. None: the metric shares nothing."""
        return None

    def share(self, other: "Metric") -> None:
        """Use the states of a metric with an equal key. Only that one is updated from then on."""
        if other is not self:
            vars(self).update(states=other.states, _defaults=other._defaults, _reductions=other._reductions)

    # --- using it ---

    def __call__(self, *args: Any, **kw: Any) -> Any:
        """Count a batch, and return the value of only this batch as tensors, without reading them."""
        batch_metric = self.clone()
        batch_metric.reset()
        batch_metric.update(*args, **kw)
        self.merge_state(batch_metric)
        return batch_metric.value()

    forward = __call__

    async def read(self) -> Any:
        """`await metric.read()` is compute() where nothing can wait, as in a browser's page."""
        unread = [unread_values(self)]
        return values_of([self], unread, await read(*tensors_in(unread)) if tensors_in(unread) else [])[0]

    def merge_state(self, incoming_state: "Metric | dict[str, State]") -> None:
        """Merge the counts of another metric with the same arguments, or of its state_dict.

        TypeError for a state that can't be joined; ValueError if names or shapes differ.
        """
        incoming = incoming_state.states if isinstance(incoming_state, Metric) else incoming_state
        self._check_states("merge_state", incoming)
        self.join(incoming)
        if tensors := tensors_in(self.states):
            realize(*tensors)

    def join(self, theirs: dict[str, State]) -> None:
        """Merge another metric's states into this one, each by its dist_reduce_fx."""
        for name, how in self._reductions.items():
            if how is None:
                rule = "add_state has no rule for joining two states: pass dist_reduce_fx to it"
                raise TypeError(f"{self.name}.merge_state(...): {name}: {rule}")
            own_state, other = self.states[name], theirs[name]
            if isinstance(own_state, Tensor):
                # in place, so that a metric that shares this state sees the sum
                own_state.assign_(how(own_state, other.to(self.device)))
            else:
                self.states[name] = how(own_state, other)

    def clone(self) -> Self:
        """Return a separate metric with the same arguments and copies of the states."""
        other = copy(self)
        vars(other)["states"] = {name: copy_state(s) for name, s in self.states.items()}
        return other

    def __deepcopy__(self, memo: Any) -> Self:
        return self.clone()  # a copy keeps the device

    def to(self, device: DeviceLike | None) -> Self:
        """Move the states to a device; returns self."""
        self.device = get_device(device)
        for states in (self.states, self._defaults):
            for name, s in states.items():
                if isinstance(s, Tensor):
                    states[name] = s.to(self.device)
                elif is_list(s):
                    states[name] = [t.to(self.device) for t in s]
        return self

    def state_dict(self) -> dict[str, State]:
        """Return the current states by name: tensors, lists of tensors, numbers."""
        return {name: copy_state(s) for name, s in self.states.items()}

    def load_state_dict(self, state_dict: dict[str, State]) -> None:
        """Restore the states. ValueError lists missing, unexpected and misshapen ones; then nothing is
        loaded."""
        self._check_states("load_state_dict", state_dict)
        for name in self._defaults:
            own_state, loaded = self.states[name], state_dict[name]
            if isinstance(own_state, Tensor):
                own_state.assign_(loaded.to(self.device))
            else:
                self.states[name] = (
                    [t.to(self.device) for t in loaded] if isinstance(own_state, list) else loaded
                )
        if tensors := tensors_in(self.states):
            realize(*tensors)

    def _check_states(self, call: str, states: dict[str, State]) -> None:
        problems = [f"{n!r} is missing" for n in self._defaults if n not in states]
        problems += [
            f"{n!r} is unexpected{suggest(n, list(self._defaults))}"
            for n in states
            if n not in self._defaults
        ]
        for name in [n for n in self._defaults if n in states]:
            a, b = self._defaults[name], states[name]
            is_tensor = isinstance(a, Tensor), isinstance(b, Tensor)
            if any(is_tensor) and (not all(is_tensor) or a.shape != b.shape):
                problems.append(f"{name!r} is {describe(a)}, got {describe(b)}")
        if problems:
            cure = "use the state of a metric with the same arguments"
            raise ValueError(f"{self.name}.{call}({len(states)} states): {'; '.join(problems)}: {cure}")

    def __repr__(self) -> str:
        return f"{self.name}()"
