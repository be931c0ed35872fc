"""Datasets for worker processes, which import this file: it is light, and all in it stands at its top."""

import os
import random
import signal
import sys
import threading
import time
from multiprocessing import current_process

import numpy as np

import flambeau as fb
from flambeau import data


class Drawn(data.Dataset):
    """20 items with everything that a batch can have, drawn by their number."""

    def __len__(self):
        return 20

    def __getitem__(self, i):
        draw = np.random.default_rng([7, i])
        parts = {"x": draw.normal(size=(2, 3)), "flag": i % 3 == 0, "half": np.float16(draw.normal())}
        return parts | {"pair": (i, f"item {i}"), "tensor": fb.tensor([i / 7.0], dtype="bfloat16")}


class Where(data.Dataset):
    """Who made an item: worker, seed, process, what Python's and NumPy's generators gave, modules of GPUs."""

    def __len__(self):
        return 12

    def __getitem__(self, i):
        info = data.get_worker_info()
        drawn = random.getrandbits(30), int(np.random.randint(2**30))
        return {
            "i": i,
            "worker": info.id,
            "seed": info.seed,
            "pid": os.getpid(),
            "drawn": [*drawn],
            "gpu": sum(name in sys.modules for name in ("wgpu", "js")),
            "own": int(info.dataset is self),
            "name": current_process().name,
        }


class Odd(Exception):
    """One that comes out of a pickle as another."""

    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


class Ends:
    """A worker comes to its end at item 5, by what `how` names."""

    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i == 5:
            ENDS[self.how]()
        return i


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def leave():
    os._exit(3)


def raise_key():
    raise KeyError("label")


def raise_odd():
    raise Odd(1, 2)


def stop():
    sys.exit(4)


def hang():
    time.sleep(60)


ENDS = {f.__name__: f for f in (kill, leave, raise_key, raise_odd, stop, hang)}


class Held:
    """Two items, and something beside them."""

    def __init__(self, held=None, item=None):
        self.held, self.item = held, item

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return i if self.item is None else self.item()


def signed(items):
    """A batch with the process that made it."""
    return items, os.getpid()


class Counted(Held):
    """Counts its items in a value that processes share."""

    def __getitem__(self, i):
        with self.held.get_lock():
            self.held.value += 1
        return i


def generator():
    return (i for i in range(3))


class Numbers(data.IterableDataset):
    """0 to 9; a worker takes its share."""

    def __iter__(self):
        info = data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, 10, step))


class Stream(data.IterableDataset):
    """23 numbers, each with one that was drawn for it; nothing says which worker takes which."""

    ends = 23

    def __iter__(self):
        order = list(range(self.ends))
        random.shuffle(order)
        return ((i, int(np.random.randint(1000))) for i in order)


def take_half(number):
    """As PyTorch's page has it: a worker sets what its copy of the dataset gives."""
    data.get_worker_info().dataset.ends = 3 + number


class Index:
    """An index whose pickle is opened by a function that imports nothing in any thread but the first."""

    def __init__(self, i):
        self.i = i

    def __reduce__(self):
        return opened_index, (self.i,)


def opened_index(i):
    if i < 0:
        raise ImportError(f"no module for {i}")
    if threading.current_thread() is not threading.main_thread():
        raise ImportError("cannot import name 'array' from partially initialized module 'numpy'")
    return i


def fail(number):
    raise OSError(f"no disk for {number}")
