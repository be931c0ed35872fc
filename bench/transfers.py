"""Large tensors to the device and back, and through files: GB/s, and the part of one thread's copy in memory.

    python bench/transfers.py [--mb 1024] [--runs 3]

Each row is the median over runs; the first run, in which staging memory and pages are new, stands apart. What
is read is compared with what was written. A file lies in the system's temporary folder, and comes from the
cache of pages when it is loaded.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from _measure import show_table

import flambeau as fb

PARTS = 16  # tensors of the file


def main() -> None:
    parser = argparse.ArgumentParser(description="Large tensors to the device and back, and through files")
    parser.add_argument("--mb", type=int, default=1024)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    count = args.mb << 18
    host = np.random.default_rng(0).random(count, dtype=np.float32)
    there, into = fb.tensor(host), np.zeros_like(host)
    assert np.array_equal(there.numpy(), host)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "weights.safetensors"
        tensors = {f"w{i}": fb.tensor(part) for i, part in enumerate(np.array_split(host, PARTS))}
        works = {
            "memory to memory, one thread": lambda: np.copyto(into, host),
            "array to device": lambda: fb.tensor(host).realize(),
            "device to array": there.numpy,
            "bytes to file": lambda: path.with_name("plain").write_bytes(memoryview(host).cast("B")),
            "device to .safetensors": lambda: fb.save(tensors, path),
            ".safetensors to device": lambda: fb.load(path),
        }
        rates = {what: rated(work, host.nbytes, args.runs) for what, work in works.items()}
        loaded = fb.load(path)
    assert all(np.array_equal(loaded[name].numpy(), t.numpy()) for name, t in tensors.items())
    plain = median(rates["memory to memory, one thread"][1:])
    rows = [
        (what, f"{first:.2f}", f"{median(later):.2f}", f"{median(later) / plain:.2f}")
        for what, (first, *later) in rates.items()
    ]
    show_table(f"{args.mb} MB on {there.device}", ("what", "first GB/s", "GB/s", "of a copy"), rows)


def rated(work: Callable[[], object], nbytes: int, runs: int) -> list[float]:
    """GB/s of the first call and of so many after it, until the device is done."""
    rates = []
    for _ in range(runs + 1):
        fb.synchronize()
        begin = time.perf_counter()
        work()
        fb.synchronize()
        rates.append(nbytes / (time.perf_counter() - begin) / 1e9)
    return rates


if __name__ == "__main__":
    main()
