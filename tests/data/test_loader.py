"""The loader beside its basics: samplers, places to go on from, workers, iterable and joined datasets."""

import threading
import time
from collections import Counter, namedtuple

import numpy as np
import pytest

import flambeau as fb
from flambeau import data
from flambeau.data import DataLoader

NUMBERS = list(range(23))


def flat(loader):
    return [int(i) for batch in loader for i in batch.tolist()]


# --- samplers


def test_random_samplers():
    plain = data.RandomSampler(NUMBERS, generator=3)
    first, second = list(plain), list(plain)
    assert sorted(first) == sorted(second) == NUMBERS and first != second
    assert list(data.RandomSampler(NUMBERS, generator=3)) == first and plain.order(0).tolist() == first
    plain.set_epoch(1)
    assert list(plain) == second and len(plain) == 23
    drawn = list(data.RandomSampler(range(3), replacement=True, num_samples=300, generator=0))
    assert len(drawn) == 300 and min(Counter(drawn).values()) > 60 and set(drawn) == {0, 1, 2}
    more = list(data.RandomSampler(range(3), num_samples=7))
    assert sorted(more[:3]) == sorted(more[3:6]) == [0, 1, 2] and len(more) == 7
    assert list(data.SequentialSampler(NUMBERS)) == NUMBERS
    some = data.SubsetRandomSampler([5, 7, 9], fb.Generator(4))
    assert sorted(some) == [5, 7, 9] == sorted(some) and len(some) == 3


def test_weighted_samplers():
    drawn = Counter(data.WeightedRandomSampler([1, 0, 3], 4000, generator=1))
    assert drawn[1] == 0 and abs(drawn[2] / drawn[0] - 3) < 0.4
    few = list(data.WeightedRandomSampler(fb.tensor([1.0, 2.0, 0.0]), 2, replacement=False))
    assert sorted(few) == [0, 1]


def test_what_manual_seed_sets():
    fb.manual_seed(5)
    first = [flat(DataLoader(NUMBERS, 4, shuffle=True)) for _ in range(2)]
    fb.manual_seed(5)
    again = [flat(DataLoader(NUMBERS, 4, shuffle=True)) for _ in range(2)]
    assert first == again and first[0] != first[1]
    by_generator = [flat(DataLoader(NUMBERS, 4, True, generator=fb.Generator(9))) for _ in range(2)]
    assert by_generator[0] == by_generator[1]


@pytest.mark.parametrize("count, drop_last", [(23, False), (23, True), (24, True), (2, False)])
def test_distributed_parts(torch, count, drop_last):
    items = list(range(count))
    for shuffle in (False, True):
        parts = [data.DistributedSampler(items, 4, rank, shuffle, 0, drop_last) for rank in range(4)]
        theirs = [
            torch.utils.data.DistributedSampler(items, 4, r, shuffle=shuffle, drop_last=drop_last)
            for r in range(4)
        ]
        assert [len(p) for p in parts] == [len(p) for p in theirs]
        if not shuffle:
            assert [list(p) for p in parts] == [list(p) for p in theirs]


def test_distributed_epochs():
    parts = [data.DistributedSampler(NUMBERS, 4, rank) for rank in range(4)]
    seen = []
    for epoch in range(2):
        for p in parts:
            p.set_epoch(epoch)
        seen.append([list(p) for p in parts])
        assert {i for part in seen[-1] for i in part} == set(NUMBERS) and {len(p) for p in seen[-1]} == {6}
    assert seen[0] != seen[1] and list(parts[0]) == seen[1][0]


