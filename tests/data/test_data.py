import threading
import time
import traceback
from functools import partial

import numpy as np
import pytest

import flambeau as fb
from flambeau.data import DataLoader, Dataset, Mapped, Subset, TensorDataset, collate, random_split


def said(kind, call):
    with pytest.raises(kind) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


# --- datasets


def numbers(count=10):
    return TensorDataset(np.arange(count * 3).reshape(count, 3), np.arange(count))


def test_tensor_dataset_gives_rows_and_batches():
    dataset = numbers()
    assert len(dataset) == 10
    row, label = dataset[-1]
    assert row.tolist() == [27, 28, 29] and label == 9
    rows, labels = dataset.gather(np.array([4, 0]))
    assert rows.tolist() == [[12, 13, 14], [0, 1, 2]] and labels.tolist() == [4, 0]
    assert [int(label) for _, label in dataset] == list(range(10))


def test_tensor_dataset_keeps_tensors(device):
    dataset = TensorDataset(fb.arange(6.0, device=device).reshape(3, 2), [1, 2, 3])
    assert dataset[-1][0].tolist() == [4, 5] and dataset[1][1] == 2
    rows, numbers = dataset.gather(np.array([2, 0]))
    assert rows.device is dataset.tensors[0].device and rows.tolist() == [[4, 5], [0, 1]]
    assert numbers.tolist() == [3, 1]
    (x, y), _ = DataLoader(dataset, 2)
    assert isinstance(x, fb.Tensor) and isinstance(y, fb.Tensor) and y.tolist() == [1, 2]


def test_dataset_errors():
    fault = "lengths differ: pass one or more arrays of one length"
    assert said(ValueError, lambda: TensorDataset(np.ones((2, 3)), np.ones(4))) == (
        f"TensorDataset([2, 3], [4]): {fault}"
    )
    assert said(ValueError, TensorDataset) == f"TensorDataset(): {fault}"
    assert said(ValueError, lambda: TensorDataset(3)) == f"TensorDataset([]): {fault}"
    assert said(IndexError, lambda: numbers()[10]) == (
        "TensorDataset[10]: index is out of range: the length is 10"
    )
    assert said(IndexError, lambda: Subset([1, 2], [1])[-2]) == (
        "Subset[-2]: index is out of range: the length is 1"
    )
    assert said(IndexError, lambda: Subset([1, 2], [0, 2])) == (
        "Subset(index 2): index is out of range: pass 0 to 1"
    )
    assert said(NotImplementedError, lambda: Dataset()[0]) == (
        "Dataset[0]: a dataset needs items: define __getitem__"
    )
    assert said(NotImplementedError, lambda: len(Dataset())) == (
        "len(Dataset): a dataset needs a length: define __len__"
    )


def test_subset_of_subset():
    subset = Subset(Subset(numbers(), [8, 6, 4]), [2, 0])
    assert [int(label) for _, label in subset] == [4, 8]
    assert subset.gather(np.array([1, 0]))[1].tolist() == [8, 4]


def test_mapped_item_by_item_and_batched():
    dataset = numbers(4)
    shapes = []

    def halve(x, y):
        shapes.append(x.shape)
        return x / 2, y

    for batched, seen in ((False, [(3,)] * 4), (True, [(4, 3)])):
        shapes.clear()
        x, y = Mapped(dataset, halve, batched).gather(np.arange(4))
        assert x[3].tolist() == [4.5, 5, 5.5] and y.tolist() == [0, 1, 2, 3]
        assert shapes == seen
        assert Mapped(dataset, halve, batched)[-1][0].tolist() == [4.5, 5, 5.5]
    assert list(Mapped([1, 2, 3], lambda x: x * x)) == [1, 4, 9]
    assert Mapped([1, 2, 3], lambda x: x * x, batched=True)[-1] == 9


def test_a_subclass_that_changes_items_changes_batches():
    class Doubled(TensorDataset):
        def __getitem__(self, index):
            return tuple(2 * part for part in super().__getitem__(index))

    (batch,) = DataLoader(Doubled(np.arange(3)), batch_size=3)
    assert batch[0].tolist() == [0, 2, 4]


def test_random_split_deals_every_item_once():
    parts = random_split(numbers(), [7, 3], 1)
    assert [len(part) for part in parts] == [7, 3]
    assert sorted(int(label) for part in parts for _, label in part) == list(range(10))
    again = random_split(numbers(), [7, 3], 1)
    assert all((a.indices == b.indices).all() for a, b in zip(parts, again))
    assert [len(part) for part in random_split(numbers(), [0.5, 0.25, 0.25])] == [6, 2, 2]
    assert [len(part) for part in random_split(numbers(), [0.9, 0.1])] == [9, 1]


def test_random_split_errors():
    assert said(ValueError, lambda: random_split(numbers(), [7, 4])) == (
        "random_split(10 items, [7, 4]): the lengths add up to 11: make them add up to 10"
    )
    assert said(ValueError, lambda: random_split(numbers(), [0.7, 0.4])) == (
        "random_split(10 items, [0.7, 0.4]): the fractions add up to 1.1: make them add up to 1"
    )
    for lengths, told in (([11, -1], "[11, -1]"), ([float("nan"), 1.0], "[nan, 1.0]")):
        assert said(ValueError, lambda lengths=lengths: random_split(numbers(), lengths)) == (
            f"random_split(10 items, {told}): a length is negative: pass counts or fractions"
        )


