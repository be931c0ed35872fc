"""Datasets from arrays, tensors, lists and functions: a length, and an item or a batch by index."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from flambeau.data.batches import default_collate
from flambeau.data.sampler import seed_of, torch_source
from flambeau.ops.random import Generator
from flambeau.tensor import Tensor, tensor

from ..core.tree import is_sequence

if TYPE_CHECKING:
    import numpy as np  # imported when it is used: the browser has no NumPy


class Indexable(Protocol):
    """The interface of a dataset: a length, and an item for each index."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...


class Dataset:
    """Items by index: a subclass defines `__len__`, `__getitem__`, and optionally `gather`, which reads a
    batch at once."""

    def __class_getitem__(cls, _: Any) -> Any:
        return cls  # Dataset[int], as PyTorch allows it

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        # an inherited gather would bypass the subclass's __getitem__
        if "__getitem__" in vars(cls) and "gather" not in vars(cls):
            cls.gather = Dataset.gather

    def __len__(self) -> int:
        raise NotImplementedError(f"len({type(self).__name__}): a dataset needs a length: define __len__")

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__}[{index}]: a dataset needs items: define __getitem__"
        )

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        """Name the kind, the number of items, and the number of classes if there are any."""
        try:
            count = f"{len(self):,} items"
        except NotImplementedError:  # a subclass without a length
            return f"{type(self).__name__}()"
        classes = getattr(self, "classes", ())
        return f"{type(self).__name__}({count}{f', {len(classes)} classes' if classes else ''})"

    def __add__(self, other: Indexable) -> ConcatDataset:
        return ConcatDataset([self, other])

    def gather(self, indices: np.ndarray) -> Any:
        """Read the items of `indices` [n] as one batch, each part stacked to [n, ...]."""
        return default_collate(items_of(self, indices))


class IterableDataset:
    """A dataset without indices or length: a subclass defines `__iter__`.

    Each of n workers iterates it and makes every n-th batch, so the batches equal those without workers.
    If the dataset calls `get_worker_info()` in `__iter__`, it yields only its own share, all of which is
    batched. A dataset with state_dict and load_state_dict resumes at its position, without workers;
    others read earlier items again and drop them.
    """

    def __class_getitem__(cls, _: Any) -> Any:
        return cls  # IterableDataset[int], as PyTorch allows it

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"iter({type(self).__name__}): a dataset needs items: define __iter__")

    def __add__(self, other: IterableDataset) -> ChainDataset:
        return ChainDataset([self, other])


def has_items(dataset: Any) -> bool:
    """Whether a dataset has items by index. An IterableDataset (of torch or Hugging Face) may inherit a
    `__getitem__` that only raises."""
    # by name: torch and datasets must not be imported for this check
    is_iterable = any(kind.__name__ == "IterableDataset" for kind in type(dataset).__mro__)
    return hasattr(dataset, "__getitem__") and not is_iterable


class ChainDataset(IterableDataset):
    """Concatenates iterable datasets. TypeError for other objects."""

    def __init__(self, datasets: Iterable[IterableDataset]):
        self.datasets = list(datasets)
        for d in self.datasets:
            if has_items(d):
                rule = "it is indexable: join such datasets with ConcatDataset"
                raise TypeError(f"ChainDataset([..., {type(d).__name__}]): {rule}")

    def __iter__(self) -> Iterator[Any]:
        return (item for dataset in self.datasets for item in dataset)

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)  # type: ignore[arg-type]


class TensorDataset(Dataset):
    """Tensors or arrays of equal length: item i is the tuple of their rows i. A batch is one indexing
    operation on each tensor.

    tensors: one for each part of an item. ValueError if their lengths differ.
    """

    def __init__(self, *tensors: Any):
        import numpy as np

        is_array = [hasattr(t, "shape") and hasattr(t, "dtype") for t in tensors]
        self.tensors = tuple(
            t if is_ready else np.asarray(t) for t, is_ready in zip(tensors, is_array, strict=True)
        )
        lengths = [a.shape[0] if a.ndim else None for a in self.tensors]
        if not lengths or None in lengths or len(set(lengths)) > 1:
            shapes = ", ".join(str(list(a.shape)) for a in self.tensors)
            raise ValueError(
                f"TensorDataset({shapes}): lengths differ: pass one or more arrays of one length"
            )

    def __len__(self) -> int:
        return self.tensors[0].shape[0]

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        position = check_index(self, index)
        return tuple(a[position] for a in self.tensors)

    def gather(self, indices: np.ndarray) -> tuple[Any, ...]:
        """Index each tensor once."""
        return tuple(t[_as_index(t, indices)] for t in self.tensors)