def test_batches_of_other_samplers():
    batches = data.BatchSampler(data.SequentialSampler(range(7)), 3, False)
    assert list(batches) == [[0, 1, 2], [3, 4, 5], [6]] and len(batches) == 3
    assert list(data.BatchSampler(range(7), 3, True)) == [[0, 1, 2], [3, 4, 5]]
    assert [b.tolist() for b in DataLoader(NUMBERS, batch_sampler=batches)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert flat(DataLoader(NUMBERS, 2, sampler=[4, 2, 9])) == [4, 2, 9]
    assert (
        len(DataLoader(NUMBERS, batch_sampler=batches)) == 3
        and len(DataLoader(NUMBERS, 2, sampler=[4, 2, 9])) == 2
    )
    assert list(DataLoader([(1, "a"), (2, "b")], None)) == [(1, "a"), (2, "b")]


# --- places


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("make", ["shuffled", "sampler", "batch_sampler", "iterable"])
def test_a_loader_goes_on_where_another_was(make, workers):
    seeds = iter((7, 7, 8))  # what goes on takes the seed, too

    def loader():
        if make == "shuffled":
            return DataLoader(NUMBERS, 4, True, seed=7, num_workers=workers)
        if make == "sampler":
            return DataLoader(NUMBERS, 4, sampler=NUMBERS[::-1], num_workers=workers)
        if make == "batch_sampler":
            cut = data.BatchSampler(data.RandomSampler(NUMBERS, generator=next(seeds)), 4, False)
            return DataLoader(NUMBERS, batch_sampler=cut, num_workers=workers)
        return DataLoader(Counting(), 4, num_workers=min(1, workers))

    whole = loader()
    epochs = [[b.tolist() for b in whole] for _ in range(2)]
    first = loader()
    list(first)
    batches = iter(first)
    seen = [next(batches).tolist() for _ in range(2)]
    other = loader()
    other.load_state_dict(first.state_dict())
    assert seen + [b.tolist() for b in other] == epochs[1]
    assert [b.tolist() for b in other] == [b.tolist() for b in whole]  # the third


def test_going_on_fetches_nothing_again():
    asked = []
    loader = DataLoader(data.Mapped(range(10**6), lambda i: asked.append(i) or i), seed=1)
    state = {"seed": [1, 0], "epoch": 3, "batch": 999_998, "batch_size": 1}
    loader.load_state_dict(state)
    assert loader.state_dict() == state | {"items": 10**6}
    assert flat(loader) == [999_998, 999_999] == asked and loader.state_dict()["epoch"] == 4


def test_a_place_in_an_epoch_is_one_of_as_many_items():
    loader = DataLoader(range(20), 3, True, seed=1)
    next(batches := iter(loader))
    next(batches)
    place = loader.state_dict()
    for other in (DataLoader(range(5), 3, True), DataLoader(range(20), batch_sampler=[[0], [1]])):
        other.batch_size = 3
        with pytest.raises(ValueError) as e:
            other.load_state_dict(place)
        told = (
            "the state is 2 batches into an epoch of 20 items, but this loader has"
            f" {other.state_dict()['items']}"
        )
        cure = "use the same dataset, or change it between epochs"
        assert str(e.value) == f"DataLoader.load_state_dict(...): {told}: {cure}"
    list(batches)
    other = DataLoader(range(5), 3, True)
    other.load_state_dict(loader.state_dict())  # between epochs
    assert sorted(flat(other)) == [*range(5)]


def test_the_order_does_not_follow_from_the_workers():
    orders = [flat(DataLoader(NUMBERS, 3, True, seed=2, num_workers=n)) for n in (0, 1, 4)]
    assert orders[0] == orders[1] == orders[2]


# --- workers


class Named(data.Dataset):
    """Items that say which worker made them."""

    def __len__(self):
        return 12

    def __getitem__(self, i):
        info = data.get_worker_info()
        return (i, -1 if info is None else info.id)


def test_workers_take_turns():
    begun, alive = [], []
    loader = DataLoader(Named(), 2, num_workers=3, worker_init_fn=begun.append, persistent_workers=True)
    for _ in range(2):
        found = {tuple(i.tolist()): w.tolist() for i, w in loader}
        assert found == {(2 * k, 2 * k + 1): [k % 3] * 2 for k in range(6)}
        alive.append({t for t in threading.enumerate() if t.name.startswith("flambeau-data")})
    assert sorted(begun) == [0, 1, 2] and alive[0] == alive[1] and len(alive[0]) == 3
    assert data.get_worker_info() is None and DataLoader(Named()).fetch([3])[1].tolist() == [-1]
    loader._workers.end()


def test_a_batch_that_takes_too_long():
    gate = threading.Event()
    slow = data.Mapped(range(4), lambda i: gate.wait(60) if i == 2 else i)
    loader = DataLoader(slow, 2, num_workers=1, timeout=1.5)
    with pytest.raises(fb.FlambeauError) as e:
        list(loader)
    gate.set()
    cure = "increase timeout, or check these items"
    assert str(e.value) == f"DataLoader: items [2, 3] took more than 1.5 s: {cure}"


def test_workers_go_on_at_the_same_time():
    both = threading.Barrier(2, timeout=60)
    loader = DataLoader(data.Mapped(range(4), lambda i: (both.wait() and i) or i), num_workers=2)
    assert flat(loader) == [0, 1, 2, 3]
    time.sleep(0)


# --- datasets


class Counting(data.IterableDataset):
    """0 to 9; a worker takes its share."""

    def __iter__(self):
        info = data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, 10, step))


