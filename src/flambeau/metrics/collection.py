"""MetricCollection, several metrics of one batch: those with the same states have them once."""

from collections.abc import Iterable, Iterator
from typing import Any, Self

from ..errors import suggest
from ..functions import read
from .metric import Metric, asked_of, given_of, read_all, update_all
from .states import State, tensors_in


class MetricCollection:
    """Metrics that are updated together, by name; `compute` gives a dict, with one read for all.

    metrics: a list, whose classes are the names, or a dict; additional_metrics follow. prefix, postfix: what
    names begin and end with. Metrics whose `shared_key` is equal (precision, recall and F1 of the same
    classes) have one state, which one of them updates. ValueError for two metrics of one name; TypeError for
    what is no metric.
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
        """Have metrics of equal keys use the states of one: of the one that counts most."""
        groups: dict[Any, list[str]] = {}
        for name, metric in self._metrics.items():
            key = metric.shared_key()
            groups.setdefault(name if key is None else key, []).append(name)
        self.compute_groups: list[list[str]] = []
        for names in groups.values():
            size = {n: sum(t.numel() for t in tensors_in(self._metrics[n].states)) for n in names}
            leader = max(names, key=lambda n: size[n])  # the first of equals
            self.compute_groups.append([leader, *(n for n in names if n != leader)])
            for name in names:
                self._metrics[name].share(self._metrics[leader])

    @property
    def _leaders(self) -> dict[str, Metric]:
        return {names[0]: self._metrics[names[0]] for names in self.compute_groups}

    # --- as of one metric ---

    name = "metrics"  # what a Learner calls it among others

    def update(self, *args: Any, **kw: Any) -> None:
        """Count a batch in, into each state once."""
        update_all(list(self._leaders.values()), args, kw)

    def value(self) -> dict[str, Any]:
        """The values as tensors that nobody has read."""
        return {self._shown_name(name): metric.value() for name, metric in self._metrics.items()}

    def compute(self) -> dict[str, Any]:
        """All values by name, as Python's numbers; reads once."""
        values = read_all(list(self._metrics.values()))
        return {self._shown_name(name): value for name, value in zip(self._metrics, values, strict=True)}

    async def read(self) -> dict[str, Any]:
        """`await collection.read()` is compute() where nothing can wait, as in a browser's page."""
        metrics = list(self._metrics.values())
        asked = [asked_of(m) for m in metrics]
        tensors = tensors_in(asked)
        values = given_of(metrics, asked, await read(*tensors) if tensors else [])
        return {self._shown_name(name): value for name, value in zip(self._metrics, values, strict=True)}

    def __call__(self, *args: Any, **kw: Any) -> dict[str, Any]:
        """Count a batch in, and return the values of this batch alone as tensors that nobody has read."""
        alone = self.clone()
        alone.reset()
        alone.update(*args, **kw)
        self.merge_state(alone)
        return alone.value()

    forward = __call__

    def reset(self) -> None:
        """Reset all metrics."""
        for metric in self._leaders.values():
            metric.reset()

    def merge_state(self, incoming_state: "MetricCollection") -> None:
        """Count in what a collection of the same metrics has counted; errors as Metric.merge_state's."""
        for name, metric in self._leaders.items():
            metric.merge_state(incoming_state[name])

    def state_dict(self) -> dict[str, State]:
        """The states as they are now, by names as "accuracy.counts"."""
        return {f"{n}.{k}": s for n, m in self._leaders.items() for k, s in m.state_dict().items()}

    def load_state_dict(self, state_dict: dict[str, State]) -> None:
        """Continue where state_dict was taken; ValueError as Metric.load_state_dict's."""
        parts: dict[str, dict[str, State]] = {name: {} for name in self._leaders}
        for key, state in state_dict.items():
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
        """A collection of the same metrics and with the same states, apart from this one. prefix, postfix:
        other ones."""
        metrics = {name: metric.clone() for name, metric in self._metrics.items()}
        first = self.prefix if prefix is None else prefix
        last = self.postfix if postfix is None else postfix
        return type(self)(metrics, prefix=first, postfix=last)

    def __deepcopy__(self, memo: Any) -> Self:
        return self.clone()

    def to(self, device: Any) -> Self:
        """Move the states to a device; returns self."""
        for metric in self._metrics.values():
            metric.to(device)
        self._share()
        return self

    # --- as a dict ---

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
        """The names."""
        return list(self._metrics)

    def values(self) -> list[Metric]:
        """The metrics."""
        return list(self._metrics.values())

    def items(self) -> list[tuple[str, Metric]]:
        """Names and metrics."""
        return list(self._metrics.items())

    def __repr__(self) -> str:
        return f"MetricCollection({', '.join(f'{n}={m!r}' for n, m in self._metrics.items())})"
