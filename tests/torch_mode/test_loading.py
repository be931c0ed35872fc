"""torch.utils.data in torch mode: orders, workers, datasets, batches. Numbers are torch 2.13's."""

from collections import namedtuple

import numpy as np
import pytest


@pytest.fixture
def data(mode):
    from flambeau.torch.utils import data

    mode.manual_seed(0)
    return data


class Squares:
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return {"x": np.float32(i * i), "name": f"n{i}", "pair": (i, float(i))}


def test_orders_are_torchs(mode, data):
    def seeded(seed):
        return mode.Generator().manual_seed(seed)

    loader = data.DataLoader(
        data.TensorDataset(mode.arange(10)), batch_size=4, shuffle=True, generator=seeded(4)
    )
    assert [b.tolist() for (b,) in loader] == [[1, 3, 0, 2], [9, 6, 8, 7], [5, 4]]
    assert [b.tolist() for (b,) in loader] == [[8, 2, 4, 0], [9, 7, 1, 3], [6, 5]]
    loader = data.DataLoader(data.TensorDataset(mode.arange(6)), 3, shuffle=True)
    assert [b.tolist() for (b,) in loader] == [[0, 4, 3], [5, 2, 1]]
    assert mode.rand(1).item() == pytest.approx(0.30742281675338745, rel=1e-6)  # two seeds were drawn before
    parts = data.random_split(range(20), [0.5, 0.3, 0.2], generator=seeded(42))
    assert list(parts[1]) == [8, 3, 7, 17, 13, 12] and isinstance(parts[0].indices, list)
    sampler = data.DistributedSampler(range(9), num_replicas=2, rank=1, seed=3)
    sampler.set_epoch(1)
    assert list(sampler) == [7, 8, 5, 2, 4]


def test_batches_are_torchs(mode, data):
    batch = next(iter(data.DataLoader(Squares(), batch_size=2)))
    assert type(batch) is dict and type(batch["pair"]) is list and batch["name"] == ["n0", "n1"]
    assert batch["pair"][1].dtype is mode.float64 and batch["x"].dtype is mode.float32
    Point = namedtuple("Point", "x y")
    assert data.default_collate([Point(1, "a"), Point(2, "b")]).y == ["a", "b"]
    assert data.default_convert({"a": np.ones(2, np.int32), "b": "text"})["b"] == "text"
    with pytest.raises(RuntimeError, match="equal size"):
        data.default_collate([[1, 2], [3]])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        data.default_collate([mode.ones(2), mode.ones(3)])
    with pytest.raises(TypeError, match="found <class 'object'>"):
        data.default_collate([object()])


def test_workers_have_generators_of_their_own(mode, data):
    class Draws(data.Dataset[int]):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return mode.rand(1), data.get_worker_info().id

    before = mode.get_rng_state()
    loader = data.DataLoader(Draws(), 1, num_workers=2, worker_init_fn=lambda i: mode.manual_seed(i))
    drawn = [(x.item(), worker.item()) for x, worker in loader]
    seeded = [mode.rand(2, generator=mode.Generator().manual_seed(i)).tolist() for i in range(2)]
    assert drawn == [(seeded[0][0], 0), (seeded[1][0], 1), (seeded[0][1], 0), (seeded[1][1], 1)]
    after = mode.rand(1).item()
    mode.set_rng_state(before)
    list(data.DataLoader(range(3), 3))  # it draws one seed as well
    assert mode.rand(1).item() == after
    persistent = data.DataLoader(Squares(), 3, num_workers=1, persistent_workers=True)
    assert [b["x"].sum().item() for _ in range(2) for b in persistent] == [5, 50, 5, 50]
    with pytest.raises(ValueError, match="need workers"):
        data.DataLoader(Squares(), persistent_workers=True)
    with pytest.raises(ValueError, match="pass it to the constructor"):
        persistent.batch_size = 2


def test_each_worker_iterates_a_copy(mode, data):
    class Numbers(data.IterableDataset):
        start = 0

        def __iter__(self):
            return iter(range(self.start, 3))

    def begin(worker):
        data.get_worker_info().dataset.start = worker

    assert [b.tolist() for b in data.DataLoader(Numbers(), 2)] == [[0, 1], [2]]
    numbers = data.DataLoader(Numbers(), None, num_workers=2, worker_init_fn=begin)
    assert [int(n) for n in numbers] == [0, 1, 1, 2, 2] == [int(n) for n in numbers]
    chained = Numbers() + Numbers()
    assert list(chained) == [0, 1, 2] * 2 and not hasattr(data.Dataset(), "__len__")


def test_a_loop_that_is_left_ends_its_workers(mode, data):
    loader = data.DataLoader(Squares(), 1, num_workers=1)
    passes = iter(loader)
    next(passes)
    team = passes._team
    del passes
    assert team.threads is None


def test_storages(mode):
    import ctypes

    t = mode.arange(12).reshape(3, 4).to(mode.float16)
    raw = (ctypes.c_ubyte * 24).from_address(t.data_ptr())
    assert np.frombuffer(raw, np.float16).tolist() == list(range(12))
    row = t[1:, 2]
    assert row.data_ptr() - t.data_ptr() == 12 and row.storage_offset() == 6 and row.stride() == (4,)
    assert t.t().stride() == (1, 4) and t.diagonal(1).storage_offset() == 1 and t.stride(0) == 4
    assert row.untyped_storage() == t.untyped_storage() != t.clone().untyped_storage()
    assert t.untyped_storage().nbytes() == 24 and row.storage().size() == 12
    assert mode.empty(0).data_ptr() == 0 and mode.empty(2, device="meta").data_ptr() == 0


def test_a_function_hides_a_module_of_its_name(mode):
    import flambeau.torch.nn.utils.weight_norm

    assert flambeau.torch.nn.utils.weight_norm(mode.nn.Linear(2, 2)).weight_g.shape == (2, 1)
    assert callable(mode.autograd.gradcheck) and mode.ones(2).to(mode.device("cpu")).device.type == "cpu"
