"""Samplers: the order of items in an epoch, and their batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TYPE_CHECKING, Any

from flambeau.ops.mersenne import MersenneGenerator, torch_numbers
from flambeau.ops.random import Generator, generator

if TYPE_CHECKING:
    import numpy as np  # imported where it is used: the browser has none


def seed_of(seed_or_generator: Generator | int | None) -> list[int]:
    """Return two words that seed a sampler: from a number, or the next ones of a generator (default:
    manual_seed's)."""
    if isinstance(seed_or_generator, int):
        return [seed_or_generator, 0]
    source = generator if seed_or_generator is None else seed_or_generator
    if isinstance(source, MersenneGenerator):  # orders follow from its stream, not from a seed
        return [source.initial_seed(), 0]
    # Each sampler takes 4 words of the generator, so that two samplers made in a row have different orders.
    seed, place = source.get_state()
    source.take(4)
    return [seed, place]


def torch_source(seed_or_generator: Generator | int | None) -> MersenneGenerator | None:
    """Return the generator from which PyTorch would draw an order; None if orders are our own."""
    source = torch_numbers() if seed_or_generator is None else seed_or_generator
    return source if isinstance(source, MersenneGenerator) else None


class Sampler:
    """Yields the indices of items in order: a subclass defines `__iter__`."""

    def __class_getitem__(cls, _: Any) -> Any:
        return cls  # Sampler[int], as PyTorch allows it

    def __iter__(self) -> Iterator[Any]:
        name = type(self).__name__
        raise NotImplementedError(
            f"iter({name}): a sampler yields indices: define __iter__, or order and __len__"
        )


class OrderedSampler(Sampler):
    """A sampler whose order depends only on a seed and the epoch, so that a loader can resume within an
    epoch at no cost. `order(epoch)` returns the order; each iteration yields the next epoch."""

    seed: Sequence[int] = (0, 0)
    epoch = 0

    def order(self, epoch: int) -> np.ndarray:
        """Return the indices [n] of an epoch."""
        raise NotImplementedError(f"{type(self).__name__}.order(...): is not implemented: return the indices")

    def random(self, epoch: int) -> np.random.Generator:
        """NumPy's generator for an epoch."""
        import numpy as np

        return np.random.default_rng([*self.seed, epoch])

    def __iter__(self) -> Iterator[int]:
        epoch, self.epoch = self.epoch, self.epoch + 1
        # Python ints: datasets such as lists and Hugging Face's reject NumPy's
        return iter(self.order(epoch).tolist())

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration."""
        self.epoch = epoch


class SequentialSampler(OrderedSampler):
    """All items in their order. data_source: a dataset."""

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __len__(self) -> int:
        return len(self.data_source)

    def order(self, epoch: int) -> np.ndarray:
        """0 to n - 1."""
        import numpy as np

        return np.arange(len(self.data_source))


class RandomSampler(OrderedSampler):
    """All items in a new order each epoch, or `num_samples` of them. With `replacement` each is drawn
    independently.

    data_source: a dataset; generator: a Generator, or a seed. ValueError for an invalid num_samples.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | int | None = None,
    ):
        if num_samples is not None and num_samples < 1:
            raise ValueError(f"RandomSampler(num_samples={num_samples}): must be above 0: pass another value")
        self.data_source, self.replacement, self._num_samples = data_source, replacement, num_samples
        self.generator, self.seed = generator, seed_of(generator)

    @property
    def num_samples(self) -> int:
        """How many indices an epoch has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __len__(self) -> int:
        return self.num_samples

    def __iter__(self) -> Iterator[int]:
        source = torch_source(self.generator)
        return super().__iter__() if source is None else self._in_torch_order(source)

    def _in_torch_order(self, source: MersenneGenerator) -> Iterator[int]:
        """Yield the indices of an epoch as PyTorch's sampler draws them."""
        self.epoch += 1
        if self.generator is None:  # each epoch has a generator of its own, seeded by the default one
            source = MersenneGenerator().manual_seed(source.long_seed())
        count, length = len(self.data_source), self.num_samples
        if self.replacement:
            for start in range(0, length, 32):
                yield from source.integers(min(32, length - start), 0, count).tolist()
            return
        for _ in range(length // count):
            yield from source.permutation(count).tolist()
        yield from source.permutation(count)[: length % count].tolist()

    def order(self, epoch: int) -> np.ndarray:
        """Return the indices of an epoch."""
        import numpy as np

        random, count, length = self.random(epoch), len(self.data_source), self.num_samples
        if self.replacement:
            return random.integers(0, count, length)
        if not count or not length:
            return np.arange(0)
        # Without replacement, an item repeats only after all others occurred.
        rounds = -(-length // count)
        return np.concatenate([random.permutation(count) for _ in range(rounds)])[:length]


class SubsetRandomSampler(OrderedSampler):
    """The items `indices` in a new order each epoch. generator: a Generator, or a seed."""

    def __init__(self, indices: Sequence[int], generator: Generator | int | None = None):
        self.indices, self.generator, self.seed = indices, generator, seed_of(generator)

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        source = torch_source(self.generator)
        return super().__iter__() if source is None else self._in_torch_order(source)

    def _in_torch_order(self, source: MersenneGenerator) -> Iterator[int]:
        self.epoch += 1
        for place in source.permutation(len(self.indices)).tolist():
            yield self.indices[place]

    def order(self, epoch: int) -> np.ndarray:
        """Return the indices of an epoch."""
        import numpy as np

        return np.asarray(self.indices)[self.random(epoch).permutation(len(self.indices))]


class WeightedRandomSampler(OrderedSampler):
    """`num_samples` items drawn by `weights`, one for each item; they need not add up to 1.

    generator: a Generator, or a seed. ValueError for weights below 0, and without `replacement` for more
    samples than items.
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | int | None = None,
    ):
        import numpy as np

        self.weights = np.asarray(weights.numpy() if hasattr(weights, "numpy") else weights, np.float64)  # type: ignore[union-attr]
        if self.weights.ndim != 1 or not (self.weights >= 0).all() or not self.weights.sum() > 0:
            raise ValueError(
                "WeightedRandomSampler(...): weights must be numbers of at least 0, with at"
                " least one above 0: pass such a list"
            )
        most = int((self.weights > 0).sum())
        if num_samples < 1 or (not replacement and num_samples > most):
            rule = (
                "must be above 0"
                if num_samples < 1
                else (f"only {most} items have a weight above 0: pass replacement=True")
            )
            raise ValueError(f"WeightedRandomSampler(num_samples={num_samples}): {rule}")
        self.num_samples, self.replacement, self.seed = num_samples, replacement, seed_of(generator)
        self.generator = generator

    def __len__(self) -> int:
        return self.num_samples

    def __iter__(self) -> Iterator[int]:
        source = torch_source(self.generator)
        return super().__iter__() if source is None else self._in_torch_order(source)

    def _in_torch_order(self, source: MersenneGenerator) -> Iterator[int]:
        self.epoch += 1
        yield from source.choose(self.weights[None], self.num_samples, self.replacement)[0].tolist()

    def order(self, epoch: int) -> np.ndarray:
        """Return the indices of an epoch."""
        # NumPy needs probabilities that add up to 1 in float64
        shares = self.weights / self.weights.sum()
        return self.random(epoch).choice(len(shares), self.num_samples, self.replacement, shares)


class DistributedSampler(OrderedSampler):
    """The part of `dataset` for one of several processes: every `num_replicas`-th item, starting at `rank`.

    Parts have equal length: some items are repeated, or left out (`drop_last`). With `shuffle` each epoch
    has another order, by `seed` and the epoch that all processes pass to `set_epoch`. ValueError for a
    rank out of range.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ):
        if num_replicas is None or rank is None:
            raise ValueError(
                "DistributedSampler(...): the number of processes is unknown: pass num_replicas and rank"
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"DistributedSampler(rank={rank}): num_replicas is {num_replicas}: pass 0 to"
                f" {num_replicas - 1}"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.drop_last, self.seed = shuffle, drop_last, [seed, 0]
        count = len(dataset)
        # drop_last: equal parts by leaving items out; else by repeating the first ones (torch's rule)
        short = drop_last and count % num_replicas
        self.num_samples = count // num_replicas if short else -(-count // num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def __iter__(self) -> Iterator[int]:
        return iter(self.order(self.epoch).tolist())  # all processes must call set_epoch

    def order(self, epoch: int) -> np.ndarray:
        """This process's indices of an epoch."""
        import numpy as np

        count, total = len(self.dataset), self.num_samples * self.num_replicas
        if self.shuffle and torch_numbers() is not None:
            order = MersenneGenerator().manual_seed(self.seed[0] + epoch).permutation(count)
        else:
            order = self.random(epoch).permutation(count) if self.shuffle else np.arange(count)
        # np.resize repeats the order from its start, or cuts it, to a multiple of the number of processes.
        return np.resize(order, total)[self.rank :: self.num_replicas]


class BatchSampler(Sampler):
    """Lists of `batch_size` indices of another sampler; the last one shorter unless `drop_last`.

    ValueError for invalid sizes.
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool):
        self.sampler, self.drop_last = sampler, drop_last
        if type(batch_size) is not int or batch_size < 1:
            raise ValueError(
                f"BatchSampler(batch_size={batch_size!r}): must be a positive integer: pass 1 or more"
            )
        self.batch_size = batch_size

    def __len__(self) -> int:
        full, remainder = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return full + (remainder > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch
