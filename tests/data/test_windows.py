"""Runs of items as datasets: against NumPy's windows, in batches, and behind a loader that goes on."""

import numpy as np
import pytest

from flambeau.data import DataLoader, Mapped, TensorDataset, Windows


@pytest.mark.parametrize("n", [0, 1, 3, 4, 10])
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("step", [1, 2, 5])
def test_windows(n, size, step):
    x, y = np.arange(n * 2, dtype="f4").reshape(n, 2), np.arange(n)
    windows = Windows(TensorDataset(x, y), size, step)
    starts = [i for i in range(0, n, step) if i + size <= n]
    assert len(windows) == len(starts)
    for i, start in enumerate(starts):
        found = windows[i]
        assert np.array_equal(found[0], x[start : start + size]) and np.array_equal(
            found[1], y[start : start + size]
        )
    with pytest.raises(IndexError):
        windows[len(starts)]


def test_batches_of_windows():
    plain = Windows(list(range(10)), 3)
    assert [np.asarray(b).tolist() for b in DataLoader(plain, batch_size=5)] == [
        [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]],
        [[5, 6, 7], [6, 7, 8], [7, 8, 9]],
    ]
    pairs = Mapped(Windows(TensorDataset(np.arange(6)), 3), lambda x: (x[:-1], x[-1]))
    (first, last), *_ = DataLoader(pairs, batch_size=2)
    assert np.asarray(first).tolist() == [[0, 1], [1, 2]] and np.asarray(last).tolist() == [2, 3]
    shuffled = DataLoader(plain, batch_size=8, shuffle=True, num_workers=2)
    assert sorted(np.asarray(next(iter(shuffled)))[:, 0].tolist()) == list(range(8))


@pytest.mark.parametrize("given", [{"size": 0}, {"size": 2, "step": 0}, {"size": 1.5}])
def test_refusals(given):
    name, n = list(given.items())[-1]
    with pytest.raises(ValueError) as e:
        Windows([1, 2], **given)
    assert str(e.value) == f"Windows({name}={n!r}): must be a positive integer: pass another value"