def _as_index(t: Any, indices: np.ndarray) -> Any:
    return tensor(indices.astype("int32"), device=t.device) if isinstance(t, Tensor) else indices


class ConcatDataset(Dataset):
    """Concatenates `datasets`. ValueError for an empty list, TypeError for datasets without indices."""

    def __init__(self, datasets: Iterable[Indexable]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset([]): the list is empty: pass at least one dataset")
        for d in self.datasets:
            if not has_items(d):
                rule = "it is not indexable: join such datasets with ChainDataset"
                raise TypeError(f"ConcatDataset([..., {type(d).__name__}]): {rule}")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        position = check_index(self, index)
        # The first dataset whose end is after the position; empty datasets are skipped.
        part = bisect_right(self.cumulative_sizes, position)
        return self.datasets[part][position - (self.cumulative_sizes[part - 1] if part else 0)]


class StackDataset(Dataset):
    """Datasets of equal length side by side: item i is the tuple of their items i, or for named ones the
    dict.

    args: datasets; kwargs: datasets by name, instead of args. ValueError if lengths differ.
    """

    def __init__(self, *args: Indexable, **kwargs: Indexable):
        if bool(args) == bool(kwargs):
            raise ValueError(
                "StackDataset(...): items are tuples or dicts: pass datasets either by position or by name"
            )
        self.datasets: tuple[Indexable, ...] | dict[str, Indexable] = args or kwargs
        lengths = {len(d) for d in self._all()}
        if len(lengths) > 1:
            sizes = ", ".join(map(str, sorted(lengths)))
            raise ValueError(f"StackDataset(lengths {sizes}): lengths differ: pass datasets of one length")

    def _all(self) -> list[Indexable]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def __len__(self) -> int:
        return len(self._all()[0])

    def __getitem__(self, index: int) -> Any:
        items = [d[check_index(self, index)] for d in self._all()]
        return dict(zip(self.datasets, items)) if isinstance(self.datasets, dict) else tuple(items)

    def gather(self, indices: np.ndarray) -> Any:
        """Read a batch of each dataset."""
        parts = [gather(d, indices) for d in self._all()]
        return dict(zip(self.datasets, parts)) if isinstance(self.datasets, dict) else tuple(parts)


class Subset(Dataset):
    """The items of `dataset` at `indices`, in that order; IndexError for an index out of range."""

    def __init__(self, dataset: Indexable, indices: Sequence[int] | np.ndarray):
        import numpy as np

        self.dataset, self.indices = dataset, np.asarray(indices, np.int64)
        outside = self.indices[(self.indices < 0) | (self.indices >= len(dataset))]
        if len(outside):
            raise IndexError(
                f"Subset(index {outside[0]}): index is out of range: pass 0 to {len(dataset) - 1}"
            )

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[int(self.indices[check_index(self, index)])]

    def gather(self, indices: np.ndarray) -> Any:
        return gather(self.dataset, self.indices[indices])


class Windows(Dataset):
    """Sliding windows of `size` consecutive items of `dataset`, stacked along a new first dim.

    Item i holds the items from i * step on. [...] -> [size, ...]. ValueError unless size and step are
    positive integers.
    """

    def __init__(self, dataset: Indexable, size: int, step: int = 1):
        sizes: dict[str, Any] = {"size": size, "step": step}
        for name, n in sizes.items():
            if not isinstance(n, int) or n < 1:
                raise ValueError(f"Windows({name}={n!r}): must be a positive integer: pass another value")
        self.dataset, self.size, self.step = dataset, size, step

    def __len__(self) -> int:
        # a shorter dataset has no window
        return max(0, (len(self.dataset) - self.size) // self.step + 1)

    def __getitem__(self, index: int) -> Any:
        import numpy as np

        first = check_index(self, index) * self.step
        return gather(self.dataset, np.arange(first, first + self.size))


class Mapped(Dataset):
    """Applies `fn(*item)` to the items of `dataset`; with `batched`, `fn` maps batches [n, ...]."""

    def __init__(self, dataset: Indexable, fn: Callable[..., Any], batched: bool = False):
        self.dataset, self.fn, self.batched = dataset, fn, batched

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        import numpy as np

        position = check_index(self, index)
        # A batched fn sees a batch of one, so both ways of reading give equal items.
        if not self.batched:
            return self.apply(self.dataset[position])
        batch = self.gather(np.array([position]))
        return tuple(part[0] for part in batch) if is_sequence(batch) else batch[0]

    def gather(self, indices: np.ndarray) -> Any:
        if self.batched:
            return self.apply(gather(self.dataset, indices))
        return super().gather(indices)

    def apply(self, value: Any) -> Any:
        return timed("function", self.fn, *(value if isinstance(value, tuple) else (value,)))


def random_split(
    dataset: Indexable, lengths: Sequence[float], generator: Generator | int | None = None
) -> list[Subset]:
    """Split `dataset` at random into parts of `lengths`: counts, or fractions that add up to 1.

    generator: a Generator, or a seed, which makes the draw repeatable. ValueError if lengths do not add
    up.
    """
    import numpy as np

    counts = split_counts(len(dataset), lengths)
    if (source := torch_source(generator)) is not None:
        order = source.permutation(len(dataset))
    else:  # NumPy's generator: the same split on every device, and without opening one
        order = np.random.default_rng(seed_of(generator)).permutation(len(dataset))
    ends = np.cumsum(counts)
    return [Subset(dataset, order[end - count : end]) for count, end in zip(counts, ends, strict=True)]


def split_counts(total: int, lengths: Sequence[float]) -> list[int]:
    call = f"random_split({total} items, {list(lengths)})"
    if not all(length >= 0 for length in lengths):
        raise ValueError(f"{call}: a length is negative: pass counts or fractions")
    if any(isinstance(length, float) for length in lengths):
        if abs(sum(lengths) - 1) > 1e-6:
            raise ValueError(f"{call}: the fractions add up to {sum(lengths):g}: make them add up to 1")
        # Round down, as PyTorch does: its random_split gives the same counts.
        counts = [int(total * fraction) for fraction in lengths]
        for i in range(total - sum(counts)):  # torch's rule: the remainder is dealt out one by one
            counts[i % len(counts)] += 1
        return counts
    if sum(lengths) != total:
        raise ValueError(f"{call}: the lengths add up to {sum(lengths)}: make them add up to {total}")
    return [int(length) for length in lengths]


def gather(dataset: Indexable, indices: np.ndarray) -> Any:
    """Read items of any dataset, also of a plain list, as one batch."""
    if isinstance(dataset, Dataset):
        return dataset.gather(indices)
    return default_collate(items_of(dataset, indices))


def items_of(dataset: Any, indices: np.ndarray) -> list[Any]:
    """Read items into a list: at once if the dataset has `__getitems__`, as Hugging Face's do. An
    exception says which item it came from."""
    numbers = indices.tolist()
    # One read for the batch: Arrow tables need it, as reading row by row is slow.
    if hasattr(dataset, "__getitems__"):
        return dataset.__getitems__(numbers)
    items: list[Any] = []
    for i in numbers:
        try:
            items.append(dataset[i])
        except Exception as error:
            error.add_note(f"{type(dataset).__name__}: raised by item {i}")
            raise
    return items


def check_index(dataset: Indexable, index: int) -> int:
    """Return a nonnegative index; IndexError if it is out of range, TypeError if it is not an integer."""
    count = len(dataset)
    if not hasattr(index, "__index__"):
        rule = f"an item has an integer index: pass 0 to {count - 1}, or Subset(dataset, [...]) for several"
        raise TypeError(f"{type(dataset).__name__}[{index!r}]: {rule}")
    if not -count <= index < count:
        raise IndexError(f"{type(dataset).__name__}[{index}]: index is out of range: the length is {count}")
    return index + count if index < 0 else index


def apply_if_any(change: Callable[[Any], Any] | None, value: Any) -> Any:
    """Apply a transform, if any, to a part of an item."""
    return value if change is None else timed("transform", change, value)


# Seconds spent in functions of the user, in all threads, by what they are and their name: "transform Resize".
SPENT: dict[str, float] = {}


def timed(kind: str, function: Callable[..., Any], *values: Any) -> Any:
    """Call a function and add its seconds to `SPENT`, so that a run can name what it waits for."""
    begin = perf_counter()
    try:
        return function(*values)
    finally:
        name = f"{kind} {getattr(function, '__name__', type(function).__name__)}"
        SPENT[name] = SPENT.get(name, 0.0) + perf_counter() - begin
