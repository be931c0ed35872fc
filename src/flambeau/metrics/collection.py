"""MetricCollection: updates several metrics with one batch. Metrics with equal states share them."""

from collections.abc import Iterable, Iterator
from typing import Any, Self

from ..device import DeviceLike
from ..errors import suggest
from ..functions import read
from .metric import Metric, read_all, unread_values, update_all, values_of
from .states import State, tensors_in


class MetricCollection:
    """Metrics that are updated together, by name; `compute` gives a dict, with one read for all.

    metrics: a list, named by classes, or a dict; additional_metrics follow. prefix, postfix: added to names.
    Metrics whose `shared_key` is equal (precision, recall and F1 of the same classes) have one state, which
    one of them updates. ValueError for two metrics with the same name; TypeError for an object that is not a
    metric.
    """

    def __init__(
        self,
        metrics: Metric | Iterable[Metric] | dict[str, Metric],
        *additional_metrics: Metric,
        prefix: str = "",
        postfix: str = "",
    ):
        members: Any = [metrics] if isinstance(metrics, Metric) else metrics
        pairs: list[tuple[str | None, Metric]] = [(None, m) for m in additional_metrics]
        if isinstance(members, dict):
            pairs = [*members.items(), *pairs]
        else:
            pairs = [*((None, m) for m in members), *pairs]
        self.prefix, self.postfix = prefix or "", postfix or ""
        self._metrics: dict[str, Metric] = {}
        for name, metric in pairs:
            self._add(name, metric)
        self._share()

    def _add(self, name: str | None, metric: Any) -> None:
        if not isinstance(metric, Metric):
            raise TypeError(
                f"MetricCollection({metric!r}): it takes metrics: pass a Metric, e.g. MeanMetric()"
            )
        name = metric.name if name is None else name
        if name in self._metrics:
            raise ValueError(
                f"MetricCollection(...): two metrics are called {name!r}: pass a dict with names"
            )
        self._metrics[name] = metric

    def _share(self) -> None:
        """Make metrics with equal keys use the state of one of them, the largest."""
        groups: dict[Any, list[str]] = {}
        for name, metric in self._metrics.items():
            key = metric.shared_key()
            groups.setdefault(name if key is None else key, []).append(name)
        self.compute_groups: list[list[str]] = []
        for names in groups.values():
            # Micro counts follow from the counts of each class, not the reverse: the largest state leads.
            size = {n: sum(t.numel() for t in tensors_in(self._metrics[n].states)) for n in names}
            leader = max(names, key=lambda n: size[n])  # of equal ones the first
            self.compute_groups.append([leader, *(n for n in names if n != leader)])
            for name in names:
                self._metrics[name].share(self._metrics[leader])

    @property
    def _leaders(self) -> dict[str, Metric]:
        return {names[0]: self._metrics[names[0]] for names in self.compute_groups}

    # --- the interface of a metric ---

    name = "metrics"  # its name in a Learner's list of metrics

    def update(self, *args: Any, **kw: Any) -> None:
        """Count a batch, once into each shared state."""
        update_all(list(self._leaders.values()), args, kw)

    def value(self) -> dict[str, Any]:
        """Return the values as tensors, without reading them."""
        return {self._shown_name(name): metric.value() for name, metric in self._metrics.items()}

    def compute(self) -> dict[str, Any]:
        """Return all values by name as Python numbers, with one read of the device."""
        values = read_all(list(self._metrics.values()))
        return {self._shown_name(name): value for name, value in zip(self._metrics, values, strict=True)}

    async def read(self) -> dict[str, Any]:
        """`await collection.read()` is compute() where nothing can wait, as in a browser's page."""
        metrics = list(self._metrics.values())
        unread = [unread_values(m) for m in metrics]
        tensors = tensors_in(unread)
        values = values_of(metrics, unread, await read(*tensors) if tensors else [])
        return {self._shown_name(name): value for name, value in zip(self._metrics, values, strict=True)}

    def __call__(self, *args: Any, **kw: Any) -> dict[str, Any]:
        """Count a batch, and return the values of only this batch as tensors, without reading them."""
        batch_metrics = self.clone()
        batch_metrics.reset()
        batch_metrics.update(*args, **kw)
        # One update serves both: the values of this batch, and the counts so far.
        self.merge_state(batch_metrics)
        return batch_metrics.value()

    forward = __call__

    def reset(self) -> None:
        """Reset all metrics."""
        for metric in self._leaders.values():
            metric.reset()

    def merge_state(self, incoming_state: "MetricCollection") -> None:
        """Add the counts of another collection of the same metrics; errors as in Metric.merge_state."""
        for name, metric in self._leaders.items():
            metric.merge_state(incoming_state[name])

    def state_dict(self) -> dict[str, State]:
        """Return the current states by names such as "accuracy.counts"."""
        return {f"{n}.{k}": s for n, m in self._leaders.items() for k, s in m.state_dict().items()}

    def load_state_dict(self, state_dict: dict[str, State]) -> None:
        """Restore the states; ValueError as Metric.load_state_dict's."""
        parts: dict[str, dict[str, State]] = {name: {} for name in self._leaders}
        for key, state in state_dict.items():
            # a metric's name may contain dots, a state's may not
            name, _, last = key.rpartition(".")
            if name not in parts:
                near = suggest(key, [f"{n}.{k}" for n, m in self._leaders.items() for k in m.states])
                cure = "pass the state of a collection of the same metrics"
                raise ValueError(
                    f"MetricCollection.load_state_dict(...): {key!r} belongs to none of these"
                    f" metrics{near}: {cure}"
                )
            parts[name][last] = state
        for name, metric in self._leaders.items():
            metric.load_state_dict(parts[name])

    def clone(self, prefix: str | None = None, postfix: str | None = None) -> Self:
        """Return a separate collection with copies of the metrics and states. prefix, postfix: replace
        its own."""
        metrics = {name: metric.clone() for name, metric in self._metrics.items()}
        first = self.prefix if prefix is None else prefix
        last = self.postfix if postfix is None else postfix
        return type(self)(metrics, prefix=first, postfix=last)

    def __deepcopy__(self, memo: Any) -> Self:
        return self.clone()

    def to(self, device: DeviceLike | None) -> Self:
        """Move the states to a device; returns self."""
        for metric in self._metrics.values():
            metric.to(device)
        self._share()
        return self

    # --- the interface of a dict ---

    def _shown_name(self, name: str) -> str:
        return f"{self.prefix}{name}{self.postfix}"

    def __getitem__(self, name: str) -> Metric:
        if name not in self._metrics:
            raise KeyError(
                f"MetricCollection[{name!r}]: no metric has this name{suggest(name, list(self._metrics))}"
            )
        return self._metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def keys(self) -> list[str]:
        """Return the names."""
        return list(self._metrics)

    def values(self) -> list[Metric]:
        """Return the metrics."""
        return list(self._metrics.values())

    def items(self) -> list[tuple[str, Metric]]:
        """Names and metrics."""
        return list(self._metrics.items())

    def __repr__(self) -> str:
        return f"MetricCollection({', '.join(f'{n}={m!r}' for n, m in self._metrics.items())})"
