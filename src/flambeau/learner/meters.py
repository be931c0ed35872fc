"""Computes the loss and the metrics of a split. Counts stay on the device and are read once an epoch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy, deepcopy
from typing import Any, NamedTuple

from ..core.dtype import float32
from ..core.tree import is_dict, is_mapping
from ..device import Device
from ..functions import read
from ..tensor import Tensor, tensor
from .names import METRICS, describe_name

TASKS = re.compile("^(Binary|Multiclass|Multilabel)(?=[A-Z])")  # the task in a class's name
WORDS = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # where two words of it meet
BATCHES = "outputs and targets"  # a metric's `takes`, if it declares nothing else


class RecordedMeter(NamedTuple):
    """The counts of a recorded step. Its objects are never replaced: that would record the step again."""

    total: Tensor  # of losses times items
    metrics: list[Any]
    needs_output: bool  # whether other metrics need the output


class SplitMeter:
    """The loss and the metrics of one split; the metrics are copies of the user's.

    metrics: one, a list of them, or a dict by name; a collection names its own values. device: of the counts.
    optimizer: passed to metrics with a method `follow`. TypeError for an object that is not a metric, and for
    a metric whose update takes other arguments than (output, target).
    """

    def __init__(self, metrics: Any, device: Device, optimizer: Any = None):
        self.metrics: dict[str, Any] = {}
        self.is_collection = _is_collection(metrics)
        for name, metric in _name_metrics(metrics):
            copy = self.metrics[_make_unique(name, self.metrics)] = _copy_metric(metric, device)
            for part in _parts(copy):
                if hasattr(part, "follow"):
                    part.follow(optimizer)
        self.total = Tensor.zeros((), dtype=float32, device=device)  # of losses times items
        self.items = 0
        self.unrecorded = [m for m in self.metrics.values() if not _is_fixed(m)]
        fixed = [m for m in self.metrics.values() if _is_fixed(m)]
        self.recorded = RecordedMeter(self.total, fixed, bool(self.unrecorded))

    def reset(self) -> None:
        """Set all counts to zero, for the next epoch."""
        self.total.assign_(Tensor.zeros((), dtype=float32, device=self.total.device))
        self.items = 0
        for metric in self.metrics.values():
            metric.reset()

    def forget_counts(self) -> None:
        """Set the counts of the metrics to zero, which another worker has."""
        for metric in self.metrics.values():
            metric.reset()

    def read_total(self) -> float:
        """Return the sum of losses times items."""
        return float(read(self.total)[0])

    def merged(self, states: Sequence[Mapping[str, Any]]) -> SplitMeter:
        """Return the counts of several workers together, from the states of their metrics."""
        other = copy(self)
        other.metrics = {name: _copy_metric(m, self.total.device) for name, m in self.metrics.items()}
        for name, metric in other.metrics.items():
            metric.reset()
            for state in states:
                copied = _copy_metric(metric, self.total.device)
                copied.load_state_dict(state[name])
                metric.merge_state(copied)
        return other

    def with_total(self, total: float, items: int) -> SplitMeter:
        """Return these metrics with another sum of losses times items."""
        other = copy(self)
        other.total, other.items = tensor(total, float32, device=self.total.device), items
        return other

    def compute(self) -> dict[str, float]:
        """Return the mean loss per item and all metrics by name; a metric with several values has an entry
        "name_part" for each."""
        values = {"loss": read(self.total)[0] / self.items} if self.items else {}
        for name, metric in self.metrics.items():
            value = metric.compute()
            parts = value.items() if is_mapping(value) else [("", value)]
            prefix = "" if self.is_collection else f"{name}_"
            values |= {f"{prefix}{part}" if part else name: number for part, number in parts}
        return values

    @property
    def names(self) -> list[str]:
        """Return the names of `compute`; for a metric with several values, its own name."""
        return ["loss", *self._by_name()]

    def has_parts(self, name: str) -> bool:
        """Whether a name may be one of several values of a metric."""
        return any(name.startswith(f"{n}_") for n in self._by_name())

    def _by_name(self) -> dict[str, Any]:
        if not self.is_collection:
            return self.metrics
        # A collection is then the only metric: `_name_metrics` put it in a list.
        (c,) = self.metrics.values()
        return {f"{c.prefix}{name}{c.postfix}": metric for name, metric in c.items()}

    def higher_is_better(self, name: str) -> bool | None:
        """Whether a higher value of `compute` is better; None if its metric does not declare it."""
        if name == "loss":
            return False
        metrics = self._by_name()
        metric = metrics.get(name) or next((m for n, m in metrics.items() if name.startswith(f"{n}_")), None)
        return getattr(metric, "higher_is_better", None)

    def state_dict(self) -> dict[str, Any]:
        """Return the counts of the epoch so far."""
        states = {name: metric.state_dict() for name, metric in self.metrics.items()}
        return {"total": self.total, "items": self.items, "metrics": states}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restore the counts. ValueError if they belong to other metrics."""
        saved, own = (", ".join(d) or "none" for d in (state_dict["metrics"], self.metrics))
        if saved != own:
            raise ValueError(f"metrics: the learner has {own}, got {saved}: use the same")
        self.total.assign_(state_dict["total"].to(self.total.device))
        self.items = state_dict["items"]
        for name, metric in self.metrics.items():
            metric.load_state_dict(state_dict["metrics"][name])


