"""Sorting and what is made of it, for one long row and for many short ones, beside other frameworks.

python bench/sort.py [--floats 4194304] [--beside torch tinygrad]
"""

import argparse

import numpy as np
from _beside import PEERS, installed
from _measure import interleave, queued, rates, ratio, show_table

import flambeau as fb
from flambeau.device import get_device

# name: (length of a row, 0 for all in one; what is done to it), on any framework's tensor
WORK = {
    "sort, one row": (0, lambda x: x.sort(-1)),
    "sort, rows of 1024": (1024, lambda x: x.sort(-1)),
    "sort, rows of 16": (16, lambda x: x.sort(-1)),
    "topk 10, one row": (0, lambda x: x.topk(10, -1)),
    "median, rows of 1024": (1024, lambda x: x.median(-1)),
    "unique of 1000 numbers": (-1, lambda x: x.unique()),
    "bincount, 1000 bins": (-1, lambda x: x.bincount(minlength=1000)),
}
OURS_ONLY = {
    "argsort, one row": (0, lambda x: x.argsort(-1)),
    "argsort, rows of 8192": (8192, lambda x: x.argsort(-1)),
}


def given(host, length: int):
    """The array as rows of a length; whole numbers below 1000 for -1."""
    if length < 0:
        return (host * 1000).astype("i4")
    return host.reshape(-1, length) if length else host


def run(y) -> None:
    fb.realize(*(y if isinstance(y, tuple) else (y,)))


def of_ours(host) -> dict[str, tuple]:
    table = {}
    for name, (length, work) in (WORK | OURS_ONLY).items():
        x = fb.tensor(given(host, length)).realize()
        table[name] = (lambda x=x, work=work: run(work(x)), fb.synchronize)
    return table


def of(peer, host) -> dict[str, tuple]:
    """The same by another framework, but for what it lacks or refuses."""
    table = {}
    for name, (length, work) in WORK.items():
        x = peer.tensor(given(host, length))
        try:
            peer.run(work(x))
        except Exception as e:
            print(f"{peer.name}: {name}: left out: {type(e).__name__}: {e}")
            continue
        table[f"{peer.name}: {name}"] = (lambda x=x, work=work: peer.run(work(x)), peer.wait)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    software = get_device().limits.software
    parser.add_argument("--floats", type=int, default=1 << (20 if software else 22))
    parser.add_argument("--beside", nargs="*", default=[], choices=list(PEERS), help="peers, where installed")
    parser.add_argument("--seconds", type=float, default=0.3)
    args = parser.parse_args()
    host = np.random.default_rng(0).random(args.floats, "f4")
    table = of_ours(host)
    for peer in installed(args.beside):
        table |= of(peer, host)
    found = interleave(
        {name: (lambda s, c=c, w=w: queued(c, w, s)) for name, (c, w) in table.items()}, 3, args.seconds
    )
    rows = []
    for name, timings in found.items():
        rate = rates(timings)[0]
        ours = found.get(name.split(": ", 1)[-1]) if ": " in name else None
        beside = "" if ours is None else f"{ratio(ours, timings):.2f}"
        rows.append((name, f"{1e3 / rate:.3f}", f"{rate * args.floats / 1e6:.0f}", beside))
    show_table(
        f"{args.floats:,} floats, {get_device()} (goal: sort of 4 Mi at least 0.3 of torch on CUDA)",
        ("what", "ms", "M elements/s", "ours / theirs"),
        rows,
    )


if __name__ == "__main__":
    main()
