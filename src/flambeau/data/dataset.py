"""Turns arrays, lists and functions into datasets: a length, and an item or a whole batch by index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np  # imported where it is used: the browser has none


class Indexable(Protocol):
    """All that a dataset must be: a length, and an item for each index."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...


class Dataset:
    """Items by index: a subclass writes `__len__`, `__getitem__`, and `gather` if batches can be quicker."""

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        # an inherited gather would go around an __getitem__ that the subclass has changed
        if "__getitem__" in vars(cls) and "gather" not in vars(cls):
            cls.gather = Dataset.gather

    def __len__(self) -> int:
        raise NotImplementedError(f"len({type(self).__name__}): a dataset has a length: write __len__")

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__}[{index}]: a dataset has items: write __getitem__")

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def gather(self, indices: np.ndarray) -> Any:
        """The items of `indices` [n] as one batch: each part stacked to [n, ...]."""
        return collate([self[i] for i in indices.tolist()])


class TensorDataset(Dataset):
    """Arrays (or tensors) of one length: item i is the tuple of their rows i, a batch one index of each.

    arrays: one for each part of an item. ValueError where their lengths differ.
    """

    def __init__(self, *arrays: Any):
        import numpy as np

        self.arrays = tuple(a.numpy() if hasattr(a, "numpy") else np.asarray(a) for a in arrays)
        lengths = [a.shape[0] if a.ndim else None for a in self.arrays]
        if not lengths or None in lengths or len(set(lengths)) > 1:
            shapes = ", ".join(str(list(a.shape)) for a in self.arrays)
            raise ValueError(
                f"TensorDataset({shapes}): lengths differ: pass one or more arrays of one length"
            )

    def __len__(self) -> int:
        return len(self.arrays[0])

    def __getitem__(self, index: int) -> tuple:
        position = checked(self, index)
        return tuple(a[position] for a in self.arrays)

    def gather(self, indices: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(a[indices] for a in self.arrays)


class Subset(Dataset):
    """The items of `dataset` at `indices`, in that order; IndexError for one that is not there."""

    def __init__(self, dataset: Indexable, indices: Sequence[int] | np.ndarray):
        import numpy as np

        self.dataset, self.indices = dataset, np.asarray(indices, np.int64)
        outside = self.indices[(self.indices < 0) | (self.indices >= len(dataset))]
        if len(outside):
            raise IndexError(f"Subset(index {outside[0]}): outside the dataset: pass 0 to {len(dataset) - 1}")

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[int(self.indices[checked(self, index)])]

    def gather(self, indices: np.ndarray) -> Any:
        return gather(self.dataset, self.indices[indices])


class Mapped(Dataset):
    """The items of `dataset` through `fn(*item)`; with `batched`, `fn` maps whole batches [n, ...]."""

    def __init__(self, dataset: Indexable, fn: Callable[..., Any], batched: bool = False):
        self.dataset, self.fn, self.batched = dataset, fn, batched

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        import numpy as np

        position = checked(self, index)
        if not self.batched:
            return self.apply(self.dataset[position])
        batch = self.gather(np.array([position]))
        return tuple(part[0] for part in batch) if isinstance(batch, tuple) else batch[0]

    def gather(self, indices: np.ndarray) -> Any:
        if self.batched:
            return self.apply(gather(self.dataset, indices))
        return super().gather(indices)

    def apply(self, value: Any) -> Any:
        return self.fn(*value) if isinstance(value, tuple) else self.fn(value)


def random_split(dataset: Indexable, lengths: Sequence[float], seed: int | None = None) -> list[Subset]:
    """Deal `dataset` at random into parts of `lengths`: counts, or fractions that add up to 1.

    seed: makes the draw repeatable. ValueError where lengths do not add up.
    """
    import numpy as np

    counts = split_counts(len(dataset), lengths)
    order = np.random.default_rng(seed).permutation(len(dataset))
    ends = np.cumsum(counts)
    return [Subset(dataset, order[end - count : end]) for count, end in zip(counts, ends, strict=True)]


def split_counts(total: int, lengths: Sequence[float]) -> list[int]:
    call = f"random_split({total} items, {list(lengths)})"
    if any(length < 0 for length in lengths):
        raise ValueError(f"{call}: a length is negative: pass counts or fractions of at least 0")
    if any(isinstance(length, float) for length in lengths):
        if abs(sum(lengths) - 1) > 1e-6:
            raise ValueError(f"{call}: the fractions add up to {sum(lengths):g}: make them add up to 1")
        counts = [int(total * fraction) for fraction in lengths]
        for i in range(total - sum(counts)):  # torch's rule: what rounding left goes round, one each
            counts[i % len(counts)] += 1
        return counts
    if sum(lengths) != total:
        raise ValueError(f"{call}: the lengths add up to {sum(lengths)}: make them add up to {total}")
    return [int(length) for length in lengths]


def gather(dataset: Indexable, indices: np.ndarray) -> Any:
    """The items of any dataset, a plain list too, as one batch."""
    if isinstance(dataset, Dataset):
        return dataset.gather(indices)
    return collate([dataset[i] for i in indices.tolist()])


def collate(items: list[Any]) -> Any:
    """Stack n items to arrays [n, ...]: a tuple of them for tuples, a dict of them for dicts, else one.

    ValueError where shapes differ.
    """
    import numpy as np

    first = items[0]
    if isinstance(first, tuple):
        return tuple(collate(list(part)) for part in zip(*items, strict=True))
    if isinstance(first, dict):
        return {key: collate([item[key] for item in items]) for key in first}
    try:
        return np.stack([i.numpy() if hasattr(i, "numpy") else np.asarray(i) for i in items])
    except ValueError:
        shapes = ", ".join(sorted({str(list(np.shape(i))) for i in items}))
        advice = "make them equal or pass your own collate_fn"
        raise ValueError(f"collate({len(items)} items): shapes differ: {shapes}: {advice}") from None


def checked(dataset: Indexable, index: int) -> int:
    """`index` counted from the start; IndexError where there is no such item."""
    count = len(dataset)
    if not -count <= index < count:
        raise IndexError(f"{type(dataset).__name__}[{index}]: no such item: there are {count}")
    return index + count if index < 0 else index