# --- the loader


def labels_of(loader):
    return [labels.tolist() for _, labels in loader]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_loader_in_order(workers):
    make = partial(DataLoader, numbers(), 4, num_workers=workers)
    assert labels_of(make()) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]] and len(make()) == 3
    assert labels_of(make(drop_last=True)) == [[0, 1, 2, 3], [4, 5, 6, 7]] and len(make(drop_last=True)) == 2
    assert labels_of(DataLoader(numbers(0), 4, num_workers=workers)) == []
    assert len(DataLoader(numbers())) == 10


def test_shuffling_is_new_each_epoch_and_reproducible():
    first, second = (DataLoader(numbers(50), 50, shuffle=True, seed=3) for _ in range(2))
    epochs = [labels_of(first)[0] for _ in range(3)]
    assert epochs == [labels_of(second)[0] for _ in range(3)]
    assert all(sorted(epoch) == list(range(50)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    first.epoch = 1
    assert labels_of(first)[0] == epochs[1]
    assert labels_of(DataLoader(numbers(50), 50, True)) != labels_of(DataLoader(numbers(50), 50, True))


def test_shuffling_leaves_numpys_own_generator_alone():
    np.random.seed(0)
    expected = np.random.rand()
    np.random.seed(0)
    list(DataLoader(numbers(), shuffle=True, seed=1))
    assert np.random.rand() == expected


def test_collating_plain_items():
    (batch,) = DataLoader([1, 2, 3], 3)
    assert batch.tolist() == [1, 2, 3]
    (batch,) = DataLoader([{"x": [1, 2], "y": 0}, {"x": [3, 4], "y": 1}], 2)
    assert [t.tolist() for t in batch["x"]] == [[1, 3], [2, 4]] and batch["y"].tolist() == [0, 1]
    (batch,) = DataLoader(["a", "bb"], 2, collate_fn="-".join)
    assert batch == "a-bb"
    assert said(ValueError, lambda: list(DataLoader([[1], [1, 2]], 2))) == (
        "collate(2 items): lengths differ: 1, 2: make them equal or pass your own collate_fn"
    )
    unlike = [np.ones(1), np.ones(2)]
    for make in (collate, None):
        assert said(ValueError, lambda make=make: list(DataLoader(unlike, 2, collate_fn=make))) == (
            "collate(2 items): shapes differ: [1], [2]: make them equal or pass your own collate_fn"
        )
        for unlike_keys in ([{"x": 1, "y": 2}, {"x": 1, "z": 2}], [{"x": 1, "z": 2, "y": 3}, {"x": 1}]):
            assert said(ValueError, lambda m=make, k=unlike_keys: list(DataLoader(k, 2, collate_fn=m))) == (
                "collate(2 items): some items lack 'y', 'z': use the same keys in each or"
                " pass your own collate_fn"
            )


class Breaks(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index == 4:
            raise KeyError("item four")
        return index


@pytest.mark.parametrize("workers", [0, 2])
def test_errors_of_the_thread_arrive_with_their_traceback(workers):
    seen = []
    with pytest.raises(KeyError, match="item four") as error:
        for batch in DataLoader(Breaks(), 2, num_workers=workers):
            seen.append(batch.tolist())
    assert seen == [[0, 1], [2, 3]]
    assert error.value.__notes__ == ["Breaks: raised by item 4"]
    assert "__getitem__" in [frame.name for frame in traceback.extract_tb(error.value.__traceback__)]
    assert not threads()


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("flambeau-data")]


def test_leaving_the_loop_early_ends_the_thread():
    for _ in DataLoader(numbers(1000), num_workers=2):
        assert threads()
        break
    assert not threads()
    iter(DataLoader(numbers(), num_workers=2))  # never asked for a batch
    assert not threads()


def test_prefetch_is_bounded():
    asked = []
    dataset = Mapped(list(range(100)), asked.append)
    batches = iter(DataLoader(dataset, num_workers=1, prefetch_factor=3, collate_fn=lambda items: None))
    next(batches)
    end = time.monotonic() + 60
    while len(asked) < 4 and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(0.02)
    assert asked == [0, 1, 2, 3]


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "8"])
def test_loader_refuses_a_bad_batch_size(value):
    text = said(ValueError, lambda: DataLoader(numbers(), batch_size=value))
    rule = "batch_size must be a positive integer: pass 1 or more"
    assert text == f"DataLoader(batch_size={value!r}): {rule}"


def test_loader_refuses_other_bad_arguments():
    assert said(ValueError, lambda: DataLoader(numbers(), num_workers=-1)) == (
        "DataLoader(num_workers=-1): num_workers must be a non-negative integer: pass 0 (no thread) or more"
    )
    assert said(ValueError, lambda: DataLoader(numbers(), seed=-1)) == (
        "DataLoader(seed=-1): seed must be a non-negative integer: pass 0 or more"
    )
    assert said(TypeError, lambda: DataLoader(iter([]))) == (
        "DataLoader(list_iterator): a dataset needs __len__ and __getitem__, or __iter__: "
        "pass a TensorDataset, a list or a Dataset of your own"
    )
    assert len(DataLoader(numbers(), np.int64(5))) == 2
