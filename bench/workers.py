"""Threads beside processes as a DataLoader's workers: items a second of three kinds of work.

Expected: a transform in Python alone holds the interpreter, so that only processes use a second core; zlib
lets go of it, so that threads do as well; large arrays cost a process the copies through its pipe.
"""

import argparse
import zlib

import numpy as np
from _measure import timed

from flambeau import data


class Counted(data.Dataset):
    """Letters counted by a loop of Python's: about 5 ms."""

    def __len__(self):
        return 256

    def __getitem__(self, i):
        counts = [0] * 26
        for letter in range(i, i + 60_000):
            counts[letter % 26] += 1
        return np.array(counts, "float32")


class Unpacked(data.Dataset):
    """Half a megabyte out of zlib: about 3 ms, without the interpreter."""

    def __init__(self):
        self.packed = zlib.compress(np.random.default_rng(0).integers(0, 9, 2**19, "uint8").tobytes())

    def __len__(self):
        return 256

    def __getitem__(self, i):
        return np.frombuffer(zlib.decompress(self.packed), "uint8")[i : i + 1000].copy()


class Large(data.Dataset):
    """Arrays of a megabyte that cost nothing to make."""

    def __len__(self):
        return 256

    def __getitem__(self, i):
        return np.full(2**18, i, "float32")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5)
    o = p.parse_args()
    kinds = {"no worker": {}, "threads": {"num_workers": o.workers, "persistent_workers": True}}
    kinds["processes"] = kinds["threads"] | {"multiprocessing_context": "spawn"}
    for dataset in (Counted(), Unpacked(), Large()):
        loaders = {
            kind: data.DataLoader(dataset, 16, collate_fn=data.collate, **more)
            for kind, more in kinds.items()
        }
        rates = {kind: [] for kind in kinds}
        for _ in range(o.rounds + 1):  # the first starts the workers
            for kind, loader in loaders.items():
                rates[kind].append(len(dataset) * timed(lambda it=loader: sum(1 for _ in it), 0, 0).rate)
        best = {kind: max(found[1:]) for kind, found in rates.items()}
        print(f"{type(dataset).__name__:9}", *(f"{kind} {rate:6.0f}/s" for kind, rate in best.items()))


if __name__ == "__main__":
    main()