def test_iterable_datasets():
    assert [b.tolist() for b in DataLoader(Counting(), 4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(list(DataLoader(Counting(), 4, drop_last=True))) == 2
    by_two = [b.tolist() for b in DataLoader(Counting(), 3, num_workers=2)]
    assert by_two == [[0, 2, 4], [1, 3, 5], [6, 8], [7, 9]]
    assert list(DataLoader(Counting(), None)) == list(range(10))
    chained = Counting() + Counting()
    assert flat(DataLoader(chained, 8)) == [*range(10), *range(10)]
    with pytest.raises(TypeError):
        len(DataLoader(chained, 8))
    assert list(data.ChainDataset([Counting(), [7]][:1])) == list(range(10))


class Stream(data.IterableDataset):
    """23 items; nothing says which worker takes which."""

    def __iter__(self):
        return iter(range(23))


@pytest.mark.parametrize("size, drop_last", [(4, False), (4, True), (30, False), (None, False)])
def test_a_stream_has_the_same_batches_with_any_number(size, drop_last):
    """Two workers gave 46 items of 23."""

    def loader(workers):
        return DataLoader(Stream(), size, drop_last=drop_last, num_workers=workers)

    alone = [np.asarray(b).tolist() for b in loader(0)]
    for workers in (1, 2, 3, 7):
        assert [np.asarray(b).tolist() for b in loader(workers)] == alone
    batches = iter(loader(3))
    seen = [np.asarray(next(batches)).tolist() for _ in range(min(2, len(alone)))]
    batches.close()
    other = loader(2)
    other.load_state_dict({"seed": [], "epoch": 0, "batch": len(seen), "batch_size": size})
    assert seen + [np.asarray(b).tolist() for b in other] == alone


def test_who_takes_shares_by_itself():
    """A dataset that asks which worker it is in, before its first item: as in PyTorch."""

    class Late(data.IterableDataset):
        def __iter__(self):
            yield 0
            data.get_worker_info()  # not before the first
            yield 1

    assert flat(DataLoader(Late(), num_workers=2)) == [0, 1]
    assert flat(DataLoader(data.ChainDataset([Counting()]), num_workers=2)) == list(range(10))
    seen = []
    seeds = DataLoader(
        Stream(), num_workers=2, worker_init_fn=lambda _: seen.append(data.get_worker_info().seed)
    )
    assert flat(seeds) == list(range(23)) and len(seen) == 2  # a seed is no share
    shared = DataLoader(Stream(), num_workers=2, worker_init_fn=lambda _: data.get_worker_info().dataset)
    with pytest.raises(fb.FlambeauError) as e:
        list(shared)
    rule = "worker threads share one dataset, so an attribute can't hold each worker's share"
    cure = "call get_worker_info() in __iter__, or pass multiprocessing_context='spawn'"
    assert f"get_worker_info().dataset: {rule}: {cure}" in str(e.value)


class OfTorch:
    """As torch.utils.data.Dataset: an item by index is what a subclass may write."""

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")


def test_iterable_datasets_that_inherit_a_getitem():
    streamed = type("IterableDataset", (OfTorch,), {"__iter__": lambda self: iter(range(5))})
    with_length = type("Sized", (streamed,), {"__len__": lambda self: 5})
    without = type("Shards", (OfTorch,), {"__iter__": lambda self: iter(range(5))})
    for kind in (streamed, with_length, without):
        assert flat(DataLoader(kind(), 2)) == flat(DataLoader(kind(), 2, num_workers=1)) == [0, 1, 2, 3, 4]
        with pytest.raises(ValueError) as told:
            DataLoader(kind(), shuffle=True)
        rule = "an iterable dataset sets the order: leave out shuffle and samplers"
        assert str(told.value) == f"DataLoader({kind.__name__}): {rule}"
    assert len(DataLoader(with_length(), 2)) == 3
    assert flat(DataLoader(data.ChainDataset([streamed(), with_length()]), 4)) == [*range(5), *range(5)]
    with pytest.raises(TypeError) as told:
        data.ConcatDataset([with_length()])
    rule = "it is not indexable: join such datasets with ChainDataset"
    assert str(told.value) == f"ConcatDataset([..., Sized]): {rule}"


def test_iterable_datasets_of_torch(torch):
    class Five(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    assert flat(DataLoader(Five(), 2)) == [int(x) for b in torch.utils.data.DataLoader(Five(), 2) for x in b]


class Stateful(data.IterableDataset):
    def __init__(self):
        self.at = 0

    def __iter__(self):
        while self.at < 6:
            self.at += 1
            yield self.at

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def test_a_dataset_with_a_state_of_its_own():
    loader, other = DataLoader(Stateful(), 2), DataLoader(Stateful(), 2)
    assert next(iter(loader)).tolist() == [1, 2]
    other.load_state_dict(loader.state_dict())
    assert flat(other) == [3, 4, 5, 6]
    short, again = DataLoader(Stateful(), 4), DataLoader(Stateful(), 4)
    batches = iter(short)
    assert [next(batches).tolist() for _ in range(2)] == [[1, 2, 3, 4], [5, 6]]
    again.load_state_dict(short.state_dict())  # all were given, but nobody has heard so
    assert flat(again) == [] and flat(again) == flat(short)
    with pytest.raises(ValueError) as e:
        DataLoader(Stateful(), 4, num_workers=1)
    rule = "the dataset keeps its position, and workers prefetch past the loop: pass 0"
    assert str(e.value) == f"DataLoader(num_workers=1): {rule}"


def test_joined_datasets():
    joined = data.TensorDataset(np.arange(3)) + data.TensorDataset(np.arange(10, 12))
    assert [int(x) for (x,) in joined] == [0, 1, 2, 10, 11] and joined[-1][0] == 11
    assert joined.cumulative_sizes == [3, 5]
    side = data.StackDataset([1, 2, 3], data.TensorDataset(np.arange(3)))
    assert side[-1] == (3, (2,)) and len(side) == 3
    numbers, (x,) = next(iter(DataLoader(side, 2)))
    assert numbers.tolist() == [1, 2] and x.tolist() == [0, 1]
    named = data.StackDataset(a=[1, 2], b=[3.5, 4.5])
    assert named[0] == {"a": 1, "b": 3.5}
    assert {k: v.tolist() for k, v in next(iter(DataLoader(named, 2))).items()} == {
        "a": [1, 2],
        "b": [3.5, 4.5],
    }


class Hugging:
    """A dataset as Hugging Face's: items are dicts, and several come at once."""

    def __len__(self):
        return 5

    def __getitem__(self, i):
        raise AssertionError("one by one")

    def __getitems__(self, indices):
        return [{"text": str(i), "label": i, "x": [i, i + 1]} for i in indices]


def test_datasets_of_hugging_face():
    batch = next(iter(DataLoader(Hugging(), 3)))
    assert batch["text"] == ["0", "1", "2"] and batch["label"].tolist() == [0, 1, 2]
    assert [t.tolist() for t in batch["x"]] == [[0, 1, 2], [1, 2, 3]]


Pair = namedtuple("Pair", "a b")


def test_collating_and_converting():
    batch = data.default_collate([Pair(1, fb.ones(2)), Pair(2, fb.zeros(2))])
    assert isinstance(batch, Pair) and batch.a.tolist() == [1, 2] and batch.b.shape == (2, 2)
    assert data.default_collate([1.5, 2.5]).dtype is fb.float32 and data.default_collate([True]).tolist() == [
        True
    ]
    found = data.default_convert({"a": [np.ones(2, "f4"), "text"], "b": Pair(np.int32(3), None)})
    assert found["a"][0].tolist() == [1, 1] and found["a"][1] == "text" and found["b"].a.item() == 3
    assert data.default_convert(np.array(["a"])).tolist() == ["a"]
    assert fb.utils.data.DataLoader is DataLoader and fb.utils.data.__all__ == data.__all__
    arrays = next(
        iter(
            DataLoader(
                data.StackDataset(a=[1, 2], b=data.TensorDataset(fb.ones(2))), 2, collate_fn=data.collate
            )
        )
    )
    assert isinstance(arrays["a"], np.ndarray) and isinstance(arrays["b"][0], np.ndarray)


ERRORS = [
    (lambda: list(data.Sampler()), NotImplementedError,
     "iter(Sampler): a sampler yields indices: define __iter__, or order and __len__"),
    (lambda: data.OrderedSampler().order(0), NotImplementedError,
     "OrderedSampler.order(...): is not implemented: return the indices"),
    (lambda: data.RandomSampler([1], num_samples=0), ValueError,
     "RandomSampler(num_samples=0): must be above 0: pass another value"),
    (lambda: data.WeightedRandomSampler([1, -1], 1), ValueError,
     "WeightedRandomSampler(...): weights must be numbers of at least 0, with at least one"
     " above 0: pass such a list"),
    (lambda: data.WeightedRandomSampler([1, 0], 2, False), ValueError,
     "WeightedRandomSampler(num_samples=2): only 1 items have a weight above 0: pass replacement=True"),
    (lambda: data.DistributedSampler([1]), ValueError,
     "DistributedSampler(...): the number of processes is unknown: pass num_replicas and rank"),
    (lambda: data.DistributedSampler([1], 2, 2), ValueError,
     "DistributedSampler(rank=2): num_replicas is 2: pass 0 to 1"),
    (lambda: data.BatchSampler([1], 0, False), ValueError,
     "BatchSampler(batch_size=0): must be a positive integer: pass 1 or more"),
    (lambda: data.ConcatDataset([]), ValueError,
     "ConcatDataset([]): the list is empty: pass at least one dataset"),
    (lambda: data.ConcatDataset([Counting()]), TypeError,
     "ConcatDataset([..., Counting]): it is not indexable: join such datasets with ChainDataset"),
    (lambda: data.ChainDataset([[1]]), TypeError,
     "ChainDataset([..., list]): it is indexable: join such datasets with ConcatDataset"),
    (lambda: data.StackDataset(), ValueError,
     "StackDataset(...): items are tuples or dicts: pass datasets either by position or by name"),
    (lambda: data.StackDataset([1], [1, 2]), ValueError,
     "StackDataset(lengths 1, 2): lengths differ: pass datasets of one length"),
    (lambda: iter(data.IterableDataset()), NotImplementedError,
     "iter(IterableDataset): a dataset needs items: define __iter__"),
    (lambda: DataLoader([1], shuffle=True, sampler=[0]), ValueError,
     "DataLoader(shuffle=True, sampler=...): both set the order: pass one of them"),
    (lambda: DataLoader([1], 2, batch_sampler=[[0]]), ValueError,
     "DataLoader(batch_sampler=...): it already defines the batches: leave out batch_size,"
     " shuffle, sampler and"
     " drop_last"),
    (lambda: DataLoader(Counting(), shuffle=True), ValueError,
     "DataLoader(Counting): an iterable dataset sets the order: leave out shuffle and samplers"),
    (lambda: DataLoader([1], None, drop_last=True), ValueError,
     "DataLoader(batch_size=None, drop_last=True): batching is off: pass batch_size"),
    (lambda: DataLoader([1], timeout=3), ValueError,
     "DataLoader(num_workers=0): timeout, prefetch_factor, persistent_workers and"
     " multiprocessing_context need workers: pass num_workers=1 or more"),
    (lambda: DataLoader([1], in_order=False), ValueError,
     "DataLoader(in_order=False): batches always come in order: leave it out"),
    (lambda: DataLoader([1], seed=1, generator=fb.Generator()), ValueError,
     "DataLoader(generator=..., seed=...): both set the seed: pass one of them"),
    (lambda: DataLoader([1], num_worker=3), TypeError,
     "DataLoader.__init__() got an unexpected keyword argument 'num_worker'"),
    (lambda: DataLoader([1], sampler=[0]).order(0), TypeError,
     "DataLoader.order(0): its sampler has no order(epoch): define it, or iterate the loader"),
    (lambda: data.default_collate([object()]), TypeError,
     "collate(object): supports tensors, arrays, numbers, strings, tuples, lists and dicts:"
     " pass your own collate_fn"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", ERRORS, ids=range(len(ERRORS)))
def test_errors(call, kind, text):
    with pytest.raises(kind) as e:
        call()
    assert str(e.value) == text