def count(into: RecordedMeter, loss: Tensor, output: Any, target: Any, items: int) -> None:
    """Count a batch into the loss, and into the metrics that can be recorded."""
    # The loss is the mean of a batch: times its items, so that a smaller last batch has its true weight.
    into.total.assign_(into.total + loss.detach().float() * items)
    update(into.metrics, output, target)


def count_unrecorded(meter: SplitMeter, output: Any, target: Any, items: int) -> None:
    """Count a batch into the metrics that can't be recorded."""
    meter.items += items
    update(meter.unrecorded, output, target)


def update(metrics: Iterable[Any], output: Any, target: Any) -> None:
    """Update metrics with a batch, each with the arguments it takes."""
    for metric in metrics:
        adapt = getattr(metric, "adapt", None)
        # `adapt` converts the model's output to the arguments of `update`.
        metric.update(*((output, target) if adapt is None else adapt(output, target)))


def _is_collection(metric: Any) -> bool:
    return hasattr(metric, "update") and hasattr(metric, "items") and not isinstance(metric, dict)


def _parts(metric: Any) -> list[Any]:
    return metric.values() if _is_collection(metric) else [metric]


def _name_metrics(metrics: Any) -> list[tuple[str, Any]]:
    """Return (name, metric) pairs; TypeError for other objects."""
    many: Any = [metrics] if isinstance(metrics, str) or _is_metric(metrics) else metrics
    pairs: list[tuple[str, Any]]
    pairs = [*many.items()] if is_mapping(many) else [(_name_of(m), m) for m in many]
    for name, metric in pairs:
        if isinstance(metric, str):
            raise TypeError(f"Learner(metrics={metrics!r}): {describe_name('metric', metric, METRICS)}")
        if not hasattr(metric, "update") or not name:
            rule = "a metric needs name, update, compute and reset: pass one of flambeau.metrics or your own"
            raise TypeError(f"Learner(metrics={metric!r}): {rule}")
        for part in _parts(metric):
            if (takes := getattr(part, "takes", BATCHES)) != BATCHES and not hasattr(part, "adapt"):
                cure = "leave it out, or convert in adapt(output, target) of a subclass"
                raise TypeError(f"Learner(metrics={metric!r}): it takes {takes}: {cure}")
    return pairs


def _is_metric(metrics: Any) -> bool:
    return hasattr(metrics, "update") and not is_dict(metrics)


def _name_of(metric: Any) -> str:
    """The name in the history: the metric's own, or its class's without the task, as in accuracy."""
    name = getattr(metric, "name", "")
    return name if name != type(metric).__name__ else WORDS.sub("_", TASKS.sub("", name)).lower()


def _make_unique(name: str, taken: Mapping[str, Any]) -> str:
    """Make a name unique among the metrics and the loss."""
    unique, number = name, 2
    while unique in taken or unique == "loss":
        unique, number = f"{name}{number}", number + 1
    return unique


def _copy_metric(metric: Any, device: Any) -> Any:
    copy = metric.clone() if hasattr(metric, "clone") else deepcopy(metric)
    return copy.to(device) if hasattr(copy, "to") else copy


def _is_fixed(metric: Any) -> bool:
    """Whether its state is only tensors. A list that grows can't be recorded."""
    return all(isinstance(s, Tensor) for s in metric.state_dict().values())
