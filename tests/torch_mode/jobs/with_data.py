"""torch.utils.data: samplers, workers, collating, iterable and concatenated datasets, generators, pinned memory."""

import os
import random

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    get_worker_info,
    random_split,
)
from torch.utils.data._utils.collate import default_collate_fn_map
from torch.utils.data.dataloader import default_collate as same
from torch.utils.data.distributed import DistributedSampler as Same


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i >= self.n:
            raise IndexError(i)
        info = get_worker_info()
        return {"x": torch.tensor([i, i * i]), "name": f"n{i}", "pair": (i, float(i)), "worker": -1 if info is None else info.id}


class Numbers(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        if info is None:
            return iter(range(self.n))
        return iter(range(info.id, self.n, info.num_workers))


class Every(Sampler[int]):
    def __init__(self, n, step):
        self.n, self.step = n, step

    def __iter__(self):
        return iter(range(0, self.n, self.step))

    def __len__(self):
        return -(-self.n // self.step)


def main():
    torch.manual_seed(0)
    for batch in DataLoader(Squares(5), batch_size=2):
        print({k: v.tolist() if torch.is_tensor(v) else [t.tolist() for t in v] if k == "pair" else v for k, v in batch.items()})
    first = next(iter(DataLoader(Squares(5), batch_size=2)))
    print(first["pair"][1].dtype, first["x"].dtype, type(first["pair"]).__name__)
    generator = torch.Generator().manual_seed(4)
    loader = DataLoader(TensorDataset(torch.arange(10)), batch_size=4, shuffle=True, generator=generator)
    print("shuffled", [[b.tolist() for b in batch][0] for batch in loader], [b[0].tolist() for b in loader])
    print("default", [b[0].tolist() for b in DataLoader(TensorDataset(torch.arange(6)), 3, shuffle=True)], torch.rand(1).item())
    print("lengths", len(loader), len(DataLoader(range(10), 4, drop_last=True)), len(DataLoader(range(10), batch_size=None)))
    a, b, c = random_split(range(20), [0.5, 0.3, 0.2], generator=torch.Generator().manual_seed(42))
    print("split", list(a), list(b), list(c), type(a).__name__)
    g = torch.Generator().manual_seed(1)
    print("random", list(RandomSampler(range(5), generator=g)), list(RandomSampler(range(5), replacement=True, num_samples=7, generator=g)))
    print("weighted", list(WeightedRandomSampler([0.1, 0.9, 4.0, 0.7], 6, generator=g)))
    print("unique", list(WeightedRandomSampler([0.1, 0.9, 4.0, 0.7], 3, replacement=False, generator=g)))
    print("subset", list(SubsetRandomSampler([3, 5, 8], generator=g)), list(BatchSampler(SequentialSampler(range(5)), 2, True)))
    for rank in range(2):
        sampler = DistributedSampler(range(9), num_replicas=2, rank=rank, shuffle=True, seed=3)
        sampler.set_epoch(1)
        print("distributed", rank, list(sampler), len(sampler), Same is DistributedSampler, same is default_collate)
    print("own", [b.tolist() for b in DataLoader(range(9), batch_size=2, sampler=Every(9, 2))])
    print("batches", [b.tolist() for b in DataLoader(range(6), batch_sampler=[[0, 5], [1], [2, 3, 4]])])
    print("workers", [(b["x"][:, 0].tolist(), b["worker"].tolist()) for b in DataLoader(Squares(6), 2, num_workers=2)])
    print("iterable", sorted(int(v) for b in DataLoader(Numbers(7), 2, num_workers=2) for v in b), [b.tolist() for b in DataLoader(Numbers(5), 2)])
    joined = ConcatDataset([range(3), range(10, 12)])
    print("joined", len(joined), [joined[i] for i in (0, 3, -1)], joined.cumulative_sizes, list(ChainDataset([Numbers(2), Numbers(2)])))
    print("stacked", StackDataset(a=range(3), b=range(3, 6))[1], Subset(range(10), [4, 2])[1], (Squares(2) + Squares(3)).__len__())
    ragged = DataLoader([[1, 2], [3], [4, 5, 6]], batch_size=3, collate_fn=lambda items: torch.nn.utils.rnn.pad_sequence([torch.tensor(i) for i in items], True))
    print("padded", next(iter(ragged)).tolist())
    print("collated", default_collate([np.float64(1), np.float64(2)]).dtype, default_collate([np.ones(2, np.float32)] * 2).shape,
          default_collate(["a", "b"]), default_collate([{"k": 1}, {"k": 2}]), default_convert([np.zeros(2)]), len(default_collate_fn_map) > 3)  # fmt: skip
    for bad in ([torch.ones(2), torch.ones(3)], [object()]):
        try:
            default_collate(bad)
        except (RuntimeError, TypeError) as e:
            print("error", type(e).__name__, str(e)[:50])
    persistent = DataLoader(Squares(4), 2, num_workers=1, persistent_workers=True, worker_init_fn=lambda i: random.seed(i), prefetch_factor=2)
    print("again", [b["x"].sum().item() for _ in range(2) for b in persistent], persistent.num_workers, persistent.batch_size)
    try:
        list(DataLoader(Squares(2), sampler=[0, 7]))
    except IndexError as e:
        print("index", e)
    pinned = next(iter(DataLoader(TensorDataset(torch.ones(4, 2)), 2, pin_memory=False)))
    print("pinned", pinned[0].is_pinned(), torch.initial_seed(), os.environ.get("WORLD_SIZE"))


if __name__ == "__main__":
    main()
