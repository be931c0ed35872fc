"""torch.utils.data's datasets: lengths are optional, and subsets store their indices."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from ..core.tree import is_dict, is_list
from ..data.dataset import split_counts
from ..functions import randperm
from ..tensor import Tensor
from .switch import with_torch_name

T_co = TypeVar("T_co", covariant=True)


def _name_of(value: Any) -> str:
    return type(value).__name__


@with_torch_name
class TorchDataset(Generic[T_co]):
    """Items by index: a subclass defines `__getitem__`, mostly `__len__`, and optionally `__getitems__`,
    which reads a list of indices at once."""

    def __getitem__(self, index: Any) -> T_co:
        rule = "a dataset needs items: define __getitem__"
        raise NotImplementedError(f"{type(self).__name__}[{index}]: {rule}")

    def __add__(self, other: Any) -> Any:
        return TorchConcatDataset[Any]([self, other])


@with_torch_name
class TorchIterableDataset(TorchDataset[T_co], Iterable[T_co]):
    """Yields items: a subclass defines `__iter__`. Each worker of a loader iterates a copy of it."""

    def __add__(self, other: Any) -> Any:
        return TorchChainDataset([self, other])


@with_torch_name
class TorchTensorDataset(TorchDataset[tuple[Tensor, ...]]):
    """Item i is the tuple of the rows i of `tensors`. ValueError if their lengths differ."""

    def __init__(self, *tensors: Tensor):
        if len({t.shape[0] for t in tensors}) > 1:
            lengths = ", ".join(str(t.shape[0]) for t in tensors)
            raise ValueError(f"TensorDataset(lengths {lengths}): lengths differ: pass tensors of one length")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


@with_torch_name
class TorchStackDataset(TorchDataset[Any]):
    """Datasets side by side: item i is the tuple of their items i, or for named ones the dict.

    args: datasets; kwargs: datasets by name, instead of args. ValueError for both or none,
    and if lengths differ.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        if bool(args) == bool(kwargs):
            rule = "items are tuples or dicts: pass datasets either by position or by name"
            raise ValueError(f"StackDataset(...): {rule}")
        self.datasets: Any = args or kwargs
        lengths = {len(d) for d in (args or kwargs.values())}
        if len(lengths) > 1:
            sizes = ", ".join(map(str, sorted(lengths)))
            raise ValueError(f"StackDataset(lengths {sizes}): lengths differ: pass datasets of one length")
        self._length = lengths.pop()

    def __getitem__(self, index: Any) -> Any:
        if is_dict(self.datasets):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """Read items at once where a part can."""
        if is_dict(self.datasets):
            columns = [read_items(d, indices) for d in self.datasets.values()]
            return [dict(zip(self.datasets, items, strict=True)) for items in zip(*columns, strict=True)]
        return list(zip(*(read_items(d, indices) for d in self.datasets), strict=True))

    def __len__(self) -> int:
        return self._length


@with_torch_name
class TorchConcatDataset(TorchDataset[T_co]):
    """Concatenates `datasets`. ValueError for an empty list, TypeError for datasets without indices."""

    def __init__(self, datasets: Iterable[Any]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset([]): the list is empty: pass at least one dataset")
        for d in self.datasets:
            if isinstance(d, TorchIterableDataset):
                rule = "it is not indexable: join such datasets with ChainDataset"
                raise TypeError(f"ConcatDataset([..., {_name_of(d)}]): {rule}")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        position = idx + len(self) if idx < 0 else idx
        if position < 0:
            raise ValueError(f"ConcatDataset[{idx}]: index is out of range: the length is {len(self)}")
        part = bisect_right(self.cumulative_sizes, position)
        return self.datasets[part][position - (self.cumulative_sizes[part - 1] if part else 0)]


@with_torch_name
class TorchChainDataset(TorchIterableDataset[Any]):
    """Concatenates iterable datasets. TypeError for other ones, when it is iterated."""

    def __init__(self, datasets: Iterable[Any]):
        self.datasets = datasets

    def _check_each(self) -> Iterator[Any]:
        for d in self.datasets:
            if not isinstance(d, TorchIterableDataset):
                rule = "it is indexable: join such datasets with ConcatDataset"
                raise TypeError(f"ChainDataset([..., {_name_of(d)}]): {rule}")
            yield d

    def __iter__(self) -> Iterator[Any]:
        return (item for dataset in self._check_each() for item in dataset)

    def __len__(self) -> int:
        return sum(map(len, self._check_each()))


@with_torch_name
class TorchSubset(TorchDataset[T_co]):
    """The items of `dataset` at `indices`, in that order."""

    def __init__(self, dataset: Any, indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx: Any) -> Any:
        if is_list(idx):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Read items at once where the dataset can."""
        return read_items(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def read_items(dataset: Any, indices: Iterable[Any]) -> list[Any]:
    """Read items into a list: at once if the dataset has `__getitems__`. ValueError if that returns more or
    fewer."""
    if not getattr(dataset, "__getitems__", None):
        return [dataset[i] for i in indices]
    numbers = list(indices)
    items = dataset.__getitems__(numbers)
    if len(items) != len(numbers):
        rule = f"__getitems__ returned {len(items)} items for {len(numbers)} indices: return one for each"
        raise ValueError(f"{type(dataset).__name__}: {rule}")
    return items


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[TorchSubset[Any]]:
    """Split `dataset` at random into parts of `lengths`: counts, or fractions that add up to 1.

    generator: the source of the order; None: the default generator. ValueError if lengths do not add up.
    """
    counts = split_counts(len(dataset), lengths)
    order = randperm(sum(counts), generator=generator, device="cpu").tolist()
    return [
        TorchSubset(dataset, order[end - n : end]) for n, end in zip(counts, accumulate(counts), strict=True)
    ]


Dataset, IterableDataset, TensorDataset = TorchDataset, TorchIterableDataset, TorchTensorDataset
ConcatDataset, ChainDataset, StackDataset = TorchConcatDataset, TorchChainDataset, TorchStackDataset
Subset = TorchSubset
